//! What a check of a budget found, in words: the parts of its document.

use crate::check::json::{CheckCause, CheckCount, CheckDocument, CheckFinding};
use crate::check_text::{allowed, range};
use crate::document::ReportFinding;
use crate::summary;
use crate::text::{count, escape, list};
use needless_model::Profile;
use needless_rules::{Budget, Cause, CauseKind, EnvironmentChange, Measured, Verdict, is_missing};

/// What several runs of a command did, compared with its budget.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The budget.
    pub budget: &'a Budget,
    /// The program as given, without its arguments.
    pub program: &'a str,
    /// How many runs were counted.
    pub runs: usize,
    /// The run with the fewest calls.
    pub profile: &'a Profile,
    /// What is needless in it, without a threshold.
    pub verdict: &'a Verdict,
    /// Every count.
    pub measured: &'a [Measured],
    /// Why there is more, if there is.
    pub causes: &'a [Cause],
    /// What of the environment changed; `None`: that of the budget is not known.
    pub environment: Option<&'a EnvironmentChange>,
    /// Sentences about what this check cannot show.
    pub notes: &'a [String],
}

impl CheckDocument {
    /// All that formats have of a check.
    pub fn of(check: &Check<'_>, version: &str) -> CheckDocument {
        let within = !check.measured.iter().any(Measured::is_over);
        CheckDocument {
            schema: crate::check::json::CHECK_SCHEMA.to_owned(),
            needless_version: version.to_owned(),
            budget: check.budget.name.clone(),
            file: check.budget.file.clone(),
            line: check.budget.line as u64,
            program: check.program.to_owned(),
            backend: check.profile.backend.to_string(),
            runs: check.runs as u64,
            within,
            counts: check.measured.iter().map(counted).collect(),
            causes: check.causes.iter().map(|one| cause(check, one)).collect(),
            environment: environment(check, within),
            remarks: remarks(check),
        }
    }
}

fn counted(one: &Measured) -> CheckCount {
    CheckCount {
        key: one.counted.to_string(),
        lowest: one.lowest,
        highest: one.highest,
        limit: one.limit.map(|limit| limit.most),
        line: one.limit.map(|limit| limit.line as u64),
        allowed: one.allowed(),
        over: one.is_over(),
    }
}

fn cause(check: &Check<'_>, from: &Cause) -> CheckCause {
    let finding = from.kind.finding(check.verdict);
    let remedy = finding.and_then(|finding| finding.remedies.first());
    let (place, new, listed_in) = match &from.kind {
        CauseKind::Calls { place, new, listed_in, .. } => {
            (Some(place.clone()).filter(|place| !place.is_empty()), *new, listed_in.clone())
        }
        CauseKind::Finding { .. } => (None, false, None),
    };
    let programs = match &from.kind {
        CauseKind::Calls { programs, .. } => programs.clone(),
        CauseKind::Finding { .. } => Vec::new(),
    };
    let rule = finding.map(|finding| finding.rule.to_string());
    let found = finding.map(|finding| {
        let set_at = check.verdict.place_of(finding);
        let finding = ReportFinding::of(finding, check.profile);
        CheckFinding {
            who: summary::who(&finding),
            headline: summary::headline(&finding),
            file: set_at.map(|place| place.file.clone()),
            line: set_at.map(|place| place.line.into()),
            by_hand: set_at.and_then(|place| place.by_hand.clone()),
        }
    });
    CheckCause {
        more: from.more,
        text: text(from, rule.as_deref().zip(found.as_ref())),
        rule,
        place,
        new,
        listed_in,
        programs,
        remedy: remedy.map(|remedy| summary::change(&remedy.change)),
        finding: found,
    }
}

/// So many new places of a finding are named.
const NEW: usize = 3;

/// `, by cc1 and 2 other programs`.
fn by(programs: &[String]) -> String {
    match programs {
        [] => String::new(),
        [only] => format!(", by {}", escape(only)),
        [first, others @ ..] => {
            let others = count(others.len() as u64, "other program", "other programs");
            format!(", by {} and {others}", escape(first))
        }
    }
}

