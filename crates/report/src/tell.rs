//! What several formats tell alike: who, how much, what was lost, what was not checked.

use crate::text::{clean, count, list, number, shell_word};
use crate::{Report, window};
use needless_model::{Change, Fact, Finding, Loss, ProcId, Profile};
use needless_rules::{Suppressed, Verdict};
use std::collections::BTreeMap;

/// Needless calls of all findings. Rules never count a call twice.
pub(crate) fn needless(findings: &[Finding]) -> u64 {
    findings.iter().map(|f| f.needless).sum()
}

/// Needless calls as a fraction of so many calls that name a path, at most 1.
///
/// A finding may count calls without a path too (the reads of an opened file), hence the bound.
pub(crate) fn share(finding: &Finding, path_calls: u64) -> f64 {
    match path_calls {
        0 => 0.0,
        all => (finding.needless as f64 / all as f64).min(1.0),
    }
}

/// Whether all needless calls of a finding name a path. The reads of a file that is opened again
/// and again do not; some backends do not count those.
pub(crate) fn all_name_paths(finding: &Finding, profile: &Profile) -> bool {
    let rows = finding.rows.iter().map(|at| &profile.rows[*at]);
    let named: u64 = rows.filter(|row| row.query.names_path()).map(|row| row.count).sum();
    finding.needless <= named
}

/// What was seen, with the counts ahead where the rule's sentence does not begin with them.
pub(crate) fn headline(finding: &Finding) -> String {
    let (needless, of) = (number(finding.needless), number(finding.of));
    let what = clean(&finding.what);
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

/// `sample[4711]`, `ts (perl)[4711]`.
pub(crate) fn process(id: ProcId, profile: &Profile) -> String {
    let process = profile.process(id);
    format!("{}[{}]", clean(&process.title()), process.pid)
}

/// What processes run: an executable, and the script or applet that it runs where that is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Program<'a> {
    /// Path of the executable, where known.
    pub(crate) exe: Option<&'a str>,
    /// As [`Process::script`](needless_model::Process::script).
    pub(crate) script: Option<&'a str>,
}

impl Program<'_> {
    /// `/usr/bin/perl`, `ts (/usr/bin/perl)`.
    pub(crate) fn words(&self) -> String {
        let exe = clean(self.exe.unwrap_or("an unknown program"));
        match self.script {
            Some(script) => format!("{} ({exe})", clean(script)),
            None => exe.into_owned(),
        }
    }
}

/// Programs of a finding's processes with how many processes ran each, most first.
pub(crate) fn exes<'a>(finding: &Finding, profile: &'a Profile) -> Vec<(Program<'a>, u64)> {
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

/// What to do, as it would be typed where it can be typed.
pub(crate) fn change(change: &Change) -> String {
    match change {
        Change::SetEnv { variable, value: Some(value) } => {
            format!("{}={}", clean(variable), shell_word(value))
        }
        Change::SetEnv { variable, value: None } => {
            format!("set {} (the right value cannot be told from here)", clean(variable))
        }
        Change::UnsetEnv { variable } => format!("unset {}", clean(variable)),
        Change::Preload => "run it as `needless preload -- COMMAND`".to_owned(),
        Change::Option(text) | Change::Manual(text) => clean(text).into_owned(),
    }
}

/// The backend in a word: `eBPF`, `ptrace`.
pub(crate) fn word_backend(backend: &str) -> String {
    clean(backend.split(" (").next().unwrap_or(backend)).into_owned()
}

/// The backend without parentheses, to stand in some: `ptrace, seccomp-assisted`.
pub(crate) fn backend(profile: &Profile) -> String {
    clean(&profile.backend).replace(" (", ", ").replace(')', "")
}

/// How many calls were judged: of all if all were counted, else of those that name a path, which
/// every backend counts.
pub(crate) fn judged(profile: &Profile) -> String {
    if profile.facts.has(Fact::AllCalls) {
        return count(profile.totals.calls, "call", "calls");
    }
    count(profile.totals.path_calls, "call that names a path", "calls that name a path")
}

/// `9 of 71 calls that name a path are needless`.
pub(crate) fn toll(report: &Report<'_>) -> String {
    let (profile, findings) = (report.profile, &report.verdict.findings);
    let needless = needless(findings);
    let are = if needless == 1 { "is" } else { "are" };
    // Otherwise they are not a part of the calls that were counted.
    let comparable = profile.facts.has(Fact::AllCalls)
        || findings.iter().all(|finding| all_name_paths(finding, profile));
    match comparable {
        true => format!("{} of {} {are} needless", number(needless), judged(profile)),
        false => format!("{} {are} needless", count(needless, "call", "calls")),
    }
}

/// What was not seen, dropped or folded: `nothing`, `3 lines unparsed and 1 call unfinished`.
pub(crate) fn lost(profile: &Profile) -> String {
    let lost: Vec<String> =
        profile.lost.iter().filter(|(_, n)| **n > 0).map(|(name, n)| loss(name, *n)).collect();
    if lost.is_empty() {
        return "nothing".to_owned();
    }
    list(&lost.iter().map(String::as_str).collect::<Vec<_>>(), "and")
}

fn loss(name: &'static str, n: u64) -> String {
    let (one, many) = match Loss(name) {
        Loss::FOLDED => ("call folded into others", "calls folded into others"),
        Loss::FOLDED_PROCESSES => ("process folded into others", "processes folded into others"),
        Loss::UNPARSED => ("line not understood", "lines not understood"),
        Loss::UNFINISHED => ("call whose end was not seen", "calls whose end was not seen"),
        Loss::NO_PATH => ("call without its path", "calls without their path"),
        Loss::SETUID => {
            ("set-user-ID program without its privilege", "set-user-ID programs without privilege")
        }
        Loss::PTRACE => ("refused attempt to trace", "refused attempts to trace"),
        Loss::STRICT_MODE => (
            "refused request for seccomp's strict mode",
            "refused requests for seccomp's strict mode",
        ),
        Loss::CLONE => ("refused start of a process", "refused starts of processes"),
        Loss::UNCOUNTED => ("call counted nowhere", "calls counted nowhere"),
        Loss::PROCESSES => ("process unseen", "processes unseen"),
        Loss::UNTIMED => ("call not timed", "calls not timed"),
        Loss::STACKS => ("stack dropped", "stacks dropped"),
        // How many calls a filter left out is not known.
        Loss::FILTERED => return "what a filter left out of the log".to_owned(),
        _ => return format!("{} {}", number(n), clean(name).replace('_', " ")),
    };
    count(n, one, many)
}

/// Rules that could not be checked, by what they would need: `nothing`,
/// `locale-alias (needs the host's locales)`.
pub(crate) fn not_checked(verdict: &Verdict) -> String {
    let mut by_need: Vec<(&[Fact], Vec<&str>)> = Vec::new();
    for skipped in &verdict.not_checked {
        match by_need.iter_mut().find(|(missing, _)| *missing == skipped.missing) {
            Some((_, rules)) => rules.push(skipped.rule),
            None => by_need.push((&skipped.missing, vec![skipped.rule])),
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
            format!("{} ({needs} {})", rules.join(", "), list(&facts, "and"))
        })
        .collect();
    groups.join("; ")
}

/// How many rules were checked, where the user chose among them.
pub(crate) fn checked(verdict: &Verdict) -> Option<(usize, usize)> {
    let selection = verdict.selection.as_ref()?;
    // A rule whose facts are missing was wanted, and not checked.
    Some((selection.wanted.saturating_sub(verdict.not_checked.len()), selection.all))
}

/// The user's choice among the rules: `checked: 1 of 51 rules`, `ignored: tz-unset`.
pub(crate) fn selection(verdict: &Verdict) -> Option<(&'static str, String)> {
    let (checked, all) = checked(verdict)?;
    match verdict.selection.as_ref()? {
        chosen if chosen.only.is_empty() => {
            Some(("ignored", clean(&chosen.ignored.join(", ")).into_owned()))
        }
        _ => Some(("checked", format!("{checked} of {}", count(all as u64, "rule", "rules")))),
    }
}

/// `nothing needless found`, but where no rule was checked.
pub(crate) fn nothing_found(verdict: &Verdict) -> &'static str {
    match checked(verdict) {
        Some((0, _)) => "none of the chosen rules could be checked",
        _ => "nothing needless found",
    }
}

