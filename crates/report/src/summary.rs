//! What several formats of a report share: who, how much, what was lost, what was not checked.

use crate::text::{count, escape, list, number, shell_word};
use crate::{Report, account, window_text};
use needless_model::{Change, Fact, Finding, Loss, ProcId, Profile};
use needless_rules::{Suppressed, Verdict};
use std::collections::BTreeMap;

/// Needless calls of all findings. Rules never count a call twice.
pub(crate) fn needless(findings: &[Finding]) -> u64 {
    findings.iter().map(|f| f.needless).sum()
}

/// Needless calls as a fraction of `path_calls`, at most 1.
///
/// The bound is needed because a finding may also count calls without a path (the reads of an opened file).
pub(crate) fn share(finding: &Finding, path_calls: u64) -> f64 {
    match path_calls {
        0 => 0.0,
        all => (finding.needless as f64 / all as f64).min(1.0),
    }
}

/// What was seen. The counts come first: they are added if the sentence of the rule does not begin with them.
pub(crate) fn headline(finding: &Finding) -> String {
    let (needless, of) = (number(finding.needless), number(finding.of));
    let what = escape(&finding.what);
    let what = what.trim_end_matches('.');
    let begins = |counts: &str| what.strip_prefix(counts).is_some_and(|s| s.starts_with(' '));
    if begins(&format!("{needless} of {of}")) || (needless == of && begins(&needless)) {
        return what.to_owned();
    }
    format!("{needless} of {of} needless: {what}")
}

/// `sample[4711]`, `sample[4711] and 2 more`.
pub(crate) fn who(finding: &Finding, profile: &Profile) -> String {
    let Some(first) = finding.processes.first() else { return "?".to_owned() };
    let first = process(*first, profile);
    match finding.processes.len() {
        1 => first,
        n => format!("{first} and {} more", number(n as u64 - 1)),
    }
}

/// ` of dnsmasq.service`, where a service is known that is not just the program.
pub(crate) fn in_service(finding: &Finding, profile: &Profile) -> String {
    let program = finding.processes.first().map(|id| profile.process(*id).title());
    match &finding.service {
        Some(service) if Some(service) != program.as_ref() => format!(" of {}", escape(service)),
        _ => String::new(),
    }
}

/// `sample[4711]`, `ts (perl)[4711]`.
pub(crate) fn process(id: ProcId, profile: &Profile) -> String {
    let process = profile.process(id);
    format!("{}[{}]", escape(&process.title()), process.pid)
}

/// What processes run: an executable, and the script or applet that it runs, if that is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program<'a> {
    /// Path of the executable, where known.
    pub(crate) exe: Option<&'a str>,
    /// As [`Process::script`](needless_model::Process::script).
    pub(crate) script: Option<&'a str>,
}

impl Program<'_> {
    /// `/usr/bin/perl`, `ts (/usr/bin/perl)`.
    pub(crate) fn label(&self) -> String {
        let exe = escape(self.exe.unwrap_or("an unknown program"));
        match self.script {
            Some(script) => format!("{} ({exe})", escape(script)),
            None => exe.into_owned(),
        }
    }
}

/// The programs of the processes of a finding, each with the number of its processes, largest first.
pub(crate) fn programs<'a>(finding: &Finding, profile: &'a Profile) -> Vec<(Program<'a>, u64)> {
    let mut by_exe: BTreeMap<Program<'_>, u64> = BTreeMap::new();
    for id in &finding.processes {
        let process = profile.process(*id);
        let program = Program { exe: process.exe.as_deref(), script: process.script() };
        *by_exe.entry(program).or_default() += 1;
    }
    let mut exes: Vec<_> = by_exe.into_iter().collect();
    exes.sort_by_key(|(_, processes)| std::cmp::Reverse(*processes));
    exes
}

/// Entries of a list that are named; `entries` of JSON and the `try:` line have all.
const ENTRIES: usize = 4;