/// A cause as a sentence without its full stop.
fn text(cause: &Cause, finding: Option<(&str, &CheckFinding)>) -> String {
    if let Some((rule, CheckFinding { who, headline, .. })) = finding {
        let CauseKind::Finding { new, .. } = &cause.kind else { return String::new() };
        let names: Vec<String> = new.iter().map(|place| escape(place).into_owned()).collect();
        let unsaid = names.iter().filter(|name| !headline.contains(name.trim_end_matches('/')));
        let new = match unsaid.map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => String::new(),
            few if few.len() <= NEW => format!("; new: {}", list(few)),
            many => format!("; new: {}, and {} more", many[..NEW].join(", "), many.len() - NEW),
        };
        return format!("{rule}: {who}: {headline}{new}");
    }
    let CauseKind::Calls { place, new, files, programs, listed_in, call, outcome } = &cause.kind
    else {
        return String::new();
    };
    let failed = !outcome.is_empty() && outcome != "ok";
    let missing = is_missing(outcome);
    let kind = match (new, failed) {
        _ if cause.kind.is_new_program() => "new program",
        (true, _) if missing => "asked for the first time, and not there",
        (true, _) => "new",
        (false, true) => "not explained: failed",
        (false, false) => "asked more often",
    };
    let calls = match failed {
        true => format!("{} ({})", escape(call), escape(outcome)),
        false => escape(call).into_owned(),
    };
    let listed = listed_in
        .as_ref()
        .map_or_else(String::new, |variable| format!("; {} lists it", escape(variable)));
    match place.as_str() {
        "" => format!("{kind}: {calls}{}", by(programs)),
        place if *files > 0 => {
            format!("{kind}: {files} files in {}: {calls}{listed}", escape(place))
        }
        place => format!("{kind}: {}: {calls}{listed}", escape(place)),
    }
}

/// What of the environment changed, in sentences.
fn environment(check: &Check<'_>, within: bool) -> Vec<String> {
    let Some(change) = check.environment else { return Vec::new() };
    let names = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| escape(name).into_owned()).collect();
        let is = if names.len() == 1 { "is" } else { "are" };
        (list(&names.iter().map(String::as_str).collect::<Vec<_>>()), is)
    };
    let mut said = Vec::new();
    if !change.went.is_empty() {
        let (names, is) = names(&change.went);
        said.push(format!("{names} {is} not set, unlike when the budget was written"));
    }
    if !change.came.is_empty() {
        let (names, is) = names(&change.came);
        said.push(format!("{names} {is} set, unlike when the budget was written"));
    }
    if change.others > 0 && !within {
        let others = count(change.others as u64, "other variable", "other variables");
        said.push(format!("{others} came or went, which no rule reads"));
    }
    said
}

/// Sentences about counts that are not over the budget.
fn remarks(check: &Check<'_>) -> Vec<String> {
    let mut said = Vec::new();
    let varied: Vec<String> = check
        .measured
        .iter()
        .filter(|one| one.varies() && one.limit.is_some())
        .map(counted)
        .map(|one| format!("{} {}", escape(&one.key), range(&one)))
        .collect();
    if !varied.is_empty() {
        said.push(format!("differed between the runs: {}", varied.join(", ")));
    }
    let fell = check.measured.iter().filter(|one| one.fell()).map(counted);
    let fell: Vec<String> = fell
        .map(|one| format!("{} {} instead of {}", escape(&one.key), range(&one), allowed(&one)))
        .collect();
    if !fell.is_empty() {
        let than = match check.budget.of_report {
            true => "in the report (a new one lowers what is allowed)",
            false => "the budget (--update lowers it)",
        };
        said.push(format!("less than {than}: {}", fell.join(", ")));
    }
    said.extend(check.notes.iter().map(|note| escape(note).into_owned()));
    said
}
