//! Others have changed a file since: an undo takes our lines out and keeps theirs, or refuses.

use super::*;

const ENVIRONMENT: &str = "/etc/environment";

impl World {
    fn file(&self, path: &str) -> PathBuf {
        self.root().join(&path[1..])
    }

    /// Sets TZ in /etc/environment and in a drop-in.
    fn both(&self, journal: &Journal) -> u32 {
        let old = journal.disk().read_for_change(ENVIRONMENT).unwrap().unwrap();
        let files = [
            FileChange {
                about: old.about,
                ..change(ENVIRONMENT, Some("LANG=C\n# end"), "LANG=C\n# end\nTZ=UTC\n")
            },
            change(DROP_IN, None, "[Service]\nEnvironment=\"TZ=UTC\"\n"),
        ];
        journal.apply("TZ=UTC", &files, Vec::new()).unwrap()
    }
}

#[test]
fn our_lines_go_and_the_rest_of_the_present_files_stays() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = world.both(&journal);
    assert_eq!(journal.merge(id), Ok(None));
    let [environment, drop_in] = [ENVIRONMENT, DROP_IN].map(|path| world.file(path));
    fs::write(&environment, "LANG=C\n# end\nTZ=UTC\nhttp_proxy=x\n").unwrap();
    fs::write(&drop_in, "[Service]\nEnvironment=\"TZ=UTC\"\nNice=5\n").unwrap();
    fs::set_permissions(&environment, PermissionsExt::from_mode(0o600)).unwrap();
    // It is shown first: without secrets of others.
    let plan = journal.merge(id).unwrap().unwrap();
    let shown = plan.diff_to_show();
    assert!(shown.contains("-TZ=UTC") && !shown.contains("http_proxy"), "{shown}");
    assert!(journal.undo(id).unwrap_err().to_string().contains("it has changed since"));
    assert_eq!(journal.undo_merged(id, &plan.files, false).unwrap().state, ChangeState::Undone);
    let text = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(text(&environment), "LANG=C\n# end\nhttp_proxy=x\n");
    assert_eq!(text(&drop_in), "[Service]\nNice=5\n");
    let about = environment.metadata().unwrap();
    assert_eq!(about.mode() & 0o7777, 0o600);
    assert!(journal.merge(id).unwrap().is_none());
}

#[test]
fn what_is_no_text_or_was_touched_is_refused_as_before() {
    for now in ["LANG=C\n# end\nTZ=Asia/Tokyo\n", "LANG=C\n", "LANG=C\n# end\nTZ=UTC\n\0"] {
        let world = World::new();
        let (journal, _) = world.open();
        let id = world.both(&journal);
        fs::write(world.file(ENVIRONMENT), now).unwrap();
        let before = world.all();
        let why = journal.merge(id).unwrap_err().to_string();
        assert!(why.contains("it has changed since; nothing was undone"), "{why}");
        assert!(why.contains("0.before") && why.contains("--forget"), "{why}");
        assert_eq!(world.all(), before);
    }
}

/// What was shown is written, or nothing: also where the file changes while the question is asked.
#[test]
fn a_file_that_changes_again_is_not_merged_unseen() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = world.both(&journal);
    let path = world.file(ENVIRONMENT);
    fs::write(&path, "LANG=C\n# end\nTZ=UTC\nB=2\n").unwrap();
    let plan = journal.merge(id).unwrap().unwrap();
    fs::write(&path, "LANG=C\n# end\nTZ=UTC\nB=3\n").unwrap();
    let before = world.all();
    let why = journal.undo_merged(id, &plan.files, false).unwrap_err().to_string();
    assert!(why.contains("it has changed since"), "{why}");
    assert_eq!(world.all(), before);
    // As it was again: restored byte for byte, whatever was planned.
    fs::write(&path, "LANG=C\n# end\nTZ=UTC\n").unwrap();
    journal.undo_merged(id, &plan.files, false).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"LANG=C\n# end");
}

/// Of an undo that was killed before it began nothing is left that a later one would take for its own.
#[test]
fn texts_of_an_earlier_undo_are_not_used() {
    let world = World::new();
    let (journal, _) = world.open();
    let id = world.both(&journal);
    let entry = world.state().join(format!("journal/{id}"));
    for (name, text) in [("0.found", "LANG=C\n# end\nTZ=UTC\n"), ("0.merged", "bad\n")] {
        fs::write(entry.join(name), text).unwrap();
        fs::set_permissions(entry.join(name), PermissionsExt::from_mode(0o600)).unwrap();
    }
    journal.undo(id).unwrap();
    assert_eq!(fs::read(world.file(ENVIRONMENT)).unwrap(), b"LANG=C\n# end");
    assert!(!entry.join("0.found").exists() && !entry.join("0.merged").exists());
}
