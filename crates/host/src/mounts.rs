//! The mounts of this process's own namespace.

use needless_model::Mount;

/// The mounts, in the order in which they were made; empty where /proc does not show them.
pub fn mounts() -> Vec<Mount> {
    parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

/// Reads mountinfo as proc(5) describes it.
fn parse(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (left, right) = line.split_once(" - ")?;
        let at = unescape(left.split(' ').nth(4)?);
        Some(Mount { at, kind: right.split(' ').next()?.to_owned() })
    };
    text.lines().filter_map(mount).collect()
}

/// The kernel writes blanks, tabs, newlines and backslashes as three octal digits.
fn unescape(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.extend(code);
        plain.extend(part.bytes().skip(if code.is_some() { 3 } else { 0 }));
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_fields_and_blanks_are_understood() {
        let text = "36 35 98:0 / / rw,noatime - ext4 /dev/root rw\n\
                    37 36 0:40 / /mnt/two\\040words rw shared:1 master:2 - nfs4 server:/x rw,vers=4\n\
                    no mount\n";
        let mount = |at: &str, kind: &str| Mount { at: at.into(), kind: kind.into() };
        assert_eq!(parse(text), [mount("/", "ext4"), mount("/mnt/two words", "nfs4")]);
    }
}
