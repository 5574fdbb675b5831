//! `needless prove`: how the command runs in a proof, what runs around it, and what ends it early.

use crate::common::*;
use crate::prove::{prove, prove_in};
use std::process::Stdio;

#[test]
fn a_file_on_standard_input_is_replayed() {
    let input = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(input.path(), "one\ntwo\n").unwrap();
    let lines = |input: Stdio| {
        let mut prove = command(NEEDLESS);
        prove.args(["prove", "--set", "X=1", "--runs", "3", "--format", "json", "--"]);
        let done = prove.args(["grep", "-c", "o"]).stdin(input).output().unwrap();
        json(&done.stdout)["warnings"].to_string().contains("status")
    };
    assert!(!lines(std::fs::File::open(input.path()).unwrap().into()));
    // grep finds nothing and ends with 1; the report shows this status.
    assert!(lines(Stdio::null()));
}

#[test]
fn input_is_replayed_and_the_world_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let (input, state) = (folder.path().join("in"), folder.path().join("state"));
    std::fs::write(&input, "one\ntwo\n").unwrap();
    let (input, state) = (input.to_str().unwrap(), state.to_str().unwrap());
    // Fails if it has run before without cleanup, or has no input.
    let script = format!("mkdir {state} && grep -c o");
    let words = ["sh", "-c", script.as_str()];
    let cleanup = format!("rmdir {state}");
    let options = ["--set", "X=1", "--runs", "3", "--stdin", input, "--cleanup", &cleanup];
    for backend in backends() {
        let (done, proof) = prove_in(backend, &options, &words);
        assert_eq!(done.status.code(), Some(1), "{}", stderr(&done));
        assert_eq!(proof["pairs"], 3, "{proof:#}");
        assert!(!proof["warnings"].to_string().contains("status"), "{proof:#}");
    }
    // Without it, the second run already does something else.
    std::fs::create_dir_all(state).unwrap();
    std::fs::remove_dir(state).unwrap();
    assert_eq!(
        prove(&["--set", "X=1", "--runs", "3", "--stdin", input], &words).1["outcome"],
        "differs"
    );
    let (done, _) = prove(&["--set", "X=1", "--prepare", "exit 4"], &["true"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(assert_one_line(&done).contains("--prepare: the command exits with status 4"));
}

#[test]
fn a_budget_ends_the_pairs() {
    // The first is always run; of a short command, as many as a statement on CPU time needs.
    for (seconds, pairs) in [("0.01", 6), ("0.6", 1)] {
        let (done, proof) = prove(&["--set", "X=1", "--budget", "1ms"], &["sleep", seconds]);
        // Six pairs may by chance all be longer without the change, or all shorter.
        let status = if proof["outcome"] == "proven" { 0 } else { 1 };
        assert_eq!(done.status.code(), Some(status), "{}", stderr(&done));
        assert_eq!(proof["pairs"], pairs, "{proof:#}");
        assert_eq!(proof["early"], false);
    }
}

#[test]
fn ctrl_c_reports_the_pairs_measured_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let script = format!("echo >> {}; sleep 0.02", file.display());
    let mut prove = command(NEEDLESS);
    prove.args(["prove", "--set", "X=1", "--runs", "2000", "--format", "json", "--"]);
    prove.args(["sh", "-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = prove.spawn().unwrap();
    // Two counts, a warm-up and a count come before the first pair.
    while std::fs::read(&file).map_or(0, |lines| lines.len()) < 8 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let interrupt = command("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    let done = child.wait_with_output().unwrap();
    let proof = json(&done.stdout);
    assert_eq!(proof["early"], true);
    let pairs = proof["pairs"].as_u64().unwrap();
    assert!((1..2000).contains(&pairs), "{proof:#}");
    // So many pairs may by chance be enough to prove a difference in time.
    let status = if proof["outcome"] == "proven" { 0 } else { 1 };
    assert_eq!(done.status.code(), Some(status));
}

/// Measurements made before --prepare or --cleanup failed are still reported.
#[test]
fn a_failure_among_the_pairs_leaves_the_pairs_before_it_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs");
    let runs = file.display();
    let script = format!("echo >> {runs}");
    // Two counts, a warm-up and a count, then two pairs and a half.
    let failing = format!("[ $(cat {runs} /dev/null | wc -l) -lt 9 ] || exit 4");
    for option in ["--prepare", "--cleanup"] {
        std::fs::write(&file, "").unwrap();
        let options = ["--set", "X=1", "--runs", "50", option, &failing];
        let (done, proof) = prove(&options, &["sh", "-c", &script]);
        assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
        let says = format!("{option}: the command exits with status 4");
        assert!(assert_one_line(&done).contains(&format!("{says}; the report covers the 2 pairs")));
        assert_eq!((&proof["pairs"], &proof["early"]), (&2.into(), &true.into()), "{proof:#}");
        assert_eq!(proof["failure"], says, "{proof:#}");
        assert_eq!(proof["measures"].as_array().map(Vec::len), Some(7), "{proof:#}");
    }
    std::fs::write(&file, "").unwrap();
    let words = ["--set", "X=1", "--runs", "50", "--prepare", &failing, "--", "sh", "-c", &script];
    let plain = needless(&[&["prove"], &words[..]].concat());
    let text = stdout(&plain).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("not be measured to its end: --prepare: the command exits"), "{text}");
    assert!(text.contains("ended early") && !text.contains("by you"), "{text}");
}

/// Peak memory of a program far smaller than needless, as the kernel reports it to the program itself.
#[test]
fn a_small_program_shows_its_own_peak() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("peaks");
    let script = format!("exec grep VmHWM /proc/self/status >> {}", file.display());
    let (done, proof) = prove(&["--set", "X=1", "--runs", "6"], &["sh", "-c", &script]);
    assert!(done.status.code() < Some(2), "{}", stderr(&done));
    let lines = std::fs::read_to_string(&file).unwrap();
    let peaks = lines.lines().map(|line| line.split_whitespace().nth(1).unwrap().parse().unwrap());
    let (least, most) = peaks.fold((u64::MAX, 0), |(l, m), n: u64| (l.min(n), m.max(n)));
    let measures = proof["measures"].as_array().unwrap();
    let peak = measures.iter().find(|of| of["quantity"] == "peak_kib").unwrap();
    let (peak, floor) =
        (peak["before"].as_f64().unwrap(), proof["peak_floor_kib"].as_f64().unwrap());
    // The kernel keeps these sums per processor, and they lag by some dozen pages.
    let slack = 512.0;
    assert!(
        peak >= least as f64 - slack && peak <= most as f64 + slack,
        "{peak}, {least} to {most}"
    );
    assert!(floor > 0.0 && floor <= peak + slack, "{floor}, {peak}");
}

