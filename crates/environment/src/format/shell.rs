//! Files that a POSIX shell sources: profile.d, /etc/default, /etc/conf.d, /etc/sysconfig, Apache's
//! envvars, wrapper scripts. POSIX, Shell Command Language 2.

use super::{Edit, FoundValue, NOTE, bare, check, lines, splice};
use crate::error::EnvironmentError;

/// The program that checks a script.
pub(crate) const CHECK: &[&str] = &["sh", "-n"];

/// A line that sets, exports or removes a variable.
struct ShellLine {
    line: usize,
    value: Option<String>,
    exported: bool,
    /// Whether it is at the start of its line, alone on it, with a value that no shell would compute.
    plain: bool,
}

fn entries(text: &str, variable: &str) -> Vec<ShellLine> {
    let mut entries = Vec::new();
    for (line, text) in command_lines(text) {
        let start = text.trim_start();
        let indented = start.len() < text.len();
        // Commands after `;` or `&&` count too, but are not plain.
        let (commands, _) = commands(start);
        for command in &commands {
            let plain = commands.len() == 1 && !indented;
            if let Some(entry) = entry(command.trim(), variable, line, plain) {
                entries.push(entry);
            }
        }
    }
    entries
}

/// The lines outside of here-documents, with their numbers from 0.
fn command_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut here: Option<String> = None;
    lines(text).into_iter().map(bare).enumerate().filter(move |(_, text)| {
        if let Some(end) = &here {
            if text.trim_start_matches('\t') == end {
                here = None;
            }
            return false;
        }
        here = heredoc(text);
        true
    })
}

/// The commands of a line, separated by `;`, `&` and `|` outside of quotes, and whether the last goes on in the next
/// line.
fn commands(line: &str) -> (Vec<&str>, bool) {
    let (mut parts, mut from, mut quote, mut before) = (Vec::new(), 0, None, ' ');
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            (None, '#') if before.is_ascii_whitespace() => break,
            (None, ';' | '&' | '|') => {
                parts.push(&line[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        before = c;
    }
    parts.push(&line[from..]);
    (parts, quote.is_some() || escaped)
}

/// The first line, from 1, that ends inside a quote or with a backslash: the next line is not a command of its own.
fn continued(text: &str) -> Option<usize> {
    let goes_on = |(_, text): &(usize, &str)| commands(text).1;
    command_lines(text).find(goes_on).map(|(line, _)| line + 1)
}

/// The word that ends the here-document which begins on this line.
fn heredoc(line: &str) -> Option<String> {
    if line.trim_start().starts_with('#') {
        return None;
    }
    let (_, after) = line.split_once("<<")?;
    let word = after.trim_start_matches(['-', ' ']);
    let word = word.split([' ', ';', '>', '|', '&']).next()?.trim_matches(['"', '\'', '\\']);
    (!word.is_empty() && !word.starts_with(['<', '(', '$'])).then(|| word.to_owned())
}

fn entry(command: &str, variable: &str, line: usize, plain: bool) -> Option<ShellLine> {
    let (exported, words) = match command.strip_prefix("export") {
        Some(rest) if rest.starts_with([' ', '\t']) => (true, rest.trim_start()),
        _ => (false, command),
    };
    let unset = command.strip_prefix("unset ").map(str::trim);
    if let Some(names) = unset {
        let names = names.strip_prefix("-v").unwrap_or(names);
        let here = names.split_ascii_whitespace().any(|name| name == variable);
        return here.then_some(ShellLine { line, value: None, exported: true, plain });
    }
    if exported && !words.contains('=') {
        let here = words.split_ascii_whitespace().any(|name| name == variable);
        // Its value was set earlier.
        return here.then_some(ShellLine {
            line,
            value: Some(String::new()),
            exported,
            plain: false,
        });
    }
    let value = words.strip_prefix(variable)?.strip_prefix('=')?;
    let (value, sure, rest) = value_of(value);
    let rest = rest.trim();
    // `TZ=UTC command` sets it for that command only.
    if !exported && !rest.is_empty() && !rest.starts_with('#') {
        return None;
    }
    let plain = plain && sure && (rest.is_empty() || rest.starts_with('#'));
    Some(ShellLine { line, value: Some(value), exported, plain })
}

/// A word's value, whether it is literal, and what follows.
fn value_of(text: &str) -> (String, bool, &str) {
    let (mut value, mut sure, mut quote) = (String::new(), true, None);
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_ascii_whitespace() => return (value, sure, &text[at..]),
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => value.push(c),
            (None, '\\') => value.extend(chars.next().map(|(_, c)| c)),
            (Some(_), '\\') => match chars.next() {
                Some((_, c @ ('"' | '\\' | '$' | '`'))) => value.push(c),
                Some((_, c)) => value.extend(['\\', c]),
                None => sure = false,
            },
            (_, c) => {
                let special = quote.is_none() && "*?[~(){}<>|".contains(c);
                sure &= !special && !matches!(c, '$' | '`');
                value.push(c);
            }
        }
    }
    (value, sure && quote.is_none(), "")
}

