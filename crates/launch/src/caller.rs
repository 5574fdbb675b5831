//! The user of a command that root starts: the one who ran sudo, not root.

use crate::LaunchError;
use libc::{c_int, gid_t, rlimit, uid_t};
use nix::errno::Errno;
use nix::unistd::{Gid, Uid, User};
use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Variables of an environment, in its order.
type Variables = Vec<(OsString, OsString)>;

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
    Nobody,
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

/// Who started this process. Only for root: the answer must not let anyone act as another user.
pub fn behind() -> Behind {
    // The kernel's answer counts: fakeroot reports to its programs that they are root.
    let really = Status::of("self").is_none_or(|status| status.effective == 0);
    if !nix::unistd::geteuid().is_root() || !really {
        return Behind::Nobody;
    }
    let named = match named() {
        Ok(named) => named,
        Err(why) => return Behind::Unknown(why),
    };
    let hidden = hidden();
    let chain = Chain::of(&|pid| {
        let status = Status::of(pid).filter(|status| Some(status.uid) != hidden)?;
        Some((status, Program::of(pid)))
    });
    let elsewhere = |uid: uid_t| {
        Behind::Unknown(format!(
            "sudo was run by user {uid}, but not as one of the processes that started needless"
        ))
    };
    // A daemon of root may have another effective user.
    let user = chain.user.filter(|(_, status)| status.uid != 0);
    let Some(link) = chain.sudo else {
        let uid = named.map_or(0, |(uid, _)| uid);
        if chain.shell && (uid != 0 || user.is_some()) {
            return Behind::RootShell;
        }
        return match user {
            None if uid == 0 => Behind::Nobody,
            // sudo became needless by exec (sudoers: !use_pty, !pam_session, !pam_setcred): its environment is lost.
            Some((pid, status)) if status.uid == uid => {
                let user = User::from_uid(Uid::from_raw(uid)).ok().flatten();
                let ours = variables(std::env::vars_os());
                let environment = match &user {
                    Some(user) => renamed(ours, user),
                    None => ours,
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
        };
    };
    if link.shell {
        return Behind::RootShell;
    }
    // Root reads it; if that fails, an empty environment is better than that of root.
    let before = environ(link.sudo);
    let between = match link.child {
        Some(child) => changes(&environ(child), &variables(std::env::vars_os())),
        None => Vec::new(),
    };
    let environment = changed(before, between);
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
        (None, None) => Behind::Nobody,
    }
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

/// What the ancestors of this process show about who started it.
#[derive(Debug, Default)]
struct Chain {
    /// The outermost sudo below the user.
    sudo: Option<Link>,
    /// The nearest ancestor that does not belong to root.
    user: Option<(i32, Status)>,
    /// Whether there is an interactive shell between that one and this process.
    shell: bool,
}

/// A sudo among the ancestors.
#[derive(Debug)]
struct Link {
    sudo: i32,
    /// Its real user; for the sudo in C, the user who ran it.
    uid: uid_t,
    /// What started it.
    above: i32,
    /// What it started, if that is not this process.
    child: Option<i32>,
    /// Whether there is an interactive shell between it and this process.
    shell: bool,
}

impl Chain {
    /// `of`: what is known of a process.
    fn of(of: &dyn Fn(i32) -> Option<(Status, Program)>) -> Chain {
        let mut chain = Chain::default();
        let mut at = nix::unistd::getppid().as_raw();
        let mut below = None;
        // No chain is longer; one that changes while it is read could be a circle.
        for _ in 0..10_000 {
            let Some((status, program)) = of(at).filter(|_| at > 0) else { break };
            let is_root = status.effective == 0;
            match program {
                // While it runs, its real user is the caller.
                Program::Sudo if is_root => {
                    // With its own terminal (`use_pty`), sudo is two processes.
                    let inner = chain.sudo.take().filter(|link| below == Some(link.sudo));
                    let child = inner.map_or(below, |link| link.child);
                    let shell = chain.shell;
                    chain.sudo = Some(Link {
                        sudo: at,
                        uid: status.uid,
                        above: status.parent,
                        child,
                        shell,
                    });
                }
                // su and similar programs: the user became root by other means.
                _ if is_root && status.uid != 0 => break,
                _ if !is_root => {
                    chain.user = Some((at, status));
                    break;
                }
                Program::Shell => chain.shell = true,
                Program::Sudo | Program::Other => {}
            }
            below = Some(at);
            at = status.parent;
        }
        chain
    }
}

/// The program of a process, if it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Program {
    Sudo,
    /// An interactive shell.
    Shell,
    Other,
}

impl Program {
    fn of(pid: i32) -> Program {
        let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let input = fs::read_link(format!("/proc/{pid}/fd/0")).unwrap_or_default();
        let name = exe.file_name().and_then(OsStr::to_str);
        // The kernel's mark of a file that an upgrade has replaced.
        match name.map(|name| name.strip_suffix(" (deleted)").unwrap_or(name)) {
            // `sudo.ws` is Ubuntu's name of the sudo in C, next to sudo-rs.
            Some("sudo" | "sudo-rs" | "sudo.ws") => Program::Sudo,
            Some(name) if is_shell(name) && asks_for_commands(&words) && is_terminal(&input) => {
                Program::Shell
            }
            _ => Program::Other,
        }
    }
}

fn is_shell(name: &str) -> bool {
    // On Alpine, the multi-call binary is the shell, too.
    matches!(
        name,
        "sh" | "bash"
            | "dash"
            | "ash"
            | "busybox"
            | "zsh"
            | "ksh"
            | "ksh93"
            | "mksh"
            | "fish"
            | "csh"
            | "tcsh"
            | "nu"
            | "yash"
            | "xonsh"
            | "elvish"
    )
}

/// Whether a shell with this command line reads commands from its input: it has no script, and no
/// command in `-c`.
fn asks_for_commands(words: &[u8]) -> bool {
    let mut words = words.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    // `busybox sh`
    if first.ends_with(b"busybox") {
        words.next();
    }
    words.all(|word| {
        let short = !word.starts_with(b"--");
        matches!(word[0], b'-' | b'+') && !(short && word.contains(&b'c'))
    })
}

fn is_terminal(input: &Path) -> bool {
    let name = input.to_string_lossy();
    name.starts_with("/dev/pts/") || name.starts_with("/dev/tty") || name == "/dev/console"
}

/// Fields of /proc/PID/status (proc(5)).
#[derive(Clone, Debug)]
struct Status {
    parent: i32,
    /// The real user.
    uid: uid_t,
    effective: uid_t,
    gid: gid_t,
    groups: Vec<gid_t>,
    umask: Option<u32>,
}

impl Status {
    fn of(pid: impl std::fmt::Display) -> Option<Status> {
        // Not as text: the name may contain any bytes.
        let bytes = fs::read(format!("/proc/{pid}/status")).ok()?;
        Status::parse(&String::from_utf8_lossy(&bytes))
    }

    fn parse(text: &str) -> Option<Status> {
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let first = |name: &str| field(name)?.split_whitespace().next();
        Some(Status {
            parent: first("PPid:")?.parse().ok()?,
            uid: first("Uid:")?.parse().ok()?,
            effective: field("Uid:")?.split_whitespace().nth(1)?.parse().ok()?,
            gid: first("Gid:")?.parse().ok()?,
            groups: field("Groups:")?.split_whitespace().filter_map(|g| g.parse().ok()).collect(),
            umask: first("Umask:").and_then(|mask| u32::from_str_radix(mask, 8).ok()),
        })
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
            // SAFETY: reads into one structure of ours.
            let done =
                unsafe { libc::prlimit(pid, which as _, std::ptr::null(), &raw mut limit) == 0 };
            done.then_some((which, limit))
        })
        .collect()
}

