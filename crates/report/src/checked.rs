//! A budget that was checked, and what several formats of that share.

use crate::summary;
use crate::text::{count, escape, list, number};
use needless_model::{Finding, Profile, Remedy};
use needless_rules::{Budget, Cause, CauseKind, Counted, EnvironmentChange, Measured, Verdict};

/// How many causes are shown to a person.
const SHOWN: usize = 8;

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

impl Check<'_> {
    /// Whether nothing is over the budget.
    pub fn holds(&self) -> bool {
        self.over().next().is_none()
    }

    /// What is over the budget.
    pub(crate) fn over(&self) -> impl Iterator<Item = &Measured> {
        self.measured.iter().filter(|one| one.is_over())
    }

    /// The limit that stands for the whole: the first that is exceeded.
    pub(crate) fn line(&self) -> usize {
        let over = self.over().next().and_then(|one| one.limit);
        over.map_or(self.budget.line, |limit| limit.line)
    }
}

/// `over budget: demo (needless.toml:3), 3 runs`.
pub(crate) fn title(check: &Check<'_>) -> String {
    let word = if check.holds() { "within budget" } else { "over budget" };
    let Budget { name, file, .. } = check.budget;
    let runs = count(check.runs as u64, "run", "runs");
    format!("{word}: {name} ({}:{}), {runs}", escape(file), check.line())
}

/// `30`, `30 to 33`.
pub(crate) fn range(one: &Measured) -> String {
    match one.varies() {
        true => format!("{} to {}", number(one.lowest), number(one.highest)),
        false => number(one.lowest),
    }
}

/// `30 (and 3 by chance)`.
pub(crate) fn allowed(one: &Measured) -> String {
    let most = one.limit.map_or(0, |limit| limit.most);
    match one.allowed().unwrap_or(most) - most {
        0 => number(most),
        vary => format!("{} (and {} by chance)", number(most), number(vary)),
    }
}

/// How much more than the budget says: `+12`.
pub(crate) fn more(one: &Measured) -> String {
    let most = one.limit.map_or(0, |limit| limit.most);
    format!("+{}", number(one.lowest.saturating_sub(most)))
}

/// `calls: 42 instead of 30, +12`.
pub(crate) fn grown(one: &Measured) -> String {
    format!(
        "{}: {} instead of {}, {}",
        escape_key(&one.counted),
        range(one),
        allowed(one),
        more(one)
    )
}

/// The key in needless.toml.
pub(crate) fn escape_key(counted: &Counted) -> String {
    escape(&counted.to_string()).into_owned()
}

/// The causes that are shown, and how many are left out.
pub(crate) fn causes<'a>(check: &Check<'a>) -> (&'a [Cause], usize) {
    let shown = check.causes.len().min(SHOWN);
    (&check.causes[..shown], check.causes.len() - shown)
}

/// A cause as a sentence without its full stop.
pub(crate) fn cause(check: &Check<'_>, cause: &Cause) -> String {
    if let Some(finding) = cause.kind.finding(check.verdict) {
        let who = summary::who(finding, check.profile);
        return format!("{}: {who}: {}", finding.rule, summary::headline(finding));
    }
    let CauseKind::Calls { place, new, listed_in, call, outcome } = &cause.kind else {
        return String::new();
    };
    let failed = !outcome.is_empty() && outcome != "ok";
    let missing = matches!(outcome.as_str(), "ENOENT" | "ENOTDIR");
    let kind = match (new, failed) {
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
        "" => format!("{kind}: {calls}"),
        place => format!("{kind}: {}: {calls}{listed}", escape(place)),
    }
}

/// The best remedy of a cause.
pub(crate) fn remedy<'a>(check: &Check<'a>, cause: &Cause) -> Option<&'a Remedy> {
    cause.kind.finding(check.verdict)?.remedies.first()
}

/// What to do about a cause: `fix: TZ=UTC`.
pub(crate) fn fix(check: &Check<'_>, cause: &Cause) -> Option<String> {
    remedy(check, cause).map(|remedy| format!("fix: {}", summary::change(&remedy.change)))
}

/// The findings that are causes.
pub(crate) fn findings<'a>(check: &Check<'a>) -> impl Iterator<Item = (&'a Finding, u64)> {
    let verdict = check.verdict;
    check.causes.iter().filter_map(|cause| Some((cause.kind.finding(verdict)?, cause.more)))
}

/// What of the environment changed, in sentences.
pub(crate) fn environment(check: &Check<'_>) -> Vec<String> {
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
    if change.others > 0 && !check.holds() {
        let others = count(change.others as u64, "other variable", "other variables");
        said.push(format!("{others} came or went, which no rule reads"));
    }
    said
}

/// Sentences about counts that are not over the budget.
pub(crate) fn remarks(check: &Check<'_>) -> Vec<String> {
    let mut said = Vec::new();
    let varied: Vec<String> = check
        .measured
        .iter()
        .filter(|one| one.varies() && one.limit.is_some())
        .map(|one| format!("{} {}", escape_key(&one.counted), range(one)))
        .collect();
    if !varied.is_empty() {
        said.push(format!("differed between the runs: {}", varied.join(", ")));
    }
    let fell = check.measured.iter().filter(|one| one.fell());
    let fell: Vec<String> = fell
        .map(|one| {
            format!("{} {} instead of {}", escape_key(&one.counted), range(one), allowed(one))
        })
        .collect();
    if !fell.is_empty() {
        said.push(format!("less than the budget (--update lowers it): {}", fell.join(", ")));
    }
    said.extend(check.notes.iter().map(|note| escape(note).into_owned()));
    said
}
