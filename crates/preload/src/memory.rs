//! Memory for zones: they live for ever, so the allocator hardly frees.
//!
//! malloc(3) would deadlock in a signal handler that interrupted it, and in the child of a fork that
//! did. This takes no lock: one word says where the free part of the present chunk begins.

use crate::imports::syscall;
use core::alloc::{GlobalAlloc, Layout};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Chunks are aligned to their size, so that an address tells where its chunk ends.
const CHUNK: usize = 32 * 1024;
/// From here on a request gets pages of its own, which are given back.
const LARGE: usize = 12 * 1024;

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const MMAP: i64 = 9;
    pub(super) const MUNMAP: i64 = 11;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const MMAP: i64 = 222;
    pub(super) const MUNMAP: i64 = 215;
}
#[cfg(target_arch = "powerpc64")]
mod number {
    pub(super) const MMAP: i64 = 90;
    pub(super) const MUNMAP: i64 = 91;
}

/// The allocator of the library.
struct Arena;

/// Where the present chunk is free; 0 or a multiple of `CHUNK`: there is none.
static FREE: AtomicUsize = AtomicUsize::new(0);

/// Room for one aligned chunk: older dynamic linkers align no segment to more than a page.
static mut FIRST: [u8; 2 * CHUNK] = [0; 2 * CHUNK];
static FIRST_TAKEN: AtomicBool = AtomicBool::new(false);

#[global_allocator]
static ARENA: Arena = Arena;

fn map(size: usize) -> usize {
    const PROT_READ_WRITE: usize = 3;
    const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing else.
    let at = unsafe {
        syscall(number::MMAP, [0, size, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, usize::MAX, 0])
    };
    if at == -1 { 0 } else { at as usize }
}

/// # Safety
/// `at` and `size` must be whole pages that `map` gave and nobody uses.
unsafe fn unmap(at: usize, size: usize) {
    if size > 0 {
        // SAFETY: the caller's.
        unsafe { syscall(number::MUNMAP, [at, size, 0, 0, 0, 0]) };
    }
}

/// A chunk aligned to its size; 0 if the kernel gives none. The first is part of this library: most
/// programs know one zone.
fn new_chunk() -> usize {
    if !FIRST_TAKEN.swap(true, Ordering::Relaxed) {
        return (&raw const FIRST as usize).next_multiple_of(CHUNK);
    }
    let at = map(2 * CHUNK);
    if at == 0 {
        return 0;
    }
    let chunk = at.next_multiple_of(CHUNK);
    // SAFETY: both ends lie outside the chunk and inside what was just mapped.
    unsafe {
        unmap(at, chunk - at);
        unmap(chunk + CHUNK, at + CHUNK - chunk);
    }
    chunk
}

// SAFETY: memory handed out lies between the old and the new value of `FREE`, which only one caller
// can have exchanged, or in a mapping of its own.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() >= LARGE || layout.align() > 4096 {
            return if layout.align() > 4096 { null_mut() } else { map(layout.size()) as *mut u8 };
        }
        let mut free = FREE.load(Ordering::Relaxed);
        loop {
            let at = free.next_multiple_of(layout.align());
            let end = at + layout.size();
            // The last byte of a chunk is never given away: a full chunk would look like none.
            if !free.is_multiple_of(CHUNK) && end < free.next_multiple_of(CHUNK) {
                match FREE.compare_exchange_weak(free, end, Ordering::Relaxed, Ordering::Relaxed) {
                    Ok(_) => return at as *mut u8,
                    Err(now) => free = now,
                }
                continue;
            }
            let chunk = new_chunk();
            if chunk == 0 {
                return null_mut();
            }
            // The first 16 bytes stay unused, for the same reason.
            if let Err(now) =
                FREE.compare_exchange(free, chunk + 16, Ordering::Relaxed, Ordering::Relaxed)
            {
                // Somebody else brought a chunk first.
                if chunk != (&raw const FIRST as usize).next_multiple_of(CHUNK) {
                    // SAFETY: it was mapped, and nobody knows of it.
                    unsafe { unmap(chunk, CHUNK) };
                }
                free = now;
            } else {
                free = chunk + 16;
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's.
        let at = unsafe { self.alloc(layout) };
        // New pages are zeros: to write them would bring them all in.
        if !at.is_null() && layout.size() < LARGE {
            // SAFETY: just handed out.
            unsafe { at.write_bytes(0, layout.size()) };
        }
        at
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if layout.size() >= LARGE {
            // SAFETY: `alloc` mapped it; munmap rounds up to whole pages.
            unsafe { unmap(at as usize, layout.size()) };
            return;
        }
        // Only what was handed out last can be taken back.
        let end = at as usize + layout.size();
        let _ = FREE.compare_exchange(end, at as usize, Ordering::Relaxed, Ordering::Relaxed);
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (start, end) = (at as usize, at as usize + layout.size());
        let in_place = layout.size() < LARGE
            && size < LARGE
            && start + size < end.next_multiple_of(CHUNK)
            && FREE
                .compare_exchange(end, start + size, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if in_place {
            return at;
        }
        // SAFETY: the size is the caller's promise: not 0, and no overflow when rounded up.
        let new = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !new.is_null() {
            // SAFETY: both are valid for the smaller of the sizes and do not overlap.
            unsafe {
                core::ptr::copy_nonoverlapping(at, new, layout.size().min(size));
                self.dealloc(at, layout);
            }
        }
        new
    }
}