/// The environment that process `pid` was executed with; empty if it cannot be read.
fn environ(pid: i32) -> Variables {
    parse(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
}

fn parse(environ: &[u8]) -> Variables {
    let pairs = environ.split(|byte| *byte == 0).filter_map(|variable| {
        let equals = variable.iter().position(|byte| *byte == b'=')?;
        let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((own(&variable[..equals]), own(&variable[equals + 1..])))
    });
    variables(pairs)
}

/// Without the variables of needless.
fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> Variables {
    all.filter(|(name, _)| !name.as_bytes().starts_with(b"NEEDLESS_")).collect()
}

/// The differences in `after`: the new value of each variable, `None` if it was removed.
fn changes(before: &Variables, after: &Variables) -> Vec<(OsString, Option<OsString>)> {
    let (was, is): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (before.iter().cloned().collect(), after.iter().cloned().collect());
    let set = is.iter().filter(|(name, value)| was.get(*name) != Some(value));
    let set = set.map(|(name, value)| (name.clone(), Some(value.clone())));
    let removed = was.keys().filter(|name| !is.contains_key(*name));
    // Each program between sudo and this one sets `_`.
    set.chain(removed.map(|name| (name.clone(), None))).filter(|(name, _)| name != "_").collect()
}

fn changed(mut all: Variables, changes: Vec<(OsString, Option<OsString>)>) -> Variables {
    for (name, value) in changes {
        let at = all.iter().position(|(known, _)| *known == name);
        match (at, value) {
            (Some(at), Some(value)) => all[at].1 = value,
            (None, Some(value)) => all.push((name, value)),
            (Some(at), None) => drop(all.remove(at)),
            (None, None) => {}
        }
    }
    all
}

/// `all` with another user's name and home, and without the variables of sudo about its caller.
fn renamed(all: Variables, user: &User) -> Variables {
    let name = OsString::from(&user.name);
    let theirs = [
        ("HOME", user.dir.clone().into_os_string()),
        ("SHELL", user.shell.clone().into_os_string()),
        ("USER", name.clone()),
        ("LOGNAME", name),
    ];
    let sudos = ["SUDO_COMMAND", "SUDO_USER", "SUDO_UID", "SUDO_GID", "SUDO_HOME", "MAIL"];
    let set = theirs.into_iter().map(|(name, value)| (name.into(), Some(value)));
    let unset = sudos.into_iter().map(|name| (name.into(), None));
    changed(all, set.chain(unset).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read() {
        let text = "Name:\tbash\nUmask:\t0027\nPPid:\t7\nUid:\t1000\t0\t0\t0\n\
                    Gid:\t100\t100\t100\t100\nGroups:\t24 27 100 \n";
        let status = Status::parse(text).unwrap();
        assert_eq!((status.parent, status.uid, status.effective), (7, 1000, 0));
        assert_eq!(status.gid, 100);
        assert_eq!((status.groups, status.umask), (vec![24, 27, 100], Some(0o27)));
        assert!(Status::parse("Name:\tx\n").is_none());
    }

    fn pairs(of: &[(&str, &str)]) -> Variables {
        of.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn our_own_variables_are_not_the_commands() {
        let found = parse(b"A=1\0NEEDLESS_ALL=1\0B=x=y\0broken\0");
        assert_eq!(found, pairs(&[("A", "1"), ("B", "x=y")]));
    }

    #[test]
    fn what_was_set_between_sudo_and_us_counts() {
        let sudos = pairs(&[("HOME", "/root"), ("A", "1"), ("B", "2"), ("_", "/bin/sh")]);
        let ours = pairs(&[("HOME", "/root"), ("A", "9"), ("TZ", "UTC"), ("_", "needless")]);
        let theirs = pairs(&[("HOME", "/home/u"), ("B", "2")]);
        let found = changed(theirs, changes(&sudos, &ours));
        assert_eq!(found, pairs(&[("HOME", "/home/u"), ("A", "9"), ("TZ", "UTC")]));
    }

    #[test]
    fn a_shell_with_a_command_is_nobodys_shell() {
        for shell in ["-bash\0", "bash\0", "/bin/sh\0-i\0", "zsh\0--login\0", "busybox\0sh\0"] {
            assert!(asks_for_commands(shell.as_bytes()), "{shell:?}");
        }
        for other in ["sh\0-c\0x\0", "bash\0-xc\0x\0", "bash\0script\0", "sh\0-e\0script\0"] {
            assert!(!asks_for_commands(other.as_bytes()), "{other:?}");
        }
    }

    /// Ancestors from the nearest: (real user, what it runs). Those that are not the user's last one run as
    /// root.
    fn chain(of: &[(u32, Program)]) -> Chain {
        let first = nix::unistd::getppid().as_raw();
        Chain::of(&|pid| {
            let at = if pid == first { 0 } else { usize::try_from(1_000_000 - pid).unwrap() };
            let (uid, program) = *of.get(at)?;
            let parent = 1_000_000 - i32::try_from(at).unwrap() - 1;
            let effective = if at + 1 == of.len() { uid } else { 0 };
            let status =
                Status { parent, uid, effective, gid: uid, groups: Vec::new(), umask: None };
            Some((status, program))
        })
    }

    #[test]
    fn a_sudo_is_found_behind_other_programs() {
        use Program::{Other, Shell, Sudo};
        let user = (1000, Shell);
        let found = |of: &[(u32, Program)]| {
            let chain = chain(of);
            let sudo = chain.sudo.map(|link| (link.child.is_some(), link.shell));
            (chain.user.map(|(_, status)| status.uid), sudo)
        };
        assert_eq!(found(&[(0, Sudo), user]), (Some(1000), Some((false, false))));
        assert_eq!(found(&[(0, Sudo), (0, Sudo), user]), (Some(1000), Some((false, false))));
        assert_eq!(found(&[(0, Other), (0, Sudo), user]), (Some(1000), Some((true, false))));
        let nested = [(0, Sudo), (0, Other), (0, Sudo), user];
        assert_eq!(found(&nested), (Some(1000), Some((true, false))));
        assert_eq!(found(&[(0, Shell), (0, Sudo), user]), (Some(1000), Some((true, true))));
        assert_eq!(found(&[(1000, Sudo), user]), (Some(1000), Some((false, false))));
        // A shell of su's, in which root runs sudo.
        assert_eq!(
            found(&[(0, Sudo), (0, Shell), (1000, Other), user]),
            (None, Some((false, false)))
        );
        assert_eq!(found(&[user]), (Some(1000), None));
        assert_eq!(found(&[(0, Other), (0, Other)]), (None, None));
        assert_eq!(found(&[(0, Shell), (0, Sudo), (0, Shell)]), (None, Some((true, true))));
    }
}
