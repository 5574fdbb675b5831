//! Classes of calls without a path that rules ask about, by their arguments.

words! {
    /// What the arguments of a call without a path show.
    pub enum ArgClass {
        /// `write` of fewer than [`SMALL_OUTPUT`] bytes to standard output, where that is neither a terminal
        /// nor known to be /dev/null.
        /// Repeated: written less than a millisecond after another, with no wait in between, and no read of a
        /// standard input that may depend on it.
        SmallOutput = "standard output, a few bytes",
        /// `read` of standard input for fewer than [`TINY_INPUT`] bytes.
        TinyInput = "standard input, a few bytes",
        /// `brk` to an address above the last one.
        HeapGrows = "the heap, larger",
        /// `brk` to an address below the last one.
        HeapShrinks = "the heap, smaller",
        /// `close` of a descriptor from [`HIGH_DESCRIPTOR`] on.
        HighDescriptor = "a descriptor from 256 on",
        /// `clock_gettime` of a clock that the vDSO has on most machines, `gettimeofday`, `time`.
        Clock = "a clock of the vDSO",
        /// `connect` to port 53: a query of a name server.
        NameServer = "a name server",
        /// `connect` to /dev/log.
        SystemLog = "/dev/log",
        /// As [`ArgClass::SmallOutput`], where standard output is known to be /dev/null.
        DiscardedOutput = "standard output, which is /dev/null, a few bytes",
        /// `mmap` of at least [`LARGE_BLOCK`] bytes of private memory without a file, to read and to write, as malloc
        /// of the C library asks for a large block.
        BlockMapped = "a large block of memory, mapped",
        /// `munmap` of at least [`LARGE_BLOCK`] bytes.
        BlockUnmapped = "a large block of memory, given back",
    }
    /// The text in place of a path in lists of evidence.
    pub fn words(self);
}

/// As many bytes are a full buffer, or a separate message.
pub const SMALL_OUTPUT: u32 = 1024;
/// A program that asks for fewer bytes has no buffer.
pub const TINY_INPUT: u32 = 16;
/// Descriptors below this one are closed by any program.
pub const HIGH_DESCRIPTOR: u32 = 256;
/// Up to this size glibc keeps a block for the next request after it was given back once (`DEFAULT_MMAP_THRESHOLD_MAX`,
/// malloc/malloc.c); larger ones it maps and gives back each time.
pub const LARGE_BLOCK: u32 = 32 << 20;
/// The clocks of the vDSO, as bits: REALTIME, MONOTONIC, MONOTONIC_RAW, both coarse ones, BOOTTIME and
/// TAI (`VDSO_HRES`, `VDSO_COARSE` and `VDSO_RAW`, include/vdso/datapage.h).
pub const VDSO_CLOCKS: u32 = 1 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 11;
