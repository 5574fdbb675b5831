//! The allocator of zones (`memory.rs`). Only the maker of a zone allocates; but an allocator may be called by any thread,
//! so that it never gives out memory twice, or none of an area, does not rest on that.

use crate::between_threads::Bump;
use crate::{every_order, threads};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use loom::thread;
use std::ops::Range;

/// Two areas, and a cell for each address in them.
const FIRST: Range<u32> = 8..12;
const SECOND: Range<u32> = 2..4;

struct Areas {
    bump: Bump,
    cells: [UnsafeCell<usize>; 12],
}

// Who took an address has its cell.
unsafe impl Sync for Areas {}
unsafe impl Send for Areas {}

impl Areas {
    fn new() -> Arc<Areas> {
        let bump = Bump { rest: AtomicU64::new(0) };
        Arc::new(Areas { bump, cells: [0; 12].map(UnsafeCell::new) })
    }

    /// Takes memory and writes to it.
    fn take(&self, size: u32) -> Option<u32> {
        let start = self.bump.take(size)?;
        let inside = |area: Range<u32>| area.contains(&start) && start + size <= area.end;
        assert!(inside(FIRST) || inside(SECOND), "{size} bytes at {start}");
        for cell in &self.cells[start as usize..(start + size) as usize] {
            cell.with_mut(|byte| unsafe { *byte += 1 });
        }
        Some(start)
    }
}

#[test]
fn memory_is_given_to_one() {
    every_order(|| {
        let areas = Areas::new();
        areas.bump.open(FIRST.start, FIRST.end);
        let taken = Arc::new(AtomicUsize::new(0));
        let (shared, sum) = (areas.clone(), taken.clone());
        threads(0..2, move |_| {
            if shared.take(3).is_some() {
                sum.fetch_add(1, Ordering::Relaxed);
            }
        });
        // There is room for one.
        assert_eq!(taken.load(Ordering::Relaxed), 1);
        assert_eq!(areas.take(1), Some(FIRST.end - 1));
        for cell in &areas.cells[FIRST.start as usize..FIRST.end as usize] {
            assert_eq!(cell.with(|byte| unsafe { *byte }), 1);
        }
    });
}

#[test]
fn who_takes_freed_memory_comes_after_who_freed_it() {
    every_order(|| {
        let areas = Areas::new();
        areas.bump.open(FIRST.start, FIRST.end);
        let shared = areas.clone();
        threads(0..2, move |_| {
            if let Some(start) = shared.take(2) {
                shared.bump.give_back(start, 2);
            }
        });
    });
}

#[test]
fn what_another_thread_took_meanwhile_stays_taken() {
    every_order(|| {
        let areas = Areas::new();
        areas.bump.open(FIRST.start, FIRST.end);
        let shared = areas.clone();
        let other = thread::spawn(move || shared.take(1));
        let start = areas.take(1).unwrap();
        areas.bump.give_back(start, 1);
        let taken = other.join().unwrap();
        while let Some(place) = areas.bump.take(1) {
            assert_ne!(Some(place), taken);
        }
    });
}

#[test]
fn only_what_was_taken_last_is_freed() {
    every_order(|| {
        let areas = Areas::new();
        areas.bump.open(FIRST.start, FIRST.end);
        let first = areas.take(1).unwrap();
        let second = areas.take(1).unwrap();
        areas.bump.give_back(first, 1);
        assert_eq!(areas.bump.free(), FIRST.start + 2);
        areas.bump.give_back(second, 1);
        assert_eq!(areas.bump.free(), FIRST.start + 1);
    });
}

/// The area is opened, another one in its place, and that is closed, while somebody else allocates.
#[test]
fn what_is_given_lies_in_an_area() {
    every_order(|| {
        let areas = Areas::new();
        let shared = areas.clone();
        let other = thread::spawn(move || {
            shared.take(3);
        });
        areas.bump.open(FIRST.start, FIRST.end);
        areas.bump.open(SECOND.start, SECOND.end);
        areas.bump.close();
        other.join().unwrap();
        assert_eq!(areas.bump.take(1), None);
    });
}

/// An area is used again: what was written to it before comes before what is written now.
#[test]
fn an_area_that_is_opened_again_is_handed_over() {
    every_order(|| {
        let areas = Areas::new();
        let shared = areas.clone();
        let other = thread::spawn(move || {
            shared.take(1);
        });
        for cell in &areas.cells[FIRST.start as usize..FIRST.end as usize] {
            cell.with_mut(|byte| unsafe { *byte = 0 });
        }
        areas.bump.open(FIRST.start, FIRST.end);
        other.join().unwrap();
    });
}
