//! The account of a profile: each call that was counted is needed, needless, not explained or not judged, and the four
//! add up.
//!
//! A call is *needless* if a finding says so, shown or not; *perhaps* so if the finding's cause was not looked up. It is
//! *not explained* if no rule took it and one of these holds:
//!
//! * it failed. The kernel said "no", and the program went on;
//! * it repeated a question that had just been answered ([`Row::repeated`]);
//! * one process opened the same file ten times or more, or asked about the same path a hundred times or more: all but
//!   the first;
//! * one process called sched_yield(2) a thousand times or more.
//!
//! Some errors are answers, and no failures: the end of a wait, an interruption, a lock that another thread has, no child
//! that is left ([`is_an_answer`](crate::engine::is_an_answer)).
//!
//! Of what remains it is *needed* if a rule looked at it, which is true of each call that names a path, or if each program
//! makes such calls ([`known`](crate::engine::known)). The others are *not judged*: no rule knows anything about them.
//! Not explained and not judged are facts and no advice: many failed calls are how a program finds out what it has to
//! know.

use crate::engine::known::{Known, goes_with_opens};
use crate::engine::unexplained::{Group, Kind, line, unanswered};
use crate::engine::unjudged::{self, Busy, Unjudged};
use crate::engine::verdict::{call_cost, scale};
use crate::engine::waiting::only_waits;
use crate::{Amount, Scale, Sink, Unexplained, View};
use needless_model::{Fact, Finding, ProcId, Profile, Query, Row, RuleName, Stage};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Calls of one row that are not needed, or not known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The position of the row in the profile.
    pub row: usize,
    /// How many of its calls.
    pub calls: u64,
    /// What they are.
    pub fate: Fate,
}

/// What became of calls that are not needed, or not known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The finding at this position in [`Account::claims`] says that they are needless.
    Needless(usize),
    /// They failed or got no new answer, and no rule explains it.
    Unexplained,
    /// No rule looked at them.
    Unjudged,
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
    /// (`-vv`, `--rule`) is needed: rules looked at it.
    pub needless: Amount,
    /// Of these, the calls of findings whose cause was not looked up ([`Stage::Seen`]): so many are needless at most.
    pub uncertain: Amount,
    /// Calls that no rule took, and that answered nothing new.
    pub unexplained: Amount,
    /// Calls at which no rule looked.
    pub unjudged: Amount,
    /// Whether a time is the cost of such calls on this machine, not a measurement of these.
    pub estimated: bool,
    /// The unexplained calls by kind, those that took most time first, then most calls.
    pub lines: Vec<Unexplained>,
    /// The calls that are not judged by kind, most frequent first.
    pub kinds: Vec<Unjudged>,
    /// The process that used most CPU time, if that is much of a processor.
    pub busy: Option<Busy>,
    /// Which calls these are, row by row: all that are not explained or not judged, and of the needless ones those that
    /// findings count. Calls that go with these, without being counted one by one, are in no row.
    pub shares: Vec<Share>,
    /// What each finding adds to the needless calls: their calls add up to those of `needless`.
    pub claims: Vec<Claim>,
}

/// What a walk over the rows leaves to be decided when the findings are known.
#[derive(Default)]
struct Rest {
    /// Rows of which calls may be needed, and how many.
    perhaps: Vec<(usize, u64)>,
    /// Rows of which calls are not judged, and how many.
    open: Vec<(usize, u64)>,
    known: Known,
    /// Calls of rows that findings do not name, and that go with those of a finding.
    claimed: u64,
    /// Calls that two findings name.
    twice: u64,
}

