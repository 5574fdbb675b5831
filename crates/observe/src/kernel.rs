//! Observing with eBPF: a command, chosen processes, or the whole machine.

use crate::rights::{self, Rights};
use crate::run::{Captured, Failure, ObserveOptions, complete};
use needless_ebpf::{Scope, Session, SessionError};
use needless_launch::{Launch, LaunchError, Original, Prepared, Watch, supervise};
use needless_model::status;
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Why there is no profile made with eBPF.
pub(crate) enum Refused {
    /// For lack of rights, as for most users.
    Rights,
    /// It does not work, for this reason; the command was not run.
    Because(String),
    /// It was used, and the command could not be run or observed.
    Failed(Failure),
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Failed(failure)
    }
}

impl Refused {
    /// The error for a user who insists on eBPF.
    pub(crate) fn failure(self) -> Failure {
        let needs = "eBPF needs CAP_BPF and CAP_PERFMON: run it with sudo (`needless run --elevate` does), or see `needless doctor`";
        match self {
            Refused::Rights => Failure::new(status::OURS, needs),
            Refused::Because(why) => Failure::new(status::OURS, why),
            Refused::Failed(failure) => failure,
        }
    }
}

/// Runs and observes the command.
pub(crate) fn run(launch: &Launch, options: &ObserveOptions) -> Result<Captured, Refused> {
    let session =
        Session::start(&Scope::Launched, &for_session(options)).map_err(|error| match error {
            SessionError::NoRights => Refused::Rights,
            error => Refused::Because(format!("eBPF was not used: {error}")),
        })?;
    let failed = |error: LaunchError| Failure::new(error.status(), error.to_string());
    let start = |errno| failed(LaunchError::Start { what: "sigprocmask", errno });
    let original = Original::record_and_block().map_err(start)?;
    let prepared = Prepared::new(launch, Vec::new(), original).map_err(failed)?;
    let mut observing = Observing { session, rights: options.rights, given_up: Ok(()) };
    let ended = supervise(prepared, original, &mut observing).map_err(failed)?;
    let observed = observing.session.finish();
    let mut profile = complete(observed.profile, &observed.stacks, observed.roots, options.rights)?;
    rights::note(observing.given_up, &mut profile.notes);
    let (user, system) = ended.cpu_ns;
    profile.totals.cpu_user_ns = Some(user);
    profile.totals.cpu_sys_ns = Some(system);
    if ended.early {
        profile.notes.push(
            "The report was requested before the last process had ended: it covers the time until then."
                .into(),
        );
    }
    Ok(Captured { profile, exit: ended.exit })
}

pub(crate) fn for_session(options: &ObserveOptions) -> needless_ebpf::SessionOptions {
    needless_ebpf::SessionOptions {
        // A call that no rule asks about costs no more than to find that out (`make bench`).
        all: true,
        latency: options.latency,
        stacks: true,
        metered: false,
        watch: options.watch.clone(),
        limits: options.limits,
        room: needless_ebpf::Room::default(),
    }
}

struct Observing {
    session: Session,
    rights: Rights,
    given_up: rustix::io::Result<()>,
}

impl Watch for Observing {
    fn forked(&mut self) {
        self.given_up = self.rights.observe();
    }

    fn readable(&self) -> Option<BorrowedFd<'_>> {
        self.session.readable()
    }

    fn look(&mut self) {
        self.session.drain(Duration::ZERO);
    }

    fn others_live(&mut self) -> bool {
        self.session.live() > 0
    }

    fn is_ours(&self, pid: u32) -> bool {
        self.session.observes(pid)
    }
}
