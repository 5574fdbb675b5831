//! For a person at a terminal: an overview of what it costs and what to do, and for the most expensive remedies why, from
//! where, and what else the change does.
//!
//! The overview is last on a terminal and first in a file. Tried on 80x24 with a host of 90 services: with the table
//! first, the prompt stands below caveats and notices, 130 lines below the table. Account, table and next command are
//! at most 23 lines.

use crate::columns::{print_heading, print_item, print_lines, print_wrapped};
use crate::document::{ReportEvidence, ReportFinding, SourceKind};
use crate::next_command::again;
use crate::overview::{Line, Overview};
use crate::text::{Tint, count, escape, number, percent, shell_word};
use crate::{Report, Style, account, proof, summary, time, window_text};
use needless_model::{Change, Stage};
use std::io::{self, Write};

/// Columns before the text of a finding: two blanks, the label, two blanks.
const INDENT: usize = 10;
/// Columns before the text of the footer.
const FOOT: usize = 14;
/// Columns before the text of a part of the account.
const PARTS: usize = 17;
/// At most this many call sites or programs are listed; further ones are counted.
const SHOWN: usize = 3;
/// The details of so many remedies are shown, unless the user wants all.
pub(crate) const DETAILED: usize = 3;
/// So many services or programs with the same remedy are listed.
pub(crate) const ALIKE: usize = 5;

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let notes = &report.document.notes;
    if report.document.findings.is_empty()
        && account::unexplained(report).0.is_empty()
        && (notes.is_empty() || !report.details.full)
        && !time::are_asked_for(report)
    {
        return writeln!(out, "{}", summary::summary(report));
    }
    let overview = Overview::of(report);
    let block = |print: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        print(&mut text)?;
        Ok(text)
    };
    let account = block(&|out| print_account(out, report, style))?;
    let table = block(&|out| overview.table(out, report, style))?;
    let unexplained = block(&|out| print_unexplained(out, report, style))?;
    let small = block(&|out| overview.small(out, report, style))?;
    let details = block(&|out| print_details(out, &overview, report, style))?;
    let notes = block(&|out| print_notes(out, report, style))?;
    let next = block(&|out| print_next(out, &overview, report, style))?;
    // On a terminal what matters most is read without scrolling back.
    let mut blocks = match report.details.end_first {
        true => [details, unexplained, small, notes, account, table, next],
        false => [account, table, unexplained, small, details, notes, next],
    }
    .to_vec();
    blocks.retain(|block| !block.is_empty());
    out.write_all(&blocks.join(&b"\n"[..]))?;
    let Some(proof) = &report.document.proof else { return Ok(()) };
    writeln!(out)?;
    proof::full::body(out, proof, style)
}

/// What was observed, and how much that was.
pub(crate) fn subject<'r>(report: &'r Report<'_>) -> (&'r str, String) {
    let name = report.document.name();
    match report.document.source.kind {
        SourceKind::Run => (name.rsplit('/').next().unwrap_or(name), account::extent(report)),
        SourceKind::Read => (name, account::extent(report)),
        SourceKind::Attach | SourceKind::Host => (name, window_text::extent(report)),
    }
}

/// What was observed, and how many calls were needed, needless and not explained.
fn print_account(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let (of, extent) = subject(report);
    print_wrapped(out, ("", 0), &format!("{}: {extent}", escape(of)), Some(Tint::Name), style)?;
    for (label, text) in account::parts(report) {
        print_wrapped(out, (&format!("  {label}"), PARTS), &text, None, style)?;
    }
    for (label, text) in time::lines(report) {
        print_wrapped(out, (&format!("  {label}"), PARTS), &text, None, style)?;
    }
    Ok(())
}

/// The calls that are not explained.
fn print_unexplained(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let (shown, left_out) = account::unexplained(report);
    if shown.is_empty() {
        return Ok(());
    }
    writeln!(out, "not explained: no rule applies; for information; no change is suggested")?;
    for line in shown {
        print_item(out, &account::line(report, line), style)?;
    }
    if left_out > 0 {
        let kinds = count(left_out as u64, "other kind", "other kinds");
        writeln!(out, "  {kinds}: -v shows all")?;
    }
    Ok(())
}

/// The findings of the most expensive remedies.
fn print_details(
    out: &mut dyn Write,
    overview: &Overview<'_>,
    report: &Report<'_>,
    style: Style,
) -> io::Result<()> {
    let full = report.details.full;
    let small = overview.small.iter().filter(|_| full);
    let large = overview.large.iter().take(if full { usize::MAX } else { DETAILED });
    for (at, line) in large.chain(small).enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        print_line(out, line, report, style)?;
    }
    Ok(())
}

