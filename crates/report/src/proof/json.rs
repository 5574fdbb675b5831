//! A proof for other tools.

use crate::json::{Micros, mirror, print, schema_of};
use crate::{Style, summary};
use needless_model::{Counted, Measure, Outcome, Prediction, Proof, RowChange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The schema that proofs name in their field `schema`. Fields are only added under one number.
pub const PROOF_SCHEMA: &str = "needless.proof/1";

pub(crate) fn write(out: &mut dyn Write, proof: &ProofDocument, _: Style) -> io::Result<()> {
    print(out, proof)
}

/// The JSON schema of a proof, with a newline at its end.
pub fn proof_schema() -> String {
    schema_of::<ProofDocument>()
}

/// A change measured: the same command with and without it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.proof/1")]
pub struct ProofDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = PROOF_SCHEMA))]
    schema: String,
    /// Version of needless that wrote it.
    pub(crate) needless_version: String,
    /// The proof.
    #[serde(flatten)]
    pub(crate) proof: ProofBody,
}

impl ProofDocument {
    /// Of a proof that was made by needless of this version.
    pub fn of(proof: &Proof, version: &str) -> ProofDocument {
        ProofDocument {
            schema: PROOF_SCHEMA.to_owned(),
            needless_version: version.to_owned(),
            proof: proof.into(),
        }
    }
}

/// A change measured.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Proof")]
pub(crate) struct ProofBody {
    /// The program as given, without its arguments.
    pub(crate) program: String,
    /// What was changed, as one would type it.
    pub(crate) changes: Vec<String>,
    /// What came of it.
    pub(crate) outcome: ProofOutcome,
    /// Whether fewer system calls were made.
    pub(crate) calls_fell: bool,
    /// Whether CPU time fell, beyond chance.
    pub(crate) cpu_fell: bool,
    /// Why nothing is proven, where nothing is.
    pub(crate) reason: Option<String>,
    /// How calls were counted.
    pub(crate) backend: String,
    /// System calls of a run without the change; `null` if they were not counted in both arms.
    pub(crate) calls_before: Option<CountRange>,
    /// System calls of a run with the change.
    pub(crate) calls_after: Option<CountRange>,
    /// The questions whose count changed most.
    pub(crate) rows: Vec<ChangedRow>,
    /// What rules said would go; empty where none knows this change.
    pub(crate) predictions: Vec<ProofPrediction>,
    /// Pairs of runs that were measured.
    pub(crate) pairs: u64,
    /// Whether it ended before the last pair: somebody asked for the report, or something failed.
    pub(crate) early: bool,
    /// What failed among the pairs, if anything did; the figures are of the pairs before.
    pub(crate) failure: Option<String>,
    /// What no peak memory shows less than, KiB: that of a process before it becomes the command.
    #[serde(default)]
    pub(crate) peak_floor_kib: u64,
    /// What was measured in the pairs.
    pub(crate) measures: Vec<ProofMeasure>,
    /// Sentences about noise and other doubts.
    pub(crate) warnings: Vec<String>,
}

/// What came of a proof.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outcome")]
#[serde(rename_all = "snake_case")]
pub(crate) enum ProofOutcome {
    /// Calls or CPU time fell, and CPU time did not rise.
    Proven,
    /// Not that.
    NotProven,
    /// Exit status or output were not the same: nothing is proven.
    Differs,
}

/// Counts of the same arm.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Range")]
pub(crate) struct CountRange {
    /// The least.
    pub(crate) least: u64,
    /// The most.
    pub(crate) most: u64,
}

/// One question, before and after.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Row")]
pub(crate) struct ChangedRow {
    /// The system call.
    pub(crate) call: String,
    /// Its path, empty where it has none.
    pub(crate) path: String,
    /// `ok`, the error's name, or empty where it was not seen.
    pub(crate) outcome: String,
    /// How often before.
    pub(crate) before: u64,
    /// How often after.
    pub(crate) after: u64,
}

/// What a rule said would go.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Prediction")]
pub(crate) struct ProofPrediction {
    /// Name of the rule.
    pub(crate) rule: String,
    /// Calls that it finds needless without the change.
    pub(crate) predicted: u64,
    /// By how much the calls that its finding is about fell; others may have gone besides.
    pub(crate) went: i64,
    /// Kernel time of the predicted calls in microseconds: the cost of such a call on this host,
    /// measured in a short loop, times their number.
    pub(crate) kernel_us: Option<Micros>,
    /// What the program itself works for them, microseconds: an estimate by its runtime. Absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user_us: Option<Micros>,
}

