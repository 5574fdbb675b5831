//! A change measured: the same command with and without it.

use crate::{Change, Profile};
use std::collections::BTreeMap;

/// What a command used, with the descendants that it waited for (wait4(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// CPU time in user mode, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// From its exec to its end, nanoseconds.
    pub wall_ns: u64,
    /// Page faults answered without reading from a disk.
    pub minor_faults: u64,
    /// Page faults that had to read.
    pub major_faults: u64,
    /// Context switches because it waited.
    pub voluntary: u64,
    /// Context switches because its time was up.
    pub involuntary: u64,
    /// Most memory resident at a time, KiB. Never less than what its launcher had resident.
    pub peak_kib: u64,
}

/// What is measured in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// CPU time, user and system, seconds.
    Cpu,
    /// CPU time in the kernel, seconds.
    System,
    /// CPU time in user mode, seconds.
    User,
    /// Time of the clock, seconds.
    Wall,
    /// Page faults, minor and major.
    Faults,
    /// Context switches, voluntary and not.
    Switches,
    /// Peak memory, KiB.
    Peak,
}

impl Quantity {
    /// All, in the order of a report.
    pub const ALL: [Quantity; 7] = [
        Quantity::Cpu,
        Quantity::System,
        Quantity::User,
        Quantity::Wall,
        Quantity::Faults,
        Quantity::Switches,
        Quantity::Peak,
    ];

    /// Its value in one run, in its unit.
    pub fn of(self, usage: &Usage) -> f64 {
        match self {
            Quantity::Cpu => (usage.user_ns + usage.system_ns) as f64 / 1e9,
            Quantity::System => usage.system_ns as f64 / 1e9,
            Quantity::User => usage.user_ns as f64 / 1e9,
            Quantity::Wall => usage.wall_ns as f64 / 1e9,
            Quantity::Faults => (usage.minor_faults + usage.major_faults) as f64,
            Quantity::Switches => (usage.voluntary + usage.involuntary) as f64,
            Quantity::Peak => usage.peak_kib as f64,
        }
    }
}

/// One quantity in both arms, over all pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// What.
    pub quantity: Quantity,
    /// Median without the change.
    pub before: f64,
    /// Median with it.
    pub after: f64,
    /// Median of the paired differences, after less before: negative is better.
    pub difference: f64,
    /// The 95 % interval of that median.
    pub interval: (f64, f64),
}

impl Measure {
    /// The whole interval lies below zero: less is used, and chance does not explain it.
    pub fn fell(&self) -> bool {
        self.interval.1 < 0.0
    }

    /// The whole interval lies above zero.
    pub fn rose(&self) -> bool {
        self.interval.0 > 0.0
    }
}

/// System calls of a command: a range where two counts of the same arm were not equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The least that was counted.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// One question, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowChange {
    /// The call by its kernel name.
    pub call: String,
    /// Its path, "" where it has none.
    pub path: String,
    /// `ok`, the error's name, or "" where it was not seen.
    pub outcome: String,
    /// How often before.
    pub before: u64,
    /// How often after.
    pub after: u64,
}

/// What a rule predicted of the change, and what was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The rule ("tz-unset").
    pub rule: &'static str,
    /// Calls that it said would go.
    pub predicted: u64,
    /// Calls that went, of those that the rule found.
    pub went: u64,
    /// Kernel time that the rule put to these calls, nanoseconds, where known: the cost of such a
    /// call on this host, measured in a short loop, times their number.
    pub kernel_ns: Option<u64>,
}

/// What came of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The program did not behave alike with and without the change: nothing is proven. One
    /// sentence says how.
    Differs(String),
    /// The calls fell (`calls`), or the CPU time did (`cpu`), or both, and neither rose.
    Proven {
        /// Fewer system calls, counted.
        calls: bool,
        /// Less CPU time, beyond chance.
        cpu: bool,
    },
    /// Neither fell, or one rose. One sentence says what stands against it.
    NotProven(String),
}

