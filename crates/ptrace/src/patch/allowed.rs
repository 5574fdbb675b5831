//! Whether a filter that the command inherits refuses the calls that patching makes in it, or ends a process for them.

use super::layout as l;
use crate::untraced::inherited_filter;
use needless_launch::wait_for;

/// Whether these calls can be tried. Under an inherited filter (of a container, a service) a child makes them; what is
/// only refused is seen later, but for those that have to succeed. The stub also reads the time stamp counter, which may
/// be forbidden.
pub(crate) fn is_allowed() -> bool {
    has_clock() && (!inherited_filter() || may_patch())
}

fn has_clock() -> bool {
    let mut state: libc::c_int = 0;
    // SAFETY: PR_GET_TSC writes one integer, and `state` is one.
    let asked = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut state) };
    asked == 0 && state == libc::PR_TSC_ENABLE
}

fn may_patch() -> bool {
    // SAFETY: the child makes system calls with numbers and one constant text, and ends: it takes no lock and allocates
    // nothing; the mapping replaces none.
    match unsafe { libc::fork() } {
        -1 => false,
        // SAFETY: as above.
        0 => unsafe {
            let (name, none) = (c"needless".as_ptr(), std::ptr::null_mut::<libc::sigset_t>());
            let masked = libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, none, none, 8);
            let file = libc::syscall(libc::SYS_memfd_create, name, libc::MFD_CLOEXEC);
            libc::syscall(libc::SYS_close, file);
            let reported = libc::syscall(l::REPORT.into());
            let access = libc::PROT_READ | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let region = l::REGION as *mut libc::c_void;
            libc::mmap(region, 4096, access, flags, -1, 0);
            libc::_exit(i32::from(masked < 0 || reported < 0))
        },
        // It ends with the status 0.
        child => wait_for(child, 0) == Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

    /// Whether it may, where a filter does this to a call.
    fn may_patch_under(call: libc::c_long, action: u32) -> bool {
        let line = |code: u32, jf: u8, k: u32| sock_filter { code: code as u16, jt: 0, jf, k };
        let code = [
            line(BPF_LD | BPF_W | BPF_ABS, 0, 0),
            line(BPF_JMP | BPF_JEQ | BPF_K, 1, call as u32),
            line(BPF_RET | BPF_K, 0, action),
            line(BPF_RET | BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        ];
        // In a thread of its own: a filter is not taken off again.
        let thread = std::thread::spawn(move || {
            let program = libc::sock_fprog { len: 4, filter: code.as_ptr().cast_mut() };
            // SAFETY: prctl(2) takes integers here, and for the filter the address of `program`, whose `code` lives.
            unsafe {
                assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
                assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program), 0);
            }
            may_patch()
        });
        thread.join().unwrap()
    }

    #[test]
    fn a_filter_that_kills_or_takes_away_what_is_needed_is_found_out() {
        let refused = libc::SECCOMP_RET_ERRNO | 1;
        assert!(may_patch());
        assert!(may_patch_under(libc::SYS_memfd_create, refused), "seen later");
        assert!(!may_patch_under(libc::SYS_memfd_create, libc::SECCOMP_RET_KILL_PROCESS));
        assert!(!may_patch_under(l::REPORT.into(), refused));
    }
}
