//! Writes findings, profiles, proofs, origins and rules, in one file for each format of each document, and reads
//! saved reports.
//!
//! Reports go to whatever writer the caller has; nothing here opens a file or asks the terminal. Texts that the
//! observed program chose (paths, names, values) are escaped before they reach a terminal.
//! The lists below say which formats each document has: a new format is an entry there, and a file with a function
//! `write` in the folder of each document that it is for.

#[macro_use]
mod formats;
mod account;
mod annotation;
mod breakdown;
mod check_text;
mod checked;
mod columns;
mod difference;
mod doctor_text;
mod document;
mod explain;
mod html;
mod json;
mod markdown;
mod next_command;
mod overview;
mod proof_text;
mod protobuf;
mod sarif;
mod saved;
mod shown;
mod stacks;
mod summary;
mod table;
mod text;
mod time;
mod unjudged;
mod window_text;
mod windows;

use needless_model::{Profile, Snapshot};
use needless_rules::{Declared, Scale, Verdict};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

pub use account::unexplained_line;
pub use check::json::{CHECK_SCHEMA, CheckDocument, check_schema};
pub use checked::Check;
pub use diff::json::{DIFF_SCHEMA, DiffDocument, diff_schema};
pub use difference::Difference;
pub use doctor_text::{DoctorCheck, doctor};
pub use document::{ReportDocument, ReportFinding, ReportProcess, SCHEMA, schema};
pub use explain::explain;
pub use formats::has_ending;
pub use html::tables::write_tables;
pub use origin::json::{ORIGIN_SCHEMA, OriginDocument, origin_schema};
pub use proof::json::{PROOF_SCHEMA, ProofDocument, proof_schema};
pub use report::profile::{PROFILE_SCHEMA, profile_schema, write_snapshot};
pub use saved::{Saved, read_saved};
pub use shown::{Document, read_document};
pub use summary::change;
pub use table::Table;
pub use text::{cut, escape, number, shell_word, wrap};
pub use window_text::per_second;
pub use windows::Timeline;

