//! /etc/environment and /etc/default/locale, as pam_env(8) reads them.
//!
//! The same file is read by pam_env, by environment.d and by scripts that source it, each with
//! another grammar: only values that all of them take alike are written.

use super::{Edit, Found, bare, check, lines, put_line};

/// Reads `[export ]NAME=VALUE`: `#` cuts wherever it stands, one pair of quotes around the value is
/// taken away, nothing is expanded, `\` at a line's end joins.
fn entries(text: &str) -> Vec<(String, String, usize, usize)> {
    let mut entries = Vec::new();
    let all = lines(text);
    let mut at = 0;
    while at < all.len() {
        let from = at;
        let mut line = bare(all[at]).to_owned();
        at += 1;
        while line.ends_with('\\') && at < all.len() {
            line.pop();
            line.push_str(bare(all[at]));
            at += 1;
        }
        let cut = line.split('#').next().unwrap_or_default();
        let word = cut.trim_start();
        let word = word.strip_prefix("export ").map_or(word, str::trim_start);
        let Some((name, value)) = word.split_once('=') else { continue };
        if super::check_name(name).is_err() {
            continue;
        }
        entries.push((name.to_owned(), unquoted(value).to_owned(), from, at));
    }
    entries
}

/// Without one pair of quotes around it; a quote at one end only is taken away as well.
fn unquoted(value: &str) -> &str {
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let inner = &value[1..];
            inner.strip_suffix(quote).unwrap_or(inner)
        }
        _ => value,
    }
}

/// Where `text` sets `variable`; the last counts. An empty value removes it.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let all = entries(text).into_iter().filter(|(name, ..)| name == variable);
    all.map(|(_, value, from, _)| match value.is_empty() {
        true => Found::removed(from),
        false => Found::set(from, value),
    })
    .collect()
}

/// # Errors
/// Where the three readers of such a file would not all take the value alike.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:/+@=-".contains(c);
    if edit.value.is_some_and(|value| value.is_empty() || !value.chars().all(plain)) {
        return Err("pam_env, systemd and shells read such a value differently there: set it by \
                    hand, or elsewhere"
            .into());
    }
    let all = entries(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.0 == edit.variable).map(|(.., from, to)| (*from, *to)).collect();
    let line = edit.value.map(|value| format!("{}={value}", edit.variable));
    Ok(put_line(text, edit, &found, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_pam_env_reads_them() {
        let one = |line: &str| find(line, "V", None).pop().and_then(|found| found.value);
        let cases = [
            ("V=a #b\n", Some("a ")),
            ("export V=a\n", Some("a")),
            ("V=\"a'b\"\n", Some("a'b")),
            ("V='a'\n", Some("a")),
            ("V=$HOME\n", Some("$HOME")),
            ("V=a\\\nb\n", Some("ab")),
            ("V=a  \n", Some("a  ")),
            ("V=\n", None),
            ("#V=a\n", None),
        ];
        for (text, expected) in cases {
            assert_eq!(one(text).as_deref(), expected, "{text:?}");
        }
    }
}
