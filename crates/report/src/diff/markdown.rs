//! A comparison to paste into an issue or a pull request.

use crate::difference::{IN_ALL, SHOWN, figures, head, kinds, values};
use crate::proof_text::{changed, rows};
use crate::{Difference, Style, markdown};
use needless_model::{Compared, changed_rows};
use std::io::{self, Write};

pub(crate) fn write(
    out: &mut dyn Write,
    difference: &Difference<'_>,
    _: &str,
    _: Style,
) -> io::Result<()> {
    for line in head(difference) {
        writeln!(out, "{}\n", markdown::text(&line))?;
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
