//! Observing with eBPF: a command, chosen processes, or the whole machine.

use crate::rights::{self, Rights};
use crate::run::{Captured, Failure, ObserveOptions, complete};
use needless_ebpf::{Scope, Session, SessionError};
use needless_launch::{Launch, LaunchError, Original, Prepared, Watch, supervise};
use needless_model::{Profile, status};
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
    add_unwaited(&mut profile, ended.cpu_ns);
    if ended.early {
        profile.notes.push(
            "The report was requested before the last process had ended: it covers the time until then."
                .into(),
        );
    }
    Ok(Captured { profile, exit: ended.exit })
}

/// Stores the CPU time of a command and of all that it waited for, with that of processes for which nobody waited, as
/// daemons: so the whole is never less than its parts.
fn add_unwaited(profile: &mut Profile, (user, system): (u64, u64)) {
    let all: u64 = profile.processes.iter().filter_map(|process| process.cpu_ns).sum();
    let unwaited = all.saturating_sub(user + system);
    // How it divides is known best of the processes themselves.
    let known = profile.totals.cpu_user_ns.zip(profile.totals.cpu_sys_ns);
    let (of_user, of_system) = known.filter(|(u, s)| u + s > 0).unwrap_or((user, system));
    let part =
        u128::from(unwaited) * u128::from(of_user) / u128::from((of_user + of_system).max(1));
    let part = part as u64;
    profile.totals.cpu_user_ns = Some(user + part);
    profile.totals.cpu_sys_ns = Some(system + unwaited - part);
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

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::{Process, Spawn};

    #[test]
    fn issue_42_the_whole_has_what_nobody_waited_for() {
        let mut profile = Profile::default();
        let daemon = Process { cpu_ns: Some(900), ..Process::new(7, None, Spawn::Fork) };
        let shell = Process { cpu_ns: Some(100), ..Process::new(6, None, Spawn::Exec) };
        profile.processes = vec![shell, daemon];
        (profile.totals.cpu_user_ns, profile.totals.cpu_sys_ns) = (Some(200), Some(600));
        add_unwaited(&mut profile, (60, 40));
        let totals = profile.totals;
        assert_eq!((totals.cpu_user_ns, totals.cpu_sys_ns), (Some(60 + 225), Some(40 + 675)));
        add_unwaited(&mut profile, (700, 500));
        assert_eq!(profile.totals.cpu_ns(), Some(1200), "what the kernel summed up is more");
    }
}
