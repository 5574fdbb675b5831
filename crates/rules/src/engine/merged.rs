//! What a rule found in several processes, put together: the sums, the evidence, the call sites.

use crate::text::number;
use needless_model::{CallId, Errno, Evidence, Finding, ProcId, Profile, RuleName, Stage, Target};
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
    /// `9 of 10`, the counts that a sentence begins with.
    pub(crate) fn counts(&self) -> String {
        format!("{} of {}", number(self.needless), number(self.of))
    }

    /// A finding of `rule` with all that follows from its cases. What it says (`stage`, `what`,
    /// `why`, `remedies`) is for the rule to write.
    pub(crate) fn finding(self, rule: impl Into<RuleName>) -> Finding {
        Finding {
            rule: rule.into(),
            stage: Stage::Seen,
            processes: self.processes,
            service: None,
            needless: self.needless,
            besides: 0,
            of: self.of,
            kernel_ns: None,
            estimated: false,
            user_ns: None,
            what: String::new(),
            why: String::new(),
            sites: self.sites,
            evidence: self.evidence,
            remedies: Vec::new(),
            rows: self.rows,
        }
    }
}

/// How many of the latest sums are kept beside the map.
const RECENT: usize = 4;
/// Evidence lines of a finding; more would hide the first ones.
const EVIDENCE: usize = 8;

/// The paths of a line of evidence: how they begin, a placeholder for the part in which they
/// differ, and how they end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PathPattern<'p>(pub(crate) &'p str, pub(crate) &'static str, pub(crate) &'p str);

impl<'p> PathPattern<'p> {
    /// This path.
    pub(crate) fn path(path: &'p str) -> PathPattern<'p> {
        PathPattern(path, "", "")
    }

    /// Everything that was asked for below this directory.
    pub(crate) fn below(dir: &'p str) -> PathPattern<'p> {
        PathPattern(dir, "/…", "")
    }
}

impl std::fmt::Display for PathPattern<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}{}", self.0, self.1, self.2)
    }
}

pub(crate) fn merge(profile: &Profile, cases: Vec<Case>) -> Merged {
    merge_by(profile, cases, PathPattern::path)
}

/// Like [`merge`]; paths for which `about` gives the same pattern share a line of evidence.
pub(crate) fn merge_by<'p>(
    profile: &'p Profile,
    cases: Vec<Case>,
    about: impl Fn(&'p str) -> PathPattern<'p>,
) -> Merged {
    merge_shared(profile, cases, &HashMap::new(), about)
}

/// Like [`merge_by`], with rows of which only some calls count: `shared` says how many. Their call
/// sites are left out, because these may belong to the other calls.
pub(crate) fn merge_shared<'p>(
    profile: &'p Profile,
    mut cases: Vec<Case>,
    shared: &HashMap<usize, u64>,
    about: impl Fn(&'p str) -> PathPattern<'p>,
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
    about: impl Fn(&'p str) -> PathPattern<'p>,
) -> Vec<Evidence> {
    let mut sums: HashMap<(CallId, PathPattern<'p>, Outcome), u64> = HashMap::new();
    // Rows about the same thing mostly follow one another: a few recent sums avoid nearly all
    // look-ups.
    let mut recent: [Option<Sum<'p>>; RECENT] = [None; RECENT];
    let mut oldest = 0;
    for at in rows {
        let row = &profile.rows[*at];
        let count = if shared.is_empty() {
            row.count
        } else {
            shared.get(at).copied().unwrap_or(row.count)
        };
        let about = match row.target {
            Target::ArgClass(detail) => PathPattern::path(detail.words()),
            _ => about(profile.path(row)),
        };
        let key = (row.call, about, row.outcome);
        if let Some((_, sum)) = recent.iter_mut().flatten().find(|(known, _)| *known == key) {
            *sum += count;
            continue;
        }
        if let Some((key, sum)) = recent[oldest].replace((key, count)) {
            *sums.entry(key).or_default() += sum;
        }
        oldest = (oldest + 1) % RECENT;
    }
    for (key, sum) in recent.into_iter().flatten() {
        *sums.entry(key).or_default() += sum;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    let name = |call: &CallId| profile.strings.text(call.0);
    let in_order = |((one, path, how), n): &Sum<'_>, ((other, to, end), m): &Sum<'_>| {
        m.cmp(n).then_with(|| (name(one), path, label(*how)).cmp(&(name(other), to, label(*end))))
    };
    if sums.len() > EVIDENCE {
        sums.select_nth_unstable_by(EVIDENCE, in_order);
        sums.truncate(EVIDENCE);
    }
    sums.sort_unstable_by(in_order);
    let to_line = |((call, about, outcome), count): Sum<'_>| Evidence {
        call: name(&call).to_owned(),
        path: about.to_string(),
        outcome: label(outcome).to_owned(),
        count,
    };
    sums.into_iter().map(to_line).collect()
}

/// How a call ended, where that was seen.
type Outcome = Option<Result<(), Errno>>;
/// How many calls of one kind, about one thing, ended alike.
type Sum<'p> = ((CallId, PathPattern<'p>, Outcome), u64);

fn label(outcome: Outcome) -> &'static str {
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
