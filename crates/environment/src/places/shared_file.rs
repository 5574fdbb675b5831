//! A file of variables that systemd reads (`EnvironmentFile=`) and that a shell sources: each has a syntax of its own, and
//! a line `export NAME=VALUE` sets nothing for systemd. Both read an assignment, and `export NAME` on a line of its own
//! tells the shell to pass it on: systemd takes a line without an equals sign for nothing.

use super::environment_file::{self, word};
use super::init_script::DEFAULTS;
use super::systemd_unit::ENVIRONMENT_FILE;
use super::{Edit, FoundValue, NOTE, lines, shell, splice};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Place};
use crate::readers::{ReadBy, Readers, Way};

/// A file that both read.
pub static SHARED_FILE: Place = Place {
    name: "file of units and scripts",
    files: "what EnvironmentFile= of a unit names and a script sources, too",
    reaches: "the units that name it, and the daemons of the scripts",
    read_by: ReadBy::Anyone(place_for),
    effect: "a restart of each of them",
    check: shell::CHECK,
    find,
    put,
    ..DEFAULT
};

/// The place whose syntax all readers of a file read.
///
/// # Errors
/// When there is none.
pub(crate) fn place_for(readers: &Readers) -> Result<&'static Place, String> {
    match (readers.by(Way::Systemd), readers.by(Way::Shell), readers.by(Way::Engine)) {
        (_, Some(script), Some(engine)) => Err(format!(
            "{script} sources it and needs `export`, with which the container of {engine} (--env-file) does not start: \
             give each a file of its own"
        )),
        (Some(_), Some(_), None) => Ok(&SHARED_FILE),
        (Some(_), None, _) | (None, None, Some(_)) => Ok(&ENVIRONMENT_FILE),
        (None, _, None) => Ok(&DEFAULTS),
    }
}

/// What both readers find. The last one is certain only if it is the same for both.
fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let by_shell = shell::find(text, variable, part);
    let mut all = environment_file::find(text, variable, part);
    let value = |found: &[FoundValue]| found.last().and_then(|last| last.value.clone());
    let agree = value(&by_shell) == value(&all)
        && by_shell.last().is_none_or(FoundValue::is_sure)
        && all.last().is_none_or(FoundValue::is_sure);
    for found in by_shell {
        if !all.iter().any(|other| other.line == found.line) {
            all.push(found);
        }
    }
    all.sort_by_key(|found| found.line);
    if let Some(last) = all.last_mut().filter(|_| !agree) {
        last.certain = false;
    }
    all
}

/// # Errors
/// When a line about the variable is one that the two would read differently.
fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let variable = edit.variable;
    let new = edit
        .value
        .map(|value| [format!("{variable}={}", word(value)), format!("export {variable}")]);
    let new = new.into_iter().flatten().collect::<Vec<_>>();
    let own = shell::lines_about(text, variable)?;
    let Some((last, before)) = own.split_last() else {
        let at = lines(text).len();
        let note = [NOTE.to_owned()].into_iter().filter(|_| !new.is_empty());
        return Ok(splice(text, at, at, &note.chain(new.clone()).collect::<Vec<_>>()));
    };
    let mut out = splice(text, *last, last + 1, &new);
    for at in before.iter().rev() {
        out = splice(&out, *at, at + 1, &[]);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_and_systemd_read_the_same() {
        let put = |text: &str, value| put(text, &Edit { variable: "TZ", value, part: None });
        let set = |text: &str| put(text, Some("UTC")).unwrap();
        for (text, new) in [
            ("A=1\n", "A=1\n# Set by `needless fix`.\nTZ=UTC\nexport TZ\n"),
            ("TZ=a\nB=2\n", "TZ=UTC\nexport TZ\nB=2\n"),
            ("export TZ=a\nB=2\n", "TZ=UTC\nexport TZ\nB=2\n"),
            ("TZ=a\nB=2\nexport TZ\n", "B=2\nTZ=UTC\nexport TZ\n"),
            ("TZ='a'\nexport TZ=b", "TZ=UTC\nexport TZ\n"),
        ] {
            let is = set(text);
            assert_eq!(is, new);
            assert_eq!(set(&is), is, "{text}");
            assert!(find(&is, "TZ", None).last().is_some_and(FoundValue::is_sure), "{is}");
            assert!(!put(&is, None).unwrap().contains("TZ"), "{is}");
        }
        for text in
            ["TZ=a; export TZ\n", "if x; then TZ=a; fi\n", "TZ=$(x)\n", "exit\n", "export TZ A\n"]
        {
            assert!(put(text, Some("UTC")).is_err(), "{text}");
        }
        // The two disagree about what is there.
        for text in ["export TZ=UTC\n", "TZ=UTC\n", "TZ=UTC # x\nexport TZ\n"] {
            assert!(!find(text, "TZ", None).last().is_some_and(FoundValue::is_sure), "{text}");
        }
    }
}
