//! Just enough of YAML to change one scalar of a block mapping and leave the rest as it is. What is not understood
//! (flow style where a block is expected, tabs) is refused.

use super::bare;
use crate::config_format::FilePath;
use crate::error::EnvironmentError;

/// Whether a file's name says that it is YAML.
pub(super) fn is_yaml(path: &FilePath<'_>) -> bool {
    path.ends(".yaml") || path.ends(".yml")
}

/// A line that is not empty and not a comment.
#[derive(Clone, Debug)]
pub(super) struct YamlLine<'a> {
    /// Its number, from 0.
    pub at: usize,
    /// Columns before its text; for an item `- x` those before the dash.
    pub indent: usize,
    /// Whether it begins an item of a list.
    pub item: bool,
    /// The text without indent and dash.
    pub text: &'a str,
    /// Column of that text.
    pub column: usize,
    /// The anchor (`&name`) of the block that begins here, which is no part of the text.
    pub anchor: Option<&'a str>,
}

/// The lines that are not empty and not comments. Text blocks (`|`, `>`) are left out.
///
/// # Errors
/// When tabs indent.
pub(super) fn lines(text: &str) -> Result<Vec<YamlLine<'_>>, EnvironmentError> {
    let mut out: Vec<YamlLine<'_>> = Vec::new();
    let mut block: Option<usize> = None;
    for (at, line) in text.lines().enumerate() {
        let line = bare(line);
        let start = line.trim_start_matches(' ');
        let indent = line.len() - start.len();
        if start.trim().is_empty() || start.starts_with('#') {
            continue;
        }
        if let Some(limit) = block {
            if indent > limit {
                continue;
            }
            block = None;
        }
        if start.starts_with('\t') {
            return Err(format!("line {}: indented by a tab", at + 1).into());
        }
        let (item, mut column, mut rest) = (start.starts_with("- ") || start == "-", indent, start);
        if item {
            let after = start[1..].trim_start_matches(' ');
            column = line.len() - after.len();
            rest = after;
        }
        let rest = comment_cut(rest);
        if rest.starts_with("? ") || rest == "?" {
            return Err(
                format!("line {}: keys with a question mark are not understood", at + 1).into()
            );
        }
        let text = rest.starts_with(['"', '\'']);
        let value = if text { "" } else { rest.split_once(": ").map_or(rest, |(_, v)| v.trim()) };
        let anchor = value.strip_prefix('&').filter(|name| !name.contains(' '));
        let rest = anchor.map_or(rest, |name| rest[..rest.len() - name.len() - 1].trim_end());
        if value.starts_with(['|', '>']) {
            block = Some(if item { column.saturating_sub(1).max(indent) } else { indent });
        }
        out.push(YamlLine { at, indent, item, text: rest, column, anchor });
    }
    Ok(out)
}

/// The same of a text whose values stand where they are used.
///
/// # Errors
/// When tabs indent, or anchors and aliases are used.
pub(super) fn plain_lines(text: &str) -> Result<Vec<YamlLine<'_>>, EnvironmentError> {
    let all = lines(text)?;
    let value =
        |line: &YamlLine<'_>| pair(line.text).map_or(line.text, |(_, value)| value).to_owned();
    let shared = |line: &&YamlLine<'_>| {
        line.anchor.is_some() || value(line).starts_with(['&', '*']) || line.text.starts_with("<<:")
    };
    if let Some(line) = all.iter().find(shared) {
        return Err(format!("line {}: anchors and aliases are not understood", line.at + 1).into());
    }
    Ok(all)
}

/// The names of the aliases in a value: `*a`, or `[*a, *b]`.
pub(super) fn aliases(value: &str) -> Vec<&str> {
    let inside = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(value);
    inside.split(',').filter_map(|word| word.trim().strip_prefix('*')).collect()
}

/// The line of the anchor that an alias in line `before` stands for: the last one above it.
pub(super) fn anchored(all: &[YamlLine<'_>], name: &str, before: usize) -> Option<usize> {
    all[..before].iter().rposition(|line| line.anchor == Some(name))
}

/// Without a comment, which begins with ` #` outside of quotes.
fn comment_cut(text: &str) -> &str {
    let (mut quote, mut before, mut escaped) = (None, ' ', false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (None, '#') if before == ' ' => return text[..at].trim_end(),
            (None, '"' | '\'') if matches!(before, ' ' | '[' | '{' | ',' | '-') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            _ => {}
        }
        before = c;
    }
    text.trim_end()
}

/// Key and value of a line of a mapping.
pub(super) fn pair(text: &str) -> Option<(String, &str)> {
    let (key, value) = match text.strip_suffix(':') {
        Some(key) if !key.contains(": ") => (key, ""),
        _ => text.split_once(": ").map(|(key, value)| (key, value.trim()))?,
    };
    Some((scalar(key.trim()), value))
}

/// A scalar of one line as the text it stands for.
pub(super) fn scalar(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(c) => out.push(c),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

/// A text as a quoted scalar.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The children of line `of`: the lines after it that are indented more, or, for a list under a key, items in the
/// key's own column.
pub(super) fn children<'a, 'b>(all: &'b [YamlLine<'a>], of: usize) -> &'b [YamlLine<'a>] {
    let column = all[of].column;
    let rest = &all[of + 1..];
    let end = rest.iter().position(|line| {
        let list_of_it = line.item && !all[of].item;
        line.indent < column || (line.indent == column && !list_of_it)
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// The one of `all` that is called `part`, or the only one. `what` they are stands in the error.
pub(super) fn choose<'a, T>(
    what: &str,
    all: &'a [T],
    name: impl Fn(&T) -> &str,
    part: Option<&str>,
) -> Result<&'a T, EnvironmentError> {
    let names = || all.iter().map(&name).collect::<Vec<_>>().join(", ");
    match (part, all) {
        (Some(part), all) => all
            .iter()
            .find(|one| name(one) == part)
            .ok_or_else(|| format!("there is no {what} {part}; there are: {}", names()).into()),
        (None, [one]) => Ok(one),
        (None, []) => Err(format!("no {what} in it is understood").into()),
        (None, _) => Err(format!("name one of its {what}s with --part: {}", names()).into()),
    }
}
