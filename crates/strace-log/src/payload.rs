//! A line without its prefix: the start of a call, its end or both.

use crate::text::{self, decimal, fraction_ns, rfind_in_16, skip_spaces, trim_end};
use memchr::{memchr, memmem, memrchr};
use needless_model::{AT_ONCE_NS, Descriptor, Errno, Passed, WaitsOn};

/// How a call's text ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ending<'a> {
    /// `… <unfinished ...>`: its end is on a later line.
    Unfinished(&'a [u8]),
    /// `args) = ret`.
    Returned(Returned<'a>),
    /// `args <detached ...>`: strace detached; the end was not seen.
    Detached,
    /// Another end: the line was cut, or other output split it.
    Open,
}

/// A call that ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Returned<'a> {
    /// The text after the opening parenthesis, without the time of `-T`.
    pub text: &'a [u8],
    /// Its arguments, without the closing parenthesis.
    pub args: &'a [u8],
    /// The text after `= `, without the time of `-T`.
    pub ret: &'a [u8],
    /// `-T`: nanoseconds in the kernel.
    pub kernel_ns: Option<u64>,
}

/// What a call without a path was given and returned: the first argument where it is a number, or the first descriptor
/// of poll(2); else the sum of its bytes, which is equal for equal texts.
#[inline]
pub(crate) fn passed(args: &[u8], ret: &[u8], kernel_ns: Option<u64>) -> Option<Passed> {
    let args = args.strip_prefix(b"[{fd=").unwrap_or(args);
    let first = match args.first()? {
        b'0'..=b'9' => text::number(args)?,
        _ => {
            let bytes = args.iter().take(FIRST).take_while(|byte| **byte != b',');
            bytes.fold(0, |sum: u64, byte| sum.wrapping_mul(251).wrapping_add(u64::from(*byte)))
        }
    };
    let returned = if ret.first() == Some(&b'-') { 0 } else { text::number(ret)? };
    let descriptor = descriptor(args, ret, first);
    Some(Passed { first, returned, at_once: kernel_ns.map(|ns| ns < AT_ONCE_NS), descriptor })
}

/// The descriptor of a call: what poll(2) says is ready (`= 1 ([{fd=8, revents=POLLHUP}])`), or the first argument where
/// `-y` shows what it is (`8<pipe:[4026]>`).
#[inline]
fn descriptor(args: &[u8], ret: &[u8], first: u64) -> Option<Descriptor> {
    let fd = |number: u64| u32::try_from(number).ok();
    if let [b'0'..=b'9', b' ', b'(', b'[', b'{', ready @ ..] = ret {
        let (of, events) = (ready.strip_prefix(b"fd=")?, memmem::find(ready, b"revents=")?);
        let events = &ready[events..];
        let end = events.iter().position(|byte| *byte == b'}').unwrap_or(events.len());
        let has =
            |name: &[u8], bit| if memmem::find(&events[..end], name).is_some() { bit } else { 0 };
        let events =
            has(b"POLLHUP", Descriptor::HANG_UP) | has(b"POLLERR", 8) | has(b"POLLNVAL", 32);
        let digits = of.iter().take_while(|byte| byte.is_ascii_digit()).count();
        return Some(Descriptor { fd: fd(decimal(of).0)?, events, on: kind(&of[digits..]) });
    }
    let digits = args.iter().take(8).take_while(|byte| byte.is_ascii_digit()).count();
    let shown = args.get(digits..).filter(|rest| digits > 0 && rest.first() == Some(&b'<'))?;
    Some(Descriptor { fd: fd(first)?, events: 0, on: kind(shown) })
}

/// What a descriptor is, by the text that `-y` adds to it; `Unknown` where there is none.
fn kind(shown: &[u8]) -> WaitsOn {
    let is = |start: &[u8]| shown.starts_with(start);
    match shown {
        _ if is(b"<pipe:") => WaitsOn::Pipe,
        _ if is(b"<socket:") || is(b"<TCP") || is(b"<UDP") || is(b"<UNIX") => WaitsOn::Socket,
        _ if is(b"</dev/pts/") || is(b"</dev/tty") => WaitsOn::Terminal,
        _ if is(b"</") => WaitsOn::File,
        _ => WaitsOn::Unknown,
    }
}

