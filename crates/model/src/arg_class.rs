//! Classes of calls without a path that rules ask about, by their arguments.
//!
//! The seccomp filter can check each condition, so under ptrace only calls that match stop; a program with a buffer
//! never stops for its writes. What a program flushes to /dev/null itself costs nothing, but what its environment makes
//! it do there it does elsewhere, too: hence a class of its own. In a log that does not say what standard output is,
//! such writes stay among the others. A program that answers is distinguished from one without a buffer by its reads
//! ([`Answers`]); the kernel counts what is read, so no call has to stop for it.

words! {
    /// What the arguments of a call without a path show.
    pub enum ArgClass {
        /// `write` of fewer than [`SMALL_OUTPUT`] bytes to standard output, where that is neither a terminal
        /// nor known to be /dev/null.
        /// Repeated: written less than a millisecond after another, with no wait in between, and not as an answer
        /// ([`Answers`]).
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
/// So many writes after a question are its answer.
pub const ANSWER: u32 = 64;
/// A read that brings fewer bytes is a question. A filter reads as much as its buffer holds.
pub const QUESTION: u32 = 1024;

/// Which writes to standard output answer something that was read, if standard input is a pipe or a socket: then whoever
/// asked may wait for them before it asks again, and they must not be kept in a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answers {
    /// How many more writes are new.
    left: u32,
    epoch: u64,
}

impl Answers {
    /// So many calls have read so many bytes since the last write, or since reads were last looked up.
    pub fn read(&mut self, calls: u64, bytes: u64) {
        let asked = bytes > 0 && bytes < calls.saturating_mul(QUESTION.into());
        let new = if asked { ANSWER } else { calls.min(ANSWER.into()) as u32 };
        self.left = self.left.max(new);
    }

    /// A write: the number of its epoch, which is that of the write before unless it is new.
    pub fn write(&mut self) -> u64 {
        let new = self.left > 0;
        self.left -= u32::from(new);
        self.epoch += u64::from(new);
        self.epoch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of so many writes are new.
    fn new(answers: &mut Answers, writes: u32) -> u64 {
        let before = answers.epoch;
        for _ in 0..writes {
            answers.write();
        }
        answers.epoch - before
    }

    #[test]
    fn issue_39_what_follows_a_question_is_its_answer() {
        let mut answers = Answers::default();
        assert_eq!(new(&mut answers, 100), 0);
        answers.read(1, 9);
        assert_eq!(new(&mut answers, 12), 12);
        answers.read(20, 20);
        assert_eq!(new(&mut answers, 1000), u64::from(ANSWER));
        // Whole buffers, and the end of the input.
        answers.read(1, 8192);
        assert_eq!(new(&mut answers, 100), 1);
        answers.read(1, 0);
        assert_eq!(new(&mut answers, 100), 1);
        answers.read(0, 0);
        assert_eq!(new(&mut answers, 100), 0);
    }
}
