//! Forks the command: the steps between fork and exec.
//!
//! Everything is prepared first, because the process that forks the command may not observe it: with
//! ptrace, the supervisor stays its parent, and the tracer seizes it.

use crate::{Caller, Launch, LaunchError, Original, Stdio};
use libc::{c_char, c_int, c_ulong, pid_t, sock_filter};
use needless_model::status;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// A child that waits, not yet traced, before its exec.
pub struct Child {
    /// Its process id.
    pub pid: pid_t,
    /// Where the child reads the byte that releases it.
    go: File,
    /// Where it writes that it may be seized, then what failed before exec; nothing if exec
    /// succeeded.
    says: File,
    program: std::path::PathBuf,
    stdout: Option<File>,
}

/// What failed in the child.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Step {
    Descriptors = 1,
    Filter = 2,
    Exec = 3,
    User = 4,
}

impl Step {
    /// The error for it.
    fn error(self, program: &std::path::Path, errno: Errno) -> LaunchError {
        match self {
            Step::Exec => LaunchError::exec(program, errno),
            Step::Filter => LaunchError::Filter { errno },
            Step::User => LaunchError::Start { what: "becoming the user who ran sudo", errno },
            Step::Descriptors => LaunchError::Start { what: "standard streams", errno },
        }
    }
}

/// Everything the child needs, allocated before the fork: after it, only system calls are safe if
/// we have threads.
pub struct Prepared {
    path: std::path::PathBuf,
    program: CString,
    /// What `argv`, `shell_argv` and `env` point into.
    _texts: (Vec<CString>, Vec<CString>),
    argv: Vec<*const c_char>,
    /// For a script without `#!`, as execvp(3) and every shell do it.
    shell_argv: Vec<*const c_char>,
    /// `None`: as inherited.
    env: Option<Vec<*const c_char>>,
    filter: Vec<sock_filter>,
    original: Original,
    caller: Option<Caller>,
    null: Option<File>,
    stdout: Option<File>,
    /// The given descriptors for the standard streams.
    given: Option<[Arc<OwnedFd>; 3]>,
    /// Whether the standard streams are those of this process.
    inherits: bool,
    go_read: File,
    go: File,
    says_write: File,
    says: File,
}

/// Becomes the command, in this process. Returns only the reason if that fails.
pub fn become_command(launch: &Launch, original: Original) -> LaunchError {
    let prepared = match Prepared::new(launch, Vec::new(), original) {
        Ok(prepared) => prepared,
        Err(error) => return error,
    };
    // SAFETY: this process has its own memory, and nothing in it changes its environment: clippy.toml forbids the
    // functions that do.
    let failed = unsafe { prepared.put_back_and_exec() }.err().unwrap_or(Step::Exec);
    failed.error(&prepared.path, Errno::last())
}

/// What the child writes when it may be seized.
const READY: u8 = 0;

const SHELL: &std::ffi::CStr = c"/bin/sh";

/// So many take some seconds.
const MOST_EXECS: u32 = 5_000_000;

impl Prepared {
    /// Allocates what the child needs. `filter` is installed before exec; empty: none.
    pub fn new(
        launch: &Launch,
        filter: Vec<sock_filter>,
        original: Original,
    ) -> Result<Prepared, LaunchError> {
        let start = |what| move |errno| LaunchError::Start { what, errno };
        let argv: Vec<CString> =
            launch.argv.iter().map(|a| c_string(a)).collect::<Result<_, _>>()?;
        let mut env: Vec<CString> = Vec::new();
        for (name, value) in launch.env.iter().flatten() {
            let mut pair = name.clone();
            pair.push("=");
            pair.push(value);
            env.push(c_string(&pair)?);
        }
        let program = c_string(launch.program.as_os_str())?;
        let mut shell_argv = vec![SHELL.as_ptr(), program.as_ptr()];
        shell_argv.extend(pointers(&argv).into_iter().skip(1));
        if argv.is_empty() {
            shell_argv.push(std::ptr::null());
        }
        let (go_read, go) = pipe2(OFlag::O_CLOEXEC).map_err(start("pipe"))?;
        let (says, says_write) = pipe2(OFlag::O_CLOEXEC).map_err(start("pipe"))?;
        let null = match launch.stdio {
            Stdio::Inherit | Stdio::Given(_) => None,
            Stdio::Null | Stdio::Capture => Some(open_null().map_err(start("/dev/null"))?),
        };
        let stdout = match launch.stdio {
            Stdio::Capture => Some(memory_file().map_err(start("memfd_create"))?),
            _ => None,
        };
        Ok(Prepared {
            path: launch.program.clone(),
            argv: pointers(&argv),
            shell_argv,
            env: launch.env.as_ref().map(|_| pointers(&env)),
            program,
            _texts: (argv, env),
            filter,
            original,
            caller: launch.caller.clone(),
            null,
            stdout,
            given: match &launch.stdio {
                Stdio::Given(streams) => Some(streams.clone()),
                _ => None,
            },
            inherits: matches!(launch.stdio, Stdio::Inherit),
            go_read: go_read.into(),
            go: go.into(),
            says_write: says_write.into(),
            says: says.into(),
        })
    }

