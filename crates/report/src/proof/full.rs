//! A proof for a person at a terminal: counts first, then CPU time, then the clock.

use crate::proof::json::{ProofBody, ProofDocument};
use crate::text::{Tint, count, escape, wrap};
use crate::{Style, proof_text};
use needless_model::Backend;
use proof_text::{changed, changes, verdict};
use std::io::{self, Write};

/// Columns before the text.
const INDENT: usize = 13;

pub(crate) fn write(out: &mut dyn Write, proof: &ProofDocument, style: Style) -> io::Result<()> {
    body(out, &proof.proof, style)
}

/// The proof, by itself or in a report.
pub(crate) fn body(out: &mut dyn Write, proof: &ProofBody, style: Style) -> io::Result<()> {
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
    // A difference in what the program does comes first.
    let tint = if proof.holds() { Tint::Fix } else { Tint::Care };
    writeln!(out, "{}: {}", style.paint(Tint::Name, "needless prove"), style.paint(tint, word))?;
    line(out, "because", &escape(&why), None)?;
    line(out, "change", &changes(proof), None)?;
    line(out, "program", &escape(&proof.program), None)?;
    if let Some(calls) = proof_text::calls(proof) {
        line(
            out,
            "calls",
            &format!("{calls}; counted by {}", escape(Backend::parse(&proof.backend).name())),
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
        let pairs = count(proof.pairs, "pair", "pairs");
        let early = match (proof.early, &proof.failure) {
            (true, None) => "; ended early by you",
            (true, Some(_)) => "; ended early",
            (false, _) => "",
        };
        line(
            out,
            "measured",
            &format!("{pairs} of untraced runs, in random order, both variants padded{early}"),
            None,
        )?;
        table(out, proof, style)?;
    }
    for warning in proof_text::notes(proof) {
        line(out, "note", &escape(&warning), Some(Tint::Care))?;
    }
    Ok(())
}

/// The measures in columns.
fn table(out: &mut dyn Write, proof: &ProofBody, style: Style) -> io::Result<()> {
    let head = format!(
        "{:16}{:>11}{:>11}   {:>9}  {:19} {}",
        "", "before", "after", "change", "95 % in pairs", "so"
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