impl Account {
    /// The account of a view. `sink` says of each row whether a rule took it, and how many of its calls go with a
    /// finding about others.
    pub(crate) fn of<'f>(
        view: &View<'_>,
        sink: &Sink,
        findings: impl Iterator<Item = &'f Finding> + Clone,
    ) -> Account {
        let mut account = Account::default();
        let found: BTreeSet<usize> =
            findings.clone().flat_map(|f| f.rows.iter().copied()).collect();
        let mut rest = account.add_rows(view, sink, &found);
        let mut left: BTreeMap<usize, u64> =
            found.iter().map(|at| (*at, view.profile.rows[*at].count)).collect();
        for finding in findings.clone() {
            account.add_finding(view, finding, &mut left);
        }
        account.take_back(rest.twice);
        account.uncertain.calls = account.uncertain.calls.min(account.needless.calls);
        let known = &mut rest.known;
        rest.open.extend(rest.perhaps.iter().map(|(at, calls)| {
            let row = &view.profile.rows[*at];
            (*at, calls - known.of(row, view.profile.call(row), *calls))
        }));
        let who = findings.flat_map(|finding| finding.processes.iter().copied()).collect();
        account.add_unjudged(view, rest, &who);
        let Account { needless, uncertain, unexplained, unjudged, .. } = &mut account;
        for part in [needless, uncertain, unexplained, unjudged] {
            part.limit(view.totals());
        }
        account.busy = Busy::of(view);
        account
    }

    /// Adds the rows that no finding names, those in `found`.
    fn add_rows(&mut self, view: &View<'_>, sink: &Sink, found: &BTreeSet<usize>) -> Rest {
        let (profile, mut rest) = (view.profile, Rest::default());
        let titles: HashMap<ProcId, String> =
            view.ids().map(|id| (id, view.process(id).title())).collect();
        let mut groups: BTreeMap<Kind<'_>, Group<'_>> = BTreeMap::new();
        view.ids().for_each(|id| rest.known.process(id, view.process(id).born));
        for (at, row) in view.rows() {
            self.calls += row.count;
            self.failed += if matches!(row.outcome, Some(Err(_))) { row.count } else { 0 };
            let (call, claimed) = (profile.call(row), sink.claimed(at).min(row.count));
            match () {
                () if found.contains(&at) => {
                    rest.twice += claimed;
                    continue;
                }
                () if view.process(row.process).lacks_privilege => {
                    rest.open.push((at, row.count));
                    continue;
                }
                () if sink.taken(at) => {
                    rest.known.needed(row, (call, profile.path(row)), row.count);
                    continue;
                }
                () => rest.claimed += claimed,
            }
            let (reason, calls) = unanswered(call, row).unzip();
            let calls = calls.map_or(0, |calls| calls.saturating_sub(claimed));
            let others = row.count.saturating_sub(claimed + calls);
            rest.known.needed(row, (call, profile.path(row)), others);
            rest.perhaps.push((at, others));
            let Some(reason) = reason.filter(|_| calls > 0) else { continue };
            let (kernel_ns, estimated) = time(profile, row, calls);
            self.estimated |= estimated;
            let amount = Amount { calls, kernel_ns, user_ns: None };
            self.unexplained.add(amount);
            self.shares.push(Share { row: at, calls, fate: Fate::Unexplained });
            let kind = (titles[&row.process].as_str(), call, row.query, reason);
            let pid = profile.process(row.process).pid;
            groups.entry(kind).or_default().add(row, pid, profile.path(row), amount);
        }
        self.lines = groups.into_iter().map(|(key, group)| line(key, group)).collect();
        self.rank();
        rest
    }

    /// Adds the calls that are not judged. `who`: the processes of findings.
    fn add_unjudged(&mut self, view: &View<'_>, mut rest: Rest, who: &BTreeSet<ProcId>) {
        let profile = view.profile;
        // Calls that go with those of a finding are needless, though not row by row.
        let named = |share: &&Share| matches!(share.fate, Fate::Needless(_));
        let counted: u64 = self.shares.iter().filter(named).map(|share| share.calls).sum();
        let mut besides = self.needless.calls.saturating_sub(counted + rest.claimed);
        let mut room = self.calls.saturating_sub(self.needless.calls + self.unexplained.calls);
        for (at, calls) in &mut rest.open {
            let row = &profile.rows[*at];
            if who.contains(&row.process) && goes_with_opens(profile.call(row)) {
                let taken = besides.min(*calls);
                (besides, *calls) = (besides - taken, *calls - taken);
            }
            *calls = room.min(*calls);
            room -= *calls;
        }
        rest.open.retain(|(_, calls)| *calls > 0);
        let amount = |(at, calls): &(usize, u64)| {
            let (row, calls) = (&profile.rows[*at], *calls);
            (row, Amount { calls, kernel_ns: time(profile, row, calls).0, user_ns: None })
        };
        self.unjudged = Amount::sum(rest.open.iter().map(|row| amount(row).1));
        self.kinds = unjudged::kinds(view, rest.open.iter().map(amount));
        let share = |(row, calls)| Share { row, calls, fate: Fate::Unjudged };
        self.shares.extend(rest.open.into_iter().map(share));
    }

    /// Adds the account of another part of the same observation. Calls of one kind by one program are
    /// one line, also if the program runs in several parts.
    pub(crate) fn add(&mut self, other: Account) {
        self.calls += other.calls;
        self.failed += other.failed;
        self.needless.add(other.needless);
        self.uncertain.add(other.uncertain);
        self.unexplained.add(other.unexplained);
        self.unjudged.add(other.unjudged);
        self.estimated |= other.estimated;
        unjudged::add(&mut self.kinds, other.kinds);
        let busiest = self.busy.take().into_iter().chain(other.busy);
        self.busy = busiest.max_by_key(|busy| busy.cpu_ns);
        let claims = self.claims.len();
        let moved = |share: Share| match share.fate {
            Fate::Needless(at) => Share { fate: Fate::Needless(at + claims), ..share },
            _ => share,
        };
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

    /// The calls that are known to be needed.
    pub fn needed(&self) -> u64 {
        let others = self.needless.calls + self.unexplained.calls + self.unjudged.calls;
        self.calls.saturating_sub(others)
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
        let fate = Fate::Needless(self.claims.len());
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
                self.shares.push(Share { row: *row, calls, fate });
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
}

/// The time of `calls` calls of a row, where known, and whether it is what such calls cost on this machine.
fn time(profile: &Profile, row: &Row, calls: u64) -> (Option<u64>, bool) {
    // While a thread yields, others run: that is their time.
    let yields = profile.call(row) == "sched_yield";
    if row.timed > 0 && !only_waits(profile, row) && !yields {
        return (Some(scale(row.kernel_ns, calls, row.timed)), false);
    }
    if row.query == Query::NoPath && profile.facts.has(Fact::KernelTime) && !yields {
        // All of them waited.
        return (Some(0), false);
    }
    let cost = profile.host.costs.map(|costs| call_cost(&costs, profile, row));
    (cost.map(|cost| calls.saturating_mul(cost)), true)
}
