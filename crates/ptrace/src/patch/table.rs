//! The table of a process as the tracer sees it: memory that both share, so nothing is lost when one of them dies.

use super::layout as l;
use nix::errno::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The table. The process may write anything into it: whatever is read is checked.
pub(crate) struct Table {
    start: NonNull<u8>,
    /// How many records were taken, and [`l::RECORDS`].
    taken: u64,
    /// No record stands for so many calls.
    snapshot_at: u64,
}

/// Calls with one question and one answer.
pub(crate) struct Record {
    /// How many calls.
    pub(crate) count: u64,
    words: [[u8; 8]; l::RECORD / 8],
}

impl Record {
    /// The word at `at` (layout.rs).
    pub(crate) fn word(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.words[at / 8])
    }

    /// What is there from `at` on.
    pub(crate) fn bytes(&self, at: usize) -> &[u8] {
        self.words[at / 8..].as_flattened()
    }

    /// Whether so many calls can have been made between the first and the last.
    fn is_possible(&self) -> bool {
        /// Of the time stamp counter, for a call: fewer than any processor takes.
        const LEAST: u64 = 16;
        // A counter that was set back says nothing.
        let ticks = self.word(l::LAST).wrapping_sub(self.word(l::FIRST));
        self.count.wrapping_sub(1) <= ticks / LEAST
    }
}

impl Table {
    /// Maps the table in `file`, which must have its size. `within`: ticks within which a question is repeated.
    pub(crate) fn map(file: &File, within: u64) -> Result<Table, Errno> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: with a null address and no MAP_FIXED the kernel chooses a free range: no existing mapping is replaced.
        let memory = unsafe {
            let fd = file.as_raw_fd();
            libc::mmap(std::ptr::null_mut(), l::TABLE_BYTES, access, libc::MAP_SHARED, fd, 0)
        };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let start = NonNull::new(memory.cast()).ok_or(Errno::ENOMEM)?;
        let taken = l::RECORDS as u64;
        let table = Table { start, taken, snapshot_at: l::FIRST_SNAPSHOT };
        let words = [(l::HEAD, taken), (l::TAKEN, taken), (l::WITHIN, within)];
        for (at, value) in words.into_iter().chain([(l::SNAPSHOT_AT, table.snapshot_at)]) {
            table.word(at).store(value, Ordering::Relaxed);
        }
        Ok(table)
    }

    /// The 64-bit word at `at`, which is a multiple of 8 within the table.
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < l::TABLE_BYTES);
        // SAFETY: the mapping has `TABLE_BYTES` bytes, starts at a page, and lives as long as `self`; the line above
        // checks range and alignment. All access by this process is atomic, so another's writes are no data race.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Takes the records that are there. `false`: a number cannot be true, because the program wrote it.
    pub(crate) fn take(&mut self, mut each: impl FnMut(&Record)) -> bool {
        let head = self.word(l::HEAD).load(Ordering::Acquire);
        if head == self.taken {
            return true;
        }
        let mut is_true = head.wrapping_sub(self.taken) <= l::RECORDS as u64;
        let from = if is_true { self.taken } else { head };
        self.taken = head;
        for number in from..head {
            let record = self.take_one(number as usize % l::RECORDS);
            match record.count < self.snapshot_at && record.is_possible() {
                true => each(&record),
                false => is_true = false,
            }
            if record.count.wrapping_add(1) == self.snapshot_at {
                // The tracer was asked for the next call: it is asked less often from now on.
                self.snapshot_at = (self.snapshot_at * 8).min(1 << 24);
                self.word(l::SNAPSHOT_AT).store(self.snapshot_at, Ordering::Relaxed);
            }
        }
        // From here on these places may be written.
        self.word(l::TAKEN).store(head, Ordering::Release);
        is_true
    }

    fn take_one(&self, place: usize) -> Record {
        let at = l::RECORDS_AT + place * l::RECORD;
        // The process counts no more calls in it from here on.
        let count = self.word(at + l::COUNT).swap(0, Ordering::AcqRel);
        let word = |n| self.word(at + 8 * n).load(Ordering::Relaxed).to_le_bytes();
        Record { count, words: std::array::from_fn(word) }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: `map` mapped these bytes; references to them come from `word`, which borrows `self`, so none is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), l::TABLE_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_program_writes_into_the_table_is_bounded() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(l::TABLE_BYTES as u64).unwrap();
        let mut table = Table::map(&file, 1).unwrap();
        for head in [1025, 0, u64::MAX, 5000, 3, 1 << 63, 4096] {
            table.word(l::HEAD).store(head, Ordering::Relaxed);
            for place in 0..l::RECORDS {
                let count = table.word(l::RECORDS_AT + place * l::RECORD + l::COUNT);
                count.store(head.rotate_left(place as u32), Ordering::Relaxed);
            }
            let mut taken = 0;
            let is_true = table.take(|record| {
                assert!((1..64).contains(&record.count));
                taken += 1;
            });
            assert!(taken <= l::RECORDS && (!is_true || head == 1025), "{head}");
            assert_eq!(table.word(l::TAKEN).load(Ordering::Relaxed), head);
        }
    }
}
