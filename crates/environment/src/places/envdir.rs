//! Environment directories, as daemontools' envdir, runit's `chpst -e` and s6-envdir read them: each file's name is a
//! variable, its first line the value.

use super::{Edit, FoundValue};
use crate::activation::{Activation, Supervisor, supervised};
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::started_by::{Launcher, StartedBy};
use needless_host::{ProcInfo, ancestry};
use needless_model::Confidence;

/// An environment directory.
pub static ENVDIR: Place = Place {
    name: "envdir",
    files: "a directory of files, for envdir, chpst -e and s6-envdir",
    reaches: "what is run through it",
    effect: "sv restart, s6-svc -r or svc -t",
    find,
    by_hand: Some(line_by_hand),
    locate: |query| match query.started_by {
        StartedBy::RunScript { dir: Some(dir) } => location(query, dir).into_iter().collect(),
        _ => Vec::new(),
    },
    ..DEFAULT
};

/// The value that the file holds; an empty file removes the variable.
pub(crate) fn find(text: &str, _variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    if text.is_empty() {
        return vec![FoundValue::removed(0)];
    }
    let first = text.split('\n').next().unwrap_or_default();
    vec![FoundValue::set(0, first.trim_end_matches([' ', '\t']))]
}

/// # Errors
/// When the value ends in blanks, which are cut, or is empty, which would remove the variable.
fn line_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    match edit.value.unwrap_or_default() {
        "" => Err("an empty file of an environment directory removes the variable".into()),
        value if value.ends_with(' ') => {
            Err("blanks at a value's end are cut in an environment directory".into())
        }
        value => Ok(HandLine::anywhere(value.to_owned(), &find(text, edit.variable, None))),
    }
}

/// The directory that the run script in `dir`, of runit, s6 or daemontools, names; `None` where it names none.
fn location(query: &LocationQuery<'_>, dir: &str) -> Option<Destination> {
    let run = format!("{dir}/run");
    let text = query.root.read(&run).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    Some(match env_dir(&text)? {
        Ok(named) => {
            let env = match named.strip_prefix("./").unwrap_or(&named) {
                path if path.starts_with('/') => path.trim_end_matches('/').to_owned(),
                path => format!("{dir}/{}", path.trim_end_matches('/')),
            };
            let why = format!("{run} starts it with the variables of that directory");
            let file = format!("{env}/{}", query.variable);
            let location = Destination::new(&ENVDIR, file, why, Confidence::High);
            location.activation(restart_of_run_script(query.chain, dir))
        }
        Err(why) => {
            let why = format!("{run} starts it with the variables of a directory, {why}");
            Destination::new(&ENVDIR, None, why, Confidence::Medium)
        }
    })
}

/// The same by the program that runs there; unknown where `file` is no run script, or none runs.
pub(crate) fn restart_by_state(file: &str) -> Activation {
    let chain = |dir| ancestry(supervised(dir)?, "PATH").ok();
    let dir = file.strip_suffix("/run");
    dir.and_then(|dir| Some(restart_of_run_script(&chain(dir)?, dir))).unwrap_or_default()
}

/// How the supervisor of the run script in `dir`, which is in `chain`, starts its program anew.
pub(super) fn restart_of_run_script(chain: &[ProcInfo], dir: &str) -> Activation {
    let mut above = chain.iter().rev();
    let supervisor = above.find(|info| Launcher::of(info) == Some(Launcher::RunScript));
    let by = match supervisor.map(|info| info.name()) {
        Some("runsv") => Supervisor::Runit,
        Some("s6-supervise") => Supervisor::S6,
        Some(_) => Supervisor::Daemontools,
        None => return Activation::Unknown,
    };
    Activation::RunScript(by, dir.to_owned())
}

/// The directory after the last of `envdir`, `s6-envdir` and `chpst -e` in a script, or why it is not known.
pub(crate) fn env_dir(text: &str) -> Option<Result<String, &'static str>> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut found = None;
    let mut moved = false;
    for line in lines {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        moved |= words.first() == Some(&"cd");
        for (at, word) in words.iter().enumerate() {
            let rest = &words[at + 1..];
            let dir = match word.rsplit('/').next() {
                Some("envdir") => rest.first().copied(),
                Some("s6-envdir") => rest.iter().find(|word| !word.starts_with('-')).copied(),
                Some("chpst") => of_chpst(rest),
                _ => continue,
            };
            let Some(dir) = dir else { continue };
            let dir = dir.trim_matches(['"', '\'']);
            found = Some(match dir {
                _ if dir.contains(['$', '`', '*', '"', '\'', '\\', '~']) => {
                    Err("which the script computes")
                }
                _ if moved && !dir.starts_with('/') => Err("below one that the script goes to"),
                _ => Ok(dir.to_owned()),
            });
        }
    }
    found
}

/// The argument of `-e` among the options of chpst(8).
fn of_chpst<'a>(words: &[&'a str]) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(option) = words.next().and_then(|word| word.strip_prefix('-')) {
        for (at, letter) in option.char_indices() {
            // Options with an argument, which follows directly or is the next word.
            if !"uUeb/CnlLmdofpcrt".contains(letter) {
                continue;
            }
            let beside = &option[at + letter.len_utf8()..];
            let argument = if beside.is_empty() { words.next()? } else { beside };
            if letter == 'e' {
                return Some(argument);
            }
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_found() {
        let dir = |line: &str| env_dir(&format!("#!/bin/sh\nexec 2>&1\n{line}\n"));
        let is = |path: &str| Some(Ok(path.to_owned()));
        assert_eq!(dir("exec envdir /etc/x prog"), is("/etc/x"));
        assert_eq!(dir("exec chpst -v -u www -e ./env prog -e no"), is("./env"));
        assert_eq!(dir("exec chpst -vuwww -e./env prog"), is("./env"));
        assert_eq!(dir("exec chpst -u www prog -e no"), None);
        assert_eq!(dir("exec /usr/bin/s6-envdir -fn env prog"), is("env"));
        assert_eq!(dir("# exec envdir /etc/x prog"), None);
        assert!(dir("exec envdir \"$ENV\" prog").unwrap().is_err());
        assert!(dir("cd /srv\nexec envdir ./env prog").unwrap().is_err());
        assert!(dir("cd /srv\nexec envdir /env prog").unwrap().is_ok());
    }
}
