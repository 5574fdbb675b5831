//! sudoers(5): which variables sudo lets through to its command, and the file it takes variables from (`env_file`).
//! sudo resets the environment; `TZ` passes only if its value is safe: `:/etc/localtime` never passes, even with
//! `env_keep`.

use super::pam_env;
use super::{Edit, FoundValue, bare, lines, splice};
use crate::disk::{Disk, FileAttributes};
use crate::error::EnvironmentError;
use crate::journal::FileChange;
use crate::place::{DEFAULT, Destination, Place};
use crate::readers::ReadBy;
use crate::sources::Sources;
use crate::started_by::StartedBy;
use needless_host::Root;
use needless_model::{Confidence, Visibility};

/// sudo's policy.
pub static SUDOERS: Place = Place {
    name: "sudoers",
    files: DROP_IN,
    reaches: "what the caller of sudo has, let through to the command",
    read_by: ReadBy::Everybody("sudo command"),
    effect: "the next sudo",
    check: &["visudo", "-cf"],
    find,
    put,
    is_file: |path, _| path.below("/sudoers.d/"),
    scan,
    mode: 0o440,
    holds_value: false,
    caveat: |_, edit| {
        let why = "It gives no value: sudo lets through what its caller has.";
        edit.value.map(|_| why.to_owned())
    },
    ..DEFAULT
};

/// The file that sudo takes variables from.
pub static SUDO_ENV_FILE: Place = Place {
    name: "sudo env_file",
    files: "the env_file that sudoers names",
    reaches: "commands run by sudo whose caller has not set the variable",
    read_by: ReadBy::Everybody("sudo command"),
    effect: "the next sudo",
    find: pam_env::find,
    put: pam_env::put,
    locate: |query| match query.started_by {
        StartedBy::Sudo { .. } => vec![env_file_location(query.root)],
        _ => Vec::new(),
    },
    companion: |path, disk| if path == ENV_FILE { drop_in(disk) } else { Ok(None) },
    ..DEFAULT
};

/// The env_file that we make where sudoers names none.
const ENV_FILE: &str = "/etc/needless/sudo.env";
/// The drop-in that names it.
const DROP_IN: &str = "/etc/sudoers.d/zz-needless";
const EVERY_SUDO: &str =
    "It reaches every command run by sudo whose caller has not set the variable.";

/// A setting of `Defaults` that is about the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SudoersSetting {
    /// `env_keep`, `env_check`, `env_delete` with `+=`, `-=` or `=`, and the names.
    List(&'static str, char, Vec<String>),
    /// `env_file` or `restricted_env_file`.
    File(String),
    /// `env_reset` or `!env_reset`.
    Reset(bool),
}

/// The settings of the lines `Defaults …` for everybody, each with its line.
pub(crate) fn settings(text: &str) -> Vec<(usize, SudoersSetting)> {
    let mut found = Vec::new();
    for (at, line) in joined(text) {
        let Some(settings) = line.trim_start().strip_prefix("Defaults") else { continue };
        // `Defaults:USER` and the like apply to some users only.
        if !settings.starts_with([' ', '\t']) {
            continue;
        }
        for setting in split(settings) {
            let setting = setting.trim();
            if setting == "env_reset" || setting == "!env_reset" {
                found.push((at, SudoersSetting::Reset(!setting.starts_with('!'))));
                continue;
            }
            let Some((key, value)) = setting.split_once('=') else { continue };
            let (key, how) = match key.trim_end().strip_suffix(['+', '-']) {
                Some(stem) => (stem, key.trim_end().chars().next_back().unwrap_or('=')),
                None => (key, '='),
            };
            let value = value.trim().trim_matches('"');
            let lists = ["env_keep", "env_check", "env_delete"];
            if let Some(list) = lists.into_iter().find(|list| *list == key.trim()) {
                let names = value.split_ascii_whitespace().map(str::to_owned).collect();
                found.push((at, SudoersSetting::List(list, how, names)));
            } else if matches!(key.trim(), "env_file" | "restricted_env_file") {
                found.push((at, SudoersSetting::File(value.to_owned())));
            }
        }
    }
    found
}

/// Settings, separated by commas outside of quotes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        quoted ^= c == '"';
        match c {
            ',' if !quoted => parts.push(String::new()),
            c => parts.last_mut().expect("it began with one").push(c),
        }
    }
    parts
}

fn joined(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let (part, more) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        // `#include` and `#1000` are not comments, but neither is about the environment.
        let part = if part.trim_start().starts_with('#') { "" } else { part };
        match out.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part),
            None => out.push((at, part.to_owned())),
        }
        open = more;
    }
    out
}

/// Where `text` names `variable`; the value is the list ("env_keep").
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let fits = |name: &String| match name.strip_suffix('*') {
        Some(stem) => variable.starts_with(stem),
        None => name == variable || name.starts_with(&format!("{variable}=")),
    };
    let named = settings(text).into_iter().filter_map(|(at, said)| match said {
        SudoersSetting::List(list, how, names) if names.iter().any(fits) => match how {
            '-' => Some(FoundValue::removed(at)),
            _ => Some(FoundValue::set(at, list)),
        },
        _ => None,
    });
    named.collect()
}

