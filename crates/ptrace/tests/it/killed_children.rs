//! Children that are killed while they start threads and processes: nobody is held for ever.

use super::common::*;
use needless_fixtures::as_ordinary_user;
use std::io::Read;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

const IN_A_NAMESPACE: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];

/// Starts `killed_early` after the words `before`, in each mode.
fn children_killed_early(count: &str, before: &[&str], kinds: &[&str], signals: &[&str]) {
    for options in [&[][..], &["--all"]] {
        for kind in kinds {
            for signal in signals {
                all_end(
                    &[before, &[RUN], options, &["-o", "report"]].concat(),
                    [count, kind, signal],
                );
            }
        }
    }
}

/// A fork that is not reported, because its process was killed in it, must not hold what it made.
fn all_end(run: &[&str], how: [&str; 3]) {
    let Some(testee) = testee("killed_early") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut child = command(run[0], folder.path());
    child.args(&run[1..]).arg(&testee).args(how).stdout(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut ended = None;
    for _ in 0..6000 {
        ended = child.try_wait().unwrap();
        if ended.is_some() {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    let Some(status) = ended else {
        let _ = child.kill();
        panic!("{run:?} {how:?}: something is held for ever");
    };
    let mut said = String::new();
    child.stdout.unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, format!("{0} of {0}\n", how[0]), "{run:?} {how:?}: {status}");
}

#[test]
fn children_that_are_killed_while_they_start_others_end() {
    children_killed_early("40", &[], &["threads", "forks", "vforks"], &["kill"]);
}

#[test]
fn as_the_first_process_of_a_namespace_too() {
    if needed(is_root()).is_some() {
        children_killed_early("40", &IN_A_NAMESPACE, &["threads", "forks", "vforks"], &["kill"]);
    }
}

#[test]
#[ignore = "long: kills 14,400 children"]
fn hundreds_of_children_that_are_killed_while_they_start_others_end() {
    let root = is_root().is_ok();
    let ordinary = as_ordinary_user().filter(|_| root);
    let all = [Some(&[][..]), ordinary, root.then_some(&IN_A_NAMESPACE[..])];
    for before in all.into_iter().flatten() {
        let kinds = ["threads", "forks", "vforks", "programs"];
        children_killed_early("300", before, &kinds, &["kill", "term"]);
    }
}
