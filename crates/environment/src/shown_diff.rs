//! The diff that a person sees before a change. It is built from what may be shown, not from the file with secrets
//! taken out: paths, line numbers, the changed variable, its new value, its old one where its form is harmless, and a
//! few words of the formats. All other text of a changed line is `…`, and lines beside it are left out. So no way of
//! writing a secret in a file, known or not, brings it to a screen or a log. `fix --diff` prints the file's own text.

use crate::journal::FileChange;
use crate::merge::SHOWN;
use crate::places::NOTE;
use needless_model::shorten;
use similar::ChangeTag;

/// Stands for text that is not shown.
pub(crate) const HIDDEN_TEXT: &str = "…";
/// Words of the formats before the variable or its value, at the start of a line.
const WORDS: [&str; 12] = [
    "export",
    "unset",
    "ENV",
    "env",
    "Environment",
    "UnsetEnvironment",
    "environment",
    "SetEnv",
    "Defaults",
    "env_keep",
    "name",
    "value",
];
/// Lines of the formats that have neither the variable nor a value.
const LINES: [&str; 3] = ["[Service]", "env:", "environment:"];
/// What may be between a name and what follows; no more of it than `MARKS` characters.
const MARK: [char; 10] = [' ', '\t', '=', ':', '"', '\'', '[', ']', '+', '-'];
const MARKS: usize = 6;

/// What may be shown of a changed line.
pub(crate) struct Showable<'a> {
    /// The variable; empty where a change is about something else.
    pub(crate) variable: &'a str,
    /// Values of it, or whole lines where there is no variable.
    pub(crate) values: &'a [String],
    /// Whether the new value may be shown: then a new file, all of which we write, is shown whole.
    pub(crate) new_file: bool,
}

/// The lines that a change removes and adds. `names`: the file's name before and after.
pub(crate) fn shown_diff(
    file: &FileChange,
    (before, after): (&str, &str),
    names: (&str, &str),
    showable: &Showable<'_>,
) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    let mut unified = diff.unified_diff();
    unified.context_radius(0);
    let mut out = format!("--- {}\n+++ {}\n", names.0, names.1);
    let whole = file.before.is_none() && showable.new_file;
    for hunk in unified.iter_hunks() {
        out.push_str(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let line = change.value().trim_end_matches(['\n', '\r']);
            let line = if whole { line.to_owned() } else { shown_line(line, showable) };
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            out.push_str(&format!("{sign}{}\n", shorten(&line, SHOWN.0, SHOWN.1)));
        }
    }
    out
}

/// Whether all of a line may be shown.
pub(crate) fn is_shown(line: &str, showable: &Showable<'_>) -> bool {
    shown_line(line, showable).trim_end() == line.trim_end()
}

/// A line without anything but the changed variable, its known values, and words of the formats.
fn shown_line(line: &str, showable: &Showable<'_>) -> String {
    let text = line.trim();
    if text.is_empty() || text == NOTE || LINES.contains(&text) {
        return line.to_owned();
    }
    if showable.variable.is_empty() {
        let known =
            showable.values.iter().any(|known| known == text.trim_start_matches(['#', ' ']));
        return if known { line.to_owned() } else { HIDDEN_TEXT.to_owned() };
    }
    // What is visible: ranges of bytes, in order.
    let mut visible: Vec<(usize, usize)> = Vec::new();
    let (head, ends_in_value) = head(line);
    let mut at = head;
    if let Some(end) = value_at(line, head, showable.values).filter(|_| ends_in_value) {
        visible.push((head, end));
        at = end;
    }
    while let Some(found) = line[at..].find(showable.variable).map(|found| at + found) {
        let end = found + showable.variable.len();
        at = end;
        let inside = |c: Option<char>| c.is_some_and(is_word);
        if inside(line[..found].chars().next_back()) || inside(line[end..].chars().next()) {
            continue;
        }
        let quoted = line[..found].ends_with(['"', '\'']);
        let value = after_marks(line, end);
        let value = line[value..]
            .strip_prefix("DEFAULT")
            .map_or(value, |rest| after_marks(line, line.len() - rest.len()));
        at = value_at(line, value, showable.values).unwrap_or(value);
        visible.push((found - usize::from(quoted), at));
    }
    let Some((first, _)) = visible.first().copied() else { return HIDDEN_TEXT.to_owned() };
    // The words of the format belong to what follows them.
    visible.insert(0, (0, head.min(first)));
    let (mut out, mut to) = (String::new(), 0);
    for (from, end) in visible {
        if from > to {
            out.push_str(HIDDEN_TEXT);
            out.push_str(if line[..from].ends_with(' ') { " " } else { "" });
        }
        out.push_str(&line[from.max(to)..end]);
        to = end;
    }
    if to < line.trim_end().len() {
        out.push_str(if line[to..].starts_with(' ') { " " } else { "" });
        out.push_str(HIDDEN_TEXT);
    }
    out
}

