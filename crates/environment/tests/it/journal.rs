//! Changes are complete, can be undone, and survive a kill at any point.

mod damaged;
mod killed;
mod merged;
mod ownership;

use needless_environment::{
    ChangeState, Disk, Entries, FileAttributes, FileChange, Journal, Recovered,
};
use needless_fixtures::needed;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

struct World {
    folder: tempfile::TempDir,
}

/// Files of several formats.
const FILES: [(&str, &str); 3] = [
    ("etc/crontab", "SHELL=/bin/sh\n5 0 * * * root job\n"),
    ("etc/ssh/sshd_config", "Port 22\nMatch User joe\n  X11Forwarding no\n"),
    ("srv/compose.yaml", "services:\n  web:\n    image: x\n"),
];

impl World {
    /// A root with /etc/environment, and a place for the journal.
    fn new() -> World {
        World::inside(tempfile::tempdir().unwrap())
    }

    /// In memory where possible: thousands of runs sync their files.
    fn quick() -> World {
        let memory = tempfile::tempdir_in("/dev/shm");
        World::inside(memory.unwrap_or_else(|_| tempfile::tempdir().unwrap()))
    }

    fn inside(folder: tempfile::TempDir) -> World {
        let world = World { folder };
        fs::create_dir_all(world.root().join("etc/systemd/system")).unwrap();
        fs::write(world.root().join("etc/environment"), "LANG=C\n# end").unwrap();
        fs::set_permissions(world.root().join("etc/environment"), PermissionsExt::from_mode(0o640))
            .unwrap();
        for (file, text) in FILES {
            let file = world.root().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        world
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> (Journal, Vec<Recovered>) {
        Journal::open(&self.state(), &self.root()).unwrap()
    }

    /// Every path below the root with its mode and bytes.
    fn all(&self) -> Files {
        let mut found = BTreeMap::new();
        walk(&self.root(), &mut found);
        found
    }
}

/// Each path with its mode and bytes.
type Files = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

fn walk(dir: &Path, found: &mut Files) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let about = entry.metadata().unwrap();
        let bytes = if about.is_symlink() {
            Some(fs::read_link(entry.path()).unwrap().into_os_string().into_encoded_bytes())
        } else {
            about.is_file().then(|| fs::read(entry.path()).unwrap())
        };
        found.insert(entry.path(), (about.mode(), bytes));
        if about.is_dir() {
            walk(&entry.path(), found);
        }
    }
}

fn change(path: &str, before: Option<&str>, after: &str) -> FileChange {
    FileChange {
        path: path.into(),
        before: before.map(|text| text.as_bytes().to_vec()),
        after: Some(after.as_bytes().to_vec()),
        about: FileAttributes::new(0o640),
    }
}

const DROP_IN: &str = "/etc/systemd/system/a.service.d/zz-needless.conf";

#[test]
fn applied_and_taken_back() {
    let world = World::new();
    let before = world.all();
    let (journal, said) = world.open();
    assert!(said.is_empty());
    let old = journal.disk().read_for_change("/etc/environment").unwrap().unwrap();
    let files = [
        FileChange {
            about: old.about,
            ..change("/etc/environment", Some("LANG=C\n# end"), "LANG=C\n# end\nTZ=UTC\n")
        },
        change(DROP_IN, None, "[Service]\n"),
    ];
    let id = journal.apply("TZ=UTC", &files, Vec::new()).unwrap();
    let after = world.all();
    let environment = world.root().join("etc/environment");
    assert_eq!(after[&environment].0 & 0o7777, 0o640);
    assert!(after[&environment].1.as_ref().unwrap().ends_with(b"TZ=UTC\n"));
    assert!(world.root().join(&DROP_IN[1..]).exists());
    journal.undo(id).unwrap();
    assert_eq!(world.all(), before);
    assert!(journal.undo(id).unwrap_err().to_string().contains("before"));
    assert_eq!(journal.entries().unwrap().readable[0].state, ChangeState::Undone);
}

/// Undoing restores more than the bytes: backups, make and etckeeper look at the time of modification.
#[test]
fn the_time_of_a_file_is_put_back() {
    let world = World::new();
    let path = world.root().join("etc/environment");
    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_577_836_800, 5);
    fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    let (journal, _) = world.open();
    let old = journal.disk().read_for_change("/etc/environment").unwrap().unwrap();
    let new = "LANG=C\nTZ=UTC\n";
    let file =
        FileChange { about: old.about, ..change("/etc/environment", Some("LANG=C\n# end"), new) };
    let id = journal.apply("TZ=UTC", &[file], Vec::new()).unwrap();
    let modified = || path.metadata().unwrap().modified().unwrap();
    assert!(modified() > then + std::time::Duration::from_secs(1));
    journal.undo(id).unwrap();
    assert_eq!(modified(), then);
}