/// Where `text` sets `variable` for the programs it starts; the last counts.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = entries(text, variable);
    let exports = all.iter().any(|entry| entry.exported && entry.value.is_some());
    // A line inside a quote looks like a command.
    let sure = continued(text).is_none();
    let mut found = Vec::new();
    for entry in all {
        match entry.value {
            None => found.push(FoundValue {
                certain: sure && entry.plain,
                ..FoundValue::removed(entry.line)
            }),
            Some(value) if value.is_empty() && entry.exported && !entry.plain => {}
            // Set, but not exported: no program sees it.
            Some(_) if !exports => {}
            Some(value) => {
                found.push(FoundValue {
                    certain: sure && entry.plain,
                    ..FoundValue::set(entry.line, value)
                });
            }
        }
    }
    found
}

/// Where `variable` is set without being exported, which is a trap.
pub(crate) fn unexported(text: &str, variable: &str) -> Option<u32> {
    let all = entries(text, variable);
    let exports = all.iter().any(|entry| entry.exported);
    let set = all.iter().rfind(|entry| entry.value.is_some())?;
    (!exports).then(|| FoundValue::removed(set.line).line)
}

/// Sets it where the last plain setting is, if that is the last line about the variable, else at the end.
///
/// # Errors
/// When the value holds control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    check(edit)?;
    if let Some(line) = continued(text) {
        return Err(format!(
            "line {line} goes on in the next one (a quote or a backslash): where a line of it can be changed is not \
             certain, so change it by hand"
        )
        .into());
    }
    let all = entries(text, edit.variable);
    let Some(value) = edit.value else {
        let plain = all.iter().all(|entry| entry.plain);
        let mut out = text.to_owned();
        for entry in all.iter().rev().filter(|entry| entry.plain) {
            out = splice(&out, entry.line, entry.line + 1, &[]);
        }
        if !plain && all.last().is_some_and(|entry| entry.value.is_some()) {
            let at = lines(&out).len();
            out = splice(&out, at, at, &[NOTE.into(), format!("unset {}", edit.variable)]);
        }
        return Ok(out);
    };
    let line = format!("export {}={}", edit.variable, word(value));
    let at = lines(text).len();
    Ok(match all.last() {
        Some(last) if last.plain => splice(text, last.line, last.line + 1, &[line]),
        _ => splice(text, at, at, &[NOTE.into(), line]),
    })
}

/// A value as one word of a shell.
pub(crate) fn word(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,+@%=-".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_export() {
        let one = |text: &str| {
            let last = find(text, "TZ", None).pop();
            last.map(|found| (found.value, found.certain))
        };
        let set = |value: &str, certain| Some((Some(value.to_owned()), certain));
        assert_eq!(one("export TZ=UTC\n"), set("UTC", true));
        assert_eq!(one("TZ='Asia/Tokyo'; export TZ\n"), set("Asia/Tokyo", false));
        assert_eq!(one("TZ=UTC\n"), None);
        assert_eq!(one("TZ=UTC date\n"), None);
        assert_eq!(one("export TZ=$(cat /etc/timezone)\n").map(|(_, sure)| sure), Some(false));
        assert_eq!(one("cat <<EOF\nexport TZ=no\nEOF\n"), None);
        assert_eq!(one("# export TZ=no\n"), None);
        assert_eq!(one("unset TZ\n"), Some((None, true)));
        assert_eq!(one("TZ=a\nexport TZ\n"), set("a", true));
        assert_eq!(unexported("A=1\nTZ=UTC\n", "TZ"), Some(2));
    }

    #[test]
    fn a_file_whose_lines_go_on_is_refused() {
        for (text, line) in [
            ("X='a\nexport TZ=inner\nb'\n", Some(1)),
            ("A=1\nX=\"a\nTZ=inner\nb\"\n", Some(2)),
            ("exec env A=1 \\\nTZ=Asia/Tokyo date\n", Some(1)),
            ("echo 'a' \"b'\" \\' # it's\n", None),
            ("cat <<EOF\nit's\nEOF\nexport TZ=UTC\n", None),
        ] {
            assert_eq!(continued(text), line, "{text}");
            let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
            assert_eq!(put(text, &edit).is_err(), line.is_some(), "{text}");
            let certain = find(text, "TZ", None).iter().any(|found| found.certain);
            assert!(line.is_none() || !certain, "{text}");
        }
    }
}
