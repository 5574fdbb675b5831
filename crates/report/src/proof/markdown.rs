//! A proof to paste into an issue or a pull request.

use crate::Style;
use crate::markdown::{code, text};
use crate::proof::json::{ProofBody, ProofDocument};
use crate::proof_text::{self, changed, changes, verdict};
use crate::text::count;
use needless_model::Backend;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, proof: &ProofDocument, _: Style) -> io::Result<()> {
    body(out, &proof.proof)
}

/// The proof, by itself or in a report.
pub(crate) fn body(out: &mut dyn Write, proof: &ProofBody) -> io::Result<()> {
    let (word, why) = verdict(proof);
    writeln!(out, "### {}: {word}\n", code(&changes(proof)))?;
    writeln!(
        out,
        "{} with {}: {}.\n",
        code(&proof.program),
        code(&changes(proof)),
        text(why.trim_end_matches('.'))
    )?;
    if let Some(calls) = proof_text::calls(proof) {
        writeln!(
            out,
            "* System calls: {calls} (counted by {}).",
            text(Backend::parse(&proof.backend).name())
        )?;
    }
    for sentence in proof_text::predictions(proof) {
        writeln!(out, "* Predicted: {sentence}.")?;
    }
    if !proof.rows.is_empty() {
        writeln!(out, "\n```")?;
        for row in proof.rows.iter().take(proof_text::SHOWN) {
            writeln!(out, "{}", changed(row).replace("```", "'''"))?;
        }
        writeln!(out, "```")?;
    }
    if !proof.measures.is_empty() {
        writeln!(out, "\n| | before | after | change | 95 % in pairs | so |")?;
        writeln!(out, "|---|---:|---:|---:|---|---|")?;
        for row in proof_text::figures(proof) {
            let name = row.name.trim();
            writeln!(
                out,
                "| {name} | {} | {} | {} | {} | {} |",
                row.before, row.after, row.change, row.interval, row.so
            )?;
        }
        let pairs = count(proof.pairs, "pair", "pairs");
        writeln!(
            out,
            "\nMedians of {pairs} of untraced runs, in random order, with a variable of random length in both environments{}.",
            if proof.early { "; ended early" } else { "" }
        )?;
    }
    for warning in proof_text::notes(proof) {
        writeln!(out, "\n> {}", text(&warning))?;
    }
    Ok(())
}