/// So many bytes of an argument that is no number are compared.
const FIRST: usize = 24;

/// The call's name and the rest of the line after the parenthesis: `openat(AT_FDCWD, …`.
pub(crate) fn call(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'#';
    let mut len = payload.iter().take_while(|b| word(b)).count();
    if len == 0 {
        // strace does not know the call: `????(`, `???? (`.
        len = payload.iter().take_while(|b| **b == b'?').count();
        if len != 4 {
            return None;
        }
    } else if !payload[0].is_ascii_alphabetic() && payload[0] != b'_' {
        return None;
    }
    let rest = payload[len..].strip_prefix(b" ").filter(|_| payload[0] == b'?');
    let rest = rest.unwrap_or(&payload[len..]).strip_prefix(b"(")?;
    (len <= 64).then_some((&payload[..len], rest))
}

/// The name and the rest of `<... openat resumed>) = 3`.
pub(crate) fn resumed(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let s = payload.strip_prefix(b"<... ")?;
    let name = memchr(b' ', &s[..s.len().min(80)])?;
    let rest = s[name..].strip_prefix(b" resumed>")?;
    Some((&s[..name], rest))
}

/// How the text of a call ends; `text` follows its opening parenthesis.
pub(crate) fn ending(s: &[u8]) -> Ending<'_> {
    if let Some(args) = s.strip_suffix(b" <unfinished ...>") {
        return Ending::Unfinished(trim_end(args));
    }
    let (body, kernel_ns) = duration(trim_end(s));
    if body.ends_with(b"...>") {
        if let Some(args) = body.strip_suffix(b"<unfinished ...>") {
            return Ending::Unfinished(trim_end(args));
        }
        if body.ends_with(b"<detached ...>") {
            return Ending::Detached;
        }
    }
    let mut end = body.len();
    let near = |end: usize| rfind_in_16(b'=', &body[..end]).or_else(|| memrchr(b'=', &body[..end]));
    while let Some(at) = near(end) {
        end = at;
        if !body[..at].ends_with(b" ") || body.get(at + 1) != Some(&b' ') {
            continue;
        }
        let args = trim_end(&body[..at]);
        let ret = &body[at + 2..];
        if args.last() == Some(&b')') && is_return(ret) {
            let args = &args[..args.len() - 1];
            // A process killed inside a call: `<... read resumed> <unfinished ...>) = ?`.
            let args = args.strip_suffix(b"<unfinished ...>").unwrap_or(args);
            return Ending::Returned(Returned { text: body, args: trim_end(args), ret, kernel_ns });
        }
    }
    Ending::Open
}

/// Whether `s` can be what a call returned: `0`, `0x7f…`, `3</path>`, `-1 ENOENT (…)`, `?`.
fn is_return(s: &[u8]) -> bool {
    if let Some(rest) = s.strip_prefix(b"?") {
        return rest.is_empty() || rest.starts_with(b" E") || rest.starts_with(b" (");
    }
    let digits = s.strip_prefix(b"-").unwrap_or(s);
    if s.last() != Some(&b'>') {
        return digits.first().is_some_and(u8::is_ascii_digit);
    }
    // -y shows a path, which may contain any bytes: the number must end where the path starts.
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    let len = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    len > 0 && matches!(digits.get(len), None | Some(b' ' | b'<'))
}

