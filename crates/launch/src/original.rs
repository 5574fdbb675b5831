//! The state of this process before the Rust runtime and needless changed it: the
//! command gets the original state.

use libc::{c_char, c_int};
use nix::errno::Errno;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, signal, sigprocmask};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, Ordering};

static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);
/// Bit n: descriptor n was closed.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Where the kernel put the arguments.
static COUNT: AtomicI32 = AtomicI32::new(0);
static ARGUMENTS: AtomicPtr<*mut c_char> = AtomicPtr::new(std::ptr::null_mut());

/// Runs before the Rust runtime, which sets SIGPIPE to ignored and opens /dev/null on closed
/// standard descriptors, and does not record how it found them.
#[used]
// SAFETY: the loader calls each pointer in this section once, before main, with the C calling convention and
// (argc, argv, envp); a function that takes the first two only is compatible. `record` uses system calls and
// atomics only, which need no runtime.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *mut *mut c_char) = {
    extern "C" fn record(count: c_int, arguments: *mut *mut c_char) {
        // Only glibc passes them to these functions.
        if cfg!(target_env = "gnu") {
            COUNT.store(count, Ordering::Relaxed);
            ARGUMENTS.store(arguments, Ordering::Relaxed);
        }
        PIPE_IGNORED.store(ignored(libc::SIGPIPE), Ordering::Relaxed);
        let mut closed = 0;
        for fd in 0..3 {
            // SAFETY: fcntl(2) with F_GETFD takes two integers, and changes nothing.
            if unsafe { libc::fcntl(fd, libc::F_GETFD) } == -1 {
                closed |= 1 << fd;
            }
        }
        CLOSED.store(closed, Ordering::Relaxed);
    }
    record
};

/// Whether this process was started without standard descriptor `fd` (0 to 2), on which the Rust runtime has
/// opened /dev/null since.
pub fn was_closed(fd: c_int) -> bool {
    (0..3).contains(&fd) && CLOSED.load(Ordering::Relaxed) & 1 << fd != 0
}

/// Replaces the command line that `ps` and `pkill -f` see with `name`. If it does not fit, or
/// its address is not known, it stays.
pub fn rename_command_line(name: &CStr) {
    let count = COUNT.swap(0, Ordering::Relaxed);
    let arguments = ARGUMENTS.load(Ordering::Relaxed);
    if arguments.is_null() || count < 1 {
        return;
    }
    // SAFETY: `arguments` is the `argv` that glibc passed to `record`: `count` pointers to strings that the
    // kernel put one after the other into writable memory of the stack, which stays mapped. The swap above
    // lets only one caller come here. Rust's own list of arguments was copied from it earlier.
    unsafe {
        let first = *arguments;
        let last = *arguments.add(count as usize - 1);
        let length = (last as usize + libc::strlen(last)).saturating_sub(first as usize);
        let name = name.to_bytes();
        if name.len() <= length {
            std::ptr::write_bytes(first, 0, length);
            std::ptr::copy_nonoverlapping(name.as_ptr().cast(), first, name.len());
        }
    }
}

/// From now on, a write beyond the limit of a file's size (RLIMIT_FSIZE) fails with EFBIG, as on a full disk,
/// and does not end this process by SIGXFSZ. A command that is executed has the default action again.
pub fn survive_file_size_limit() {
    extern "C" fn nothing(_: c_int) {}
    // A handler, which execve(2) resets, and not SIG_IGN, which it would keep.
    if !ignored(libc::SIGXFSZ) {
        let handler = SigHandler::Handler(nothing);
        // SAFETY: the handler does nothing, so it is safe at any point. The call fails only for an invalid
        // signal number.
        let _ = unsafe { signal(Signal::SIGXFSZ, handler) };
    }
}

fn ignored(signal: i32) -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null second argument sigaction(2) changes nothing. It writes one `sigaction`, and
    // `action` is one; zero bytes are a valid value where it fails.
    let action = unsafe {
        libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

/// What to restore for the command. Plain data: used between fork and exec.
#[derive(Clone, Copy)]
pub struct Original {
    /// The signal mask.
    pub mask: SigSet,
    /// Whether SIGPIPE was ignored.
    pub pipe_ignored: bool,
    /// Whether SIGCHLD was ignored.
    pub child_ignored: bool,
    /// Standard descriptors that were closed, one bit each.
    pub closed: u8,
}

impl Original {
    /// The state, for a process that becomes the command itself and changed nothing except what the Rust
    /// runtime did.
    pub fn record() -> Original {
        let mut mask = SigSet::empty();
        // Fails only for an invalid `how`.
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, None, Some(&mut mask));
        Original {
            mask,
            pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed),
            child_ignored: ignored(libc::SIGCHLD),
            closed: CLOSED.load(Ordering::Relaxed),
        }
    }

    /// Records the state, then blocks every signal and makes sure that children can be waited for.
    pub fn record_and_block() -> Result<Original, Errno> {
        let mut mask = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), Some(&mut mask))?;
        let child_ignored = ignored(libc::SIGCHLD);
        if child_ignored {
            // SAFETY: the action is SIG_DFL: no code runs as a handler.
            unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl)? };
        }
        Ok(Original {
            mask,
            pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed),
            child_ignored,
            closed: CLOSED.load(Ordering::Relaxed),
        })
    }

    /// The signal mask as it was.
    pub fn restore_mask(&self) {
        // Fails only for an invalid `how`.
        let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&self.mask), None);
    }
}