/// What to do; if it can be typed, as one types it.
pub fn change(change: &Change) -> String {
    match change {
        Change::SetEnv { variable, value: Some(value) } => {
            format!("{}={}", escape(variable), shell_word(value))
        }
        Change::SetEnv { variable, value: None } => {
            format!("set {} (the right value is not known here)", escape(variable))
        }
        Change::UnsetEnv { variable } => format!("unset {}", escape(variable)),
        Change::WithoutEntries { variable, entries } => {
            let mut shown: Vec<_> =
                entries.iter().take(ENTRIES).map(|entry| escape(entry)).collect();
            if entries.len() > shown.len() {
                let more = (entries.len() - shown.len()) as u64;
                shown.push(format!("and {}", count(more, "other", "others")).into());
            }
            format!("take out of {}: {}", escape(variable), shown.join(" "))
        }
        Change::Preload => "run it as `needless preload -- COMMAND`".to_owned(),
        Change::Option(text) | Change::Manual(text) => escape(text).into_owned(),
    }
}

/// The backend for use inside parentheses: `ptrace, seccomp-assisted`.
pub(crate) fn backend(profile: &Profile) -> String {
    let backend = &profile.backend;
    let variant = backend.variant().map_or(String::new(), |variant| format!(", {variant}"));
    format!("{}{variant}", escape(backend.name()))
}

/// What was not seen, dropped or folded: `nothing`, `3 lines not understood and 1 call without its path`.
pub(crate) fn lost(profile: &Profile) -> String {
    let lost: Vec<String> =
        profile.lost.iter().filter(|(_, n)| **n > 0).map(|(what, n)| loss(*what, *n)).collect();
    if lost.is_empty() {
        return "nothing".to_owned();
    }
    list(&lost)
}

fn loss(what: Loss, n: u64) -> String {
    let (one, many) = match what {
        Loss::FoldedRows => ("call folded into others", "calls folded into others"),
        Loss::FoldedProcesses => ("process folded into others", "processes folded into others"),
        Loss::Unparsed => ("line not understood", "lines not understood"),
        Loss::Unfinished => ("call whose end was not seen", "calls whose end was not seen"),
        Loss::NoPath => ("call without its path", "calls without their path"),
        Loss::Setuid => {
            ("set-user-ID program without its privilege", "set-user-ID programs without privilege")
        }
        Loss::Ptrace => ("refused attempt to trace", "refused attempts to trace"),
        Loss::StrictMode => (
            "refused request for seccomp's strict mode",
            "refused requests for seccomp's strict mode",
        ),
        Loss::Clone => ("refused start of a process", "refused starts of processes"),
        Loss::Uncounted => ("call counted nowhere", "calls counted nowhere"),
        Loss::UnseenProcesses => ("process unseen", "processes unseen"),
        Loss::Untimed => ("call not timed", "calls not timed"),
        Loss::Stacks => ("stack dropped", "stacks dropped"),
        // How many calls a filter left out is not known.
        Loss::Filtered => return "what a filter left out of the log".to_owned(),
    };
    count(n, one, many)
}

/// Rules that could not be checked, grouped by what they need: `nothing`,
/// `locale-alias (needs the host's locales)`.
pub(crate) fn not_checked(verdict: &Verdict) -> String {
    let mut by_need: Vec<(&[Fact], Vec<&str>)> = Vec::new();
    for skipped in &verdict.not_checked {
        match by_need.iter_mut().find(|(missing, _)| *missing == skipped.missing) {
            Some((_, rules)) => rules.push(&*skipped.rule),
            None => by_need.push((&skipped.missing, vec![&*skipped.rule])),
        }
    }
    if by_need.is_empty() {
        return "nothing".to_owned();
    }
    let groups: Vec<String> = by_need
        .iter()
        .map(|(missing, rules)| {
            let needs = if rules.len() == 1 { "needs" } else { "need" };
            let facts: Vec<&str> = missing.iter().map(|fact| fact.words()).collect();
            format!("{} ({needs} {})", rules.join(", "), list(&facts))
        })
        .collect();
    groups.join("; ")
}

