//! An observation from start to finish.

mod attach;
mod events;
mod kernel_types;
mod layout;
mod ledger;
mod maps;
mod pause;
mod rows;
mod wire;

use crate::{Observed, Scope, SessionError, SessionOptions, usable};
use attach::{Attached, attach, pid_namespace};
use events::Events;
use layout::{
    Counter, CounterKey, PercpuCounter, PercpuRow, Proc, Row, RowKey, Shared, Wait, WaitKey,
};
use ledger::Ledger;
use libbpf_rs::{ErrorKind, MapCore, MapFlags, RingBuffer, RingBufferBuilder};
use maps::{Others, bss, map, of_each_cpu, split, typed};
use needless_model::Loss;
use rows::KernelRows;
use std::cell::RefCell;
use std::collections::HashSet;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;
use wire::INITIAL_PID_NAMESPACE;
use zerocopy::{FromZeros, IntoBytes};

/// A running observation. Dropping it ends it.
pub struct Session {
    attached: Attached,
    ring: RingBuffer<'static>,
    /// A duplicate of the ring's epoll descriptor, which libbpf returns only as a number.
    ready: Option<OwnedFd>,
    events: Rc<RefCell<Events>>,
    options: SessionOptions,
    started_ns: u64,
    /// When the window began.
    begun_ns: u64,
    /// What earlier windows had.
    ledger: Ledger,
    /// How many rows and counters the kernel had added when those of ended processes were last taken.
    freed_at: u64,
    /// How many processes were chosen.
    chosen: u32,
    /// Chosen processes that found no room.
    refused: HashSet<u32>,
}

