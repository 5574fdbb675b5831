//! An observation from start to finish.

use crate::attach::{Attached, attach, here};
use crate::observed::{Events, Rows};
use crate::wire::{self, PlainKey, RowKey, Shared};
use crate::{Error, Observed, Options, Target};
use libbpf_rs::{ErrorKind, Map, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
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
    /// How many processes were given to us.
    chosen: u32,
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
        let attached = attach(target, options)?;
        let started_ns = now_ns();
        let failed = |error: libbpf_rs::Error| Error(format!("eBPF failed: {error}"));
        let events = Rc::new(RefCell::new(Events::new(options)));
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
        let (options, chosen) = (*options, 0);
        Ok(Session { attached, ring, events, rows, options, started_ns, chosen })
    }

    /// Observes process `pid` (not a thread of it) and what it forks from now on; `false` if it is
    /// observed already.
    ///
    /// # Errors
    /// When there is no room for more.
    pub fn observe(&mut self, pid: u32) -> Result<bool, Error> {
        if self.observes(pid) {
            return Ok(false);
        }
        // The kernel numbers from 1 upwards.
        let image = u32::MAX - self.chosen;
        let mut value = [0; wire::PROC];
        value[..4].copy_from_slice(&image.to_ne_bytes());
        let translated = here().pid_namespace != wire::INITIAL_PID_NAMESPACE;
        let (name, value) =
            if translated { ("wanted", &value[..4]) } else { ("procs", &value[..]) };
        let chosen = map(&self.attached.object, name);
        match chosen.update(&pid.to_ne_bytes(), value, MapFlags::NO_EXIST) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) => return Err(Error(format!("cannot observe process {pid}: {error}"))),
        }
        self.chosen += 1;
        self.events.borrow_mut().attached(image, pid);
        Ok(true)
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

    /// Whether process `pid` is observed, as far as the kernel has told.
    pub fn observes(&self, pid: u32) -> bool {
        let _ = self.ring.consume();
        self.events.borrow().lives(pid)
    }

    /// How many observed processes live.
    pub fn live(&self) -> usize {
        let count = |name| map(&self.attached.object, name).keys().count();
        count("procs") + count("wanted")
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
            self.rows.add(RowKey::read(&key), row(&value, self.started_ns));
            if ended_only && rows.delete(&key).is_ok() {
                self.rows.removed += 1;
            }
        }
        let plains = map(&self.attached.object, "plains");
        for (key, value) in entries(&plains, |key| wanted(PlainKey::read(key).image)) {
            self.rows.add_plain(PlainKey::read(&key), plain(&value));
            if ended_only {
                let _ = plains.delete(&key);
            }
        }
        if !ended_only {
            for (key, value) in entries(&map(&self.attached.object, "folded"), |_| true) {
                self.rows.add_folded(PlainKey::read(&key), plain(&value));
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

/// The entries of a map whose key is wanted.
fn entries(map: &Map<'_>, wanted: impl Fn(&[u8]) -> bool) -> Vec<(Vec<u8>, Vec<u8>)> {
    // In one go: after a batch that was not filled, the iterator takes itself to be at the end.
    let all = map.lookup_batch(map.max_entries(), MapFlags::ANY, MapFlags::ANY);
    all.into_iter().flatten().filter(|(key, _)| wanted(key)).collect()
}

/// A row; times from `started_ns` on.
fn row(value: &[u8], started_ns: u64) -> Tally {
    let mut fields = wire::Fields(value);
    let (count, repeated) = (fields.u64(), fields.u64());
    let mut time = || fields.u64().saturating_sub(started_ns);
    let (first_ns, last_ns) = (time(), time());
    let [_print, _changes] = [fields.u64(), fields.u64()];
    Tally { count, repeated, first_ns, last_ns, kernel_ns: fields.u64(), timed: 0 }
}

fn plain(value: &[u8]) -> Tally {
    let mut fields = wire::Fields(value);
    Tally { count: fields.u64(), kernel_ns: fields.u64(), ..Tally::default() }
}
