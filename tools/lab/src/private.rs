//! Replaces files of the machine for one process and its children: in a private mount namespace, which ends with
//! them (mount_namespaces(7)).
//!
//! The subject that needs another `/etc/localtime` gets an empty /etc, for it has read everything else by then. An
//! overlay file system makes each `stat` more expensive, and `stat` is what is measured.

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::path::Path;

/// Moves this process into a private mount namespace; what it mounts from then on is not visible outside. Who
/// is not root also gets a user namespace, with the same user in it (user_namespaces(7)). Call it while the
/// process has one thread.
///
/// # Errors
/// Why it is not allowed, in words for "skipped: …".
pub(crate) fn enter() -> Result<(), String> {
    if unshare(CloneFlags::CLONE_NEWNS).is_err() {
        // Before unshare: in the new namespace no user is mapped yet.
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(refused)?;
        let say = |file: &str, text: String| {
            fs::write(format!("/proc/self/{file}"), text)
                .map_err(|error| format!("cannot write /proc/self/{file}: {error}"))
        };
        // An unprivileged process may map its group only after this.
        say("setgroups", "deny".into())?;
        say("uid_map", format!("{user} {user} 1"))?;
        say("gid_map", format!("{group} {group} 1"))?;
    }
    // Where / is shared, as systemd makes it, our mounts would appear on the machine.
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(refused)
}

/// Mounts an empty tmpfs over `folder`, in the namespace of [`enter`].
///
/// # Errors
/// Why that failed, in words for "skipped: …".
pub(crate) fn cover(folder: &Path) -> Result<(), String> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), folder, Some("tmpfs"), flags, Some("mode=755"))
        .map_err(|why| format!("cannot mount over {}: {}", folder.display(), why.desc()))
}

fn refused(why: Errno) -> String {
    // unshare(2): the limit of user namespaces is reached; mostly that limit is zero.
    let why = if why == Errno::ENOSPC { "see user.max_user_namespaces" } else { why.desc() };
    format!("private mounts are not allowed here ({why}); root may mostly make them")
}