/// What was found and left out for being too little, if anything.
pub(crate) fn below(verdict: &Verdict) -> Option<String> {
    let calls = needless(&verdict.below);
    (!verdict.below.is_empty()).then(|| {
        format!("{} below the threshold, --min-saving 0 shows them", count(calls, "call", "calls"))
    })
}

/// What the user decided to live with, if there was any of it: `1 finding, 9 calls (tz-unset of
/// backup: started once a night, until 2027-06-30)`.
pub(crate) fn suppressed(report: &Report<'_>) -> Option<String> {
    let all = &report.verdict.suppressed;
    let each = |one: &Suppressed| {
        let until = one.until.map_or_else(String::new, |day| format!(", until {day}"));
        let who = who(&one.finding, report.profile);
        format!("{} of {who}: {}{until}", one.finding.rule, clean(&one.reason))
    };
    (!all.is_empty()).then(|| {
        let calls: u64 = all.iter().map(|one| one.finding.needless).sum();
        let reasons: Vec<String> = all.iter().map(each).collect();
        format!("{} ({})", tally(all.len(), calls), reasons.join("; "))
    })
}

/// What the baseline knows, if there was any of it.
pub(crate) fn known(verdict: &Verdict) -> Option<String> {
    let all = &verdict.known;
    (!all.is_empty())
        .then(|| format!("{}, in the baseline and not worse", tally(all.len(), needless(all))))
}

fn tally(findings: usize, calls: u64) -> String {
    let findings = count(findings as u64, "finding", "findings");
    format!("{findings}, {}", count(calls, "call", "calls"))
}

/// The one line of a healthy program, and the last of a concise report: how much, seen by whom,
/// what was lost, what was not checked.
pub(crate) fn summary(report: &Report<'_>) -> String {
    let (profile, verdict) = (report.profile, report.verdict);
    let window = window::is_window(&report.source);
    let toll = match verdict.findings.len() as u64 {
        _ if window => window::found(report),
        0 => format!("{} in {}", nothing_found(verdict), judged(profile)),
        n => format!("{}, {}", count(n, "finding", "findings"), toll(report)),
    };
    let mut line = format!("needless: {toll} ({}; lost: {}", backend(profile), lost(profile));
    if !(window && verdict.not_checked.is_empty()) {
        line = line + "; not checked: " + &not_checked(verdict);
    }
    if let Some((label, chosen)) = selection(verdict) {
        line = line + "; " + label + ": " + &chosen;
    }
    if let Some(left_out) = window::left_out(report) {
        line = line + "; " + &left_out;
    }
    if let Some(below) = below(verdict) {
        line = line + "; " + &below;
    }
    if let Some(suppressed) = suppressed(report) {
        line = line + "; suppressed: " + &suppressed;
    }
    if let Some(known) = known(verdict) {
        line = line + "; known: " + &known;
    }
    for notice in &verdict.notices {
        line = line + "; " + &clean(notice);
    }
    if !profile.notes.is_empty() {
        let notes = count(profile.notes.len() as u64, "note", "notes");
        line = line + "; " + &notes + " in --format json";
    }
    line + ")"
}