/// A signal that only needless gets ends a command around the runs, too.
#[test]
fn a_signal_ends_the_command_of_prepare() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("begun");
    let prepare = format!("echo > {}; exec sleep 1000", file.display());
    let mut prove = command(NEEDLESS);
    prove.args(["prove", "--set", "X=1", "--prepare", &prepare, "--", "true"]);
    let child = prove.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !file.exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let ended = command("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(ended.unwrap().success());
    let done = child.wait_with_output().unwrap();
    assert_eq!(done.status.code(), Some(2), "{}", stderr(&done));
    assert!(assert_one_line(&done).contains("interrupted before anything was measured"));
}

/// A command in a proof sees its own environment and one variable more, and nothing of needless.
#[test]
fn both_arms_see_their_environment_and_the_padding() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let script = format!("env >> {}", file.display());
    for backend in backends() {
        let env = [backend, &[("NEEDLESS_SECRET", "1"), ("KEPT", "yes")]].concat();
        let (_, proof) = prove_in(&env, &["--set", "X=1", "--runs", "4"], &["sh", "-c", &script]);
        assert_eq!(proof["pairs"], 4);
        let seen = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let lines = |start: &str| seen.lines().filter(|line| line.starts_with(start)).count();
        // Three counts, a warm-up, eight timed.
        assert_eq!((lines("KEPT=yes"), lines("X=1"), lines("NEEDLESS")), (12, 6, 0));
        let padding: std::collections::BTreeSet<usize> =
            seen.lines().filter(|line| line.starts_with("STACK_PADDING=")).map(str::len).collect();
        assert_eq!(lines("STACK_PADDING="), 9);
        assert!(padding.len() > 5, "{padding:?}");
    }
}
