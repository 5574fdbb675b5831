//! An observation from start to finish.

use crate::attach::{Attached, attach};
use crate::observed::{Events, Rows};
use crate::wire::{self, PlainKey, RowKey, Shared};
use crate::{Error, Observed, Options, Target};
use libbpf_rs::{Map, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use needless_model::{Loss, Tally};
use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::time::Duration;

/// A running observation. Dropping it ends it.
pub struct Session {
    attached: Attached,
    ring: RingBuffer<'static>,
    events: Rc<RefCell<Events>>,
    rows: Rows,
    options: Options,
    started_ns: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("options", &self.options).finish_non_exhaustive()
    }
}

/// `CLOCK_MONOTONIC`, as bpf_ktime_get_ns(7) reads it.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

impl Session {
    /// Loads the programs and starts to count.
    ///
    /// # Errors
    /// When the kernel does not allow it or cannot do it: one line.
    pub fn start(target: &Target, options: &Options) -> Result<Session, Error> {
        let mut events = Events::new(options);
        let pids: &[u32] = match target {
            Target::Processes(pids) => pids,
            Target::Launched | Target::Everyone => &[],
        };
        let attached = attach(target, options, pids.len() as u32)?;
        let started_ns = now_ns();
        let failed = |error: libbpf_rs::Error| Error(format!("eBPF failed: {error}"));
        for (image, pid) in (1..).zip(pids) {
            let mut value = [0; wire::PROC];
            value[..4].copy_from_slice(&u32::to_ne_bytes(image));
            let procs = map(&attached.object, "procs");
            procs.update(&pid.to_ne_bytes(), &value, MapFlags::ANY).map_err(failed)?;
            events.attached(image, *pid);
        }
        let events = Rc::new(RefCell::new(events));
        let mut builder = RingBufferBuilder::new();
        let ring_map = map(&attached.object, "events");
        let taken = events.clone();
        let take = move |bytes: &[u8]| {
            taken.borrow_mut().take(bytes);
            0
        };
        builder.add(&ring_map, take).map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        let rows = Rows::default();
        Ok(Session { attached, ring, events, rows, options: *options, started_ns })
    }

    /// Waits for `wait` at most, takes what the kernel told and looks at the new processes that
    /// still live. To be called ten times a second.
    pub fn drain(&mut self, wait: Duration) {
        // Interrupted by a signal: whoever calls looks at that.
        let _ = self.ring.poll(wait);
        let _ = self.ring.consume();
        self.look();
    }

    /// Takes what the kernel told without waiting.
    fn look(&mut self) {
        self.events.borrow_mut().look_at_new();
        // Rows of processes that ended make room.
        let added = self.shared().rows;
        let limit = self.options.limits.rows.min(65_536) as u64;
        if added.saturating_sub(self.rows.removed) > limit / 4 {
            self.collect(true);
        }
    }

    /// A descriptor that is readable when the kernel's messages should be taken before their time.
    pub fn readable(&self) -> i32 {
        self.ring.epoll_fd()
    }

    /// Whether process `pid` is observed.
    pub fn observes(&self, pid: u32) -> bool {
        let procs = map(&self.attached.object, "procs");
        procs.lookup(&pid.to_ne_bytes(), MapFlags::ANY).is_ok_and(|found| found.is_some())
    }

    /// How many observed processes live.
    pub fn live(&self) -> usize {
        map(&self.attached.object, "procs").keys().count()
    }

    /// Ends the observation.
    pub fn finish(mut self) -> Observed {
        self.attached.links.clear();
        let length_ns = now_ns() - self.started_ns;
        let _ = self.ring.consume();
        self.events.borrow_mut().look_at_new();
        self.collect(false);
        let shared = self.shared();
        let misses = self.misses();
        drop(self.ring);
        let events = Rc::try_unwrap(self.events).ok().expect("the ring is gone").into_inner();
        let mut observed = self.rows.finish(events, &self.options, self.started_ns, length_ns);
        let lost = &mut observed.profile.lost;
        for (loss, n) in [
            (Loss::FOLDED, shared.folded),
            (Loss::NO_PATH, shared.unreadable + shared.texts_lost),
            (Loss::PROCESSES, shared.events_lost),
            (Loss::STACKS, shared.stacks_lost),
            (Loss::UNCOUNTED, shared.uncounted + misses),
        ] {
            if n > 0 {
                *lost.entry(loss.0).or_default() += n;
            }
        }
        if shared.uring > 0 {
            observed.profile.notes.push(
                "io_uring was used: calls put through it are seen by no tracer of system calls"
                    .into(),
            );
        }
        observed
    }

