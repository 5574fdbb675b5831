//! Whether a filter that the command inherits ends a process for the calls that patching makes in it.

use super::layout as l;
use crate::untraced::inherited_filter;
use nix::errno::Errno;

/// Whether these calls can be tried. Under an inherited filter (of a container, a service) a child makes them; what is
/// only refused is seen later. The stub also reads the time stamp counter, which may be forbidden.
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
    // nothing.
    match unsafe { libc::fork() } {
        -1 => false,
        0 => {
            // SAFETY: as above; the mapping replaces none.
            unsafe {
                let (name, none) = (c"needless".as_ptr(), std::ptr::null_mut::<libc::sigset_t>());
                libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, none, none, 8);
                let file = libc::syscall(libc::SYS_memfd_create, name, libc::MFD_CLOEXEC);
                libc::syscall(libc::SYS_close, file);
                libc::syscall(l::REPORT.into());
                let access = libc::PROT_READ | libc::PROT_EXEC;
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
                let region = l::REGION as *mut libc::c_void;
                libc::mmap(region, l::CODE as usize, access, flags, -1, 0);
                libc::munmap(region, l::CODE as usize);
                libc::_exit(0)
            }
        }
        child => {
            let mut status = 0;
            // SAFETY: waitpid(2) writes one integer, and `status` is one.
            while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1
                && Errno::last() == Errno::EINTR
            {}
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{BPF_ABS, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, sock_filter};

    #[test]
    fn a_filter_that_kills_for_a_file_in_memory_is_found_out() {
        let kill = |action: u32| {
            let code = [
                sock_filter { code: (BPF_LD | BPF_W | BPF_ABS) as u16, jt: 0, jf: 0, k: 0 },
                sock_filter {
                    code: (BPF_JMP | BPF_JEQ | BPF_K) as u16,
                    jt: 0,
                    jf: 1,
                    k: libc::SYS_memfd_create as u32,
                },
                sock_filter { code: (BPF_RET | BPF_K) as u16, jt: 0, jf: 0, k: action },
                sock_filter {
                    code: (BPF_RET | BPF_K) as u16,
                    jt: 0,
                    jf: 0,
                    k: libc::SECCOMP_RET_ALLOW,
                },
            ];
            // In a thread of its own: a filter is not taken off again.
            std::thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    let program = libc::sock_fprog { len: 4, filter: code.as_ptr().cast_mut() };
                    // SAFETY: prctl(2) takes integers here, and for the filter the address of `program`, whose
                    // `code` lives as long as this scope.
                    unsafe {
                        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
                        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, 2, &raw const program), 0);
                    }
                    may_patch()
                });
                thread.join().unwrap()
            })
        };
        assert!(may_patch());
        assert!(kill(libc::SECCOMP_RET_ERRNO | 1), "refused is not ended");
        assert!(!kill(libc::SECCOMP_RET_KILL_PROCESS));
    }
}
