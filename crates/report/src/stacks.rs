//! The calls of a profile as stacks, for the formats of profilers: unit, program, function, call.
//!
//! A unit is left out where none is known or where it is just the program; a function where no call site was sampled.
//! The calls of a row are shared out among its call sites as the samples are, so that the sum is that of the profile.

use crate::Report;
use crate::document::{PartKind, ReportPart};
use crate::text::escape;
use needless_model::{CallSite, Errno, Profile, Row};
use needless_rules::Verdict;
use std::collections::BTreeMap;
use std::io;

/// One level of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Frame {
    /// Name of a unit, a program, a function or a call; escaped.
    pub(crate) name: String,
    /// The file that it is in, where known; escaped.
    pub(crate) file: Option<String>,
}

/// Calls with something in common: the same stack, cause, directory and outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stack {
    /// From the unit to the call.
    pub(crate) frames: Vec<Frame>,
    /// The rule that has a finding about these calls.
    pub(crate) rule: Option<String>,
    /// The directory of the path, with a slash at its end; escaped.
    pub(crate) directory: Option<String>,
    /// `ok` or the error's name, where the outcome was seen.
    pub(crate) outcome: Option<&'static str>,
}

/// How much it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) calls: u64,
    /// As [`Row::kernel_ns`].
    pub(crate) kernel_ns: u64,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.calls += other.calls;
        self.kernel_ns = self.kernel_ns.saturating_add(other.kernel_ns);
    }
}

impl Weight {
    /// Shares it out as the numbers are. Nothing is lost by rounding: the shares are the differences of sums.
    pub(crate) fn split(self, numbers: &[u64]) -> Vec<Weight> {
        let sum: u64 = numbers.iter().sum();
        let part = |all: u64, of: u64| match sum {
            0 => all,
            sum => u64::try_from(u128::from(all) * u128::from(of) / u128::from(sum)).unwrap_or(all),
        };
        let mut before = Weight::default();
        let mut reached = 0;
        let share = |n: &u64| {
            reached += n;
            let to = Weight {
                calls: part(self.calls, reached),
                kernel_ns: part(self.kernel_ns, reached),
            };
            let from = std::mem::replace(&mut before, to);
            Weight { calls: to.calls - from.calls, kernel_ns: to.kernel_ns - from.kernel_ns }
        };
        numbers.iter().map(share).collect()
    }
}

/// All calls of a profile.
pub(crate) struct Stacks {
    pub(crate) stacks: BTreeMap<Stack, Weight>,
    /// Whether the time of any call was measured.
    pub(crate) timed: bool,
}

impl Stacks {
    /// Of every row; of a report that was read from a file, which keeps no rows, of its parts.
    ///
    /// # Errors
    /// When an older version wrote the report.
    pub(crate) fn of(report: &Report<'_>) -> io::Result<Stacks> {
        let document = report.document;
        match report.rows {
            Some((profile, verdict)) => Ok(Stacks::of_rows(profile, verdict)),
            None if document.breakdown.is_empty() && document.account.calls > 0 => {
                Err(io::Error::other(
                    "the version of needless that wrote the report did not keep where calls come from: observe again",
                ))
            }
            None => Ok(Stacks::of_parts(&document.breakdown)),
        }
    }

    fn of_rows(profile: &Profile, verdict: &Verdict) -> Stacks {
        let rules = rules(verdict);
        let bottoms: Vec<Vec<Frame>> = profile.processes.iter().map(bottom).collect();
        let mut stacks: BTreeMap<Stack, Weight> = BTreeMap::new();
        for (at, row) in profile.rows.iter().enumerate().filter(|(_, row)| row.count > 0) {
            let bottom = &bottoms[row.process.index()];
            let call = frame(profile.call(row), None);
            let all = Weight { calls: row.count, kernel_ns: row.kernel_ns };
            for (site, weight) in shares(row, all) {
                let functions = site.map(functions).unwrap_or_default();
                let frames = bottom.iter().chain(&functions).chain([&call]).cloned().collect();
                let stack = Stack {
                    frames,
                    rule: rules.get(&at).map(|rule| (*rule).to_owned()),
                    directory: directory(profile, row),
                    outcome: row.outcome.map(|outcome| outcome.map_or_else(Errno::name, |()| "ok")),
                };
                *stacks.entry(stack).or_default() += weight;
            }
        }
        Stacks { stacks, timed: profile.rows.iter().any(|row| row.timed > 0) }
    }

