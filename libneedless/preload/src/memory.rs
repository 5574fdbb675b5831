//! Memory for zones: two static areas of this library, and nothing else.
//!
//! malloc(3) would deadlock in a signal handler that interrupted it, and in the child of a fork that did. Zones are
//! made by one [`ZoneBuilder`] at a time: first in the scratch area, which is reused for the next zone, and then, if
//! no zone is equal and there is room, copied without gaps to the area of permanent zones. While another builder is at
//! work, or without room, the C library answers. Pages that are never written use no memory, and no system call is
//! made.

use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// More than the size of any tzdata file.
const FILE: usize = 8 * 1024;
const SCRATCH: usize = 64 * 1024;
/// The zone of a file takes about 4 KiB, that of a TZ string without daylight saving time some 300 bytes.
const KEPT: usize = 256 * 1024;
/// Allocations are whole words, so that a copy of a zone takes no more than the original, wherever it begins.
const WORD: usize = 8;

#[repr(C, align(16))]
struct Area<const N: usize>([u8; N]);

static mut FILE_BYTES: [u8; FILE] = [0; FILE];
static mut SCRATCH_BYTES: Area<SCRATCH> = Area([0; SCRATCH]);
static mut KEPT_BYTES: Area<KEPT> = Area([0; KEPT]);
/// How much of `KEPT_BYTES` is in use. Only the builder writes it.
static KEPT_LEN: AtomicUsize = AtomicUsize::new(0);

/// The free rest of the area that allocations are taken from: both are 0 while no builder exists.
static FREE: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// The right to make a zone. At most one exists. What one builder wrote is visible to the next: `take` acquires what
/// `drop` releases.
pub(crate) struct ZoneBuilder {
    /// The buffer for a zone file.
    pub(crate) file: &'static mut [u8],
    pub(crate) memory: Memory,
}

/// The two areas of memory.
pub(crate) struct Memory(());

static TAKEN: AtomicBool = AtomicBool::new(false);

fn scratch() -> usize {
    (&raw mut SCRATCH_BYTES) as usize
}

impl ZoneBuilder {
    /// `None` while another thread has one, in a signal handler that interrupted one, and in the child of a fork that
    /// did.
    pub(crate) fn take() -> Option<ZoneBuilder> {
        if TAKEN.swap(true, Ordering::Acquire) {
            return None;
        }
        let bytes = &raw mut FILE_BYTES;
        // SAFETY: the only reference to `FILE_BYTES` is in the `ZoneBuilder`, and `TAKEN`, which was false, admits one
        // of them at a time.
        Some(ZoneBuilder { file: unsafe { &mut *bytes }, memory: Memory(()) })
    }
}

impl Memory {
    /// Runs `make` with the scratch area, if the at most `needed` bytes that it allocates fit. The result must be
    /// dropped or copied before the next call.
    pub(crate) fn try_out<T>(&self, needed: usize, make: impl FnOnce() -> T) -> Option<T> {
        if needed > SCRATCH {
            return None;
        }
        FREE.store(scratch(), Ordering::Release);
        END.store(scratch() + SCRATCH, Ordering::Release);
        Some(make())
    }

    /// How much of the scratch area is in use.
    pub(crate) fn tried(&self) -> usize {
        FREE.load(Ordering::Acquire) - scratch()
    }

    /// Runs `make`, whose allocations of at most `needed` bytes are permanent; `None` if there is no room.
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

impl Drop for ZoneBuilder {
    fn drop(&mut self) {
        FREE.store(0, Ordering::Release);
        END.store(0, Ordering::Release);
        TAKEN.store(false, Ordering::Release);
    }
}

/// The allocator of the library. Memory is allocated only inside `try_out` and `keep`.
struct Arena;

#[cfg(panic = "abort")]
#[global_allocator]
static ARENA: Arena = Arena;

// SAFETY: allocated memory lies between the old and the new value of `FREE`, which one caller only can have exchanged,
// and inside one of the two areas, to which nothing else refers. Where memory is freed and allocated again, the
// exchange in `dealloc` releases it and the one in `alloc` acquires it.
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
        // Only the latest allocation can be freed.
        let end = at as usize + layout.size().next_multiple_of(WORD);
        let _ = FREE.compare_exchange(end, at as usize, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// A pointer to an address in one of the areas, derived from that area so that writing through it is allowed.
fn at(address: usize) -> *mut u8 {
    let scratch = (&raw mut SCRATCH_BYTES).cast::<u8>();
    let into = address.wrapping_sub(scratch as usize);
    if into < SCRATCH {
        return scratch.wrapping_add(into);
    }
    let kept = (&raw mut KEPT_BYTES).cast::<u8>();
    kept.wrapping_add(address - kept as usize)
}
