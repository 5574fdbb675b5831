//! Every row that was counted, to be kept and compared with another: for `needless diff` and
//! `needless prove --before`.

use crate::json::{print, schema_of};
use crate::{Report, Source, Style};
use needless_model::Snapshot;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The schema that saved profiles name in their field `schema`. Fields are only added under one number.
pub const PROFILE_SCHEMA: &str = "needless.profile/1";

pub(crate) const NAME: &str = "profile";
pub(crate) const ENDING: Option<&str> = None;

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let name = match &report.source {
        Source::Run(name) | Source::Log(name) | Source::Attach(name) => name.as_str(),
        Source::Host => "host",
    };
    write_snapshot(out, &Snapshot::of(report.profile, name), report.version)
}

/// Writes `snapshot` to `out`, with a newline at its end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_snapshot(out: &mut dyn Write, snapshot: &Snapshot, version: &str) -> io::Result<()> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let document = Document {
        schema: PROFILE_SCHEMA,
        needless_version: version,
        name: &snapshot.name,
        backend: &snapshot.backend,
        complete: snapshot.complete,
        window_s: snapshot.window_ns.map(seconds),
        cpu_s: snapshot.cpu_ns.map(seconds),
        requests: snapshot.requests,
        calls: snapshot.calls,
        lost: snapshot.lost.iter().filter(|(_, n)| **n > 0).map(|(k, n)| (k.as_str(), *n)).collect(),
        rows: snapshot
            .rows
            .iter()
            .map(|((call, path, outcome), count)| Row { call, path, outcome, count: *count })
            .collect(),
    };
    print(out, &document)
}

/// The JSON schema of a saved profile, with a newline at its end.
pub fn profile_schema() -> String {
    schema_of::<Document<'_>>()
}

/// What was asked of the kernel in a run or a window, by call, path and outcome.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "needless.profile/1")]
struct Document<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = PROFILE_SCHEMA))]
    schema: &'static str,
    /// Version of needless that wrote it.
    needless_version: &'a str,
    /// What was observed.
    name: &'a str,
    /// How.
    backend: &'a str,
    /// Whether every call was counted.
    complete: bool,
    /// Length of the observation in seconds, where known.
    window_s: Option<f64>,
    /// CPU time of the observed processes in seconds, where known and not distorted by a tracer.
    cpu_s: Option<f64>,
    /// Requests served meanwhile, where somebody counted them.
    requests: Option<f64>,
    /// Calls counted.
    calls: u64,
    /// What was not seen, by name; one that is absent is 0.
    lost: BTreeMap<&'a str, u64>,
    /// Every question.
    rows: Vec<Row<'a>>,
}

/// One question.
#[derive(Serialize, JsonSchema)]
struct Row<'a> {
    /// The system call.
    call: &'a str,
    /// Its path, empty where it has none.
    path: &'a str,
    /// `ok`, the error's name, or empty where it was not seen.
    outcome: &'a str,
    /// How often.
    count: u64,
}