    /// Forks the command, which waits for its tracer to release it. Signals are blocked here and get
    /// their original mask in the child. `tracer`: the process that will seize it, if it is not the
    /// caller.
    pub fn fork(&self, tracer: Option<pid_t>) -> Result<pid_t, LaunchError> {
        // SAFETY: the child has only this thread; it makes async-signal-safe calls (signal-safety(7)) on
        // memory that was allocated before, then execs or exits.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(LaunchError::Start { what: "fork", errno: Errno::last() }),
            0 => self.become_command(tracer),
            _ => Ok(pid),
        }
    }

    /// Whether the command's standard streams are those of this process.
    pub fn inherits(&self) -> bool {
        self.inherits
    }

    /// The command that was forked as `pid`, for its tracer.
    pub fn held(self, pid: pid_t) -> Child {
        Child { pid, go: self.go, says: self.says, program: self.path, stdout: self.stdout }
    }
}

impl Child {
    /// Waits until the child waits to be released: from here on it may be seized.
    pub fn ready(&mut self) {
        // End of file, if it has ended already: the seizing or the wait will fail.
        let _ = self.says.read_exact(&mut [READY]);
    }

    /// Releases the child, which goes on to exec.
    pub fn release(&mut self) {
        // Fails only if the child has ended: its exit status shows that.
        let _ = self.go.write_all(&[1]);
    }

    /// After the child has exec'd or ended: why it did not exec, if it did not.
    pub fn failure(&mut self) -> Option<LaunchError> {
        let mut report = [0; 5];
        self.says.read_exact(&mut report).ok()?;
        let errno =
            Errno::from_raw(i32::from_ne_bytes([report[1], report[2], report[3], report[4]]));
        let steps = [Step::Descriptors, Step::Filter, Step::Exec, Step::User];
        let step = steps.into_iter().find(|step| *step as u8 == report[0])?;
        Some(step.error(&self.program, errno))
    }

    /// What a captured command wrote to its stdout.
    pub fn captured(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        if let Some(file) = &mut self.stdout {
            // A memory file: reading cannot fail half-way.
            let _ = file.rewind().and_then(|()| file.read_to_end(&mut text));
        }
        text
    }
}

impl Prepared {
    /// In the child. Only async-signal-safe calls (signal-safety(7)).
    fn become_command(&self, tracer: Option<pid_t>) -> ! {
        // SAFETY: system calls on integers and on memory of `self`, which outlives them; we are
        // the only thread of this process.
        unsafe {
            // The tracer is not an ancestor: Yama (ptrace_scope 1) requires a permission. Fails if
            // there is no Yama, and then none is needed.
            if let Some(tracer) = tracer {
                libc::prctl(libc::PR_SET_PTRACER, tracer as c_ulong, 0, 0, 0);
            }
            // So that an end of file means that the tracer has ended.
            libc::close(self.go.as_raw_fd());
            let mut go = READY;
            libc::write(self.says_write.as_raw_fd(), (&raw const go).cast(), 1);
            // Signals are blocked: not interrupted. End of file: the tracer died.
            if libc::read(self.go_read.as_raw_fd(), (&raw mut go).cast(), 1) != 1 {
                libc::_exit(status::OURS);
            }
            if tracer.is_some() {
                libc::prctl(libc::PR_SET_PTRACER, 0 as c_ulong, 0, 0, 0);
            }
            if let Err(step) = self.put_back_and_exec() {
                self.fail(step);
            }
            self.fail(Step::Exec)
        }
    }

