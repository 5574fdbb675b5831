//! A comparison for other tools.

use crate::json::{nanoseconds, print, schema_of, seconds};
use crate::proof::json::ChangedRow;
use crate::{Difference, Style};
use needless_model::{Backend, Compared, RowChange, Snapshot, changed_rows, compare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The schema that comparisons name in their field `schema`. Fields are only added under one number.
pub const DIFF_SCHEMA: &str = "needless.diff/1";

pub(crate) fn write(
    out: &mut dyn Write,
    of: &Difference<'_>,
    version: &str,
    _: Style,
) -> io::Result<()> {
    let document = DiffDocument {
        schema: DIFF_SCHEMA.to_owned(),
        needless_version: version.to_owned(),
        before: of.before.into(),
        after: of.after.into(),
        proven: of.service.then(|| of.proven()),
        rates: compare(of.before, of.after).iter().map(DiffRate::from).collect(),
        rows: changed_rows(of.before, of.after).iter().map(ChangedRow::from).collect(),
    };
    print(out, &document)
}

/// The JSON schema of a comparison, with a newline at its end.
pub fn diff_schema() -> String {
    schema_of::<DiffDocument>()
}

/// Two captures compared.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.diff/1")]
pub(crate) struct DiffDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = DIFF_SCHEMA))]
    schema: String,
    /// Version of needless that wrote it.
    pub(crate) needless_version: String,
    /// The one.
    before: DiffSide,
    /// The other.
    after: DiffSide,
    /// For windows over a service: whether the calls fell enough. `null` for others.
    proven: Option<bool>,
    /// Calls per second, per second of CPU and per request, where both know these.
    rates: Vec<DiffRate>,
    /// The rows whose counts differ, largest difference first: those that came have `before` 0,
    /// those that went `after` 0.
    rows: Vec<ChangedRow>,
}

/// One of the two.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Side")]
struct DiffSide {
    /// What was observed.
    name: String,
    /// How.
    backend: String,
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
    /// What was not seen, by name; one that is absent is 0.
    #[serde(default)]
    #[schemars(!default)]
    lost: BTreeMap<String, u64>,
}

/// Calls by one measure.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Rate")]
struct DiffRate {
    /// `second`, `second of CPU` or `request`.
    per: String,
    /// Calls before.
    before: f64,
    /// Calls after.
    after: f64,
}

impl DiffDocument {
    /// The two captures, with the rows that differ, and whether they are windows over a service.
    pub(crate) fn into_captures(self) -> (Snapshot, Snapshot, bool) {
        let (mut before, mut after) = (Snapshot::from(self.before), Snapshot::from(self.after));
        for row in self.rows.into_iter().map(RowChange::from) {
            let key = (row.call, row.path, row.outcome);
            for (side, count) in [(&mut before, row.before), (&mut after, row.after)] {
                if count > 0 {
                    side.rows.insert(key.clone(), count);
                }
            }
        }
        (before, after, self.proven.is_some())
    }
}

impl From<DiffSide> for Snapshot {
    fn from(from: DiffSide) -> Snapshot {
        Snapshot {
            name: from.name,
            backend: Backend::parse(&from.backend),
            complete: from.complete,
            all_rows: from.all_rows,
            calls: from.calls,
            window_ns: from.window_s.map(nanoseconds),
            cpu_ns: from.cpu_s.map(nanoseconds),
            requests: from.requests,
            lost: from.lost,
            ..Snapshot::default()
        }
    }
}

impl From<&Snapshot> for DiffSide {
    fn from(of: &Snapshot) -> DiffSide {
        DiffSide {
            name: of.name.clone(),
            backend: of.backend.to_string(),
            complete: of.complete,
            all_rows: of.all_rows,
            calls: of.calls,
            window_s: of.window_ns.map(seconds),
            cpu_s: of.cpu_ns.map(seconds),
            requests: of.requests,
            lost: of.lost.iter().filter(|(_, n)| **n > 0).map(|(k, n)| (k.clone(), *n)).collect(),
        }
    }
}

impl From<&Compared> for DiffRate {
    fn from(from: &Compared) -> DiffRate {
        DiffRate { per: from.per.to_owned(), before: from.before, after: from.after }
    }
}
