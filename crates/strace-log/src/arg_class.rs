//! Calls without a path that rules ask about: their class, by the text of their arguments.

use crate::text;
use memchr::memmem;
use needless_model::{ArgClass, HIGH_DESCRIPTOR, SMALL_OUTPUT, TINY_INPUT, VDSO_CLOCKS};
use needless_syscalls::{CallKind, Classifier, Condition};

/// What decides the class of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClassifiedBy {
    Nothing,
    /// A small write to standard output.
    Output,
    /// A read of standard input.
    Input,
    /// The end of the heap.
    Heap,
    /// A high descriptor.
    Close,
    /// A clock, by its id.
    ClockId,
    /// A clock of the vDSO.
    Clock,
    /// A peer.
    Peer,
    /// It has none, but shows what kind of file a standard stream is.
    Status,
}

/// What is remembered of a process to classify its calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Streams {
    /// The last end of the heap that was asked for.
    heap: u64,
    /// Whether a line showed that standard output is a terminal.
    terminal: bool,
    /// Whether a line showed that it is /dev/null.
    discarded: bool,
    /// Whether standard input is a pipe, a socket or a terminal.
    peer: bool,
    /// Counts the reads that may have waited for a peer's answer.
    epoch: u64,
}

/// The class of a call, and the epoch that a write belongs to.
pub(crate) type Classified = (ArgClass, Option<u64>);

impl ClassifiedBy {
    pub(crate) fn of(name: &str, kind: CallKind) -> ClassifiedBy {
        match (kind, name) {
            (CallKind::Classify(condition, classifier), _) => match (classifier, condition) {
                (Classifier::Output, _) => ClassifiedBy::Output,
                (Classifier::Heap, _) => ClassifiedBy::Heap,
                (Classifier::Peer, _) => ClassifiedBy::Peer,
                (Classifier::Just(_), Condition::Stream(..)) => ClassifiedBy::Input,
                (Classifier::Just(_), Condition::AtLeast(..)) => ClassifiedBy::Close,
                (Classifier::Just(_), Condition::OneOf(..)) => ClassifiedBy::ClockId,
                (Classifier::Just(_), _) => ClassifiedBy::Clock,
            },
            (_, "fstat" | "fstat64" | "newfstatat" | "fstatat64") => ClassifiedBy::Status,
            _ => ClassifiedBy::Nothing,
        }
    }

    /// Whether arguments that start like this may have a class: a quick check for every line.
    #[inline]
    pub(crate) fn may_classify(self, text: &[u8]) -> bool {
        let stream = |fd: u8| matches!(text, [first, b',' | b'<', ..] if *first == fd);
        match self {
            ClassifiedBy::Nothing => false,
            ClassifiedBy::Output => stream(b'1'),
            ClassifiedBy::Input => stream(b'0'),
            ClassifiedBy::Status => stream(b'0') || stream(b'1'),
            ClassifiedBy::Close => text.iter().take(3).all(u8::is_ascii_digit) && text.len() > 2,
            ClassifiedBy::Heap
            | ClassifiedBy::ClockId
            | ClassifiedBy::Clock
            | ClassifiedBy::Peer => true,
        }
    }
}

