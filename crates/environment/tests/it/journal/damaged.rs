//! Entries that cannot be read, or cannot be ended: they do not stand in the way of the others.

use super::*;

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
