//! A story for other tools.

use crate::json::{print, schema_of};
use needless_model::{self as model, Provenance};
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// The schema that stories name in their field `schema`. Fields are only added under one number.
pub const ORIGIN_SCHEMA: &str = "needless.origin/1";

/// Writes a story as JSON; `version`: of needless.
///
/// # Errors
/// When `out` cannot be written to.
pub fn origin_json(out: &mut dyn Write, story: &Provenance, version: &str) -> io::Result<()> {
    let document = Document {
        schema: ORIGIN_SCHEMA,
        needless_version: version,
        variable: &story.variable,
        answer: &story.answer,
        or: &story.or,
        steps: story.steps.iter().map(step).collect(),
        files: story.mentions.iter().map(mention).collect(),
        belongs: story.belongs.iter().map(belongs).collect(),
        not_read: &story.unread,
    };
    print(out, &document)
}

/// The JSON schema of a story, with a newline at its end.
pub fn origin_schema() -> String {
    schema_of::<Document<'_>>()
}

/// Where a variable of a process comes from.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "needless.origin/1")]
struct Document<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = ORIGIN_SCHEMA))]
    schema: &'static str,
    /// Version of needless that wrote it.
    needless_version: &'a str,
    /// The variable; nothing is told of any other.
    variable: &'a str,
    /// The answer, one sentence for people.
    answer: &'a str,
    /// What would explain it as well, or belongs to it: none is known to be wrong.
    or: &'a [String],
    /// The processes, from the first ancestor to the one asked about; none for a unit that does not run.
    steps: Vec<StepOut<'a>>,
    /// The files that set or remove it, whether or not they reach the process.
    files: Vec<FileOut<'a>>,
    /// Where a change would be made, best first.
    belongs: Vec<BelongsOut<'a>>,
    /// What could not be read, and why; empty: nothing.
    not_read: &'a [String],
}

/// A process.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Step")]
struct StepOut<'a> {
    /// Its id, as needless sees it.
    pid: u32,
    /// Its executable, or its name where that cannot be read.
    program: &'a str,
    /// What it is, where that is known: "systemd", "cron", "a login shell" …
    role: Option<&'a str>,
    /// The variable at the process's last exec.
    initial: ValueOut<'a>,
    /// The variable now, in the program's own memory.
    live: ValueOut<'a>,
    /// What happened here, one sentence each.
    says: &'a [String],
}

/// A variable's value, as far as it could be read.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Value")]
#[serde(tag = "state", rename_all = "snake_case")]
enum ValueOut<'a> {
    /// It was set.
    Set {
        /// To this; a variable whose name sounds like a password's has "(value N, not shown)".
        value: &'a str,
    },
    /// It was not there.
    Unset,
    /// It could not be read.
    Unknown {
        /// Why not.
        why: &'a str,
    },
}

/// A file that sets or removes the variable.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "File")]
struct FileOut<'a> {
    /// Its path, below the process's root.
    file: &'a str,
    /// The line, from 1; `null` where the file as a whole is the setting.
    line: Option<u32>,
    /// The setting as it is understood: "TZ=UTC", "TZ removed".
    says: &'a str,
    /// Whether it reaches the process.
    reaches: ReachesOut,
    /// Why, why not, or on what it depends.
    why: &'a str,
}

/// Whether a file reaches the process.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Reaches")]
#[serde(rename_all = "snake_case")]
enum ReachesOut {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It depends.
    Perhaps,
}

/// Where a change would be made.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Belongs")]
struct BelongsOut<'a> {
    /// The place.
    place: &'a str,
    /// The file that would be written; `null` where that is not known.
    file: Option<&'a str>,
    /// Why there.
    why: &'a str,
    /// How sure: `fix` writes where it is high only.
    confidence: ConfidenceOut,
}

/// How sure a place is.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Confidence")]
#[serde(rename_all = "snake_case")]
enum ConfidenceOut {
    /// A guess.
    Low,
    /// By a rule about its ancestors.
    Medium,
    /// By what the process or its configuration says.
    High,
}

fn step(step: &model::Step) -> StepOut<'_> {
    let model::Step { pid, program, role, initial, live, says } = step;
    let (initial, live) = (value(initial), value(live));
    StepOut { pid: *pid, program, role: *role, initial, live, says }
}

fn value(value: &model::Value) -> ValueOut<'_> {
    match value {
        model::Value::Set(value) => ValueOut::Set { value },
        model::Value::Unset => ValueOut::Unset,
        model::Value::Unknown(why) => ValueOut::Unknown { why },
    }
}

fn mention(mention: &model::Assignment) -> FileOut<'_> {
    let model::Assignment { file, line, says, reaches } = mention;
    let (reaches, why) = match reaches {
        model::Visibility::Yes(why) => (ReachesOut::Yes, why),
        model::Visibility::No(why) => (ReachesOut::No, why),
        model::Visibility::Perhaps(why) => (ReachesOut::Perhaps, why),
    };
    FileOut { file, line: Some(*line).filter(|line| *line > 0), says, reaches, why }
}

fn belongs(belongs: &model::Location) -> BelongsOut<'_> {
    let model::Location { place, file, why, confidence } = belongs;
    let confidence = match confidence {
        model::Confidence::Low => ConfidenceOut::Low,
        model::Confidence::Medium => ConfidenceOut::Medium,
        model::Confidence::High => ConfidenceOut::High,
    };
    BelongsOut { place, file: file.as_deref(), why, confidence }
}
