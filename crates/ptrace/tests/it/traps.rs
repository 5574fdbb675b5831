//! What is hard for a tracer that puts code into a program: signals at any moment, pointers to nowhere, threads, forks,
//! and whatever no code of others in the program may meet.

use super::common::*;
use needless_fixtures::{as_ordinary_user, expectations, needed, program};
use needless_model::Query;
use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

/// What it prints, its exit status, and what needless counted and said.
fn observed(
    run: Option<&Path>,
    argv: &[OsString],
    folder: &Path,
    before: &[&str],
) -> (String, Option<i32>, String) {
    let file = folder.join("counts");
    let mut words: Vec<OsString> = before.iter().map(OsString::from).collect();
    if let Some(run) = run {
        words.extend([run.into(), "-o".into(), file.clone().into()]);
    }
    words.extend(argv.iter().cloned());
    let mut run = command(&words[0], folder);
    let output = run.args(&words[1..]).stdout(Stdio::piped()).output().unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code(), text)
}

/// Runs `traps` with and without us: it prints the same, and its calls are counted. Returns what was counted.
fn same(name: &str, arguments: &[&str]) -> Option<String> {
    same_as(&[], name, arguments)
}

/// The same, with a command line before each, which takes away rights.
fn same_as(before: &[&str], name: &str, arguments: &[&str]) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    // Where everybody may execute them.
    let here = |program: &Path, name: &str| {
        let copy = folder.path().join(name);
        std::fs::copy(program, &copy).unwrap();
        copy
    };
    let program = here(&testee(name)?, name);
    let run = here(env!("CARGO_BIN_EXE_ptrace-run-patched").as_ref(), "run");
    let argv: Vec<OsString> =
        [program.into()].into_iter().chain(arguments.iter().map(OsString::from)).collect();
    let (printed, status, _) = observed(None, &argv, folder.path(), before);
    assert!(status == Some(0) && !printed.is_empty(), "{argv:?}: {printed}");
    let run = || observed(Some(&run), &argv, folder.path(), before);
    // In one run of a thousand a library of the program lies at the page that needless uses below its code.
    let is_taken = |(.., counted): &(_, _, String)| counted.contains("needless uses are taken");
    let (with_us, status, counted) =
        (0..4).map(|_| run()).find(|seen| !is_taken(seen)).unwrap_or_else(run);
    assert_eq!((with_us.as_str(), status), (printed.as_str(), Some(0)), "{argv:?}");
    for expected in expectations(&printed) {
        let rows = counted.lines().filter_map(|line| {
            let [count, call, outcome, path]: [&str; 4] =
                line.split('\t').collect::<Vec<_>>().try_into().ok()?;
            let same = Query::of(call).verb() == expected.question
                && (path, outcome) == (&*expected.path, &*expected.outcome);
            same.then(|| count.parse::<u64>().unwrap())
        });
        assert_eq!(rows.sum::<u64>(), expected.count, "{argv:?}: {expected:?}\n{counted}");
    }
    Some(counted)
}

#[test]
fn a_handler_sees_no_stack_that_ends_in_the_stub() {
    for name in ["traps", "traps-static"] {
        same(name, &["signals", "20000"]);
    }
}

#[test]
fn a_handler_may_leave_by_a_jump() {
    same("traps", &["jumps", "20000"]);
}

#[test]
fn pointers_to_nowhere_fail_as_they_do() {
    for name in ["traps", "traps-static"] {
        let Some(counted) = same(name, &["pointers", "50"]) else { return };
        // What the kernel could not read we cannot either: as many as with stops.
        assert!(counted.contains("# lost paths_unreadable"), "{counted}");
    }
}

#[test]
fn a_call_that_waits_is_interrupted_or_goes_on() {
    same("traps", &["pipes", "1"]);
}

#[test]
fn threads_and_their_forks_stop_and_are_counted() {
    let Some(counted) = same("traps", &["threads", "20000"]) else { return };
    assert_eq!(counted.matches("it has threads").count(), 1, "{counted}");
}

#[test]
fn children_that_share_memory_or_do_not_are_distinguished() {
    let Some(counted) = same("traps", &["family", "100"]) else { return };
    // A parent that waits is patched all the same.
    assert!(!counted.contains("patched"), "{counted}");
}

#[test]
fn a_filter_that_a_thread_puts_on_all_sees_no_call_of_ours() {
    for _ in 0..5 {
        let Some(counted) = same("taken_back", &["threads", "3000"]) else { return };
        assert!(counted.contains("no longer patched"), "{counted}");
    }
}

