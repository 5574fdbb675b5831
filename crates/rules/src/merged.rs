//! What a rule found in several processes, put together: the sums, the evidence, the call sites.

use needless_model::{CallId, Errno, Evidence, Finding, ProcId, Profile, Stage, Target};
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a rule found in one process, before processes are put together.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) process: ProcId,
    pub(crate) needless: u64,
    pub(crate) of: u64,
    pub(crate) rows: Vec<usize>,
}

/// Cases put together: the sums, and a finding's lists.
#[derive(Debug)]
pub(crate) struct Merged {
    pub(crate) processes: Vec<ProcId>,
    pub(crate) needless: u64,
    pub(crate) of: u64,
    pub(crate) rows: Vec<usize>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) sites: Vec<String>,
}

impl Merged {
    /// A finding of `rule` with all that follows from its cases. What it says (`stage`, `what`,
    /// `why`, `remedies`) is for the rule to write.
    pub(crate) fn finding(self, rule: &'static str) -> Finding {
        Finding {
            rule,
            stage: Stage::Seen,
            processes: self.processes,
            service: None,
            needless: self.needless,
            besides: 0,
            of: self.of,
            kernel_ns: None,
            estimated: false,
            what: String::new(),
            why: String::new(),
            sites: self.sites,
            evidence: self.evidence,
            remedies: Vec::new(),
            rows: self.rows,
        }
    }
}

/// Sums that are at hand.
const AT_HAND: usize = 4;
/// Evidence lines of a finding; more would hide the first ones.
const EVIDENCE: usize = 8;

/// What a line of evidence is about: how the paths begin, what stands for that in which they differ,
/// and how they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct About<'p>(pub(crate) &'p str, pub(crate) &'static str, pub(crate) &'p str);

impl<'p> About<'p> {
    /// This path.
    pub(crate) fn path(path: &'p str) -> About<'p> {
        About(path, "", "")
    }

    /// Whatever was asked for below this directory.
    pub(crate) fn below(dir: &'p str) -> About<'p> {
        About(dir, "/…", "")
    }
}

impl std::fmt::Display for About<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.0, self.1, self.2)
    }
}

pub(crate) fn merge(profile: &Profile, cases: Vec<Case>) -> Merged {
    merge_by(profile, cases, About::path)
}

/// As [`merge`], the evidence put together by what `about` makes of a path.
pub(crate) fn merge_by<'p>(
    profile: &'p Profile,
    cases: Vec<Case>,
    about: impl Fn(&'p str) -> About<'p>,
) -> Merged {
    merge_shared(profile, cases, &HashMap::new(), about)
}

/// As [`merge_by`], with rows of which only so many calls count; where the rest are made is not said.
pub(crate) fn merge_shared<'p>(
    profile: &'p Profile,
    mut cases: Vec<Case>,
    shared: &HashMap<usize, u64>,
    about: impl Fn(&'p str) -> About<'p>,
) -> Merged {
    cases.sort_by_key(|case| (std::cmp::Reverse(case.needless), case.process));
    let mut known = HashSet::new();
    let processes = cases.iter().map(|case| case.process).filter(|id| known.insert(*id)).collect();
    let rows: Vec<usize> = cases.iter().flat_map(|case| case.rows.iter().copied()).collect();
    Merged {
        processes,
        needless: cases.iter().map(|case| case.needless).sum(),
        of: cases.iter().map(|case| case.of).sum(),
        evidence: evidence(profile, &rows, shared, about),
        sites: sites(profile, rows.iter().filter(|row| !shared.contains_key(row))),
        rows,
    }
}

fn evidence<'p>(
    profile: &'p Profile,
    rows: &[usize],
    shared: &HashMap<usize, u64>,
    about: impl Fn(&'p str) -> About<'p>,
) -> Vec<Evidence> {
    let mut sums: HashMap<(CallId, About<'p>, Outcome), u64> = HashMap::new();
    // Rows about the same thing mostly follow one another: a few sums that are at hand spare nearly
    // all look-ups.
    let mut at_hand: [Option<Sum<'p>>; AT_HAND] = [None; AT_HAND];
    let mut oldest = 0;
    for at in rows {
        let row = &profile.rows[*at];
        let count = match shared.is_empty() {
            true => row.count,
            false => shared.get(at).copied().unwrap_or(row.count),
        };
        let about = match row.target {
            Target::ArgClass(detail) => About::path(detail.words()),
            _ => about(profile.path(row)),
        };
        let key = (row.call, about, row.outcome);
        if let Some((_, sum)) = at_hand.iter_mut().flatten().find(|(known, _)| *known == key) {
            *sum += count;
            continue;
        }
        if let Some((key, sum)) = at_hand[oldest].replace((key, count)) {
            *sums.entry(key).or_default() += sum;
        }
        oldest = (oldest + 1) % AT_HAND;
    }
    for (key, sum) in at_hand.into_iter().flatten() {
        *sums.entry(key).or_default() += sum;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    let name = |call: &CallId| profile.strings.text(call.0);
    let in_order = |((one, path, how), n): &Sum<'_>, ((other, to, end), m): &Sum<'_>| {
        m.cmp(n).then_with(|| (name(one), path, words(*how)).cmp(&(name(other), to, words(*end))))
    };
    if sums.len() > EVIDENCE {
        sums.select_nth_unstable_by(EVIDENCE, in_order);
        sums.truncate(EVIDENCE);
    }
    sums.sort_unstable_by(in_order);
    let to_line = |((call, about, outcome), count): Sum<'_>| Evidence {
        call: name(&call).to_owned(),
        path: about.to_string(),
        outcome: words(outcome).to_owned(),
        count,
    };
    sums.into_iter().map(to_line).collect()
}

/// How a call ended, where that was seen.
type Outcome = Option<Result<(), Errno>>;
/// How many calls of one kind, about one thing, ended alike.
type Sum<'p> = ((CallId, About<'p>, Outcome), u64);

fn words(outcome: Outcome) -> &'static str {
    match outcome {
        Some(Ok(())) => "ok",
        Some(Err(errno)) => errno.name(),
        None => "not seen",
    }
}

fn sites<'a>(profile: &Profile, rows: impl Iterator<Item = &'a usize>) -> Vec<String> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (site, count) in rows.flat_map(|at| &profile.rows[*at].sites) {
        *sums.entry(site.to_string()).or_default() += count;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sums.into_iter().map(|(site, _)| site).collect()
}
