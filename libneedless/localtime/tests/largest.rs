//! `Zone::largest` is an upper bound of what making a zone allocates, counted here by the allocator. Who has no more room than
//! that relies on it.
#![allow(unsafe_code, reason = "an allocator")]

#[allow(dead_code, reason = "the oracle uses more of it")]
#[path = "oracle/inputs.rs"]
mod inputs;

use inputs::{Random, ZONEINFO, corrupted, text, zone_files};
use needless_fixtures::needed;
use needless_localtime::Zone;
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is handed out and never takes anything back, in words: as the preloaded library's.
struct Counting;

static GIVEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        GIVEN.fetch_add(layout.size().next_multiple_of(8), Ordering::Relaxed);
        // SAFETY: the layout is one that the system's allocator may be asked for, by this function's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `alloc` had it from the system's allocator.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

fn given<T>(make: impl FnOnce() -> T) -> usize {
    let before = GIVEN.load(Ordering::Relaxed);
    drop(make());
    GIVEN.load(Ordering::Relaxed) - before
}

/// A sound file whose types all begin at the same very long name.
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

// One test: the allocator counts for all threads.
#[test]
fn making_a_zone_allocates_no_more_than_was_said() {
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
        let largest = Zone::largest(bytes, 9);
        let took = given(|| Zone::from_tzif(bytes));
        assert!(took <= largest, "{took} bytes instead of {largest}");
        let took = given(|| Zone::with_posixrules(b"CET-1CEST", bytes));
        assert!(took <= largest, "with a text {took} bytes instead of {largest}");
        most = most.max(largest);
    }
    println!("{} files, {most} bytes at most", bytes.len());
    // What is no attack fits the preloaded library's 64 KiB.
    for (name, bytes) in &zones {
        assert!(Zone::largest(bytes, 500) <= 64 * 1024, "{name}: {}", Zone::largest(bytes, 500));
    }
    for _ in 0..3000 {
        let mut text = text(&mut random);
        if random.below(4) == 0 {
            text.splice(0..0, vec![b'A'; 400]);
        }
        let took = given(|| Zone::from_posix(&text));
        let largest = Zone::largest_of_text(text.len());
        assert!(took <= largest, "{text:?}: {took} bytes instead of {largest}");
    }
}
