//! Memory for zones: two areas of a static of this library, and nothing else.
//!
//! malloc(3) would deadlock in a signal handler that interrupted it, and in the child of a fork that did. Zones are
//! made by one [`ZoneBuilder`] at a time: first in the scratch area, which is reused for the next zone, and then, if
//! no zone is equal and there is room, copied without gaps to the area of permanent zones. While another builder is at
//! work, or without room, the C library answers. Pages that are never written use no memory, and no system call is
//! made.

use crate::between_threads::{Bump, Gate};
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// More than the size of any tzdata file.
const FILE: usize = 8 * 1024;
const SCRATCH: usize = 64 * 1024;
/// The zone of a file takes about 4 KiB, that of a TZ string without daylight saving time some 300 bytes.
const KEPT: usize = 256 * 1024;
/// Allocations are whole words, so that a copy of a zone takes no more than the original, wherever it begins.
const WORD: usize = 8;
/// Where the permanent area begins: after a word, so that no memory of the scratch area ends where it begins.
const KEPT_START: usize = SCRATCH + WORD;

#[repr(C, align(16))]
struct Area<const N: usize>([u8; N]);

static mut FILE_BYTES: [u8; FILE] = [0; FILE];
/// First the scratch area, then that of permanent zones.
static mut BYTES: Area<{ KEPT_START + KEPT }> = Area([0; KEPT_START + KEPT]);
/// Where the free rest of the permanent area begins. Only the builder uses it.
static KEPT_END: AtomicU32 = AtomicU32::new(KEPT_START as u32);

/// What allocations are taken from: nothing while no builder exists. Places are counted from the start of `BYTES`.
static REST: Bump = Bump { rest: AtomicU64::new(0) };

/// The right to make a zone. At most one exists. What one builder wrote is visible to the next: see [`Gate`].
pub(crate) struct ZoneBuilder {
    /// The buffer for a zone file.
    pub(crate) file: &'static mut [u8],
    pub(crate) memory: Memory,
}

/// The two areas of memory.
pub(crate) struct Memory(());

static GATE: Gate = Gate { taken: AtomicBool::new(false) };

impl ZoneBuilder {
    /// `None` while another thread has one, in a signal handler that interrupted one, and in the child of a fork that
    /// did.
    pub(crate) fn take() -> Option<ZoneBuilder> {
        if !GATE.enter() {
            return None;
        }
        let bytes = &raw mut FILE_BYTES;
        // SAFETY: the only reference to `FILE_BYTES` is in the `ZoneBuilder`, and `GATE` admits one of them at a
        // time.
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
        REST.open(0, SCRATCH as u32);
        Some(make())
    }

    /// How much of the scratch area is in use.
    pub(crate) fn tried(&self) -> usize {
        REST.free() as usize
    }

    /// Runs `make`, whose allocations of at most `needed` bytes are permanent; `None` if there is no room.
    pub(crate) fn keep<T>(&self, needed: usize, make: impl FnOnce() -> T) -> Option<T> {
        const END: u32 = (KEPT_START + KEPT) as u32;
        let start = KEPT_END.load(Ordering::Relaxed);
        if needed > (END - start) as usize {
            return None;
        }
        REST.open(start, END);
        let made = make();
        KEPT_END.store(REST.free(), Ordering::Relaxed);
        Some(made)
    }
}

impl Drop for ZoneBuilder {
    fn drop(&mut self) {
        REST.close();
        GATE.leave();
    }
}

/// The allocator of the library. Memory is allocated only inside `try_out` and `keep`.
struct Arena;

#[cfg(panic = "abort")]
#[global_allocator]
static ARENA: Arena = Arena;

// SAFETY: `Bump` gives each place between the start and the end of an area to one caller, and again only after it was
// freed; both areas are parts of `BYTES`, to which nothing else refers.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size(layout).filter(|_| layout.align() <= WORD) else { return null_mut() };
        REST.take(size).map_or(null_mut(), |place| bytes().wrapping_add(place as usize))
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if let Some(size) = size(layout) {
            REST.give_back((at as usize - bytes() as usize) as u32, size);
        }
    }
}

/// In whole words; `None` if it is more than there can be.
fn size(layout: Layout) -> Option<u32> {
    u32::try_from(layout.size().next_multiple_of(WORD)).ok()
}

fn bytes() -> *mut u8 {
    (&raw mut BYTES).cast()
}
