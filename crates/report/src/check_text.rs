//! What several formats of a checked budget share. A document may come from a file: each text is escaped here, those that
//! were escaped before stay as they are.

use crate::check::json::{CheckCause, CheckCount, CheckDocument, CheckFinding};
use crate::text::{count, escape, number};

/// How many causes are shown to a person.
const SHOWN: usize = 8;

impl CheckDocument {
    /// What is over the budget.
    pub(crate) fn over(&self) -> impl Iterator<Item = &CheckCount> {
        self.counts.iter().filter(|one| one.over)
    }

    /// The line that stands for the whole: of the first limit that is exceeded.
    pub(crate) fn first_line(&self) -> u64 {
        self.over().next().and_then(|one| one.line).unwrap_or(self.line)
    }

    /// The causes that are shown, and how many are left out.
    pub(crate) fn shown(&self) -> (&[CheckCause], usize) {
        let shown = self.causes.len().min(SHOWN);
        (&self.causes[..shown], self.causes.len() - shown)
    }

    /// The findings that are causes, each with its rule.
    pub(crate) fn findings(&self) -> impl Iterator<Item = (&str, &CheckFinding, &CheckCause)> {
        self.causes
            .iter()
            .filter_map(|cause| Some((cause.rule.as_deref()?, cause.finding.as_ref()?, cause)))
    }
}

/// `over budget: demo (needless.toml:3), 3 runs`.
pub(crate) fn title(check: &CheckDocument) -> String {
    let word = if check.within { "within budget" } else { "over budget" };
    let (name, file) = (escape(&check.budget), escape(&check.file));
    format!("{word}: {name} ({file}:{}), {}", check.first_line(), count(check.runs, "run", "runs"))
}

/// `30`, `30 to 33`.
pub(crate) fn range(one: &CheckCount) -> String {
    match one.lowest < one.highest {
        true => format!("{} to {}", number(one.lowest), number(one.highest)),
        false => number(one.lowest),
    }
}

/// `30 (and 3 by chance)`.
pub(crate) fn allowed(one: &CheckCount) -> String {
    let most = one.limit.unwrap_or(0);
    match one.allowed.unwrap_or(most).saturating_sub(most) {
        0 => number(most),
        vary => format!("{} (and {} by chance)", number(most), number(vary)),
    }
}

/// How much more than the budget says: `+12`.
pub(crate) fn more(one: &CheckCount) -> String {
    format!("+{}", number(one.lowest.saturating_sub(one.limit.unwrap_or(0))))
}

/// `calls: 42 instead of 30, +12`.
pub(crate) fn grown(one: &CheckCount) -> String {
    format!("{}: {} instead of {}, {}", escape(&one.key), range(one), allowed(one), more(one))
}

/// What to do about a cause: `fix: TZ=UTC`.
pub(crate) fn fix(cause: &CheckCause) -> Option<String> {
    cause.remedy.as_ref().map(|remedy| format!("fix: {}", escape(remedy)))
}

/// A cause in a line: `+12 new: /x: openat; fix: …`.
pub(crate) fn reason(cause: &CheckCause) -> String {
    let fix = fix(cause).map_or_else(String::new, |fix| format!("; {fix}"));
    format!("+{} {}{fix}", cause.more, escape(&cause.text))
}
