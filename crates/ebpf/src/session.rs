//! An observation from start to finish.

use crate::attach::{Attached, attach, pid_namespace};
use crate::events::Events;
use crate::wire::{self, PlainKey, RowKey, Shared};
use crate::{Observed, Scope, SessionError, SessionOptions};
use libbpf_rs::{ErrorKind, Map, MapCore, MapFlags, Object, RingBuffer, RingBufferBuilder};
use needless_model::Loss;
use std::cell::RefCell;
use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

/// A running observation. Dropping it ends it.
pub struct Session {
    attached: Attached,
    ring: RingBuffer<'static>,
    /// Another descriptor of the ring's epoll instance, which libbpf only gives as a number.
    ready: Option<OwnedFd>,
    events: Rc<RefCell<Events>>,
    options: SessionOptions,
    started_ns: u64,
    /// How many processes were given to us.
    chosen: u32,
    /// Processes that were given to us and found no room.
    refused: HashSet<u32>,
}

/// A descriptor of our own for what number `fd` stands for.
fn duplicate(fd: i32) -> Option<OwnedFd> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    let ourselves = pidfd_open(getpid(), PidfdFlags::empty()).ok()?;
    pidfd_getfd(ourselves, fd, PidfdGetfdFlags::empty()).ok()
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
    pub fn start(target: &Scope, options: &SessionOptions) -> Result<Session, SessionError> {
        let attached = attach(target, options)?;
        let started_ns = now_ns();
        let failed = |error: libbpf_rs::Error| SessionError(format!("eBPF failed: {error}"));
        let events = Rc::new(RefCell::new(Events::new(options, started_ns)));
        let mut builder = RingBufferBuilder::new();
        let ring_map = map(&attached.object, "events");
        let taken = events.clone();
        let take = move |bytes: &[u8]| {
            taken.borrow_mut().take(bytes);
            0
        };
        builder.add(&ring_map, take).map_err(failed)?;
        let ring = builder.build().map_err(failed)?;
        let (options, chosen, refused) = (*options, 0, HashSet::new());
        let ready = duplicate(ring.epoll_fd());
        Ok(Session { attached, ring, ready, events, options, started_ns, chosen, refused })
    }

    /// Observes process `pid` (not a thread of it) and what it forks from now on; `false` if it is
    /// observed already, or finds no room: that is counted as lost.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn observe(&mut self, pid: u32) -> Result<bool, SessionError> {
        if self.observes(pid) {
            return Ok(false);
        }
        // The kernel numbers from 1 upwards.
        let image = u32::MAX - self.chosen;
        if image == self.options.room.images {
            self.refused.insert(pid);
            return Ok(false);
        }
        let mut value = [0; wire::PROC_SIZE];
        value[..4].copy_from_slice(&image.to_ne_bytes());
        let translated = pid_namespace() != wire::INITIAL_PID_NAMESPACE;
        let (name, value) =
            if translated { ("wanted", &value[..4]) } else { ("procs", &value[..]) };
        let chosen = map(&self.attached.object, name);
        match chosen.update(&pid.to_ne_bytes(), value, MapFlags::NO_EXIST) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) if error.kind() == ErrorKind::TooBig => {
                self.refused.insert(pid);
                return Ok(false);
            }
            Err(error) => {
                return Err(SessionError(format!("cannot observe process {pid}: {error}")));
            }
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
        let mut events = self.events.borrow_mut();
        events.look();
        // Rows of processes that ended make room.
        let added = self.shared().rows;
        let limit = self.options.limits.rows.min(65_536) as u64;
        let due = added.saturating_sub(events.rows.removed) > limit / 4 && events.any_settled();
        drop(events);
        if due {
            self.collect(true);
        }
    }

    /// A descriptor that is readable when the kernel's messages should be taken before their time;
    /// `None` where we may not have one (a container's seccomp profile).
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.ready.as_ref().map(AsFd::as_fd)
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
        self.events.borrow_mut().look();
        self.collect(false);
        self.collect_hot();
        let shared = self.shared();
        let misses = self.misses();
        drop(self.ring);
        let events = Rc::try_unwrap(self.events).ok().expect("the ring is gone").into_inner();
        let mut observed = crate::rows::finish(events, &self.options, length_ns);
        let lost = &mut observed.profile.lost;
        for (loss, n) in [
            (Loss::FOLDED, shared.folded),
            (Loss::NO_PATH, shared.unreadable),
            (Loss::PROCESSES, shared.events_lost + self.refused.len() as u64),
            (Loss::UNTIMED, shared.untimed),
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
        let mut events = self.events.borrow_mut();
        let taken = |name, image: fn(&[u8]) -> u32| {
            let map = map(&self.attached.object, name);
            let found = entries(&map, |key| !ended_only || events.has_settled(image(key)));
            if ended_only { remove(&map, found) } else { found }
        };
        let rows = taken("rows", |key| RowKey::read(key).image);
        let plains = taken("plains", |key| PlainKey::read(key).image);
        let folded = if ended_only { Vec::new() } else { taken("folded", |_| 0) };
        if ended_only {
            events.rows.removed += rows.len() as u64;
        }
        for (key, value) in rows {
            events
                .rows
                .add(RowKey::read(&key), wire::row(&value, self.started_ns, self.options.latency));
        }
        for (key, value) in plains {
            events.rows.add_plain(PlainKey::read(&key), wire::plain(&value, self.options.latency));
        }
        for (key, value) in folded {
            events.rows.add_folded(PlainKey::read(&key), wire::plain(&value, self.options.latency));
        }
    }

    /// Adds what each processor has counted and not yet added to the rows.
    fn collect_hot(&mut self) {
        let hots = map(&self.attached.object, "hots");
        for at in 0..hots.max_entries() {
            let each = hots.lookup_percpu(&at.to_ne_bytes(), MapFlags::ANY).ok().flatten();
            for value in each.unwrap_or_default() {
                let (key, row) = (RowKey::read(&value), &value[wire::ROW_KEY_SIZE..]);
                if key.image != 0 {
                    let row = wire::row(row, self.started_ns, self.options.latency);
                    self.events.borrow_mut().rows.add(key, row);
                }
            }
        }
    }
}

/// Key and value.
type Entry = (Vec<u8>, Vec<u8>);

fn map<'a>(object: &'a Object, name: &str) -> Map<'a> {
    object.maps().find(|map| map.name() == name).expect("a map of our own program")
}

fn bss(object: &Object) -> Map<'_> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
    found.expect("our program has variables")
}

/// The entries of a map whose key is wanted.
fn entries(map: &Map<'_>, wanted: impl Fn(&[u8]) -> bool) -> Vec<Entry> {
    // In one go: after a batch that was not filled, the iterator takes itself to be at the end.
    let all = map.lookup_batch(map.max_entries(), MapFlags::ANY, MapFlags::ANY);
    all.into_iter().flatten().filter(|(key, _)| wanted(key)).collect()
}

/// Deletes entries, and returns those that were.
fn remove(map: &Map<'_>, mut entries: Vec<Entry>) -> Vec<Entry> {
    let keys: Vec<u8> = entries.iter().flat_map(|(key, _)| key).copied().collect();
    let count = entries.len() as u32;
    if count > 0 && map.delete_batch(&keys, count, MapFlags::ANY, MapFlags::ANY).is_err() {
        // One by one: what is missing by now, the batch has deleted.
        entries.retain(|(key, _)| match map.delete(key) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        });
    }
    entries
}
