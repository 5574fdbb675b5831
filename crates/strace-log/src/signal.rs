//! Signal numbers by name, as in `signal(7)` for x86, ARM and most others.

use crate::text::decimal;

const NAMES: [&str; 31] = [
    "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
    "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
    "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
];

/// The number of the signal whose name `says` starts with: `SIGTERM (core dumped) +++`.
pub(crate) fn number(says: &[u8]) -> Option<i32> {
    let name = says.split(|b| *b == b' ').next()?.strip_prefix(b"SIG")?;
    // strace counts real-time signals from the kernel's first, 32.
    if let Some(rest) = name.strip_prefix(b"RT_").or_else(|| name.strip_prefix(b"RT")) {
        let (n, digits) = decimal(rest);
        return match (rest, digits) {
            (b"MIN", _) => Some(32),
            (_, 1..) if n <= 32 => Some(32 + n as i32),
            _ => None,
        };
    }
    let at = NAMES.iter().position(|known| known.as_bytes() == name)?;
    Some(at as i32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_manual() {
        for (says, want) in [
            ("SIGHUP +++", Some(1)),
            ("SIGKILL +++", Some(9)),
            ("SIGSEGV (core dumped) +++", Some(11)),
            ("SIGTERM +++", Some(15)),
            ("SIGSYS +++", Some(31)),
            ("SIGRT_3 +++", Some(35)),
            ("SIGRTMIN +++", Some(32)),
            ("SIGNOT +++", None),
            ("nothing", None),
        ] {
            assert_eq!(number(says.as_bytes()), want, "{says}");
        }
    }
}
