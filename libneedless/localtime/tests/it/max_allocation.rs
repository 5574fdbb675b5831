//! `Zone::max_allocation` is an upper bound of what making a zone allocates: here an allocator counts it. The preloaded
//! library, whose memory is limited, relies on it.
#![allow(unsafe_code, reason = "an allocator")]

use crate::oracle::inputs::{Random, ZONEINFO, corrupted, text, zone_files};
use needless_fixtures::needed;
use needless_localtime::Zone;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;

/// Counts allocated bytes, rounded up to words, and ignores what is freed: as the preloaded library's allocator.
struct Counting;

thread_local! {
    /// Of this thread, since other tests may run on others.
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is passed to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + layout.size().next_multiple_of(8));
        // SAFETY: the caller keeps the contract of `GlobalAlloc::alloc`, which is the same for the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` was allocated by `alloc` with this layout, hence by the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn allocated_by<T>(make: impl FnOnce() -> T) -> usize {
    let before = ALLOCATED.get();
    drop(make());
    ALLOCATED.get() - before
}

/// A valid file whose types all refer to the same very long name.
fn hostile(types: usize, chars: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..2 {
        bytes.extend(b"TZif2");
        bytes.extend([0; 15]);
        for count in [0, 0, 0, 0, types as u32, chars as u32] {
            bytes.extend(count.to_be_bytes());
        }
        bytes.extend([0, 0, 14, 16, 0, 0].repeat(types));
        bytes.extend(vec![b'A'; chars]);
    }
    bytes.extend(b"\n\n");
    bytes
}

#[test]
fn making_a_zone_allocates_no_more_than_the_bound() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let zones = needed(zone_files(Path::new(ZONEINFO))).unwrap_or_default();
    let mut bytes: Vec<Vec<u8>> = zones.iter().map(|(_, bytes)| bytes.clone()).collect();
    bytes.extend((0..if zones.is_empty() { 0 } else { 3000 }).map(|_| {
        let (_, bytes) = random.pick(&zones);
        corrupted(&mut random, bytes)
    }));
    bytes.extend([(1, 1), (100, 2000), (600, 500), (250, 250)].map(|(t, c)| hostile(t, c)));
    let mut most = 0;
    for bytes in &bytes {
        let bound = Zone::max_allocation(bytes, 9);
        let took = allocated_by(|| Zone::from_tzif(bytes));
        assert!(took <= bound, "{took} bytes instead of {bound}");
        let took = allocated_by(|| Zone::with_posixrules(b"CET-1CEST", bytes));
        assert!(took <= bound, "with a text {took} bytes instead of {bound}");
        most = most.max(bound);
    }
    println!("{} files, {most} bytes at most", bytes.len());
    // Every real file fits the preloaded library's 64 KiB.
    for (name, bytes) in &zones {
        assert!(
            Zone::max_allocation(bytes, 500) <= 64 * 1024,
            "{name}: {}",
            Zone::max_allocation(bytes, 500)
        );
    }
    for _ in 0..3000 {
        let mut text = text(&mut random);
        if random.below(4) == 0 {
            text.splice(0..0, vec![b'A'; 400]);
        }
        let took = allocated_by(|| Zone::from_posix(&text));
        let bound = Zone::max_allocation_of_text(text.len());
        assert!(took <= bound, "{text:?}: {took} bytes instead of {bound}");
    }
}