/// The findings with the same remedy: the most expensive one in full, the others in a line each.
fn print_line(
    out: &mut dyn Write,
    line: &Line<'_>,
    report: &Report<'_>,
    style: Style,
) -> io::Result<()> {
    let (first, others) = line.findings.split_first().expect("a line has a finding");
    print_finding(out, first, report, style)?;
    let shown = if report.details.full { others.len() } else { ALIKE.min(others.len()) };
    for (at, finding) in others[..shown].iter().enumerate() {
        let text = also(finding, report);
        let label = if at == 0 { "  also" } else { "" };
        print_wrapped(out, (label, INDENT), &text, None, style)?;
    }
    if shown < others.len() {
        let more = format!("{} more: -v shows all", others.len() - shown);
        print_wrapped(out, ("", INDENT), &more, None, style)?;
    }
    Ok(())
}

/// `app[2001] of web.service: tz-unset, about 299 µs`: a finding beside another one with the same remedy.
pub(crate) fn also(finding: &ReportFinding, report: &Report<'_>) -> String {
    let (who, service) = (summary::who(finding), summary::in_service(finding));
    format!("{who}{service}: {}, {}", finding.rule_name(), saves(finding, report))
}

fn print_finding(
    out: &mut dyn Write,
    finding: &ReportFinding,
    report: &Report<'_>,
    style: Style,
) -> io::Result<()> {
    let rule = finding.rule_name();
    let head = format!("{rule}: {}", summary::headline(finding));
    print_heading(out, &rule, &head, "  ", style)?;
    let prose = |out: &mut dyn Write, label: &str, text: &str| {
        print_wrapped(out, (&format!("  {label}"), INDENT), text, None, style)
    };
    let exact = |out: &mut dyn Write, label: &str, text: &str, tint| {
        print_lines(out, (&format!("  {label}"), INDENT), &[text.to_owned()], tint, style)
    };
    prose(out, "saves", &saves(finding, report))?;
    prose(out, "who", &(who(finding) + &summary::in_service(finding) + elsewhere(finding)))?;
    prose(out, "why", &escape(&finding.why))?;
    for (at, from) in origins(finding).iter().enumerate() {
        exact(out, if at == 0 { "from" } else { "" }, from, None)?;
    }
    for (at, evidence) in finding.evidence.iter().enumerate() {
        exact(out, if at == 0 { "strace" } else { "" }, &counted(evidence), None)?;
    }
    for (at, remedy) in finding.remedies.iter().enumerate() {
        let label = if at == 0 { "fix" } else { "or" };
        let change = remedy.change();
        let text = summary::change(&change);
        match change {
            Change::SetEnv { .. } | Change::UnsetEnv { .. } | Change::WithoutEntries { .. } => {
                exact(out, label, &text, Some(Tint::Fix))?;
            }
            _ => prose(out, label, &text)?,
        }
        prose(out, remedy.safety.word(), &escape(&remedy.caveat))?;
    }
    prose(out, "stage", stage(finding.stage()))
}

/// `10 × newfstatat("/etc/localtime") ok`.
pub(crate) fn counted(evidence: &ReportEvidence) -> String {
    let about = match evidence.path.as_str() {
        "" => String::new(),
        path => format!("(\"{}\")", escape(path)),
    };
    let (call, outcome) = (escape(&evidence.call), escape(&evidence.outcome));
    format!("{} × {call}{about} {outcome}", number(evidence.count))
}

/// `about 92 ms, 81 % of the CPU time; 199,999 calls, 99.9 % of all calls`; for a window, the calls per second. The calls
/// are those of the table: what goes with the calls of the finding is counted where every call was.
pub(crate) fn saves(finding: &ReportFinding, report: &Report<'_>) -> String {
    let number_of = report.document.scale().saves(&[finding]).calls;
    let mut calls = count(number_of, "call", "calls");
    let all = report.document.account.calls;
    match report.document.window_ns() {
        Some(length) => calls += &format!(", {}", window_text::rate(number_of, length)),
        // Some of a finding's calls may not be among those that were counted.
        None if number_of <= all => {
            let share = percent(number_of as f64 / all as f64);
            calls += &format!(", {share} {}", account::of_which(report));
        }
        None => {}
    }
    if let Some(more @ 1..) = number_of.checked_sub(finding.needless) {
        let these = number(finding.needless);
        calls += &format!(": these {these}, and {} that go with them", number(more));
    }
    match account::saved(report, finding) {
        Some(time) => format!("{time}{}; {calls}", account::of_saved(finding)),
        None => calls,
    }
}

/// How certain the finding is.
pub(crate) fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Seen => "seen: the pattern matched; its cause was not looked up in this observation",
        Stage::Explained => "explained: the cause was found; the saving was not measured",
        Stage::Proven => "proven: measured before and after the change",
    }
}

