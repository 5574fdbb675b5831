//! Two captures compared: what came, went, grew and shrank; for windows over a service, rates too.

mod json;

use crate::proof::changed;
use crate::proof_text::rows;
use crate::text::{Tint, clean, duration, number, wrap};
use crate::{ProofFormat, Style, proof};
use needless_model::{Compared, PROVEN_FALL, RowChange, Snapshot, changed_rows, compare};
use std::io::{self, Write};

pub use json::{DIFF_SCHEMA, diff_schema};

/// Rows of each kind that a person is shown.
const SHOWN: usize = 10;

/// Two captures to compare.
#[derive(Clone, Copy, Debug)]
pub struct Difference<'a> {
    /// The one.
    pub before: &'a Snapshot,
    /// The other.
    pub after: &'a Snapshot,
    /// Whether these are windows over a service before and after a change, of which a verdict is
    /// wanted.
    pub service: bool,
}

impl Difference<'_> {
    /// Whether the calls fell by every measure that both know, or per request where requests are
    /// known.
    pub fn proven(&self) -> bool {
        let measures = compare(self.before, self.after);
        let whole = self.before.complete == self.after.complete;
        match measures.iter().find(|measure| measure.per == "request") {
            Some(request) => whole && request.fell(),
            None => whole && !measures.is_empty() && measures.iter().all(Compared::fell),
        }
    }
}

/// Rows that came, went, grew, shrank.
fn kinds(rows: &[RowChange]) -> [(&'static str, Vec<&RowChange>); 4] {
    let kind = |is: fn(&RowChange) -> bool| rows.iter().filter(|row| is(row)).collect();
    [
        ("came", kind(|row| row.before == 0)),
        ("went", kind(|row| row.after == 0)),
        ("grew", kind(|row| row.before > 0 && row.after > row.before)),
        ("shrank", kind(|row| row.after > 0 && row.after < row.before)),
    ]
}

/// Writes `difference` to `out`, with a newline at its end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_diff(
    out: &mut dyn Write,
    difference: &Difference<'_>,
    version: &str,
    format: ProofFormat,
    style: Style,
) -> io::Result<()> {
    match format {
        ProofFormat::Full => full(out, difference, style),
        ProofFormat::Markdown => markdown(out, difference),
        ProofFormat::Json => json::write(out, difference, version),
    }
}

fn full(out: &mut dyn Write, difference: &Difference<'_>, style: Style) -> io::Result<()> {
    for line in head(difference) {
        for (at, line) in wrap(&line, style.width.saturating_sub(2)).iter().enumerate() {
            writeln!(out, "{}{line}", if at == 0 { "" } else { "  " })?;
        }
    }
    for measure in figures(difference) {
        writeln!(out, "  {}", rate(&measure))?;
    }
    let changes = changed_rows(difference.before, difference.after);
    for (kind, changes) in kinds(&changes) {
        if changes.is_empty() {
            continue;
        }
        writeln!(
            out,
            "\n{}",
            style.paint(Tint::Name, &format!("{kind}: {}", rows(changes.len())))
        )?;
        for row in changes.iter().take(SHOWN) {
            writeln!(out, "  {}", changed(row))?;
        }
        if changes.len() > SHOWN {
            writeln!(out, "  … and {} more, in --format json", changes.len() - SHOWN)?;
        }
    }
    Ok(())
}

fn markdown(out: &mut dyn Write, difference: &Difference<'_>) -> io::Result<()> {
    for line in head(difference) {
        writeln!(out, "{}\n", proof::text(&line))?;
    }
    let measures = figures(difference);
    if !measures.is_empty() {
        writeln!(out, "| calls | before | after |\n|---|---:|---:|")?;
        for measure @ Compared { per, .. } in measures {
            let [before, after] = values(&measure);
            let per = if per == IN_ALL { per.to_owned() } else { format!("per {per}") };
            writeln!(out, "| {per} | {before} | {after} |")?;
        }
    }
    let changes = changed_rows(difference.before, difference.after);
    for (kind, changes) in kinds(&changes) {
        if changes.is_empty() {
            continue;
        }
        writeln!(out, "\n{kind}: {}\n\n```", rows(changes.len()))?;
        for row in changes.iter().take(SHOWN) {
            writeln!(out, "{}", changed(row).replace("```", "'''"))?;
        }
        writeln!(out, "```")?;
    }
    Ok(())
}

