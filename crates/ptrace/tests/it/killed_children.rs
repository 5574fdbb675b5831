//! Children that are killed while they start threads and processes: nobody is held for ever.

use super::common::*;
use std::io::Read;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// A fork that is not reported, because its process was killed in it, must not hold what it made.
fn children_killed_early(count: &str, before: &[&str]) {
    let Some(testee) = testee("killed_early") else { return };
    for (options, kind) in
        [(&[][..], "threads"), (&[], "forks"), (&["--all"], "threads"), (&["--all"], "forks")]
    {
        let folder = tempfile::tempdir().unwrap();
        let words = [before, &[RUN], options, &["-o", "report"]].concat();
        let mut run = command(words[0], folder.path());
        run.args(&words[1..]).arg(&testee).args([count, kind]).stdout(Stdio::piped());
        let mut run = run.spawn().unwrap();
        let mut ended = None;
        for _ in 0..6000 {
            ended = run.try_wait().unwrap();
            if ended.is_some() {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let Some(status) = ended else {
            let _ = run.kill();
            panic!("{options:?}, {kind}: something is held for ever");
        };
        let mut said = String::new();
        run.stdout.unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(said, format!("{count} of {count}\n"), "{options:?}, {kind}: {status}");
    }
}

#[test]
fn children_that_are_killed_while_they_start_others_end() {
    children_killed_early("40", &[]);
}

#[test]
fn as_the_first_process_of_a_namespace_too() {
    let namespace = ["unshare", "--pid", "--fork", "--mount-proc"];
    if needed(is_root()).is_some() {
        children_killed_early("40", &namespace);
    }
}

#[test]
#[ignore = "long: kills 2,400 children"]
fn hundreds_of_children_that_are_killed_while_they_start_others_end() {
    children_killed_early("300", &[]);
    if needed(is_root()).is_some() {
        children_killed_early(
            "300",
            &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"],
        );
    }
}
