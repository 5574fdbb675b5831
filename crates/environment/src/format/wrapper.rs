//! A wrapper script, the last resort: a shell script that sets variables and then becomes the program.

use super::envdir::env_dir;
use super::{Edit, FoundValue, bare, check, lines, shell, splice};
use crate::channel::Channel;
use crate::config_format::{ConfigFormat, ConfigLocation, DEFAULT, LineKind, LocationQuery};
use crate::error::EnvironmentError;
use needless_model::Confidence;

/// A script around the program.
pub static WRAPPER: ConfigFormat = ConfigFormat {
    name: "wrapper script",
    files: "/usr/local/bin/NAME",
    reaches: "whoever starts the script instead of the program",
    effect: "the next start",
    check: shell::CHECK,
    find,
    put,
    is_file: |_, text| text.starts_with("#!/bin/sh\n") && text.contains("\nexec "),
    locate,
    last_resort: true,
    mode: 0o755,
    lines: LineKind::Script,
    ..DEFAULT
};

/// Where the script sets `variable` before it executes the program.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let end = exec_line(text).unwrap_or(usize::MAX);
    let all = shell::find(text, variable, None);
    all.into_iter().filter(|found| (found.line as usize) <= end).collect()
}

/// The line with which the script becomes the program. `exec 2>&1` only redirects.
fn exec_line(text: &str) -> Option<usize> {
    let becomes = |line: &str| {
        let word = bare(line).strip_prefix("exec ").and_then(|rest| rest.split_whitespace().next());
        word.is_some_and(|word| {
            let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
            !word.starts_with(['<', '>', '&'])
        })
    };
    lines(text).into_iter().position(becomes)
}

/// Sets the variable above the line `exec …`. An empty text becomes a script for the program `part`, an absolute
/// path.
///
/// # Errors
/// When no line begins with `exec `, or the program for a new script is not given.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    check(edit)?;
    let fresh = match (text.is_empty(), edit.part) {
        (true, Some(program)) if program.starts_with('/') => {
            format!("#!/bin/sh\n{}\nexec {} \"$@\"\n", super::NOTE, shell::word(program))
        }
        (true, _) => return Err("a wrapper script needs the absolute path of its program".into()),
        (false, _) => text.to_owned(),
    };
    let Some(at) = exec_line(&fresh) else {
        return Err("it has no line that begins with `exec`: is it a wrapper script?".into());
    };
    let all = lines(&fresh);
    let (head, tail) = (all[..at].concat(), all[at..].concat());
    let last = find(&head, edit.variable, None).pop();
    let line = match edit.value {
        Some(value) => format!("export {}={}", edit.variable, shell::word(value)),
        None => format!("unset {}", edit.variable),
    };
    Ok(match last {
        Some(last) if last.certain => {
            let at = last.line as usize - 1;
            splice(&head, at, at + 1, &[line]) + &tail
        }
        _ => splice(&head, at, at, &[line]) + &tail,
    })
}

fn locate(query: &LocationQuery<'_>) -> Vec<ConfigLocation> {
    use Confidence::{High, Low, Medium};
    let by_hand = |why: String| ConfigLocation::new(&WRAPPER, None, why, Low);
    vec![match query.channel {
        Channel::RunScript { dir: None } => {
            let why = "a supervisor of run scripts started it; its directory could not be read";
            ConfigLocation::new(&WRAPPER, None, why, Medium)
        }
        Channel::RunScript { dir: Some(dir) } => {
            let run = format!("{dir}/run");
            let text = query.root.read(&run).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if env_dir(&text).is_some() {
                return Vec::new();
            }
            let why = format!("its supervisor runs {run}, which becomes the program");
            let confidence = if text.starts_with("#!/bin/sh") { High } else { Medium };
            ConfigLocation::new(&WRAPPER, run, why, confidence)
        }
        Channel::At => {
            let why = "at gives a job the environment of the user who submitted it: submit it again with the variable \
                       set";
            ConfigLocation { label: "the job".into(), ..by_hand(why.into()) }
        }
        Channel::Program { name, pid } => by_hand(format!(
            "it was started by {name}[{pid}]: set the variable there, or start it as `env {}=… COMMAND`",
            query.variable
        )),
        Channel::Orphan => by_hand(
            "the process that started it has ended: change what starts it (needless fix --in FILE)"
                .into(),
        ),
        _ => return Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_is_not_the_end() {
        let text = "#!/bin/sh\nexec 2>&1\nexport TZ=UTC\nexec prog\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::set(2, "UTC")]);
        let edit = Edit { variable: "TZ", value: Some("Asia/Tokyo"), part: None };
        let new = put(text, &edit).unwrap();
        assert_eq!(new, text.replace("UTC", "Asia/Tokyo"));
    }
}
