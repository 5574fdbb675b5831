//! A comparison for other tools.

use crate::json::{Seconds, print, schema_of};
use crate::proof::json::ChangedRow;
use crate::{Difference, Style};
use needless_model::{Compared, Snapshot, changed_rows, compare};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The schema that comparisons name in their field `schema`. Fields are only added under one number.
pub const DIFF_SCHEMA: &str = "needless.diff/1";

pub(crate) fn write(out: &mut dyn Write, diff: &DiffDocument, _: Style) -> io::Result<()> {
    print(out, diff)
}

/// The JSON schema of a comparison, with a newline at its end.
pub fn diff_schema() -> String {
    schema_of::<DiffDocument>()
}

/// Two captures compared.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.diff/1")]
pub struct DiffDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = DIFF_SCHEMA))]
    pub(crate) schema: String,
    /// Version of needless that wrote it.
    pub(crate) needless_version: String,
    /// The one.
    pub(crate) before: DiffSide,
    /// The other.
    pub(crate) after: DiffSide,
    /// For windows over a service: whether the calls fell enough. `null` for others.
    pub(crate) proven: Option<bool>,
    /// Calls per second, per second of CPU and per request, where both know these.
    pub(crate) rates: Vec<DiffRate>,
    /// The rows whose counts differ, largest difference first: those that came have `before` 0,
    /// those that went `after` 0.
    pub(crate) rows: Vec<ChangedRow>,
}

/// One of the two.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Side")]
pub(crate) struct DiffSide {
    /// What was observed.
    pub(crate) name: String,
    /// How.
    pub(crate) backend: String,
    /// Whether every call was counted.
    pub(crate) complete: bool,
    /// Whether all rows are known, and not only those that are evidence of a finding.
    pub(crate) all_rows: bool,
    /// Calls counted.
    pub(crate) calls: u64,
    /// Length of the observation in seconds, where known.
    pub(crate) window_s: Option<Seconds>,
    /// CPU time in seconds, where known.
    pub(crate) cpu_s: Option<Seconds>,
    /// Requests, where counted.
    pub(crate) requests: Option<f64>,
    /// What was not seen, by name; one that is absent is 0.
    #[serde(default)]
    #[schemars(!default)]
    pub(crate) lost: BTreeMap<String, u64>,
}

/// Calls by one measure.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Rate")]
pub(crate) struct DiffRate {
    /// `second`, `second of CPU` or `request`.
    pub(crate) per: String,
    /// Calls before.
    pub(crate) before: f64,
    /// Calls after.
    pub(crate) after: f64,
}

impl DiffDocument {
    /// Of a comparison that was made by needless of this version.
    pub fn of(difference: &Difference<'_>, version: &str) -> DiffDocument {
        let Difference { before, after, service } = *difference;
        DiffDocument {
            schema: DIFF_SCHEMA.to_owned(),
            needless_version: version.to_owned(),
            before: before.into(),
            after: after.into(),
            proven: service.then(|| difference.proven()),
            rates: compare(before, after).iter().map(DiffRate::from).collect(),
            rows: changed_rows(before, after).iter().map(ChangedRow::from).collect(),
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
            window_s: of.window_ns.map(Seconds),
            cpu_s: of.cpu_ns.map(Seconds),
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
