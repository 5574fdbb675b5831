//! Memory for zones: two pieces of this library's own data, and no more.
//!
//! malloc(3) would deadlock in a signal handler that interrupted it, and in the child of a fork that
//! did. Zones are made by one [`Maker`] at a time, first in a piece that is used again for the next, and then,
//! if there is room and none that equals it, copied without gaps into the piece of those that live for ever.
//! Whoever finds the maker's place taken, or no room, lets the C library answer. Pages that are never written
//! cost nothing, and no system call is made.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Larger than any file of tzdata.
const FILE: usize = 8 * 1024;
const SCRATCH: usize = 64 * 1024;
/// Zones of files are about 4 KiB, those of texts without daylight saving time some 300 bytes.
const KEPT: usize = 256 * 1024;
/// What is handed out is of whole words, so that a copy takes no more than its original wherever it begins.
const WORD: usize = 8;

#[repr(C, align(16))]
struct Piece<const N: usize>([u8; N]);

static mut FILE_BYTES: [u8; FILE] = [0; FILE];
static mut SCRATCH_BYTES: Piece<SCRATCH> = Piece([0; SCRATCH]);
static mut KEPT_BYTES: Piece<KEPT> = Piece([0; KEPT]);
/// How much of the kept piece is taken. Only a maker writes it.
static KEPT_LEN: AtomicUsize = AtomicUsize::new(0);

/// What is left of the piece in use: both 0 where nobody makes a zone.
static FREE: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Who makes a zone. What one wrote, the next sees: `take` acquires what `drop` releases.
pub(crate) struct Maker {
    /// Where a file is read to.
    pub(crate) file: &'static mut [u8],
    pub(crate) pieces: Pieces,
}

/// The two pieces of memory.
pub(crate) struct Pieces(());

static TAKEN: AtomicBool = AtomicBool::new(false);

fn scratch() -> usize {
    (&raw mut SCRATCH_BYTES) as usize
}

impl Maker {
    /// `None` while another thread makes one, in a signal handler that interrupted a maker, and in the child of
    /// a fork that did.
    pub(crate) fn take() -> Option<Maker> {
        if TAKEN.swap(true, Ordering::Acquire) {
            return None;
        }
        let bytes = &raw mut FILE_BYTES;
        // SAFETY: nobody else has a reference: there is one `Maker` at a time, by `TAKEN`.
        Some(Maker { file: unsafe { &mut *bytes }, pieces: Pieces(()) })
    }
}

impl Pieces {
    /// What `make` returns, if the `needed` bytes that it allocates at most fit the piece that is used again. It
    /// must be dropped or copied before the next.
    pub(crate) fn try_out<T>(&self, needed: usize, make: impl FnOnce() -> T) -> Option<T> {
        if needed > SCRATCH {
            return None;
        }
        FREE.store(scratch(), Ordering::Release);
        END.store(scratch() + SCRATCH, Ordering::Release);
        Some(make())
    }

    /// How much of that piece is taken.
    pub(crate) fn tried(&self) -> usize {
        FREE.load(Ordering::Acquire) - scratch()
    }

    /// What `make` returns, whose allocations of `needed` bytes at most stay; `None` if there is no room.
    pub(crate) fn keep<T>(&self, needed: usize, make: impl FnOnce() -> T) -> Option<T> {
        let start = (&raw mut KEPT_BYTES) as usize;
        let taken = KEPT_LEN.load(Ordering::Acquire);
        if needed > KEPT - taken {
            return None;
        }
        FREE.store(start + taken, Ordering::Release);
        END.store(start + KEPT, Ordering::Release);
        let made = make();
        KEPT_LEN.store(FREE.load(Ordering::Acquire) - start, Ordering::Release);
        Some(made)
    }
}

impl Drop for Maker {
    fn drop(&mut self) {
        FREE.store(0, Ordering::Release);
        END.store(0, Ordering::Release);
        TAKEN.store(false, Ordering::Release);
    }
}

/// The allocator of the library: only a maker uses it.
struct Arena;

#[cfg(panic = "abort")]
#[global_allocator]
static ARENA: Arena = Arena;

// SAFETY: memory handed out lies between the old and the new value of `FREE`, which only one caller can have
// exchanged, and within one of the two pieces, which nothing else refers to. What is given back and handed out
// again was released by the one exchange and is acquired by the other.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > WORD {
            return null_mut();
        }
        let size = layout.size().next_multiple_of(WORD);
        let mut free = FREE.load(Ordering::Acquire);
        loop {
            if size > END.load(Ordering::Acquire).saturating_sub(free) {
                return null_mut();
            }
            let taken =
                FREE.compare_exchange(free, free + size, Ordering::AcqRel, Ordering::Acquire);
            match taken {
                Ok(_) => return at(free),
                Err(now) => free = now,
            }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // Only what was handed out last can be taken back.
        let end = at as usize + layout.size().next_multiple_of(WORD);
        let _ = FREE.compare_exchange(end, at as usize, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// A pointer to an address within the pieces, derived from them as what may be written.
fn at(address: usize) -> *mut u8 {
    let scratch = (&raw mut SCRATCH_BYTES).cast::<u8>();
    let into = address.wrapping_sub(scratch as usize);
    if into < SCRATCH {
        return scratch.wrapping_add(into);
    }
    let kept = (&raw mut KEPT_BYTES).cast::<u8>();
    kept.wrapping_add(address - kept as usize)
}