formats! {
    /// How a report is written.
    ReportFormat {
        /// For a person at a terminal: what it costs, why, where from, fix, caveat.
        Full: full, "txt";
        /// One line per remedy.
        Concise: concise;
        /// For an issue, a pull request or the summary of a job.
        Markdown: markdown, "md";
        /// A page to look at and to send.
        Html: html, "html";
        /// For other tools: see [`schema`](schema).
        Json: json, "json";
        /// Every row, for a comparison with another: see [`profile_schema`](profile_schema).
        Profile: profile;
        /// Stacks, a line each, for flame graphs.
        Folded: folded, "folded";
        /// Stacks, for speedscope.
        Speedscope: speedscope, "speedscope.json";
        /// Stacks with labels, for pprof.
        Pprof: pprof, "pb.gz";
        /// SARIF 2.1.0, for code hosts.
        Sarif: sarif, "sarif";
        /// Annotations of GitHub Actions, for the output of a job.
        Github: github;
    }
    /// Writes a report.
    write in report (report: &Report<'_>);
}

impl ReportFormat {
    /// Whether it is no text, and so nothing for a terminal.
    pub fn is_binary(self) -> bool {
        self == ReportFormat::Pprof
    }
}

formats! {
    /// How a proof or a comparison is written.
    ProofFormat {
        /// For a person at a terminal.
        Full: full, "txt";
        /// For an issue or a pull request.
        Markdown: markdown, "md";
        /// A page to look at and to send.
        Html: html, "html";
        /// For other tools: see [`proof_schema`](proof_schema) and
        /// [`diff_schema`](diff_schema).
        Json: json, "json";
    }
    /// Writes a proof.
    write_proof in proof (proof: &ProofDocument);
    /// Writes a comparison.
    write_diff in diff (difference: &DiffDocument);
}

formats! {
    /// How several windows are written.
    TimelineFormat {
        /// For a person at a terminal: a table.
        Full: full, "txt";
        /// For an issue or a pull request.
        Markdown: markdown, "md";
        /// A page to look at and to send.
        Html: html, "html";
    }
    /// Writes several windows.
    write_timeline in timeline (timeline: &Timeline);
}

formats! {
    /// How a saved profile is written.
    ProfileFormat {
        /// For a person at a terminal: the most frequent questions.
        Full: full, "txt";
        /// For other tools: see [`profile_schema`](profile_schema).
        Json: json, "json";
    }
    /// Writes a saved profile.
    write_profile in snapshot (snapshot: &Snapshot, version: &str);
}

formats! {
    /// How a checked budget is written.
    CheckFormat {
        /// For a person at a terminal.
        Full: full, "txt";
        /// For the summary of a job, an issue or a pull request.
        Markdown: markdown, "md";
        /// For other tools: see [`check_schema`](check_schema).
        Json: json, "json";
        /// Annotations of GitHub Actions, for the output of a job.
        Github: github;
        /// SARIF 2.1.0, for code hosts.
        Sarif: sarif, "sarif";
        /// JUnit's XML, for lists of tests.
        Junit: junit, "xml";
    }
    /// Writes a checked budget.
    write_check in check (check: &CheckDocument);
}

formats! {
    /// How the origin of a variable is written.
    OriginFormat {
        /// For a person at a terminal, with every file that sets the variable.
        Full: full, "txt";
        /// The same; the files that do not reach the process are one line.
        Concise: concise;
        /// For other tools: see [`origin_schema`](origin_schema).
        Json: json, "json";
    }
    /// Writes where a variable comes from: the answer, the processes, the files, where to change it, what could
    /// not be read.
    write_origin in origin (origin: &OriginDocument);
}

formats! {
    /// How the list of rules is written.
    RulesFormat {
        /// For a person at a terminal: names and what each finds.
        Full: full;
        /// For other tools.
        Json: json;
    }
    /// Writes the rules in the order in which they are checked: those that the user declared, then the built-in
    /// ones.
    write_rules in rules (declared: &[Declared]);
}

/// What the formats of each kind of document have in common.
pub trait DocumentFormat: Copy + FromStr<Err = String> {
    /// The endings of files that select a format.
    const ENDINGS: &[&str];
    /// The format for a person at a terminal.
    const FULL: Self;

    /// The format that the ending of a file selects, if one does.
    fn of_path(path: &Path) -> Option<Self>;
}

/// A report, and how much of it to write.
#[derive(Clone, Copy)]
pub struct Report<'a> {
    /// What it says.
    pub document: &'a ReportDocument,
    /// What the document was made from, for the formats that need every row; `None` where it was read from a file.
    pub rows: Option<(&'a Profile, &'a Verdict)>,
    /// How many remedies to show, most expensive first; 0: all. Formats for other tools have all.
    pub top: Option<usize>,
    /// What the user wants to see besides.
    pub details: Details,
    /// The command that was run, with its arguments, which may hold secrets: only for a report on the terminal of the
    /// user who typed them. Empty otherwise.
    pub command: &'a [OsString],
}

/// How much a report for people shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Every remedy and finding, with all that is known.
    pub full: bool,
    /// Every kind of call that no rule explains.
    pub unexplained: bool,
    /// The overview at the end, which is what a terminal then shows; otherwise it comes first.
    pub end_first: bool,
}

/// Where a profile comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A command that was run. The program as given, without its arguments: they may hold secrets.
    Run(String),
    /// A log that was read: its file name, or several, separated by spaces.
    Log(String),
    /// Running processes, observed for a window of time: which ("dnsmasq.service").
    Attach(String),
    /// Every process of the host, for a window of time.
    Host,
}

impl Source {
    /// What times of this observation are compared with.
    pub fn scale(&self, profile: &Profile) -> Scale {
        match self.is_window() {
            true => Scale::of_window(profile),
            false => Scale::of_run(profile),
        }
    }

    /// Whether it is a window of time over processes that run before and after it.
    pub(crate) fn is_window(&self) -> bool {
        matches!(self, Source::Attach(_) | Source::Host)
    }

    /// What was observed, in a word or two.
    pub(crate) fn name(&self) -> &str {
        match self {
            Source::Run(name) | Source::Log(name) | Source::Attach(name) => name,
            Source::Host => "host",
        }
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
