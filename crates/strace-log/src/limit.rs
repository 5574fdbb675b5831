//! The limit of open files, as calls of getrlimit(2), setrlimit(2) and prlimit(2) tell it.

use crate::text;

/// What a process did about its own limit, or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// The soft limit that it had.
    pub was: Option<u64>,
    /// The soft limit that it has now, by its own act.
    pub set: Option<u64>,
}

/// What is known of a process's limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    /// The soft limit that it has.
    pub now: Option<u64>,
    /// Whether it set it itself since its exec.
    pub own: bool,
}

impl Limit {
    /// What a call tells. Returns the limit that the process was started with, where that follows.
    pub(crate) fn learn(&mut self, told: Told) -> Option<u64> {
        let first = told.was.filter(|_| !self.own);
        self.own |= told.set.is_some();
        self.now = told.set.or(told.was).or(self.now);
        first
    }
}

/// What a successful call with this name and these arguments tells of the limit of process `pid`, which
/// makes it; `None`: nothing.
pub(crate) fn told(name: &str, pid: u32, args: &[u8]) -> Option<Told> {
    let args = match name {
        "prlimit64" | "prlimit" => {
            let (whom, digits) = text::decimal(args);
            let own = digits > 0 && (whom == 0 || whom == u64::from(pid));
            let comma = memchr::memchr(b',', args).filter(|_| own)?;
            text::skip_spaces(&args[comma + 1..])
        }
        _ => args,
    };
    let comma = memchr::memchr(b',', args)?;
    // -X raw, -X verbose
    let resource = args[..comma].strip_suffix(b" /* RLIMIT_NOFILE */").unwrap_or(&args[..comma]);
    if !matches!(resource, b"RLIMIT_NOFILE" | b"0x7" | b"7") {
        return None;
    }
    let values = text::skip_spaces(&args[comma + 1..]);
    let first = soft(values);
    Some(match name {
        "setrlimit" => Told { was: None, set: first },
        "prlimit64" | "prlimit" => {
            let end = match first {
                Some(_) => memchr::memchr(b'}', values)? + 1,
                None => memchr::memchr(b',', values)?,
            };
            let second =
                text::skip_spaces(values[end..].strip_prefix(b",").unwrap_or(&values[end..]));
            Told { was: soft(second), set: first }
        }
        _ => Told { was: first, set: None },
    })
}

/// The soft limit of a structure: `{rlim_cur=1024, …}`, `{rlim_cur=4*1024, …}`.
fn soft(values: &[u8]) -> Option<u64> {
    let text = values.strip_prefix(b"{rlim_cur=")?;
    let (n, digits) = text::decimal(text);
    let times = text[digits..].strip_prefix(b"*").map(text::decimal);
    let times = times.map_or(1, |(times, _)| times);
    (digits > 0).then(|| n.saturating_mul(times))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, args: &str) -> Option<(Option<u64>, Option<u64>)> {
        told(name, 7, args.as_bytes()).map(|told| (told.was, told.set))
    }

    #[test]
    fn limits_are_read_in_every_notation() {
        let asked = "RLIMIT_NOFILE, NULL, {rlim_cur=1024, rlim_max=1024*1024}";
        assert_eq!(of("prlimit64", &format!("0, {asked}")), Some((Some(1024), None)));
        assert_eq!(of("prlimit64", &format!("7<sh>, {asked}")), Some((Some(1024), None)));
        assert_eq!(of("prlimit64", &format!("8, {asked}")), None);
        let set = "{rlim_cur=4*1024, rlim_max=512*1024}";
        assert_eq!(
            of("prlimit64", &format!("0, RLIMIT_NOFILE, {set}, NULL")),
            Some((None, Some(4096)))
        );
        let both = format!("0, 0x7 /* RLIMIT_NOFILE */, {set}, {{rlim_cur=1000, rlim_max=1000}}");
        assert_eq!(of("prlimit64", &both), Some((Some(1000), Some(4096))));
        assert_eq!(of("getrlimit", &format!("RLIMIT_NOFILE, {set}")), Some((Some(4096), None)));
        assert_eq!(of("ugetrlimit", &format!("0x7, {set}")), Some((Some(4096), None)));
        assert_eq!(of("setrlimit", &format!("RLIMIT_NOFILE, {set}")), Some((None, Some(4096))));
        assert_eq!(of("getrlimit", &format!("RLIMIT_STACK, {set}")), None);
        assert_eq!(of("getrlimit", "RLIMIT_NOFILE, 0x7ffd5e8b9d58"), Some((None, None)));
        for cut in
            ["", "0", "0, RLIMIT_NOFILE", "0, RLIMIT_NOFILE, {rlim_cur=1", "0, RLIMIT_NOFILE, {"]
        {
            assert_eq!(of("prlimit64", cut), None, "{cut}");
        }
    }

    #[test]
    fn what_a_process_sets_itself_is_not_what_it_was_started_with() {
        let mut limit = Limit::default();
        assert_eq!(limit.learn(Told { was: Some(1024), set: None }), Some(1024));
        assert_eq!(limit.learn(Told { was: None, set: Some(4096) }), None);
        assert_eq!(limit.learn(Told { was: Some(4096), set: None }), None);
        assert_eq!(limit.now, Some(4096));
        let mut limit = Limit::default();
        assert_eq!(limit.learn(Told { was: Some(1024), set: Some(4096) }), Some(1024));
    }
}
