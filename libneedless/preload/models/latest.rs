//! The current zone (`current.rs`) and the list of all zones (`zones.rs`).

use crate::between_threads::Latest;
use crate::every_order;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicPtr;
use loom::thread;
use std::ptr::{null_mut, without_provenance_mut};

/// A zone is written once, before it is shown.
struct Zone {
    name: UnsafeCell<usize>,
}

struct Zones {
    latest: Latest<Zone>,
    zones: [Zone; 2],
}

unsafe impl Sync for Zones {}
unsafe impl Send for Zones {}

const MARK: *mut Zone = without_provenance_mut(1);

impl Zones {
    fn new() -> Arc<Zones> {
        let zone = || Zone { name: UnsafeCell::new(0) };
        Arc::new(Zones {
            latest: Latest { at: AtomicPtr::new(null_mut()) },
            zones: [zone(), zone()],
        })
    }

    /// Makes and shows a zone; returns the name of the one before it.
    fn make(&self, number: usize) -> Option<usize> {
        let zone = &self.zones[number];
        zone.name.with_mut(|name| unsafe { *name = number + 1 });
        name_of(self.latest.put(std::ptr::from_ref(zone).cast_mut()))
    }
}

fn name_of(zone: *mut Zone) -> Option<usize> {
    (zone > MARK).then(|| unsafe { (*zone).name.with(|name| *name) })
}

#[test]
fn who_sees_a_zone_sees_all_of_it() {
    every_order(|| {
        let zones = Zones::new();
        let shared = zones.clone();
        let maker = thread::spawn(move || shared.make(0));
        assert!(matches!(name_of(zones.latest.get()), None | Some(1)));
        assert_eq!(maker.join().unwrap(), None);
        assert_eq!(name_of(zones.latest.get()), Some(1));
    });
}

#[test]
fn so_does_who_replaces_it() {
    every_order(|| {
        let zones = Zones::new();
        let shared = zones.clone();
        let other = thread::spawn(move || shared.make(0));
        let before = [zones.make(1), other.join().unwrap()];
        // One was first and saw none; the other one replaced it.
        assert!(before == [None, Some(2)] || before == [Some(1), None], "{before:?}");
    });
}

#[test]
fn a_mark_does_not_replace_a_zone_that_came_meanwhile() {
    every_order(|| {
        let zones = Zones::new();
        let shared = zones.clone();
        let maker = thread::spawn(move || shared.make(0));
        zones.latest.put_mark(null_mut(), MARK);
        maker.join().unwrap();
        assert_eq!(name_of(zones.latest.get()), Some(1));
    });
}

#[test]
fn a_mark_stays_where_no_zone_comes() {
    every_order(|| {
        let zones = Zones::new();
        zones.latest.put_mark(null_mut(), MARK);
        assert_eq!(zones.latest.get(), MARK);
    });
}