/// A file that was closed to others while the question was shown, or since the change, stays closed.
#[test]
fn no_permissions_are_widened_again() {
    let world = World::new();
    let path = world.root().join("etc/environment");
    let chmod = |mode| fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    let mode = || path.metadata().unwrap().mode() & 0o7777;
    chmod(0o644);
    let (journal, _) = world.open();
    let planned = || {
        let old = journal.disk().read_for_change("/etc/environment").unwrap().unwrap();
        let file = change("/etc/environment", Some("LANG=C\n# end"), "LANG=C\nTZ=UTC\n");
        [FileChange { about: old.about, ..file }]
    };
    let files = planned();
    chmod(0o600);
    let why = journal.apply("TZ=UTC", &files, Vec::new()).unwrap_err().to_string();
    assert!(why.contains("its permissions have just changed"), "{why}");
    assert_eq!((mode(), journal.entries().unwrap()), (0o600, Entries::default()));
    chmod(0o644);
    let id = journal.apply("TZ=UTC", &planned(), Vec::new()).unwrap();
    assert_eq!(mode(), 0o644);
    chmod(0o600);
    journal.undo(id).unwrap();
    assert_eq!((mode(), fs::read(&path).unwrap()), (0o600, b"LANG=C\n# end".to_vec()));
}

/// And the time of its directory, if nothing else has changed it since.
#[test]
fn the_time_of_a_directory_is_put_back_unless_it_is_newer() {
    let world = World::new();
    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_577_836_800, 5);
    let dirs = ["etc", "etc/systemd/system"].map(|dir| world.root().join(dir));
    let set = |dir: &PathBuf| fs::File::open(dir).unwrap().set_modified(then).unwrap();
    let modified = || dirs.each_ref().map(|dir| dir.metadata().unwrap().modified().unwrap());
    let (journal, _) = world.open();
    for touched in [false, true] {
        dirs.iter().for_each(set);
        let old = journal.disk().read_for_change("/etc/environment").unwrap().unwrap();
        let new = "LANG=C\nTZ=UTC\n";
        let file = change("/etc/environment", Some("LANG=C\n# end"), new);
        let files = [FileChange { about: old.about, ..file }, change(DROP_IN, None, "[Service]\n")];
        let id = journal.apply("TZ=UTC", &files, Vec::new()).unwrap();
        assert!(modified().iter().all(|now| *now > then));
        if touched {
            fs::write(world.root().join("etc/other"), "x").unwrap();
        }
        journal.undo(id).unwrap();
        let [etc, units] = modified();
        assert_eq!((etc == then, units == then), (!touched, true));
    }
}

/// No marker of a trial stays behind, also where the run that undid the change was killed.
#[test]
fn an_undone_change_is_on_trial_no_longer() {
    let world = World::new();
    let (journal, _) = world.open();
    let made = || journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
    let marker = |id: u32| world.state().join(format!("journal/{id}/on-trial"));
    let first = made();
    journal.on_trial(first).unwrap();
    assert!(journal.entry(first).unwrap().on_trial && marker(first).exists());
    assert_eq!(journal.take_back(first).unwrap().state, ChangeState::Undone);
    assert!(!marker(first).exists());
    let second = made();
    journal.on_trial(second).unwrap();
    drop(journal);
    fs::write(world.state().join(format!("journal/{second}/taking-back")), "").unwrap();
    let (_, ended) = world.open();
    assert_eq!(ended[0].entry.state, ChangeState::Undone);
    assert!(!marker(second).exists());
}

/// Listing changes nothing: it creates no directory, finishes no change, and does not wait for another run.
#[test]
fn the_list_is_only_read() {
    let world = World::new();
    assert_eq!(Journal::list(&world.state()), Ok(Entries::default()));
    assert!(!world.state().exists());
    let (journal, _) = world.open();
    let id = journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
    fs::write(world.state().join(format!("journal/{id}/undoing")), "").unwrap();
    fs::create_dir(world.state().join("journal/.new-9")).unwrap();
    let before = (world.all(), listing(&world.state()));
    // Another needless holds the lock.
    let listed = Journal::list(&world.state()).unwrap();
    assert_eq!(
        listed.readable.iter().map(|entry| entry.state).collect::<Vec<_>>(),
        [ChangeState::Undoing]
    );
    assert_eq!((world.all(), listing(&world.state())), before);
    drop(journal);
}

fn listing(dir: &Path) -> Files {
    let mut found = BTreeMap::new();
    walk(dir, &mut found);
    found
}

