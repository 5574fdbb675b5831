//! The account of a profile: each call that was counted is needed, needless or not explained, and
//! the three add up.
//!
//! A call is *needless* if a finding says so, shown or not; *perhaps* so if the finding's cause was not looked up. It is
//! *not explained* if no rule took it and one of these holds:
//!
//! * it failed. The kernel said "no", and the program went on;
//! * it repeated a question that had just been answered ([`Row::repeated`]);
//! * one process opened the same file [`OPENED_AGAIN`] times or more, or asked about the same
//!   path [`ASKED_AGAIN`] times or more: all but the first;
//! * one process called sched_yield(2) [`SPINNING`] times or more.
//!
//! Some errors are answers, and their calls needed: the end of a wait, an interruption, a lock that
//! another thread has, no child that is left ([`is_an_answer`]).
//!
//! What remains is *needed*: nothing is known against it. Not explained is a fact and no advice:
//! many failed calls are how a program finds out what it has to know.

use crate::engine::verdict::{call_cost, scale};
use crate::engine::waiting::only_waits;
use crate::{Amount, Scale, Sink, View};
use needless_model::{Errno, Fact, Finding, ProcId, Profile, Query, Row, RuleName, Stage, Target};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// From this count on, further opens of one file by one process are not explained.
const OPENED_AGAIN: u64 = 10;
/// From this count on, further questions about one path by one process are not explained.
const ASKED_AGAIN: u64 = 100;
/// From this count on, sched_yield(2) of one process is a loop.
const SPINNING: u64 = 1000;
/// The least part of the calls of a line that its directory or file has.
const COMMON: f64 = 0.5;
/// Where no directory has so many: the least part.
const SOME: f64 = 0.2;

/// Why a call is not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unanswered {
    /// It failed.
    Failed(Errno),
    /// It asked again what had been answered.
    Again,
    /// It gave the processor away for a moment: a loop that waits for another thread without sleeping.
    Spinning,
}

/// Calls of one kind that no rule explains: a fact, no advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexplained {
    /// The program, as [`Process::title`](needless_model::Process::title).
    pub program: String,
    /// How many processes.
    pub processes: u64,
    /// The kernel's name of the call.
    pub call: String,
    /// The question behind it.
    pub query: Query,
    /// Why it is listed.
    pub reason: Unanswered,
    /// How many, and what they took.
    pub amount: Amount,
    /// A file, a directory with a slash at its end, or the ending of files (`*.pmc`) that many of them
    /// are about; and how many.
    pub place: Option<(String, u64)>,
    /// The most frequent place in the program, where sampled.
    pub site: Option<String>,
}

impl Unexplained {
    fn is_of_the_kind_of(&self, other: &Unexplained) -> bool {
        let kind = |line: &Unexplained| (line.query, line.reason);
        kind(self) == kind(other) && self.program == other.program && self.call == other.call
    }

    fn add(&mut self, other: Unexplained) {
        self.processes += other.processes;
        self.amount.add(other.amount);
        let places: BTreeMap<&str, u64> = [&self.place, &other.place].into_iter().flatten().fold(
            BTreeMap::new(),
            |mut sum, of| {
                *sum.entry(of.0.as_str()).or_default() += of.1;
                sum
            },
        );
        self.place = common(&places, self.amount.calls);
        self.site = self.site.take().or(other.site);
    }
}

/// Calls of one row that are not needed, or not known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The position of the row in the profile.
    pub row: usize,
    /// How many of its calls.
    pub calls: u64,
    /// The position in [`Account::claims`] of what explains them; `None`: they are not explained.
    pub claim: Option<usize>,
}

/// The calls that one finding says are needless.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its rule.
    pub rule: RuleName,
    /// How far it has come.
    pub stage: Stage,
    /// Its process with most of the calls.
    pub process: ProcId,
    /// The variable that its first remedy changes.
    pub variable: Option<String>,
    /// The calls, also those that go with the ones that were counted, and what they took.
    pub amount: Amount,
}

/// The account of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Every call that was counted.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Calls that findings name, also those below the threshold. What only a rule explains that was not asked for
    /// (`-vv`, `--rule`) is needed.
    pub needless: Amount,
    /// Of these, the calls of findings whose cause was not looked up ([`Stage::Seen`]): so many are needless at most.
    pub uncertain: Amount,
    /// Calls that no rule took, and that answered nothing new.
    pub unexplained: Amount,
    /// Whether a time is the cost of such calls on this machine, not a measurement of these.
    pub estimated: bool,
    /// The unexplained calls by kind, those that took most time first, then most calls.
    pub lines: Vec<Unexplained>,
    /// Which calls these are, row by row: all that are not explained, and of the needless ones those that findings
    /// count. Calls that go with these, without being counted one by one, are in no row.
    pub shares: Vec<Share>,
    /// What each finding adds to the needless calls: their calls add up to those of `needless`.
    pub claims: Vec<Claim>,
}

/// Program, call, question and reason.
type Kind<'p> = (&'p str, &'p str, Query, Unanswered);

