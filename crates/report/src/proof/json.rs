//! A proof for other tools.

use crate::json::{micros, mirror, of_micros, print, schema_of};
use crate::saved::rule_name;
use crate::{Style, summary};
use needless_model::{
    Backend, Change, Counted, Measure, Outcome, Prediction, Proof, Quantity, RowChange,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The schema that proofs name in their field `schema`. Fields are only added under one number.
pub const PROOF_SCHEMA: &str = "needless.proof/1";

pub(crate) fn write(out: &mut dyn Write, proof: &Proof, version: &str, _: Style) -> io::Result<()> {
    let document = ProofDocument {
        schema: PROOF_SCHEMA.to_owned(),
        needless_version: version.to_owned(),
        proof: proof.into(),
    };
    print(out, &document)
}

/// The JSON schema of a proof, with a newline at its end.
pub fn proof_schema() -> String {
    schema_of::<ProofDocument>()
}

/// A change measured: the same command with and without it.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.proof/1")]
pub(crate) struct ProofDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = PROOF_SCHEMA))]
    schema: String,
    /// Version of needless that wrote it.
    pub(crate) needless_version: String,
    /// The proof.
    #[serde(flatten)]
    pub(crate) proof: ProofBody,
}

/// A change measured.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Proof")]
pub(crate) struct ProofBody {
    /// The program as given, without its arguments.
    program: String,
    /// What was changed, as one would type it.
    changes: Vec<String>,
    /// What came of it.
    outcome: ProofOutcome,
    /// Whether fewer system calls were made.
    calls_fell: bool,
    /// Whether CPU time fell, beyond chance.
    cpu_fell: bool,
    /// Why nothing is proven, where nothing is.
    reason: Option<String>,
    /// How calls were counted.
    backend: String,
    /// System calls of a run without the change; `null` if they were not counted in both arms.
    calls_before: Option<CountRange>,
    /// System calls of a run with the change.
    calls_after: Option<CountRange>,
    /// The questions whose count changed most.
    rows: Vec<ChangedRow>,
    /// What rules said would go; empty where none knows this change.
    predictions: Vec<ProofPrediction>,
    /// Pairs of runs that were measured.
    pairs: u64,
    /// Whether it ended before the last pair: somebody asked for the report, or something failed.
    early: bool,
    /// What failed among the pairs, if anything did; the figures are of the pairs before.
    failure: Option<String>,
    /// What no peak memory shows less than, KiB: that of a process before it becomes the command.
    #[serde(default)]
    peak_floor_kib: u64,
    /// What was measured in the pairs.
    measures: Vec<ProofMeasure>,
    /// Sentences about noise and other doubts.
    warnings: Vec<String>,
}

/// What came of a proof.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Outcome")]
#[serde(rename_all = "snake_case")]
enum ProofOutcome {
    /// Calls or CPU time fell, and CPU time did not rise.
    Proven,
    /// Not that.
    NotProven,
    /// Exit status or output were not the same: nothing is proven.
    Differs,
}

/// Counts of the same arm.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Range")]
struct CountRange {
    /// The least.
    least: u64,
    /// The most.
    most: u64,
}

/// One question, before and after.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Row")]
pub(crate) struct ChangedRow {
    /// The system call.
    call: String,
    /// Its path, empty where it has none.
    path: String,
    /// `ok`, the error's name, or empty where it was not seen.
    outcome: String,
    /// How often before.
    before: u64,
    /// How often after.
    after: u64,
}

/// What a rule said would go.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Prediction")]
struct ProofPrediction {
    /// Name of the rule.
    rule: String,
    /// Calls that it finds needless without the change.
    predicted: u64,
    /// By how much the calls that its finding is about fell; others may have gone besides.
    went: i64,
    /// Kernel time of the predicted calls in microseconds: the cost of such a call on this host,
    /// measured in a short loop, times their number.
    kernel_us: Option<f64>,
    /// What the program itself works for them, microseconds: an estimate by its runtime. Absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_us: Option<f64>,
}

/// One quantity in both arms.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Measure")]
struct ProofMeasure {
    /// What was measured.
    quantity: ProofQuantity,
    /// Median without the change.
    before: f64,
    /// Median with it.
    after: f64,
    /// Median of the differences in the pairs, after less before.
    difference: f64,
    /// Lower end of the 95 % interval of `difference`.
    low: f64,
    /// Upper end.
    high: f64,
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
            kernel_us: from.kernel_ns.map(micros),
            user_us: from.user_ns.map(micros),
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

impl From<ProofBody> for Proof {
    fn from(from: ProofBody) -> Proof {
        let why = from.reason.unwrap_or_default();
        let calls = from.calls_before.zip(from.calls_after);
        Proof {
            program: from.program,
            // The text is the change as it is shown.
            changes: from.changes.into_iter().map(Change::Manual).collect(),
            outcome: match from.outcome {
                ProofOutcome::Proven => {
                    Outcome::Proven { calls: from.calls_fell, cpu: from.cpu_fell }
                }
                ProofOutcome::NotProven => Outcome::NotProven(why),
                ProofOutcome::Differs => Outcome::Differs(why),
            },
            backend: Backend::parse(&from.backend),
            calls: calls.map(|(before, after)| (before.into(), after.into())),
            rows: from.rows.into_iter().map(RowChange::from).collect(),
            predictions: from.predictions.into_iter().map(Prediction::from).collect(),
            pairs: usize::try_from(from.pairs).unwrap_or(usize::MAX),
            measures: from.measures.iter().filter_map(measure).collect(),
            peak_floor_kib: from.peak_floor_kib,
            early: from.early,
            failure: from.failure,
            warnings: from.warnings,
        }
    }
}

impl From<CountRange> for Counted {
    fn from(CountRange { least, most }: CountRange) -> Counted {
        Counted { least, most }
    }
}

impl From<ChangedRow> for RowChange {
    fn from(ChangedRow { call, path, outcome, before, after }: ChangedRow) -> RowChange {
        RowChange { call, path, outcome, before, after }
    }
}

impl From<ProofPrediction> for Prediction {
    fn from(from: ProofPrediction) -> Prediction {
        Prediction {
            rule: rule_name(&from.rule),
            predicted: from.predicted,
            went: from.went,
            kernel_ns: from.kernel_us.map(of_micros),
            user_ns: from.user_us.map(of_micros),
        }
    }
}

/// `None` for a quantity that this version does not know.
fn measure(from: &ProofMeasure) -> Option<Measure> {
    let quantity: Option<Quantity> = (&from.quantity).into();
    Some(Measure {
        quantity: quantity?,
        before: from.before,
        after: from.after,
        difference: from.difference,
        interval: (from.low, from.high),
    })
}
