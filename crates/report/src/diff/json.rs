//! A comparison for other tools.

use super::Difference;
use crate::json::{print, schema_of};
use crate::proof::RowOut;
use needless_model::{Snapshot, changed_rows, compare};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// The schema that comparisons name in their field `schema`. Fields are only added under one number.
pub const DIFF_SCHEMA: &str = "needless.diff/1";

pub(super) fn write(out: &mut dyn Write, of: &Difference<'_>, version: &str) -> io::Result<()> {
    let rows = changed_rows(of.before, of.after);
    let rates = compare(of.before, of.after);
    let document = Document {
        schema: DIFF_SCHEMA,
        needless_version: version,
        before: side(of.before),
        after: side(of.after),
        proven: of.service.then(|| of.proven()),
        rates: rates
            .iter()
            .map(|rate| Rate { per: rate.per, before: rate.before, after: rate.after })
            .collect(),
        rows: rows.iter().map(RowOut::from).collect(),
    };
    print(out, &document)
}

/// The JSON schema of a comparison, with a newline at its end.
pub fn diff_schema() -> String {
    schema_of::<Document<'_>>()
}

/// Two captures compared.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "needless.diff/1")]
struct Document<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = DIFF_SCHEMA))]
    schema: &'static str,
    /// Version of needless that wrote it.
    needless_version: &'a str,
    /// The one.
    before: Side<'a>,
    /// The other.
    after: Side<'a>,
    /// For windows over a service: whether the calls fell enough. `null` for others.
    proven: Option<bool>,
    /// Calls per second, per second of CPU and per request, where both know these.
    rates: Vec<Rate>,
    /// The rows whose counts differ, largest difference first: those that came have `before` 0,
    /// those that went `after` 0.
    rows: Vec<RowOut<'a>>,
}

/// One of the two.
#[derive(Serialize, JsonSchema)]
struct Side<'a> {
    /// What was observed.
    name: &'a str,
    /// How.
    backend: &'a str,
    /// Whether every call was counted.
    complete: bool,
    /// Whether all rows are known, and not only those that are evidence of a finding.
    all_rows: bool,
    /// Calls counted.
    calls: u64,
    /// Length of the observation in seconds, where known.
    window_s: Option<f64>,
    /// CPU time in seconds, where known.
    cpu_s: Option<f64>,
    /// Requests, where counted.
    requests: Option<f64>,
}

/// Calls by one measure.
#[derive(Serialize, JsonSchema)]
struct Rate {
    /// `second`, `second of CPU` or `request`.
    per: &'static str,
    /// Calls before.
    before: f64,
    /// Calls after.
    after: f64,
}

fn side(of: &Snapshot) -> Side<'_> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    Side {
        name: &of.name,
        backend: &of.backend,
        complete: of.complete,
        all_rows: of.all_rows,
        calls: of.calls,
        window_s: of.window_ns.map(seconds),
        cpu_s: of.cpu_ns.map(seconds),
        requests: of.requests,
    }
}
