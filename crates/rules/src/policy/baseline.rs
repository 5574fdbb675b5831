//! Findings that are known: what of a verdict is new, or worse than it was.

use crate::Verdict;
use needless_model::{Finding, Process, Profile};
use std::collections::BTreeSet;
use std::mem;

/// A finding of an earlier report.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Its rule.
    pub rule: String,
    /// Its service, if services were judged separately.
    pub service: Option<String>,
    /// The programs that it concerned, by their titles
    /// ([`Process::title`](needless_model::Process::title)); in reports of older versions, the file
    /// names of their executables.
    pub programs: BTreeSet<String>,
    /// Calls that could have gone.
    pub needless: u64,
    /// The same per second, where it was a window of time.
    pub per_second: Option<f64>,
}

/// An increase up to this share is chance: programs do not always make the same calls.
const CHANCE: f64 = 0.1;

/// Takes the findings that are in `baseline`, and not worse than there, out of the verdict, and
/// reports how many findings of the baseline are gone. Worse means: over a tenth more calls (per
/// second, if both sides know that), or another program. `window_s` is the length of the window in
/// seconds, if the report is about one.
pub fn leave_out_known(
    verdict: &mut Verdict,
    profile: &Profile,
    baseline: &[Known],
    window_s: Option<f64>,
) {
    let mut left: Vec<&Known> = baseline.iter().collect();
    let findings = mem::take(&mut verdict.findings);
    for finding in findings {
        let fits = left.iter().enumerate().filter(|(_, known)| known.is(&finding, profile));
        let most = fits.max_by_key(|(_, known)| known.needless).map(|(at, _)| at);
        let known = most.map(|at| left.remove(at));
        match known {
            Some(known) if !is_worse(&finding, known, window_s) => verdict.known.push(finding),
            _ => verdict.findings.push(finding),
        }
    }
    // A finding whose rule was not checked is not gone, nor is one that became too small to be
    // shown.
    let checked = |known: &&Known| !verdict.not_checked.iter().any(|s| s.rule == known.rule);
    let small = |known: &Known| verdict.below.iter().any(|finding| known.is(finding, profile));
    let gone = left.into_iter().filter(checked).filter(|known| !small(known)).count();
    if gone > 0 {
        let are =
            if gone == 1 { "finding of the baseline is" } else { "findings of the baseline are" };
        verdict.notices.push(format!("{gone} {are} no longer here: --save-baseline updates it"));
    }
}

impl Known {
    /// Whether it is this finding, of these programs or some of them, at an earlier time.
    fn is(&self, finding: &Finding, profile: &Profile) -> bool {
        let has = |process: &Process| {
            self.programs.contains(&process.title()) || self.programs.contains(process.name())
        };
        self.rule == finding.rule
            && self.service == finding.service
            && finding.processes.iter().all(|id| has(profile.process(*id)))
    }
}

fn is_worse(finding: &Finding, known: &Known, window_s: Option<f64>) -> bool {
    let needless = finding.needless as f64;
    let (now, before) = match (window_s.filter(|s| *s > 0.0), known.per_second) {
        (Some(seconds), Some(before)) => (needless / seconds, before),
        _ => (needless, known.needless as f64),
    };
    now > before * (1.0 + CHANCE)
}
