//! Findings and profiles told: one file per format.
//!
//! Reports go to whatever writer the caller has; nothing here opens a file or asks the terminal.
//! Texts that the observed program chose (paths, names, values) never reach a terminal unescaped.

mod diff;
mod doctor;
mod lab;
mod origin;
mod proof;
mod proof_text;
mod rules;
mod saved;
mod tell;
mod text;
mod window;

use needless_model::{Profile, Proof};
use needless_rules::Verdict;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

pub use diff::{DIFF_SCHEMA, Difference, diff_schema, write_diff};
pub use doctor::{Check, doctor};
pub use json::{SCHEMA, schema};
pub use lab::{Cell, Column, Experiment, Table, Told, lab, lab_list};
pub use origin::{ORIGIN_SCHEMA, origin, origin_json, origin_schema};
pub use profile::{PROFILE_SCHEMA, profile_schema, write_snapshot};
pub use proof::{PROOF_SCHEMA, ProofFormat, proof_schema, write_proof};
pub use rules::{explain, rules_json, rules_table};
pub use saved::{Advice, Being, Saved, read_saved};
pub use text::clean;

/// What a report tells.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// What was seen.
    pub profile: &'a Profile,
    /// What of it is needless.
    pub verdict: &'a Verdict,
    /// Where the profile comes from.
    pub source: Source,
    /// How many services with findings to show, those whose needless calls cost most; `None` or 0:
    /// all. Only where processes were attached to; formats for other tools have all.
    pub top: Option<usize>,
    /// What came of measuring the remedies, where somebody asked for that.
    pub proof: Option<&'a Proof>,
    /// The version of needless that tells it.
    pub version: &'a str,
}

/// Where a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A command that was run. The program as given, without its arguments: they may hold secrets.
    Run(String),
    /// A log that was read: its file name, or several separated by blanks.
    Log(String),
    /// Running processes, attached to for a window of time: which, in words ("dnsmasq.service").
    Attach(String),
    /// Every process of the host, for a window of time.
    Host,
}

/// Declares the formats. The module of each has its `NAME`, the `ENDING` of files that are written
/// in it by default, and `write`.
macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $file:ident),+ $(,)?) => {
        $(mod $file;)+

        /// How a report is written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format),+
        }

        impl Format {
            /// Every format.
            pub const ALL: &[Format] = &[$(Format::$format),+];

            /// Its name on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Format::$format => $file::NAME),+ }
            }

            /// The ending of files that are written in it, if one asks for it.
            pub fn ending(self) -> Option<&'static str> {
                match self { $(Format::$format => $file::ENDING),+ }
            }
        }

        /// Writes `report` to `out`, with a newline at its end. The same report gives the same
        /// bytes.
        ///
        /// # Errors
        /// When `out` cannot be written to.
        pub fn write(
            out: &mut dyn Write,
            report: &Report<'_>,
            format: Format,
            style: Style,
        ) -> io::Result<()> {
            match format { $(Format::$format => $file::write(out, report, style)),+ }
        }
    };
}

formats![
    /// For a person at a terminal: what, share, why, where from, fix, caveat.
    Full: full,
    /// One line per finding.
    Concise: concise,
    /// For other tools: see [`schema`].
    Json: json,
    /// Every row, for a comparison with another: see [`profile_schema`].
    Profile: profile,
];

impl Format {
    /// The format that a file's ending asks for: `.json`, `.txt`. `None` for others.
    pub fn of_path(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?;
        Format::ALL.iter().copied().find(|format| format.ending() == Some(ending))
    }
}

impl FromStr for Format {
    type Err = String;

    /// # Errors
    /// When the name is not that of a format; the message lists them.
    fn from_str(name: &str) -> Result<Format, String> {
        Format::ALL.iter().copied().find(|format| format.name() == name).ok_or_else(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            format!("no such format; there are {}", text::list(&names, "and"))
        })
    }
}

/// How text is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to write the escape sequences of colours.
    pub colour: bool,
    /// Columns to wrap at. A word that is longer (a path) is not broken.
    pub width: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_tells_the_format() {
        assert_eq!(Format::of_path(Path::new("/x/report.json")), Some(Format::Json));
        assert_eq!(Format::of_path(Path::new("report.txt")), Some(Format::Full));
        assert_eq!(Format::of_path(Path::new("report")), None);
        assert_eq!(Format::of_path(Path::new(".json")), None);
    }

    #[test]
    fn formats_have_names() {
        assert_eq!("json".parse(), Ok(Format::Json));
        assert_eq!("full".parse(), Ok(Format::Full));
        assert_eq!("concise".parse(), Ok(Format::Concise));
        assert!("sarif".parse::<Format>().unwrap_err().contains("full, concise, json and profile"));
    }
}
