//! What a user can paste to try the remedies of a report.

use crate::document::{SafetyLevel, SourceKind};
use crate::text::{escape, shell_os_word, shell_word};
use crate::{Report, summary};
use needless_model::Change;

/// The command that runs the program again with the first remedy of each finding, if these are variables.
pub(crate) fn again(report: &Report<'_>) -> Option<String> {
    let source = &report.document.source;
    if source.kind != SourceKind::Run {
        return None;
    }
    let mut variables: Vec<String> = Vec::new();
    let mut words = Vec::new();
    let mut options = Vec::new();
    for finding in &report.document.findings {
        let Some(remedy) = finding.remedies.first() else { continue };
        let change = remedy.change();
        let Some(variable) = change.variable().map(str::to_owned) else { continue };
        if remedy.safety == SafetyLevel::Manual || variables.contains(&variable) {
            continue;
        }
        match &change {
            Change::SetEnv { value: Some(_), .. } => words.push((false, summary::change(&change))),
            Change::UnsetEnv { .. } => words.push((true, format!("-u {}", escape(&variable)))),
            Change::WithoutEntries { entries, .. } => options.push(without(&variable, entries)),
            _ => continue,
        }
        variables.push(variable);
    }
    let command = match report.command {
        [] => shell_word(&source.name) + " …",
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
