//! Changes are complete, can be undone, and survive a kill at any point.

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

/// An entry decides which files are written with which bytes, so entries of other users are refused.
#[test]
fn a_journal_that_others_may_write_is_not_believed() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
    drop(journal);
    let before = world.all();
    let entry = world.state().join(format!("journal/{id}"));
    // A forged entry: undoing it would write the bytes from "before".
    let forged = fs::read_to_string(entry.join("meta.json")).unwrap();
    let forged = forged.replace("\"existed\": false", "\"existed\": true");
    fs::write(entry.join("meta.json"), forged).unwrap();
    fs::write(entry.join("0.before"), "* * * * * root evil\n").unwrap();
    fs::write(entry.join("undoing"), "").unwrap();
    let refused = |says: &str, what: &str| {
        // All of it, or the one entry, which is passed over then.
        let opened = Journal::open(&world.state(), &world.root()).map(|(journal, recovered)| {
            assert_eq!(recovered, [], "{what}");
            let all = journal.entries().unwrap();
            assert_eq!(all.unreadable, journal.unreadable);
            all
        });
        for all in [opened, Journal::list(&world.state())] {
            let why = match all {
                Err(why) => why,
                Ok(Entries { readable, unreadable }) => {
                    assert!(readable.is_empty() && unreadable.len() == 1, "{what}");
                    unreadable[0].1.clone()
                }
            };
            let why = why.to_string();
            assert!(why.contains(says) && !why.contains('\n'), "{what}: {why}");
        }
        assert_eq!(world.all(), before, "{what}");
    };
    let meta = entry.join("meta.json");
    let journal = world.state().join("journal");
    let parts = [world.folder.path().to_owned(), world.state(), journal, entry, meta];
    for part in &parts {
        let mode = part.metadata().unwrap().mode();
        fs::set_permissions(part, PermissionsExt::from_mode(mode | 0o002)).unwrap();
        refused("others may write to", &part.display().to_string());
        fs::set_permissions(part, PermissionsExt::from_mode(mode)).unwrap();
    }
    let given = std::os::unix::fs::chown(&parts[0], Some(65534), None);
    if needed(given.map_err(|_| "only root can give a file away".to_owned())).is_some() {
        for part in &parts {
            std::os::unix::fs::chown(part, Some(65534), None).unwrap();
            refused("belongs to user 65534", &part.display().to_string());
            std::os::unix::fs::chown(part, Some(0), None).unwrap();
        }
    }
    let aside = world.folder.path().join("aside");
    fs::rename(world.state(), &aside).unwrap();
    symlink(&aside, world.state()).unwrap();
    refused("is a link", "a link");
    // An untouched copy is the process that it names, and is ended.
    fs::remove_file(world.state()).unwrap();
    fs::rename(&aside, world.state()).unwrap();
    let (_, ended) = world.open();
    assert_eq!(ended[0].entry.state, ChangeState::Undone);
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
fn nothing_is_made_behind_a_link() {
    let world = World::new();
    let behind = world.folder.path().join("behind");
    fs::create_dir(&behind).unwrap();
    symlink(&behind, world.state()).unwrap();
    let why = Journal::open(&world.state(), &world.root()).unwrap_err().to_string();
    assert!(why.contains("is a link"), "{why}");
    assert_eq!(fs::read_dir(&behind).unwrap().count(), 0);
}