/// Unexplained calls of one kind, while they are summed up.
#[derive(Default)]
struct Group<'p> {
    processes: BTreeSet<u32>,
    amount: Amount,
    paths: BTreeMap<&'p str, u64>,
    sites: BTreeMap<String, u64>,
}

impl Account {
    /// The account of a view. `sink` says of each row whether a rule took it, and how many of its calls go with a
    /// finding about others.
    pub(crate) fn of<'f>(
        view: &View<'_>,
        sink: &Sink,
        findings: impl Iterator<Item = &'f Finding> + Clone,
    ) -> Account {
        let profile = view.profile;
        let mut account = Account::default();
        let found: BTreeSet<usize> =
            findings.clone().flat_map(|f| f.rows.iter().copied()).collect();
        let titles: HashMap<ProcId, String> =
            view.ids().map(|id| (id, view.process(id).title())).collect();
        let mut groups: BTreeMap<Kind<'_>, Group<'_>> = BTreeMap::new();
        let mut twice = 0;
        for (at, row) in view.rows() {
            account.calls += row.count;
            account.failed += if matches!(row.outcome, Some(Err(_))) { row.count } else { 0 };
            let (taken, claimed) = (sink.taken(at), sink.claimed(at));
            if found.contains(&at) {
                // Two findings name them.
                twice += claimed.min(row.count);
                continue;
            }
            if taken {
                continue;
            }
            let call = profile.call(row);
            let Some((reason, calls)) = unanswered(call, row) else { continue };
            let calls = calls.saturating_sub(claimed);
            if calls == 0 {
                continue;
            }
            let kernel_ns = account.time(profile, row, calls);
            let amount = Amount { calls, kernel_ns, user_ns: None };
            account.unexplained.add(amount);
            account.shares.push(Share { row: at, calls, claim: None });
            let title = titles[&row.process].as_str();
            let group = groups.entry((title, call, row.query, reason)).or_default();
            group.processes.insert(profile.process(row.process).pid);
            group.amount.add(amount);
            if let Target::Path(_) = row.target {
                *group.paths.entry(profile.path(row)).or_default() += calls;
            }
            for (site, n) in &row.sites {
                *group.sites.entry(site.to_string()).or_default() += n;
            }
        }
        account.lines = groups.into_iter().map(|(key, group)| line(key, group)).collect();
        account.rank();
        let mut left: BTreeMap<usize, u64> =
            found.iter().map(|at| (*at, profile.rows[*at].count)).collect();
        for finding in findings {
            account.add_finding(view, finding, &mut left);
        }
        account.take_back(twice);
        account.uncertain.calls = account.uncertain.calls.min(account.needless.calls);
        account.needless.limit(view.totals());
        account.uncertain.limit(view.totals());
        account
    }

    /// Adds the account of another part of the same observation. Calls of one kind by one program are
    /// one line, also if the program runs in several parts.
    pub(crate) fn add(&mut self, other: Account) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.needless.add(other.needless);
        self.uncertain.add(other.uncertain);
        self.unexplained.add(other.unexplained);
        self.estimated |= other.estimated;
        let claims = self.claims.len();
        let moved = |share: Share| Share { claim: share.claim.map(|at| at + claims), ..share };
        self.shares.extend(other.shares.into_iter().map(moved));
        self.claims.extend(other.claims);
        for line in other.lines {
            let same = |own: &&mut Unexplained| own.is_of_the_kind_of(&line);
            match self.lines.iter_mut().find(same) {
                Some(own) => own.add(line),
                None => self.lines.push(line),
            }
        }
        self.rank();
    }

    /// The needless calls whose cause is known.
    pub fn certain(&self) -> Amount {
        let less = |all: Option<u64>, part: Option<u64>| {
            all.map(|all| all.saturating_sub(part.unwrap_or(0)))
        };
        Amount {
            calls: self.needless.calls - self.uncertain.calls,
            kernel_ns: less(self.needless.kernel_ns, self.uncertain.kernel_ns),
            user_ns: less(self.needless.user_ns, self.uncertain.user_ns),
        }
    }

    /// The calls against which nothing is known.
    pub fn needed(&self) -> u64 {
        self.calls.saturating_sub(self.needless.calls + self.unexplained.calls)
    }

    fn rank(&mut self) {
        self.lines.sort_by_key(|line| (Reverse(line.amount.kernel_ns), Reverse(line.amount.calls)));
    }

    /// `left`: how many calls of each row no finding has counted so far.
    fn add_finding(&mut self, view: &View<'_>, finding: &Finding, left: &mut BTreeMap<usize, u64>) {
        let saves = Scale::of_view(view).saves(&[finding]);
        // Rows of a log that was cut may hold fewer calls than a rule infers.
        let room = self.calls.saturating_sub(self.needless.calls + self.unexplained.calls);
        let saves = Amount { calls: saves.calls.min(room), ..saves };
        self.needless.add(saves);
        if finding.stage == Stage::Seen {
            self.uncertain.add(saves);
        }
        self.estimated |=
            finding.kernel_ns.is_some() && (finding.estimated || finding.user_ns.is_some());
        let claim = Some(self.claims.len());
        self.claims.push(Claim {
            rule: finding.rule.clone(),
            stage: finding.stage,
            process: finding.processes[0],
            variable: finding.remedies.first().and_then(|r| r.change.variable()).map(str::to_owned),
            amount: saves,
        });
        let mut counted = finding.needless.min(saves.calls);
        for row in &finding.rows {
            let left = left.entry(*row).or_default();
            let calls = counted.min(*left);
            if calls > 0 {
                (*left, counted) = (*left - calls, counted - calls);
                self.shares.push(Share { row: *row, calls, claim });
            }
        }
    }

    /// Calls that two findings name are counted once.
    fn take_back(&mut self, mut twice: u64) {
        for claim in self.claims.iter_mut().rev() {
            let calls = twice.min(claim.amount.calls);
            claim.amount.calls -= calls;
            self.needless.calls -= calls;
            twice -= calls;
        }
    }

    /// The time of `calls` calls of a row.
    fn time(&mut self, profile: &Profile, row: &Row, calls: u64) -> Option<u64> {
        // While a thread yields, others run: that is their time.
        let yields = profile.call(row) == "sched_yield";
        if row.timed > 0 && !only_waits(profile, row) && !yields {
            return Some(scale(row.kernel_ns, calls, row.timed));
        }
        if row.query == Query::NoPath && profile.facts.has(Fact::KernelTime) && !yields {
            // All of them waited.
            return Some(0);
        }
        self.estimated = true;
        let cost = call_cost(&profile.host.costs?, profile, row);
        Some(calls.saturating_mul(cost))
    }
}

