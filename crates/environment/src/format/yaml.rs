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
    /// The number of the line after it and after those that continue its value.
    pub to: usize,
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

/// The lines that are not empty and not comments. Lines that continue a value are part of the line where it begins.
///
/// # Errors
/// When tabs indent, or a quote or a bracket is not closed.
pub(super) fn lines(text: &str) -> Result<Vec<YamlLine<'_>>, EnvironmentError> {
    let mut out: Vec<YamlLine<'_>> = Vec::new();
    // The indent that lines of the last value exceed, and whether it is a text block: `#` begins no comment in it.
    let mut below: Option<(usize, bool)> = None;
    let mut open: Option<OpenValue> = None;
    for (at, line) in text.lines().enumerate() {
        let line = bare(line);
        let start = line.trim_start_matches(' ');
        let indent = line.len() - start.len();
        if let (Some(value), Some(last)) = (&mut open, out.last_mut()) {
            last.to = at + 1;
            if !value.still_open(line) {
                open = None;
            }
            continue;
        }
        if start.trim().is_empty() {
            continue;
        }
        let comment = start.starts_with('#');
        if let (Some((limit, text_block)), Some(last)) = (below, out.last_mut())
            && indent > limit
            && (text_block || !comment)
        {
            last.to = at + 1;
            continue;
        }
        if comment {
            continue;
        }
        if start.starts_with('\t') {
            return Err(format!("line {}: indented by a tab", at + 1).into());
        }
        let (line, content, limit) = with_value(at, line, indent)?;
        let marker = indent == 0 && (line.text.starts_with("---") || line.text == "...");
        below = match content.chars().next() {
            Some('|' | '>') => Some((limit, true)),
            None | Some('"' | '\'' | '[' | '{' | '*') => None,
            Some(_) => (!marker).then_some((limit, false)),
        };
        if content.starts_with(['"', '\'', '[', '{']) {
            let mut value = OpenValue { depth: 0, quote: None, before: ',' };
            open = value.still_open(content).then_some(value);
        }
        out.push(line);
    }
    match out.last().filter(|_| open.is_some()) {
        Some(last) => Err(format!("line {}: a quote or bracket is not closed", last.at + 1).into()),
        None => Ok(out),
    }
}

/// The line number `at`, which is indented by `indent`; its value without properties, and the column that lines below
/// must exceed to belong to that value.
///
/// # Errors
/// When its key begins with a question mark.
fn with_value(
    at: usize,
    line: &str,
    indent: usize,
) -> Result<(YamlLine<'_>, &str, usize), EnvironmentError> {
    let start = &line[indent..];
    let item = start.starts_with("- ") || start == "-";
    let rest = if item { start[1..].trim_start_matches(' ') } else { start };
    let column = line.len() - rest.len();
    let rest = comment_cut(rest);
    if rest.starts_with("? ") || rest == "?" {
        return Err(format!("line {}: keys with a question mark are not understood", at + 1).into());
    }
    let (value, limit) = value_of(rest, indent, column);
    let anchor = value.strip_prefix('&').filter(|name| !name.contains(' '));
    let text = anchor.map_or(rest, |name| rest[..rest.len() - name.len() - 1].trim_end());
    let line = YamlLine { at, to: at + 1, indent, item, text, column, anchor };
    Ok((line, without_properties(value), limit))
}

/// The value in a line's text, and the column that lines below must exceed to belong to it: that of its key, or
/// `dash` where it has none.
fn value_of(text: &str, dash: usize, column: usize) -> (&str, usize) {
    let (mut rest, mut dash, mut column) = (text, dash, column);
    while let Some(after) = rest.strip_prefix("- ") {
        let after = after.trim_start_matches(' ');
        dash = column;
        column += rest.len() - after.len();
        rest = after;
    }
    split_key(rest).map_or((rest, dash), |(_, value)| (value, column))
}

