//! Text for Markdown.

use crate::text::escape;

/// Escapes the characters that have a meaning in Markdown.
pub(crate) fn text(from: &str) -> String {
    let mut safe = String::with_capacity(from.len());
    for c in escape(from).chars() {
        if "\\`*_{}[]<>#|!~$&".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// A code span, which no backquote inside it ends.
pub(crate) fn code(from: &str) -> String {
    let from = escape(from);
    if !from.contains('`') {
        return format!("`{from}`");
    }
    let (mut longest, mut run) = (0, 0);
    for c in from.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(longest + 1);
    format!("{fence} {from} {fence}")
}

/// The cell of a table: a code span, unless a bar or a backslash in it could end the cell.
pub(crate) fn cell(from: &str) -> String {
    if from.contains(['|', '\\']) { text(from) } else { code(from) }
}

/// Escapes the characters that have a meaning in HTML, for a line that Markdown takes for HTML.
pub(crate) fn html(from: &str) -> String {
    escape(from)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}
