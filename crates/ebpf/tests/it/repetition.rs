//! A call is repeated if its answer equals the last one, and nothing in between could have
//! changed it. Without a limit of time, so that no stall of the machine matters.

use crate::common::*;
use needless_ebpf::SessionOptions;
use needless_model::{Limits, Profile, Query};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

const LOOKS: u8 = 100;

/// What the testee `repeats` asks about, and the flag it hands over by.
struct Looks {
    folder: tempfile::TempDir,
}

impl Looks {
    fn new() -> Looks {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "x").unwrap();
        std::fs::write(folder.path().join("flag"), [0, 0]).unwrap();
        Looks { folder }
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("file")
    }

    /// Runs it with `how`; `in_between` is done whenever it waits for us.
    fn run(
        &self,
        options: &SessionOptions,
        testee: &Path,
        how: &str,
        in_between: &dyn Fn(u8),
    ) -> Profile {
        let flag = self.folder.path().join("flag");
        let mut command = command(testee, self.folder.path());
        command.args([how, &LOOKS.to_string()]).arg(self.file()).arg(&flag);
        let (mut session, child) = start(options, &mut command);
        let flag = File::options().read(true).write(true).open(flag).unwrap();
        if how == "handshake" {
            for turn in 1..=LOOKS {
                let mut at = [0];
                while at[0] != turn {
                    flag.read_exact_at(&mut at, 0).unwrap();
                    session.drain(Duration::ZERO);
                    assert!(session.live() > 0, "it ended before its {turn}th look");
                }
                in_between(turn);
                flag.write_all_at(&[turn], 1).unwrap();
            }
        }
        let profile = finish(session, child).profile;
        assert!(profile.lost.is_empty(), "{:?}", profile.lost);
        profile
    }

    /// How many looks there were, and how many of them repeated.
    fn sum(&self, profile: &Profile) -> (u64, u64) {
        sum(profile, Query::Stat, self.file().to_str().unwrap())
    }

    fn repeated(&self, testee: &Path, how: &str, in_between: &dyn Fn(u8)) -> u64 {
        let (count, again) = self.sum(&self.run(&options(), testee, how, in_between));
        assert_eq!(count, LOOKS.into(), "{how}");
        again
    }
}

#[test]
fn the_same_answer_again_is_repeated_until_something_may_have_changed_it() {
    let Some(testee) = testee("repeats").filter(|_| possible()) else { return };
    let all_but_the_first = u64::from(LOOKS) - 1;
    for (how, expected) in [
        ("nothing", all_but_the_first),
        ("getppid", all_but_the_first),
        ("poll-at-once", all_but_the_first),
        ("append", 0),
        ("create", 0),
        ("chdir", 0),
        ("nanosleep", 0),
        ("poll", 0),
        ("fork", 0),
    ] {
        assert_eq!(Looks::new().repeated(&testee, how, &|_| {}), expected, "{how}");
    }
}

#[test]
fn looks_of_a_32_bit_program_are_distinguished_by_their_answers_too() {
    let Some(testee) = testee("repeats-i386").filter(|_| possible()) else { return };
    let all_but_the_first = u64::from(LOOKS) - 1;
    for (how, expected) in [("nothing", all_but_the_first), ("append", 0), ("nanosleep", 0)] {
        assert_eq!(Looks::new().repeated(&testee, how, &|_| {}), expected, "{how}");
    }
}

#[test]
fn an_answer_that_somebody_else_changes_is_not_repeated() {
    let looks = Looks::new();
    let Some(testee) = testee("repeats").filter(|_| possible()) else { return };
    let file = looks.file();
    assert_eq!(looks.repeated(&testee, "handshake", &|_| {}), u64::from(LOOKS) - 1);
    let touch = |turn: u8| {
        let time = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, turn.into());
        File::options().write(true).open(&file).unwrap().set_modified(time).unwrap();
    };
    assert_eq!(looks.repeated(&testee, "handshake", &touch), 0, "a nanosecond is a change");
    // At this point not every answer is compared any more.
    let touch_once = |turn| {
        if turn == 61 {
            touch(turn)
        }
    };
    let again = looks.repeated(&testee, "handshake", &touch_once);
    let looks_uncompared = 7;
    let others = 2 + looks_uncompared;
    assert!((u64::from(LOOKS) - others..u64::from(LOOKS) - 1).contains(&again), "{again}");
    let replace = |_| {
        let other = file.with_file_name("other");
        std::fs::write(&other, "y").unwrap();
        std::fs::rename(&other, &file).unwrap();
    };
    assert_eq!(looks.repeated(&testee, "handshake", &replace), 0);
}

#[test]
fn what_comes_later_than_the_bound_is_not_repeated() {
    let looks = Looks::new();
    let Some(testee) = testee("repeats").filter(|_| possible()) else { return };
    let limits = Limits { repeat_within_ns: 0, ..Limits::default() };
    let at_once = SessionOptions { limits, ..options() };
    let profile = looks.run(&at_once, &testee, "nothing", &|_| {});
    assert_eq!(looks.sum(&profile), (LOOKS.into(), 0));
    let row = profile.rows.iter().find(|row| row.count == u64::from(LOOKS)).unwrap();
    assert!(row.first_ns < row.last_ns && row.last_ns <= profile.window.length_ns.unwrap());
}

#[test]
fn threads_that_ask_at_once_lose_no_more_than_one_look_each_processor() {
    let Some(testee) = testee("stat_threads").filter(|_| possible()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let profile = profile(&options(), command(testee, folder.path()).args(["4", "50000"]));
    let processors = std::thread::available_parallelism().unwrap().get() as u64;
    for path in ["/etc", "/missing/stat_threads"] {
        let (count, again) = sum(&profile, Query::Stat, path);
        assert_eq!(count, 200_000);
        // Each CPU counts the calls made on it.
        assert!((count - processors..count).contains(&again), "{path}: {again}");
    }
}