    /// Restores what was changed in the process, and execs. Returns only what failed, with errno set.
    ///
    /// # Safety
    ///
    /// While it runs, no thread of this process may change its environment.
    unsafe fn put_back_and_exec(&self) -> Result<(), Step> {
        // SAFETY: system calls on integers and on memory of `self`, which is not dropped before the
        // process ends or execs. The lists of arguments and variables end in a null pointer, and all
        // before it point to texts in `_texts`, which end in a NUL; those that are inherited are the C
        // library's, and no other thread of this process can change them.
        unsafe {
            let null = self.null.as_ref().map_or(-1, |f| f.as_raw_fd());
            let stdout = self.stdout.as_ref().map_or(null, |f| f.as_raw_fd());
            let streams = match &self.given {
                Some(given) => given.each_ref().map(|stream| stream.as_raw_fd()),
                None => [null, stdout, null],
            };
            for (to, from) in (0..).zip(streams) {
                if from >= 0 && libc::dup2(from, to) < 0 {
                    return Err(Step::Descriptors);
                }
                // The Rust runtime opened /dev/null there.
                if from < 0 && self.original.closed & 1 << to != 0 {
                    libc::close(to);
                }
            }
            let pipe = if self.original.pipe_ignored { libc::SIG_IGN } else { libc::SIG_DFL };
            libc::signal(libc::SIGPIPE, pipe);
            if self.original.child_ignored {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            if let Some(caller) = &self.caller {
                caller.restore_limits();
                if let Err(errno) = caller.become_them() {
                    *libc::__errno_location() = errno as c_int;
                    return Err(Step::User);
                }
            }
            if !self.filter.is_empty() && !self.install_filter() {
                return Err(Step::Filter);
            }
            libc::sigprocmask(libc::SIG_SETMASK, self.original.mask.as_ref(), std::ptr::null_mut());
            let env = match &self.env {
                Some(env) => env.as_ptr(),
                None => inherited_environment(),
            };
            // The filter makes it fail with ENOSYS while there is no tracer: if ours was killed just now, another
            // process takes its place soon. Waiting calls fail likewise.
            for _ in 0..MOST_EXECS {
                libc::execve(self.program.as_ptr(), self.argv.as_ptr(), env);
                if *libc::__errno_location() != libc::ENOSYS {
                    break;
                }
                libc::sched_yield();
            }
            if *libc::__errno_location() == libc::ENOEXEC {
                libc::execve(SHELL.as_ptr(), self.shell_argv.as_ptr(), env);
                *libc::__errno_location() = libc::ENOEXEC;
            }
        }
        Ok(())
    }

    /// Without privilege, a filter needs `no_new_privs`; with privilege, set-user-ID programs keep theirs.
    ///
    /// # Safety
    ///
    /// To be called by the only thread of a process.
    unsafe fn install_filter(&self) -> bool {
        const SECCOMP_SET_MODE_FILTER: c_int = 1;
        // needless is not a sandbox: without this flag, kernels before 5.16 slow the command down with
        // mitigations against itself.
        const SPEC_ALLOW: c_int = 1 << 2;
        let program = libc::sock_fprog {
            len: self.filter.len() as u16,
            filter: self.filter.as_ptr().cast_mut(),
        };
        let program = &raw const program;
        // SAFETY: `program` holds the address and number of the instructions in `self.filter`; both live
        // until the calls return, and the kernel only reads them.
        unsafe {
            let install = || {
                libc::syscall(libc::SYS_seccomp, SECCOMP_SET_MODE_FILTER, SPEC_ALLOW, program) == 0
            };
            install()
                || (*libc::__errno_location() == libc::EACCES
                    && libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                    && install())
        }
    }

    /// Reports `step` and errno to the parent and ends.
    ///
    /// # Safety
    ///
    /// To be called by the only thread of a process.
    unsafe fn fail(&self, step: Step) -> ! {
        // SAFETY: `report` is a local array of five bytes, and its own length is passed. __errno_location
        // returns the address of this thread's `errno`.
        unsafe {
            let errno = (*libc::__errno_location()).to_ne_bytes();
            let report = [step as u8, errno[0], errno[1], errno[2], errno[3]];
            // The tracer, which reads this, may have been killed.
            libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            libc::write(self.says_write.as_raw_fd(), report.as_ptr().cast(), report.len());
            libc::_exit(status::OURS)
        }
    }
}

fn c_string(text: &OsStr) -> Result<CString, LaunchError> {
    CString::new(text.as_bytes()).map_err(|_| LaunchError::Start {
        what: "an argument has a NUL byte",
        errno: Errno::EINVAL,
    })
}

/// The pointers of `texts` and a null pointer.
fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    texts.iter().map(|t| t.as_ptr()).chain([std::ptr::null()]).collect()
}

fn inherited_environment() -> *const *const c_char {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: this only reads the pointer, and nothing in needless changes it: clippy.toml forbids setenv(3) and
    // what calls it.
    unsafe { environ }
}

fn open_null() -> Result<File, Errno> {
    let file = File::options().read(true).write(true).open("/dev/null");
    file.map_err(|e| Errno::from_raw(e.raw_os_error().unwrap_or(0)))
}

fn memory_file() -> Result<File, Errno> {
    // SAFETY: the name ends with a NUL. The descriptor is not negative, new, and owned by nothing else.
    unsafe {
        let fd = libc::memfd_create(c"stdout".as_ptr(), libc::MFD_CLOEXEC);
        if fd < 0 { Err(Errno::last()) } else { Ok(OwnedFd::from_raw_fd(fd).into()) }
    }
}
