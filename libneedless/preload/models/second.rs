//! The second in which `/etc/localtime` was last checked (`current.rs`).

use crate::between_threads::Second;
use crate::{every_order, threads};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

#[test]
fn one_thread_checks_in_each_second() {
    every_order(|| {
        let second = Arc::new((Second { last: AtomicI64::new(i64::MIN) }, AtomicUsize::new(0)));
        let shared = second.clone();
        threads(0..2, move |_| {
            if shared.0.begin(7) {
                shared.1.fetch_add(1, Ordering::Relaxed);
            }
            assert!(shared.0.is(7));
        });
        assert_eq!(second.1.load(Ordering::Relaxed), 1);
        assert!(second.0.begin(8));
    });
}
