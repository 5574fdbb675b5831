//! The user of a command that root starts: the one who ran sudo, not root.

mod ancestors;
mod variables;

use crate::LaunchError;
use ancestors::{Chain, Link, Program, Status};
use libc::{c_int, gid_t, rlimit, uid_t};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User};
use std::ffi::{CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use variables::{Variables, changed, changes, environ, renamed, variables};

/// The PID namespace of the machine itself: PROC_PID_INIT_INO of linux/proc_ns.h.
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// A user whose command root starts.
#[derive(Clone, Debug)]
pub struct Caller {
    uid: uid_t,
    gid: gid_t,
    groups: Vec<gid_t>,
    /// Their environment, without `NEEDLESS_…`.
    pub environment: Variables,
    umask: Option<u32>,
    limits: Vec<(c_int, rlimit)>,
}

/// Who started this process.
#[derive(Clone, Debug)]
pub enum Behind {
    /// The current user: not root, or root that no other user has started.
    CurrentUser,
    /// A user with sudo: directly, or with other programs in between.
    User(Caller),
    /// Someone at a root shell that another user started.
    RootShell,
    /// It is not known; the sentence says why.
    Unknown(String),
}

impl Caller {
    /// The user with this name or number, with the current umask, limits and environment, except the
    /// variables that name a user.
    ///
    /// # Errors
    /// [`LaunchError::User`], [`LaunchError::Groups`].
    pub fn named(name: &str) -> Result<Caller, LaunchError> {
        let number = name.parse().ok().map(Uid::from_raw);
        let by_name = User::from_name(name).ok().flatten();
        let user = by_name.or_else(|| User::from_uid(number?).ok().flatten());
        let user = user.ok_or_else(|| LaunchError::User { name: name.to_owned() })?;
        let groups = nix::unistd::getgrouplist(&c_string(OsStr::new(&user.name)), user.gid);
        let groups =
            groups.map_err(|errno| LaunchError::Groups { name: name.to_owned(), errno })?;
        Ok(Caller {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups: groups.into_iter().map(Gid::as_raw).collect(),
            environment: renamed(variables(std::env::vars_os()), &user),
            umask: None,
            limits: Vec::new(),
        })
    }

    /// Their user id.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Becomes the caller permanently. Only system calls: used between fork and exec, too.
    ///
    /// # Errors
    /// Those of setgroups(2), setresgid(2) and setresuid(2).
    pub fn become_them(&self) -> Result<(), Errno> {
        // SAFETY: setgroups(2) only reads the list, and `self.groups` has `len()` entries at `as_ptr()`; the
        // other two calls take integers only.
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

    /// Runs `act` with the caller's rights to files, so that a report is written where the caller may
    /// write, and belongs to the caller. Call it while this process has one thread.
    ///
    /// # Errors
    /// When the rights cannot be changed; nothing was done then.
    pub fn as_them<T>(&self, act: impl FnOnce() -> T) -> Result<T, Errno> {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        let groups = nix::unistd::getgroups()?;
        let theirs: Vec<Gid> = self.groups.iter().copied().map(Gid::from_raw).collect();
        nix::unistd::setgroups(&theirs)?;
        let back = || {
            // The process was root before, so this cannot be refused.
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

    /// Restores what else sudo changed: umask and limits. Call it while still root.
    pub(crate) fn restore_limits(&self) {
        // SAFETY: umask(2) takes an integer; setrlimit(2) only reads `limit`, a reference to an `rlimit`.
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

/// Who started this process.
pub fn behind() -> Behind {
    match who_started() {
        // There are no rights to give up, and the command gets what sudo gave root: without needless it would, too.
        Behind::User(caller) if caller.uid == 0 => Behind::CurrentUser,
        who => who,
    }
}

/// Only for root: the answer must not let anyone act as another user.
fn who_started() -> Behind {
    // The kernel's answer counts: fakeroot reports to its programs that they are root.
    let really = Status::of("self").is_none_or(|status| status.effective == 0);
    if !nix::unistd::geteuid().is_root() || !really {
        return Behind::CurrentUser;
    }
    let named = match named() {
        Ok(named) => named,
        Err(why) => return Behind::Unknown(why),
    };
    let hidden = hidden();
    let chain = Chain::of(&|pid| {
        Some((Status::of(pid).filter(|status| Some(status.uid) != hidden)?, Program::of(pid)))
    });
    // A daemon of root may have another effective user.
    let user = chain.user.filter(|(_, status)| status.uid != 0);
    // Behind su, the user who logged in is not the one whose command it is.
    let login = login_user().filter(|_| !chain.su);
    match chain.sudo {
        Some(Link { shell: true, .. }) => Behind::RootShell,
        Some(link) => behind_sudo(&link, user, named, login),
        None => {
            let uid = named.map_or(0, |(uid, _)| uid);
            if chain.shell && (uid != 0 || user.is_some() || login.is_some()) {
                return Behind::RootShell;
            }
            without_sudo(uid, user, login)
        }
    }
}

/// There is no sudo among the ancestors: `uid` is the user that its variables name, or 0, and `user` the nearest
/// ancestor that is not root's.
fn without_sudo(uid: uid_t, user: Option<(i32, Status)>, login: Option<uid_t>) -> Behind {
    match user {
        None if uid == 0 => logged_in(login),
        // sudo became needless by exec (sudoers: !use_pty, !pam_session, !pam_setcred): its environment is lost.
        Some((pid, status)) if status.uid == uid => {
            let ours = variables(std::env::vars_os());
            let environment = match User::from_uid(Uid::from_raw(uid)) {
                Ok(Some(user)) => renamed(ours, &user),
                _ => ours,
            };
            Behind::User(caller(pid, &status, environment))
        }
        // The same, and something removed the variables of sudo about its caller; or pkexec or doas
        // became needless. A su would still be among the ancestors.
        Some((_, status)) if uid == 0 => Behind::Unknown(format!(
            "needless runs as root, but user {} started it, and it cannot be seen how",
            status.uid
        )),
        _ => elsewhere(uid),
    }
}

/// Behind the sudo of `link`, whose variables name the user and the group `named`.
fn behind_sudo(
    link: &Link,
    user: Option<(i32, Status)>,
    named: Option<(uid_t, gid_t)>,
    login: Option<uid_t>,
) -> Behind {
    let ours = || variables(std::env::vars_os());
    let between = link.child.map(|child| changes(&environ(child), &ours()));
    // Root reads it; if that fails, an empty environment is better than that of root.
    let environment = changed(environ(link.sudo), between.unwrap_or_default());
    if user.is_none() && link.uid != 0 && named.is_none_or(|(uid, _)| uid != link.uid) {
        return Behind::Unknown(format!(
            "user {} ran sudo and has ended, and SUDO_UID does not name that user",
            link.uid
        ));
    }
    // Root may have run sudo itself.
    let above = || Some((link.above, Status::of(link.above)?));
    match (user.or_else(above), named) {
        (Some((pid, status)), Some((uid, _))) if uid == 0 || uid == status.uid => {
            Behind::User(caller(pid, &status, environment))
        }
        (Some((pid, status)), None) => Behind::User(caller(pid, &status, environment)),
        (Some((_, status)), Some((uid, _))) if status.uid != 0 => elsewhere(uid),
        // The process that started it has ended: the variables that sudo set show the user.
        (_, Some((uid, gid))) => {
            let groups = groups_of(gid);
            Behind::User(Caller { uid, gid, groups, environment, umask: None, limits: Vec::new() })
        }
        (None, None) => logged_in(login),
    }
}

fn elsewhere(uid: uid_t) -> Behind {
    Behind::Unknown(format!(
        "sudo was run by user {uid}, but not as one of the processes that started needless"
    ))
}

/// Nothing is seen but who logged in.
fn logged_in(login: Option<uid_t>) -> Behind {
    let Some(uid) = login else { return Behind::CurrentUser };
    let unknown = format!(
        "needless runs as root in a session that user {uid} logged in to, who has no account here"
    );
    Caller::named(&uid.to_string()).map_or(Behind::Unknown(unknown), Behind::User)
}

/// The user who logged in to the session of this process, if that is not root: sudo does not change it, and only the
/// kernel's audit rights can. It stays when sudo has ended and its variables were removed.
fn login_user() -> Option<uid_t> {
    // Another PID namespace is a container: its root is its own, whoever started it.
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    if namespace.as_os_str() != FIRST_PID_NAMESPACE {
        return None;
    }
    let text = fs::read_to_string("/proc/self/loginuid").ok()?;
    // (uid_t) -1: nobody logged in, as for a daemon.
    text.trim().parse().ok().filter(|uid| ![0, u32::MAX].contains(uid))
}

/// The user and the group that ran sudo, by its variables, if both are set.
///
/// # Errors
/// When one is not a valid number, in a sentence.
fn named() -> Result<Option<(uid_t, gid_t)>, String> {
    let number = |name: &str| {
        let Some(text) = std::env::var_os(name) else { return Ok(None) };
        // (uid_t) -1 is "leave it" for setresuid(2).
        let number = text.to_str().and_then(|text| text.parse().ok()).filter(|n| *n != u32::MAX);
        number.map(Some).ok_or_else(|| format!("{name} is {text:?}, which is not an id"))
    };
    Ok(number("SUDO_UID")?.zip(number("SUDO_GID")?))
}

/// In a user namespace, the number that stands for all users outside it: it does not say who
/// they are.
fn hidden() -> Option<uid_t> {
    let map = fs::read_to_string("/proc/self/uid_map").ok()?;
    if map.split_whitespace().eq(["0", "0", "4294967295"]) {
        return None;
    }
    fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?.trim().parse().ok()
}

/// The user of process `pid` as it is now.
fn caller(pid: i32, status: &Status, environment: Variables) -> Caller {
    Caller {
        uid: status.uid,
        gid: status.gid,
        groups: status.groups.clone(),
        environment,
        umask: status.umask,
        limits: limits_of(pid),
    }
}

/// The groups of the user in SUDO_USER, from the system's databases.
fn groups_of(gid: gid_t) -> Vec<gid_t> {
    let user = c_string(&std::env::var_os("SUDO_USER").unwrap_or_default());
    let groups = nix::unistd::getgrouplist(&user, Gid::from_raw(gid)).unwrap_or_default();
    groups.into_iter().map(Gid::as_raw).collect()
}

fn c_string(text: &OsStr) -> CString {
    CString::new(text.as_bytes()).unwrap_or_default()
}

fn limits_of(pid: i32) -> Vec<(c_int, rlimit)> {
    // RLIMIT_CPU 0 … RLIMIT_RTTIME 15 (asm-generic/resource.h).
    (0..16)
        .filter_map(|which: c_int| {
            let mut limit = rlimit { rlim_cur: 0, rlim_max: 0 };
            // SAFETY: the null pointer says that no limit is set; prlimit(2) writes one `rlimit`, and `limit`
            // is one.
            let done =
                unsafe { libc::prlimit(pid, which as _, std::ptr::null(), &raw mut limit) == 0 };
            done.then_some((which, limit))
        })
        .collect()
}
