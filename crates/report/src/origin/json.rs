//! The origin of a variable for other tools.

use crate::Style;
use crate::json::{mirror, print, schema_of};
use needless_model::{Assignment, Location, Provenance, Step, Value, Visibility};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// The schema that origins name in their field `schema`. Fields are only added under one number.
pub const ORIGIN_SCHEMA: &str = "needless.origin/1";

pub(crate) fn write(out: &mut dyn Write, origin: &OriginDocument, _: Style) -> io::Result<()> {
    print(out, origin)
}

/// The JSON schema of an origin, with a newline at its end.
pub fn origin_schema() -> String {
    schema_of::<OriginDocument>()
}

/// Where a variable of a process comes from.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(title = "needless.origin/1")]
pub struct OriginDocument {
    /// Name and version of this format.
    #[schemars(extend("const" = ORIGIN_SCHEMA))]
    pub(crate) schema: String,
    /// Version of needless that wrote it.
    pub(crate) needless_version: String,
    /// The variable; the report has nothing about any other.
    pub(crate) variable: String,
    /// The answer, one sentence for people.
    pub(crate) answer: String,
    /// What would explain it as well, or belongs to it: none is known to be wrong.
    pub(crate) or: Vec<String>,
    /// The processes, from the first ancestor to the one asked about; none for a unit that does not run.
    pub(crate) steps: Vec<OriginStep>,
    /// The files that set or remove it, whether or not they reach the process.
    pub(crate) files: Vec<OriginFile>,
    /// Where a change would be made, best first.
    pub(crate) belongs: Vec<OriginLocation>,
    /// What could not be read, and why; empty: nothing.
    pub(crate) not_read: Vec<String>,
    /// Kinds of sources that may set a variable of such a process and that needless does not search; empty: all that are
    /// known are searched.
    #[serde(default)]
    pub(crate) not_looked_at: Vec<String>,
}

/// A process.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Step")]
pub(crate) struct OriginStep {
    /// Its id, as needless sees it.
    pub(crate) pid: u32,
    /// Its executable, or its name where that cannot be read.
    pub(crate) program: String,
    /// What it is, where that is known: "systemd", "cron", "a login shell" …
    pub(crate) role: Option<String>,
    /// The variable at the process's last exec.
    pub(crate) initial: OriginValue,
    /// The variable now, in the program's own memory.
    pub(crate) live: OriginValue,
    /// What happened here, one sentence each.
    pub(crate) says: Vec<String>,
}

/// A variable's value, as far as it could be read.
#[derive(PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Value")]
#[serde(tag = "state", rename_all = "snake_case")]
pub(crate) enum OriginValue {
    /// It was set.
    Set {
        /// To this; a variable whose name sounds like a password's has "(value N, not shown)".
        value: String,
    },
    /// It was not there.
    Unset,
    /// It could not be read.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// A file that sets or removes the variable.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "File")]
pub(crate) struct OriginFile {
    /// Its path, below the process's root; or the command that shows a setting which is in no file.
    pub(crate) file: String,
    /// The line, from 1; `null` where the file as a whole is the setting.
    pub(crate) line: Option<u32>,
    /// The setting as it is understood: "TZ=UTC", "TZ removed".
    pub(crate) says: String,
    /// Whether it reaches the process.
    pub(crate) reaches: OriginReach,
    /// Why, why not, or on what it depends.
    pub(crate) why: String,
}

/// Whether a file reaches the process.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Reaches")]
#[serde(rename_all = "snake_case")]
pub(crate) enum OriginReach {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// It depends.
    Perhaps,
}

/// Where a change would be made.
#[derive(Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Belongs")]
pub(crate) struct OriginLocation {
    /// The place.
    pub(crate) place: String,
    /// The file that would be written; `null` where that is not known.
    pub(crate) file: Option<String>,
    /// Why there.
    pub(crate) why: String,
    /// How sure: `fix` writes where it is high only.
    pub(crate) confidence: OriginConfidence,
}

mirror! {
    /// How sure a place is.
    OriginConfidence as "Confidence" of needless_model::Confidence {
        /// A guess.
        Low,
        /// By a rule about its ancestors.
        Medium,
        /// By what the process or its configuration says.
        High,
    }
}

impl OriginDocument {
    /// Of what was found out by needless of this version.
    pub fn of(from: &Provenance, version: &str) -> OriginDocument {
        OriginDocument {
            schema: ORIGIN_SCHEMA.to_owned(),
            needless_version: version.to_owned(),
            variable: from.variable.clone(),
            answer: from.answer.clone(),
            or: from.or.clone(),
            steps: from.steps.iter().map(OriginStep::from).collect(),
            files: from.mentions.iter().map(OriginFile::from).collect(),
            belongs: from.belongs.iter().map(OriginLocation::from).collect(),
            not_read: from.unread.clone(),
            not_looked_at: from.not_looked_at.clone(),
        }
    }
}

impl From<&Step> for OriginStep {
    fn from(from: &Step) -> OriginStep {
        OriginStep {
            pid: from.pid,
            program: from.program.clone(),
            role: from.role.clone(),
            initial: (&from.initial).into(),
            live: (&from.live).into(),
            says: from.says.clone(),
        }
    }
}

impl From<&Value> for OriginValue {
    fn from(value: &Value) -> OriginValue {
        match value.clone() {
            Value::Set(value) => OriginValue::Set { value },
            Value::Unset => OriginValue::Unset,
            Value::Unknown(why) => OriginValue::Unknown { why },
        }
    }
}

impl From<&Assignment> for OriginFile {
    fn from(from: &Assignment) -> OriginFile {
        let Assignment { file, line, says, reaches } = from.clone();
        let (reaches, why) = match reaches {
            Visibility::Yes(why) => (OriginReach::Yes, why),
            Visibility::No(why) => (OriginReach::No, why),
            Visibility::Perhaps(why) => (OriginReach::Perhaps, why),
        };
        OriginFile { file, line: Some(line).filter(|line| *line > 0), says, reaches, why }
    }
}

impl From<&Location> for OriginLocation {
    fn from(from: &Location) -> OriginLocation {
        let Location { place, file, why, confidence } = from.clone();
        OriginLocation { place, file, why, confidence: confidence.into() }
    }
}

impl OriginValue {
    /// The text, where it is set.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            OriginValue::Set { value } => Some(value),
            OriginValue::Unset | OriginValue::Unknown { .. } => None,
        }
    }
}
