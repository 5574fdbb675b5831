//! What the ancestors of this process show about who started it.

use libc::{gid_t, uid_t};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// What the ancestors of this process show about who started it.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// The outermost sudo below the user.
    pub(super) sudo: Option<Link>,
    /// The nearest ancestor that does not belong to root.
    pub(super) user: Option<(i32, Status)>,
    /// Whether there is an interactive shell between that one and this process.
    pub(super) shell: bool,
    /// Whether a user became root by su.
    pub(super) su: bool,
}

/// A sudo among the ancestors.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) sudo: i32,
    /// Its real user; for the sudo in C, the user who ran it.
    pub(super) uid: uid_t,
    /// What started it.
    pub(super) above: i32,
    /// What it started, if that is not this process.
    pub(super) child: Option<i32>,
    /// Whether there is an interactive shell between it and this process.
    pub(super) shell: bool,
}

impl Chain {
    /// `of`: what is known of a process.
    pub(super) fn of(of: &dyn Fn(i32) -> Option<(Status, Program)>) -> Chain {
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
                _ if is_root && status.uid != 0 => {
                    chain.su = true;
                    break;
                }
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
pub(super) enum Program {
    Sudo,
    /// An interactive shell.
    Shell,
    Other,
}

impl Program {
    pub(super) fn of(pid: i32) -> Program {
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
pub(super) struct Status {
    pub(super) parent: i32,
    /// The real user.
    pub(super) uid: uid_t,
    pub(super) effective: uid_t,
    pub(super) gid: gid_t,
    pub(super) groups: Vec<gid_t>,
    pub(super) umask: Option<u32>,
}

impl Status {
    pub(super) fn of(pid: impl std::fmt::Display) -> Option<Status> {
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

    #[test]
    fn a_shell_with_a_command_asks_for_no_commands() {
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
