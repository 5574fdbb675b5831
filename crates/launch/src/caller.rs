//! Who ran `sudo needless`: the command is theirs, not root's.

use libc::{c_int, gid_t, rlimit, uid_t};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The user who ran sudo, as they were right before.
#[derive(Clone, Debug)]
pub struct Caller {
    uid: uid_t,
    gid: gid_t,
    groups: Vec<gid_t>,
    /// Their environment, without `NEEDLESS_…`.
    pub environment: Vec<(OsString, OsString)>,
    umask: Option<u32>,
    limits: Vec<(c_int, rlimit)>,
}

impl Caller {
    /// The caller, where sudo is what started this process. Root's own shell, even one that sudo
    /// started, is its own caller.
    pub fn behind_sudo() -> Option<Caller> {
        if !nix::unistd::geteuid().is_root() {
            return None;
        }
        let mut sudo = None;
        let mut at = nix::unistd::getppid().as_raw();
        // With a terminal of its own (`use_pty`), sudo is two processes.
        while is_sudo(at) {
            sudo = Some(at);
            at = Status::of(at)?.parent;
        }
        let sudo = sudo?;
        // sudo itself runs as root; who started it has the caller's user, groups, umask and limits.
        // Where that has ended, the variables that sudo set tell who it was.
        let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
        let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
        let status = Status::of(at).filter(|status| status.uid == uid);
        let groups = match &status {
            Some(status) => status.groups.clone(),
            None => groups_of(gid),
        };
        let gid = status.as_ref().map_or(gid, |status| status.gid);
        let limits = if status.is_some() { limits_of(at) } else { Vec::new() };
        let umask = status.and_then(|status| status.umask);
        // Root reads it; should that fail, an empty one is better than root's own.
        let environment = fs::read(format!("/proc/{sudo}/environ")).unwrap_or_default();
        let environment = parse(&environment);
        Some(Caller { uid, gid, groups, environment, umask, limits })
    }

    /// Their user id.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Becomes the caller, for good. Only system calls: used between fork and exec too.
    ///
    /// # Errors
    /// Those of setgroups(2), setresgid(2) and setresuid(2).
    pub fn become_them(&self) -> Result<(), Errno> {
        // SAFETY: integers, and a list that outlives the call, which copies it.
        unsafe {
            Errno::result(libc::syscall(
                libc::SYS_setgroups,
                self.groups.len(),
                self.groups.as_ptr(),
            ))?;
            Errno::result(libc::syscall(libc::SYS_setresgid, self.gid, self.gid, self.gid))?;
            Errno::result(libc::syscall(libc::SYS_setresuid, self.uid, self.uid, self.uid))?;
        }
        Ok(())
    }

    /// Does `act` with the caller's rights to files, so that a report lands where the caller may
    /// write, and is theirs. To be called while this process has one thread.
    ///
    /// # Errors
    /// When the rights cannot be changed; nothing was done then.
    pub fn as_them<T>(&self, act: impl FnOnce() -> T) -> Result<T, Errno> {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let groups = nix::unistd::getgroups()?;
        let theirs: Vec<Gid> = self.groups.iter().copied().map(Gid::from_raw).collect();
        nix::unistd::setgroups(&theirs)?;
        let back = || {
            // We were root before, so that neither can be refused.
            let _ = nix::unistd::seteuid(uid);
            let _ = nix::unistd::setegid(gid);
            let _ = nix::unistd::setgroups(&groups);
        };
        let changed = nix::unistd::setegid(Gid::from_raw(self.gid))
            .and_then(|()| nix::unistd::seteuid(Uid::from_raw(self.uid)));
        let done = changed.map(|()| act());
        back();
        done
    }

    /// Sets what else sudo changed: umask and limits. To be called while still root.
    pub(crate) fn restore_limits(&self) {
        // SAFETY: integers and structures of ours.
        unsafe {
            if let Some(umask) = self.umask {
                libc::umask(umask as libc::mode_t);
            }
            for (which, limit) in &self.limits {
                // The type of the number is the C library's own affair.
                libc::setrlimit(*which as _, limit);
            }
        }
    }
}

fn is_sudo(pid: i32) -> bool {
    let exe = fs::read_link(format!("/proc/{pid}/exe"));
    exe.is_ok_and(|exe| matches!(exe.file_name().and_then(OsStr::to_str), Some("sudo" | "sudo-rs")))
}

/// What /proc/PID/status (proc(5)) tells.
struct Status {
    parent: i32,
    uid: uid_t,
    gid: gid_t,
    groups: Vec<gid_t>,
    umask: Option<u32>,
}

impl Status {
    fn of(pid: i32) -> Option<Status> {
        Status::parse(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
    }

    fn parse(text: &str) -> Option<Status> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let first = |name: &str| field(name)?.split_whitespace().next();
        Some(Status {
            parent: first("PPid:")?.parse().ok()?,
            uid: first("Uid:")?.parse().ok()?,
            gid: first("Gid:")?.parse().ok()?,
            groups: field("Groups:")?.split_whitespace().filter_map(|g| g.parse().ok()).collect(),
            umask: first("Umask:").and_then(|mask| u32::from_str_radix(mask, 8).ok()),
        })
    }
}

/// The groups of the user that sudo names, as the system's databases have them.
fn groups_of(gid: gid_t) -> Vec<gid_t> {
    let user = std::env::var_os("SUDO_USER").unwrap_or_default();
    let user = std::ffi::CString::new(user.as_bytes()).unwrap_or_default();
    let groups = nix::unistd::getgrouplist(&user, Gid::from_raw(gid)).unwrap_or_default();
    groups.into_iter().map(Gid::as_raw).collect()
}

fn limits_of(pid: i32) -> Vec<(c_int, rlimit)> {
    // RLIMIT_CPU 0 … RLIMIT_RTTIME 15 (asm-generic/resource.h).
    (0..16)
        .filter_map(|which: c_int| {
            let mut limit = rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: reads into one structure of ours.
            let done =
                unsafe { libc::prlimit(pid, which as _, std::ptr::null(), &raw mut limit) == 0 };
            done.then_some((which, limit))
        })
        .collect()
}

fn parse(environ: &[u8]) -> Vec<(OsString, OsString)> {
    let pairs = environ.split(|byte| *byte == 0).filter_map(|variable| {
        let equals = variable.iter().position(|byte| *byte == b'=')?;
        let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((own(&variable[..equals]), own(&variable[equals + 1..])))
    });
    pairs.filter(|(name, _)| !name.as_bytes().starts_with(b"NEEDLESS_")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let text = "Name:\tbash\nUmask:\t0027\nPPid:\t7\nUid:\t1000\t1000\t0\t0\n\
                    Gid:\t100\t100\t100\t100\nGroups:\t24 27 100 \n";
        let status = Status::parse(text).unwrap();
        assert_eq!((status.parent, status.uid, status.gid), (7, 1000, 100));
        assert_eq!((status.groups, status.umask), (vec![24, 27, 100], Some(0o27)));
        assert!(Status::parse("Name:\tx\n").is_none());
    }

    #[test]
    fn our_own_variables_are_not_the_commands() {
        let found = parse(b"A=1\0NEEDLESS_ALL=1\0B=x=y\0broken\0");
        let expected = [("A", "1"), ("B", "x=y")];
        assert_eq!(found, expected.map(|(n, v)| (n.into(), v.into())));
    }
}
