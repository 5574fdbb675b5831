//! Changes are whole, can be taken back, and survive being killed.

use needless_places::{About, Disk, FileChange, Journal, State};
use needless_testees::needed;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// A root with /etc/environment, and a place for the journal.
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let world = World { folder };
        fs::create_dir_all(world.root().join("etc/systemd/system")).unwrap();
        fs::write(world.root().join("etc/environment"), "LANG=C\n# end").unwrap();
        fs::set_permissions(world.root().join("etc/environment"), PermissionsExt::from_mode(0o640))
            .unwrap();
        world
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn open(&self) -> (Journal, Vec<String>) {
        Journal::open(&self.state(), &self.root()).unwrap()
    }

    /// Every path below the root with its mode and bytes.
    fn all(&self) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
        let mut found = BTreeMap::new();
        walk(&self.root(), &mut found);
        found
    }
}

fn walk(dir: &Path, found: &mut BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let about = entry.metadata().unwrap();
        let bytes = about.is_file().then(|| fs::read(entry.path()).unwrap());
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
        about: About::new(0o640),
    }
}

const DROP_IN: &str = "/etc/systemd/system/a.service.d/zz-needless.conf";

#[test]
fn applied_and_taken_back() {
    let world = World::new();
    let before = world.all();
    let (journal, said) = world.open();
    assert!(said.is_empty());
    let old = journal.disk().look("/etc/environment").unwrap().unwrap();
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
    assert!(journal.undo(id).unwrap_err().contains("before"));
    assert_eq!(journal.entries().unwrap()[0].state, State::Undone);
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
    let old = journal.disk().look("/etc/environment").unwrap().unwrap();
    assert_eq!(old.about.attributes, [("user.mine".to_owned(), b"kept".to_vec())]);
    let file = FileChange {
        about: old.about.clone(),
        ..change("/etc/environment", Some("LANG=C\n# end"), "TZ=UTC\n")
    };
    let id = journal.apply("TZ=UTC", &[file], Vec::new()).unwrap();
    assert_eq!(journal.disk().look("/etc/environment").unwrap().unwrap().about, old.about);
    journal.undo(id).unwrap();
    assert_eq!(journal.disk().look("/etc/environment").unwrap().unwrap(), old);
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
    let why = journal.undo(id).unwrap_err();
    assert!(why.contains("somebody has changed it since"), "{why}");
    assert_eq!(
        fs::read_to_string(world.root().join(&DROP_IN[1..])).unwrap(),
        "[Service]\n# mine\n"
    );
}

#[test]
fn changes_on_top_are_undone_first() {
    let world = World::new();
    let (journal, _) = world.open();
    let first = journal.apply("x", &[change(DROP_IN, None, "1\n")], Vec::new()).unwrap();
    let second = journal.apply("y", &[change(DROP_IN, Some("1\n"), "2\n")], Vec::new()).unwrap();
    let why = journal.undo(first).unwrap_err();
    assert!(why.contains(&format!("change {second} came after")), "{why}");
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
    assert!(journal.apply("x", &files, Vec::new()).unwrap_err().contains("somebody else"));
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
        ("/etc/aside/x", "aside on its way is a link"),
        ("/etc/ansible", "Ansible"),
        ("/etc/puppet", "Puppet"),
        ("/etc/open", "chmod"),
        ("/etc/twice", "hard link"),
        ("/etc/systemd", "not a regular file"),
        ("/etc/wide/new", "others may write to its directory"),
    ] {
        let why = disk.look(path).unwrap_err();
        assert!(why.contains(says), "{path}: {why}");
    }
    assert_eq!(disk.look("/etc/not-there"), Ok(None));
    assert_eq!(disk.look("/no/such/dir/x"), Ok(None));
}

#[test]
fn the_file_of_another_is_refused() {
    let world = World::new();
    let file = world.root().join("etc/environment");
    let given = std::os::unix::fs::chown(&file, Some(65534), None);
    if needed(given.map_err(|_| "only root can give a file away".to_owned())).is_none() {
        return;
    }
    let why = Disk::at(&world.root()).unwrap().look("/etc/environment").unwrap_err();
    assert!(why.contains("belongs to user 65534"), "{why}");
}