/// One quantity in both arms.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Measure")]
pub(crate) struct ProofMeasure {
    /// What was measured.
    pub(crate) quantity: ProofQuantity,
    /// Median without the change.
    pub(crate) before: f64,
    /// Median with it.
    pub(crate) after: f64,
    /// Median of the differences in the pairs, after less before.
    pub(crate) difference: f64,
    /// Lower end of the 95 % interval of `difference`.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
}

mirror! {
    ProofQuantity as "Quantity" of needless_model::Quantity {
        /// CPU time, user and system.
        #[serde(rename = "cpu_s")]
        Cpu,
        /// CPU time in the kernel.
        #[serde(rename = "system_s")]
        System,
        /// CPU time in user mode.
        #[serde(rename = "user_s")]
        User,
        /// Time of the clock.
        #[serde(rename = "wall_s")]
        Wall,
        /// Page faults.
        Faults,
        /// Context switches.
        Switches,
        /// Peak memory, KiB; never less than what needless itself had resident.
        #[serde(rename = "peak_kib")]
        Peak,
    }
}

impl From<&Proof> for ProofBody {
    fn from(proof: &Proof) -> ProofBody {
        let (outcome, reason) = match &proof.outcome {
            Outcome::Proven { .. } => (ProofOutcome::Proven, None),
            Outcome::NotProven(why) => (ProofOutcome::NotProven, Some(why)),
            Outcome::Differs(how) => (ProofOutcome::Differs, Some(how)),
        };
        let (calls_fell, cpu_fell) = match proof.outcome {
            Outcome::Proven { calls, cpu } => (calls, cpu),
            _ => (false, false),
        };
        ProofBody {
            program: proof.program.clone(),
            changes: proof.changes.iter().map(summary::change).collect(),
            outcome,
            calls_fell,
            cpu_fell,
            reason: reason.cloned(),
            backend: proof.backend.to_string(),
            calls_before: proof.calls.map(|(before, _)| before.into()),
            calls_after: proof.calls.map(|(_, after)| after.into()),
            rows: proof.rows.iter().map(ChangedRow::from).collect(),
            predictions: proof.predictions.iter().map(ProofPrediction::from).collect(),
            pairs: proof.pairs as u64,
            early: proof.early,
            failure: proof.failure.clone(),
            peak_floor_kib: proof.peak_floor_kib,
            measures: proof.measures.iter().map(ProofMeasure::from).collect(),
            warnings: proof.warnings.clone(),
        }
    }
}

impl From<Counted> for CountRange {
    fn from(Counted { least, most }: Counted) -> CountRange {
        CountRange { least, most }
    }
}

impl From<&RowChange> for ChangedRow {
    fn from(row: &RowChange) -> ChangedRow {
        let RowChange { call, path, outcome, before, after } = row.clone();
        ChangedRow { call, path, outcome, before, after }
    }
}

impl From<&Prediction> for ProofPrediction {
    fn from(from: &Prediction) -> ProofPrediction {
        ProofPrediction {
            rule: from.rule.to_string(),
            predicted: from.predicted,
            went: from.went,
            kernel_us: from.kernel_ns.map(Micros),
            user_us: from.user_ns.map(Micros),
        }
    }
}

impl From<&Measure> for ProofMeasure {
    fn from(from: &Measure) -> ProofMeasure {
        ProofMeasure {
            quantity: from.quantity.into(),
            before: from.before,
            after: from.after,
            difference: from.difference,
            low: from.interval.0,
            high: from.interval.1,
        }
    }
}

impl ProofBody {
    /// Leaves out the quantities that this version does not know.
    pub(crate) fn keep_known(&mut self) {
        self.measures.retain(|measure| measure.quantity != ProofQuantity::Other);
    }

    /// Whether anything was proven.
    pub(crate) fn holds(&self) -> bool {
        self.outcome == ProofOutcome::Proven
    }

    /// System calls before and after, if they were counted in both arms.
    pub(crate) fn calls(&self) -> Option<(CountRange, CountRange)> {
        self.calls_before.zip(self.calls_after)
    }

    /// How many calls went, and of how many; negative if there were more. `None` if they were not
    /// counted in both arms.
    pub(crate) fn gone(&self) -> Option<(i64, u64)> {
        let (before, after) = self.calls()?;
        Some((before.least as i64 - after.least as i64, before.least))
    }

    /// Sum of the calls that rules predicted would go; `None` if no rule knows this change.
    pub(crate) fn predicted(&self) -> Option<u64> {
        self.predictions.iter().map(|prediction| prediction.predicted).reduce(|a, b| a + b)
    }
}

impl ProofMeasure {
    /// The whole interval lies below zero: less is used, and chance does not explain it.
    pub(crate) fn fell(&self) -> bool {
        self.high < 0.0
    }

    /// The whole interval lies above zero.
    pub(crate) fn rose(&self) -> bool {
        self.low > 0.0
    }
}
