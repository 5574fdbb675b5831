//! Files, directories and journals of which another user could have made something else: they are refused.

use super::*;

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
