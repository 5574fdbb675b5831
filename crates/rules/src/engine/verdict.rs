//! From a profile to a verdict: checks every rule, and ranks what they find.

use crate::engine::Threshold;
use crate::engine::details;
use crate::engine::placement;
use crate::engine::unprivileged;
use crate::engine::waiting::only_waits;
use crate::text::count;
use crate::{Account, Activity, Declared, LastDay, RULES, Scale, Sink, View, by_name};
use needless_model::{
    ArgClass, Costs, Fact, Finding, ProcId, Process, Profile, Query, Row, RuleName, Target, Totals,
};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What to check and what to show.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The least share of the calls that name a path that a finding must save, in percent, 0 to
    /// 100; see the head of this crate. 0 shows everything.
    pub min_saving_percent: f64,
    /// Names of the rules to check; all if empty.
    pub only: Vec<String>,
    /// Names of rules whose findings are not wanted.
    pub ignore: Vec<String>,
    /// Whether to show what hardly anybody can change, too ([`Rule::pedantic`](crate::Rule)).
    pub pedantic: bool,
    /// Rules of the user, which are checked before the others. Their own thresholds hold, not
    /// `min_saving_percent`.
    pub declared: Arc<[Declared]>,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions {
            min_saving_percent: 1.0,
            only: Vec::new(),
            ignore: Vec::new(),
            pedantic: false,
            declared: Arc::default(),
        }
    }
}

/// What is needless in a profile.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Every call: needed, needless, not explained or not judged.
    pub account: Account,
    /// What the processes did besides.
    pub activity: Activity,
    /// The findings worth a change, those that would save most kernel time first, then most calls.
    pub findings: Vec<Finding>,
    /// Findings below the threshold, ranked alike.
    pub below: Vec<Finding>,
    /// Rules that could not be checked.
    pub not_checked: Vec<NotChecked>,
    /// What the user chose to check, if not everything.
    pub selection: Option<Selection>,
    /// Findings that the user decided to live with ([`suppress`](crate::suppress)).
    pub suppressed: Vec<Suppressed>,
    /// Notices about suppressions and what was left out, a sentence each.
    pub notices: Vec<String>,
    /// Where the variable that a finding's remedy names is set or should be for its first process. Empty where nobody
    /// looked.
    pub places: BTreeMap<(String, ProcId), FilePlace>,
    /// The file of the repository for findings without such a place, where one was looked for and found.
    pub file: Option<String>,
}

/// Where a variable is set, or should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePlace {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// What a person writes there, as an order with the line; `None` where it is not known, or a tool writes it.
    pub by_hand: Option<String>,
}

/// A choice among the rules: the others might find something, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Names of the rules to check; all if empty.
    pub only: Vec<String>,
    /// Names of rules whose findings are not wanted.
    pub ignored: Vec<String>,
    /// How many rules were wanted.
    pub wanted: usize,
    /// How many there are.
    pub all: usize,
}

/// A finding that the user decided to live with.
#[derive(Clone, Debug, PartialEq)]
pub struct Suppressed {
    /// The finding.
    pub finding: Finding,
    /// Why.
    pub reason: String,
    /// The last day on which it is suppressed.
    pub until: Option<LastDay>,
    /// Where that is written ("needless.toml:7").
    pub place: String,
}

/// A rule that could not be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotChecked {
    /// Its name.
    pub rule: RuleName,
    /// What the profile does not know. Never empty.
    pub missing: Vec<Fact>,
}

/// Checks every rule.
///
/// Rules that `options` leave out are checked all the same, and their findings dropped: a more
/// general rule must not report the calls that they explain.
pub fn check(profile: &Profile, options: &CheckOptions) -> Verdict {
    let mut sink = Sink::new(profile.rows.len());
    sink.explain(&unprivileged::rows(profile));
    let mut verdict = judge(View::new(profile), &mut sink, options);
    verdict.place(profile, options);
    verdict.notices.extend(unprivileged::notice(profile));
    verdict.activity = Activity::of(profile);
    verdict
}