impl Streams {
    /// The class of the call with these arguments; `None`: rules do not ask about it.
    pub(crate) fn classify(&mut self, by: ClassifiedBy, args: &[u8]) -> Option<Classified> {
        if !by.may_classify(args) {
            return None;
        }
        match by {
            ClassifiedBy::Nothing => None,
            ClassifiedBy::Output => {
                let length = last_number(args)?;
                if length >= u64::from(SMALL_OUTPUT) || self.to_terminal(args) {
                    return None;
                }
                let discarded = self.is_discarded(args);
                let detail =
                    if discarded { ArgClass::DiscardedOutput } else { ArgClass::SmallOutput };
                Some((detail, Some(self.epoch)))
            }
            ClassifiedBy::Input => {
                let tiny = last_number(args)? < u64::from(TINY_INPUT);
                let peer =
                    self.peer || args.starts_with(b"0<pipe:") || args.starts_with(b"0<socket:");
                // Where no line shows what it is, one byte at a time is read from a file, not from a peer.
                self.epoch += u64::from(peer || !tiny);
                tiny.then_some((ArgClass::TinyInput, None))
            }
            ClassifiedBy::Heap => {
                let end = text::number(args).filter(|end| *end > 0)?;
                let before = std::mem::replace(&mut self.heap, end);
                let shrinks = end < before;
                Some((if shrinks { ArgClass::HeapShrinks } else { ArgClass::HeapGrows }, None))
            }
            ClassifiedBy::Close => {
                let high = text::decimal(args).0 >= u64::from(HIGH_DESCRIPTOR);
                high.then_some((ArgClass::HighDescriptor, None))
            }
            ClassifiedBy::Clock => Some((ArgClass::Clock, None)),
            ClassifiedBy::ClockId => {
                let end = args.iter().position(|b| *b == b',').unwrap_or(args.len());
                let of_the_vdso = match args[..end].strip_prefix(b"CLOCK_") {
                    Some(name) => NAMES.contains(&name),
                    None => {
                        text::number(args).is_some_and(|id| id < 32 && VDSO_CLOCKS & 1 << id != 0)
                    }
                };
                of_the_vdso.then_some((ArgClass::Clock, None))
            }
            ClassifiedBy::Peer => {
                let has = |part: &[u8]| memmem::find(args, part).is_some();
                if has(b"sin_port=htons(53)") || has(b"sin6_port=htons(53)") {
                    return Some((ArgClass::NameServer, None));
                }
                has(b"sun_path=\"/dev/log\"").then_some((ArgClass::SystemLog, None))
            }
            ClassifiedBy::Status => {
                let has = |part: &[u8]| memmem::find(args, part).is_some();
                // strace 4 wrote the number in decimal.
                let null = has(b"makedev(0x1, 0x3)") || has(b"makedev(1, 3)");
                let device = has(b"{st_mode=S_IFCHR") && !null;
                if args[0] == b'1' {
                    (self.terminal, self.discarded) = (device, null);
                } else {
                    self.peer = device || has(b"{st_mode=S_IFIFO") || has(b"{st_mode=S_IFSOCK");
                }
                None
            }
        }
    }

    fn to_terminal(self, args: &[u8]) -> bool {
        self.terminal || args.starts_with(b"1</dev/pts/") || args.starts_with(b"1</dev/tty")
    }

    fn is_discarded(self, args: &[u8]) -> bool {
        match args.strip_prefix(b"1<") {
            // -xx: the name is all escapes.
            None | Some([b'\\', ..]) => self.discarded,
            // -y, -yy
            Some(file) => file.starts_with(b"/dev/null>") || file.starts_with(b"/dev/null<"),
        }
    }
}

/// The names of the clocks that the vDSO has, without `CLOCK_`.
const NAMES: [&[u8]; 7] = [
    b"REALTIME",
    b"MONOTONIC",
    b"MONOTONIC_RAW",
    b"REALTIME_COARSE",
    b"MONOTONIC_COARSE",
    b"BOOTTIME",
    b"TAI",
];