/// A duplicate of the descriptor with number `fd`.
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
        usable()?;
        let attached = attach(target, options)?;
        let started_ns = now_ns();
        let failed = |error: libbpf_rs::Error| SessionError::Failed(error.to_string());
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
        let (options, chosen, refused) = (options.clone(), 0, HashSet::new());
        let ready = duplicate(ring.epoll_fd());
        let (begun_ns, ledger) = (started_ns, Ledger::default());
        Ok(Session {
            attached,
            ring,
            ready,
            events,
            options,
            started_ns,
            begun_ns,
            ledger,
            freed_at: 0,
            chosen,
            refused,
        })
    }

    /// Observes process `pid` (not a thread of it) and the processes it forks from now on; `false` if it is
    /// observed already, or finds no room: that is counted as lost.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn observe(&mut self, pid: u32) -> Result<bool, SessionError> {
        if self.observes(pid) {
            return Ok(false);
        }
        // The programs in the kernel number upwards from 1.
        let image = u32::MAX - self.chosen;
        if image == self.options.room.images {
            self.refused.insert(pid);
            return Ok(false);
        }
        let proc = Proc { image, ..Proc::new_zeroed() };
        let (name, value) = if pid_namespace() == INITIAL_PID_NAMESPACE {
            ("procs", proc.as_bytes())
        } else {
            ("chosen_pids", image.as_bytes())
        };
        let chosen = map(&self.attached.object, name);
        match chosen.update(pid.as_bytes(), value, MapFlags::NO_EXIST) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
            Err(error) if error.kind() == ErrorKind::TooBig => {
                self.refused.insert(pid);
                return Ok(false);
            }
            Err(error) => {
                return Err(SessionError::Observe { pid, why: error.to_string() });
            }
        }
        self.chosen += 1;
        self.events.borrow_mut().attached(image, pid);
        Ok(true)
    }

    /// Waits for `wait` at most, takes the messages and looks up the new processes that
    /// still live. Call it ten times a second.
    pub fn drain(&mut self, wait: Duration) {
        // Interrupted by a signal: the caller handles it.
        let _ = self.ring.poll(wait);
        let _ = self.ring.consume();
        self.look();
    }

    /// Handles what was taken.
    fn look(&mut self) {
        let mut events = self.events.borrow_mut();
        events.look();
        // Rows and counters of processes that ended make room.
        let added = self.shared().rows;
        let limit = self.options.limits.rows.min(65_536) as u64;
        // To read a map takes as long as the map is large: not again before there is much that is new, or much at all.
        let there = added.saturating_sub(events.rows.removed);
        let worth = added - self.freed_at > limit / 4 || there > limit / 4 * 3;
        let due = there > limit / 2 && worth && events.any_settled();
        drop(events);
        if due {
            self.freed_at = added;
            self.collect(Others::LeftOut);
        }
    }

    /// A descriptor that becomes readable when messages should be taken at once;
    /// `None` if a container's seccomp profile forbids it.
    pub fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.ready.as_ref().map(AsFd::as_fd)
    }

    /// Whether process `pid` is observed, by the messages so far.
    pub fn observes(&self, pid: u32) -> bool {
        let _ = self.ring.consume();
        self.events.borrow().lives(pid)
    }

    /// How many observed processes live.
    pub fn live(&self) -> usize {
        let count = |name| map(&self.attached.object, name).keys().count();
        // In this order: the kernel adds a process to `procs` before it takes it out of `chosen_pids`, so that one which
        // makes its first call meanwhile is counted twice, and not missed.
        count("chosen_pids") + count("procs")
    }

    /// Ends the observation.
    pub fn finish(mut self) -> Observed {
        self.attached.links.clear();
        self.end_window(true)
    }

    /// Ends a window and begins the next: what was counted since the last one. The programs stay in the kernel and count
    /// on, so no call is lost between two windows; one that is counted while the kernel's rows are read may be in the
    /// next window. A process that goes on is in each window like one that ran before the observation.
    /// Not for calls that are timed: each window would have all that waited.
    pub fn window(&mut self) -> Observed {
        let observed = self.end_window(false);
        self.make_room();
        observed
    }

    fn end_window(&mut self, last: bool) -> Observed {
        let now = now_ns();
        let length_ns = now - self.begun_ns;
        let _ = self.ring.consume();
        self.events.borrow_mut().look();
        let held = if last { HashSet::new() } else { self.held() };
        let counted = self.collect(Others::Copied);
        // What the kernel no longer has.
        let returned = (!last || self.ledger.rows() > 0).then(|| self.events.borrow().rows.clone());
        self.events.borrow_mut().rows.extend(counted);
        self.collect_percpu();
        let mut late = KernelRows::default();
        if let Some(returned) = returned {
            let counted = std::mem::take(&mut self.events.borrow_mut().rows);
            late.removed = counted.removed;
            // The texts of rows that came while the rows were read, and their processes. What comes back besides is for
            // the next window.
            let _ = self.ring.consume();
            let mut events = self.events.borrow_mut();
            events.look_up_new();
            late = KernelRows { removed: late.removed, ..std::mem::take(&mut events.rows) };
            events.rows = self.ledger.since(counted, &returned, self.begun_ns - self.started_ns);
        }
        let living = self.events.borrow().living() as u64;
        let procs = map(&self.attached.object, "procs");
        let (_, live) = split::<u32, Proc>(&procs, living, Others::Copied, |_| false);
        let given_back = live.iter().map(|(_, proc)| (proc.image, proc.given_back)).collect();
        let shared = self.shared();
        let mut observed = rows::finish(
            &mut self.events.borrow_mut(),
            &self.options,
            length_ns,
            &given_back,
            &held,
        );
        self.events.borrow_mut().rows = late;
        self.begun_ns = now;
        let lost = &mut observed.profile.lost;
        for (loss, n) in self.ledger.lost_since([
            (Loss::FoldedRows, shared.folded),
            (Loss::NoPath, shared.unreadable),
            (Loss::UnseenProcesses, shared.events_lost + self.refused.len() as u64),
            (Loss::Untimed, shared.untimed),
            (Loss::Stacks, shared.stacks_lost),
            (Loss::Uncounted, shared.uncounted + self.misses()),
        ]) {
            if n > 0 {
                *lost.entry(loss).or_default() += n;
            }
        }
        if shared.uring > 0 {
            observed.profile.notes.push(
                "io_uring was used: tracers of system calls do not see the calls made through it"
                    .into(),
            );
        }
        observed
    }

    /// Makes room for the next windows: deletes rows of processes that go on, where these have not been counted for a
    /// window, if the map is half full; and forgets texts.
    fn make_room(&mut self) {
        if self.ledger.rows() > self.options.limits.rows.min(65_536) / 2 {
            let rows = map(&self.attached.object, "rows");
            let about = self.ledger.rows() as u64;
            let (deleted, _) =
                split::<RowKey, Row>(&rows, about, Others::LeftOut, |key| self.ledger.is_idle(key));
            let mut events = self.events.borrow_mut();
            for (key, row) in deleted {
                // A call that was counted since the rows were read is in the next window.
                events.rows.add(key, row.tally(self.started_ns, self.options.latency));
                events.rows.removed += 1;
            }
        }
        let living = self.events.borrow().living() as u64;
        let procs = map(&self.attached.object, "procs");
        let directories = || {
            let (_, all) = split::<u32, Proc>(&procs, living, Others::Copied, |_| false);
            all.into_iter().map(|(_, proc)| proc.directory).collect()
        };
        let unused = self.events.borrow_mut().forget(|| self.ledger.paths(), directories);
        // What is forgotten here, the kernel has to send again.
        let sent = map(&self.attached.object, "sent_paths");
        for hash in unused {
            let at = (hash % u64::from(sent.max_entries())) as u32;
            let _ = sent.update(at.as_bytes(), &0_u64.to_ne_bytes(), MapFlags::ANY);
        }
        if self.events.borrow_mut().forget_cgroups() {
            let sent = map(&self.attached.object, "sent_cgroups");
            for at in 0..sent.max_entries() {
                let _ = sent.update(at.as_bytes(), &0_u64.to_ne_bytes(), MapFlags::ANY);
            }
        }
    }

    fn shared(&self) -> Shared {
        let value = bss(&self.attached.object).lookup(&[0; 4], MapFlags::ANY).ok().flatten();
        value.map_or_else(Shared::new_zeroed, |bytes| typed(&bytes))
    }

    /// How often a program did not run because it already ran on that CPU: calls that were not
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

    /// Takes the rows of ended processes from the kernel, which deletes them. Returns the others, if `wanted`.
    fn collect(&mut self, wanted: Others) -> KernelRows {
        let mut events = self.events.borrow_mut();
        let about = self.shared().rows.saturating_sub(events.rows.removed);
        let object = &self.attached.object;
        let (started_ns, latency) = (self.started_ns, self.options.latency);
        let mut others = KernelRows::default();
        let rows = map(object, "rows");
        let (ended, more) =
            split(&rows, about, wanted, |key: &RowKey| events.has_settled(key.image));
        events.rows.removed += ended.len() as u64;
        let add = |to: &mut KernelRows, rows: Vec<(RowKey, Row)>| {
            rows.into_iter().for_each(|(key, row)| to.add(key, row.tally(started_ns, latency)));
        };
        add(&mut events.rows, ended);
        add(&mut others, more);
        let counters = map(object, "counters");
        let settled = |key: &CounterKey| events.has_settled(key.image);
        let (ended, more) = split(&counters, about, wanted, settled);
        events.rows.removed += ended.len() as u64;
        let tally = |(key, counter): (_, Counter)| (key, counter.tally(latency));
        events.rows.counters.extend(ended.into_iter().map(tally));
        others.counters.extend(more.into_iter().map(tally));
        let waits = map(object, "waits");
        let settled = |key: &WaitKey| events.has_settled(key.image);
        // These are not among the rows that the kernel has counted.
        let (ended, more) = split::<_, Wait>(&waits, waits.max_entries().into(), wanted, settled);
        events.rows.waits.extend(ended);
        others.waits.extend(more);
        if wanted == Others::Copied {
            let folded = map(object, "folded");
            let all = folded.max_entries().into();
            let (_, more) = split(&folded, all, wanted, |_: &CounterKey| false);
            others.folded.extend(more.into_iter().map(tally));
        }
        others
    }

    /// The images of which CPUs have counted something and not yet added it to the rows and counters. A CPU that does
    /// so while these are read has it in none of both.
    fn held(&self) -> HashSet<u32> {
        let rows = of_each_cpu(&map(&self.attached.object, "percpu_rows"));
        let counters = of_each_cpu(&map(&self.attached.object, "percpu_counters"));
        let rows = rows.iter().map(|row: &PercpuRow| row.key.image);
        rows.chain(counters.iter().map(|counter: &PercpuCounter| counter.key.image)).collect()
    }

    /// Adds what each CPU has counted and not yet added to the rows and counters.
    fn collect_percpu(&mut self) {
        let (mut events, latency) = (self.events.borrow_mut(), self.options.latency);
        for PercpuRow { key, row, .. } in of_each_cpu(&map(&self.attached.object, "percpu_rows")) {
            if key.image != 0 {
                events.rows.add(key, row.tally(self.started_ns, latency));
            }
        }
        let counters = map(&self.attached.object, "percpu_counters");
        for PercpuCounter { key, counter, .. } in of_each_cpu(&counters) {
            if key.image != 0 {
                events.rows.counters.push((key, counter.tally(latency)));
            }
        }
    }
}