/// Errors that are the end of a wait or its interruption: signals, timeouts, connections on their
/// way, and what a program has to ask the kernel to learn. The kernel's own numbers (ERESTARTSYS and
/// its kind) are from 512 to 516. What rt_sigreturn returns belongs to the interrupted call.
pub(crate) fn is_an_answer(call: &str, errno: Errno) -> bool {
    match (call, errno.name()) {
        (_, "EINPROGRESS" | "EINTR" | "ETIMEDOUT") => true,
        ("futex" | "rt_sigtimedwait", "EAGAIN") | ("wait4" | "waitid", "ECHILD") => true,
        ("rt_sigreturn", _) => true,
        _ => (512..=516).contains(&errno.0),
    }
}

/// Why calls of a row that no rule took are not explained, and how many.
fn unanswered(call: &str, row: &Row) -> Option<(Unanswered, u64)> {
    if let Some(Err(errno)) = row.outcome {
        return (!is_an_answer(call, errno)).then_some((Unanswered::Failed(errno), row.count));
    }
    if call == "sched_yield" && row.count >= SPINNING {
        return Some((Unanswered::Spinning, row.count));
    }
    let asks = matches!(row.query, Query::Stat | Query::Lstat | Query::Access | Query::Readlink);
    let absolute = matches!(row.target, Target::Path(_));
    let again = match row.query {
        Query::Open if absolute && row.count >= OPENED_AGAIN => row.count - 1,
        _ if asks && absolute && row.count >= ASKED_AGAIN => row.count - 1,
        _ if asks => row.repeated,
        _ => 0,
    };
    (again > 0).then_some((Unanswered::Again, again))
}

fn line((program, call, query, reason): Kind<'_>, group: Group<'_>) -> Unexplained {
    let site = group.sites.into_iter().max_by_key(|(_, n)| *n).map(|(site, _)| site);
    Unexplained {
        program: program.to_owned(),
        processes: group.processes.len() as u64,
        call: call.to_owned(),
        query,
        reason,
        amount: group.amount,
        place: common(&group.paths, group.amount.calls),
        site,
    }
}

/// The file that at least [`COMMON`] of `calls` are about; else the deepest such directory that is
/// not one of the root's (`/usr/` says nothing); else the ending of such files (`*.pmc`); else the
/// deepest directory that at least [`SOME`] are about.
fn common(paths: &BTreeMap<&str, u64>, calls: u64) -> Option<(String, u64)> {
    let has = |part: f64, n: u64| n as f64 >= part * calls as f64;
    let (file, most) = paths.iter().max_by_key(|(_, n)| **n)?;
    if has(COMMON, *most) {
        return Some(((*file).to_owned(), *most));
    }
    let mut dirs: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, n) in paths {
        for (at, _) in path.match_indices('/').skip(2) {
            *dirs.entry(&path[..=at]).or_default() += n;
        }
    }
    let deepest = |part: f64| {
        let common = dirs.iter().filter(|(_, n)| has(part, **n));
        common.max_by_key(|(dir, n)| (dir.len(), **n)).map(|(dir, n)| ((*dir).to_owned(), *n))
    };
    let mut endings: BTreeMap<&str, u64> = BTreeMap::new();
    for (path, n) in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        if let Some((1.., ending)) = name.rsplit_once('.').map(|(stem, end)| (stem.len(), end)) {
            *endings.entry(ending).or_default() += n;
        }
    }
    let ending = endings.into_iter().max_by_key(|(_, n)| *n).filter(|(_, n)| has(COMMON, *n));
    let ending = || ending.map(|(ending, n)| (format!("*.{ending}"), n));
    deepest(COMMON).or_else(ending).or_else(|| deepest(SOME))
}