#[test]
fn a_program_that_steps_itself_gets_on() {
    for name in ["taken_back", "taken_back-static"] {
        same(name, &["steps", "50"]);
    }
}

#[test]
fn where_the_clock_is_forbidden_nothing_reads_it() {
    same("taken_back", &["clock", "50"]);
    // It stays forbidden after an exec; a dynamic loader may read it itself.
    same("taken_back-static", &["clock-exec", "50"]);
}

#[test]
fn pages_of_ours_may_be_changed() {
    for name in ["taken_back", "taken_back-static"] {
        for how in ["protected", "advised", "moved", "unmapped"] {
            let Some(counted) = same(name, &[how, "50"]) else { return };
            assert!(counted.contains("no longer patched"), "{name} {how}: {counted}");
        }
    }
}

#[test]
fn a_handler_stays_where_its_signal_is_blocked() {
    same("taken_back", &["blocked", "20000"]);
}

#[test]
fn a_stack_without_room_for_the_stub_is_enough() {
    same("taken_back", &["small-stack", "50"]);
}

#[test]
fn numbers_that_a_program_wrote_into_the_table_are_not_counted() {
    let Some(counted) = same("taken_back", &["scribbles", "50"]) else { return };
    assert!(counted.contains("wrote into the memory"), "{counted}");
    let lost = counted.lines().find_map(|line| line.strip_prefix("# lost calls_uncounted "));
    assert!(lost.unwrap().parse::<u64>().unwrap() < 1_000_000_000, "{counted}");
}

#[test]
fn a_program_that_uses_our_address_gets_it() {
    let Some(counted) = same("traps", &["taken", "50"]) else { return };
    assert!(counted.contains("no longer patched"), "{counted}");
    let Some(counted) = same("traps-static", &["taken", "50"]) else { return };
    assert!(counted.contains("is not patched"), "{counted}");
    for (name, how) in [("traps", "covered"), ("traps", "unmapped"), ("traps-static", "covered")] {
        let Some(counted) = same(name, &[how, "50"]) else { return };
        assert!(counted.contains("no longer patched"), "{name} {how}: {counted}");
    }
}

#[test]
fn a_program_without_a_free_page_near_its_code_is_said_not_to_be_patched() {
    let Some(program) = testee("confined") else { return };
    let folder = tempfile::tempdir().unwrap();
    let argv = [program.into_os_string(), "full".into(), "1000".into()];
    let (table, comments) = ours(&["--patch"], &argv, folder.path());
    assert_eq!(table[&("access".into(), "ENOENT".into(), "/missing/confined".into())], 1000);
    let why = "confined is not patched, so its calls stop: it may not map code";
    assert!(comments.iter().any(|comment| comment.contains(why)), "{comments:?}");
}

/// A tracer without rights cannot write into such a process.
#[test]
fn a_filter_in_a_process_with_closed_memory_sees_no_call_of_ours() {
    let Some(ordinary) = as_ordinary_user() else { return };
    // By root too, who can.
    for user in [&[][..], ordinary] {
        same_as(user, "confined", &["closed", "50"]);
    }
}

/// Root of a container is such a tracer, too, once the process has become another user.
#[test]
fn pages_may_be_changed_by_who_became_another_user() {
    let Some(()) = needed(is_root()) else { return };
    let Some(_) = program("setpriv") else { return };
    for before in [&[][..], &["setpriv", "--bounding-set", "-sys_ptrace", "--"]] {
        same_as(before, "taken_back", &["another-user", "50"]);
    }
}

#[test]
fn pages_may_be_changed_after_a_child_that_shares_less_or_more_than_usual() {
    let Some(ordinary) = as_ordinary_user() else { return };
    for user in [&[][..], ordinary] {
        for how in ["child-own", "child-descriptors"] {
            let Some(counted) = same_as(user, "taken_back", &[how, "50"]) else { return };
            assert!(counted.contains("no longer patched"), "{how}: {counted}");
        }
        same_as(user, "taken_back", &["child-closed", "50"]);
    }
}

#[test]
fn pages_may_be_changed_where_nobody_knows_who_patched_the_process() {
    let Some(ordinary) = as_ordinary_user() else { return };
    for user in [&[][..], ordinary] {
        same_as(user, "taken_back", &["orphans", "50"]);
        same_as(user, "taken_back", &["tracer-killed", "50"]);
    }
}

#[test]
fn calls_are_made_from_where_a_program_allows_them() {
    same("confined", &["dispatch", "50"]);
}
