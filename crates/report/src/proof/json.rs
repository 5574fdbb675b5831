//! A proof for other tools.

use crate::json::{print, schema_of};
use needless_model::{Outcome, Proof, Quantity, RowChange};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// The schema that proofs name in their field `schema`. Fields are only added under one number.
pub const PROOF_SCHEMA: &str = "needless.proof/1";

pub(super) fn write(out: &mut dyn Write, proof: &Proof, version: &str) -> io::Result<()> {
    let document =
        Document { schema: PROOF_SCHEMA, needless_version: version, proof: proof.into() };
    print(out, &document)
}

/// The JSON schema of a proof, with a newline at its end.
pub fn proof_schema() -> String {
    schema_of::<Document<'_>>()
}

/// A change measured: the same command with and without it.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "needless.proof/1")]
struct Document<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = PROOF_SCHEMA))]
    schema: &'static str,
    /// Version of needless that wrote it.
    needless_version: &'a str,
    /// The proof.
    #[serde(flatten)]
    proof: ProofOut<'a>,
}

/// A change measured.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Proof")]
pub(crate) struct ProofOut<'a> {
    /// The program as given, without its arguments.
    program: &'a str,
    /// What was changed, as one would type it.
    changes: Vec<String>,
    /// What came of it.
    outcome: OutcomeOut,
    /// Whether fewer system calls were made.
    calls_fell: bool,
    /// Whether CPU time fell, beyond chance.
    cpu_fell: bool,
    /// Why nothing is proven, where nothing is.
    reason: Option<&'a str>,
    /// How calls were counted.
    backend: &'a str,
    /// System calls of a run without the change; `null` if they were not counted in both arms.
    calls_before: Option<Range>,
    /// System calls of a run with the change.
    calls_after: Option<Range>,
    /// The questions whose count changed most.
    rows: Vec<RowOut<'a>>,
    /// What rules said would go; empty where none knows this change.
    predictions: Vec<PredictionOut>,
    /// Pairs of runs that were measured.
    pairs: u64,
    /// Whether it ended before the last pair: somebody asked for the report, or something failed.
    early: bool,
    /// What failed among the pairs, if anything did; the figures are of the pairs before.
    failure: Option<&'a str>,
    /// What no peak memory shows less than, KiB: that of a process before it becomes the command.
    peak_floor_kib: u64,
    /// What was measured in the pairs.
    measures: Vec<MeasureOut>,
    /// Sentences about noise and other doubts.
    warnings: &'a [String],
}

/// What came of a proof.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Outcome")]
#[serde(rename_all = "snake_case")]
enum OutcomeOut {
    /// Calls or CPU time fell, and CPU time did not rise.
    Proven,
    /// Not that.
    NotProven,
    /// Exit status or output were not the same: nothing is proven.
    Differs,
}

/// Counts of the same arm.
#[derive(Serialize, JsonSchema)]
struct Range {
    /// The least.
    least: u64,
    /// The most.
    most: u64,
}

/// One question, before and after.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Row")]
pub(crate) struct RowOut<'a> {
    /// The system call.
    call: &'a str,
    /// Its path, empty where it has none.
    path: &'a str,
    /// `ok`, the error's name, or empty where it was not seen.
    outcome: &'a str,
    /// How often before.
    before: u64,
    /// How often after.
    after: u64,
}

impl<'a> From<&'a RowChange> for RowOut<'a> {
    fn from(row: &'a RowChange) -> RowOut<'a> {
        let RowChange { call, path, outcome, before, after } = row;
        RowOut { call, path, outcome, before: *before, after: *after }
    }
}

/// What a rule said would go.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Prediction")]
struct PredictionOut {
    /// Name of the rule.
    rule: &'static str,
    /// Calls that it finds needless without the change.
    predicted: u64,
    /// By how much the calls that its finding is about fell; others may have gone besides.
    went: i64,
    /// Kernel time of the predicted calls in microseconds: the cost of such a call on this host,
    /// measured in a short loop, times their number.
    kernel_us: Option<f64>,
}

/// One quantity in both arms.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Measure")]
struct MeasureOut {
    /// What was measured.
    quantity: QuantityOut,
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

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Quantity")]
#[serde(rename_all = "snake_case")]
enum QuantityOut {
    /// CPU time, user and system.
    CpuS,
    /// CPU time in the kernel.
    SystemS,
    /// CPU time in user mode.
    UserS,
    /// Time of the clock.
    WallS,
    /// Page faults.
    Faults,
    /// Context switches.
    Switches,
    /// Peak memory, KiB; never less than what needless itself had resident.
    PeakKib,
}

impl<'a> From<&'a Proof> for ProofOut<'a> {
    fn from(proof: &'a Proof) -> ProofOut<'a> {
        let (outcome, reason) = match &proof.outcome {
            Outcome::Proven { .. } => (OutcomeOut::Proven, None),
            Outcome::NotProven(why) => (OutcomeOut::NotProven, Some(why.as_str())),
            Outcome::Differs(how) => (OutcomeOut::Differs, Some(how.as_str())),
        };
        let range =
            |counted: needless_model::Counted| Range { least: counted.least, most: counted.most };
        let fell = match proof.outcome {
            Outcome::Proven { calls, cpu } => (calls, cpu),
            _ => (false, false),
        };
        ProofOut {
            program: &proof.program,
            changes: proof.changes.iter().map(crate::tell::change).collect(),
            outcome,
            calls_fell: fell.0,
            cpu_fell: fell.1,
            reason,
            backend: &proof.backend,
            calls_before: proof.calls.map(|(before, _)| range(before)),
            calls_after: proof.calls.map(|(_, after)| range(after)),
            rows: proof.rows.iter().map(RowOut::from).collect(),
            predictions: proof
                .predictions
                .iter()
                .map(|p| PredictionOut {
                    rule: p.rule,
                    predicted: p.predicted,
                    went: p.went,
                    kernel_us: p.kernel_ns.map(|ns| ns as f64 / 1e3),
                })
                .collect(),
            pairs: proof.pairs as u64,
            early: proof.early,
            failure: proof.failure.as_deref(),
            peak_floor_kib: proof.peak_floor_kib,
            measures: proof.measures.iter().map(measure).collect(),
            warnings: &proof.warnings,
        }
    }
}

fn measure(from: &needless_model::Measure) -> MeasureOut {
    MeasureOut {
        quantity: match from.quantity {
            Quantity::Cpu => QuantityOut::CpuS,
            Quantity::System => QuantityOut::SystemS,
            Quantity::User => QuantityOut::UserS,
            Quantity::Wall => QuantityOut::WallS,
            Quantity::Faults => QuantityOut::Faults,
            Quantity::Switches => QuantityOut::Switches,
            Quantity::Peak => QuantityOut::PeakKib,
        },
        before: from.before,
        after: from.after,
        difference: from.difference,
        low: from.interval.0,
        high: from.interval.1,
    }
}
