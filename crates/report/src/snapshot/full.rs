//! A saved profile for a person at a terminal: how much was counted, and the most frequent questions.

use crate::text::{Tint, count, duration, escape, number};
use crate::{Style, proof_text};
use needless_model::Snapshot;
use std::cmp::Reverse;
use std::io::{self, Write};

/// So many rows are shown.
const SHOWN: usize = 30;

pub(crate) fn write(
    out: &mut dyn Write,
    snapshot: &Snapshot,
    _: &str,
    style: Style,
) -> io::Result<()> {
    let calls = count(snapshot.calls, "call", "calls");
    let window = snapshot.window_ns.map_or(String::new(), |ns| format!(" in {}", duration(ns)));
    let backend = snapshot.backend.to_string();
    let what = if snapshot.complete { "" } else { " that rules need" };
    let name = style.paint(Tint::Name, &escape(&snapshot.name));
    writeln!(out, "{name}: {calls}{what}{window}, observed by {}", escape(&backend))?;
    let lost = snapshot.lost.values().fold(0, |sum: u64, n| sum.saturating_add(*n));
    if lost > 0 {
        writeln!(out, "{} calls or lines were lost", number(lost))?;
    }
    let mut rows: Vec<_> = snapshot.rows.iter().collect();
    rows.sort_by_key(|(_, count)| Reverse(**count));
    writeln!(out, "\n{}", proof_text::rows(rows.len()))?;
    let width = rows.first().map_or(0, |(_, count)| number(**count).len());
    for ((call, path, outcome), count) in rows.iter().take(SHOWN) {
        let about = match path.as_str() {
            "" => String::new(),
            path => format!("(\"{}\")", escape(path)),
        };
        let line =
            format!("  {:>width$} × {}{about} {}", number(**count), escape(call), escape(outcome));
        writeln!(out, "{}", line.trim_end())?;
    }
    if rows.len() > SHOWN {
        writeln!(out, "  … and {} more, in --format json", rows.len() - SHOWN)?;
    }
    Ok(())
}
