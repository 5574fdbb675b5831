//! Lines on standard error that are not part of a report.

use needless_model::shorten;
use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The longest line about anything, characters: names and values from a file may be of any length.
const LONGEST_LINE: usize = 4000;

/// ECMA-48, SGR.
const BOLD: &str = "\u{1b}[1m";
const PLAIN: &str = "\u{1b}[0m";

/// Whether each line is a JSON object.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on each line is a JSON object: `time`, seconds since 1970; `level`, warning or info; `message`.
pub(crate) fn as_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Shows one line on standard error. Control characters in it are escaped: names and values that others chose neither
/// start a line of their own nor command the terminal. Where standard error cannot be written, nothing is shown.
pub(crate) fn warn(line: impl Display) {
    write("warning", &line.to_string(), "");
}

/// The same, in bold where standard error is a terminal: what must not be overlooked.
pub(crate) fn alarm(line: impl Display) {
    let bold = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    write("warning", &line.to_string(), if bold { BOLD } else { "" });
}

/// The same, for what went well.
pub(crate) fn inform(line: impl Display) {
    write("info", &line.to_string(), "");
}

fn write(level: &str, line: &str, style: &str) {
    let line = without_error_numbers(line);
    let line = shorten(&line, LONGEST_LINE / 2, LONGEST_LINE / 2);
    let line = needless_report::escape(&line);
    let mut stderr = std::io::stderr().lock();
    let _ = if JSON.load(Ordering::Relaxed) {
        writeln!(stderr, "{}", json(level, &line))
    } else {
        let end = if style.is_empty() { "" } else { PLAIN };
        writeln!(stderr, "{style}needless: {line}{end}")
    };
}

/// `line` has no control characters.
fn json(level: &str, line: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let message = line.replace('\\', r"\\").replace('"', r#"\""#);
    format!(r#"{{"time":{:.3},"level":"{level}","message":"{message}"}}"#, now.as_secs_f64())
}

/// The text without the numbers that Rust appends to the messages of the kernel: " (os error 2)".
fn without_error_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |so_far, part| {
        let end = part.find(|c: char| !c.is_ascii_digit()).filter(|end| *end > 0);
        match end.and_then(|end| part[end..].strip_prefix(')')) {
            Some(rest) => so_far + rest,
            None => so_far + " (os error " + part,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_is_in_it() {
        let line = r#"a "b\c" \u{1b}"#;
        let read: serde_json::Value = serde_json::from_str(&json("info", line)).unwrap();
        assert_eq!((read["level"].as_str(), read["message"].as_str()), (Some("info"), Some(line)));
        assert!(read["time"].as_f64() > Some(1.7e9));
    }
}
