//! Text and numbers for people: escaped, and with units.

use crate::Style;
use anstyle::{AnsiColor, Style as Ansi};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write;

pub(crate) use needless_rules::text::{count, list};
pub use needless_rules::text::{number, wrap};

/// `text` without effect on a terminal: control characters, and characters that reorder or hide others, are
/// written as escapes (`\x1b`, `\n`, `\u{202e}`).
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(harmful) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if harmful(c) && c.is_ascii() => {
                let _ = write!(safe, "\\x{:02x}", c as u32);
            }
            c if harmful(c) => {
                let _ = write!(safe, "\\u{{{:x}}}", c as u32);
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Controls (C0, DEL, C1) and the invisible characters that change how others are shown:
/// zero-width and bidirectional ones, line and paragraph separators, tags.
pub(crate) fn harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `value` quoted for a POSIX shell; for bash, if it has control characters.
pub fn shell_word(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_/.:,+@%=-".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        return value.to_owned();
    }
    if !value.chars().any(harmful) {
        return format!("'{}'", value.replace('\'', r"'\''"));
    }
    let mut word = "$'".to_owned();
    for c in value.chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            c if harmful(c) => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    let _ = write!(word, "\\{byte:03o}");
                }
            }
            c => word.push(c),
        }
    }
    word + "'"
}

/// As [`shell_word`], for any bytes.
pub(crate) fn shell_os_word(word: &OsStr) -> String {
    if let Some(text) = word.to_str() {
        return shell_word(text);
    }
    let mut quoted = "$'".to_owned();
    for byte in word.as_encoded_bytes() {
        match byte {
            b'\'' | b'\\' => quoted.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => quoted.push(char::from(*byte)),
            _ => {
                let _ = write!(quoted, "\\{byte:03o}");
            }
        }
    }
    quoted + "'"
}

/// A fraction from 0 to 1 as a percentage that never rounds to nothing or to everything.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        p if p < 0.1 => "< 0.1 %".to_owned(),
        p if p >= 100.0 => "100 %".to_owned(),
        p if p >= 99.95 => "> 99.9 %".to_owned(),
        p => format!("{p:.1} %"),
    }
}

/// A time with two or three digits and its unit.
pub(crate) fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..999_500 => (ns as f64 / 1e3, "µs"),
        999_500..999_500_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// The beginning of `text` that fits into `columns`, with `…` if something is left out.
pub fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    kept.trim_end().to_owned() + "…"
}

/// A line of a table of five columns, of which the first two are aligned to the right; the last one,
/// which gets what is left of `width`, is returned by itself.
pub(crate) fn row(cells: &[String; 5], widths: &[usize], width: usize) -> (String, String) {
    let [saves, calls, rule, who, fix] = cells;
    let text = format!(
        "{saves:>a$}  {calls:>b$}  {rule:<c$}  {who:<d$}  ",
        a = widths[0],
        b = widths[1],
        c = widths[2],
        d = widths[3]
    );
    let left = width.saturating_sub(text.chars().count());
    // A short fix is never cut: on a narrow terminal the line is then longer.
    (text, cut(fix, left.max(crate::overview::FIX)))
}

/// What a part of a report is, which selects its colour.
#[derive(Clone, Copy)]
pub(crate) enum Tint {
    /// The name of a rule, a heading.
    Name,
    /// What to do.
    Fix,
    /// A warning.
    Care,
    /// Labels and other secondary text.
    Faint,
}

impl Style {
    /// `text`, which must be escaped already, in its colour.
    pub(crate) fn paint(self, tint: Tint, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let ansi = match tint {
            Tint::Name => Ansi::new().bold(),
            Tint::Fix => AnsiColor::Green.on_default(),
            Tint::Care => AnsiColor::Yellow.on_default(),
            Tint::Faint => Ansi::new().dimmed(),
        };
        format!("{ansi}{text}{ansi:#}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn nothing_harmful_stays() {
        assert_eq!(escape("/etc/κώδικας"), "/etc/κώδικας");
        assert_eq!(escape("a\x1b[31mb\r\n\t\x7f"), "a\\x1b[31mb\\r\\n\\t\\x7f");
        assert_eq!(escape("\u{9b}2J\u{202e}"), "\\u{9b}2J\\u{202e}");
        // What reorders text (Unicode's annex 9, section 2) or ends a line.
        for c in "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{2028}\u{2029}".chars() {
            assert_eq!(escape(&c.to_string()), format!("\\u{{{:x}}}", c as u32));
        }
        let all: String = (0..=0x2_ffff).filter_map(char::from_u32).collect();
        assert!(!escape(&all).chars().any(harmful));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(shell_word("Europe/Athens"), "Europe/Athens");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("a b's"), r"'a b'\''s'");
        assert_eq!(shell_word("a\x1b'\u{85}"), r"$'a\033\'\302\205'");
        assert_eq!(shell_os_word(OsStr::new("a b")), "'a b'");
        let no_text = OsStr::from_bytes(b"a\xff '\\\n");
        assert_eq!(shell_os_word(no_text), r"$'a\377 \'\\\012'");
    }

    #[test]
    fn percentages_do_not_round_to_nothing_or_all() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0001), "< 0.1 %");
        assert_eq!(percent(0.1267), "12.7 %");
        assert_eq!(percent(0.99994), "> 99.9 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn durations() {
        assert_eq!(duration(0), "0 ns");
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(9_240), "9.2 µs");
        assert_eq!(duration(11_400_000), "11 ms");
        assert_eq!(duration(999_999), "1.0 ms");
        assert_eq!(duration(61_000_000_000), "61 s");
    }
}