/// The end of the indent and of the format's words at the start of a line, and whether a value follows.
fn head(line: &str) -> (usize, bool) {
    let mut at = line.len() - line.trim_start().len();
    if line[at..].starts_with("- ") {
        at += 2;
    }
    let mut ends_in_value = false;
    loop {
        let rest = &line[at..];
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if !WORDS.contains(&word) {
            return (at, ends_in_value);
        }
        ends_in_value = word == "value";
        at = after_marks(line, at + word.len());
    }
}

/// The end of the marks that begin at `at`.
fn after_marks(line: &str, at: usize) -> usize {
    let marks = line[at..].chars().take_while(|c| MARK.contains(c)).take(MARKS);
    at + marks.map(char::len_utf8).sum::<usize>()
}

/// The end of a known value that begins at `at`, after the marks, and is all of its word, with the quote behind it.
fn value_at(line: &str, at: usize, values: &[String]) -> Option<usize> {
    let ends = values.iter().filter_map(|value| {
        // What a value begins with may be a mark, too: ":/etc/localtime".
        let rest = value.trim_start_matches(MARK);
        let marks = &value[..value.len() - rest.len()];
        let is_there =
            !rest.is_empty() && line[..at].ends_with(marks) && line[at..].starts_with(rest);
        is_there.then_some(at + rest.len())
    });
    ends.filter_map(|end| {
        let mut rest = line[end..].chars();
        match rest.next() {
            None | Some(' ' | '\t') => Some(end),
            Some('"' | '\'') if rest.next().is_none_or(|c| " \t,]".contains(c)) => Some(end + 1),
            Some(',' | ']') => Some(end),
            _ => None,
        }
    })
    .max()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(line: &str, variable: &str, values: &[&str]) -> String {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        shown_line(line, &Showable { variable, values: &values, new_file: true })
    }

    #[test]
    fn the_changed_variable_stays_visible() {
        for (text, shown) in [
            ("TZ=UTC", "TZ=UTC"),
            ("export TZ=UTC", "export TZ=UTC"),
            ("export TZ='UTC' # key", "export TZ='UTC' …"),
            ("unset TZ", "unset TZ"),
            ("TZ=UTC; curl -u me:pw", "TZ=…"),
            ("TZ=$(curl -u me:pw h)", "TZ=…"),
            ("TZ=UTC run --password X", "TZ=UTC …"),
            ("API=x TZ=UTC y", "… TZ=UTC …"),
            ("Environment=\"SECRET=a b\" \"TZ=UTC\"", "Environment=\"… \"TZ=UTC\""),
            ("environment=A=\"1\",TZ=\"UTC\",B=\"2\"", "environment=…TZ=\"UTC\"…"),
            ("env[TZ] = \"UTC\"", "env[TZ] = \"UTC\""),
            ("  - name: TZ", "  - name: TZ"),
            ("    value: \"UTC\"", "    value: \"UTC\""),
            ("    value: \"hunter2\"", "…"),
            ("    value: \"a TZ b\" TZ", "    value: \"a TZ b\"… TZ"),
            ("      - \"TZ=UTC\"", "      - \"TZ=UTC\""),
            ("TZ DEFAULT=UTC", "TZ DEFAULT=UTC"),
            ("SetEnv \"A=1 2\" TZ=UTC # c", "SetEnv \"… TZ=UTC …"),
            ("Defaults env_keep += \"TZ\"", "Defaults env_keep += \"TZ\""),
            ("AZTZ=UTC", "…"),
            ("ENV TZ=\":/etc/localtime\"", "ENV TZ=\":/etc/localtime\""),
            ("    value: \":/etc/localtime\"", "    value: \":/etc/localtime\""),
            ("TZ=/etc/localtime", "TZ=…"),
            ("[Service]", "[Service]"),
            ("[hunter2]", "…"),
            ("name value env", "…"),
        ] {
            assert_eq!(
                line(text, "TZ", &["UTC", "Asia/Tokyo", "a TZ b", ":/etc/localtime"]),
                shown,
                "{text}"
            );
        }
        assert_eq!(line("# el_GR.UTF-8 UTF-8", "", &["el_GR.UTF-8 UTF-8"]), "# el_GR.UTF-8 UTF-8");
    }
}
