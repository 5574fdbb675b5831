//! An observation with breaks, and what it takes.

use super::layout::{
    Counter, CounterKey, Ending, Meter, PercpuCounter, PercpuRow, Proc, Row, RowKey,
};
use super::maps::{Others, map, of_each_cpu, split};
use super::{Session, now_ns};
use crate::{Observed, SessionError};
use libbpf_rs::{MapCore, MapFlags};
use needless_model::WatchList;
use std::time::Duration;
use zerocopy::{FromBytes, IntoBytes};

impl Session {
    /// Ends a window, as [`window`](Session::window) does. Then nothing is counted, and no program of ours runs in the
    /// kernel, until [`resume`](Session::resume). For an observation of everyone.
    pub fn pause(&mut self) -> Observed {
        self.attached.links.clear();
        self.window()
    }

    /// Counts again, as if the observation began now: what ran meanwhile is not known, so that each process is found
    /// when it makes a call.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn resume(&mut self) -> Result<(), SessionError> {
        let _ = self.ring.consume();
        self.clear::<u32, Proc>("procs");
        self.clear::<RowKey, Row>("rows");
        self.clear::<CounterKey, Counter>("counters");
        self.clear::<CounterKey, Counter>("folded");
        self.clear::<u32, Ending>("endings");
        self.zero::<PercpuRow>("percpu_rows")?;
        self.zero::<PercpuCounter>("percpu_counters")?;
        let added = self.shared().rows;
        self.events.borrow_mut().restart(&self.options, added);
        self.ledger.restart();
        self.begun_ns = now_ns();
        self.attached.begin()
    }

    /// From the next [`resume`](Session::resume) on, these variables are kept of environments.
    pub fn watch(&mut self, watch: WatchList) {
        self.options.watch = watch;
    }

    /// The time that the programs have run in the kernel since the start, on all processors together; of most runs it
    /// is an estimate, by one run of 61. Only where the session is `metered`.
    pub fn run_time(&self) -> Duration {
        let all: Vec<Meter> = of_each_cpu(&map(&self.attached.object, "meters"));
        let of = |meter: &Meter| meter.ns as f64 * meter.runs as f64 / meter.timed.max(1) as f64;
        Duration::from_nanos(all.iter().map(of).sum::<f64>() as u64)
    }

    /// Deletes all entries of a map.
    fn clear<K: FromBytes, V: FromBytes>(&self, name: &str) {
        const ABOUT: u64 = 1 << 12;
        split::<K, V>(&map(&self.attached.object, name), ABOUT, Others::LeftOut, |_| true);
    }

    /// Sets all values of a per-CPU array to zero.
    fn zero<T>(&self, name: &str) -> Result<(), SessionError> {
        let failed = |error: libbpf_rs::Error| SessionError::Failed(error.to_string());
        let cpus = libbpf_rs::num_possible_cpus().map_err(failed)?;
        let zeros = vec![vec![0; size_of::<T>()]; cpus];
        let map = map(&self.attached.object, name);
        (0..map.max_entries()).try_for_each(|at| {
            map.update_percpu(at.as_bytes(), &zeros, MapFlags::ANY).map_err(failed)
        })
    }
}
