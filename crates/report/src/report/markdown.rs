//! For an issue, a pull request or the summary of a job: the account, the remedies, and folded what else is known.

use super::full::{self, ALIKE, DETAILED};
use crate::account;
use crate::document::{ReportFinding, ReportRemedy};
use crate::markdown::{cell, code, html, text};
use crate::overview::{Line, Overview, columns_of_time, heading, more_small, total};
use crate::text::{count, number};
use crate::{Report, Style, proof, summary, time, unjudged};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let (subject, extent) = full::subject(report);
    writeln!(out, "### needless: {}\n\n{}.", code(subject), text(&extent))?;
    if report.document.findings.is_empty() {
        writeln!(out, "\n**{}**", unjudged::nothing_found(report))?;
    }
    writeln!(out, "\n| | |\n|---|---|")?;
    for (label, amount) in account::parts(report).into_iter().chain(time::lines(report)) {
        writeln!(out, "| {label} | {} |", text(&amount))?;
    }
    let overview = Overview::of(report);
    write_remedies(out, &overview, report)?;
    write_details(out, &overview, report)?;
    write_unexplained(out, report)?;
    let notes = full::notes(report);
    fold(out, "how it was observed, and what was left out", |out| {
        notes.iter().try_for_each(|(label, note, _)| writeln!(out, "* {label}: {}", text(note)))
    })?;
    let Some(proof) = &report.document.proof else { return Ok(()) };
    writeln!(out)?;
    proof::markdown::body(out, proof)
}

/// The table of remedies, and the small ones.
fn write_remedies(
    out: &mut dyn Write,
    overview: &Overview<'_>,
    report: &Report<'_>,
) -> io::Result<()> {
    let (shown, left_out) = overview.shown(report);
    if !shown.is_empty() {
        let scale = report.document.scale();
        let heads = columns(&heading(&scale));
        writeln!(out, "\n| {} | calls | rule | who | fix |", heads.join(" | "))?;
        writeln!(out, "|{}---:|---|---|---|", "---:|".repeat(heads.len()))?;
        for line in shown {
            let mut saves: Vec<String> =
                columns(&columns_of_time(&scale, line)).iter().map(|cell| text(cell)).collect();
            saves.resize(heads.len(), String::new());
            let who = text(&line.who(usize::MAX));
            let (saves, calls) = (saves.join(" | "), number(line.saves.calls));
            writeln!(
                out,
                "| {saves} | {calls} | {} | {who} | {} |",
                text(&line.rules()),
                fix(line)
            )?;
        }
    }
    if left_out > 0 {
        let more = count(left_out as u64, "more remedy", "more remedies");
        let rest = total(&overview.large[shown.len()..]);
        writeln!(out, "\nand {more}, {rest}: `-v` shows all")?;
    }
    let (small, rest) = overview.listed(report);
    if small.is_empty() {
        return Ok(());
    }
    fold(out, "small", |out| {
        for line in small {
            writeln!(out, "* {}", text(&line.in_short()))?;
        }
        more_small(rest).map_or(Ok(()), |more| writeln!(out, "* {more}: `-v` shows all"))
    })
}

/// What to do, as far as it is one line.
fn fix(line: &Line<'_>) -> String {
    if line.findings[0].remedies.first().is_some_and(ReportRemedy::is_typed) {
        cell(&line.fix())
    } else {
        text(&line.fix())
    }
}

/// The columns of a terminal without the blanks that align them.
fn columns(text: &str) -> Vec<String> {
    let cells = text.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
    cells.map(str::to_owned).collect()
}

/// The findings of the most expensive remedies, folded.
fn write_details(
    out: &mut dyn Write,
    overview: &Overview<'_>,
    report: &Report<'_>,
) -> io::Result<()> {
    let small = overview.small.iter().filter(|_| report.details.full);
    let (most, alike) =
        if report.details.full { (usize::MAX, usize::MAX) } else { (DETAILED, ALIKE) };
    for line in overview.large.iter().take(most).chain(small) {
        let (first, others) = line.findings.split_first().expect("a line has a finding");
        let head = format!("{}: {}", first.rule_name(), summary::headline(first));
        fold(out, &head, |out| {
            write_finding(out, first, report)?;
            for other in others.iter().take(alike) {
                writeln!(out, "* also {}", text(&full::also(other, report)))?;
            }
            if others.len() > alike {
                writeln!(out, "* {} more: `-v` shows all", others.len() - alike)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn write_finding(
    out: &mut dyn Write,
    finding: &ReportFinding,
    report: &Report<'_>,
) -> io::Result<()> {
    let who = full::who(finding) + &summary::in_service(finding);
    writeln!(out, "* saves: {}", text(&full::saves(finding, report)))?;
    writeln!(out, "* who: {}", text(&who))?;
    writeln!(out, "* why: {}", text(&finding.why))?;
    for from in full::origins(finding) {
        writeln!(out, "* from: {}", code(&from))?;
    }
    for evidence in &finding.evidence {
        writeln!(out, "* strace: {}", code(&full::counted(evidence)))?;
    }
    for remedy in &finding.remedies {
        let change = summary::change(&remedy.change());
        let change = if remedy.is_typed() { code(&change) } else { text(&change) };
        writeln!(out, "* fix: {change}")?;
        writeln!(out, "  * {}", text(&remedy.caveat))?;
    }
    writeln!(out, "* stage: {}", full::stage(finding.stage()))
}

/// The calls that are not explained, folded.
fn write_unexplained(out: &mut dyn Write, report: &Report<'_>) -> io::Result<()> {
    let (shown, left_out) = account::unexplained(report);
    if shown.is_empty() {
        return Ok(());
    }
    fold(out, "not explained: no rule applies; for information; no change is suggested", |out| {
        for line in shown {
            writeln!(out, "* {}", text(&account::line(report, line)))?;
        }
        match left_out as u64 {
            0 => Ok(()),
            n => writeln!(out, "* {}: `-v` shows all", count(n, "other kind", "other kinds")),
        }
    })
}

/// A part that a reader opens. The blank line makes what follows Markdown again.
fn fold(
    out: &mut dyn Write,
    head: &str,
    body: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    writeln!(out, "\n<details><summary>{}</summary>\n", html(head))?;
    body(out)?;
    writeln!(out, "\n</details>")
}
