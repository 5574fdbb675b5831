//! The threads that are traced, in memory shared with the supervisor and the watchdog: when the tracer has died, the
//! calls of the command fail until one of these has found them.

use crate::sys::Tid;
use nix::errno::Errno;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};

/// Most threads listed; others are found in /proc, which takes longer.
const SLOTS: usize = 65_536;
/// The first word is the number of slots that were ever used.
const WORDS: usize = 1 + SLOTS;
const BYTES: usize = WORDS * size_of::<AtomicI32>();

/// The list. The tracer writes, the others read, each through its own mapping of the same memory.
pub(crate) struct Roster {
    words: NonNull<AtomicI32>,
    /// Slots that are free again.
    free: Vec<u32>,
    /// How many slots were ever used.
    used: usize,
}

/// Where a thread is listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RosterSlot(Option<u32>);

impl Roster {
    /// An empty list. Create it before the forks that separate supervisor, tracer and watchdog.
    pub(crate) fn new() -> Result<Roster, Errno> {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
        // SAFETY: with a null address and no MAP_FIXED the kernel chooses a free range: no existing mapping
        // is replaced.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), BYTES, access, flags, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        let words = NonNull::new(memory.cast()).ok_or(Errno::ENOMEM)?;
        Ok(Roster { words, free: Vec::new(), used: 0 })
    }

    fn words(&self) -> &[AtomicI32] {
        // SAFETY: `new` mapped `BYTES` bytes, which are `WORDS` integers; `drop` unmaps them. Zero bytes,
        // which they start with, are a valid `AtomicI32`, and both processes write them only through this
        // slice.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr(), WORDS) }
    }

    /// Lists a thread.
    pub(crate) fn add(&mut self, tid: Tid) -> RosterSlot {
        let slot = self.free.pop().or_else(|| {
            if self.used == SLOTS {
                return None;
            }
            self.used += 1;
            self.words()[0].store(self.used as i32, Ordering::Relaxed);
            Some(self.used as u32)
        });
        if let Some(slot) = slot {
            self.words()[slot as usize].store(tid, Ordering::Relaxed);
        }
        RosterSlot(slot)
    }

    /// Removes it from the list.
    pub(crate) fn remove(&mut self, RosterSlot(slot): RosterSlot) {
        if let Some(slot) = slot {
            self.words()[slot as usize].store(0, Ordering::Relaxed);
            self.free.push(slot);
        }
    }

    /// Nothing is traced any more: from here on, the numbers may become those of others.
    pub(crate) fn clear(&self) {
        self.words()[0].store(0, Ordering::Relaxed);
    }

    /// The listed threads, for a process that does not write.
    pub(crate) fn threads(&self) -> impl Iterator<Item = Tid> {
        let (used, slots) = self.words().split_at(1);
        let used = used[0].load(Ordering::Relaxed) as usize;
        slots[..used.min(SLOTS)]
            .iter()
            .map(|slot| slot.load(Ordering::Relaxed))
            .filter(|tid| *tid != 0)
    }
}

impl Drop for Roster {
    fn drop(&mut self) {
        // SAFETY: `new` mapped these `BYTES` bytes; references to them come from `words`, which borrows
        // `self`, so none is left.
        unsafe { libc::munmap(self.words.as_ptr().cast(), BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_listed_is_read_in_another_process() {
        let mut roster = Roster::new().unwrap();
        let slots: Vec<RosterSlot> = (1..=3).map(|tid| roster.add(tid)).collect();
        roster.remove(slots[1]);
        // SAFETY: until its end the child only reads the mapping: it allocates nothing and takes no lock,
        // which another thread of the tests may hold.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let mut later = 0;
            while later != 9 {
                later = roster.threads().max().unwrap_or(0);
                std::hint::spin_loop();
            }
            let read: i32 = roster.threads().sum();
            // SAFETY: _exit(2) takes an integer only.
            unsafe { libc::_exit(read) };
        }
        roster.add(9);
        let mut status = 0;
        // SAFETY: waitpid(2) writes one integer, and `status` is one.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(libc::WEXITSTATUS(status), 1 + 3 + 9);
    }

    #[test]
    fn threads_beyond_its_size_are_not_listed() {
        let mut roster = Roster::new().unwrap();
        let slots: Vec<RosterSlot> = (0..SLOTS as Tid + 2).map(|tid| roster.add(tid + 1)).collect();
        assert_eq!(roster.threads().count(), SLOTS);
        slots.into_iter().for_each(|slot| roster.remove(slot));
        assert_eq!(roster.threads().count(), 0);
        roster.add(1);
        roster.clear();
        assert_eq!(roster.threads().count(), 0);
    }
}