/// The sentences before the figures.
fn head(difference: &Difference<'_>) -> Vec<String> {
    let Difference { before, after, service } = *difference;
    let mut lines = Vec::new();
    if service {
        let word = if difference.proven() { "proven" } else { "not proven" };
        lines.push(format!("needless prove: {word}: {}", why(difference)));
    }
    let of = |one: &Snapshot| {
        let window = one.window_ns.map_or_else(String::new, |ns| format!(" in {}", duration(ns)));
        format!("{} calls{window} ({})", number(one.calls), clean(&one.name))
    };
    lines.push(format!("before: {}", of(before)));
    lines.push(format!("after:  {}", of(after)));
    if before.complete != after.complete {
        lines.push("One of them counted every call and the other only those that rules need: totals cannot be compared.".into());
    }
    for one in [before, after] {
        if !one.all_rows {
            lines.push(format!("{} is a report, which keeps only the rows that its findings are about: --format profile keeps all.", clean(&one.name)));
        }
        let lost = one.lost.values().fold(0, |sum: u64, n| sum.saturating_add(*n));
        if lost > 0 {
            lines.push(format!(
                "{}: {} calls or lines were not seen as they were",
                clean(&one.name),
                number(lost)
            ));
        }
    }
    lines
}

fn why(difference: &Difference<'_>) -> String {
    let measures = compare(difference.before, difference.after);
    let least = PROVEN_FALL * 100.0;
    let by = match measures.iter().find(|measure| measure.per == "request") {
        Some(_) => "per request",
        None => {
            "per second and, where known, per second of CPU; the load may have been another: --per COMMAND counts requests"
        }
    };
    let fell = if difference.proven() { "fell" } else { "did not fall" };
    format!("calls {fell} by {least:.0} % or more {by}. One window of each: no chance is computed.")
}

/// Rates of a shorter observation say more of how a program starts than of what it asks.
const LEAST_WINDOW: u64 = 1_000_000_000;
/// What [`Compared::per`] is where calls are not per anything.
const IN_ALL: &str = "in all";

/// Of two windows over a service its rates; of other captures the sums, and rates where both are long
/// enough to have any.
fn figures(Difference { before, after, service }: &Difference<'_>) -> Vec<Compared> {
    let mut figures = compare(before, after);
    if *service {
        return figures;
    }
    let short = |one: &Snapshot| one.window_ns.is_some_and(|ns| ns < LEAST_WINDOW);
    if short(before) || short(after) {
        figures.retain(|figure| figure.per == "request");
    }
    if before.complete == after.complete {
        let all = Compared { per: IN_ALL, before: before.calls as f64, after: after.calls as f64 };
        figures.insert(0, all);
    }
    figures
}

fn values(Compared { per, before, after }: &Compared) -> [String; 2] {
    [*before, *after].map(|n| match *per == IN_ALL {
        true => number(n as u64),
        false => format!("{n:.2}"),
    })
}

/// `497.50 → 0.27 calls per second (-99.9 %)`.
fn rate(compared: &Compared) -> String {
    let Compared { per, before, after } = compared;
    let change = match *before > 0.0 {
        true => format!(" ({:+.1} %)", (after / before - 1.0) * 100.0),
        false => String::new(),
    };
    let [was, is] = values(compared);
    let of = if *per == IN_ALL { String::from("calls") } else { format!("calls per {per}") };
    format!("{was} → {is} {of}{change}")
}