/// The last argument, a decimal number.
fn last_number(args: &[u8]) -> Option<u64> {
    let digits = args.iter().rev().take_while(|b| b.is_ascii_digit()).count();
    let (number, _) = text::decimal(&args[args.len() - digits..]);
    (digits > 0 && args[..args.len() - digits].ends_with(b", ")).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_syscalls::kind;

    fn see(streams: &mut Streams, name: &str, args: &str) -> Option<Classified> {
        streams.classify(ClassifiedBy::of(name, kind(name, true)), args.as_bytes())
    }

    #[test]
    fn small_output_counts_unless_it_goes_to_a_terminal() {
        let s = &mut Streams::default();
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(0))));
        assert_eq!(see(s, "write", r#"1, "a"..., 1024"#), None);
        assert_eq!(see(s, "write", r#"12, "a", 1"#), None);
        assert_eq!(see(s, "write", r#"1</dev/pts/3>, "a", 1"#), None);
        assert_eq!(see(s, "read", r#"0, "question\n", 4096"#), None);
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(1))));
        assert_eq!(see(s, "read", r#"0, "q", 1"#), Some((ArgClass::TinyInput, None)));
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(1))));
        assert_eq!(see(s, "fstat", "0, {st_mode=S_IFIFO|0600, st_size=0, ...}"), None);
        assert_eq!(see(s, "read", r#"0, "q", 1"#), Some((ArgClass::TinyInput, None)));
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(2))));
        assert_eq!(see(s, "fstat", "1, {st_mode=S_IFCHR|0620, st_rdev=makedev(0x88, 0)}"), None);
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), None);
    }

    #[test]
    fn output_to_dev_null_is_recognized_where_a_line_shows_it() {
        let s = &mut Streams::default();
        let detail = |s: &mut Streams, args| see(s, "write", args).map(|(detail, _)| detail);
        let (small, discarded) = (Some(ArgClass::SmallOutput), Some(ArgClass::DiscardedOutput));
        assert_eq!(detail(s, r#"1, "a\n", 2"#), small);
        assert_eq!(detail(s, r#"1</dev/null>, "a\n", 2"#), discarded);
        assert_eq!(detail(s, r#"1</dev/null<char 1:3>>, "a\n", 2"#), discarded);
        assert_eq!(detail(s, r#"1</dev/nullx>, "a\n", 2"#), small);
        for null in ["makedev(0x1, 0x3)", "makedev(1, 3)"] {
            let status = format!("1, {{st_mode=S_IFCHR|0666, st_rdev={null}, ...}}");
            assert_eq!(see(s, "fstat", &status), None);
            assert_eq!(detail(s, r#"1, "a\n", 2"#), discarded);
            assert_eq!(detail(s, r#"1<\x2f\x64>, "\x61", 1"#), discarded);
            assert_eq!(detail(s, r#"1</tmp/o>, "a\n", 2"#), small);
            assert_eq!(see(s, "fstat", "1, {st_mode=S_IFREG|0644, st_size=0, ...}"), None);
            assert_eq!(detail(s, r#"1, "a\n", 2"#), small);
        }
    }

    #[test]
    fn heaps_descriptors_clocks_and_peers() {
        let s = &mut Streams::default();
        let detail = |s: &mut Streams, name, args| see(s, name, args).map(|(detail, _)| detail);
        assert_eq!(detail(s, "brk", "NULL"), None);
        assert_eq!(detail(s, "brk", "0x34a95000"), Some(ArgClass::HeapGrows));
        assert_eq!(detail(s, "brk", "0x34a8d000"), Some(ArgClass::HeapShrinks));
        assert_eq!(detail(s, "close", "255"), None);
        assert_eq!(detail(s, "close", "1021"), Some(ArgClass::HighDescriptor));
        assert_eq!(
            detail(s, "clock_gettime", "CLOCK_MONOTONIC, {tv_sec=1}"),
            Some(ArgClass::Clock)
        );
        assert_eq!(detail(s, "clock_gettime", "CLOCK_PROCESS_CPUTIME_ID, {tv_sec=1}"), None);
        let dns =
            "3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr(\"127.0.0.1\")}, 16";
        assert_eq!(detail(s, "connect", dns), Some(ArgClass::NameServer));
        let log = "3, {sa_family=AF_UNIX, sun_path=\"/dev/log\"}, 110";
        assert_eq!(detail(s, "connect", log), Some(ArgClass::SystemLog));
        assert_eq!(detail(s, "connect", "3, {sa_family=AF_UNIX, sun_path=\"/x\"}, 110"), None);
    }
}
