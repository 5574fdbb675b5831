//! A wrapper script, the last resort: a shell script that sets variables and then becomes the program.

use super::envdir::{env_dir, restart_of_run_script};
use super::{Edit, FoundValue, Reach, bare, lines, shell, splice};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::started_by::StartedBy;
use needless_model::Confidence;

/// A script around the program.
pub static WRAPPER: Place = Place {
    name: "wrapper script",
    files: "/usr/local/bin/NAME",
    reaches: "whoever starts the script instead of the program",
    read_by: ReadBy::Anyone(|_| Ok(&WRAPPER)),
    effect: "the next start",
    check: shell::CHECK,
    find,
    put,
    is_file: |_, text| text.starts_with("#!/bin/sh\n") && text.contains("\nexec "),
    locate,
    last_resort: true,
    mode: 0o755,
    has_parts: true,
    ..DEFAULT
};

/// Where the script sets `variable` before it executes the program.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    before_exec(text, |before| shell::find(before, variable, None))
}

/// What `find` finds in the lines before the script becomes the program.
pub(crate) fn before_exec(text: &str, find: impl Fn(&str) -> Vec<FoundValue>) -> Vec<FoundValue> {
    let all = lines(text);
    let end = exec_line(text);
    let head = &all[..end.unwrap_or(all.len())];
    let mut found = find(&head.concat());
    // The line right above the program is reached if the program is, whatever stands above the two.
    if let (Some(last), Some((line, above)), Some(_)) = (found.last_mut(), head.split_last(), end)
        && last.line as usize == head.len()
        && !shell::goes_on(&above.concat())
        && find(line).pop().is_some_and(|alone| alone.is_sure())
    {
        (last.certain, last.reach) = (true, Reach::Yes);
    }
    found
}

/// Whether the script becomes another program.
pub(crate) fn becomes_another(text: &str) -> bool {
    exec_line(text).is_some()
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

/// Sets the variable above the line `exec …`, or in the line of a script without one that sets it for certain. An empty
/// text becomes a script for the program `part`, an absolute path.
///
/// # Errors
/// When no line begins with `exec ` and none sets the variable for certain, or the program for a new script is not given.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let fresh = match (text.is_empty(), edit.part) {
        (true, Some(program)) if program.starts_with('/') => {
            format!("#!/bin/sh\n{}\nexec {} \"$@\"\n", super::NOTE, shell::word(program))
        }
        (true, _) => return Err("a wrapper script needs the absolute path of its program".into()),
        (false, _) => text.to_owned(),
    };
    let line = match edit.value {
        Some(value) => format!("export {}={}", edit.variable, shell::word(value)),
        None => format!("unset {}", edit.variable),
    };
    let Some(at) = exec_line(&fresh) else {
        // Where its programs start is not known: only what they get already is changed.
        let last = shell::assignments(&fresh, edit.variable, true).pop();
        let last = last.filter(FoundValue::is_sure).ok_or(
            "it has no line that begins with `exec`, and none that sets the variable for certain: is it a wrapper script?",
        )?;
        return Ok(splice(&fresh, last.line as usize - 1, last.line as usize, &[line]));
    };
    let all = lines(&fresh);
    let (head, tail) = (all[..at].concat(), all[at..].concat());
    if shell::goes_on(&head) {
        return Err(format!(
            "line {at} goes on in the line that starts the program: change it by hand"
        )
        .into());
    }
    if let Some(why) = changes_it_again(all[at], edit.variable) {
        return Err(format!("line {} {why}: change that line by hand", at + 1).into());
    }
    let last = find(&fresh, edit.variable, None).pop();
    if lines(&head).last().is_some_and(|above| bare(above) == line) {
        return Ok(fresh);
    }
    Ok(match last {
        Some(last) if last.is_sure() => {
            let at = last.line as usize - 1;
            splice(&head, at, at + 1, &[line]) + &tail
        }
        _ => splice(&head, at, at, &[line]) + &tail,
    })
}

/// How the line that starts the program changes the environment once more.
fn changes_it_again(exec: &str, variable: &str) -> Option<String> {
    let words: Vec<&str> = exec.split_whitespace().skip(1).collect();
    let program = words.first()?.rsplit('/').next()?;
    let names = |word: &&str| {
        word.strip_prefix(variable).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
    };
    if program.starts_with('-') || program == "env" && words.get(1)?.starts_with('-') {
        Some(format!("starts the program with options that may take {variable} away"))
    } else if matches!(program, "sudo" | "su" | "doas" | "runuser" | "systemd-run") {
        Some(format!("starts it through {program}, which chooses the environment itself"))
    } else {
        words.iter().any(names).then(|| format!("gives it another {variable}"))
    }
}