/// Splits off the ` <0.000012>` of `-T`.
fn duration(s: &[u8]) -> (&[u8], Option<u64>) {
    if let [before @ .., b' ', b'<', b'0', b'.', a, b, c, d, e, f, b'>'] = s {
        let digits = [a, b, c, d, e, f];
        if digits.iter().all(|d| d.is_ascii_digit()) {
            let micros = digits.iter().fold(0, |sum, d| sum * 10 + u64::from(**d - b'0'));
            return (trim_end(before), Some(micros * 1000));
        }
    }
    let Some(inner) = s.strip_suffix(b">") else { return (s, None) };
    let from = inner.len().saturating_sub(24);
    let Some(at) = memrchr(b'<', &inner[from..]) else { return (s, None) };
    let (before, text) = (&inner[..from + at], &inner[from + at + 1..]);
    let (seconds, digits) = decimal(text);
    let Some((b'.', fraction)) = text[digits..].split_first() else { return (s, None) };
    if digits == 0 || !fraction.iter().all(u8::is_ascii_digit) || !before.ends_with(b" ") {
        return (s, None);
    }
    (trim_end(before), Some(seconds.saturating_mul(1_000_000_000) + fraction_ns(fraction)))
}

/// The outcome in `ret`; `None` for `?`: the call did not return.
pub(crate) fn outcome(ret: &[u8]) -> Option<Result<(), Errno>> {
    let error = match ret {
        [b'?', b' ', rest @ ..] => rest,
        [b'?', ..] => return None,
        [b'-', b'1', b' ', rest @ ..] => rest,
        _ => return Some(Ok(())),
    };
    if let Some(rest) = error.strip_prefix(b"(errno ") {
        let (number, _) = decimal(rest);
        return Some(Err(Errno(u16::try_from(number).unwrap_or(u16::MAX))));
    }
    if error.first() != Some(&b'E') {
        return Some(Ok(())); // getpriority: -1 is a priority
    }
    let len = memchr(b' ', error).unwrap_or(error.len());
    // The table is searched from its start; nearly all errors of a log are in this list.
    Some(Err(match &error[..len] {
        b"ENOENT" => Errno(2),
        b"EAGAIN" => Errno(11),
        b"EACCES" => Errno(13),
        b"EINVAL" => Errno(22),
        b"ENOTTY" => Errno(25),
        b"ENODATA" => Errno(61),
        name => Errno::of_name(std::str::from_utf8(name).unwrap_or("?")),
    }))
}

/// The process id that a fork returned, in the numbering of the pids at the start of lines:
/// `1703`, `2 /* 1703 in strace's PID NS */`.
pub(crate) fn child(ret: &[u8]) -> Option<u32> {
    let number = match memmem::find(ret, b"/* ") {
        Some(at) => &ret[at + 3..],
        None => ret,
    };
    let (value, digits) = decimal(skip_spaces(number));
    u32::try_from(value).ok().filter(|v| digits > 0 && *v > 0)
}

