//! The limit of open files, as calls of getrlimit(2), setrlimit(2) and prlimit(2) show it.

use crate::text;

/// A call in which a process reads or sets its own limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitCall {
    /// The soft limit that it had.
    pub was: Option<u64>,
    /// The soft limit that it has set.
    pub set: Option<u64>,
}

/// What is known of a process's limit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limit {
    /// The soft limit that it has.
    pub now: Option<u64>,
    /// Whether it has set the limit itself since its exec.
    pub own: bool,
}

impl Limit {
    /// Takes what a call shows. Returns the limit that the process was started with, if that follows.
    pub(crate) fn learn(&mut self, seen: LimitCall) -> Option<u64> {
        let first = seen.was.filter(|_| !self.own);
        self.own |= seen.set.is_some();
        self.now = seen.set.or(seen.was).or(self.now);
        first
    }
}

/// What a successful call with this name and these arguments shows about the limit of process `pid`, which
/// makes it; `None`: nothing.
pub(crate) fn seen(name: &str, pid: u32, args: &[u8]) -> Option<LimitCall> {
    let args = match name {
        "prlimit64" | "prlimit" => {
            let (pid_given, digits) = text::decimal(args);
            let own = digits > 0 && (pid_given == 0 || pid_given == u64::from(pid));
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
        "setrlimit" => LimitCall { was: None, set: first },
        "prlimit64" | "prlimit" => {
            let end = match first {
                Some(_) => memchr::memchr(b'}', values)? + 1,
                None => memchr::memchr(b',', values)?,
            };
            let second =
                text::skip_spaces(values[end..].strip_prefix(b",").unwrap_or(&values[end..]));
            LimitCall { was: soft(second), set: first }
        }
        _ => LimitCall { was: first, set: None },
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
        seen(name, 7, args.as_bytes()).map(|seen| (seen.was, seen.set))
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
        assert_eq!(limit.learn(LimitCall { was: Some(1024), set: None }), Some(1024));
        assert_eq!(limit.learn(LimitCall { was: None, set: Some(4096) }), None);
        assert_eq!(limit.learn(LimitCall { was: Some(4096), set: None }), None);
        assert_eq!(limit.now, Some(4096));
        let mut limit = Limit::default();
        assert_eq!(limit.learn(LimitCall { was: Some(1024), set: Some(4096) }), Some(1024));
    }
}
