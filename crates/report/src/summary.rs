//! What several formats of a report share: who, how much, what was lost, what was not checked.

use crate::document::{
    FindingSum, ReportDocument, ReportFinding, ReportProcess, ReportSuppressed, SafetyLevel,
};
use crate::text::{count, escape, list, number, shell_word};
use crate::{Report, account, time, unjudged, window_text};
use needless_model::{Change, Fact, Loss};

/// What was seen. The counts come first: they are added if the sentence of the rule does not begin with them.
pub(crate) fn headline(finding: &ReportFinding) -> String {
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
pub(crate) fn who(finding: &ReportFinding) -> String {
    and_more(&finding.process, finding.processes)
}

fn and_more(first: &ReportProcess, processes: u64) -> String {
    match processes {
        0 | 1 => process(first),
        n => format!("{} and {} more", process(first), number(n - 1)),
    }
}

/// ` of dnsmasq.service`, where a service is known that is not just the program.
pub(crate) fn in_service(finding: &ReportFinding) -> String {
    match &finding.service {
        Some(service) if *service != finding.process.title() => format!(" of {}", escape(service)),
        _ => String::new(),
    }
}

/// `sample[4711]`, `ts (perl)[4711]`.
pub(crate) fn process(process: &ReportProcess) -> String {
    let title = escape(&process.title()).into_owned();
    // Without a number: it is outside of the PID namespace of needless.
    if process.pid == 0 { title } else { format!("{title}[{}]", process.pid) }
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
        Change::Setting(_, text) | Change::Option(text) | Change::Manual(text) => {
            escape(text).into_owned()
        }
    }
}

/// What the first change of a finding, which is shown, does besides: `; caveat: The encoding stays ISO-8859-7`, of several
/// sentences the first. Empty where it does nothing else, or is no change that one types.
pub(crate) fn caveat(finding: &ReportFinding, before: &str) -> String {
    match finding.remedies.first() {
        Some(remedy) if remedy.safety == SafetyLevel::Caveat => {
            let text = escape(&remedy.caveat);
            let first = text.split(". ").next().unwrap_or_default();
            format!("{before}caveat: {}", first.trim_end_matches('.'))
        }
        _ => String::new(),
    }
}

/// The backend for use inside parentheses: `ptrace, seccomp-assisted`.
pub(crate) fn backend(document: &ReportDocument) -> String {
    let backend = document.backend();
    let variant = backend.variant().map_or(String::new(), |variant| format!(", {variant}"));
    format!("{}{variant}", escape(backend.name()))
}

const NOTHING: &str = "nothing";

/// What was not seen, dropped or folded: `nothing`, `3 lines not understood and 1 call without its path`.
pub(crate) fn lost(document: &ReportDocument) -> String {
    // Those that this version does not know have no words.
    let of = |what: Loss| Some(loss(what, *document.lost.get(what.name()).filter(|n| **n > 0)?));
    let lost: Vec<String> = Loss::ALL.into_iter().filter_map(of).collect();
    if lost.is_empty() {
        return NOTHING.to_owned();
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
/// `locale-alias (needs the host's locales)`. `counted`: whether those are left out that only need a count of every call:
/// a line that says which calls were counted has them.
pub(crate) fn not_checked(document: &ReportDocument, counted: bool) -> String {
    let mut by_need: Vec<(Vec<Fact>, Vec<String>)> = Vec::new();
    for skipped in &document.not_checked {
        let rule = escape(&skipped.rule).into_owned();
        let needs: Vec<Fact> = skipped.needs.iter().filter_map(Option::<Fact>::from).collect();
        if counted && needs == [Fact::AllCalls] {
            continue;
        }
        match by_need.iter_mut().find(|(missing, _)| *missing == needs) {
            Some((_, rules)) => rules.push(rule),
            None => by_need.push((needs, vec![rule])),
        }
    }
    if by_need.is_empty() {
        return NOTHING.to_owned();
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

/// Which rules the user selected: `checked: 1 of 51 rules`, `ignored: tz-unset`.
pub(crate) fn selection(document: &ReportDocument) -> Option<(&'static str, String)> {
    match document.checked.as_ref()? {
        chosen if chosen.only.is_empty() => {
            Some(("ignored", escape(&chosen.ignored.join(", ")).into_owned()))
        }
        chosen => {
            Some(("checked", format!("{} of {}", chosen.rules, count(chosen.of, "rule", "rules"))))
        }
    }
}

/// The findings below the threshold, if there are any.
pub(crate) fn below(document: &ReportDocument) -> Option<String> {
    let FindingSum { findings, calls } = document.below_threshold;
    let calls = count(calls, "call", "calls");
    (findings > 0).then(|| format!("{calls} below the threshold, --min-saving 0 shows them"))
}

/// The findings that the user suppressed, if there are any: `1 finding, 9 calls (tz-unset of
/// backup: started once a night, until 2027-06-30)`.
pub(crate) fn suppressed(document: &ReportDocument) -> Option<String> {
    let all = &document.suppressed;
    let each = |one: &ReportSuppressed| {
        let until = one.until.as_ref().map_or_else(String::new, |day| format!(", until {day}"));
        let who = and_more(&one.process, one.processes);
        escape(&format!("{} of {who}: {}{until}", one.rule, one.reason)).into_owned()
    };
    (!all.is_empty()).then(|| {
        let calls: u64 = all.iter().map(|one| one.needless).sum();
        let reasons: Vec<String> = all.iter().map(each).collect();
        format!("{} ({})", tally(all.len() as u64, calls), reasons.join("; "))
    })
}

fn tally(findings: u64, calls: u64) -> String {
    let findings = count(findings, "finding", "findings");
    format!("{findings}, {}", count(calls, "call", "calls"))
}

/// The only line for a healthy program, and the last line of a concise report: how much, the backend, and what was lost or
/// not checked, if anything.
pub(crate) fn summary(report: &Report<'_>) -> String {
    let document = report.document;
    let window = document.is_window();
    let found = match document.findings.len() as u64 {
        _ if window => window_text::found(report),
        0 => format!(
            "{}{}{}{}",
            unjudged::nothing_in_calls(report),
            account::not_explained(report),
            account::most_not_explained(report),
            time::many_started(document)
        ),
        n => {
            let (found, started) = (account::in_short(report), time::many_started(document));
            format!("{}, {found}{started}", count(n, "finding", "findings"))
        }
    };
    // In one line of a terminal where nothing was found.
    let silent = document.findings.is_empty() && !window;
    let name = || escape(document.backend().name()).into_owned();
    let mut about = vec![if silent { name() } else { backend(document) }];
    let some = |text: &String| text != NOTHING;
    about.extend(Some(lost(document)).filter(some).map(|lost| format!("lost: {lost}")));
    about.extend(
        Some(not_checked(document, true)).filter(some).map(|not| format!("not checked: {not}")),
    );
    about.extend(selection(document).map(|(label, chosen)| format!("{label}: {chosen}")));
    about.extend(below(document));
    about.extend(suppressed(document).map(|suppressed| format!("suppressed: {suppressed}")));
    about.extend(document.notices.iter().map(|notice| escape(notice).into_owned()));
    if !document.notes.is_empty() && !report.details.full {
        about.push(count(document.notes.len() as u64, "note: -v shows it", "notes: -v shows them"));
    }
    format!("needless: {found} ({})", about.join("; "))
}