/// packaging/after-removal finds the paths of files in the journal by this form of its lines.
#[test]
fn the_script_of_the_packages_finds_the_paths() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
    let script = fs::read_to_string("../../packaging/after-removal").unwrap();
    let sed = script.split("sed -n '").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let meta = world.state().join(format!("journal/{id}/meta.json"));
    let found = Command::new("sed").args(["-n", sed]).arg(meta).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), format!("  \"{DROP_IN}\"\n"));
}

#[test]
fn extended_attributes_are_kept() {
    let world = World::new();
    let file = world.root().join("etc/environment");
    let set = rustix_attribute(&file, "user.mine", b"kept");
    if needed(set).is_none() {
        return;
    }
    let (journal, _) = world.open();
    let old = journal.disk().read_for_change("/etc/environment").unwrap().unwrap();
    assert_eq!(old.about.attributes, [("user.mine".to_owned(), b"kept".to_vec())]);
    let file = FileChange {
        about: old.about.clone(),
        ..change("/etc/environment", Some("LANG=C\n# end"), "TZ=UTC\n")
    };
    let id = journal.apply("TZ=UTC", &[file], Vec::new()).unwrap();
    let new = journal.disk().read_for_change("/etc/environment").unwrap().unwrap().about;
    assert_eq!(FileAttributes { modified: old.about.modified, ..new }, old.about);
    journal.undo(id).unwrap();
    assert_eq!(journal.disk().read_for_change("/etc/environment").unwrap().unwrap(), old);
}

fn rustix_attribute(file: &Path, name: &str, value: &[u8]) -> Result<(), String> {
    rustix::fs::setxattr(file, name, value, rustix::fs::XattrFlags::empty())
        .map_err(|error| format!("no extended attributes in {}: {error}", file.display()))
}

#[test]
fn what_others_changed_since_is_left_alone() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
    fs::write(world.root().join(&DROP_IN[1..]), "[Service]\n# mine\n").unwrap();
    let why = journal.undo(id).unwrap_err().to_string();
    assert!(why.contains("it has changed since"), "{why}");
    assert_eq!(
        fs::read_to_string(world.root().join(&DROP_IN[1..])).unwrap(),
        "[Service]\n# mine\n"
    );
}

#[test]
fn a_change_whose_file_is_gone_can_be_forgotten() {
    let world = World::new();
    let (journal, _) = world.open();
    let path = "/etc/environment";
    let first = journal
        .apply("first", &[change("/srv/compose.yaml", Some(FILES[2].1), "x\n")], Vec::new())
        .unwrap();
    let id = journal.apply("x", &[change(path, Some("LANG=C\n# end"), "x\n")], Vec::new()).unwrap();
    fs::remove_file(world.root().join("etc/environment")).unwrap();
    let why = journal.undo(id).unwrap_err().to_string();
    assert!(why.contains("is not there any more") && why.contains("undo --forget 2"), "{why}");
    assert_eq!(journal.last(), Ok(id));
    assert_eq!(journal.forget(id).unwrap().state, ChangeState::Forgotten);
    assert_eq!(journal.last(), Ok(first));
    assert!(journal.undo(id).unwrap_err().to_string().contains("was forgotten"));
    assert!(journal.forget(id).is_err());
    assert!(!world.root().join("etc/environment").exists());
}

#[test]
fn changes_on_top_are_undone_first() {
    let world = World::new();
    let (journal, _) = world.open();
    let first = journal.apply("x", &[change(DROP_IN, None, "1\n")], Vec::new()).unwrap();
    let second = journal.apply("y", &[change(DROP_IN, Some("1\n"), "2\n")], Vec::new()).unwrap();
    let why = journal.undo(first).unwrap_err().to_string();
    assert!(why.contains(&format!("change {second} is newer")), "{why}");
    assert_eq!(journal.last().unwrap(), second);
    journal.undo(second).unwrap();
    journal.undo(first).unwrap();
    assert!(!world.root().join("etc/systemd/system/a.service.d").exists());
}

#[test]
fn a_plan_that_is_stale_changes_nothing() {
    let world = World::new();
    let (journal, _) = world.open();
    let before = world.all();
    let files = [change(DROP_IN, None, "x"), change("/etc/environment", Some("other"), "y")];
    assert!(
        journal.apply("x", &files, Vec::new()).unwrap_err().to_string().contains("another program")
    );
    assert_eq!(world.all(), before);
}

#[test]
fn two_at_once_are_refused() {
    let world = World::new();
    let _first = world.open();
    let why = Journal::open(&world.state(), &world.root()).unwrap_err().to_string();
    assert!(why.contains("another needless"), "{why}");
}
