//! A checked budget for other tools.

use crate::checked::{cause, environment, remarks, remedy};
use crate::json::{print, schema_of};
use crate::summary;
use crate::{Check, Style};
use needless_rules::{Cause, CauseKind, Measured};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The schema that checked budgets name in their field `schema`. Fields are only added under one number.
pub const CHECK_SCHEMA: &str = "needless.check/1";

pub(crate) fn write(
    out: &mut dyn Write,
    check: &Check<'_>,
    version: &str,
    _: Style,
) -> io::Result<()> {
    let document = CheckDocument {
        schema: CHECK_SCHEMA.to_owned(),
        needless_version: version.to_owned(),
        budget: check.budget.name.clone(),
        file: check.budget.file.clone(),
        program: check.program.to_owned(),
        backend: check.profile.backend.to_string(),
        runs: check.runs as u64,
        within: check.holds(),
        counts: check.measured.iter().map(CheckCount::from).collect(),
        causes: check.causes.iter().map(|one| CheckCause::of(check, one)).collect(),
        environment: environment(check),
        remarks: remarks(check),
    };
    print(out, &document)
}

/// The JSON schema of a checked budget, with a newline at its end.
pub fn check_schema() -> String {
    schema_of::<CheckDocument>()
}

/// What several runs of a command did, compared with its budget.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.check/1")]
pub(crate) struct CheckDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = CHECK_SCHEMA))]
    schema: String,
    /// Version of needless that wrote it.
    needless_version: String,
    /// The budget's name.
    budget: String,
    /// The file that it is in.
    file: String,
    /// The program as given, without its arguments.
    program: String,
    /// How calls were counted.
    backend: String,
    /// How many runs were counted.
    runs: u64,
    /// Whether nothing is over the budget.
    within: bool,
    /// Every count.
    counts: Vec<CheckCount>,
    /// Why there is more: first findings and what is new, most calls first. Empty where nothing is over the budget.
    causes: Vec<CheckCause>,
    /// What of the environment changed, in sentences; names of variables only.
    environment: Vec<String>,
    /// Counts that differed between the runs or fell, and what this check cannot show, in sentences.
    remarks: Vec<String>,
}

/// A count.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Count")]
struct CheckCount {
    /// The key of the limit in needless.toml: `calls`, `path-calls`, `failed`, `needless`, `processes`, `cpu-ms`,
    /// `call.NAME`, `rule.NAME`.
    key: String,
    /// The least of the runs.
    lowest: u64,
    /// The most of the runs.
    highest: u64,
    /// The limit; `null`: there is none.
    limit: Option<u64>,
    /// What is allowed, with what is chance.
    allowed: Option<u64>,
    /// Whether every run did more.
    over: bool,
}

/// Something that explains more calls.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cause")]
struct CheckCause {
    /// How many more calls.
    more: u64,
    /// The rule that finds them, if one does.
    rule: Option<String>,
    /// The file, or the directory with a slash at its end.
    place: Option<String>,
    /// Whether nothing was asked about it when the budget was written.
    new: bool,
    /// The variable that lists the directory.
    listed_in: Option<String>,
    /// What it is, in words.
    text: String,
    /// What to change, in words.
    remedy: Option<String>,
}

impl From<&Measured> for CheckCount {
    fn from(one: &Measured) -> CheckCount {
        CheckCount {
            key: one.counted.to_string(),
            lowest: one.lowest,
            highest: one.highest,
            limit: one.limit.map(|limit| limit.most),
            allowed: one.allowed(),
            over: one.is_over(),
        }
    }
}

impl CheckCause {
    fn of(check: &Check<'_>, from: &Cause) -> CheckCause {
        let finding = from.kind.finding(check.verdict);
        let (place, new, listed_in) = match &from.kind {
            CauseKind::Calls { place, new, listed_in, .. } => {
                (Some(place.clone()).filter(|place| !place.is_empty()), *new, listed_in.clone())
            }
            CauseKind::Finding(_) => (None, false, None),
        };
        CheckCause {
            more: from.more,
            rule: finding.map(|finding| finding.rule.to_string()),
            place,
            new,
            listed_in,
            text: cause(check, from),
            remedy: remedy(check, from).map(|remedy| summary::change(&remedy.change)),
        }
    }
}