/// A value without its tag and its anchor.
fn without_properties(value: &str) -> &str {
    let mut rest = value;
    while rest.starts_with(['!', '&']) {
        rest = rest.split_once(' ').map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

/// A quoted scalar or a flow collection that is read to its end.
struct OpenValue {
    depth: usize,
    quote: Option<char>,
    /// The last character that is no blank.
    before: char,
}

impl OpenValue {
    /// Reads a line of it. Returns whether it goes on below.
    fn still_open(&mut self, line: &str) -> bool {
        let (mut blank, mut escaped) = (true, false);
        for c in line.chars() {
            match (self.quote, c) {
                _ if escaped => escaped = false,
                (Some('"'), '\\') => escaped = true,
                (Some(quote), _) if c == quote => self.quote = None,
                (Some(_), _) => {}
                (None, '#') if blank => break,
                (None, '\'') if self.before == '\'' && !blank => self.quote = Some(c),
                (None, '"' | '\'') if matches!(self.before, ',' | '[' | '{' | ':') => {
                    self.quote = Some(c);
                }
                (None, '[' | '{') => self.depth += 1,
                (None, ']' | '}') => self.depth = self.depth.saturating_sub(1),
                (None, _) => {}
            }
            blank = matches!(c, ' ' | '\t');
            if !blank {
                self.before = c;
            }
        }
        self.quote.is_some() || self.depth > 0
    }
}

/// Whether the value that begins in line `of` has more lines, or stands below it.
pub(super) fn spans(all: &[YamlLine<'_>], of: usize) -> bool {
    all[of].to > all[of].at + 1 || !children(all, of).is_empty()
}

/// Whether a line's text begins with a key that is understood as it is written.
pub(super) fn has_plain_key(text: &str) -> bool {
    let key = split_key(text).map_or("", |(key, _)| key);
    let odd = ['{', '[', '&', '*', '!', '|', '>', '%', '@', '`'];
    !key.is_empty() && !key.starts_with(odd) && !key.starts_with("- ") && !key.contains('\\')
}

/// Whether a value is a scalar of one line, without tag and alias.
pub(super) fn is_plain_scalar(value: &str) -> bool {
    !value.is_empty() && !value.starts_with(['{', '[', '&', '*', '!', '|', '>', '%', '@', '`'])
}

/// Why a value over lines is refused.
pub(super) const SPANS: &str = "a value over several lines is not changed automatically";

/// Why lines in flow style and the like are refused.
pub(super) const NOT_A_BLOCK: &str =
    "what is not written as a block (in braces, with a tag) is not changed automatically";

/// The refusal of what stands in line `at`, from 0.
pub(super) fn by_hand(at: usize, why: &str) -> EnvironmentError {
    format!("line {}: {why}: edit it by hand", at + 1).into()
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
            (None, '#') if matches!(before, ' ' | '\t') => return text[..at].trim_end(),
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
    split_key(text).map(|(key, value)| (scalar(key), value))
}

/// The same with the key as it is written.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next()?;
    let mut from = 0;
    if matches!(quote, '[' | '{') {
        return None;
    }
    if matches!(quote, '"' | '\'') {
        let mut escaped = false;
        let closes = |(_, c): &(usize, char)| {
            let is_end = *c == quote && !escaped;
            escaped = quote == '"' && *c == '\\' && !escaped;
            is_end
        };
        from = text.char_indices().skip(1).find(closes)?.0 + 1;
        if !text[from..].trim_start().starts_with(':') {
            return None;
        }
    }
    let ends = |at: &usize| {
        let behind = &text[at + 1..];
        behind.is_empty() || behind.starts_with([' ', '\t'])
    };
    let at = text[from..].match_indices(':').map(|(at, _)| from + at).find(ends)?;
    Some((text[..at].trim(), text[at + 1..].trim()))
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

/// The lines of the keys of the mapping under line `head`.
pub(super) fn keys(all: &[YamlLine<'_>], head: usize) -> Vec<usize> {
    let inside = children(all, head);
    let Some(level) = inside.first().map(|line| line.indent) else { return Vec::new() };
    let own = |line: &YamlLine<'_>| line.indent == level && !line.item;
    let all = inside.iter().enumerate().filter(|(_, line)| own(line));
    all.map(|(at, _)| head + 1 + at).collect()
}

/// The key `wanted` of the mapping under line `head`.
pub(super) fn key(all: &[YamlLine<'_>], head: usize, wanted: &str) -> Option<usize> {
    keys(all, head).into_iter().find(|at| pair(all[*at].text).is_some_and(|(key, _)| key == wanted))
}

/// The first line below line `head` that is neither a key nor, where `list` is allowed, an item of one line.
pub(super) fn not_a_block(all: &[YamlLine<'_>], head: usize, list: bool) -> Option<usize> {
    let inside = children(all, head);
    let first = inside.first()?;
    let is_odd = |(at, line): &(usize, &YamlLine<'_>)| match list && first.item {
        true => !line.item || !is_plain_scalar(line.text) || spans(all, *at),
        false => line.item || !has_plain_key(line.text),
    };
    let mut level = (head + 1..).zip(inside).filter(|(_, line)| line.indent == first.indent);
    // Items of a list below a key may stand in the key's own column.
    let own_items = |(_, line): &(usize, &YamlLine<'_>)| line.item && !first.item;
    level.find(|one| is_odd(one) && !own_items(one)).map(|(at, _)| at)
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
