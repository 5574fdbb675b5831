//! Files that `EnvironmentFile=` of systemd.exec(5) names, and locale.conf(5): like a shell's, but
//! not a shell's.

use super::{Edit, Found, check, put_line};

/// A variable, and its lines.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// Reads `NAME=VALUE` lines: `#` and `;` comments only at the start of a line, blanks around names
/// and unquoted values cut, quotes anywhere in a value, `\` before a line's end joins. `$` and `%`
/// mean nothing; a line `export X=1` sets nothing.
pub(crate) fn entries(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut chars = text.chars().peekable();
    let mut line = 0;
    while chars.peek().is_some() {
        let from = line;
        let mut name = String::new();
        let mut ended = false;
        for c in chars.by_ref() {
            match c {
                '\n' => {
                    line += 1;
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
                if c == '\n' {
                    line += 1;
                    break;
                }
            }
            continue;
        }
        let value = value(&mut chars, &mut line);
        if super::check_name(&name).is_ok() {
            entries.push(Entry { name, value, from, to: line.max(from + 1) });
        }
    }
    entries
}

/// A value up to its line's end.
fn value(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, line: &mut usize) -> String {
    let mut value = String::new();
    // How much of the value the blanks at its end may not be cut from.
    let mut fixed = 0;
    let mut quote = None;
    while let Some(c) = chars.next() {
        if c == '\n' {
            *line += 1;
        }
        match (quote, c) {
            (None, '\n') => break,
            (None, '\\') => match chars.next() {
                Some('\n') => *line += 1,
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
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let lines = super::lines(text);
    // Before systemd 254 a comment that ends in a backslash took the next line with it.
    let doubtful = |at: usize| {
        at > 0 && {
            let above = super::bare(lines[at - 1]);
            above.trim_start().starts_with(['#', ';']) && above.ends_with('\\')
        }
    };
    let all = entries(text).into_iter().filter(|entry| entry.name == variable);
    all.map(|entry| Found { certain: !doubtful(entry.from), ..Found::set(entry.from, entry.value) })
        .collect()
}

/// # Errors
/// Where the value holds control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    let line = edit.value.map(|value| format!("{}={}", edit.variable, word(value)));
    let all = entries(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.name == edit.variable).map(|e| (e.from, e.to)).collect();
    Ok(put_line(text, edit, &found, line))
}

/// A value, quoted where it has to be.
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
        ];
        for (text, expected) in cases {
            assert_eq!(one(text).as_deref(), expected, "{text:?}");
        }
        assert_eq!(find("A=\"x\ny\"\nV=1\n", "V", None), [Found::set(2, "1")]);
        assert!(!find("# x \\\nV=a\n", "V", None)[0].certain);
    }
}