/// A change measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The program as given, without its arguments: they may hold secrets.
    pub program: String,
    /// What was changed.
    pub changes: Vec<Change>,
    /// What came of it.
    pub outcome: Outcome,
    /// How calls were counted ("eBPF", "ptrace").
    pub backend: String,
    /// System calls before and after, where both were counted.
    pub calls: Option<(Counted, Counted)>,
    /// The questions whose count changed most, largest change first.
    pub rows: Vec<RowChange>,
    /// What rules predicted; empty where none knows this change.
    pub predictions: Vec<Prediction>,
    /// How many pairs of runs were measured.
    pub pairs: usize,
    /// The quantities, as [`Quantity::ALL`]; empty without pairs.
    pub measures: Vec<Measure>,
    /// Whether somebody asked for the report before the last pair.
    pub early: bool,
    /// Sentences about noise and other doubts, each with what to do.
    pub warnings: Vec<String>,
}

impl Proof {
    /// Whether anything was proven.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Proven { .. })
    }

    /// One of the measures.
    pub fn measure(&self, quantity: Quantity) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.quantity == quantity)
    }
}

/// What was counted in a window or a run, to be kept and compared: sums and rows, without processes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// What was observed, in words.
    pub name: String,
    /// How it was observed.
    pub backend: String,
    /// Whether every call was counted.
    pub complete: bool,
    /// Whether `rows` are all there were, and not only those that findings keep.
    pub all_rows: bool,
    /// Length of the window, nanoseconds, where known.
    pub window_ns: Option<u64>,
    /// CPU time, user and system, nanoseconds, where known and not distorted by a tracer.
    pub cpu_ns: Option<u64>,
    /// Requests that were served meanwhile, where somebody counts them.
    pub requests: Option<f64>,
    /// Calls counted.
    pub calls: u64,
    /// (call, path, outcome) → how often.
    pub rows: BTreeMap<(String, String, String), u64>,
    /// Calls that were not seen, by name.
    pub lost: BTreeMap<String, u64>,
}

impl Snapshot {
    /// What of `profile` is kept.
    pub fn of(profile: &Profile, name: impl Into<String>) -> Snapshot {
        let mut rows = BTreeMap::new();
        for row in &profile.rows {
            let outcome = match row.outcome {
                Some(Ok(())) => "ok".to_owned(),
                Some(Err(errno)) => errno.name().to_owned(),
                None => String::new(),
            };
            let key = (profile.call(row).to_owned(), profile.path(row).to_owned(), outcome);
            *rows.entry(key).or_default() += row.count;
        }
        let totals = &profile.totals;
        // A tracer's stops are in the time that a traced program spends in the kernel.
        let distorted = profile.backend.starts_with("ptrace") || profile.backend.starts_with("strace");
        let cpu = totals.cpu_user_ns.zip(totals.cpu_sys_ns).filter(|_| !distorted);
        Snapshot {
            name: name.into(),
            backend: profile.backend.clone(),
            complete: profile.facts.has(crate::Fact::AllCalls),
            all_rows: true,
            window_ns: profile.window.length_ns,
            cpu_ns: cpu.map(|(user, system)| user + system),
            requests: None,
            calls: totals.calls,
            rows,
            lost: profile.lost.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
        }
    }
}

/// The rows of two snapshots whose counts differ, largest difference first.
pub fn changed_rows(before: &Snapshot, after: &Snapshot) -> Vec<RowChange> {
    let keys = before.rows.keys().chain(after.rows.keys());
    let keys: std::collections::BTreeSet<_> = keys.collect();
    let count = |of: &Snapshot, key| of.rows.get(key).copied().unwrap_or(0);
    let mut rows: Vec<RowChange> = keys
        .into_iter()
        .map(|key| RowChange {
            call: key.0.clone(),
            path: key.1.clone(),
            outcome: key.2.clone(),
            before: count(before, key),
            after: count(after, key),
        })
        .filter(|row| row.before != row.after)
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.before.abs_diff(row.after)));
    rows
}