impl Verdict {
    /// Where the best remedy of a finding is made, where that was looked up.
    pub fn place_of(&self, finding: &Finding) -> Option<&FilePlace> {
        let key = (finding.variable()?.to_owned(), *finding.processes.first()?);
        self.places.get(&key)
    }

    /// Moves each remedy to the program where the change has to be made. What could be changed only
    /// inside a compiled program is shown on demand; otherwise a notice says how many calls it is,
    /// and why.
    pub(crate) fn place(&mut self, profile: &Profile, options: &CheckOptions) {
        for finding in &mut self.below {
            placement::place(profile, finding);
        }
        let Verdict { findings, notices, .. } = self;
        let mut sealed_calls: BTreeMap<(RuleName, String), u64> = BTreeMap::new();
        findings.retain_mut(|finding| {
            let sealed = placement::place(profile, finding);
            let Some(why) = sealed.filter(|_| !options.shows_unchangeable(&finding.rule)) else {
                return true;
            };
            *sealed_calls.entry((finding.rule.clone(), why.to_string())).or_default() +=
                finding.needless;
            false
        });
        notices.extend(sealed_calls.into_iter().map(|((rule, why), calls)| {
            let calls = count(calls, "call is", "calls are");
            format!("{rule}: {calls} left out: {why}; -vv shows it")
        }));
    }
}

/// Like [`check`], without moving remedies: that needs the whole tree of processes, and a view may be a part of it. `sink`
/// is that of all views of the profile.
pub(crate) fn judge(mut view: View<'_>, sink: &mut Sink, options: &CheckOptions) -> Verdict {
    let profile = view.profile;
    let mut verdict = Verdict { selection: options.selection(), ..Verdict::default() };
    for rule in options.declared.iter() {
        let missing = profile.facts.missing(&rule.needs());
        if missing.is_empty() {
            rule.check(&view, sink);
        } else if options.wants(&rule.name) {
            verdict.not_checked.push(NotChecked { rule: rule.name.clone(), missing });
        }
    }
    view.forget(sink);
    for rule in RULES {
        let missing = profile.facts.missing(rule.needs);
        if missing.is_empty() {
            rule.check(&view, sink);
        } else if options.wants(rule.name) {
            verdict.not_checked.push(NotChecked { rule: rule.name.into(), missing });
        }
    }
    let (mut found, lacked) = sink.drain();
    found.iter_mut().for_each(|(finding, _)| bound(&view, finding));
    let shown = found.iter().map(|(finding, _)| finding).filter(|of| options.wants(&of.rule));
    verdict.account = Account::of(&view, sink, shown);
    // A rule that found something was checked, even if it lacked a fact.
    let silent = |rule: &str| !found.iter().any(|(finding, _)| finding.rule == rule);
    for (rule, missing) in lacked {
        if options.wants(rule) && silent(rule) {
            verdict.not_checked.push(NotChecked { rule: rule.into(), missing });
        }
    }
    for (finding, threshold) in found.into_iter().filter(|(of, _)| options.wants(&of.rule)) {
        let worth = options.worth(&view, &finding, threshold);
        if worth { &mut verdict.findings } else { &mut verdict.below }.push(finding);
    }
    rank(&mut verdict.findings);
    rank(&mut verdict.below);
    verdict
}

