//! Every row that was counted, to be kept and compared with another: for `needless diff` and
//! `needless prove --before`.

use crate::json::{Seconds, print, schema_of};
use crate::saved::rows;
use crate::{Report, Style};
use needless_model::{Backend, Snapshot};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// The schema that saved profiles name in their field `schema`. Fields are only added under one number.
pub const PROFILE_SCHEMA: &str = "needless.profile/1";

pub(crate) fn write(out: &mut dyn Write, report: &Report<'_>, _: Style) -> io::Result<()> {
    let Some((profile, _)) = report.rows else {
        return Err(io::Error::other(
            "a report keeps sums, and a profile is every row: choose --format profile when you observe",
        ));
    };
    let document = report.document;
    write_snapshot(out, &Snapshot::of(profile, document.name()), &document.needless_version)
}

/// Writes `snapshot` to `out`, with a newline at its end.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_snapshot(out: &mut dyn Write, snapshot: &Snapshot, version: &str) -> io::Result<()> {
    print(out, &ProfileDocument::new(snapshot, version))
}

/// The JSON schema of a saved profile, with a newline at its end.
pub fn profile_schema() -> String {
    schema_of::<ProfileDocument>()
}

/// What was asked of the kernel in a run or a window, by call, path and outcome.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.profile/1")]
pub(crate) struct ProfileDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = PROFILE_SCHEMA))]
    schema: String,
    /// Version of needless that wrote it.
    #[serde(default)]
    pub(crate) needless_version: String,
    /// What was observed.
    name: String,
    /// How.
    backend: String,
    /// Whether every call was counted.
    complete: bool,
    /// Length of the observation in seconds, where known.
    window_s: Option<Seconds>,
    /// CPU time of the observed processes in seconds, where known and not distorted by a tracer.
    cpu_s: Option<Seconds>,
    /// Requests served meanwhile, where somebody counted them.
    requests: Option<f64>,
    /// Calls counted.
    calls: u64,
    /// What was not seen, by name; one that is absent is 0.
    lost: BTreeMap<String, u64>,
    /// Names of the variables that the command had, never their values; in the files of budgets only.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    variables: BTreeSet<String>,
    /// Which program makes calls without a path; in the files of budgets only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    callers: Vec<ProfileCaller>,
    /// Every question.
    rows: Vec<ProfileRow>,
}

/// Calls of a program that name no path.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Caller")]
struct ProfileCaller {
    /// The program, as reports name it.
    program: String,
    /// The system call.
    call: String,
    /// How often.
    count: u64,
}

/// One question.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Row")]
struct ProfileRow {
    /// The system call.
    call: String,
    /// Its path, empty where it has none.
    path: String,
    /// `ok`, the error's name, or empty where it was not seen.
    outcome: String,
    /// How often.
    count: u64,
}

impl ProfileDocument {
    fn new(from: &Snapshot, version: &str) -> ProfileDocument {
        let lost = from.lost.iter().filter(|(_, n)| **n > 0);
        ProfileDocument {
            schema: PROFILE_SCHEMA.to_owned(),
            needless_version: version.to_owned(),
            name: from.name.clone(),
            backend: from.backend.to_string(),
            complete: from.complete,
            window_s: from.window_ns.map(Seconds),
            cpu_s: from.cpu_ns.map(Seconds),
            requests: from.requests,
            calls: from.calls,
            lost: lost.map(|(name, n)| (name.clone(), *n)).collect(),
            variables: from.variables.clone(),
            callers: from.callers.iter().map(ProfileCaller::from).collect(),
            rows: from.rows.iter().map(ProfileRow::from).collect(),
        }
    }
}

impl From<(&(String, String, String), &u64)> for ProfileRow {
    fn from((key, count): (&(String, String, String), &u64)) -> ProfileRow {
        let (call, path, outcome) = key.clone();
        ProfileRow { call, path, outcome, count: *count }
    }
}

impl From<(&(String, String), &u64)> for ProfileCaller {
    fn from((key, count): (&(String, String), &u64)) -> ProfileCaller {
        let (program, call) = key.clone();
        ProfileCaller { program, call, count: *count }
    }
}

impl From<ProfileDocument> for Snapshot {
    fn from(from: ProfileDocument) -> Snapshot {
        let all = from.rows.into_iter();
        let callers = from.callers.into_iter();
        Snapshot {
            name: from.name,
            backend: Backend::parse(&from.backend),
            complete: from.complete,
            all_rows: true,
            window_ns: from.window_s.map(|length| length.0),
            cpu_ns: from.cpu_s.map(|time| time.0),
            requests: from.requests,
            calls: from.calls,
            rows: rows(all.map(|row| ((row.call, row.path, row.outcome), row.count))),
            lost: from.lost,
            variables: from.variables,
            callers: callers.map(|one| ((one.program, one.call), one.count)).collect(),
        }
    }
}
