//! The C library's own zone, which it reads again when ours has changed (`libc_sync.rs`).

use crate::between_threads::Renewal;
use crate::{every_order, threads};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

struct Process {
    renewal: Renewal,
    /// What each thread sets.
    original: [AtomicUsize; 2],
    copy: UnsafeCell<[usize; 2]>,
}

// The copy is written by who renews it.
unsafe impl Sync for Process {}
unsafe impl Send for Process {}

impl Process {
    fn new() -> Arc<Process> {
        Arc::new(Process {
            renewal: Renewal { outdated: AtomicBool::new(false), renewing: AtomicBool::new(false) },
            original: [0; 2].map(AtomicUsize::new),
            copy: UnsafeCell::new([0; 2]),
        })
    }

    fn renew(&self) {
        self.renewal.renew(|| {
            let read = [0, 1].map(|at| self.original[at].load(Ordering::Relaxed));
            self.copy.with_mut(|copy| unsafe { *copy = read });
        });
    }
}

/// No thread waits for another, none renews while another does, and no change is lost.
#[test]
fn when_all_are_done_the_copy_has_every_change() {
    every_order(|| {
        let process = Process::new();
        let shared = process.clone();
        threads(0..2, move |number| {
            shared.original[number].store(1, Ordering::Relaxed);
            shared.renewal.set_outdated();
            shared.renew();
        });
        assert!(!process.renewal.is_outdated());
        assert_eq!(process.copy.with(|copy| unsafe { *copy }), [1, 1]);
    });
}

/// Without a change, nothing is renewed.
#[test]
fn who_finds_the_copy_fresh_leaves_it() {
    every_order(|| {
        let process = Process::new();
        process.renewal.renew(|| panic!("the copy was fresh"));
        process.renewal.set_outdated();
        process.renew();
        process.renewal.renew(|| panic!("the copy is fresh again"));
    });
}