fn locate(query: &LocationQuery<'_>) -> Vec<Destination> {
    use Confidence::{High, Low, Medium};
    let by_hand = |why: String| Destination::new(&WRAPPER, None, why, Low);
    vec![match query.started_by {
        StartedBy::RunScript { dir: None } => {
            let why = "a supervisor of run scripts started it; its directory could not be read";
            Destination::new(&WRAPPER, None, why, Medium)
        }
        StartedBy::RunScript { dir: Some(dir) } => {
            let run = format!("{dir}/run");
            let text = query.root.read(&run).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            if env_dir(&text).is_some() {
                return Vec::new();
            }
            let why = format!("its supervisor runs {run}, which becomes the program");
            let confidence = if text.starts_with("#!/bin/sh") { High } else { Medium };
            Destination::new(&WRAPPER, run, why, confidence)
                .activation(restart_of_run_script(query.chain, dir))
        }
        StartedBy::At => {
            let why = "at gives a job the environment of the user who submitted it: submit it again with the variable \
                       set";
            Destination { label: "the job".into(), ..by_hand(why.into()) }
        }
        StartedBy::Program { name, pid } => by_hand(format!(
            "it was started by {name}[{pid}]: set the variable there, or start it as `env {}=… COMMAND`",
            query.variable
        )),
        StartedBy::Orphan => by_hand(
            "the process that started it has ended: change what starts it (needless fix --in FILE)"
                .into(),
        ),
        _ => return Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the line that starts the program says counts, not what stands above it.
    #[test]
    fn the_last_line_may_have_the_last_word() {
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        for (exec, says) in [
            ("exec env TZ=Asia/Tokyo prog", "another TZ"),
            ("exec env -i prog", "options"),
            ("exec /usr/bin/env -u TZ prog", "options"),
            ("exec -c prog", "options"),
            ("exec sudo -u app prog", "through sudo"),
        ] {
            let why = put(&format!("#!/bin/sh\nA=1\n{exec}\n"), &edit).unwrap_err().to_string();
            assert!(why.starts_with("line 3 ") && why.contains(says), "{why}");
        }
        for exec in ["exec prog -x \"$TZ\"", "exec env MYTZ=1 prog"] {
            assert!(put(&format!("#!/bin/sh\n{exec}\n"), &edit).is_ok(), "{exec}");
        }
    }

    /// A script that goes on while its programs run: the line that sets the variable for certain, and no other.
    #[test]
    fn without_an_exec_only_a_certain_line_is_changed() {
        let change = |text: &str, value| {
            WRAPPER.change(text, &Edit { variable: "TZ", value, part: None }).ok()
        };
        let job = |line: &str| format!("#!/bin/sh\n{line}\ncd /srv && clockd\necho done\n");
        for line in ["export TZ=Asia/Omsk", "TZ=Asia/Omsk", "unset TZ"] {
            let text = job(line);
            assert_eq!(change(&text, Some("UTC")), Some(job("export TZ=UTC")), "{line}");
            assert_eq!(change(&text, None), Some(job("unset TZ")), "{line}");
        }
        for line in [
            "A=1",
            "TZ=UTC clockd",
            "[ -f /x ] && export TZ=Asia/Omsk",
            "if a; then\nexport TZ=Asia/Omsk\nfi",
            "set -e\nexport TZ=Asia/Omsk",
            "export TZ=$(cat /etc/timezone)",
            ". /etc/default/x\nexport TZ=Asia/Omsk",
        ] {
            assert_eq!(change(&job(line), Some("UTC")), None, "{line}");
        }
    }

    #[test]
    fn a_redirection_is_not_the_end() {
        let text = "#!/bin/sh\nexec 2>&1\nexport TZ=UTC\nexec prog\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::set(2, "UTC")]);
        let edit = Edit { variable: "TZ", value: Some("Asia/Tokyo"), part: None };
        let new = put(text, &edit).unwrap();
        assert_eq!(new, text.replace("UTC", "Asia/Tokyo"));
    }
}
