//! What the directories are that variables list and in which processes found nothing.

use needless_model::{Directory, Profile};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;

/// At most this many are looked up.
const MOST: usize = 1024;

/// Looks up the directories of lists of processes that share our root.
pub(crate) fn fill(profile: &mut Profile) {
    let ours = profile.processes.iter().filter(|process| process.shares_root);
    let lists = ours.flat_map(|process| process.lists.iter().flat_map(|lists| lists.iter()));
    let dirs: BTreeSet<&str> =
        lists.flat_map(|list| &list.entries).map(|entry| entry.dir.as_str()).collect();
    let found = dirs.into_iter().take(MOST).filter_map(|dir| Some((dir.to_owned(), look(dir)?)));
    profile.host.directories = found.collect();
}

/// `None` where it may not be read.
fn look(dir: &str) -> Option<Directory> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Some(Directory::Empty),
            Some(_) => Some(Directory::Filled),
        },
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Some(Directory::Missing)
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_missing_empty_or_filled() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("file"), "").unwrap();
        assert_eq!(look(&path("empty")), Some(Directory::Empty));
        assert_eq!(look(folder.path().to_str().unwrap()), Some(Directory::Filled));
        for name in ["none", "file", "file/none"] {
            assert_eq!(look(&path(name)), Some(Directory::Missing), "{name}");
        }
    }
}