/// An entry appears complete, so files that are not entries do not block the entries.
#[test]
fn what_is_no_entry_is_passed_over() {
    let world = World::new();
    let (journal, _) = world.open();
    let made = |n: u32| {
        let path = format!("/etc/{n}");
        journal.apply("x", &[change(&path, None, "x\n")], Vec::new())
    };
    assert_eq!(made(1), Ok(1));
    let dir = world.state().join("journal");
    for stray in ["2", "00007", "4294967295", "4294967296", "+5"] {
        fs::create_dir(dir.join(stray)).unwrap();
        fs::write(dir.join(stray).join("0.before"), "").unwrap();
    }
    fs::write(dir.join("3"), "").unwrap();
    assert_eq!(made(2), Ok(4));
    let ids = |entries: Vec<needless_environment::JournalEntry>| {
        entries.iter().map(|e| e.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(journal.entries().unwrap().readable), [1, 4]);
    assert_eq!(ids(Journal::list(&world.state()).unwrap().readable), [1, 4]);
    assert_eq!(journal.undo(2).unwrap_err().to_string(), "there is no change 2");
    journal.undo(4).unwrap();
}

/// Opening a pipe blocks until another process opens its other end.
#[test]
fn a_lock_that_is_no_file_is_refused() {
    let world = World::new();
    drop(world.open());
    let lock = world.state().join("lock");
    fs::remove_file(&lock).unwrap();
    assert!(Command::new("mkfifo").arg(&lock).status().unwrap().success());
    let why = Journal::open(&world.state(), &world.root()).err().unwrap();
    assert_eq!(why, format!("{}: not a regular file: remove it", lock.display()).into());
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
fn what_may_not_be_changed_is_refused_with_what_to_do() {
    let world = World::new();
    let etc = world.root().join("etc");
    let put = |name: &str, text: &str, mode: u32| {
        fs::write(etc.join(name), text).unwrap();
        fs::set_permissions(etc.join(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    symlink("/nix/store/abc/environment", etc.join("nix")).unwrap();
    symlink("environment", etc.join("link")).unwrap();
    symlink("systemd", etc.join("aside")).unwrap();
    put("ansible", "# Ansible managed: template\nA=1\n", 0o644);
    put("puppet", "# This file is managed by Puppet\n", 0o644);
    put("open", "A=1\n", 0o666);
    put("twice", "A=1\n", 0o644);
    fs::hard_link(etc.join("twice"), etc.join("twin")).unwrap();
    fs::create_dir(etc.join("wide")).unwrap();
    fs::set_permissions(etc.join("wide"), PermissionsExt::from_mode(0o777)).unwrap();
    let disk = Disk::at(&world.root()).unwrap();
    for (path, says) in [
        ("/etc/nix", "NixOS"),
        ("/etc/link", "link to environment"),
        ("/etc/aside/x", "aside in the path is a link"),
        ("/etc/ansible", "Ansible"),
        ("/etc/puppet", "Puppet"),
        ("/etc/open", "chmod"),
        ("/etc/twice", "hard link"),
        ("/etc/systemd", "not a regular file"),
        ("/etc/wide/new", "others may write to its directory"),
    ] {
        let why = disk.read_for_change(path).unwrap_err().to_string();
        assert!(why.contains(says), "{path}: {why}");
    }
    assert_eq!(disk.read_for_change("/etc/not-there"), Ok(None));
    assert_eq!(disk.read_for_change("/no/such/dir/x"), Ok(None));
}

/// Debian 13 gives each user a group of the same number, and makes files that this group may write.
#[test]
fn the_group_of_the_owner_alone_may_write() {
    let world = World::new();
    let dir = world.root().join("etc/shared");
    let file = dir.join("environment");
    fs::create_dir(&dir).unwrap();
    fs::write(&file, "A=1\n").unwrap();
    let owner = fs::metadata(&file).unwrap().uid();
    let group = |path: &Path, number: u32, mode: u32| {
        let given = std::os::unix::fs::chown(path, None, Some(number));
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        given.map_err(|_| "only root can give a file to a group of others".to_owned())
    };
    let read = || {
        let disk = Disk::at(&world.root()).unwrap();
        disk.read_for_change("/etc/shared/environment").map_err(|error| error.to_string())
    };
    if needed(group(&file, owner, 0o664).and(group(&dir, owner, 0o775))).is_none() {
        return;
    }
    assert_eq!(read().unwrap().unwrap().bytes, b"A=1\n");
    if needed(group(&file, 65534, 0o664)).is_none() {
        return;
    }
    let why = read().unwrap_err();
    assert!(why.contains("others may write it"), "{why}");
    group(&file, 65534, 0o644).unwrap();
    group(&dir, 65534, 0o775).unwrap();
    let why = read().unwrap_err();
    assert!(why.contains("others may write to its directory"), "{why}");
}

#[test]
fn the_file_of_another_is_refused() {
    let world = World::new();
    let file = world.root().join("etc/environment");
    let given = std::os::unix::fs::chown(&file, Some(65534), None);
    if needed(given.map_err(|_| "only root can give a file away".to_owned())).is_none() {
        return;
    }
    let why = Disk::at(&world.root())
        .unwrap()
        .read_for_change("/etc/environment")
        .unwrap_err()
        .to_string();
    assert!(why.contains("belongs to user 65534"), "{why}");
}

/// If directories must be made first, the last existing one must be ours.
#[test]
fn nothing_is_made_in_the_directory_of_another() {
    let world = World::new();
    let home = world.root().join("home");
    fs::create_dir(&home).unwrap();
    let given = std::os::unix::fs::chown(&home, Some(65534), None);
    if needed(given.map_err(|_| "only root can give a directory away".to_owned())).is_none() {
        return;
    }
    let path = "/home/.config/systemd/user/a.service.d/zz-needless.conf";
    let why = Disk::at(&world.root()).unwrap().read_for_change(path).unwrap_err().to_string();
    assert!(why.contains("belongs to user 65534"), "{why}");
    let (journal, _) = world.open();
    let before = world.all();
    journal.apply("x", &[change(path, None, "x")], Vec::new()).unwrap_err().to_string();
    assert_eq!(world.all(), before);
}

/// Who got hold of the file or its directory since could have root write over another file.
#[test]
fn what_belongs_to_another_by_now_is_not_undone() {
    const PLACE: &str = "/srv/app/env";
    type Steal = fn(&Path) -> std::io::Result<()>;
    let ways: [(&str, Steal); 8] = [
        ("its directory /srv/app belongs to user 65534", |file| {
            std::os::unix::fs::chown(file.parent().unwrap(), Some(65534), None)
        }),
        ("it belongs to user 65534", |file| std::os::unix::fs::chown(file, Some(65534), None)),
        ("others may write to its directory /srv/app:", |file| {
            fs::set_permissions(file.parent().unwrap(), PermissionsExt::from_mode(0o777))
        }),
        ("its directory /srv belongs to user 65534", |file| {
            let above = file.ancestors().nth(2).unwrap();
            std::os::unix::fs::chown(above, Some(65534), None)
        }),
        ("others may write to its directory /srv:", |file| {
            let above = file.ancestors().nth(2).unwrap();
            fs::set_permissions(above, PermissionsExt::from_mode(0o777))
        }),
        ("it is a link now", |file| {
            fs::rename(file, file.with_extension("2"))?;
            symlink(file.with_extension("2"), file)
        }),
        ("others may write it", |file| fs::set_permissions(file, PermissionsExt::from_mode(0o666))),
        ("a second name", |file| fs::hard_link(file, file.with_extension("2"))),
    ];
    for existed in [true, false] {
        for (reason, steal) in ways {
            let world = World::new();
            let file = world.root().join(&PLACE[1..]);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            let before = existed.then_some("A=1\n");
            before.into_iter().for_each(|text| fs::write(&file, text).unwrap());
            let (journal, _) = world.open();
            let about = journal.disk().read_for_change(PLACE).unwrap().map(|old| old.about);
            let about = about.unwrap_or_else(|| FileAttributes::new(0o644));
            let change = FileChange { about, ..change(PLACE, before, "A=2\n") };
            let id = journal.apply("A=2", &[change], Vec::new()).unwrap();
            if needed(steal(&file).map_err(|_| "chown needs root".to_owned())).is_none() {
                continue;
            }
            let all = world.all();
            let why = journal.undo(id).unwrap_err().to_string();
            assert!(why.contains(reason) && why.contains("nothing was undone"), "{why}");
            assert!(!why.contains('\n') && world.all() == all, "{why}");
            assert_eq!(journal.entries().unwrap().readable[0].state, ChangeState::Applied);
            // Nor by a run that was killed and is finished by the next.
            fs::write(world.state().join("journal/1/undoing"), "").unwrap();
            drop(journal);
            // A process that another test is starting may still hold the lock for a moment.
            let (_, ended) = (0..1000)
                .find_map(|_| {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    Journal::open(&world.state(), &world.root()).ok()
                })
                .unwrap();
            let why = ended[0].how.as_ref().unwrap_err().to_string();
            assert!(why.contains(reason) && world.all() == all, "{why}");
        }
    }
}

/// The others are listed and can be undone; the message says which one it is.
#[test]
fn an_entry_that_cannot_be_read_does_not_block_the_others() {
    let world = World::new();
    let (journal, _) = world.open();
    for n in 1..=4 {
        let path = format!("/etc/{n}");
        journal.apply("x", &[change(&path, None, "x\n")], Vec::new()).unwrap();
    }
    drop(journal);
    let entry = |n: u32| world.state().join(format!("journal/{n}"));
    fs::write(entry(1).join("meta.json"), "{").unwrap();
    // A long text in the list, and a path that the kernel would not take.
    let meta = fs::read_to_string(entry(2).join("meta.json")).unwrap();
    let long = meta.replace("\"what\": \"x\"", &format!("\"what\": \"{}\"", "w".repeat(9000)));
    fs::write(entry(2).join("meta.json"), long).unwrap();
    let long = meta.replace("/etc/2", &format!("/etc/{}", "p".repeat(5000)));
    fs::write(entry(4).join("meta.json"), long).unwrap();
    for Entries { readable, unreadable } in
        [Journal::list(&world.state()).unwrap(), world.open().0.entries().unwrap()]
    {
        assert_eq!(readable.iter().map(|e| e.id).collect::<Vec<_>>(), [2, 3]);
        assert!(readable[0].what.len() < 1000);
        let said: Vec<_> = unreadable.iter().map(|(id, why)| (*id, why.to_string())).collect();
        assert_eq!(said.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [1, 4]);
        let names = |n: u32, why: &str| why.contains(entry(n).join("meta.json").to_str().unwrap());
        assert!(said.iter().all(|(id, why)| names(*id, why) && why.len() < 1000), "{said:?}");
    }
    let (journal, _) = world.open();
    assert_eq!(journal.unreadable.len(), 2);
    assert_eq!(journal.last(), Ok(3));
    journal.undo(3).unwrap();
    assert!(journal.undo(4).unwrap_err().to_string().contains("too long"));
}

/// A file with holes: of any size, and on the disk it takes no room.
#[test]
fn a_huge_file_in_the_journal_is_not_read() {
    for name in ["meta.json", "0.after"] {
        let world = World::new();
        let (journal, _) = world.open();
        journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
        let file = world.state().join("journal/1").join(name);
        fs::File::options().write(true).open(&file).unwrap().set_len(8 << 30).unwrap();
        let why = journal.undo(1).unwrap_err().to_string();
        assert!(why.contains("too large") && why.contains(file.to_str().unwrap()), "{why}");
    }
}

/// Opening a pipe waits for somebody who writes to it.
#[test]
fn what_is_no_file_in_the_journal_does_not_hang() {
    for name in ["meta.json", "0.before", "0.after"] {
        for kind in ["pipe", "device", "directory", "socket"] {
            let world = World::new();
            let (journal, _) = world.open();
            let file = change("/etc/environment", Some("LANG=C\n# end"), "TZ=UTC\n");
            journal.apply("TZ=UTC", &[file], Vec::new()).unwrap();
            let odd = world.state().join("journal/1").join(name);
            fs::remove_file(&odd).unwrap();
            let path = odd.to_str().unwrap();
            match kind {
                "directory" => fs::create_dir(&odd).unwrap(),
                "socket" => drop(std::os::unix::net::UnixListener::bind(&odd).unwrap()),
                "pipe" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
                _ => {
                    let made = Command::new("mknod").args([path, "c", "1", "5"]).status().unwrap();
                    let made = made.success().then_some(()).ok_or("mknod needs root".to_owned());
                    if needed(made).is_none() {
                        continue;
                    }
                }
            }
            fs::set_permissions(&odd, PermissionsExt::from_mode(0o700)).unwrap();
            let why = match name {
                "meta.json" => Journal::list(&world.state()).unwrap().unreadable[0].1.clone(),
                // The check of the file comes before that of what is to be put there.
                _ => match journal.undo(1) {
                    Err(why) => why,
                    Ok(entry) => panic!("{name}, a {kind}: {entry:?}"),
                },
            };
            let says = format!("{path}: not a regular file");
            assert!(why.to_string().contains(&says), "{name}, a {kind}: {why}");
        }
    }
}

/// A change that cannot be finished now is reported, and does not block changes of other files.
#[test]
fn a_change_that_cannot_be_ended_does_not_stand_in_the_way() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = journal.apply("x", &[change(DROP_IN, None, "[Service]\n")], Vec::new()).unwrap();
    drop(journal);
    fs::write(world.state().join(format!("journal/{id}/undoing")), "").unwrap();
    // Another user has put a link into the path since: it is not followed.
    let (dir, aside) = (world.root().join("etc/systemd"), world.root().join("etc/aside"));
    fs::rename(&dir, &aside).unwrap();
    symlink("aside", &dir).unwrap();
    let (journal, said) = world.open();
    let why = said[0].to_string();
    assert!(why.contains("cannot be finished yet") && why.contains("link"), "{why}");
    assert_eq!(journal.entries().unwrap().readable[0].state, ChangeState::Undoing);
    // It is still in effect: the report must say so, and a second attempt must work.
    assert_eq!(journal.last(), Ok(id));
    let why = journal.undo(id).unwrap_err().to_string();
    assert!(why.contains("is not undone yet") && why.contains("link"), "{why}");
    journal.apply("y", &[change("/etc/other", None, "1\n")], Vec::new()).unwrap();
    drop(journal);
    fs::remove_file(&dir).unwrap();
    fs::rename(&aside, &dir).unwrap();
    let (journal, said) = world.open();
    assert!(said[0].to_string().contains("was being undone: done"), "{said:?}");
    assert_eq!((said[0].entry.id, said[0].entry.state), (id, ChangeState::Undone));
    assert_eq!(journal.entries().unwrap().readable[0].state, ChangeState::Undone);
    assert!(!world.root().join(&DROP_IN[1..]).exists());
}

#[test]
fn two_at_once_are_refused() {
    let world = World::new();
    let _first = world.open();
    let why = Journal::open(&world.state(), &world.root()).unwrap_err().to_string();
    assert!(why.contains("another needless"), "{why}");
}

/// The example beside this test's own program.
fn example() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let target = me.ancestors().nth(2).unwrap();
    target.join("examples/change")
}

type Files = BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>;

/// What is killed: the actions before, the action that is killed, and the actions whose results are valid
/// states in between.
struct Scene {
    name: &'static str,
    before: &'static [&'static str],
    action: &'static str,
    between: &'static [&'static str],
}

const SCENES: [Scene; 5] = [
    Scene { name: "apply", before: &[], action: "apply", between: &[] },
    Scene { name: "undo", before: &["apply"], action: "undo", between: &[] },
    Scene { name: "recover", before: &["killed"], action: "recover", between: &[] },
    Scene { name: "formats and a link", before: &[], action: "formats", between: &[] },
    Scene {
        name: "undo of two",
        before: &["apply", "formats"],
        action: "undo-two",
        between: &["apply", "formats", "undo"],
    },
];

impl World {
    fn change(&self, action: &str) -> Command {
        let mut change = Command::new(example());
        change.args([self.root(), self.state()]).arg(action);
        change
    }

    /// The same under strace with its options.
    fn traced(&self, options: &[&str], log: &Path, action: &str) -> std::process::Output {
        let mut strace = Command::new("strace");
        strace.args(["-qq", "-o"]).arg(log).args(options).arg(example());
        strace.args([self.root(), self.state()]).arg(action).output().unwrap()
    }

    fn after(actions: &[&str]) -> World {
        let world = World::quick();
        for action in actions {
            if *action == "killed" {
                // With the first file changed and the second not.
                let inject = ["-e", "inject=renameat2:signal=SIGKILL:when=2"];
                let killed = world.traced(&inject, Path::new("/dev/null"), "apply");
                assert!(!killed.status.success());
                continue;
            }
            let done = world.change(action).output().unwrap();
            assert!(done.status.success(), "{action}: {}", String::from_utf8_lossy(&done.stderr));
        }
        world
    }

    /// Every system call that an action makes, in order: its name, and its number among the calls of that name.
    fn calls(&self, action: &str) -> Vec<(String, usize)> {
        let log = self.folder.path().join("log");
        let done = self.traced(&[], &log, action);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let text = fs::read_to_string(&log).unwrap();
        text.lines()
            .filter_map(|line| {
                let name = line.split_once('(')?.0.to_owned();
                let count = seen.entry(name.clone()).or_default();
                *count += 1;
                Some((name, *count))
            })
            .collect()
    }

    /// Paths differ between worlds; what is below the root does not.
    fn below(&self) -> Files {
        let all = self.all().into_iter();
        all.map(|(path, what)| (path.strip_prefix(self.root()).unwrap().to_owned(), what)).collect()
    }
}

/// Kills a scene's action at every `step`th of its system calls in turn; the next run must leave the files as before,
/// or as planned, or in a complete state in between. Returns how often each happened.
fn kill_at_each(step: usize, scene: &Scene) -> (usize, usize, usize) {
    let world = World::after(scene.before);
    let before = world.below();
    let all = world.calls(scene.action);
    let after = world.below();
    assert_ne!(before, after);
    let whole = World::after(scene.between).below();
    let (mut back, mut between, mut through) = (0, 0, 0);
    // The loader's calls before main touch nothing.
    let first = all.iter().position(|(name, _)| name == "mkdir" || name == "flock").unwrap();
    for (name, nth) in all[first..].iter().step_by(step) {
        if name == "exit_group" {
            continue;
        }
        let world = World::after(scene.before);
        let inject = format!("inject={name}:signal=SIGKILL:when={nth}");
        let killed = world.traced(&["-e", &inject], Path::new("/dev/null"), scene.action);
        assert!(!killed.status.success(), "{name} {nth}: not killed");
        let next = world.change("recover").output().unwrap();
        assert!(next.status.success(), "{name} {nth}: {}", String::from_utf8_lossy(&next.stderr));
        let now = world.below();
        if now == before {
            back += 1
        } else if now == after {
            through += 1
        } else if !scene.between.is_empty() && now == whole {
            between += 1
        } else {
            panic!("{}, killed at {name} {nth}: half of it: {now:?}", scene.name)
        }
        let (journal, said) = world.open();
        assert!(said.is_empty(), "{name} {nth}: {said:?}");
        let states: Vec<_> = journal.entries().unwrap().readable.iter().map(|e| e.state).collect();
        let open = [ChangeState::Begun, ChangeState::Undoing];
        assert!(!states.iter().any(|state| open.contains(state)), "{name} {nth}: {states:?}");
    }
    (back, between, through)
}

/// Returns how often it killed.
fn kill_all_scenes(step: usize) -> usize {
    let strace = Command::new("strace").arg("-V").output();
    if needed(strace.map_err(|_| "strace is not installed".to_owned())).is_none() {
        return usize::MAX;
    }
    // What is seen at least: of every call, 20.
    let some = 20 / step;
    std::thread::scope(|scope| {
        let scenes =
            SCENES.each_ref().map(|scene| (scene, scope.spawn(move || kill_at_each(step, scene))));
        let counts = scenes.map(|(scene, counts)| {
            let (back, between, through) = counts.join().unwrap();
            let all = back + between + through;
            eprintln!(
                "{}: killed at {all} calls: {back} rolled back, {between} in between, {through} finished",
                scene.name
            );
            // No change stays half done: recovery succeeds, at the latest at the second attempt.
            match scene.name {
                "recover" => assert!(back == 0 && through > some, "{back}, {through}"),
                name => assert!(back > some && through > some / 8, "{name}: {back}, {through}"),
            }
            assert_eq!(between > some, !scene.between.is_empty(), "{}: {between}", scene.name);
            all
        });
        counts.iter().sum()
    })
}

#[test]
#[ignore = "long: kills a thousand times"]
fn next_run_ends_what_was_killed_at_any_call() {
    let killed = kill_all_scenes(1);
    assert!(killed >= 1000, "killed {killed} times only");
}

#[test]
fn next_run_ends_what_was_killed_at_every_tenth_call() {
    let killed = kill_all_scenes(10);
    assert!(killed >= 100, "killed {killed} times only");
}
