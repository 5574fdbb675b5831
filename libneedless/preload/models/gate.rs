//! The right to make a zone (`memory.rs`).

use crate::between_threads::Gate;
use crate::{every_order, threads};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;

struct Guarded {
    gate: Gate,
    times: UnsafeCell<usize>,
    entered: [UnsafeCell<bool>; 2],
}

// What the gate is for.
unsafe impl Sync for Guarded {}
unsafe impl Send for Guarded {}

#[test]
fn one_at_a_time_and_each_sees_what_the_one_before_did() {
    every_order(|| {
        let guarded = Arc::new(Guarded {
            gate: Gate { taken: AtomicBool::new(false) },
            times: UnsafeCell::new(0),
            entered: [false; 2].map(UnsafeCell::new),
        });
        let shared = guarded.clone();
        threads(0..2, move |number| {
            if shared.gate.enter() {
                shared.times.with_mut(|times| unsafe { *times += 1 });
                shared.entered[number].with_mut(|entered| unsafe { *entered = true });
                shared.gate.leave();
            }
        });
        // At least one enters, each entry is counted, and the gate is open afterwards.
        let entered = guarded.entered.iter().filter(|one| one.with(|one| unsafe { *one })).count();
        assert!(entered > 0);
        assert_eq!(guarded.times.with(|times| unsafe { *times }), entered);
        assert!(guarded.gate.enter());
    });
}