/// Lets the variable through, or no longer, by a line at the end; every other line stays. `value` is not written:
/// sudo passes the caller's value.
///
/// # Errors
/// When the name or the value is invalid.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let line = |how: char| format!("Defaults env_keep {how}= \"{}\"", edit.variable);
    let (line, other) = match edit.value {
        Some(_) => (line('+'), line('-')),
        None => (line('-'), line('+')),
    };
    let all = lines(text);
    if all.iter().rev().map(|text| bare(text)).find(|text| *text == line || *text == other)
        == Some(line.as_str())
    {
        return Ok(text.to_owned());
    }
    Ok(splice(text, all.len(), all.len(), &[super::NOTE.into(), line]))
}

/// A drop-in of ours that names the file `path` as sudo's `env_file`.
pub(crate) fn env_file(path: &str) -> String {
    format!("{}\nDefaults env_file = \"{path}\"\n", super::NOTE)
}

/// /etc/sudoers and its drop-ins.
fn files(root: &Root) -> Vec<String> {
    let mut files: Vec<String> = vec!["/etc/sudoers".into()];
    let below = root.list("/etc/sudoers.d").unwrap_or_default();
    files.extend(below.into_iter().map(|(name, _)| format!("/etc/sudoers.d/{name}")));
    files
}

fn scan(sources: &mut Sources<'_>) {
    let sudo = matches!(sources.started_by, StartedBy::Sudo { .. });
    let only_sudo = || Visibility::No("only for what sudo starts".into());
    for file in files(sources.root).into_iter().filter(|file| !file.contains("/.")) {
        // Only what sudo starts depends on them.
        if !sudo && sources.root.read(&file).is_err() {
            continue;
        }
        let Some(text) = sources.text(&file) else { continue };
        for found in find(&text, sources.variable, None) {
            let list = found.value.unwrap_or_else(|| "a list, taken out of it".into());
            let reaches = if sudo {
                Visibility::Perhaps("if the caller of sudo has it with a value that is safe".into())
            } else {
                only_sudo()
            };
            let says = format!("{} in {list}", sources.variable);
            sources.add(&file, found.line, says, reaches);
        }
        for (_, setting) in settings(&text) {
            if let SudoersSetting::File(path) = setting {
                let reaches = if sudo {
                    Visibility::Yes("sudo's env_file, where the caller has not set it".into())
                } else {
                    only_sudo()
                };
                sources.file(&path, pam_env::find, None, reaches);
            }
        }
    }
}

fn env_file_location(root: &Root) -> Destination {
    let named = files(root).iter().rev().find_map(|file| {
        let text = root.read(file).ok()?;
        settings(&String::from_utf8_lossy(&text)).into_iter().rev().find_map(|(_, setting)| {
            match setting {
                SudoersSetting::File(path) => Some(path),
                _ => None,
            }
        })
    });
    let (file, why) = match named {
        Some(file) => {
            (file, "sudo resets the environment, and takes variables from this file (env_file)")
        }
        None => (
            ENV_FILE.to_owned(),
            "sudo resets the environment; env_file gives it variables, while env_keep would let through only what \
             the caller has",
        ),
    };
    Destination::new(&SUDO_ENV_FILE, file, why, Confidence::High).caveat(EVERY_SUDO)
}

/// The drop-in that names our env_file, where it is missing.
fn drop_in(disk: &Disk) -> Result<Option<FileChange>, EnvironmentError> {
    let Some(before) = disk.read_for_change(DROP_IN)? else {
        return Ok(Some(FileChange {
            path: DROP_IN.to_owned(),
            before: None,
            after: Some(env_file(ENV_FILE).into_bytes()),
            about: FileAttributes::new(SUDOERS.mode),
        }));
    };
    let text = String::from_utf8_lossy(&before.bytes).into_owned();
    let ours = SudoersSetting::File(ENV_FILE.to_owned());
    if settings(&text).iter().any(|(_, setting)| *setting == ours) {
        return Ok(None);
    }
    Err(format!("{DROP_IN} exists, but names no env_file: look at it by hand").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other lines are never rewritten: a lost line locks a user out.
    #[test]
    fn rules_of_others_stay() {
        let theirs = "joe ALL=(ALL) NOPASSWD: ALL\nDefaults!/bin/x env_keep += A\n";
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        let once = put(theirs, &edit).unwrap();
        assert!(once.starts_with(theirs) && once.ends_with("Defaults env_keep += \"TZ\"\n"));
        assert_eq!(put(&once, &edit).unwrap(), once);
        let removed = put(&once, &Edit { value: None, ..edit }).unwrap();
        assert_eq!(find(&removed, "TZ", None).pop().unwrap().value, None);
    }

    #[test]
    fn what_defaults_say() {
        let text = "Defaults\tenv_reset, env_keep += \"TZ LC_*\"\n# Defaults env_keep=X\n\
                    Defaults:joe env_keep += A\nDefaults env_file=/etc/x\nDefaults env_keep \\\n -= TZ\n";
        assert_eq!(
            find(text, "TZ", None),
            [FoundValue::set(0, "env_keep"), FoundValue::removed(4)]
        );
        assert_eq!(find(text, "LC_ALL", None), [FoundValue::set(0, "env_keep")]);
        assert_eq!(find(text, "A", None), []);
        assert!(settings(text).contains(&(3, SudoersSetting::File("/etc/x".into()))));
    }
}