/// How many rules were checked, of how many, if the user selected some.
pub(crate) fn checked(verdict: &Verdict) -> Option<(usize, usize)> {
    let selection = verdict.selection.as_ref()?;
    // A selected rule whose facts are missing was not checked.
    Some((selection.wanted.saturating_sub(verdict.not_checked.len()), selection.all))
}

/// Which rules the user selected: `checked: 1 of 51 rules`, `ignored: tz-unset`.
pub(crate) fn selection(verdict: &Verdict) -> Option<(&'static str, String)> {
    let (checked, all) = checked(verdict)?;
    match verdict.selection.as_ref()? {
        chosen if chosen.only.is_empty() => {
            Some(("ignored", escape(&chosen.ignored.join(", ")).into_owned()))
        }
        _ => Some(("checked", format!("{checked} of {}", count(all as u64, "rule", "rules")))),
    }
}

/// `nothing needless found`, or that no rule was checked.
pub(crate) fn nothing_found(report: &Report<'_>) -> &'static str {
    match checked(report.verdict) {
        Some((0, _)) => "none of the chosen rules could be checked",
        _ if !account::unexplained(report).0.is_empty() => "no rule finds anything",
        _ => "nothing needless found",
    }
}

/// The findings below the threshold, if there are any.
pub(crate) fn below(verdict: &Verdict) -> Option<String> {
    let calls = needless(&verdict.below);
    (!verdict.below.is_empty()).then(|| {
        format!("{} below the threshold, --min-saving 0 shows them", count(calls, "call", "calls"))
    })
}

/// The findings that the user suppressed, if there are any: `1 finding, 9 calls (tz-unset of
/// backup: started once a night, until 2027-06-30)`.
pub(crate) fn suppressed(report: &Report<'_>) -> Option<String> {
    let all = &report.verdict.suppressed;
    let each = |one: &Suppressed| {
        let until = one.until.map_or_else(String::new, |day| format!(", until {day}"));
        let who = who(&one.finding, report.profile);
        format!("{} of {who}: {}{until}", one.finding.rule, escape(&one.reason))
    };
    (!all.is_empty()).then(|| {
        let calls: u64 = all.iter().map(|one| one.finding.needless).sum();
        let reasons: Vec<String> = all.iter().map(each).collect();
        format!("{} ({})", tally(all.len(), calls), reasons.join("; "))
    })
}

fn tally(findings: usize, calls: u64) -> String {
    let findings = count(findings as u64, "finding", "findings");
    format!("{findings}, {}", count(calls, "call", "calls"))
}

/// The only line for a healthy program, and the last line of a concise report: how much, the backend, what was
/// lost, what was not checked.
pub(crate) fn summary(report: &Report<'_>) -> String {
    let (profile, verdict) = (report.profile, report.verdict);
    let window = window_text::is_window(&report.source);
    let found = match verdict.findings.len() as u64 {
        _ if window => window_text::found(report),
        0 => format!(
            "{} in {}{}",
            nothing_found(report),
            account::calls(report),
            account::not_explained(report)
        ),
        n => format!("{}, {}", count(n, "finding", "findings"), account::in_short(report)),
    };
    let mut line = format!("needless: {found} ({}; lost: {}", backend(profile), lost(profile));
    if !(window && verdict.not_checked.is_empty()) {
        line = line + "; not checked: " + &not_checked(verdict);
    }
    if let Some((label, chosen)) = selection(verdict) {
        line = line + "; " + label + ": " + &chosen;
    }
    if let Some(below) = below(verdict) {
        line = line + "; " + &below;
    }
    if let Some(suppressed) = suppressed(report) {
        line = line + "; suppressed: " + &suppressed;
    }
    for notice in &verdict.notices {
        line = line + "; " + &escape(notice);
    }
    if !profile.notes.is_empty() {
        let notes = count(profile.notes.len() as u64, "note", "notes");
        line = line + "; " + &notes + " in --format json";
    }
    line + ")"
}
