//! A wrapper script, the last resort: a shell script that sets variables and then becomes the program.

use super::{Edit, Found, bare, check, lines, shell, splice};

/// Where the script sets `variable` before it executes the program.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let end = exec_line(text).unwrap_or(usize::MAX);
    let all = shell::find(text, variable, None);
    all.into_iter().filter(|found| (found.line as usize) <= end).collect()
}

/// The line by which the script becomes the program. `exec 2>&1` only redirects.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirection_is_not_the_end() {
        let text = "#!/bin/sh\nexec 2>&1\nexport TZ=UTC\nexec prog\n";
        assert_eq!(find(text, "TZ", None), [Found::set(2, "UTC")]);
        let edit = Edit { variable: "TZ", value: Some("Asia/Tokyo"), part: None };
        let new = put(text, &edit).unwrap();
        assert_eq!(new, text.replace("UTC", "Asia/Tokyo"));
    }
}
