//! Whether another user can have written a file that decides what root does: a report, needless.toml, the journal of
//! changes.

use rustix::fs::{Mode, OFlags, Stat, getxattr, open};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Opens a file for reading if it is a regular one. Opening a pipe or a device would wait, or do something.
///
/// # Errors
/// When it cannot be opened, or is anything else.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        // A socket, or a device without a driver.
        Err(Errno::NXIO) => None,
        other => Some(File::from(other?)),
    };
    let regular = |file: &File| file.metadata().is_ok_and(|about| about.is_file());
    file.filter(regular).ok_or_else(|| io::Error::other("not a regular file"))
}

/// How a user other than `owners` can have written `file`, which was opened as `path`: "others may write to it".
/// Checks the file, and the directories of its path, both as named and resolved.
///
/// # Errors
/// When the file's attributes cannot be read.
pub fn others_write(path: &Path, file: &File, owners: &[u32]) -> io::Result<Option<String>> {
    // The file that was opened, not what has that name now.
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = Path::new(&opened);
    Ok(match others_of("it", opened, owners)? {
        None => open_way(path, &std::fs::read_link(opened)?, owners),
        found => found,
    })
}

/// The same for the directories above `path`, which resolves to `real`: each must belong to `owners` and be closed to
/// others; or be sticky, with an entry that belongs to `owners`.
pub(crate) fn open_way(path: &Path, real: &Path, owners: &[u32]) -> Option<String> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    [path.as_path(), real].into_iter().find_map(|path| {
        path.ancestors().zip(path.ancestors().skip(1)).find_map(|(inside, dir)| {
            let about = dir.metadata().ok()?;
            let why = others_of(&dir.display().to_string(), dir, owners).ok()??;
            if !owners.contains(&about.uid()) || about.mode() & 0o1000 == 0 {
                return Some(why);
            }
            let uid = inside.symlink_metadata().ok()?.uid();
            (!owners.contains(&uid)).then(|| format!("{} belongs to user {uid}", inside.display()))
        })
    })
}

/// Whether a user other than `owners` can write to the file at `path`, called `name`.
fn others_of(name: &str, path: &Path, owners: &[u32]) -> io::Result<Option<String>> {
    let about = path.metadata()?;
    Ok(if !owners.contains(&about.uid()) {
        Some(format!("{name} belongs to user {}", about.uid()))
    } else if open_to_others(path, about.uid(), about.gid(), about.mode()) {
        Some(format!("others may write to {name}"))
    } else {
        None
    })
}

/// Whether the mode of the file at `path` lets another user than its owner write to it. A group with the owner's number is
/// the owner's alone, as on many systems. With an access control list, the bits of the group are the maximum of all entries.
pub(crate) fn open_to_others(path: &Path, owner: u32, group: u32, mode: u32) -> bool {
    let of_group = if group == owner && !has_list(path) { 0 } else { 0o020 };
    mode & (0o002 | of_group) != 0
}

/// The same of a file that is open, of which `about` is known.
pub(crate) fn is_open_to_others(file: impl AsFd, about: &Stat) -> bool {
    let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
    open_to_others(Path::new(&path), about.st_uid, about.st_gid, about.st_mode)
}

/// Whether there is a POSIX access control list; assumed if that cannot be read.
fn has_list(path: &Path) -> bool {
    let size = getxattr(path, "system.posix_acl_access", &mut [0_u8; 0][..]);
    !matches!(size, Err(Errno::NODATA | Errno::OPNOTSUPP))
}
