//! A change measured, told: counts first, then CPU time, then the clock.

mod json;
mod markdown;

use crate::Style;
use crate::text::{Tint, clean, count, number, percent, wrap};
use crate::{proof_text, tell};
use needless_model::{Outcome, Proof, RowChange};
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

pub use json::{PROOF_SCHEMA, proof_schema};
pub(crate) use json::{ProofOut, RowOut};
pub(crate) use markdown::text;

/// How a proof, a comparison or an experiment is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofFormat {
    /// For a person at a terminal.
    Full,
    /// For an issue or a pull request.
    Markdown,
    /// For other tools: see [`proof_schema`] and [`diff_schema`](crate::diff_schema); of an experiment
    /// `schema` is "needless.lab/1", the rest as in [`Told`](crate::Told), a missing figure null.
    Json,
}

impl ProofFormat {
    /// The endings that ask for one.
    pub const ENDINGS: &[&str] = &["json", "md", "txt"];

    /// The format that a file's ending asks for: `.json`, `.md`, else full.
    pub fn of_path(path: &Path) -> ProofFormat {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => ProofFormat::Json,
            Some("md") => ProofFormat::Markdown,
            _ => ProofFormat::Full,
        }
    }
}

impl FromStr for ProofFormat {
    type Err = String;

    /// # Errors
    /// When the name is not that of a format.
    fn from_str(name: &str) -> Result<ProofFormat, String> {
        match name {
            "full" => Ok(ProofFormat::Full),
            "markdown" => Ok(ProofFormat::Markdown),
            "json" => Ok(ProofFormat::Json),
            _ => Err("no such format; there are full, markdown and json".into()),
        }
    }
}

/// Writes `proof` to `out`, with a newline at its end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_proof(
    out: &mut dyn Write,
    proof: &Proof,
    version: &str,
    format: ProofFormat,
    style: Style,
) -> io::Result<()> {
    match format {
        ProofFormat::Full => full(out, proof, style),
        ProofFormat::Markdown => markdown::write(out, proof),
        ProofFormat::Json => json::write(out, proof, version),
    }
}

/// Columns before the text.
const INDENT: usize = 13;

fn full(out: &mut dyn Write, proof: &Proof, style: Style) -> io::Result<()> {
    let line = |out: &mut dyn Write, label: &str, text: &str, tint: Option<Tint>| {
        let width = style.width.saturating_sub(INDENT).max(20);
        for (at, part) in wrap(text, width).iter().enumerate() {
            let label = if at == 0 { label } else { "" };
            let part = tint.map_or_else(|| part.clone(), |tint| style.paint(tint, part));
            let label = style.paint(Tint::Faint, &format!("  {label:<width$}", width = INDENT - 2));
            writeln!(out, "{label}{part}")?;
        }
        Ok::<(), io::Error>(())
    };
    let (word, why) = verdict(proof);
    // A difference in what the program does is said before anything else.
    let tint = if proof.holds() { Tint::Fix } else { Tint::Care };
    writeln!(out, "{}: {}", style.paint(Tint::Name, "needless prove"), style.paint(tint, &word))?;
    line(out, "because", &clean(&why), None)?;
    line(out, "change", &changes(proof), None)?;
    line(out, "program", &clean(&proof.program), None)?;
    if let Some(calls) = proof_text::calls(proof) {
        line(
            out,
            "calls",
            &format!("{calls}; counted by {}", tell::word_backend(&proof.backend)),
            None,
        )?;
        for row in proof.rows.iter().take(proof_text::SHOWN) {
            writeln!(out, "{}{}", " ".repeat(INDENT), changed(row))?;
        }
        if proof.rows.len() > proof_text::SHOWN {
            writeln!(out, "{}…", " ".repeat(INDENT))?;
        }
    }
    for (at, sentence) in proof_text::predictions(proof).iter().enumerate() {
        line(out, if at == 0 { "predicted" } else { "" }, sentence, None)?;
    }
    if !proof.measures.is_empty() {
        let pairs = count(proof.pairs as u64, "pair", "pairs");
        let early = match (proof.early, &proof.failure) {
            (true, None) => "; ended early by you",
            (true, Some(_)) => "; ended early",
            (false, _) => "",
        };
        line(
            out,
            "measured",
            &format!("{pairs} of untraced runs, in random order, both arms padded{early}"),
            None,
        )?;
        table(out, proof, style)?;
    }
    for warning in proof_text::notes(proof) {
        line(out, "note", &clean(&warning), Some(Tint::Care))?;
    }
    Ok(())
}

/// The proof in one line, for a concise report.
pub(crate) fn line(proof: &Proof) -> String {
    let calls =
        proof_text::calls(proof).map_or_else(String::new, |calls| format!("; calls {calls}"));
    format!(
        "needless prove: {} with {}: {}{calls}",
        verdict(proof).0,
        changes(proof),
        clean(&proof.program)
    )
}

/// The measures in columns.
fn table(out: &mut dyn Write, proof: &Proof, style: Style) -> io::Result<()> {
    let head = format!(
        "{:16}{:>11}{:>11}   {:>9}  {:19} {}",
        "", "before", "after", "change", "95 % of it", "so"
    );
    writeln!(out, "  {}", style.paint(Tint::Faint, head.trim_end()))?;
    for row in proof_text::figures(proof) {
        let line = format!(
            "{:16}{:>11}{:>11}   {:>9}  {:19} {}",
            row.name, row.before, row.after, row.change, row.interval, row.so
        );
        writeln!(out, "  {}", line.trim_end())?;
    }
    Ok(())
}

/// The verdict in a word or two, and why.
fn verdict(proof: &Proof) -> (String, String) {
    let so = |text: &str| text.to_owned();
    match &proof.outcome {
        Outcome::Differs(how) => (
            so("the program behaves differently: nothing is proven"),
            format!(
                "{how}. What is meant to differ can be left out of the comparison of output with --ignore-output REGEX."
            ),
        ),
        Outcome::Proven { calls: true, cpu: true } => (
            so("proven"),
            so(
                "calls went, counted, and CPU time fell, beyond chance; output and exit status are the same",
            ),
        ),
        Outcome::Proven { calls: true, cpu: false } => (
            so("proven in calls; not proven in CPU time"),
            so(
                "calls went, counted; that CPU time fell is not shown, that it rose is not either; output and exit status are the same",
            ),
        ),
        Outcome::Proven { calls: false, .. } => (
            so("proven in CPU time"),
            so(
                "CPU time fell, beyond chance, though no calls went; output and exit status are the same",
            ),
        ),
        Outcome::NotProven(why) => (so("not proven"), why.clone()),
    }
}

/// `TZ=UTC and unset LANG`.
fn changes(proof: &Proof) -> String {
    if proof.changes.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<String> = proof.changes.iter().map(tell::change).collect();
    crate::text::list(&all.iter().map(String::as_str).collect::<Vec<_>>(), "and")
}

/// `9 → 0  newfstatat("/etc/localtime") ok`.
pub(crate) fn changed(row: &RowChange) -> String {
    let about = match row.path.as_str() {
        "" => String::new(),
        path => format!("(\"{}\")", clean(path)),
    };
    let line = format!(
        "{} → {}  {}{about} {}",
        number(row.before),
        number(row.after),
        clean(&row.call),
        clean(&row.outcome)
    );
    line.trim_end().to_owned()
}

/// A part of a whole that may be negative.
pub(crate) fn signed_percent(part: f64) -> String {
    match part {
        0.0 => percent(0.0),
        p if p < 0.0 => format!("-{}", percent(-p)),
        p => percent(p),
    }
}