/// A message of strace about a process in `line`:
/// (where it starts, process, whether strace now follows it).
pub(crate) fn message(line: &[u8]) -> Option<(usize, u32, bool)> {
    let line = trim_end(line);
    let attached = line.ends_with(b" attached");
    if !attached && !line.ends_with(b" detached") {
        return None;
    }
    let from = line.len().saturating_sub(64);
    let word = b"Process ";
    let at = from + memmem::rfind(&line[from..], word)?;
    let (pid, digits) = decimal(&line[at + word.len()..]);
    let start = line[..at].strip_suffix(b"strace: ").map_or(at, <[u8]>::len);
    Some((start, u32::try_from(pid).ok().filter(|_| digits > 0)?, attached))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn returned(s: &str) -> (String, String, Option<u64>) {
        match ending(s.as_bytes()) {
            Ending::Returned(r) => (
                String::from_utf8_lossy(r.args).into(),
                String::from_utf8_lossy(r.ret).into(),
                r.kernel_ns,
            ),
            other => panic!("{s}: {other:?}"),
        }
    }

    #[test]
    fn endings() {
        for (line, args, ret, ns) in [
            ("3)                 = 0", "3", "0", None),
            ("3) = 0 <0.000012>", "3", "0", Some(12_000)),
            (
                "\"a = b) = 3\", 1) = -1 EIO (x) <1.5>",
                "\"a = b) = 3\", 1",
                "-1 EIO (x)",
                Some(1_500_000_000),
            ),
            (
                "[{fd=3}], 1, 0) = 1 ([{fd=3, revents=POLLIN}])",
                "[{fd=3}], 1, 0",
                "1 ([{fd=3, revents=POLLIN}])",
                None,
            ),
            ("\"/x\") = 3</a) = 4>", "\"/x\"", "3</a) = 4>", None),
            ("\"/x\") = 3</a> <0.1>", "\"/x\"", "3</a>", Some(100_000_000)),
            ("0) = ?", "0", "?", None),
            (" <unfinished ...>) = ?", "", "?", None),
            (
                "\"/x\") = -1 ENOENT (\u{3b4}\u{3b5}\u{3bd}) (INJECTED)",
                "\"/x\"",
                "-1 ENOENT (\u{3b4}\u{3b5}\u{3bd}) (INJECTED)",
                None,
            ),
            ("NULL) = 0x7f12", "NULL", "0x7f12", None),
        ] {
            assert_eq!(returned(line), (args.into(), ret.into(), ns), "{line}");
        }
        assert_eq!(ending(b"3,  <unfinished ...>"), Ending::Unfinished(b"3,"));
        assert_eq!(ending(b" <detached ...>"), Ending::Detached);
        assert_eq!(ending(b"1, \"x\", 6hello"), Ending::Open);
        assert_eq!(ending(b"1, \"x = 3"), Ending::Open);
    }

    #[test]
    fn outcomes() {
        for (ret, want) in [
            ("0", Some(Ok(()))),
            ("-1 ENOENT (No such file or directory)", Some(Err(Errno::ENOENT))),
            ("-1 ENOENT", Some(Err(Errno::ENOENT))),
            ("-1 (errno 123)", Some(Err(Errno(123)))),
            ("-1 EWHATEVER (new)", Some(Err(Errno::UNKNOWN))),
            ("-1", Some(Ok(()))),
            ("?", None),
            ("? ERESTARTNOHAND (To be restarted if no handler)", Some(Err(Errno(514)))),
        ] {
            assert_eq!(outcome(ret.as_bytes()), want, "{ret}");
        }
        for name in ["ENOENT", "EAGAIN", "EACCES", "EINVAL", "ENOTTY", "ENODATA", "EPERM"] {
            let ret = format!("-1 {name} (some text)");
            assert_eq!(outcome(ret.as_bytes()), Some(Err(Errno::of_name(name))));
        }
        assert_eq!(child(b"88"), Some(88));
        assert_eq!(child(b"2 /* 1703 in strace's PID NS */"), Some(1703));
        assert_eq!(child(b"-1 EAGAIN (x)"), None);
    }

    #[test]
    fn names_and_messages() {
        assert_eq!(call(b"openat(AT"), Some((&b"openat"[..], &b"AT"[..])));
        assert_eq!(call(b"syscall_0x1f4(1"), Some((&b"syscall_0x1f4"[..], &b"1"[..])));
        assert_eq!(call(b"getpid#64() = 1"), Some((&b"getpid#64"[..], &b") = 1"[..])));
        assert_eq!(call(b"???? ( <"), Some((&b"????"[..], &b" <"[..])));
        for not in [&b"hello world"[..], b"3(x", b"(x", b"", b"a b(", b"?(", b"}) = 0"] {
            assert_eq!(call(not), None);
        }
        assert_eq!(
            resumed(b"<... read resumed>\"\", 3) = 0"),
            Some((&b"read"[..], &b"\"\", 3) = 0"[..]))
        );
        assert_eq!(message(b"strace: Process 17 attached"), Some((0, 17, true)));
        assert_eq!(message(b"vfork(strace: Process 17 attached"), Some((6, 17, true)));
        assert_eq!(message(b"Process 17 detached"), Some((0, 17, false)));
        assert_eq!(message(b"Process x detached"), None);
    }
}
