//! For a person at a terminal: numbers first, then why, from where, what to do and what else that changes.

use crate::text::{Tint, count, duration, escape, number, percent, wrap};
use crate::{Report, Source, Style, summary, window};
use needless_model::{Change, Evidence, Fact, Finding, ProcId, Profile, Safety, Stage, Totals};
use std::io::{self, Write};

/// Columns before the text of a finding: two blanks, the label, two blanks.
const INDENT: usize = 10;
/// Columns before the text of the footer.
const FOOT: usize = 14;
/// At most this many call sites or programs are listed; further ones are counted.
const SHOWN: usize = 3;

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let verdict = report.verdict;
    if verdict.findings.is_empty() {
        return writeln!(out, "{}", summary::summary(report));
    }
    print(out, report, style)?;
    let Some(proof) = report.proof else { return Ok(()) };
    writeln!(out)?;
    crate::write_proof(out, proof, report.version, crate::ProofFormat::Full, style)
}

fn print(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let (profile, verdict) = (report.profile, report.verdict);
    header(out, report, style)?;
    if window::is_window(&report.source) {
        print_services(out, report, style)?;
    } else {
        for finding in &verdict.findings {
            writeln!(out)?;
            let share = share(finding, profile, &profile.totals, None);
            print_finding(out, finding, profile, &[("share", share)], style)?;
        }
    }
    writeln!(out)?;
    footer(out, report, style)
}

/// The findings of each service, below its heading.
fn print_services(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let profile = report.profile;
    let (length, totals) = (window::length(report), window::totals_by_service(profile));
    let inner = Style { width: style.width.saturating_sub(2), ..style };
    for group in window::groups(report).0 {
        writeln!(out)?;
        let name = group.name(profile);
        let heading = format!("{name}: {}", group.cost(length));
        print_heading(out, &name, &heading, "    ", style)?;
        let own = totals.get(&group.service).copied().unwrap_or_default();
        for (at, finding) in group.findings.iter().enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            let rate = length.and_then(|length| window::frequency(finding, length));
            let mut figures: Vec<_> = rate.into_iter().map(|rate| ("rate", rate)).collect();
            figures.push(("share", share(finding, profile, &own, Some(group.whose()))));
            let mut text = Vec::new();
            print_finding(&mut text, finding, profile, &figures, inner)?;
            for line in String::from_utf8_lossy(&text).lines() {
                writeln!(out, "  {line}")?;
            }
        }
    }
    let Some(more) = window::left_out(report) else { return Ok(()) };
    writeln!(out)?;
    print_wrapped(out, ("", 0), &more, None, style)
}

fn header(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let profile = report.profile;
    let unknown: Vec<&str> = Fact::ALL
        .iter()
        .filter(|fact| !profile.facts.has(**fact))
        .map(|fact| fact.words())
        .collect();
    let by = profile.backend.to_string();
    let by = escape(&by);
    let unknown = if unknown.is_empty() { "nothing".to_owned() } else { unknown.join(", ") };
    let seen = format!("needless: {by}; not known: {unknown}");
    print_wrapped(out, ("", 0), &seen, Some(Tint::Faint), style)?;
    let (of, extent) = match &report.source {
        Source::Run(program) => {
            (program.rsplit('/').next().unwrap_or(program), summary::needless_of_all(report))
        }
        Source::Log(file) => (file.as_str(), summary::needless_of_all(report)),
        Source::Attach(what) => (what.as_str(), window::extent(report)),
        Source::Host => ("host", window::extent(report)),
    };
    let found = count(report.verdict.findings.len() as u64, "finding", "findings");
    let line = format!("{}: {extent}, {found}", escape(of));
    print_wrapped(out, ("", 0), &line, None, style)
}

fn print_finding(
    out: &mut dyn Write,
    finding: &Finding,
    profile: &Profile,
    figures: &[(&str, String)],
    style: Style,
) -> io::Result<()> {
    let head = format!("{}: {}", finding.rule, summary::headline(finding));
    print_heading(out, &finding.rule, &head, "  ", style)?;
    let prose = |out: &mut dyn Write, label: &str, text: &str| {
        print_wrapped(out, (&format!("  {label}"), INDENT), text, None, style)
    };
    let exact = |out: &mut dyn Write, label: &str, text: &str, tint| {
        print_lines(out, (&format!("  {label}"), INDENT), &[text.to_owned()], tint, style)
    };
    for (label, figure) in figures {
        prose(out, label, figure)?;
    }
    prose(out, "who", &(who(finding, profile) + elsewhere(finding, profile)))?;
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
            Change::SetEnv { .. } | Change::UnsetEnv { .. } => {
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
    prose(out, "stage", stage(finding.stage))?;
    exact(out, "more", &format!("needless explain {}", finding.rule), None)
}

/// Wraps `text`, which begins with `name`; further lines begin with `lead`.
fn print_heading(
    out: &mut dyn Write,
    name: &str,
    text: &str,
    lead: &str,
    style: Style,
) -> io::Result<()> {
    // The name is painted after wrapping: escape sequences have no width.
    for (at, line) in wrap(text, style.width.saturating_sub(lead.len())).iter().enumerate() {
        match line.strip_prefix(name) {
            Some(rest) if at == 0 => writeln!(out, "{}{rest}", style.paint(Tint::Name, name))?,
            _ if at == 0 => writeln!(out, "{line}")?,
            _ => writeln!(out, "{lead}{line}")?,
        }
    }
    Ok(())
}

/// `10 × newfstatat("/etc/localtime") ok`.
fn counted(evidence: &Evidence) -> String {
    let about = match evidence.path.as_str() {
        "" => String::new(),
        path => format!("(\"{}\")", escape(path)),
    };
    let (call, outcome) = (escape(&evidence.call), escape(&evidence.outcome));
    format!("{} × {call}{about} {outcome}", number(evidence.count))
}

/// The saving, as a share of all calls, or of the calls of `whose` service. `totals` counts these calls.
fn share(finding: &Finding, profile: &Profile, totals: &Totals, whose: Option<&str>) -> String {
    let calls = if summary::all_name_paths(finding, profile) {
        let share = percent(summary::share(finding, totals.path_calls));
        format!("{share} of {} calls that name a path", whose.unwrap_or("the"))
    } else if profile.facts.has(Fact::AllCalls) && totals.calls > 0 {
        let share = percent(finding.needless as f64 / totals.calls as f64);
        format!("{share} of {} calls", whose.unwrap_or("all"))
    } else {
        count(finding.needless, "call", "calls") + ", some without a path"
    };
    match finding.kernel_ns {
        None => calls,
        Some(ns) if finding.estimated => format!("{calls}, about {} in the kernel", duration(ns)),
        Some(ns) => format!("{calls}, {} in the kernel", duration(ns)),
    }
}

/// How certain the finding is.
fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Seen => "seen: the pattern matched; its cause was not looked up in this observation",
        Stage::Explained => "explained: the cause was found too; the saving was not measured",
        Stage::Proven => "proven: measured before and after the change",
    }
}

