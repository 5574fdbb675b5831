//! Ends a process as another one ended.

use needless_model::Exit;

/// Ends this process as `exit` says, by the same signal if it was one, without a core file.
pub fn exit_like(exit: Exit) -> ! {
    let number = match exit {
        Exit::Code(code) => std::process::exit(code),
        Exit::Signal(number) => number,
    };
    // SAFETY: `none` and `this` are local variables of the types that setrlimit(2), sigemptyset(3),
    // sigaddset(3) and sigprocmask(2) expect; zero bytes are a valid `sigset_t`. The action is SIG_DFL: no
    // code runs as a handler.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(number, libc::SIG_DFL);
        let mut this = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut this);
        libc::sigaddset(&raw mut this, number);
        libc::sigprocmask(libc::SIG_UNBLOCK, &raw const this, std::ptr::null_mut());
        libc::raise(number);
    }
    // The signal does not end a process by default: use the status of shells.
    std::process::exit(128 + number)
}