    /// Without directories and outcomes.
    fn of_parts(parts: &[ReportPart]) -> Stacks {
        let mut stacks: BTreeMap<Stack, Weight> = BTreeMap::new();
        for part in parts {
            let program = part.program.as_deref().unwrap_or(OTHERS);
            let call = part.call.as_deref().unwrap_or(OTHERS);
            let (service, site) = (part.service.as_deref(), part.site.as_deref());
            let names = [service, Some(program), site, Some(call)];
            let frames = names.into_iter().flatten().map(|name| frame(name, None)).collect();
            let rule = part.rule.as_deref().filter(|_| part.kind == PartKind::Needless);
            let rule = rule.map(|rule| escape(rule).into_owned());
            let stack = Stack { frames, rule, directory: None, outcome: None };
            let kernel_ns = part.kernel_us.map_or(0, |us| us.0);
            *stacks.entry(stack).or_default() += Weight { calls: part.calls, kernel_ns };
        }
        let timed = stacks.values().any(|weight| weight.kernel_ns > 0);
        Stacks { stacks, timed }
    }

    /// For formats without labels: the stacks, with the rule as a level above the call where there is one.
    pub(crate) fn with_rules(self) -> BTreeMap<Vec<Frame>, Weight> {
        let mut all: BTreeMap<Vec<Frame>, Weight> = BTreeMap::new();
        for (stack, weight) in self.stacks {
            let rule = stack.rule.map(|name| Frame { name, file: None });
            let frames = stack.frames.into_iter().chain(rule).collect();
            *all.entry(frames).or_default() += weight;
        }
        all
    }
}

/// A level that stands for several.
const OTHERS: &str = "others";

/// The rule of each row that a finding is about, also of those that the report leaves out.
fn rules(verdict: &Verdict) -> BTreeMap<usize, &str> {
    let suppressed = verdict.suppressed.iter().map(|one| &one.finding);
    let all = verdict.findings.iter().chain(&verdict.below).chain(suppressed);
    let mut rules = BTreeMap::new();
    for finding in all {
        for row in &finding.rows {
            rules.entry(*row).or_insert(&*finding.rule);
        }
    }
    rules
}

fn frame(name: &str, file: Option<&str>) -> Frame {
    let name = if name.is_empty() { "?".into() } else { escape(name) };
    Frame { name: name.into_owned(), file: file.map(|file| escape(file).into_owned()) }
}

/// The unit and the program of a process.
fn bottom(process: &needless_model::Process) -> Vec<Frame> {
    let title = process.title();
    let unit = process.service.as_deref().filter(|unit| *unit != title);
    let unit = unit.map(|unit| frame(unit, None));
    unit.into_iter().chain([frame(&title, process.exe.as_deref())]).collect()
}

/// The function of the program, and the function of a library that it calls there.
fn functions(site: &CallSite) -> Vec<Frame> {
    let file = Some(site.module.as_str());
    let own = match &site.function {
        Some(name) => frame(name, file),
        None => frame(&CallSite { calls: None, ..site.clone() }.to_string(), file),
    };
    let library = site.calls.as_deref().map(|name| frame(name, None));
    [own].into_iter().chain(library).collect()
}

/// Calls of a row, shared out among its call sites as the samples are.
pub(crate) fn shares(row: &Row, all: Weight) -> Vec<(Option<&CallSite>, Weight)> {
    let samples: Vec<u64> = row.sites.iter().map(|(_, n)| *n).collect();
    if samples.iter().all(|n| *n == 0) {
        return vec![(None, all)];
    }
    row.sites.iter().map(|(site, _)| Some(site)).zip(all.split(&samples)).collect()
}

/// The path up to its last slash.
fn directory(profile: &Profile, row: &Row) -> Option<String> {
    let path = profile.path(row);
    let end = path.rfind('/')?;
    Some(escape(&path[..=end]).into_owned())
}