/// Completes what a finding saves, so that it is never more than its processes did and spent.
fn bound(view: &View<'_>, finding: &mut Finding) {
    let profile = view.profile;
    if profile.facts.has(Fact::AllCalls) {
        // Every call was counted: no more of them can go.
        let rows = finding.processes.iter().flat_map(|id| view.rows_of(*id));
        let all: u64 = rows.map(|(_, row)| row.count).sum();
        let rest = i64::try_from(all.saturating_sub(finding.needless)).unwrap_or(i64::MAX);
        finding.besides = finding.besides.min(rest);
    }
    if finding.kernel_ns.is_none() {
        (finding.kernel_ns, finding.estimated) = kernel_time(profile, finding);
    }
    // The time in a log is from another machine, perhaps.
    finding.user_ns = finding.user_ns.filter(|_| profile.host.costs.is_some());
    // The estimate is from another moment: nothing costs more than its processes spent.
    let sum = |time: fn(&Process) -> Option<u64>| {
        let each = finding.processes.iter().map(|id| time(profile.process(*id)));
        each.sum::<Option<u64>>().filter(|spent| *spent > 0)
    };
    if let (Some(kernel), true) = (sum(in_kernel), finding.estimated) {
        finding.kernel_ns = finding.kernel_ns.map(|ns| ns.min(kernel));
    }
    if let Some(spent) = sum(|process| process.cpu_ns) {
        let rest = spent.saturating_sub(finding.kernel_ns.unwrap_or(0));
        finding.user_ns = finding.user_ns.map(|ns| ns.min(rest));
    }
}

/// The most that a process can have spent in the kernel, nanoseconds. How its CPU time divides between user mode and
/// kernel is sampled at ticks: for a few dozen of them the sum is the better limit.
fn in_kernel(process: &Process) -> Option<u64> {
    const TICKS: u64 = 250_000_000;
    let all = process.cpu_ns?;
    Some(process.cpu_sys_ns.filter(|_| all >= TICKS).unwrap_or(all))
}

/// Whether the calls take so much of the run that a person would change something. The CPU time
/// decides if it is known, otherwise the share of the calls: a log has all of them, or at least
/// those with a path.
fn hundreds(totals: Totals, finding: &Finding) -> bool {
    /// Fewer are not noticed.
    const FEWEST: u64 = 50;
    /// Of the CPU time.
    const CPU: f64 = 0.001;
    /// Of the calls.
    const CALLS: f64 = 0.02;
    let enough = match (totals.cpu_ns(), finding.time_ns()) {
        (Some(cpu), Some(time)) => time as f64 >= CPU * cpu as f64,
        _ => finding.needless as f64 >= CALLS * totals.calls as f64,
    };
    finding.needless >= FEWEST && enough
}

/// Those that would save most kernel time first, then most calls.
pub(crate) fn rank(findings: &mut [Finding]) {
    findings.sort_by_key(|f| (Reverse(f.time_ns()), Reverse(f.needless)));
}

impl CheckOptions {
    /// Fewer calls than these are not worth a change, whatever their share.
    const FEWEST_CALLS: u64 = 6;

    /// Which rules are wanted, if the user chose among them.
    pub fn selection(&self) -> Option<Selection> {
        let names = || {
            let declared = self.declared.iter().map(|rule| &*rule.name);
            RULES.iter().map(|rule| rule.name).chain(declared)
        };
        (!self.only.is_empty() || !self.ignore.is_empty()).then(|| Selection {
            only: self.only.clone(),
            ignored: self.ignore.clone(),
            wanted: names().filter(|name| self.wants(name)).count(),
            all: names().count(),
        })
    }

    /// Whether findings of this rule are to be shown.
    pub(crate) fn wants(&self, rule: &str) -> bool {
        let named = self.only.iter().any(|name| name == rule);
        let shown = self.pedantic || named || by_name(rule).is_none_or(|rule| !rule.pedantic);
        shown
            && (self.only.is_empty() || self.only.iter().any(|name| name == rule))
            && !self.ignore.iter().any(|name| name == rule)
    }

    /// Whether findings of this rule are wanted even where their only remedy is out of the user's reach.
    fn shows_unchangeable(&self, rule: &str) -> bool {
        let warns = by_name(rule).is_some_and(|rule| rule.correctness);
        let named = self.only.iter().any(|name| name == rule);
        self.pedantic || named || warns || self.min_saving_percent <= 0.0
    }

