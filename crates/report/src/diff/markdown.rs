//! A comparison to paste into an issue or a pull request.

use crate::difference::{IN_ALL, SHOWN, figures, head, kinds, values};
use crate::proof_text::{changed, rows};
use crate::{DiffDocument, Style, markdown};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, difference: &DiffDocument, _: Style) -> io::Result<()> {
    for line in head(difference) {
        writeln!(out, "{}\n", markdown::text(&line))?;
    }
    let measures = figures(difference);
    if !measures.is_empty() {
        writeln!(out, "| calls | before | after |\n|---|---:|---:|")?;
        for measure in measures {
            let [before, after] = values(&measure);
            let per = match measure.per.as_str() {
                IN_ALL => IN_ALL.to_owned(),
                per => format!("per {}", markdown::text(per)),
            };
            writeln!(out, "| {per} | {before} | {after} |")?;
        }
    }
    for (kind, changes) in kinds(&difference.rows) {
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
