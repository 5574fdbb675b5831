//! A running process may have overwritten its environment block: its variables are then not known.

use needless_fixtures::needed;
use needless_model::{Env, Process, Spawn};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts the program, which reports when it is ready, and ends at the end of its input.
fn start(program: &Path, arguments: &[&str], first: &str) -> Child {
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs([(first, "something-long"), ("TZ", "UTC"), ("LAST", "x")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    child
}

/// What is known of its TZ, and of a variable that it does not have.
fn seen(mut child: Child, born: Spawn) -> Option<(Option<String>, Option<String>)> {
    let mut process = Process::new(child.id(), None, born);
    needless_host::read_process(&mut process, &["TZ", "LANG"].into());
    drop(child.stdin.take());
    child.wait().unwrap();
    let value = |name: &str| process.env.value(name).map(str::to_owned);
    (process.env != Env::Unknown).then(|| (value("TZ"), value("LANG")))
}

#[test]
fn a_block_that_was_written_over_is_not_known() {
    let Some(title) = needed(needless_fixtures::path("title")) else { return };
    assert_eq!(
        seen(start(&title, &["none"], "A"), Spawn::Seen),
        Some((Some("UTC".to_owned()), None))
    );
    for how in ["all", "some", "equals"] {
        assert_eq!(seen(start(&title, &[how], "A"), Spawn::Seen), None, "{how}");
    }
    // Perl overwrites the block when a script sets $0.
    let Some(perl) = needed(needless_fixtures::referee::program("perl")) else { return };
    let script = |title: &str| format!("$| = 1; {title} print qq(ready\\n); <STDIN>;");
    let left = script("");
    assert_eq!(
        seen(start(&perl, &["-e", &left], "A"), Spawn::Seen),
        Some((Some("UTC".to_owned()), None))
    );
    // Longer than its arguments, so it reaches into the block.
    let over = script("$0 = q(x) x 1000;");
    assert_eq!(seen(start(&perl, &["-e", &over], "A"), Spawn::Seen), None);
}

/// Right after an exec the block is unchanged, however odd its contents.
#[test]
fn what_was_given_to_an_exec_is_known() {
    let Some(title) = needed(needless_fixtures::path("title")) else { return };
    for (born, known) in [(Spawn::Exec, true), (Spawn::Seen, false)] {
        assert_eq!(seen(start(&title, &["none"], "A NAME"), born).is_some(), known);
    }
}
