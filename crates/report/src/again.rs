//! What a user can paste to try the remedies of a report.

use crate::text::{escape, shell_os_word, shell_word};
use crate::{Report, Source, summary};
use needless_model::{Change, Safety};

/// The command that runs the program again with the first remedy of each finding, if these are variables.
pub(crate) fn again(report: &Report<'_>) -> Option<String> {
    let Source::Run(program) = &report.source else { return None };
    let mut variables: Vec<&str> = Vec::new();
    let mut words = Vec::new();
    let mut options = Vec::new();
    for finding in &report.verdict.findings {
        let Some(remedy) = finding.remedies.first() else { continue };
        if matches!(remedy.safety, Safety::Manual(_)) {
            continue;
        }
        let (variable, word) = match &remedy.change {
            Change::SetEnv { variable, value: Some(_) } => {
                (variable, summary::change(&remedy.change))
            }
            Change::UnsetEnv { variable } => (variable, format!("-u {}", escape(variable))),
            Change::WithoutEntries { variable, entries } => {
                if !variables.contains(&variable.as_str()) {
                    variables.push(variable);
                    options.push(without(variable, entries));
                }
                continue;
            }
            _ => continue,
        };
        if !variables.contains(&variable.as_str()) {
            variables.push(variable);
            words.push((matches!(remedy.change, Change::UnsetEnv { .. }), word));
        }
    }
    let command = match report.command {
        [] => shell_word(program) + " …",
        words => words.iter().map(|word| shell_os_word(word)).collect::<Vec<_>>().join(" "),
    };
    // `prove` makes the new value, from the environment in which it runs.
    if words.is_empty() && !options.is_empty() {
        return Some(format!("needless prove {} -- {command}", options.join(" ")));
    }
    if words.is_empty() {
        return None;
    }
    // env(1) takes options before assignments.
    words.sort_by_key(|(unset, _)| !unset);
    let env = if words[0].0 { "env " } else { "" };
    let words: Vec<String> = words.into_iter().map(|(_, word)| word).collect();
    Some(format!("{env}{} needless run -- {command}", words.join(" ")))
}

/// The option of `prove` that takes these entries out of a variable.
fn without(variable: &str, entries: &[String]) -> String {
    let separator = match variable {
        "TCLLIBPATH" => " ",
        _ if entries.iter().any(|entry| entry.contains('?')) => ";",
        _ => ":",
    };
    let all = format!("{variable}={}", entries.join(separator));
    format!("--without {}", shell_word(&all))
}
