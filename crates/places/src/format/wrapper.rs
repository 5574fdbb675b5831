//! A wrapper script, the last resort: a shell script that sets variables and then becomes the program.

use super::{Edit, Found, bare, check, lines, shell, splice};

/// Where the script sets `variable` before it executes the program.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let end = exec_line(text).unwrap_or(usize::MAX);
    let all = shell::find(text, variable, None);
    all.into_iter().filter(|found| (found.line as usize) <= end).collect()
}

fn exec_line(text: &str) -> Option<usize> {
    lines(text).iter().position(|line| bare(line).starts_with("exec "))
}

/// Sets the variable above the line `exec …`. An empty text becomes a script for the program
/// `part`, an absolute path.
///
/// # Errors
/// Where there is no line that begins with `exec `, or no program to write one for.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
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
