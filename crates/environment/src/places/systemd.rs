//! Unit files and drop-ins of systemd, and `DefaultEnvironment=` of system.conf: systemd.exec(5),
//! systemd.syntax(7).

use super::{Edit, FoundValue, bare};
use crate::error::EnvironmentError;

/// A directive about the environment, or another one that matters for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UnitDirective {
    /// `Environment=NAME=VALUE`, and whether the value is certain: it holds no specifier.
    Set(String, String, bool),
    /// `Environment=` with nothing: drops all settings before it.
    Reset,
    /// `EnvironmentFile=[-]PATH`; whether it may be missing.
    File(String, bool),
    /// `EnvironmentFile=` with nothing.
    ResetFiles,
    /// `PassEnvironment=NAME`
    Pass(String),
    /// `PassEnvironment=` with nothing.
    ResetPass,
    /// `UnsetEnvironment=NAME`, or `NAME=VALUE`: only that value.
    Unset(String, Option<String>),
    /// `UnsetEnvironment=` with nothing.
    ResetUnset,
    /// `PAMName=`
    Pam(String),
    /// `User=`
    User(String),
    /// `Exec…=` words, the command line.
    Exec(String),
    /// `LimitNOFILE=`; with nothing it drops what was set before.
    Limit(String),
}

/// The limit of open files: the soft one, or both with a colon between them.
pub(crate) const LIMIT: &str = "LimitNOFILE";

/// The directives of `text` in `[Service]`, or in `[Manager]` with `DefaultEnvironment` as `key`, each with its line.
pub(crate) fn directives(text: &str, section: &str, key: &str) -> Vec<(usize, UnitDirective)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in joined(text) {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            inside = name == section;
            continue;
        }
        let Some((name, value)) = line.split_once('=').filter(|_| inside) else { continue };
        let (name, value) = (name.trim(), value.trim());
        let words = || words(value).unwrap_or_default().into_iter();
        match name {
            _ if name == key && value.is_empty() => found.push((at, UnitDirective::Reset)),
            _ if name == key => found.extend(words().filter_map(|word| {
                let (name, value) = word.split_once('=')?;
                super::check_name(name).ok()?;
                let certain = !value.replace("%%", "").contains('%');
                Some((at, UnitDirective::Set(name.to_owned(), percent(value), certain)))
            })),
            "EnvironmentFile" if value.is_empty() => found.push((at, UnitDirective::ResetFiles)),
            "EnvironmentFile" => {
                let path = value.strip_prefix('-').unwrap_or(value);
                found.push((at, UnitDirective::File(percent(path), path.len() < value.len())));
            }
            "PassEnvironment" if value.is_empty() => found.push((at, UnitDirective::ResetPass)),
            "PassEnvironment" => found.extend(words().map(|word| (at, UnitDirective::Pass(word)))),
            "UnsetEnvironment" if value.is_empty() => found.push((at, UnitDirective::ResetUnset)),
            "UnsetEnvironment" => found.extend(words().map(|word| match word.split_once('=') {
                Some((name, value)) => {
                    (at, UnitDirective::Unset(name.to_owned(), Some(value.to_owned())))
                }
                None => (at, UnitDirective::Unset(word, None)),
            })),
            "PAMName" if !value.is_empty() => {
                found.push((at, UnitDirective::Pam(value.to_owned())))
            }
            "User" if !value.is_empty() => found.push((at, UnitDirective::User(value.to_owned()))),
            LIMIT => found.push((at, UnitDirective::Limit(value.to_owned()))),
            "ExecStart" if !value.is_empty() => {
                found.push((at, UnitDirective::Exec(value.to_owned())))
            }
            _ => {}
        }
    }
    found
}

/// Lines joined with their continuations (`\` at the end), without comments; the number is the first line's. A
/// comment inside a continuation is left out (systemd.syntax(7)).
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if start.starts_with(['#', ';']) {
            continue;
        }
        let (part, more) = match bare(line).strip_suffix('\\') {
            Some(part) => (part, true),
            None => (bare(line), false),
        };
        match out.last_mut().filter(|_| open) {
            Some((_, whole)) => {
                whole.push(' ');
                whole.push_str(part);
            }
            None => out.push((at, part.to_owned())),
        }
        open = more;
    }
    out
}

/// The words of a value: quotes around a whole word or a part of one, C escapes, `%%`. `None` where a quote is not
/// closed.
pub(crate) fn words(value: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
    let mut quote = None;
    let mut chars = value.chars();
    let put = |word: &mut Option<Vec<u8>>, c: char| {
        let mut bytes = [0; 4];
        word.get_or_insert_default().extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
    };
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => escape(&mut chars, word.get_or_insert_default()),
            (c, Some(q)) if c == q => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_ascii_whitespace() => words.extend(word.take()),
            (c, _) => put(&mut word, c),
        }
    }
    words.extend(word);
    let text = |word: Vec<u8>| String::from_utf8_lossy(&word).into_owned();
    quote.is_none().then(|| words.into_iter().map(text).collect())
}

