//! Rules that users declare: data instead of code, checked like the built-in ones.
//!
//! They are asked first: what their author means is narrower than what a built-in rule knows, and asked last they would
//! find their calls taken. `needless rules --test` asks all rules of each example, and so shows a declared rule that
//! takes too much.
//!
//! There are no plugins and there is no language for rules. What is declared here is calls, patterns, a bound, and what
//! to say. A built-in rule is a pure function of 100 lines, in the repository, with tests: easier to review than
//! anything that would replace it.

use crate::engine::Case;
use crate::engine::helpers;
use crate::{Glob, Sink, View};
use needless_model::{Env, Errno, Fact, ProcId, Query, Remedy, Row, RuleName, Stage};
use std::collections::{BTreeMap, BTreeSet};

/// A rule of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name, as [`Rule::name`](crate::Rule).
    pub name: RuleName,
    /// Where it was declared ("needless.toml:3").
    pub place: String,
    /// The calls it is about. Never empty.
    pub calls: Vec<CallPattern>,
    /// Patterns of absolute paths, one of which has to fit. If empty: any path, and calls without
    /// one.
    pub paths: Vec<Glob>,
    /// Paths that it is not about.
    pub except: Vec<Glob>,
    /// Outcomes, one of which has to be the call's; any if empty.
    pub outcomes: Vec<OutcomePattern>,
    /// The executable's file name, a script's own, or the executable's path if the pattern has a
    /// slash; any if empty.
    pub programs: Vec<Glob>,
    /// What the variables of the process have to be; all of these have to hold.
    pub env: Vec<(String, VariablePattern)>,
    /// Which of the calls could go.
    pub needless: Needless,
    /// Needless calls of one program that are worth a finding, at least 1.
    pub at_least: u64,
    /// The same, per second of the observation.
    pub per_second: Option<f64>,
    /// What was found, in one line.
    pub message: String,
    /// Why the program does it.
    pub why: String,
    /// What to do.
    pub remedy: Remedy,
    /// What must be found, and what must not.
    pub examples: Vec<Example>,
}

/// Calls, by what they ask or by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallPattern {
    /// Every call that asks this.
    Query(Query),
    /// The call of this name, as the kernel's table spells it.
    Named(String),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomePattern {
    /// It succeeded.
    Ok,
    /// It failed, with any error.
    Failed,
    /// It failed because nothing is there: ENOENT or ENOTDIR.
    Missing,
    /// It failed with this.
    Errno(Errno),
}

/// What a variable has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariablePattern {
    /// Set, to any value.
    Set,
    /// Not set.
    Unset,
    /// Set to a value that fits.
    Fits(Glob),
}

/// Which calls could go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needless {
    /// All.
    All,
    /// All but the first of each process with the same path and outcome.
    Again,
    /// Calls that got the same answer as the one before, with nothing in between that could have
    /// changed it ([`Row::repeated`]).
    Repeated,
}

/// A trace and what has to be found in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// In strace's notation.
    pub trace: String,
    /// `nothing`, or what [`compare`](crate::compare) takes.
    pub finding: String,
    /// Where it stands ("needless.toml:20").
    pub place: String,
}

impl Declared {
    /// Facts without which it cannot be checked.
    pub fn needs(&self) -> Vec<Fact> {
        let without_path = self.calls.iter().any(|calls| !calls.names_path());
        let needs = [
            (!self.paths.is_empty() || !without_path, Fact::Paths),
            (!self.outcomes.is_empty(), Fact::Outcomes),
            (without_path, Fact::AllCalls),
            (!self.env.is_empty(), Fact::Environment),
            (self.per_second.is_some(), Fact::Clock),
        ];
        needs.into_iter().filter(|(needed, _)| *needed).map(|(_, fact)| fact).collect()
    }

    /// Its page, Markdown, with the sections of a built-in rule's.
    pub fn page(&self) -> String {
        let mut out = format!("# {}\n\n{}\n", self.name, self.message);
        let mut section = |title: &str, text: &str| {
            out.push_str(&format!("\n## {title}\n\n{}\n", text.trim()));
        };
        section("What it finds", &format!("{}. Declared in {}.", self.message, self.place));
        section("Why it happens", &self.why);
        for (title, nothing) in [("Example", false), ("Not a finding", true)] {
            let of_it = self.examples.iter().filter(|e| (e.finding.trim() == "nothing") == nothing);
            let block = |example: &Example| {
                let (trace, finding) = (example.trace.trim(), example.finding.trim());
                format!("```trace\n{trace}\n```\n```finding\n{finding}\n```\n")
            };
            section(title, &of_it.map(block).collect::<Vec<_>>().join("\n"));
        }
        section("Fix and caveat", self.remedy.safety.sentence());
        out
    }