/// The process; of several the executables, and the process with most calls.
fn who(finding: &Finding, profile: &Profile) -> String {
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
fn origins(finding: &Finding, profile: &Profile) -> Vec<String> {
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
                format!("{}={}", escape(variable), crate::text::shell_word(value))
            }
        };
        if !origins.contains(&was) {
            origins.push(was);
        }
    }
    origins
}

fn footer(out: &mut dyn Write, report: &Report<'_>, style: Style) -> io::Result<()> {
    let (profile, verdict) = (report.profile, report.verdict);
    let line = |out: &mut dyn Write, label: &str, text: &str, tint| {
        print_wrapped(out, (&format!("{label}:"), FOOT), text, tint, style)
    };
    let whole = profile.lost.values().all(|n| *n == 0);
    line(out, "lost", &summary::lost(profile), (!whole).then_some(Tint::Care))?;
    line(out, "not checked", &summary::not_checked(verdict), None)?;
    if let Some((label, chosen)) = summary::selection(verdict) {
        line(out, label, &chosen, None)?;
    }
    if let Some(below) = summary::below(verdict) {
        line(out, "left out", &below, None)?;
    }
    for (label, text) in
        [("suppressed", summary::suppressed(report)), ("known", summary::known(verdict))]
    {
        if let Some(text) = text {
            line(out, label, &text, None)?;
        }
    }
    for notice in &verdict.notices {
        line(out, "config", &escape(notice), Some(Tint::Care))?;
    }
    for note in &profile.notes {
        line(out, "note", &escape(note), None)?;
    }
    match again(report) {
        Some(command) => print_lines(out, ("try:", FOOT), &[command], Some(Tint::Fix), style),
        None => Ok(()),
    }
}

/// The command that runs the program again with the first remedy of each finding, if these are variables.
fn again(report: &Report<'_>) -> Option<String> {
    let Source::Run(program) = &report.source else { return None };
    let mut variables: Vec<&str> = Vec::new();
    let mut words = Vec::new();
    for finding in &report.verdict.findings {
        let Some(remedy) = finding.remedies.first() else { continue };
        if matches!(remedy.safety, Safety::Manual(_)) {
            continue;
        }
        let (variable, word) = match &remedy.change {
            Change::SetEnv { variable, value: Some(_) } => {
                (variable, summary::change(&remedy.change))
            }
            Change::UnsetEnv { variable } => (variable, format!("-u {}", escape(variable))),
            _ => continue,
        };
        if !variables.contains(&variable.as_str()) {
            variables.push(variable);
            words.push((matches!(remedy.change, Change::UnsetEnv { .. }), word));
        }
    }
    if words.is_empty() {
        return None;
    }
    // env(1) takes options before assignments.
    words.sort_by_key(|(unset, _)| !unset);
    let env = if words[0].0 { "env " } else { "" };
    let words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    let program = crate::text::shell_word(program);
    Some(format!("{env}{} needless run -- {program} …", words.join(" ")))
}

/// Prints prose: `text` wrapped beside `label`, from column `indent`.
fn print_wrapped(
    out: &mut dyn Write,
    (label, indent): (&str, usize),
    text: &str,
    tint: Option<Tint>,
    style: Style,
) -> io::Result<()> {
    let width = style.width.saturating_sub(indent).max(20);
    print_lines(out, (label, indent), &wrap(text, width), tint, style)
}

/// Prints what users copy or compare: `lines`, not wrapped, beside `label`, from column `indent`, which is at least
/// as wide as the label.
fn print_lines(
    out: &mut dyn Write,
    (label, indent): (&str, usize),
    lines: &[String],
    tint: Option<Tint>,
    style: Style,
) -> io::Result<()> {
    for (at, line) in lines.iter().enumerate() {
        let mut lead = " ".repeat(indent);
        if at == 0 && !label.trim().is_empty() {
            let blanks = " ".repeat(indent - label.len());
            lead = style.paint(Tint::Faint, label) + &blanks;
        }
        let line = tint.map_or_else(|| line.clone(), |tint| style.paint(tint, line));
        writeln!(out, "{lead}{line}")?;
    }
    Ok(())
}
