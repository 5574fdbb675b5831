//! Observing with eBPF: a command, chosen processes, or the whole machine.

use crate::run::{Captured, Failure, Options};
use needless_launch::Launch;

/// Why eBPF cannot be used here; nothing was run then.
pub(crate) enum Refused {
    /// For want of rights, as for most users.
    #[cfg_attr(not(feature = "ebpf"), expect(dead_code, reason = "nothing asks for rights"))]
    Rights,
    /// For this reason.
    Because(String),
}

impl Refused {
    /// One line for whoever insists.
    pub(crate) fn message(self) -> String {
        match self {
            Refused::Rights => {
                "eBPF needs CAP_BPF and CAP_PERFMON: run it with sudo (`needless run --elevate` does), or see `needless doctor`"
                    .into()
            }
            Refused::Because(why) => why,
        }
    }
}

/// Without the feature there is nothing to try.
#[cfg(not(feature = "ebpf"))]
pub(crate) fn run(_: &Launch, _: &Options) -> Result<Result<Captured, Refused>, Failure> {
    Ok(Err(Refused::Because("eBPF was not used: this needless was built without it".into())))
}

#[cfg(feature = "ebpf")]
pub(crate) use with::{for_session, run};

#[cfg(feature = "ebpf")]
mod with {
    use super::{Captured, Failure, Launch, Options, Refused};
    use crate::run::complete;
    use needless_ebpf::{Session, Target};
    use needless_launch::{Original, Prepared, Watch, supervise};
    use std::os::fd::BorrowedFd;
    use std::time::Duration;

    /// Runs and observes the command. The inner error: nothing was run.
    pub(crate) fn run(
        launch: &Launch,
        options: &Options,
    ) -> Result<Result<Captured, Refused>, Failure> {
        // An ordinary user is not made to wait for the kernel's answer.
        if needless_ebpf::BUILT && !needless_ebpf::allowed() {
            return Ok(Err(Refused::Rights));
        }
        let session = match Session::start(&Target::Launched, &for_session(options)) {
            Ok(session) => session,
            Err(error) => {
                return Ok(Err(Refused::Because(format!("eBPF was not used: {error}"))));
            }
        };
        let failed =
            |error: needless_launch::Error| Failure::new(error.status(), error.to_string());
        let start = |errno| failed(needless_launch::Error::Start { what: "sigprocmask", errno });
        let original = Original::record_and_block().map_err(start)?;
        let prepared = Prepared::new(launch, Vec::new(), original).map_err(failed)?;
        let mut observing = Observing(session);
        let ended = supervise(prepared, original, &mut observing).map_err(failed)?;
        let observed = observing.0.finish();
        let mut profile = complete(observed.profile, &observed.stacks, observed.roots)?;
        let (user, system) = ended.cpu_ns;
        profile.totals.cpu_user_ns = Some(user);
        profile.totals.cpu_sys_ns = Some(system);
        if ended.early {
            profile.notes.push(
                "The report was asked for before the last process had ended: it tells what was seen until then."
                    .into(),
            );
        }
        Ok(Ok(Captured { profile, exit: ended.exit }))
    }

    pub(crate) fn for_session(options: &Options) -> needless_ebpf::Options {
        needless_ebpf::Options {
            all: options.all,
            latency: options.latency,
            stacks: true,
            watch: options.watch,
            limits: options.limits,
        }
    }

    struct Observing(Session);

    impl Watch for Observing {
        fn readable(&self) -> Option<BorrowedFd<'_>> {
            self.0.readable()
        }

        fn look(&mut self) {
            self.0.drain(Duration::ZERO);
        }

        fn others_live(&mut self) -> bool {
            self.0.live() > 0
        }

        fn is_ours(&self, pid: u32) -> bool {
            self.0.observes(pid)
        }
    }
}
