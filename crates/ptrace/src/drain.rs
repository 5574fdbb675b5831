//! The last resort: lets traced threads run without observing them.

use crate::filter::OURS;
use crate::patch::{end_patches, leave_uncounted};
use crate::sys::{self, Resume, Tid};
use needless_model::Exit;
use nix::errno::Errno;

/// Resumes `stopped` and every thread that stops later, until all have ended. Returns how `command` ended, if
/// it ended here: after a bug in needless, or a kill of the tracer, calls of the command would fail without this.
/// `at_stop` is called with each thread that stops for no signal and no call, before it goes on.
pub(crate) fn drain(
    stopped: impl IntoIterator<Item = Tid>,
    command: Tid,
    mut at_stop: impl FnMut(Tid),
) -> Option<Exit> {
    for tid in stopped {
        // Fails for threads that run.
        sys::resume(tid, Resume::Run, 0);
    }
    let mut ended = None;
    loop {
        match sys::wait() {
            Ok(waited) if libc::WIFSTOPPED(waited.status) => {
                if waited.status >> 16 == libc::PTRACE_EVENT_SECCOMP
                    && sys::event_message(waited.tid).is_ok_and(|said| said != u64::from(OURS))
                {
                    // A filter of the command asks for a tracer of its own, and there is none.
                    let _ = sys::refuse_call(waited.tid);
                }
                if waited.status >> 16 == libc::PTRACE_EVENT_SECCOMP {
                    // It may be about to start a thread, to install a filter, or to unmap what is ours.
                    end_patches(waited.tid);
                }
                if waited.status >> 16 == libc::PTRACE_EVENT_STOP {
                    at_stop(waited.tid);
                }
                let (how, mut signal) = answer(waited.status);
                if signal != 0 {
                    signal = leave_uncounted(waited.tid, signal);
                }
                sys::resume(waited.tid, how, signal);
            }
            Ok(waited) if waited.tid == command => ended = Some(waited.exit()),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return ended,
        }
    }
}

fn answer(status: i32) -> (Resume, i32) {
    const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;
    match (status >> 16, libc::WSTOPSIG(status)) {
        (0, SYSCALL_STOP) => (Resume::Run, 0),
        (0, signal) => (Resume::Run, signal),
        (
            libc::PTRACE_EVENT_STOP,
            libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU,
        ) => (Resume::Listen, 0),
        _ => (Resume::Run, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::early::Status;
    use crate::{filter, tracer};
    use needless_fixtures::needed;
    use needless_launch::{Child, Launch, Original, Prepared, Stdio};
    use std::ffi::OsString;

    /// A command with the filter that waits for its tracer.
    fn held(argv: &[OsString]) -> Child {
        let launch = Launch {
            program: argv[0].clone().into(),
            argv: argv.to_vec(),
            env: None,
            stdio: Stdio::Null,
            caller: None,
        };
        let original = Original::record_and_block().unwrap();
        let code = filter::program(&needless_syscalls::abis(), None);
        let prepared = Prepared::new(&launch, code, original).unwrap();
        let pid = prepared.fork(None).unwrap();
        prepared.held(pid)
    }

    #[test]
    fn a_drained_command_lives_on_without_failing_calls() {
        let Some(testee) = needed(needless_fixtures::path("stat_loop")) else { return };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("counts");
        let mut child = held(&[testee.into(), file.clone().into()]);
        let pid = child.pid;
        let options = libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_TRACEEXEC;
        tracer::seize(&mut child, options, false).unwrap();
        child.release();
        let ender = std::thread::spawn(move || {
            // Until it has asked a few thousand times.
            let enough = |text: String| {
                text.split(' ').next().is_some_and(|n| n.parse().is_ok_and(|n: u64| n > 3000))
            };
            while !std::fs::read_to_string(&file).is_ok_and(enough) {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            // SAFETY: kill(2) takes integers only. The child was not waited for, so `pid` is still its
            // number.
            unsafe { libc::kill(pid, libc::SIGTERM) };
            file
        });
        assert_eq!(drain([pid], pid, |_| ()), Some(Exit::Code(0)));
        let text = std::fs::read_to_string(ender.join().unwrap()).unwrap();
        assert_eq!(text.split(' ').nth(1).unwrap().parse(), Ok(0), "{text}");
    }

    #[test]
    fn a_command_that_has_no_tracer_at_its_exec_is_executed_when_it_has_one() {
        let mut child = held(&["/bin/true".into()]);
        let pid = child.pid;
        child.ready();
        child.release();
        let has_filter = |status: Status| status.field("Seccomp:") == Some("2");
        while !Status::of(pid).is_some_and(has_filter) {}
        sys::seize(pid, libc::PTRACE_O_TRACESECCOMP | libc::PTRACE_O_TRACEEXEC).unwrap();
        assert_eq!(drain([], pid, |_| ()), Some(Exit::Code(0)));
    }
}
