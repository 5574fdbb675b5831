//! The table of a process as the tracer sees it: memory that both share, so nothing is lost when one of them dies.

use super::clock::ticks;
use super::layout as l;
use nix::errno::Errno;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

/// The table. The process may write anything into it: whatever is read is checked.
pub(crate) struct Table {
    start: NonNull<u8>,
    /// Up to here records were taken.
    taken: u64,
    /// Records before that which were not complete.
    pending: Vec<u64>,
    /// Whether one of them was given up: its place is then looked at with all others, at the end.
    gave_up: bool,
    /// The time stamp counter when it was made, and how many calls were counted since.
    made: u64,
    counted: u64,
}

/// Calls with one question and one answer.
pub(crate) struct Record {
    /// The number that the process had in its control page.
    pub(crate) process: u32,
    /// The number of the site.
    pub(crate) site: u32,
    /// How many calls.
    pub(crate) count: u64,
    /// Times of the first and the last, ticks.
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The result; 0 for a descriptor.
    pub(crate) result: i64,
    /// Directory and flags of the call.
    pub(crate) directory: u32,
    pub(crate) flags: u32,
    /// What the kernel filled in.
    pub(crate) answer: [u8; l::ANSWER_WORDS * 8],
    /// The path, without its end.
    pub(crate) path: Vec<u8>,
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
        let (pending, made) = (Vec::new(), ticks());
        let table = Table { start, taken: 0, pending, gave_up: false, made, counted: 0 };
        table.word(l::WITHIN).store(within, Ordering::Relaxed);
        table.word(l::SNAPSHOT_AT).store(l::FIRST_SNAPSHOT, Ordering::Relaxed);
        Ok(table)
    }

    /// The 64-bit word at `at`, which is a multiple of 8 within the table.
    fn word(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < l::TABLE_BYTES);
        // SAFETY: the mapping has `TABLE_BYTES` bytes, starts at a page, and lives as long as `self`; the line above
        // checks range and alignment. All access by this process is atomic, so another's writes are no data race.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(at).cast()) }
    }

    /// Lets the next `n` calls stop.
    pub(crate) fn stop_next(&self, n: i32) {
        // SAFETY: as in `word`: `STOPS` is a multiple of 4 within the mapping.
        let stops = unsafe { AtomicI32::from_ptr(self.start.as_ptr().add(l::STOPS).cast()) };
        stops.store(n, Ordering::Relaxed);
    }

    /// A record was taken that stood for `count` calls: if the tracer was asked for the next one, it is asked less often
    /// from now on.
    pub(crate) fn snapshot_after(&self, count: u64) {
        let at = self.word(l::SNAPSHOT_AT);
        let due = at.load(Ordering::Relaxed);
        if count + 1 == due {
            at.store(due.saturating_mul(8).min(1 << 24), Ordering::Relaxed);
        }
    }

    /// Counts `calls`, if so many can have been made since the table is there: a program may write any number.
    pub(crate) fn allows(&mut self, calls: u64) -> bool {
        /// Of the time stamp counter, for a call: fewer than any processor takes.
        const LEAST: u64 = 16;
        // A counter that was set back says nothing.
        let elapsed = ticks().wrapping_sub(self.made);
        let possible = (elapsed / LEAST).saturating_mul(processors());
        let counted = self.counted.saturating_add(calls);
        if counted > possible {
            return false;
        }
        self.counted = counted;
        true
    }

    /// How many calls the tracer was asked to take, and did not, since this was asked last.
    pub(crate) fn unheard(&self) -> u64 {
        self.word(l::UNHEARD).swap(0, Ordering::Relaxed)
    }

    /// Takes the records that are complete.
    pub(crate) fn take(&mut self, mut each: impl FnMut(Record)) {
        let head = self.word(l::HEAD).load(Ordering::Acquire);
        let new = head.wrapping_sub(self.taken);
        if new == 0 && self.pending.is_empty() {
            return;
        }
        let fresh = head.saturating_sub(new.min(l::RECORDS as u64))..head;
        let pending = std::mem::take(&mut self.pending);
        self.taken = head;
        for number in pending.into_iter().chain(fresh) {
            let state = self.take_one(number as usize % l::RECORDS, &mut each);
            // Begun: it will be claimed and completed, unless its process dies.
            if state == 0 || state & l::CLAIMED != 0 {
                if head.wrapping_sub(number) <= l::RECORDS as u64 && self.pending.len() < l::RECORDS
                {
                    self.pending.push(number);
                } else {
                    self.gave_up = true;
                }
            }
        }
    }

    /// Takes what is left, after the last call of a process.
    pub(crate) fn take_rest(&mut self, mut each: impl FnMut(Record)) {
        if std::mem::take(&mut self.gave_up) {
            for place in 0..l::RECORDS {
                self.take_one(place, &mut each);
            }
        }
    }

    /// Takes the record at a place, if it is complete. Returns the state that it had.
    fn take_one(&self, place: usize, each: &mut impl FnMut(Record)) -> u64 {
        let at = l::RECORDS_AT + place * l::RECORD;
        let state = self.word(at + l::STATE);
        let before = state.load(Ordering::Acquire);
        if before == l::VOID {
            state.store(0, Ordering::Release);
        } else if before != 0 && before & l::CLAIMED == 0 {
            let mut record = self.read(at);
            record.count = u64::from(state.swap(0, Ordering::AcqRel) as u32);
            each(record);
        }
        before
    }

    fn read(&self, at: usize) -> Record {
        let word = |offset: usize| self.word(at + offset).load(Ordering::Relaxed);
        let mut answer = [0; l::ANSWER_WORDS * 8];
        let (words, _) = answer.as_chunks_mut();
        for (n, bytes) in words.iter_mut().enumerate() {
            *bytes = word(l::BODY + 24 + n * 8).to_le_bytes();
        }
        let mut path = Vec::with_capacity(64);
        for n in 0..l::PATH_ROOM / 8 {
            let bytes = word(l::PATH + n * 8).to_le_bytes();
            let end = bytes.iter().position(|byte| *byte == 0);
            path.extend_from_slice(&bytes[..end.unwrap_or(8)]);
            if end.is_some() {
                break;
            }
        }
        Record {
            process: (word(l::BODY) >> 32) as u32,
            site: word(l::BODY) as u32,
            count: 0,
            first: word(l::FIRST),
            last: word(l::LAST),
            result: word(l::BODY + 8) as i64,
            directory: word(l::BODY + 16) as u32,
            flags: (word(l::BODY + 16) >> 32) as u32,
            answer,
            path,
        }
    }

    /// Frees the records that `process` will not complete, because it has ended. What is complete was taken.
    pub(crate) fn abandon(&self, process: u32) {
        for number in &self.pending {
            self.void(*number as usize % l::RECORDS, process);
        }
    }

    /// Frees the record at `address` of the process if `process` is writing it.
    pub(crate) fn abandon_one(&self, address: u64, process: u32) {
        let at = address.wrapping_sub(l::TABLE + l::RECORDS_AT as u64) as usize;
        if at.is_multiple_of(l::RECORD) && at / l::RECORD < l::RECORDS {
            self.void(at / l::RECORD, process);
        }
    }

    fn void(&self, place: usize, process: u32) {
        let state = self.word(l::RECORDS_AT + place * l::RECORD + l::STATE);
        let claimed = u64::from(process) << 32 | l::CLAIMED;
        // Another state is another's record.
        let _ = state.compare_exchange(claimed, l::VOID, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// How many processors the machine has.
fn processors() -> u64 {
    static COUNT: LazyLock<u64> = LazyLock::new(|| {
        // SAFETY: sysconf(3) takes an integer only.
        let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
        u64::try_from(count).unwrap_or(1).max(1)
    });
    *COUNT
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
        while !table.allows(1) {}
        assert!(!table.allows(1 << 60) && !table.allows(u64::MAX));
        for head in [1, 0, u64::MAX, 5000, 3, 1 << 63, 4096] {
            table.word(l::HEAD).store(head, Ordering::Relaxed);
            for place in 0..l::RECORDS {
                let state = table.word(l::RECORDS_AT + place * l::RECORD + l::STATE);
                state.store(head.rotate_left(place as u32), Ordering::Relaxed);
            }
            let mut taken = 0;
            table.take(|_| taken += 1);
            assert!(taken <= 2 * l::RECORDS && table.pending.len() <= l::RECORDS);
        }
    }
}
