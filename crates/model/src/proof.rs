//! A change measured: the same command with and without it.

use crate::{Backend, Change, RowChange, RuleName};

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
    /// Context switches because its time slice ended.
    pub involuntary: u64,
    /// Peak resident memory, KiB. Never less than that of a fork of its launcher.
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
    /// All quantities, in the order of a report.
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
    /// The quantity.
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
    /// The lowest count.
    pub least: u64,
    /// The highest count.
    pub most: u64,
}

/// What a rule predicted for the change, and what was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The rule ("tz-unset").
    pub rule: RuleName,
    /// Calls that it predicted would go: the needless calls without the change.
    pub predicted: u64,
    /// By how much the rows of the finding fell; negative if they rose. Other calls may
    /// have gone, too.
    pub went: i64,
    /// Kernel time that the rule predicted for these calls, nanoseconds, where known: the cost of such a
    /// call on this host, measured in a short loop, times their number.
    pub kernel_ns: Option<u64>,
    /// What it predicted of the program's own work for them, nanoseconds, where that is known: an estimate by runtime.
    pub user_ns: Option<u64>,
}

/// The result of a proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The program did not behave the same with and without the change: nothing is proven. One
    /// sentence says how.
    Differs(String),
    /// The calls fell (`calls`), or the CPU time did (`cpu`), or both, and neither rose.
    Proven {
        /// Fewer system calls, counted.
        calls: bool,
        /// Less CPU time; chance does not explain it.
        cpu: bool,
    },
    /// Neither fell, or one rose. One sentence says what is against it.
    NotProven(String),
}

/// A change measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The program as given, without its arguments: they may hold secrets.
    pub program: String,
    /// What was changed.
    pub changes: Vec<Change>,
    /// The result.
    pub outcome: Outcome,
    /// What counted the calls.
    pub backend: Backend,
    /// System calls before and after, where both were counted.
    pub calls: Option<(Counted, Counted)>,
    /// The questions whose count changed most, largest change first.
    pub rows: Vec<RowChange>,
    /// What rules predicted; empty if no rule knows this change.
    pub predictions: Vec<Prediction>,
    /// How many pairs of runs were measured.
    pub pairs: usize,
    /// The quantities, as [`Quantity::ALL`]; empty without pairs.
    pub measures: Vec<Measure>,
    /// Memory of a process that needless forked, before it becomes the command, KiB: what a command's
    /// peak never shows less than.
    pub peak_floor_kib: u64,
    /// Whether it ended before the last pair: the user asked for the report, or something failed.
    pub early: bool,
    /// What failed in a pair; the results are from the pairs before it.
    pub failure: Option<String>,
    /// Sentences about noise and other doubts, each with a remedy.
    pub warnings: Vec<String>,
}

impl Proof {
    /// A proof without any measurement yet.
    pub fn begun(program: &str, changes: &[Change], backend: Backend) -> Proof {
        Proof {
            program: program.to_owned(),
            changes: changes.to_vec(),
            outcome: Outcome::NotProven("nothing was measured".into()),
            backend,
            calls: None,
            rows: Vec::new(),
            predictions: Vec::new(),
            pairs: 0,
            measures: Vec::new(),
            peak_floor_kib: 0,
            early: false,
            failure: None,
            warnings: Vec::new(),
        }
    }

    /// Whether anything was proven.
    pub fn holds(&self) -> bool {
        matches!(self.outcome, Outcome::Proven { .. })
    }

    /// One of the measures.
    pub fn measure(&self, quantity: Quantity) -> Option<&Measure> {
        self.measures.iter().find(|measure| measure.quantity == quantity)
    }
}
