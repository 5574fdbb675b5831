//! Files that `EnvironmentFile=` of systemd.exec(5) names, and locale.conf(5): similar to a shell's assignments, with
//! other rules.

use super::{Edit, FoundValue, put_line};
use crate::error::EnvironmentError;

/// A variable, and its lines.
pub(crate) struct EnvLine {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Reads `NAME=VALUE` lines: `#` and `;` are comments only at the start of a line, blanks around names and unquoted
/// values are cut, quotes may be anywhere in a value, `\` before a line end joins lines. `$` and `%` are ordinary
/// characters; a line `export X=1` sets nothing. A CR ends a line, too, if no quotes are around it (`NEWLINE` in systemd's
/// parse_env_file).
pub(crate) fn env_lines(text: &str) -> Vec<EnvLine> {
    let mut env_lines = Vec::new();
    let mut chars = text.chars().peekable();
    let mut line = 0;
    while chars.peek().is_some() {
        let from = line;
        let mut name = String::new();
        let mut ended = false;
        for c in chars.by_ref() {
            match c {
                '\n' | '\r' => {
                    line += usize::from(c == '\n');
                    ended = true;
                    break;
                }
                '=' => break,
                c => name.push(c),
            }
        }
        let name = name.trim().to_owned();
        if ended {
            continue;
        }
        if name.starts_with(['#', ';']) {
            for c in chars.by_ref() {
                line += usize::from(c == '\n');
                if matches!(c, '\n' | '\r') {
                    break;
                }
            }
            continue;
        }
        let value = value(&mut chars, &mut line);
        if super::check_name(&name).is_ok() {
            env_lines.push(EnvLine { name, value, from, to: line.max(from + 1) });
        }
    }
    env_lines
}

/// A value up to the end of its line.
fn value(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, line: &mut usize) -> String {
    let mut value = String::new();
    // The length up to which blanks are not cut.
    let mut fixed = 0;
    let mut quote = None;
    while let Some(c) = chars.next() {
        if c == '\n' {
            *line += 1;
        }
        match (quote, c) {
            (None, '\n' | '\r') => break,
            (None, '\\') => match chars.next() {
                Some('\n') => *line += 1,
                Some('\r') => {}
                Some(c) => {
                    value.push(c);
                    fixed = value.len();
                }
                None => {}
            },
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if c.is_ascii_whitespace() && value.is_empty() && fixed == 0 => {}
            (None, c) => {
                value.push(c);
                if !c.is_ascii_whitespace() {
                    fixed = value.len();
                }
            }
            (Some(q), c) if c == q => {
                quote = None;
                fixed = value.len();
            }
            (Some('"'), '\\') => match chars.next() {
                Some('\n') => *line += 1,
                Some(c @ ('"' | '\\' | '$' | '`')) => value.push(c),
                Some(c) => value.extend(['\\', c]),
                None => {}
            },
            (Some(_), c) => value.push(c),
        }
        if quote.is_some() {
            fixed = value.len();
        }
    }
    value.truncate(fixed.max(value.trim_end().len()));
    value
}

/// Where `text` sets `variable`; the last counts.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let lines = super::lines(text);
    // Before systemd 254, a comment that ended in a backslash included the next line.
    let doubtful = |at: usize| {
        at > 0 && {
            let above = super::bare(lines[at - 1]);
            above.trim_start().starts_with(['#', ';']) && above.ends_with('\\')
        }
    };
    let all = env_lines(text).into_iter().filter(|entry| entry.name == variable);
    all.map(|entry| FoundValue {
        certain: !doubtful(entry.from),
        ..FoundValue::set(entry.from, entry.value)
    })
    .collect()
}

/// The lines, from 1, that a shell would take for an assignment and that set nothing here: `export NAME=VALUE`.
pub(crate) fn dropped(text: &str, variable: &str) -> Vec<u32> {
    let exports = |line: &str| {
        let rest = line.trim_start().strip_prefix("export").unwrap_or_default();
        let name =
            rest.trim_start().split('=').next().filter(|name| name.len() < rest.trim().len());
        rest.starts_with([' ', '\t']) && name == Some(variable)
    };
    let lines = super::lines(text).into_iter().enumerate();
    lines.filter(|(_, line)| exports(line)).map(|(at, _)| super::number(at)).collect()
}

/// # Errors
/// When the value holds control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let line = edit.value.map(|value| format!("{}={}", edit.variable, word(value)));
    let all = env_lines(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.name == edit.variable).map(|e| (e.from, e.to)).collect();
    Ok(put_line(text, edit, &found, line))
}

/// A value, quoted if necessary.
pub(crate) fn word(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,+@%=-".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    let mut word = "\"".to_owned();
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '$' | '`') {
            word.push('\\');
        }
        word.push(c);
    }
    word + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_systemd_reads_them() {
        let one = |line: &str| find(line, "V", None).pop().and_then(|found| found.value);
        let cases = [
            ("V=a #b\n", Some("a #b")),
            ("  V = a  \n", Some("a")),
            ("export V=a\n", None),
            ("V=\"a\"'b'c\n", Some("abc")),
            ("V=a\\tb\n", Some("atb")),
            ("V=\"\\x41\\$\"\n", Some("\\x41$")),
            ("V='a\\b $X'\n", Some("a\\b $X")),
            ("V=a\\\nb\n", Some("ab")),
            ("V=\"a\nb\"\n", Some("a\nb")),
            ("#V=a\n;V=b\n", None),
            ("V=\n", Some("")),
            ("V=\"a \" \n", Some("a ")),
            ("V=a\r\n", Some("a")),
            ("V='a'\r\n", Some("a")),
            ("A=b\rV=a\n", Some("a")),
            ("A=b\\\r\nV=a\n", Some("a")),
            ("A=b\\\nV=a\n", None),
        ];
        for (text, expected) in cases {
            assert_eq!(one(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(dropped("V=a\n export  V=b\nexportV=c\nexport W=d\n", "V"), [2]);
        assert_eq!(find("A=\"x\ny\"\nV=1\n", "V", None), [FoundValue::set(2, "1")]);
        assert!(!find("# x \\\nV=a\n", "V", None)[0].certain);
    }
}