/// One escape after its backslash.
fn escape(chars: &mut std::str::Chars<'_>, into: &mut Vec<u8>) {
    let number = |chars: &mut std::str::Chars<'_>, digits: usize, radix: u32| {
        let text: String = chars.clone().take(digits).collect();
        let value = u32::from_str_radix(&text, radix).ok().filter(|_| text.len() == digits)?;
        chars.nth(digits - 1);
        Some(value)
    };
    let push = |into: &mut Vec<u8>, c: char| {
        let mut bytes = [0; 4];
        into.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
    };
    let Some(c) = chars.clone().next() else { return into.push(b'\\') };
    if c.is_ascii_digit() {
        match number(chars, 3, 8).and_then(|n| u8::try_from(n).ok()) {
            Some(byte) => into.push(byte),
            None => into.push(b'\\'),
        }
        return;
    }
    chars.next();
    match c {
        'a' => into.push(7),
        'b' => into.push(8),
        'f' => into.push(12),
        'n' => into.push(b'\n'),
        'r' => into.push(b'\r'),
        't' => into.push(b'\t'),
        'v' => into.push(11),
        's' => into.push(b' '),
        'x' => into.extend(number(chars, 2, 16).and_then(|n| u8::try_from(n).ok())),
        'u' => push(into, number(chars, 4, 16).and_then(char::from_u32).unwrap_or('?')),
        'U' => push(into, number(chars, 8, 16).and_then(char::from_u32).unwrap_or('?')),
        c => push(into, c),
    }
}

/// `%%` as `%`; other specifiers stay, since only systemd knows their values.
fn percent(text: &str) -> String {
    text.replace("%%", "%")
}

/// Where `Environment=` of a section sets `variable`.
pub(crate) fn assignments(text: &str, section: &str, variable: &str) -> Vec<FoundValue> {
    let mut set = Vec::new();
    for (at, said) in directives(text, section, "Environment") {
        match said {
            UnitDirective::Reset => set.clear(),
            UnitDirective::Set(name, value, certain) if name == variable => {
                set.push(FoundValue { certain, ..FoundValue::set(at, value) });
            }
            _ => {}
        }
    }
    set
}

/// Where a unit's text sets or removes `variable`. `UnsetEnvironment=` counts wherever it is.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let (mut set, mut removed) = (assignments(text, "Service", variable), Vec::new());
    for (at, said) in directives(text, "Service", "Environment") {
        match said {
            UnitDirective::ResetUnset => removed.clear(),
            UnitDirective::Unset(name, value) if name == variable => removed.push((at, value)),
            _ => {}
        }
    }
    let last = set.last().and_then(|found| found.value.clone());
    let removed = removed.into_iter().filter(|(_, value)| value.is_none() || *value == last);
    let removed: Vec<_> = removed.map(|(at, _)| FoundValue::removed(at)).collect();
    set.extend(removed);
    set
}

/// A drop-in of ours is rewritten, with the other variables of earlier changes. To another text lines are added,
/// and everything else stays.
///
/// # Errors
/// When the value holds control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let line = match edit.value {
        Some(value) => assignment(edit.variable, value),
        None => format!("UnsetEnvironment={}", edit.variable),
    };
    Ok(with_line(text, edit, line, find(text, edit.variable, None).pop()))
}

/// The text with a line of ours; `found`: what counts in it now.
pub(crate) fn with_line(
    text: &str,
    edit: &Edit<'_>,
    line: String,
    found: Option<FoundValue>,
) -> String {
    if !is_ours(text) {
        return put_below(text, edit, line, found);
    }
    let mut kept: Vec<String> = Vec::new();
    for (_, said) in directives(text, "Service", "Environment") {
        let (name, line) = match said {
            UnitDirective::Set(name, value, _) => (name.clone(), assignment(&name, &value)),
            UnitDirective::Unset(name, None) => (name.clone(), format!("UnsetEnvironment={name}")),
            UnitDirective::Limit(value) => (LIMIT.to_owned(), format!("{LIMIT}={value}")),
            _ => continue,
        };
        kept.extend((name != edit.variable).then_some(line));
    }
    kept.push(line);
    format!("{}\n[Service]\n{}\n", super::NOTE, kept.join("\n"))
}

/// Whether a text holds only what `put` writes.
fn is_ours(text: &str) -> bool {
    let mut lines = text.lines();
    let ours = |line: &str| {
        ["Environment=\"", "UnsetEnvironment=", "LimitNOFILE="]
            .iter()
            .any(|own| line.starts_with(own))
    };
    match (lines.next(), lines.next()) {
        (None, _) => true,
        (Some(super::NOTE), Some("[Service]")) => lines.all(ours),
        _ => false,
    }
}

/// Replaces a line of ours, else adds one at the end with a section head: systemd.syntax(7) lets a section be
/// repeated.
fn put_below(text: &str, edit: &Edit<'_>, line: String, found: Option<FoundValue>) -> String {
    let (is, all) = (found.as_ref().map(|found| found.value.as_deref()), super::lines(text));
    if is == Some(edit.value) || (is.is_none() && edit.value.is_none()) {
        return text.to_owned();
    }
    let at = found.map(|found| found.line as usize - 1).filter(|at| {
        *at > 0 && bare(all[at - 1]) == "[Service]" && *at > 1 && bare(all[at - 2]) == super::NOTE
    });
    match at {
        Some(at) => super::splice(text, at, at + 1, &[line]),
        None => {
            let end = all.len();
            super::splice(text, end, end, &[super::NOTE.into(), "[Service]".into(), line])
        }
    }
}

