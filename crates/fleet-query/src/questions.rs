//! The questions: each is a file of `sql/`, which any other engine reads as well.

/// A question that the program knows by name.
#[derive(Debug)]
pub(crate) struct Question {
    /// The subcommand.
    pub(crate) name: &'static str,
    /// What it answers, for the help.
    pub(crate) about: &'static str,
    /// The text of its file.
    pub(crate) sql: &'static str,
    /// The column that a word after the name is about.
    pub(crate) of: Option<&'static str>,
    /// Whether it compares what was before `--since` with what came then, instead of leaving out what was before.
    pub(crate) compares: bool,
}

macro_rules! question {
    ($name:literal, $about:literal, $of:expr, $compares:expr) => {
        Question {
            name: $name,
            about: $about,
            sql: include_str!(concat!("../../../sql/", $name, ".sql")),
            of: $of,
            compares: $compares,
        }
    };
}

/// All of them, in the order of the help.
pub(crate) const QUESTIONS: [Question; 11] = [
    question!("causes", "Which causes cost most, and on how many hosts", None, false),
    question!(
        "hosts",
        "On which hosts a cause is, since when, and what it costs there",
        Some("cause"),
        false
    ),
    question!("services", "What each service does needlessly, and on how many hosts", None, false),
    question!("service", "What one service does needlessly, call by call", Some("service"), false),
    question!("days", "Day by day: hosts, calls, needless calls, seconds", None, false),
    question!("new", "Causes that no host had in that service before --since", None, true),
    question!("gone", "Causes that hosts had before --since, and have no more", None, true),
    question!("states", "Each finding on each host: open, applied, verified, gone …", None, true),
    question!("saved", "What each cause cost in a day before --since, and costs now", None, true),
    question!("agents", "Which version each host runs, and when it was last heard of", None, false),
    question!("coverage", "How much was counted, sampled, left without a name, lost", None, false),
];
