//! A checked budget for other tools.

use crate::Style;
use crate::json::{print, schema_of};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The schema that checked budgets name in their field `schema`. Fields are only added under one number.
pub const CHECK_SCHEMA: &str = "needless.check/1";

pub(crate) fn write(out: &mut dyn Write, check: &CheckDocument, _: Style) -> io::Result<()> {
    print(out, check)
}

/// The JSON schema of a checked budget, with a newline at its end.
pub fn check_schema() -> String {
    schema_of::<CheckDocument>()
}

/// What several runs of a command did, compared with its budget.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.check/1")]
pub struct CheckDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = CHECK_SCHEMA))]
    pub(crate) schema: String,
    /// Version of needless that wrote it.
    pub(crate) needless_version: String,
    /// The budget's name.
    pub(crate) budget: String,
    /// The file that it is in.
    pub(crate) file: String,
    /// The line where it begins, from 1.
    pub(crate) line: u64,
    /// The program as given, without its arguments.
    pub(crate) program: String,
    /// How calls were counted.
    pub(crate) backend: String,
    /// How many runs were counted.
    pub(crate) runs: u64,
    /// Whether nothing is over the budget.
    pub(crate) within: bool,
    /// Every count.
    pub(crate) counts: Vec<CheckCount>,
    /// Why there is more: first findings and what is new, most calls first. Empty where nothing is over the budget.
    pub(crate) causes: Vec<CheckCause>,
    /// What of the environment changed, in sentences; names of variables only.
    pub(crate) environment: Vec<String>,
    /// Counts that differed between the runs or fell, and what this check cannot show, in sentences.
    pub(crate) remarks: Vec<String>,
}

/// A count.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Count")]
pub(crate) struct CheckCount {
    /// The key of the limit in needless.toml: `calls`, `path-calls`, `failed`, `needless`, `processes`, `cpu-ms`,
    /// `call.NAME`, `rule.NAME`.
    pub(crate) key: String,
    /// The least of the runs.
    pub(crate) lowest: u64,
    /// The most of the runs.
    pub(crate) highest: u64,
    /// The limit; `null`: there is none.
    pub(crate) limit: Option<u64>,
    /// The line of the limit, from 1.
    pub(crate) line: Option<u64>,
    /// What is allowed, with what is chance.
    pub(crate) allowed: Option<u64>,
    /// Whether every run did more.
    pub(crate) over: bool,
}

/// Something that explains more calls.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cause")]
pub(crate) struct CheckCause {
    /// How many more calls.
    pub(crate) more: u64,
    /// The rule that finds them, if one does.
    pub(crate) rule: Option<String>,
    /// The file, or the directory with a slash at its end.
    pub(crate) place: Option<String>,
    /// Whether nothing was asked about it when the budget was written.
    pub(crate) new: bool,
    /// The variable that lists the directory.
    pub(crate) listed_in: Option<String>,
    /// The programs that make more of these calls, if they name no path; most calls first, empty where not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) programs: Vec<String>,
    /// What it is, in words.
    pub(crate) text: String,
    /// What to change, in words.
    pub(crate) remedy: Option<String>,
    /// The finding, if a rule finds them.
    pub(crate) finding: Option<CheckFinding>,
}

/// A finding that explains more calls.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Finding")]
pub(crate) struct CheckFinding {
    /// The processes, in words.
    pub(crate) who: String,
    /// What was found, in words.
    pub(crate) headline: String,
    /// The file that sets the variable which the remedy names, or should set it; where that was looked up.
    pub(crate) file: Option<String>,
    /// The line there, from 1.
    pub(crate) line: Option<u64>,
    /// What a person writes there, into which no tool writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_hand: Option<String>,
}
