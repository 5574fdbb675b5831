//! Observing what runs already in one window after the other, without a gap between them.

use crate::enrich::Measured;
use crate::rights::{self, Rights};
use crate::run::{Failure, ObserveOptions, complete_with};
use crate::window::{Chosen, LOOK_EVERY, Who, begin, follow, place};
use needless_ebpf::{Observed, Scope, Session, SessionError, SessionOptions};
use needless_launch::{Asked, TerminationSignals};
use needless_model::{ProcId, Profile, WatchList, status};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// An observation in successive windows. Signals that end or stop a program are held while it exists.
pub struct Windows {
    session: Session,
    chosen: Chosen,
    signals: TerminationSignals,
    options: ObserveOptions,
    measured: Measured,
    length: Duration,
    begun: Instant,
    given_up: rustix::io::Result<()>,
    paused: bool,
}

impl std::fmt::Debug for Windows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Windows").field("length", &self.length).finish_non_exhaustive()
    }
}

impl Windows {
    /// Begins the first window; each is about as long as `length`. Calls are not timed, and no call sites are looked
    /// up: both take too much time for an observation without an end.
    ///
    /// # Errors
    /// As for [`window`](crate::window).
    pub fn start(who: &Who, length: Duration, options: ObserveOptions) -> Result<Windows, Failure> {
        let light = SessionOptions {
            latency: false,
            stacks: false,
            metered: true,
            ..crate::kernel::for_session(&options)
        };
        let (chosen, mut session) = begin(who, &light)?;
        let signals = TerminationSignals::hold_with_stops()
            .map_err(|error| Failure::new(status::FAILED, error.to_string()))?;
        let given_up = options.rights.observe();
        follow(&mut session, &chosen)?;
        let (measured, begun) = (Measured::default(), Instant::now());
        Ok(Windows {
            session,
            chosen,
            signals,
            options,
            measured,
            length,
            begun,
            given_up,
            paused: false,
        })
    }

    /// Waits until one of the `others` is readable, a signal comes or a tenth of a second has passed, and takes what the
    /// kernel has to say. Returns what the signal asks for.
    ///
    /// # Errors
    /// When a process that joined cannot be observed.
    pub fn wait(&mut self, others: &[BorrowedFd<'_>]) -> Result<Option<Asked>, Failure> {
        let left = self.length.saturating_sub(self.begun.elapsed());
        // The kernel has nothing to say in a break.
        let left = if self.paused { left } else { left.min(LOOK_EVERY) };
        let also: Vec<BorrowedFd<'_>> =
            self.session.readable().into_iter().chain(others.iter().copied()).collect();
        let asked = self.signals.wait_for_any(&also, left);
        self.session.drain(Duration::ZERO);
        if let Chosen::Group(_) = self.chosen {
            follow(&mut self.session, &self.chosen)?;
        }
        Ok(asked)
    }

    /// Whether chosen processes were observed, and all of them have ended.
    pub fn is_over(&self) -> bool {
        self.chosen.scope() == Scope::Chosen && self.session.live() == 0
    }

    /// The window, if it has lasted long enough: the processes that did something in it, and those above them.
    ///
    /// # Errors
    /// When the root directory cannot be opened.
    pub fn take(&mut self) -> Result<Option<Profile>, Failure> {
        if !self.is_due() {
            return Ok(None);
        }
        self.cut().map(Some)
    }

    /// Whether the window, or the break, has lasted long enough.
    pub fn is_due(&self) -> bool {
        self.begun.elapsed() >= self.length
    }

    /// How long the window, or the break, has lasted.
    pub fn lasted(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The window so far, however short it is; the next one begins.
    ///
    /// # Errors
    /// As for [`take`](Windows::take).
    pub fn cut(&mut self) -> Result<Profile, Failure> {
        self.begun = Instant::now();
        let observed = self.session.window();
        self.completed(observed)
    }

    /// The window so far; then a break begins, in which nothing is counted. For everyone.
    ///
    /// # Errors
    /// As for [`take`](Windows::take).
    pub fn pause(&mut self) -> Result<Profile, Failure> {
        self.begun = Instant::now();
        self.paused = true;
        let observed = self.session.pause();
        self.completed(observed)
    }

    /// Ends a break: a window begins.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn resume(&mut self) -> Result<(), Failure> {
        let failed = |error: SessionError| Failure::new(status::FAILED, error.to_string());
        self.session.resume().map_err(failed)?;
        self.begun = Instant::now();
        self.paused = false;
        Ok(())
    }

    /// From the end of the next break on, these variables are kept of environments.
    pub fn watch(&mut self, watch: WatchList) {
        self.options.watch = watch.clone();
        self.session.watch(watch);
    }

    /// Whether this is a break.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// The present window, or break, goes on for so long, and each after it is as long.
    pub fn go_on_for(&mut self, length: Duration) {
        (self.begun, self.length) = (Instant::now(), length);
    }

    /// The time that the programs in the kernel have taken since the start, on all processors together.
    pub fn run_time(&self) -> Duration {
        self.session.run_time()
    }

    fn completed(&mut self, observed: Observed) -> Result<Profile, Failure> {
        let mut observed = busy(observed);
        place(&mut observed, &self.options);
        rights::note(self.given_up, &mut observed.profile.notes);
        // What is left of the rights is needed for the next window.
        let keep = Rights::default();
        complete_with(observed.profile, &[], observed.roots, keep, &mut self.measured)
    }
}

/// Without the processes that neither made a call nor used a CPU: most of a machine's in a short window. What is looked
/// up of each takes longer than all else.
fn busy(observed: Observed) -> Observed {
    let profile = &observed.profile;
    let mut wanted = vec![false; profile.processes.len()];
    let ran = (0..).map(ProcId).zip(&profile.processes);
    let ran = ran.filter(|(_, process)| process.cpu_ns > Some(0) || process.exit.is_some());
    let acted = profile.rows.iter().map(|row| row.process).chain(ran.map(|(id, _)| id));
    for id in acted {
        let mut next = Some(id);
        while let Some(id) = next.filter(|id| !wanted[id.index()]) {
            wanted[id.index()] = true;
            next = profile.process(id).parent;
        }
    }
    if !wanted.contains(&true) {
        return observed;
    }
    let Observed { mut profile, roots, cgroups, .. } = observed;
    let new = profile.retain_processes(&wanted);
    let of = |id: ProcId| new[id.index()];
    Observed {
        profile,
        stacks: Vec::new(),
        roots: roots.into_iter().filter_map(|(id, root)| Some((of(id)?, root))).collect(),
        cgroups: cgroups.into_iter().filter_map(|(id, n)| Some((of(id)?, n))).collect(),
    }
}
