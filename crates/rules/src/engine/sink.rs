//! How rules report what they find.
//!
//! `Sink::explain` takes calls that a rule knows and that nobody can avoid, as PHP's reading of the zone database: they
//! are neither reported nor unexplained.

use needless_model::{Fact, Finding};
use std::collections::{BTreeMap, HashMap};
use std::mem;

/// The facts that rules lacked, by the rules' names.
pub(crate) type Lacks = BTreeMap<&'static str, Vec<Fact>>;

/// What a finding must exceed to be worth a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// As the head of this crate says.
    Usual,
    /// Hundreds of calls, and a noticeable share of the run: for advice that is right for a loop
    /// and pedantic for an ordinary start.
    Hundreds,
    /// It cannot be changed, or only in code that is not the user's, or nearly every program does it a
    /// few times: shown on demand, like findings of a [`pedantic`](crate::Rule) rule.
    OnDemand,
}

/// What the rules so far found, and which rows they can explain.
#[derive(Debug)]
pub struct Sink {
    found: Vec<(Finding, Threshold)>,
    lacked: Lacks,
    taken: Vec<bool>,
    /// Calls of rows that are not taken, which go with those of a finding.
    claimed: HashMap<usize, u64>,
}

impl Sink {
    /// An empty sink for a profile with this many rows.
    pub fn new(rows: usize) -> Sink {
        Sink {
            found: Vec::new(),
            lacked: BTreeMap::new(),
            taken: vec![false; rows],
            claimed: HashMap::new(),
        }
    }

    /// Adds a finding. Its rows are then explained.
    pub fn find(&mut self, finding: Finding) {
        self.find_beyond(Threshold::Usual, finding);
    }

    /// Like [`find`](Sink::find), for a finding that is worth a change only above this threshold.
    pub(crate) fn find_beyond(&mut self, threshold: Threshold, finding: Finding) {
        self.explain(&finding.rows);
        self.found.push((finding, threshold));
    }

    /// Marks rows as explained: they are not a finding, and no later rule reports them.
    pub fn explain(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = true;
        }
    }

    /// Gives rows of a finding to later rules as well: some of their calls belong to something
    /// else.
    pub(crate) fn leave(&mut self, rows: &[usize]) {
        for row in rows {
            self.taken[*row] = false;
        }
    }

    /// Counts calls of a row as some that go with a finding ([`Finding::besides`]): these are explained, and the row's
    /// others are not.
    pub(crate) fn claim(&mut self, row: usize, calls: u64) {
        *self.claimed.entry(row).or_default() += calls;
    }

    /// How many calls of this row are [claimed](Sink::claim).
    pub(crate) fn claimed(&self, row: usize) -> u64 {
        self.claimed.get(&row).copied().unwrap_or(0)
    }

    /// Whether a rule found or explained this row.
    pub fn taken(&self, row: usize) -> bool {
        self.taken[row]
    }

    /// The rule saw calls that may concern it, and could not decide without this fact. If it finds
    /// nothing, it is listed as not checked.
    pub(crate) fn lack(&mut self, rule: &'static str, fact: Fact) {
        let facts = self.lacked.entry(rule).or_default();
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }

    /// Takes the findings, in the order they were made, each with what it must exceed; and what rules lacked. Which rows
    /// are explained stays known.
    pub(crate) fn drain(&mut self) -> (Vec<(Finding, Threshold)>, Lacks) {
        (mem::take(&mut self.found), mem::take(&mut self.lacked))
    }
}
