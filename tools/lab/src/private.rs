//! Files of the machine that are others for one process and its children: a mount namespace of their
//! own, which vanishes with them (mount_namespaces(7)).

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::fs;
use std::path::Path;

/// Puts this process into a mount namespace of its own; nothing that it mounts from then on is seen
/// outside. As root plainly; else in a user namespace too, in which it stays the same user
/// (user_namespaces(7)). To be called while the process has one thread.
///
/// # Errors
/// Why it may not, in words for "skipped: …".
pub(crate) fn enter() -> Result<(), String> {
    if unshare(CloneFlags::CLONE_NEWNS).is_err() {
        // Before unshare: in the new namespace nobody is anybody.
        let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).map_err(refused)?;
        let say = |file: &str, text: String| {
            fs::write(format!("/proc/self/{file}"), text)
                .map_err(|error| format!("cannot write /proc/self/{file}: {error}"))
        };
        // Without this a process without rights may not map its group.
        say("setgroups", "deny".into())?;
        say("uid_map", format!("{user} {user} 1"))?;
        say("gid_map", format!("{group} {group} 1"))?;
    }
    // Mounts would spread to the machine where / is shared, as systemd makes it.
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none).map_err(refused)
}

/// Covers `folder` with an empty one in memory, in the namespace of [`enter`].
///
/// # Errors
/// Why it cannot be, in words for "skipped: …".
pub(crate) fn cover(folder: &Path) -> Result<(), String> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), folder, Some("tmpfs"), flags, Some("mode=755"))
        .map_err(|why| format!("cannot cover {} by mounting: {}", folder.display(), why.desc()))
}

fn refused(why: Errno) -> String {
    // unshare(2): the limit of user namespaces is reached, which is mostly one of zero.
    let why = if why == Errno::ENOSPC { "see user.max_user_namespaces" } else { why.desc() };
    format!("mounts of our own are not allowed here ({why}); as root they mostly are")
}