    fn worth(&self, view: &View<'_>, finding: &Finding, threshold: Threshold) -> bool {
        let totals = view.totals();
        let declared = self.declared.iter().any(|rule| rule.name == finding.rule);
        let warns = by_name(&finding.rule).is_some_and(|rule| rule.correctness);
        if self.min_saving_percent <= 0.0 || declared || warns {
            return true;
        }
        let demanded = self.pedantic || self.only.iter().any(|name| *name == *finding.rule);
        match threshold {
            Threshold::OnDemand if !demanded => return false,
            Threshold::Hundreds if !hundreds(totals, finding) => return false,
            _ => {}
        }
        let share = self.min_saving_percent / 100.0;
        // Calls without a path have no share among those with one; their rules have thresholds of
        // their own. What takes time is worth it however many calls there are beside it.
        let felt = || finding.time_ns().is_some_and(|ns| Scale::of_view(view).is_felt(ns));
        let enough_calls = finding.needless >= Self::FEWEST_CALLS
            && (details::about(&view.profile.rows, finding)
                || felt()
                || finding.needless as f64 >= share * totals.path_calls as f64);
        let enough_time = match (totals.cpu_ns(), finding.time_ns()) {
            (Some(cpu), Some(time)) => time as f64 >= share / 100.0 * cpu as f64,
            _ => true,
        };
        enough_calls && enough_time
    }
}

/// Kernel time of a finding's needless calls, and whether it is estimated: the mean of its rows,
/// as measured or, where nothing was, as calibrated on the host.
pub(crate) fn kernel_time(profile: &Profile, finding: &Finding) -> (Option<u64>, bool) {
    let rows = || finding.rows.iter().map(|at| &profile.rows[*at]);
    let measured = || rows().filter(|row| !only_waits(profile, row));
    let timed: u64 = measured().map(|row| row.timed).sum();
    // The calls that accompany others (fstat, read, close) cost about as much as a read.
    let read_ns = profile.host.costs.map_or(0, |costs| costs.read_ns);
    let others_ns = u64::try_from(finding.besides).unwrap_or(0).saturating_mul(read_ns);
    if timed > 0 {
        let sum: u64 = measured().map(|row| row.kernel_ns).sum();
        return (
            Some(scale(sum, finding.needless, timed).saturating_add(others_ns)),
            others_ns > 0,
        );
    }
    let count: u64 = rows().map(|row| row.count).sum();
    let Some(costs) = profile.host.costs.filter(|_| count > 0) else { return (None, true) };
    let sum: u64 = rows().map(|row| row.count * call_cost(&costs, profile, row)).sum();
    (Some(scale(sum, finding.needless, count).saturating_add(others_ns)), true)
}

/// Calibrated kernel time of one call of a row.
pub(crate) fn call_cost(costs: &Costs, profile: &Profile, row: &Row) -> u64 {
    match (row.query, profile.call(row)) {
        (Query::Open | Query::OpenWrite, _) if row.ok() => costs.open_ns,
        (Query::Open | Query::OpenWrite, _) => costs.failed_open_ns,
        (Query::NoPath, _) if !row.ok() => costs.refused_ns,
        (Query::NoPath, "read" | "readv" | "pread64" | "recvfrom" | "recvmsg") => costs.read_ns,
        (Query::NoPath, _) if row.target == Target::ArgClass(ArgClass::DiscardedOutput) => {
            costs.call_ns
        }
        (Query::NoPath, "write" | "writev" | "pwrite64" | "sendto" | "sendmsg") => costs.write_ns,
        (Query::NoPath, _) => costs.call_ns,
        _ => costs.stat_ns,
    }
}

pub(crate) fn scale(sum: u64, part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(sum) * u128::from(part) / u128::from(whole)).unwrap_or(u64::MAX)
}
