//! A command that runs by itself, and the resources that it used.
//!
//! wait4(2) gives a command's peak of memory from the fork on, not from the exec, and posix_spawn(3) does not help: a
//! child that shares our memory begins with all of it. So the floor is forked and measured: a fork has only the pages
//! that belong to no file, and these are few once freed memory was given back.

use crate::forward::{pidfd, send};
use crate::{Launch, LaunchError, Original, Prepared};
use libc::pid_t;
use needless_model::{Exit, Usage};
use nix::errno::Errno;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A command that was started and not yet waited for. If dropped before [`Running::end`], it is killed.
pub struct Running {
    child: crate::Child,
    /// Readable when it has ended.
    process: OwnedFd,
    began: Instant,
    waited: bool,
}

/// Starts the command of `launch`, with the state in `original`.
///
/// # Errors
/// When it cannot be forked; [`Running::end`] reports that it could not be executed.
pub fn start(launch: &Launch, original: Original) -> Result<Running, LaunchError> {
    let prepared = Prepared::new(launch, Vec::new(), original)?;
    let pid = prepared.fork(None)?;
    let mut child = prepared.held(pid);
    let Some(process) = pidfd(pid) else {
        let errno = Errno::last();
        // It gets an end of file while it waits to be released, and ends by itself.
        drop(child);
        wait_usage(pid);
        return Err(LaunchError::Start { what: "pidfd_open (Linux 5.3)", errno });
    };
    child.ready();
    // Until then it runs needless's code, the same each time; the clock starts with the exec.
    let began = Instant::now();
    child.release();
    Ok(Running { child, process, began, waited: false })
}

/// The peak memory of a process forked for `launch`, up to its exec, KiB: no command shows less, because
/// what wait4(2) reports about a process includes the time before its execve(2). Unused memory of this process is
/// released first.
///
/// # Errors
/// When it cannot be forked.
pub fn peak_floor_kib(launch: &Launch, original: Original) -> Result<u64, LaunchError> {
    // A fork includes memory that was freed and kept for later. malloc_trim(3) exists in glibc only.
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) takes a number, and locks the allocator's data while it changes them: MT-Safe.
    unsafe {
        libc::malloc_trim(0);
    }
    // There is no program with this name: it ends where it would have become the command.
    let launch = Launch { program: PathBuf::new(), ..launch.clone() };
    let mut running = start(&launch, original)?;
    running.waited = true;
    let ended = wait_usage(running.child.pid);
    let (_, usage) =
        ended.ok_or_else(|| LaunchError::Start { what: "wait4", errno: Errno::last() })?;
    Ok(usage.peak_kib)
}

impl Running {
    /// Readable when the command has ended.
    pub fn readable(&self) -> BorrowedFd<'_> {
        self.process.as_fd()
    }

    /// Sends it signal `number`.
    pub fn signal(&self, number: i32) {
        send(&self.process, number);
    }

    /// Waits for its end. Returns how it ended, and what it and the descendants that it waited for used.
    ///
    /// # Errors
    /// When it could not be executed.
    pub fn end(mut self) -> Result<(Exit, Usage), LaunchError> {
        self.waited = true;
        let ended = wait_usage(self.child.pid);
        let wall = self.began.elapsed();
        if let Some(error) = self.child.failure() {
            return Err(error);
        }
        let Some((exit, mut usage)) = ended else {
            return Err(LaunchError::Start { what: "wait4", errno: Errno::last() });
        };
        usage.wall_ns = nanoseconds(wall);
        Ok((exit, usage))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.waited {
            self.signal(libc::SIGKILL);
            wait_usage(self.child.pid);
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits for the end of the child `pid`. getrusage(2) of all children does not show the peak memory of one.
fn wait_usage(pid: pid_t) -> Option<(Exit, Usage)> {
    let mut status = 0;
    let mut used = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: wait4(2) writes one integer and one `rusage`; `status` and `used` are these.
        match unsafe { libc::wait4(pid, &raw mut status, 0, used.as_mut_ptr()) } {
            -1 if Errno::last() == Errno::EINTR => {}
            -1 => return None,
            _ => break,
        }
    }
    // SAFETY: `used` was zeroed, and zero is valid for all its fields, which are integers; then the kernel
    // filled it.
    let used = unsafe { used.assume_init() };
    let exit = if libc::WIFSIGNALED(status) {
        Exit::Signal(libc::WTERMSIG(status))
    } else {
        Exit::Code(libc::WEXITSTATUS(status))
    };
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    let time = |t: libc::timeval| {
        let micros = |n| u64::try_from(n).unwrap_or(0);
        micros(t.tv_sec) * 1_000_000_000 + micros(t.tv_usec) * 1000
    };
    let usage = Usage {
        user_ns: time(used.ru_utime),
        system_ns: time(used.ru_stime),
        wall_ns: 0,
        minor_faults: count(used.ru_minflt),
        major_faults: count(used.ru_majflt),
        voluntary: count(used.ru_nvcsw),
        involuntary: count(used.ru_nivcsw),
        peak_kib: count(used.ru_maxrss),
    };
    Some((exit, usage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stdio;

    fn launch(program: &str, words: &[&str]) -> Launch {
        Launch {
            program: program.into(),
            argv: words.iter().map(Into::into).collect(),
            env: None,
            stdio: Stdio::Null,
            caller: None,
        }
    }

    #[test]
    fn an_end_comes_with_what_was_used() {
        let words = ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 7"];
        let running = start(&launch("/bin/sh", &words), Original::record()).unwrap();
        let (exit, usage) = running.end().unwrap();
        assert_eq!(exit, Exit::Code(7));
        assert!(usage.user_ns + usage.system_ns > 0 && usage.wall_ns > 0, "{usage:?}");
        assert!(usage.minor_faults > 0 && usage.peak_kib > 0, "{usage:?}");
    }

    /// The launcher's private memory is included, and files that it maps are not.
    #[test]
    fn the_floor_of_peak_memory_is_what_a_fork_has() {
        let launch = launch("/bin/true", &["true"]);
        let floor = || peak_floor_kib(&launch, Original::record()).unwrap();
        const TOUCHED: u64 = 64 << 10;
        let touched = vec![1u8; (TOUCHED << 10) as usize];
        let with = floor();
        let (_, ended) = start(&launch, Original::record()).unwrap().end().unwrap();
        assert!(std::hint::black_box(&touched).len() > 1);
        drop(touched);
        let without = floor();
        assert!(with >= TOUCHED && without < TOUCHED, "{with} {without}");
        // A program far smaller than that shows the floor, and nothing else.
        assert!(ended.peak_kib.abs_diff(with) < TOUCHED / 16, "{ended:?}, {with}");
    }

    #[test]
    fn a_signal_is_reported() {
        let running = start(&launch("/bin/sleep", &["sleep", "60"]), Original::record()).unwrap();
        running.signal(libc::SIGTERM);
        assert_eq!(running.end().unwrap().0, Exit::Signal(libc::SIGTERM));
    }

    #[test]
    fn what_cannot_be_executed_is_an_error() {
        let running = start(&launch("/nonexistent/x", &["x"]), Original::record()).unwrap();
        assert_eq!(running.end().unwrap_err().status(), 127);
    }
}
