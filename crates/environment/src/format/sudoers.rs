//! sudoers(5): what sudo lets through to its command, and the file it takes variables from
//! (`env_file`). sudo resets the environment; `TZ` passes only where its value is safe: `:/etc/localtime`
//! never does, whatever `env_keep` says.

use super::{Edit, Found, bare, check, check_name, lines, splice};

/// A setting of `Defaults` that is about the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// `env_keep`, `env_check`, `env_delete` with `+=`, `-=` or `=`, and the names.
    List(&'static str, char, Vec<String>),
    /// `env_file` or `restricted_env_file`.
    File(String),
    /// `env_reset` or `!env_reset`.
    Reset(bool),
}

/// What the lines `Defaults …` for everybody say, each with its line.
pub(crate) fn says(text: &str) -> Vec<(usize, Says)> {
    let mut found = Vec::new();
    for (at, line) in joined(text) {
        let Some(settings) = line.trim_start().strip_prefix("Defaults") else { continue };
        // `Defaults:USER` and the like hold for some only.
        if !settings.starts_with([' ', '\t']) {
            continue;
        }
        for setting in split(settings) {
            let setting = setting.trim();
            if setting == "env_reset" || setting == "!env_reset" {
                found.push((at, Says::Reset(!setting.starts_with('!'))));
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
                found.push((at, Says::List(list, how, names)));
            } else if matches!(key.trim(), "env_file" | "restricted_env_file") {
                found.push((at, Says::File(value.to_owned())));
            }
        }
    }
    found
}

/// Settings, at commas outside of quotes.
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
        // `#include` and `#1000` are no comments, but neither is about the environment.
        let part = if part.trim_start().starts_with('#') { "" } else { part };
        match out.last_mut().filter(|_| open) {
            Some((_, whole)) => whole.push_str(part),
            None => out.push((at, part.to_owned())),
        }
        open = more;
    }
    out
}

/// Where `text` names `variable`: the list as its value ("env_keep").
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let fits = |name: &String| match name.strip_suffix('*') {
        Some(stem) => variable.starts_with(stem),
        None => name == variable || name.starts_with(&format!("{variable}=")),
    };
    let named = says(text).into_iter().filter_map(|(at, said)| match said {
        Says::List(list, how, names) if names.iter().any(fits) => match how {
            '-' => Some(Found::removed(at)),
            _ => Some(Found::set(at, list)),
        },
        _ => None,
    });
    named.collect()
}

/// Lets the variable through, or no longer, by a line at the end; every other line stays. `value` is
/// not written: sudo passes the caller's.
///
/// # Errors
/// Where the name is none.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    check_name(edit.variable)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of rules is not rewritten: a lost line locks somebody out.
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
        assert_eq!(find(text, "TZ", None), [Found::set(0, "env_keep"), Found::removed(4)]);
        assert_eq!(find(text, "LC_ALL", None), [Found::set(0, "env_keep")]);
        assert_eq!(find(text, "A", None), []);
        assert!(says(text).contains(&(3, Says::File("/etc/x".into()))));
    }
}
