//! What a report asks to be changed: its remedies that a tool may apply.

use serde::Deserialize;

/// A remedy with whom it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The rule that found it.
    pub rule: String,
    /// The variable.
    pub variable: String,
    /// Its value; `None`: to be removed.
    pub value: Option<String>,
    /// The remedy's caveat.
    pub caveat: String,
    /// The service, where the report tells.
    pub service: Option<String>,
    /// The process with most of the calls.
    pub pid: u32,
    /// Its program.
    pub exe: Option<String>,
    /// Whether the report is of a command that was run, which has ended.
    pub of_run: bool,
}

#[derive(Deserialize)]
struct Report {
    schema: String,
    source: Source,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Source {
    kind: String,
}

#[derive(Deserialize)]
struct Finding {
    rule: String,
    service: Option<String>,
    process: Process,
    remedies: Vec<Remedy>,
}

#[derive(Deserialize)]
struct Process {
    pid: u32,
    exe: Option<String>,
}

#[derive(Deserialize)]
struct Remedy {
    kind: String,
    variable: Option<String>,
    value: Option<String>,
    caveat: String,
    safety: String,
}

/// Of each finding of a JSON report (`needless.report/1`) the best remedy that a tool may apply: a
/// variable set or removed, safe or with a caveat. `rules`: only these; empty for all.
///
/// # Errors
/// In a sentence, where the text is no such report.
pub fn wanted(report: &str, rules: &[String]) -> Result<Vec<Wanted>, String> {
    let report: Report = serde_json::from_str(report).map_err(|error| {
        format!("no report of needless ({error}): write one with `-o report.json`")
    })?;
    if report.schema != "needless.report/1" {
        return Err(format!("{}: written by another version of needless", report.schema));
    }
    let mut wanted = Vec::new();
    for finding in report.findings {
        if !rules.is_empty() && !rules.contains(&finding.rule) {
            continue;
        }
        let best = finding.remedies.into_iter().find(|remedy| {
            let known = match remedy.kind.as_str() {
                "set_env" => remedy.value.is_some(),
                "unset_env" => true,
                _ => false,
            };
            known && remedy.safety != "manual" && remedy.variable.is_some()
        });
        let Some(Remedy { kind, variable: Some(variable), value, caveat, .. }) = best else {
            continue;
        };
        wanted.push(Wanted {
            rule: finding.rule,
            variable,
            value: value.filter(|_| kind == "set_env"),
            caveat,
            service: finding.service,
            pid: finding.process.pid,
            exe: finding.process.exe,
            of_run: report.source.kind == "run",
        });
    }
    Ok(wanted)
}
