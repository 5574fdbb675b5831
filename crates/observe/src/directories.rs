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
    let found: Vec<(String, Directory)> = found.collect();
    profile.host.directories.extend(found);
}

/// `None` where it may not be read.
fn look(dir: &str) -> Option<Directory> {
    match fs::read_dir(dir) {
        Ok(mut entries) => match entries.next() {
            None => Some(Directory::Empty),
            Some(_) => Some(Directory::Filled),
        },
        // So is one below a file.
        Err(_) if fs::metadata(dir).is_err_and(|e| is_missing(e.kind())) => {
            Some(Directory::Missing)
        }
        Err(e) if e.kind() == ErrorKind::NotADirectory => Some(Directory::File),
        Err(_) => None,
    }
}

fn is_missing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_missing_a_file_empty_or_filled() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        fs::create_dir(path("empty")).unwrap();
        fs::write(path("file"), "").unwrap();
        assert_eq!(look(&path("empty")), Some(Directory::Empty));
        assert_eq!(look(folder.path().to_str().unwrap()), Some(Directory::Filled));
        assert_eq!(look(&path("file")), Some(Directory::File));
        for name in ["none", "file/none"] {
            assert_eq!(look(&path(name)), Some(Directory::Missing), "{name}");
        }
    }
}
