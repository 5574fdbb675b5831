//! A proof to be pasted where people decide about a change.

use super::{changed, changes, verdict};
use crate::proof_text;
use crate::tell;
use crate::text::{clean, count};
use needless_model::Proof;
use std::io::{self, Write};

pub(super) fn write(out: &mut dyn Write, proof: &Proof) -> io::Result<()> {
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
            text(&tell::word_backend(&proof.backend))
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
        writeln!(out, "\n| | before | after | change | 95 % interval | so |")?;
        writeln!(out, "|---|---:|---:|---:|---|---|")?;
        for row in proof_text::figures(proof) {
            let name = row.name.trim();
            writeln!(
                out,
                "| {name} | {} | {} | {} | {} | {} |",
                row.before, row.after, row.change, row.interval, row.so
            )?;
        }
        let pairs = count(proof.pairs as u64, "pair", "pairs");
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

/// Text that markdown does not take for its own signs.
pub(crate) fn text(from: &str) -> String {
    let mut safe = String::with_capacity(from.len());
    for c in clean(from).chars() {
        if "\\`*_{}[]<>#|!~$&".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// A code span that no backquote inside ends.
pub(crate) fn code(from: &str) -> String {
    let from = clean(from);
    match from.contains('`') {
        false => format!("`{from}`"),
        true => {
            let mut longest = 0;
            let mut run = 0;
            for c in from.chars() {
                run = if c == '`' { run + 1 } else { 0 };
                longest = longest.max(run);
            }
            let fence = "`".repeat(longest + 1);
            format!("{fence} {from} {fence}")
        }
    }
}