    fn shared(&self) -> Shared {
        let value = bss(&self.attached.object).lookup(&[0; 4], MapFlags::ANY).ok().flatten();
        value.map_or_else(Shared::default, |bytes| Shared::read(&bytes))
    }

    /// How often a program was not run because it already ran on that CPU: calls that nobody
    /// counted. From proc(5), fdinfo, Linux 5.12.
    fn misses(&self) -> u64 {
        let mut misses = 0;
        for program in self.attached.object.progs() {
            let fd = program.as_fd().as_raw_fd();
            let about = std::fs::read_to_string(format!("/proc/self/fdinfo/{fd}"));
            let about = about.unwrap_or_default();
            let field = about.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
            misses += field.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0);
        }
        misses
    }

    /// Takes rows out of the kernel: those of ended processes for good, or copies of all.
    fn collect(&mut self, ended_only: bool) {
        let events = self.events.borrow();
        let wanted = |image| !ended_only || events.has_ended(image);
        let rows = map(&self.attached.object, "rows");
        for (key, value) in entries(&rows, |key| wanted(RowKey::read(key).image)) {
            self.rows.add(RowKey::read(&key), sum(&value, wire::ROW, self.started_ns));
            if ended_only && rows.delete(&key).is_ok() {
                self.rows.removed += 1;
            }
        }
        let plains = map(&self.attached.object, "plains");
        for (key, value) in entries(&plains, |key| wanted(PlainKey::read(key).image)) {
            self.rows.add_plain(PlainKey::read(&key), sum_plain(&value));
            if ended_only {
                let _ = plains.delete(&key);
            }
        }
        if !ended_only {
            for (key, value) in entries(&map(&self.attached.object, "folded"), |_| true) {
                self.rows.add_folded(PlainKey::read(&key), sum_plain(&value));
            }
        }
    }
}

fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("a map of our own program")
}

fn bss(object: &Object) -> Map<'_> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
    found.expect("our program has variables")
}

type PerCpu = Vec<Vec<u8>>;

/// The entries of a per-CPU map whose key is wanted.
fn entries(map: &Map<'_>, wanted: impl Fn(&[u8]) -> bool) -> Vec<(Vec<u8>, PerCpu)> {
    let keys: Vec<Vec<u8>> = map.keys().filter(|key| wanted(key)).collect();
    let value = |key: Vec<u8>| {
        let value = map.lookup_percpu(&key, MapFlags::ANY).ok().flatten()?;
        Some((key, value))
    };
    keys.into_iter().filter_map(value).collect()
}

/// A row of all CPUs; times from `started_ns` on.
fn sum(values: &PerCpu, size: usize, started_ns: u64) -> Tally {
    debug_assert!(values.iter().all(|value| value.len() == size));
    let mut tally = Tally { first_ns: u64::MAX, ..Tally::default() };
    for value in values {
        let mut fields = wire::Fields(value);
        let count = fields.u64();
        if count == 0 {
            continue;
        }
        tally.count += count;
        tally.repeated += fields.u64();
        tally.first_ns = tally.first_ns.min(fields.u64().saturating_sub(started_ns));
        tally.last_ns = tally.last_ns.max(fields.u64().saturating_sub(started_ns));
        let [_print, _changes] = [fields.u64(), fields.u64()];
        tally.kernel_ns += fields.u64();
    }
    tally
}

fn sum_plain(values: &PerCpu) -> Tally {
    let mut tally = Tally::default();
    for value in values {
        let mut fields = wire::Fields(value);
        tally.count += fields.u64();
        tally.kernel_ns += fields.u64();
    }
    tally
}
