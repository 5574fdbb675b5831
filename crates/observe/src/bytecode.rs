//! Whether Python may write what it compiled beside the sources: as access(2) would say for the user of the process.

use needless_model::{ProcId, Profile, Query, Target};
use rustix::fs::{Access, AtFlags, CWD, StatVfsMountFlags, accessat, statvfs};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// At most so many directories of a process are looked up.
const MOST: usize = 1024;

/// Looks up the directories in which processes that share our root found no compiled form of a module.
pub(crate) fn fill(profile: &mut Profile) {
    let mut missed: BTreeMap<ProcId, BTreeSet<&str>> = BTreeMap::new();
    for row in profile.rows.iter().filter(|row| row.query == Query::Open && row.is_missed()) {
        if !profile.process(row.process).shares_root || !matches!(row.target, Target::Path(_)) {
            continue;
        }
        let path = profile.path(row);
        if let Some((dir, file)) = path.rsplit_once("/__pycache__/")
            && file.ends_with(".pyc")
        {
            missed.entry(row.process).or_default().insert(dir);
        }
    }
    let answer = |(id, dirs): (ProcId, BTreeSet<&str>)| {
        let user = profile.process(id).user?;
        Some((id, may_write_in_all(user, &dirs)?))
    };
    let answers: Vec<(ProcId, bool)> = missed.into_iter().filter_map(answer).collect();
    for (id, may) in answers {
        profile.processes[id.index()].writes_bytecode = Some(may);
    }
}

fn may_write_in_all(user: (u32, u32), dirs: &BTreeSet<&str>) -> Option<bool> {
    let answers: Vec<Option<bool>> =
        dirs.iter().take(MOST).map(|dir| may_write(user, Path::new(dir))).collect();
    if answers.contains(&Some(false)) {
        return Some(false);
    }
    answers.iter().all(Option::is_some).then_some(true)
}

/// Whether a process of this user and group may make files in `__pycache__` of `dir`, or that directory. `None`: it
/// depends on its other groups, or cannot be looked up.
fn may_write(user: (u32, u32), dir: &Path) -> Option<bool> {
    let (place, about) = place(dir)?;
    if statvfs(&place).ok()?.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Some(false);
    }
    if user.0 == 0 {
        return Some(true);
    }
    if user.0 == rustix::process::geteuid().as_raw() {
        let how = Access::WRITE_OK | Access::EXEC_OK;
        return Some(accessat(CWD, &place, how, AtFlags::EACCESS).is_ok());
    }
    by_mode(user, &about)
}

fn place(dir: &Path) -> Option<(PathBuf, Metadata)> {
    let cache = dir.join("__pycache__");
    match fs::metadata(&cache) {
        Ok(about) => Some((cache, about)),
        Err(_) => Some((dir.to_owned(), fs::metadata(dir).ok()?)),
    }
}

fn by_mode((uid, gid): (u32, u32), about: &Metadata) -> Option<bool> {
    let allows = |shift: u32| about.mode() >> shift & 0o3 == 0o3;
    match () {
        _ if about.uid() == uid => Some(allows(6)),
        _ if about.gid() == gid => Some(allows(3)),
        _ if allows(0) => Some(true),
        // It may be in that group, or an access control list may name it.
        _ if allows(3) => None,
        _ => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn issue_39_who_may_write_beside_the_sources() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let about = fs::metadata(dir).unwrap();
        let own = (about.uid(), about.gid());
        let others = (own.0 + 4242, own.1 + 4242);
        let mode = |mode: u32| {
            fs::set_permissions(dir, fs::Permissions::from_mode(mode)).unwrap();
            may_write(others, dir)
        };
        assert_eq!((mode(0o755), mode(0o775), mode(0o777)), (Some(false), None, Some(true)));
        assert_eq!(may_write((others.0, own.1), dir), Some(true));
        mode(0o755);
        assert_eq!(may_write((others.0, own.1), dir), Some(false));
        assert_eq!((may_write(own, dir), may_write((0, 0), dir)), (Some(true), Some(true)));
        // Where it is, __pycache__ decides.
        let cache = dir.join("__pycache__");
        fs::create_dir(&cache).unwrap();
        fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(may_write(others, dir), Some(true));
        assert_eq!(may_write(own, &dir.join("none")), None);
        assert_eq!(may_write((0, 0), Path::new("/proc/self/none")), None);
        let all = |dirs: &[&str]| may_write_in_all(others, &dirs.iter().copied().collect());
        let dir = dir.to_str().unwrap();
        assert_eq!(all(&[dir]), Some(true));
        assert_eq!(all(&[dir, "/usr/bin"]), Some(false));
        assert_eq!(all(&[dir, "/nonexistent"]), None);
    }
}
