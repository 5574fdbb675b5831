//! Classes of calls without a path that rules ask about, by their arguments.

/// What the arguments of a call without a path show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ArgClass {
    /// `write` of fewer than [`SMALL_OUTPUT`] bytes to standard output, where that is neither a terminal
    /// nor known to be /dev/null.
    /// Repeated: written less than a millisecond after another, with no wait in between, and no read of a
    /// standard input that may depend on it.
    SmallOutput,
    /// `read` of standard input for fewer than [`TINY_INPUT`] bytes.
    TinyInput,
    /// `brk` to an address above the last one.
    HeapGrows,
    /// `brk` to an address below the last one.
    HeapShrinks,
    /// `close` of a descriptor from [`HIGH_DESCRIPTOR`] on.
    HighDescriptor,
    /// `clock_gettime` of a clock that the vDSO has on most machines, `gettimeofday`, `time`.
    Clock,
    /// `connect` to port 53: a query of a name server.
    NameServer,
    /// `connect` to /dev/log.
    SystemLog,
    /// As [`ArgClass::SmallOutput`], where standard output is known to be /dev/null.
    DiscardedOutput,
}

/// As many bytes are a full buffer, or a separate message.
pub const SMALL_OUTPUT: u32 = 1024;
/// A program that asks for fewer bytes has no buffer.
pub const TINY_INPUT: u32 = 16;
/// Descriptors below this one are closed by any program.
pub const HIGH_DESCRIPTOR: u32 = 256;
/// The clocks of the vDSO, as bits: REALTIME, MONOTONIC, MONOTONIC_RAW, both coarse ones, BOOTTIME and
/// TAI (`VDSO_HRES`, `VDSO_COARSE` and `VDSO_RAW`, include/vdso/datapage.h).
pub const VDSO_CLOCKS: u32 = 1 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 11;

impl ArgClass {
    /// All, in declaration order.
    pub const ALL: [ArgClass; 9] = [
        ArgClass::SmallOutput,
        ArgClass::TinyInput,
        ArgClass::HeapGrows,
        ArgClass::HeapShrinks,
        ArgClass::HighDescriptor,
        ArgClass::Clock,
        ArgClass::NameServer,
        ArgClass::SystemLog,
        ArgClass::DiscardedOutput,
    ];

    /// The text in place of a path in lists of evidence.
    pub fn words(self) -> &'static str {
        match self {
            ArgClass::SmallOutput => "standard output, a few bytes",
            ArgClass::TinyInput => "standard input, a few bytes",
            ArgClass::HeapGrows => "the heap, larger",
            ArgClass::HeapShrinks => "the heap, smaller",
            ArgClass::HighDescriptor => "a descriptor from 256 on",
            ArgClass::Clock => "a clock of the vDSO",
            ArgClass::NameServer => "a name server",
            ArgClass::SystemLog => "/dev/log",
            ArgClass::DiscardedOutput => "standard output, which is /dev/null, a few bytes",
        }
    }
}
