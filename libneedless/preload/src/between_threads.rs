//! How threads meet in this library: each protocol once, apart from what it protects.
//!
//! The models in `../models` compile this very file with loom's atomics, run every order of the threads' steps and every
//! value that the memory model lets a load return, and `models/weaken` shows that each ordering below is needed. So a
//! change here is a change of the models, too. `crate::atomic` is `core::sync::atomic`, or loom's.

use crate::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};

/// Lets one thread in; the others do something else and do not wait. So it may be used in signal handlers.
pub(crate) struct Gate {
    pub(crate) taken: AtomicBool,
}

impl Gate {
    /// Whether the caller is in. It sees what those did who were in before.
    pub(crate) fn enter(&self) -> bool {
        !self.taken.swap(true, Ordering::Acquire)
    }

    /// Only who is in may call it.
    pub(crate) fn leave(&self) {
        // Not a store: loom does not know that it comes after the exchange of one who found the gate taken.
        self.taken.swap(false, Ordering::Release);
    }
}

/// Takes memory from the front of an area. Places are counted from a base that the user of this has.
pub(crate) struct Bump {
    /// Where the free rest of the area begins, and ends in the upper half: one word, so that nobody can see the beginning
    /// of one area with the end of another. 0 where there is no area.
    pub(crate) rest: AtomicU64,
}

fn word(free: u32, end: u32) -> u64 {
    u64::from(end) << 32 | u64::from(free)
}

impl Bump {
    /// Takes from this area from now on.
    pub(crate) fn open(&self, start: u32, end: u32) {
        // Not a store: see `Gate::leave`.
        self.rest.swap(word(start, end), Ordering::Release);
    }

    /// Takes from no area from now on.
    pub(crate) fn close(&self) {
        self.open(0, 0);
    }

    /// Where the free rest begins.
    pub(crate) fn free(&self) -> u32 {
        self.rest.load(Ordering::Relaxed) as u32
    }

    /// The place of memory that nobody else has; `None` if the rest is smaller.
    pub(crate) fn take(&self, size: u32) -> Option<u32> {
        let mut rest = self.rest.load(Ordering::Relaxed);
        loop {
            let (free, end) = (rest as u32, (rest >> 32) as u32);
            if size > end - free {
                return None;
            }
            // Acquires what `open` and `give_back` release: who had this memory is done with it.
            let taken = self.rest.compare_exchange(
                rest,
                word(free + size, end),
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            match taken {
                Ok(_) => return Some(free),
                Err(now) => rest = now,
            }
        }
    }

    /// Frees what was taken last; other memory stays taken.
    pub(crate) fn give_back(&self, start: u32, size: u32) {
        let rest = self.rest.load(Ordering::Relaxed);
        if rest as u32 == start + size {
            let freed = word(start, (rest >> 32) as u32);
            let _ = self.rest.compare_exchange(rest, freed, Ordering::Release, Ordering::Relaxed);
        }
    }
}

/// The latest of things that never change once they are here, and are never freed.
pub(crate) struct Latest<T> {
    pub(crate) at: AtomicPtr<T>,
}

impl<T> Latest<T> {
    /// What the latest one points to is complete.
    #[inline(always)]
    pub(crate) fn get(&self) -> *mut T {
        self.at.load(Ordering::Acquire)
    }

    /// Returns the one before, which is complete, too.
    pub(crate) fn put(&self, new: *mut T) -> *mut T {
        self.at.swap(new, Ordering::AcqRel)
    }

    /// Puts a mark that points to nothing in the place of `before`. One that came meanwhile stays.
    pub(crate) fn put_mark(&self, before: *mut T, mark: *mut T) {
        let _ = self.at.compare_exchange(before, mark, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// The last second in which something was done that is done once a second.
pub(crate) struct Second {
    pub(crate) last: AtomicI64,
}

impl Second {
    #[inline(always)]
    pub(crate) fn is(&self, now: i64) -> bool {
        self.last.load(Ordering::Relaxed) == now
    }

    /// Whether the caller is the one to do it in this second.
    pub(crate) fn begin(&self, now: i64) -> bool {
        self.last.swap(now, Ordering::Relaxed) != now
    }
}

/// A copy, elsewhere, that one thread at a time renews. Nobody waits: who finds another one at it leaves the work to that
/// one, who looks again when it is done.
pub(crate) struct Renewal {
    pub(crate) outdated: AtomicBool,
    pub(crate) renewing: AtomicBool,
}

impl Renewal {
    /// The original has changed: who renews the copy after this sees what the caller did before.
    pub(crate) fn set_outdated(&self) {
        // Not a store, which would hide what another thread released here.
        self.outdated.swap(true, Ordering::Release);
    }

    #[inline(always)]
    pub(crate) fn is_outdated(&self) -> bool {
        self.outdated.load(Ordering::Relaxed)
    }

    /// Runs `renew` if the copy is outdated, unless that is under way; then it runs again there.
    pub(crate) fn renew(&self, mut renew: impl FnMut()) {
        while self.is_outdated() {
            // Released to the one at work, which acquires it below and so cannot miss that the copy is outdated again.
            if self.renewing.swap(true, Ordering::AcqRel) {
                return;
            }
            if self.outdated.swap(false, Ordering::Acquire) {
                renew();
            }
            self.renewing.swap(false, Ordering::AcqRel);
        }
    }
}