/// A section of a text that others wrote: `line` takes the place of the last one that sets the variable and nothing else,
/// or comes below the section's last line. Without `line` the variable is removed.
///
/// # Errors
/// When there is no such section, or when the line of a variable to remove has others in it.
pub(crate) fn put_in_section(
    text: &str,
    section: &str,
    edit: &Edit<'_>,
    line: Option<String>,
) -> Result<String, EnvironmentError> {
    let all = super::lines(text);
    let said = directives(text, section, "Environment");
    let alone = |at: usize| {
        said.iter().filter(|(line, _)| *line == at).count() == 1 && !bare(all[at]).ends_with('\\')
    };
    let found = assignments(text, section, edit.variable);
    let lines: Vec<usize> = found.iter().map(|found| found.line as usize - 1).collect();
    let Some(line) = line else {
        if let Some(at) = lines.iter().find(|at| !alone(**at)) {
            return Err(format!("line {}: it sets others, too: edit it by hand", at + 1).into());
        }
        let removed = lines.iter().rev();
        return Ok(removed.fold(text.to_owned(), |text, at| super::splice(&text, *at, at + 1, &[])));
    };
    if let Some(at) = lines.last().filter(|at| alone(**at)) {
        return Ok(super::splice(text, *at, at + 1, &[line]));
    }
    let head = format!("[{section}]");
    let Some(begin) = all.iter().rposition(|line| line.trim() == head) else {
        return Err(format!("it has no {head}").into());
    };
    let next = all[begin + 1..].iter().position(|line| line.trim_start().starts_with('['));
    let end = next.map_or(all.len(), |next| begin + 1 + next);
    let last = all[..end].iter().rposition(|line| !line.trim().is_empty()).unwrap_or(begin);
    if bare(all[last]).ends_with('\\') {
        return Err(format!("line {}: it does not end there: edit it by hand", last + 1).into());
    }
    Ok(super::splice(text, last + 1, last + 1, &[line]))
}

pub(crate) fn assignment(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    format!("Environment=\"{name}={value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_quotes_and_escapes() {
        let text = "[Service]\nEnvironment=A=1 \"B=x y\" 'C=z' D=\"q r\" TZ=a\\x20b E-X=1 P=50%%\n";
        let all = directives(text, "Service", "Environment");
        let expected =
            [("A", "1"), ("B", "x y"), ("C", "z"), ("D", "q r"), ("TZ", "a b"), ("P", "50%")];
        let expected = expected.map(|(n, v)| (1, UnitDirective::Set(n.into(), v.into(), true)));
        assert_eq!(all, expected);
    }

    /// A drop-in of an administrator keeps every line of its own.
    #[test]
    fn a_text_of_others_keeps_all_that_is_in_it() {
        let theirs = "[Unit]\nAfter=x.service\n[Service]\nExecStart=\nExecStart=/bin/x\nEnvironmentFile=/etc/x\nEnvironment=A=1 TZ=a\n";
        let edit = |value| Edit { variable: "TZ", value, part: None };
        let once = put(theirs, &edit(Some("UTC"))).unwrap();
        assert_eq!(once.strip_prefix(theirs).unwrap().lines().count(), 3, "{once}");
        assert_eq!(find(&once, "TZ", None).pop().unwrap().value.as_deref(), Some("UTC"));
        let again = put(&once, &edit(Some("Asia/Tokyo"))).unwrap();
        assert_eq!(again, once.replace("TZ=UTC", "TZ=Asia/Tokyo"));
        let removed = put(theirs, &edit(None)).unwrap();
        assert!(removed.starts_with(theirs) && removed.ends_with("UnsetEnvironment=TZ\n"));
    }

    #[test]
    fn what_is_unset_is_unset_wherever_it_stands() {
        let text = "[Service]\nUnsetEnvironment=TZ\nEnvironment=TZ=a\n";
        assert_eq!(find(text, "TZ", None).pop(), Some(FoundValue::removed(1)));
        let text = "[Service]\nUnsetEnvironment=TZ=b\nEnvironment=TZ=a\n";
        assert_eq!(find(text, "TZ", None).pop(), Some(FoundValue::set(2, "a")));
    }

    #[test]
    fn comments_continuations_sections_and_resets() {
        let text = "[Unit]\nEnvironment=TZ=no\n[Service]\n# Environment=TZ=no\nEnvironment=A=1 \\\n; x\n TZ=UTC\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::set(4, "UTC")]);
        assert_eq!(find(&format!("{text}Environment=\n"), "TZ", None), []);
        let text = "[Service]\nUnsetEnvironment=A TZ\nEnvironmentFile=-/etc/x\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::removed(1)]);
        assert_eq!(
            directives(text, "Service", "Environment")[2].1,
            UnitDirective::File("/etc/x".into(), true)
        );
    }
}
