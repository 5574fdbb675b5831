//! Small programs that make known system calls and print the counts they expect; and what a test
//! does where the machine lacks something ([`needed`], [`skipped`]).
//!
//! What a testee prints on its stdout are lines `QUESTION PATH OUTCOME COUNT`, where QUESTION is
//! `stat`, `open`, `access`, `readlink` or `exec` whatever the call's name is on the architecture, and
//! OUTCOME is `ok` or the error's name: `stat /etc/localtime ok 9`. Each names only paths that nothing
//! else in the program asks for.
//!
//! Each source in `c/` is compiled in up to five ways: `NAME`, `NAME-static`, `NAME-i386`,
//! `NAME-musl` (static) and `NAME-stripped`.

pub mod referee;
mod skip;

pub use skip::{FILE as SKIPPED_FILE, must_run, needed, skipped};
use std::path::PathBuf;

const BUILT: &[(&str, Result<&str, &str>)] = include!(concat!(env!("OUT_DIR"), "/built.rs"));

/// The program `name` ("packagecloud", "packagecloud-i386").
///
/// # Errors
///
/// The compiler's reason why it could not be built on this machine.
///
/// # Panics
///
/// If there is no source for such a program: a spelling mistake in a test.
pub fn path(name: &str) -> Result<PathBuf, String> {
    let found = BUILT.iter().find(|(known, _)| *known == name);
    let (_, built) = found.unwrap_or_else(|| panic!("no testee is called {name}"));
    built.map(PathBuf::from).map_err(|why| format!("testee {name}: {why}"))
}

/// For `sh -c`: a script by `#!`, started by a shell that was itself started with a limit of 400 open
/// files and has lowered it to 300.
pub const NAMED_SCRIPT: &str = r##"
    folder=$(mktemp -d) && script=$folder/a-script-of-a-long-name &&
    printf '#!/bin/sh\n:\n' >"$script" && chmod +x "$script" && ulimit -Sn 400 &&
    exec sh -c 'ulimit -Sn 300; "$0"; rm -r "${0%/*}"' "$script"
"##;

/// For `sh -c`: three shells that write 50 lines each: to /dev/null, to a file, to a pipe.
pub const THREE_OUTPUTS: &str = r#"
    lines='i=0; while [ $i -lt 50 ]; do echo line; i=$((i+1)); done'
    file=$(mktemp) && sh -c "$lines" >/dev/null && sh -c "$lines" >"$file" &&
    sh -c "$lines" | wc -c >"$file" && rm "$file"
"#;

/// One line of what a testee expects of itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expected {
    /// `stat`, `open`, `access`, `readlink`, `exec`.
    pub question: String,
    /// The path as asked.
    pub path: String,
    /// `ok` or the error's name.
    pub outcome: String,
    /// How often.
    pub count: u64,
}

/// The expectations in what a testee printed; other lines are left out.
pub fn expectations(stdout: &str) -> Vec<Expected> {
    stdout
        .lines()
        .filter_map(|line| {
            let [question, path, outcome, count] =
                line.split(' ').collect::<Vec<_>>().try_into().ok()?;
            Some(Expected {
                question: question.to_owned(),
                path: path.to_owned(),
                outcome: outcome.to_owned(),
                count: count.parse().ok()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn lines_that_are_no_expectations_are_left_out() {
        let found = expectations("ready\nstat /etc/localtime ok 9\nopen /x ENOENT many\n");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].count), ("/etc/localtime", 9));
    }

    #[test]
    fn the_sample_prints_what_it_expects() {
        let Some(program) = needed(path("packagecloud")) else { return };
        let output = Command::new(program).arg("10").output().unwrap();
        let found = expectations(&String::from_utf8(output.stdout).unwrap());
        assert!(found.iter().any(|e| e.question == "stat" && e.count == 9), "{found:?}");
    }
}