#[test]
fn two_at_once_are_refused() {
    let world = World::new();
    let _first = world.open();
    let why = Journal::open(&world.state(), &world.root()).unwrap_err();
    assert!(why.contains("another needless"), "{why}");
}

/// The example beside this test's own program.
fn example() -> PathBuf {
    let me = std::env::current_exe().unwrap();
    let target = me.ancestors().nth(2).unwrap();
    target.join("examples/change")
}

/// Every system call that `change ACTION` makes, in order: its name and which of that name it is.
fn calls(world: &World, action: &str) -> Vec<(String, usize)> {
    let log = world.folder.path().join("log");
    let done = Command::new("strace")
        .args(["-qq", "-o"])
        .arg(&log)
        .arg(example())
        .args([world.root(), world.state()])
        .arg(action)
        .output()
        .unwrap();
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

/// Kills `change ACTION` at each of its system calls in turn; the next run must leave what was
/// there before, or what was to be there. Gives how often each.
fn kill_everywhere(action: &str) -> (usize, usize) {
    let prepare = || {
        let world = World::new();
        if action == "recover" {
            // Killed with the first file changed and the second not.
            let killed = Command::new("strace")
                .args(["-qq", "-o", "/dev/null", "-e", "inject=renameat2:signal=SIGKILL:when=2"])
                .arg(example())
                .args([world.root(), world.state()])
                .arg("apply")
                .status();
            assert!(!killed.unwrap().success());
        }
        if action == "undo" {
            let done =
                Command::new(example()).args([world.root(), world.state()]).arg("apply").status();
            assert!(done.unwrap().success());
        }
        world
    };
    // Paths differ from world to world; what lies below the root does not.
    let below = |world: &World| -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
        let all = world.all().into_iter();
        all.map(|(path, what)| (path.strip_prefix(world.root()).unwrap().to_owned(), what))
            .collect()
    };
    let world = prepare();
    let before = below(&world);
    let all = calls(&world, action);
    let after = below(&world);
    assert_ne!(before, after);
    let (mut back, mut through) = (0, 0);
    // The loader's calls before main touch nothing.
    let first = all.iter().position(|(name, _)| name == "mkdir" || name == "flock").unwrap();
    for (name, nth) in &all[first..] {
        if name == "exit_group" {
            continue;
        }
        let world = prepare();
        let inject = format!("inject={name}:signal=SIGKILL:when={nth}");
        let killed = Command::new("strace")
            .args(["-qq", "-o", "/dev/null", "-e", &inject])
            .arg(example())
            .args([world.root(), world.state()])
            .arg(action)
            .output()
            .unwrap();
        assert!(!killed.status.success(), "{name} {nth}: not killed");
        let next =
            Command::new(example()).args([world.root(), world.state()]).arg("recover").output();
        let next = next.unwrap();
        assert!(next.status.success(), "{name} {nth}: {}", String::from_utf8_lossy(&next.stderr));
        let now = below(&world);
        match () {
            () if now == before => back += 1,
            () if now == after => through += 1,
            () => panic!("{action} killed at {name} {nth}: neither before nor after: {now:?}"),
        }
        let (journal, said) = world.open();
        assert!(said.is_empty(), "{name} {nth}: {said:?}");
        let states: Vec<_> = journal.entries().unwrap().iter().map(|e| e.state).collect();
        assert!(!states.contains(&State::Begun), "{name} {nth}: {states:?}");
    }
    (back, through)
}

#[test]
fn killed_at_any_call_the_next_run_ends_it() {
    let strace = Command::new("strace").arg("-V").output();
    if needed(strace.map_err(|_| "strace is not installed".to_owned())).is_none() {
        return;
    }
    for action in ["apply", "undo", "recover"] {
        let (back, through) = kill_everywhere(action);
        eprintln!(
            "{action}: killed at {} calls: {back} rolled back, {through} finished",
            back + through
        );
        // What was half done is never left so: recovering goes through, at the latest the next time.
        match action {
            "recover" => assert!(back == 0 && through > 20, "{back}, {through}"),
            _ => assert!(back > 20 && through > 2, "{action}: {back}, {through}"),
        }
    }
}
