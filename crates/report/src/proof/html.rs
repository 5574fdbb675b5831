//! A proof as a page: the verdict, what was counted, and before and after with their intervals.

use crate::Style;
use crate::html::{Text, labelled, page};
use crate::proof::json::{ProofBody, ProofDocument, ProofMeasure};
use crate::proof_text::{self, changed, changes, verdict};
use crate::text::count;
use needless_model::Backend;
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, proof: &ProofDocument, _: Style) -> io::Result<()> {
    let title = format!("needless prove: {}", changes(&proof.proof));
    page(out, &title, &proof.needless_version, |out| {
        writeln!(out, "<h1>{}</h1>", Text(&title))?;
        body(out, &proof.proof)
    })
}

/// The proof without its title.
pub(crate) fn body(out: &mut dyn Write, proof: &ProofBody) -> io::Result<()> {
    let (word, why) = verdict(proof);
    let class = if proof.holds() { "less" } else { "more" };
    writeln!(out, "<p><strong class=\"{class}\">{}</strong></p>", Text(word))?;
    let mut lines =
        vec![("because", why), ("change", changes(proof)), ("program", proof.program.clone())];
    if let Some(calls) = proof_text::calls(proof) {
        lines.push((
            "calls",
            format!("{calls}; counted by {}", Backend::parse(&proof.backend).name()),
        ));
        lines.extend(proof.rows.iter().take(proof_text::SHOWN).map(|row| ("", changed(row))));
    }
    for (at, sentence) in proof_text::predictions(proof).into_iter().enumerate() {
        lines.push((if at == 0 { "predicted" } else { "" }, sentence));
    }
    if !proof.measures.is_empty() {
        let pairs = count(proof.pairs, "pair", "pairs");
        let early = if proof.early { "; ended early" } else { "" };
        let how = "of untraced runs, in random order, both variants padded";
        lines.push(("measured", format!("{pairs} {how}{early}")));
    }
    lines.extend(proof_text::notes(proof).into_iter().map(|note| ("note", note)));
    labelled(out, &lines)?;
    if proof.measures.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<table class=\"cards\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\">measure</th>\
         <th role=\"columnheader\" class=\"number\">before</th><th role=\"columnheader\" class=\"number\">after</th>\
         <th role=\"columnheader\" class=\"number\">change</th><th role=\"columnheader\">95 % in pairs</th>\
         <th role=\"columnheader\">so</th></tr></thead><tbody role=\"rowgroup\">"
    )?;
    let widest =
        proof.measures.iter().filter_map(relative).map(|(low, _, high)| low.abs().max(high.abs()));
    // Beyond three times the median there is noise, which would hide the others.
    let widest = widest.fold(0.0, f64::max).clamp(0.001, 1.0);
    for (row, measure) in proof_text::figures(proof).iter().zip(&proof.measures) {
        let class = match (measure.fell(), measure.rose()) {
            (true, _) => "less",
            (_, true) => "more",
            _ => "",
        };
        let enough = proof_text::has_intervals(proof);
        let drawn = if enough { interval(measure, widest, class) } else { String::new() };
        writeln!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\">{}</th><td role=\"cell\" class=\"number\" data-of=\"before\">{}</td>\
             <td role=\"cell\" class=\"number\" data-of=\"after\">{}</td><td role=\"cell\" class=\"number\" data-of=\"change\">{}</td>\
             <td role=\"cell\" data-of=\"95 % in pairs\">{}{}</td><td role=\"cell\" class=\"{class}\" data-of=\"so\">{}</td></tr>",
            Text(row.name),
            Text(&row.before),
            Text(&row.after),
            Text(&row.change),
            Text(&row.interval),
            drawn,
            Text(row.so),
        )?;
    }
    writeln!(out, "</tbody></table>")
}

/// The ends of the interval and the change, as parts of what it was before, where that is not nothing.
fn relative(measure: &ProofMeasure) -> Option<(f64, f64, f64)> {
    let of = |value: f64| value / measure.before;
    (measure.before > 0.0).then(|| (of(measure.low), of(measure.difference), of(measure.high)))
}

/// A line from end to end, a dot at the change, and the line of no change in the middle.
fn interval(measure: &ProofMeasure, widest: f64, class: &str) -> String {
    let Some((low, middle, high)) = relative(measure) else { return String::new() };
    let at = |value: f64| 50.0 + 48.0 * (value / widest).clamp(-1.0, 1.0);
    let (low, middle, high) = (at(low), at(middle), at(high));
    format!(
        "<svg class=\"interval {class}\" aria-hidden=\"true\"><line class=\"zero\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"100%\"/>\
         <line x1=\"{low:.1}%\" x2=\"{high:.1}%\" y1=\"50%\" y2=\"50%\"/><circle cx=\"{middle:.1}%\" cy=\"50%\" r=\"5\"/></svg>"
    )
}
