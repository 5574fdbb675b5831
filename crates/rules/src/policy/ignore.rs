//! Suppressions: findings that somebody decided to live with, and why.
//!
//! Like the baseline, they work on the verdict, after the rules: what they take out is still counted, and each report
//! says how much and why.

use crate::{CheckOptions, Glob, Suppressed, Verdict};
use needless_model::{Finding, Profile};
use std::collections::HashMap;
use std::fmt;
use std::mem;

/// A decision not to show a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignore {
    /// The rule.
    pub rule: String,
    /// A pattern of the executable's file name, or of its path if the pattern has a slash.
    pub program: Option<Glob>,
    /// A pattern that all paths of the finding have to fit.
    pub path: Option<Glob>,
    /// The service, as reports name it ("nginx.service").
    pub unit: Option<Glob>,
    /// Why. Never empty.
    pub reason: String,
    /// The last day on which it holds.
    pub until: Option<LastDay>,
    /// Where it stands ("needless.toml:7").
    pub place: String,
}

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LastDay {
    /// Year.
    pub year: i32,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
}

impl fmt::Display for LastDay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// The name of the notice about a suppression that does nothing, so that users can turn the notice
/// off.
pub const UNUSED_IGNORE: &str = "unused-ignore";

/// Whether a pattern fits what a finding is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    All,
    Some,
    None,
}

impl Fit {
    fn of(all: impl Iterator<Item = bool>) -> Fit {
        let (mut yes, mut no) = (false, false);
        all.for_each(|fits| if fits { yes = true } else { no = true });
        match (yes, no) {
            (true, false) => Fit::All,
            (true, true) => Fit::Some,
            (false, _) => Fit::None,
        }
    }
}

impl Ignore {
    /// Whether the observation has a process that it is for.
    fn was_seen(&self, profile: &Profile) -> bool {
        profile.processes.iter().any(|process| {
            let unit = |glob: &Glob| process.service.as_deref().is_some_and(|name| glob.fits(name));
            self.program.as_ref().is_none_or(|glob| glob.fits_program(process))
                && self.unit.as_ref().is_none_or(unit)
        })
    }

    fn fit(&self, finding: &Finding, profile: &Profile) -> Fit {
        let programs = self.program.as_ref().map(|glob| {
            let processes = finding.processes.iter().map(|id| profile.process(*id));
            Fit::of(processes.map(|process| glob.fits_program(process)))
        });
        let paths = self.path.as_ref().map(|glob| {
            let rows = finding.rows.iter().map(|at| &profile.rows[*at]);
            Fit::of(rows.map(|row| glob.fits(profile.path(row))))
        });
        let unit = self.unit.as_ref().map(|glob| {
            let service = finding.service.as_deref();
            Fit::of(std::iter::once(service.is_some_and(|name| glob.fits(name))))
        });
        let fits: Vec<Fit> = [programs, paths, unit].into_iter().flatten().collect();
        match fits {
            _ if fits.contains(&Fit::None) => Fit::None,
            _ if fits.contains(&Fit::Some) => Fit::Some,
            _ => Fit::All,
        }
    }
}

/// Takes the findings that `ignores` fit out of the verdict. For each of `ignores` that did
/// nothing, a notice says why: it ended, it fits only a part of a finding, or it fits nothing in
/// this observation (`unused-ignore`), in which its program or unit was seen. `options` are those that the verdict
/// was made with.
pub fn suppress(
    verdict: &mut Verdict,
    profile: &Profile,
    ignores: &[Ignore],
    options: &CheckOptions,
    today: LastDay,
) {
    let mut used = vec![false; ignores.len()];
    let mut partly = vec![false; ignores.len()];
    let holds = |ignore: &Ignore| ignore.until.is_none_or(|until| today <= until);
    let mut of_rule: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, ignore) in ignores.iter().enumerate() {
        of_rule.entry(&ignore.rule).or_default().push(at);
    }
    let mut by = |finding: &Finding| {
        let mut first = None;
        for at in of_rule.get(&*finding.rule).into_iter().flatten().copied() {
            let ignore = &ignores[at];
            match ignore.fit(finding, profile) {
                Fit::All => {
                    used[at] = true;
                    first = first.or(holds(ignore).then_some(at));
                }
                Fit::Some => partly[at] = true,
                Fit::None => {}
            }
        }
        first
    };
    for findings in [&mut verdict.findings, &mut verdict.below] {
        for finding in mem::take(findings) {
            match by(&finding) {
                Some(at) => verdict.suppressed.push(Suppressed {
                    finding,
                    reason: ignores[at].reason.clone(),
                    until: ignores[at].until,
                    place: ignores[at].place.clone(),
                }),
                None => findings.push(finding),
            }
        }
    }
    for ((ignore, used), partly) in ignores.iter().zip(used).zip(partly) {
        let Ignore { rule, place, reason, .. } = ignore;
        let not_checked = verdict.not_checked.iter().any(|skipped| skipped.rule == *rule);
        let expired = ignore.until.filter(|until| *until < today);
        let said = match expired {
            Some(until) if used => format!(
                "{place}: the ignore of {rule} ended on {until} and no longer applies ({reason})"
            ),
            _ if used || not_checked || !options.wants(rule) => continue,
            _ if partly => format!(
                "{place}: the ignore of {rule} fits only a part of a finding, which is therefore shown"
            ),
            // A file of settings may be shared by many programs.
            _ if !options.wants(UNUSED_IGNORE) || !ignore.was_seen(profile) => continue,
            _ => format!("{UNUSED_IGNORE}: {place}: the ignore of {rule} suppresses nothing here"),
        };
        verdict.notices.push(said);
    }
}
