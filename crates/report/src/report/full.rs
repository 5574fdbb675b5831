//! For a person at a terminal: an overview of what it costs and what to do, and for the most expensive remedies why, from
//! where, and what else the change does.
//!
//! The overview is last on a terminal and first in a file. Tried on 80x24 with a host of 90 services: with the table
//! first, the prompt stands below caveats and notices, 130 lines below the table. Account, table and next command are
//! at most 23 lines.

use crate::again::again;
use crate::columns::{print_heading, print_lines, print_wrapped};
use crate::overview::{Line, Overview};
use crate::text::{Tint, count, escape, number, percent, shell_word, wrap};
use crate::{Report, Source, Style, account, overview, summary, time, window_text};
use needless_model::{Change, Evidence, Fact, Finding, ProcId, Profile, Safety, Stage};
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
    let verdict = report.verdict;
    if verdict.findings.is_empty()
        && account::unexplained(report).0.is_empty()
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
    let Some(proof) = report.proof else { return Ok(()) };
    writeln!(out)?;
    crate::write_proof(out, proof, report.version, crate::ProofFormat::Full, style)
}

/// What was observed, and how much that was.
pub(crate) fn subject<'r>(report: &'r Report<'_>) -> (&'r str, String) {
    match &report.source {
        Source::Run(program) => {
            (program.rsplit('/').next().unwrap_or(program), account::extent(report))
        }
        Source::Log(file) => (file.as_str(), account::extent(report)),
        Source::Attach(what) => (what.as_str(), window_text::extent(report)),
        Source::Host => ("host", window_text::extent(report)),
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
    writeln!(out, "not explained: no rule applies; these are facts, no advice")?;
    for line in shown {
        for (at, text) in wrap(&account::line(report, line), style.width - 4).iter().enumerate() {
            writeln!(out, "{}{text}", if at == 0 { "  " } else { "    " })?;
        }
    }
    if left_out > 0 {
        let kinds = count(left_out as u64, "other kind", "other kinds");
        writeln!(out, "  {kinds}: --unexplained shows all")?;
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
        let who = summary::who(finding, report.profile);
        let service = summary::in_service(finding, report.profile);
        let text = format!("{who}{service}: {}, {}", finding.rule, saves(finding, report));
        let label = if at == 0 { "  also" } else { "" };
        print_wrapped(out, (label, INDENT), &text, None, style)?;
    }
    if shown < others.len() {
        let more = format!("{} more: --full shows all", others.len() - shown);
        print_wrapped(out, ("", INDENT), &more, None, style)?;
    }
    Ok(())
}

fn print_finding(
    out: &mut dyn Write,
    finding: &Finding,
    report: &Report<'_>,
    style: Style,
) -> io::Result<()> {
    let profile = report.profile;
    let head = format!("{}: {}", finding.rule, summary::headline(finding));
    print_heading(out, &finding.rule, &head, "  ", style)?;
    let prose = |out: &mut dyn Write, label: &str, text: &str| {
        print_wrapped(out, (&format!("  {label}"), INDENT), text, None, style)
    };
    let exact = |out: &mut dyn Write, label: &str, text: &str, tint| {
        print_lines(out, (&format!("  {label}"), INDENT), &[text.to_owned()], tint, style)
    };
    prose(out, "saves", &saves(finding, report))?;
    let service = summary::in_service(finding, profile);
    prose(out, "who", &(who(finding, profile) + &service + elsewhere(finding, profile)))?;
    prose(out, "why", &escape(&finding.why))?;
    for (at, from) in origins(finding, profile).iter().enumerate() {
        exact(out, if at == 0 { "from" } else { "" }, from, None)?;
    }
    for (at, evidence) in finding.evidence.iter().enumerate() {
        exact(out, if at == 0 { "strace" } else { "" }, &counted(evidence), None)?;
    }
    for (at, remedy) in finding.remedies.iter().enumerate() {
        let label = if at == 0 { "fix" } else { "or" };
        let change = summary::change(&remedy.change);
        match remedy.change {
            Change::SetEnv { .. } | Change::UnsetEnv { .. } | Change::WithoutEntries { .. } => {
                exact(out, label, &change, Some(Tint::Fix))?;
            }
            _ => prose(out, label, &change)?,
        }
        let (label, sentence) = match &remedy.safety {
            Safety::Safe(sentence) => ("safe", sentence),
            Safety::Caveat(sentence) => ("caveat", sentence),
            Safety::Manual(sentence) => ("manual", sentence),
        };
        prose(out, label, &escape(sentence))?;
    }
    prose(out, "stage", stage(finding.stage))
}

/// `10 × newfstatat("/etc/localtime") ok`.
pub(crate) fn counted(evidence: &Evidence) -> String {
    let about = match evidence.path.as_str() {
        "" => String::new(),
        path => format!("(\"{}\")", escape(path)),
    };
    let (call, outcome) = (escape(&evidence.call), escape(&evidence.outcome));
    format!("{} × {call}{about} {outcome}", number(evidence.count))
}

/// `about 92 ms, 81 % of the CPU time; 199,999 calls, 99.9 % of all calls`; for a window, the calls per second. The calls
/// are those of the table: what goes with the calls of the finding is counted where every call was.
pub(crate) fn saves(finding: &Finding, report: &Report<'_>) -> String {
    let number_of = overview::scale(report).saves(&[finding]).calls;
    let mut calls = count(number_of, "call", "calls");
    let all = report.verdict.account.calls;
    match window_text::length(report) {
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
pub(crate) fn who(finding: &Finding, profile: &Profile) -> String {
    let exes = summary::programs(finding, profile);
    if let [one] = finding.processes[..] {
        // The name of the process contains the script.
        let exe = summary::Program { script: None, ..exes[0].0 };
        return format!("{}, {}", summary::process(one, profile), exe.label());
    }
    let most = summary::process(finding.processes[0], profile);
    let all = number(finding.processes.len() as u64);
    if let [(exe, _)] = exes[..] {
        return format!("{all} processes of {}, most calls by {most}", exe.label());
    }
    let mut groups: Vec<String> = exes
        .iter()
        .take(SHOWN)
        .map(|(exe, n)| format!("{} × {}", number(*n), exe.label()))
        .collect();
    if exes.len() > SHOWN {
        groups.push(count((exes.len() - SHOWN) as u64, "other program", "other programs"));
    }
    format!("{all} processes: {}; most calls by {most}", groups.join(", "))
}

/// A note where paths are not those of the host.
fn elsewhere(finding: &Finding, profile: &Profile) -> &'static str {
    let own = |id: &ProcId| profile.process(*id).shares_root;
    match (finding.processes.iter().all(own), finding.processes.iter().any(own)) {
        (true, _) => "",
        (_, false) => "; in a root or mount namespace of its own: paths are those there",
        _ => "; some in a root or mount namespace of their own: their paths are those there",
    }
}

/// Call sites, then the values of the variables that the remedies change.
pub(crate) fn origins(finding: &Finding, profile: &Profile) -> Vec<String> {
    let mut origins: Vec<String> =
        finding.sites.iter().take(SHOWN).map(|site| escape(site).into_owned()).collect();
    if finding.sites.len() > SHOWN {
        let more = (finding.sites.len() - SHOWN) as u64;
        origins.push(count(more, "other place", "other places"));
    }
    let env = &profile.process(finding.processes[0]).env;
    for remedy in &finding.remedies {
        let (Change::SetEnv { variable, .. } | Change::UnsetEnv { variable }) = &remedy.change
        else {
            continue;
        };
        let was = match env.get(variable) {
            None => continue,
            Some(None) => format!("{} is unset", escape(variable)),
            Some(Some(value)) => {
                format!("{}={}", escape(variable), shell_word(value))
            }
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
    let (profile, verdict) = (report.profile, report.verdict);
    let whole = profile.lost.values().all(|n| *n == 0);
    let mut notes = vec![
        ("observed", observed(report), None),
        ("lost", summary::lost(profile), (!whole).then_some(Tint::Care)),
        ("not checked", summary::not_checked(verdict), None),
    ];
    let some = [
        summary::selection(verdict),
        summary::below(verdict).map(|text| ("left out", text)),
        summary::suppressed(report).map(|text| ("suppressed", text)),
    ];
    notes.extend(some.into_iter().flatten().map(|(label, text)| (label, text, None)));
    for (label, all, tint) in
        [("notice", &verdict.notices, Some(Tint::Care)), ("note", &profile.notes, None)]
    {
        let shown = if report.details.full { all.len() } else { SHOWN.min(all.len()) };
        notes.extend(all[..shown].iter().map(|text| (label, escape(text).into_owned(), tint)));
        if shown < all.len() {
            let more = format!("{} more: --full shows all", all.len() - shown);
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
    let verdict = report.verdict;
    if let Some(first) = verdict.findings.first() {
        let rule = overview.large.first().map_or(&first.rule, |line| &line.findings[0].rule);
        let more = overview.large.len() > DETAILED || !overview.small.is_empty();
        let hint = if more && !report.details.full { "; --full shows all details" } else { "" };
        foot(out, "more", &format!("needless explain {rule}{hint}"), None, style)?;
    }
    match again(report) {
        Some(command) => print_lines(out, ("try:", FOOT), &[command], Some(Tint::Fix), style),
        None => Ok(()),
    }
}

/// `with eBPF; not known: the kernel time of calls`.
fn observed(report: &Report<'_>) -> String {
    let profile = report.profile;
    let unknown: Vec<&str> = Fact::ALL
        .iter()
        .filter(|fact| !profile.facts.has(**fact))
        .map(|fact| fact.words())
        .collect();
    let by = profile.backend.to_string();
    let by = escape(&by);
    match unknown.len() {
        0 => format!("by {by}"),
        1..=SHOWN => format!("by {by}; not known: {}", unknown.join(", ")),
        n if !report.details.full => {
            format!("by {by}; not known: {} and {} more", unknown[..2].join(", "), n - 2)
        }
        _ => format!("by {by}; not known: {}", unknown.join(", ")),
    }
}
