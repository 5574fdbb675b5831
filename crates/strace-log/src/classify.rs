//! Calls without a path that rules ask about: their class, by the text of their arguments.

use crate::text;
use memchr::memmem;
use needless_model::{
    Answers, ArgClass, HIGH_DESCRIPTOR, LARGE_BLOCK, SMALL_OUTPUT, TINY_INPUT, VDSO_CLOCKS,
};
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
    Mapped,
    Unmapped,
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
    /// Whether standard input is a pipe, a socket or a terminal, where a line showed what it is.
    peer: Option<bool>,
    answers: Answers,
}

/// The class of a call, and the epoch that a write belongs to.
pub(crate) type Classified = (ArgClass, Option<u64>);

impl ClassifiedBy {
    pub(crate) fn of(name: &str, kind: CallKind) -> ClassifiedBy {
        match (kind, name) {
            (CallKind::Classify(condition, classifier), _) => match (classifier, condition) {
                (Classifier::Output, _) => ClassifiedBy::Output,
                (Classifier::Heap, _) => ClassifiedBy::Heap,
                (Classifier::Mapped, _) => ClassifiedBy::Mapped,
                (Classifier::Unmapped, _) => ClassifiedBy::Unmapped,
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
            | ClassifiedBy::Mapped
            | ClassifiedBy::Unmapped
            | ClassifiedBy::ClockId
            | ClassifiedBy::Clock
            | ClassifiedBy::Peer => true,
        }
    }

    /// The class of a call, where nothing but its arguments decides it.
    fn class(self, args: &[u8]) -> Option<ArgClass> {
        match self {
            ClassifiedBy::Mapped => {
                let mut words = args.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).skip(1);
                let (length, protection, flags) = (words.next()?, words.next()?, words.next()?);
                let block = matches!(protection, b"PROT_READ|PROT_WRITE" | b"0x3")
                    && matches!(flags, b"MAP_PRIVATE|MAP_ANONYMOUS" | b"0x22");
                (block && is_large(length)).then_some(ArgClass::BlockMapped)
            }
            ClassifiedBy::Unmapped => {
                let length = args.split(|byte| *byte == b',').nth(1)?.trim_ascii();
                is_large(length).then_some(ArgClass::BlockUnmapped)
            }
            ClassifiedBy::Close => {
                let high = text::decimal(args).0 >= u64::from(HIGH_DESCRIPTOR);
                high.then_some(ArgClass::HighDescriptor)
            }
            ClassifiedBy::Clock => Some(ArgClass::Clock),
            ClassifiedBy::ClockId => {
                let end = args.iter().position(|b| *b == b',').unwrap_or(args.len());
                let of_the_vdso = match args[..end].strip_prefix(b"CLOCK_") {
                    Some(name) => NAMES.contains(&name),
                    None => {
                        text::number(args).is_some_and(|id| id < 32 && VDSO_CLOCKS & 1 << id != 0)
                    }
                };
                of_the_vdso.then_some(ArgClass::Clock)
            }
            ClassifiedBy::Peer => {
                let has = |part: &[u8]| memmem::find(args, part).is_some();
                // The second form is that of -X raw: port 53 in network byte order.
                if has(b"_port=htons(53)") || has(b"_port=\"\\x00\\x35\"") {
                    return Some(ArgClass::NameServer);
                }
                has(b"sun_path=\"/dev/log\"").then_some(ArgClass::SystemLog)
            }
            ClassifiedBy::Nothing
            | ClassifiedBy::Output
            | ClassifiedBy::Input
            | ClassifiedBy::Heap
            | ClassifiedBy::Status => None,
        }
    }
}