    /// Looks for such calls; one finding for each program.
    pub(crate) fn check(&self, view: &View<'_>, sink: &mut Sink) {
        let whose: BTreeSet<ProcId> = view.ids().filter(|id| self.is_of(view, *id)).collect();
        let wanted = |path: &str| {
            self.paths.iter().any(|glob| glob.fits(path))
                && !self.except.iter().any(|glob| glob.fits(path))
        };
        let rows: Vec<(usize, &Row)> =
            if self.paths.is_empty() { view.rows().collect() } else { view.rows_where(wanted) };
        let mut cases: BTreeMap<ProcId, Case> = BTreeMap::new();
        for (at, row) in rows {
            let process = row.process;
            if !whose.contains(&process) || !self.is_about(view, row) || sink.taken(at) {
                continue;
            }
            let fresh = || Case { process, needless: 0, of: 0, rows: Vec::new() };
            let case = cases.entry(process).or_insert_with(fresh);
            case.of += row.count;
            let needless = match self.needless {
                Needless::All => row.count,
                Needless::Again => row.count.saturating_sub(1),
                Needless::Repeated => row.repeated,
            };
            case.needless += needless;
            case.rows.extend((needless > 0).then_some(at));
        }
        let cases = cases.into_values().filter(|case| case.needless > 0).collect();
        let least = self.at_least.max(1).max(self.least_in(view.profile.window.length_ns));
        for (_, cases) in helpers::by_program(view, cases, least) {
            let merged = helpers::merged(view, cases);
            let (what, why) = (self.message.clone(), self.why.clone());
            let remedies = vec![self.remedy.clone()];
            sink.find(helpers::finding(
                merged,
                self.name.clone(),
                Stage::Seen,
                what,
                why,
                remedies,
            ));
        }
    }

    /// The least number of calls that the rate demands in an observation of this length; no number
    /// is enough if the length is not known.
    fn least_in(&self, length_ns: Option<u64>) -> u64 {
        match (self.per_second, length_ns) {
            (None, _) => 0,
            (Some(rate), Some(ns)) => (rate * ns as f64 / 1e9).ceil() as u64,
            (Some(_), None) => u64::MAX,
        }
    }

    fn is_of(&self, view: &View<'_>, id: ProcId) -> bool {
        let process = view.process(id);
        let named = |glob: &Glob| glob.fits_program(process);
        let is = |(name, wanted): &(String, VariablePattern)| match (wanted, &process.env) {
            (_, Env::Unknown) => false,
            (VariablePattern::Set, env) => env.value(name).is_some(),
            (VariablePattern::Unset, env) => env.is_unset(name),
            (VariablePattern::Fits(glob), env) => {
                env.value(name).is_some_and(|value| glob.fits(value))
            }
        };
        (self.programs.is_empty() || self.programs.iter().any(named)) && self.env.iter().all(is)
    }

    fn is_about(&self, view: &View<'_>, row: &Row) -> bool {
        let call = |calls: &CallPattern| match calls {
            CallPattern::Query(query) => row.query == *query,
            CallPattern::Named(name) => view.profile.call(row) == name,
        };
        let ended = |outcome: &OutcomePattern| match outcome {
            OutcomePattern::Ok => row.ok(),
            OutcomePattern::Failed => matches!(row.outcome, Some(Err(_))),
            OutcomePattern::Missing => helpers::absent(row),
            OutcomePattern::Errno(errno) => row.failed(*errno),
        };
        self.calls.iter().any(call) && (self.outcomes.is_empty() || self.outcomes.iter().any(ended))
    }
}

impl CallPattern {
    /// Whether these calls name a path.
    pub fn names_path(&self) -> bool {
        match self {
            CallPattern::Query(query) => query.names_path(),
            CallPattern::Named(name) => Query::of(name).names_path(),
        }
    }
}