/// The process; of several the executables, and the process with most calls.
pub(crate) fn who(finding: &ReportFinding) -> String {
    let (exes, most) = (&finding.exes, summary::process(&finding.process));
    if finding.processes <= 1 {
        // The name of the process contains the script.
        let exe = finding.process.exe.as_deref().unwrap_or("an unknown program");
        return format!("{most}, {}", escape(exe));
    }
    let all = number(finding.processes);
    if let [exe] = &exes[..] {
        return format!("{all} processes of {}, most calls by {most}", exe.label());
    }
    let mut groups: Vec<String> = exes
        .iter()
        .take(SHOWN)
        .map(|exe| format!("{} × {}", number(exe.processes), exe.label()))
        .collect();
    if exes.len() > SHOWN {
        groups.push(count((exes.len() - SHOWN) as u64, "other program", "other programs"));
    }
    format!("{all} processes: {}; most calls by {most}", groups.join(", "))
}

/// A note where paths are not those of the host.
fn elsewhere(finding: &ReportFinding) -> &'static str {
    match finding.elsewhere {
        0 => "",
        n if n >= finding.processes => {
            "; in a root or mount namespace of its own: paths are those there"
        }
        _ => "; some in a root or mount namespace of their own: their paths are those there",
    }
}

/// Call sites, then the values of the variables that the remedies change.
pub(crate) fn origins(finding: &ReportFinding) -> Vec<String> {
    let mut origins: Vec<String> =
        finding.sites.iter().take(SHOWN).map(|site| escape(site).into_owned()).collect();
    if finding.sites.len() > SHOWN {
        let more = (finding.sites.len() - SHOWN) as u64;
        origins.push(count(more, "other place", "other places"));
    }
    for remedy in &finding.remedies {
        let (Change::SetEnv { variable, .. } | Change::UnsetEnv { variable }) = remedy.change()
        else {
            continue;
        };
        let was = match finding.variables.get(&variable) {
            None => continue,
            Some(None) => format!("{} is unset", escape(&variable)),
            Some(Some(value)) => format!("{}={}", escape(&variable), shell_word(value)),
        };
        if !origins.contains(&was) {
            origins.push(was);
        }
    }
    origins
}

/// A line at the end, with its label.
fn foot(
    out: &mut dyn Write,
    label: &str,
    text: &str,
    tint: Option<Tint>,
    style: Style,
) -> io::Result<()> {
    print_wrapped(out, (&format!("{label}:"), FOOT), text, tint, style)
}

/// How it was observed; what was lost, not checked, left out: each with its label.
pub(crate) fn notes(report: &Report<'_>) -> Vec<(&'static str, String, Option<Tint>)> {
    let document = report.document;
    let whole = document.lost.values().all(|n| *n == 0);
    let mut notes = vec![
        ("observed", observed(report), None),
        ("lost", summary::lost(document), (!whole).then_some(Tint::Care)),
        ("not checked", summary::not_checked(document, false), None),
    ];
    let some = [
        summary::selection(document),
        summary::below(document).map(|text| ("left out", text)),
        summary::suppressed(document).map(|text| ("suppressed", text)),
    ];
    notes.extend(some.into_iter().flatten().map(|(label, text)| (label, text, None)));
    for (label, all, tint) in
        [("notice", &document.notices, Some(Tint::Care)), ("note", &document.notes, None)]
    {
        let shown = if report.details.full { all.len() } else { SHOWN.min(all.len()) };
        notes.extend(all[..shown].iter().map(|text| (label, escape(text).into_owned(), tint)));
        if shown < all.len() {
            let more = format!("{} more: -v shows all", all.len() - shown);
            notes.push((label, more, tint));
        }
    }
    notes
}

fn print_notes(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    for (label, text, tint) in notes(report) {
        foot(out, label, &text, tint, style)?;
    }
    Ok(())
}

/// What to type next.
fn print_next(
    out: &mut dyn Write,
    overview: &Overview<'_>,
    report: &Report<'_>,
    style: Style,
) -> io::Result<()> {
    if let Some(first) = report.document.findings.first() {
        let first = overview.large.first().map_or(first, |line| line.findings[0]);
        let rule = first.rule_name();
        let more = overview.large.len() > DETAILED || !overview.small.is_empty();
        let hint = if more && !report.details.full { "; -v shows all details" } else { "" };
        foot(out, "more", &format!("needless explain {rule}{hint}"), None, style)?;
    }
    match again(report) {
        Some(command) => print_lines(out, ("try:", FOOT), &[command], Some(Tint::Fix), style),
        None => Ok(()),
    }
}

/// `with eBPF; not known: the kernel time of calls`.
fn observed(report: &Report<'_>) -> String {
    let unknown: Vec<&str> = report.document.unknown().map(|fact| fact.words()).collect();
    let by = escape(&report.document.backend);
    match unknown.len() {
        0 => format!("by {by}"),
        1..=SHOWN => format!("by {by}; not known: {}", unknown.join(", ")),
        n if !report.details.full => {
            format!("by {by}; not known: {} and {} more", unknown[..2].join(", "), n - 2)
        }
        _ => format!("by {by}; not known: {}", unknown.join(", ")),
    }
}