impl Streams {
    /// The class of the call with these arguments, which returned `ret`; `None`: rules do not ask about it.
    pub(crate) fn classify(
        &mut self,
        by: ClassifiedBy,
        args: &[u8],
        ret: &[u8],
    ) -> Option<Classified> {
        if !by.may_classify(args) {
            return None;
        }
        match by {
            ClassifiedBy::Output => {
                let length = last_number(args)?;
                if length >= u64::from(SMALL_OUTPUT) || self.to_terminal(args) {
                    return None;
                }
                let discarded = self.is_discarded(args);
                let detail =
                    if discarded { ArgClass::DiscardedOutput } else { ArgClass::SmallOutput };
                Some((detail, Some(self.answers.write())))
            }
            ClassifiedBy::Input => {
                let tiny = last_number(args)? < u64::from(TINY_INPUT);
                let shown = args.starts_with(b"0<pipe:") || args.starts_with(b"0<socket:");
                let peer = if shown { Some(true) } else { self.peer };
                // Where no line shows what it is, one byte at a time is read from a file, not from a peer.
                if peer.unwrap_or(!tiny) {
                    self.answers.read(1, text::decimal(ret).0);
                }
                tiny.then_some((ArgClass::TinyInput, None))
            }
            ClassifiedBy::Heap => {
                let end = text::number(args).filter(|end| *end > 0)?;
                let before = std::mem::replace(&mut self.heap, end);
                let shrinks = end < before;
                Some((if shrinks { ArgClass::HeapShrinks } else { ArgClass::HeapGrows }, None))
            }
            ClassifiedBy::Status => {
                let file = file_type(args);
                let null = is_null_device(args);
                let device = file == Some(FileType::Device) && !null;
                if args[0] == b'1' {
                    (self.terminal, self.discarded) = (device, null);
                } else {
                    self.peer = file.map(|file| device || file == FileType::Peer);
                }
                None
            }
            _ => Some((by.class(args)?, None)),
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

fn is_large(length: &[u8]) -> bool {
    text::number(length).is_some_and(|length| length >= u64::from(LARGE_BLOCK))
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

/// What rules must know of the file behind a standard stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileType {
    /// A character device: a terminal, or /dev/null.
    Device,
    /// A pipe or a socket.
    Peer,
    Other,
}

/// The type of the file in `{st_mode=…`: `S_IFCHR|0666`, or `020666` with `-X raw` and `-X verbose`.
fn file_type(args: &[u8]) -> Option<FileType> {
    let mode = field(args, b"st_mode=")?;
    let is = |name: &[u8], bits| {
        mode.starts_with(name) || text::number(mode).is_some_and(|mode| mode & 0o170_000 == bits)
    };
    Some(if is(b"S_IFCHR", 0o020_000) {
        FileType::Device
    } else if is(b"S_IFIFO", 0o010_000) || is(b"S_IFSOCK", 0o140_000) {
        FileType::Peer
    } else {
        FileType::Other
    })
}

/// Whether `st_rdev` is the number of /dev/null. strace 4 wrote its parts in decimal; `-X raw` and `-X verbose`
/// write one number.
fn is_null_device(args: &[u8]) -> bool {
    field(args, b"st_rdev=").is_some_and(|device| {
        device.starts_with(b"makedev(0x1, 0x3)")
            || device.starts_with(b"makedev(1, 3)")
            || text::number(device) == Some(0x103)
    })
}

/// What follows `name` in a structure that strace printed.
fn field<'a>(args: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    memmem::find(args, name).map(|at| &args[at + name.len()..])
}

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

    /// Each read returns one byte.
    fn see(streams: &mut Streams, name: &str, args: &str) -> Option<Classified> {
        streams.classify(ClassifiedBy::of(name, kind(name, true)), args.as_bytes(), b"1")
    }

    #[test]
    fn small_output_counts_unless_it_goes_to_a_terminal() {
        let s = &mut Streams::default();
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(0))));
        assert_eq!(see(s, "write", r#"1, "a"..., 1024"#), None);
        assert_eq!(see(s, "write", r#"12, "a", 1"#), None);
        assert_eq!(see(s, "write", r#"1</dev/pts/3>, "a", 1"#), None);
        let block = r#"0, "line\n"..., 4096"#;
        let read = ClassifiedBy::of("read", kind("read", true));
        assert_eq!(s.classify(read, block.as_bytes(), b"4096"), None);
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(1))));
        assert_eq!(see(s, "read", r#"0, "q", 1"#), Some((ArgClass::TinyInput, None)));
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(1))));
        assert_eq!(see(s, "fstat", "0, {st_mode=S_IFIFO|0600, st_size=0, ...}"), None);
        assert_eq!(see(s, "read", r#"0, "q", 1"#), Some((ArgClass::TinyInput, None)));
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(2))));
        assert_eq!(see(s, "write", r#"1, "a\n", 2"#), Some((ArgClass::SmallOutput, Some(3))));
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
        for null in [
            "{st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}",
            "{st_mode=S_IFCHR|0666, st_rdev=makedev(1, 3), ...}",
            "{st_dev=makedev(0, 0x6), st_mode=S_IFCHR|0666, st_rdev=makedev(0x1, 0x3), ...}",
            // -X raw and -X verbose
            "{st_mode=020666, st_rdev=0x103, ...}",
            "{st_mode=020666 /* S_IFCHR|0666 */, st_rdev=0x103 /* makedev(0x1, 0x3) */, ...}",
        ] {
            assert_eq!(see(s, "fstat", &format!("1, {null}")), None);
            assert_eq!(detail(s, r#"1, "a\n", 2"#), discarded);
            assert_eq!(detail(s, r#"1<\x2f\x64>, "\x61", 1"#), discarded);
            assert_eq!(detail(s, r#"1</tmp/o>, "a\n", 2"#), small);
            assert_eq!(see(s, "fstat", "1, {st_mode=S_IFREG|0644, st_size=0, ...}"), None);
            assert_eq!(detail(s, r#"1, "a\n", 2"#), small);
        }
    }

    #[test]
    fn terminals_and_pipes_are_recognized_by_their_numbers() {
        let s = &mut Streams::default();
        for terminal in
            ["{st_mode=020620, st_rdev=0x8800, ...}", "{st_mode=020620 /* S_IFCHR|0620 */"]
        {
            assert_eq!(see(s, "fstat", &format!("1, {terminal}")), None);
            assert_eq!(see(s, "write", r#"1, "a\n", 2"#), None, "{terminal}");
        }
        for (file, epoch) in [("010600", 1), ("0140777", 1), ("0100644", 0)] {
            let s = &mut Streams::default();
            assert_eq!(see(s, "fstat", &format!("0, {{st_mode={file}, st_size=0, ...}}")), None);
            assert_eq!(see(s, "read", r#"0, "q", 1"#), Some((ArgClass::TinyInput, None)));
            let written = see(s, "write", r#"1, "a\n", 2"#);
            assert_eq!(written, Some((ArgClass::SmallOutput, Some(epoch))), "{file}");
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
        for raw in [
            r#"3, {sa_family=0x2, sin_port="\x00\x35", sin_addr="\x7f\x00\x00\x01"}, 16"#,
            r#"3, {sa_family=0xa /* AF_INET6 */, sin6_port="\x00\x35" /* htons(53) */, sin6_flowinfo=0"#,
        ] {
            assert_eq!(detail(s, "connect", raw), Some(ArgClass::NameServer), "{raw}");
        }
        let log = "3, {sa_family=AF_UNIX, sun_path=\"/dev/log\"}, 110";
        assert_eq!(detail(s, "connect", log), Some(ArgClass::SystemLog));
        assert_eq!(detail(s, "connect", "3, {sa_family=AF_UNIX, sun_path=\"/x\"}, 110"), None);
    }
}
