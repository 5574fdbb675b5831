//! sshd_config(5): `SetEnv`, which gives every session a variable, over all else; and what else in it is
//! about the environment.

use super::{Edit, Found, NOTE, bare, check, lines, splice};

/// Names and values.
type Pairs = Vec<(String, String)>;

/// A line that is about the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Says {
    /// `SetEnv NAME=VALUE …`. sshd takes the first such line it comes to, and no other.
    Set(Pairs),
    /// `AcceptEnv PATTERN …`: what a client may send. These lines add up.
    Accept(Vec<String>),
    /// `PermitUserEnvironment`: whether ~/.ssh/environment is read.
    UserFile(bool),
    /// `UsePAM`
    Pam(bool),
    /// `Include PATTERN …`
    Include(Vec<String>),
    /// `Match …`: what follows holds for some sessions only.
    Match,
}

/// What a text says, each with its line, from 0.
pub(crate) fn says(text: &str) -> Vec<(usize, Says)> {
    let all = lines(text).into_iter().enumerate();
    all.filter_map(|(at, line)| one(bare(line)).map(|said| (at, said))).collect()
}

fn one(line: &str) -> Option<Says> {
    let line = line.trim();
    let end = line.find([' ', '\t', '=', '"']).unwrap_or(line.len());
    let rest = line[end..].trim_start();
    let rest = rest.strip_prefix('=').unwrap_or(rest);
    let words = words(rest)?;
    let yes = |no: &str| words.first().is_some_and(|word| !word.eq_ignore_ascii_case(no));
    Some(match line[..end].to_ascii_lowercase().as_str() {
        "setenv" => {
            let pairs = words.iter().filter_map(|word| word.split_once('='));
            Says::Set(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        }
        "acceptenv" => Says::Accept(words),
        "permituserenvironment" => Says::UserFile(yes("no")),
        "usepam" => Says::Pam(yes("no")),
        "include" => Says::Include(words),
        "match" => Says::Match,
        _ => return None,
    })
}

/// Words up to a comment: quotes around a word or a part of one; a backslash before a quote or another
/// backslash. `None` where a quote is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => {
                let escaped = chars.next_if(|next| matches!(next, '"' | '\'' | '\\'));
                word.get_or_insert_default().push(escaped.unwrap_or('\\'));
            }
            (Some(q), c) if c == q => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ' | '\t') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The line of `SetEnv` that counts, for every session, from 0, with its variables; and where the first
/// `Match` begins.
fn first(text: &str) -> (Option<(usize, Pairs)>, Option<usize>) {
    let mut first = None;
    for (at, said) in says(text) {
        match said {
            Says::Set(pairs) if first.is_none() => first = Some((at, pairs)),
            Says::Match => return (first, Some(at)),
            _ => {}
        }
    }
    (first, None)
}

/// Where `text` sets `variable` for every session.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let Some((at, pairs)) = first(text).0 else { return Vec::new() };
    // The first of two in one line holds: that one is set, and the other is not.
    let pair = pairs.into_iter().find(|(name, _)| name == variable);
    pair.map(|(_, value)| Found::set(at, value)).into_iter().collect()
}

/// Puts it into the line that counts, or adds one: above the first `Match`, below which it would hold
/// for some only.
///
/// # Errors
/// Where the value holds control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    let (found, end) = first(text);
    let (at, is, mut pairs) = match found {
        Some((at, pairs)) => (at, true, pairs),
        None => (end.unwrap_or(lines(text).len()), false, Vec::new()),
    };
    match (pairs.iter_mut().find(|(name, _)| name == edit.variable), edit.value) {
        (Some(pair), Some(value)) => pair.1 = value.to_owned(),
        (None, Some(value)) => pairs.push((edit.variable.to_owned(), value.to_owned())),
        (Some(_), None) => pairs.retain(|(name, _)| name != edit.variable),
        (None, None) => return Ok(text.to_owned()),
    }
    let words: Vec<_> = pairs.iter().map(|(name, value)| word(name, value)).collect();
    let line = format!("SetEnv {}", words.join(" "));
    Ok(match (is, pairs.is_empty()) {
        (true, true) => splice(text, at, at + 1, &[]),
        (true, false) => splice(text, at, at + 1, &[line]),
        (false, _) => splice(text, at, at, &[NOTE.into(), line]),
    })
}

fn word(name: &str, value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,+@%=-".contains(c);
    if value.chars().all(plain) {
        return format!("{name}={value}");
    }
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{name}={value}\"")
}

/// Whether a pattern of `AcceptEnv` (`*`, `?`) fits a name.
pub(crate) fn accepts(pattern: &str, name: &str) -> bool {
    match (pattern.chars().next(), name.chars().next()) {
        (None, None) => true,
        (Some('*'), _) => {
            let rest = &pattern[1..];
            name.char_indices().any(|(at, _)| accepts(rest, &name[at..])) || accepts(rest, "")
        }
        (Some('?'), Some(c)) => accepts(&pattern[1..], &name[c.len_utf8()..]),
        (Some(p), Some(c)) if p == c => accepts(&pattern[p.len_utf8()..], &name[c.len_utf8()..]),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `sshd -T` prints them: OpenSSH 9.2.
    #[test]
    fn the_first_line_counts_and_a_match_is_for_some() {
        let text = "setenv A=1 \"B=x y\" # c\nSetEnv TZ=no\nMatch all\n SetEnv C=4\n";
        assert_eq!(find(text, "B", None), [Found::set(0, "x y")]);
        assert_eq!(find(text, "TZ", None), []);
        assert_eq!(find("Match all\nSetEnv A=1\n", "A", None), []);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        let new = put(text, &edit).unwrap();
        assert!(new.starts_with("SetEnv A=1 \"B=x y\" TZ=UTC\nSetEnv TZ=no\n"), "{new}");
        let new = put("Port 22\nMatch all\n", &edit).unwrap();
        assert_eq!(new, format!("Port 22\n{NOTE}\nSetEnv TZ=UTC\nMatch all\n"));
        assert_eq!(put("SetEnv TZ=a\n", &Edit { value: None, ..edit }).unwrap(), "");
    }

    #[test]
    fn words_as_sshd_takes_them() {
        let one = |text: &str| find(text, "A", None).pop().and_then(|found| found.value);
        for (text, value) in [
            ("SetEnv=A=1", "1"),
            ("SetEnv \"A=x\\\"y\"", "x\"y"),
            ("SetEnv A=a#b", "a#b"),
            ("SetEnv A=a\\b", "a\\b"),
            ("SetEnv \"A=a\\\\b\"", "a\\b"),
            ("SetEnv \"A=it's\"", "it's"),
        ] {
            assert_eq!(one(text).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn patterns_of_accept_env() {
        for (pattern, name, fits) in [
            ("LC_*", "LC_ALL", true),
            ("LC_*", "LANG", false),
            ("*", "TZ", true),
            ("T?", "TZ", true),
            ("T?", "T", false),
            ("*G", "LANG", true),
        ] {
            assert_eq!(accepts(pattern, name), fits, "{pattern} {name}");
        }
    }
}
