//! Whether somebody else can have written a file: for what decides what root does (a report, needless.toml,
//! the journal of changes).

use rustix::fs::getxattr;
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How somebody else than `owners` can have written `file`, which was opened as `path`: "others may write to
/// it". Looks at the file, and at the directories on the way to it, as named and as they really are.
///
/// # Errors
/// Where the file cannot be looked at.
pub fn others_write(path: &Path, file: &File, owners: &[u32]) -> io::Result<Option<String>> {
    // What was opened, not what has that name by now.
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    let opened = Path::new(&opened);
    Ok(match others_of("it", opened, owners)? {
        None => open_way(path, &std::fs::read_link(opened)?, owners),
        found => found,
    })
}

/// The same of the directories above `path`, which really is `real`: each is of `owners`, and others may not
/// write to it; or it is sticky, and what is taken from it is of `owners`.
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

/// Whether somebody else than `owners` can write to what is at `path` and called `name`.
fn others_of(name: &str, path: &Path, owners: &[u32]) -> io::Result<Option<String>> {
    let about = path.metadata()?;
    // A group of the owner alone, as many systems give each user. With an access control list the bits of the
    // group are the most that anybody in the list has.
    let group = if about.gid() == about.uid() && !has_list(path) { 0 } else { 0o020 };
    Ok(match () {
        () if !owners.contains(&about.uid()) => {
            Some(format!("{name} belongs to user {}", about.uid()))
        }
        () if about.mode() & (0o002 | group) != 0 => Some(format!("others may write to {name}")),
        () => None,
    })
}

/// Whether there is a POSIX access control list; where that cannot be said, as if there were.
fn has_list(path: &Path) -> bool {
    let size = getxattr(path, "system.posix_acl_access", &mut [0_u8; 0][..]);
    !matches!(size, Err(Errno::NODATA | Errno::OPNOTSUPP))
}
