//! The command that each key stands for.

use super::rows::{ALL, Row};
use super::sample::{Cause, Item};
use crate::cli::Grouping;
use needless_model::{Change, Safety};
use needless_observe::Who;
use needless_report::shell_word;

/// How long the commands observe.
const WINDOW: &str = "--for 10s";

/// The options that choose the processes of a command.
pub(super) struct Subject {
    /// As arguments of `attach`: `--only 812`, `--unit cron.service`.
    pub(super) attach: String,
    /// As an option of `fix` and `prove`: `--pid 812`, `--unit cron.service`; `None` if these cannot name it.
    option: Option<String>,
}

impl Subject {
    /// The unit, the container or else the process that an item is about.
    pub(super) fn of(item: &Item) -> Option<Subject> {
        let service = item.service.as_deref().unwrap_or_default();
        let pid = item.pids.first();
        let pid_option = pid.map(|pid| format!("--pid {pid}"));
        if service.ends_with(".service") && !service.contains(' ') {
            let unit = format!("--unit {}", shell_word(service));
            return Some(Subject { attach: unit.clone(), option: Some(unit) });
        }
        if let Some(id) = service.strip_prefix("container ").and_then(|rest| rest.split(' ').next())
        {
            let attach = format!("--container {}", shell_word(id));
            return Some(Subject { attach, option: pid_option });
        }
        pid.map(|pid| Subject { attach: format!("--only {pid}"), option: pid_option })
    }
}

/// What the list itself shows.
pub(super) fn list(who: &Who) -> String {
    match who {
        Who::Everyone => format!("needless host {WINDOW}"),
        Who::Processes(pids) | Who::WithDescendants(pids) => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            let only = if let Who::Processes(_) = who { "--only " } else { "" };
            format!("needless attach {only}{} {WINDOW}", pids.join(" "))
        }
        Who::Unit(unit) => format!("needless attach --unit {} {WINDOW}", shell_word(unit)),
        Who::Container(name) => {
            format!("needless attach --container {} {WINDOW}", shell_word(name))
        }
        Who::Cgroup(path) => format!("needless attach --cgroup {} {WINDOW}", shell_word(path)),
    }
}

/// The list with each kind of call that no rule explains.
pub(super) fn apart(who: &Who) -> String {
    list(who) + " -v"
}

/// The list with a filter.
pub(super) fn filter(who: &Who, text: &str) -> String {
    format!("{} -v --format concise | grep -i {}", list(who), shell_word(text))
}

pub(super) fn grouping(grouping: Grouping) -> &'static str {
    match grouping {
        Grouping::Unit => "needless top --group unit",
        Grouping::Program => "needless top --group program",
        Grouping::Container => "needless top --group container",
    }
}

pub(super) fn details(row: &Row, who: &Who) -> String {
    let subject = Subject::of(&row.items[0]).filter(|_| row.key.0 != ALL);
    let base = match subject {
        Some(subject) => format!("needless attach {} {WINDOW}", subject.attach),
        None => list(who),
    };
    match row.rules().first() {
        Some(rule) => format!("{base} -v --rule {rule}"),
        None => format!("{base} -v"),
    }
}

pub(super) fn explain(rule: &str) -> String {
    format!("needless explain {rule}")
}

/// The first remedy of an item that `fix` can make.
pub(super) fn change(item: &Item) -> Option<&Change> {
    let Cause::Finding(finding) = &item.cause else { return None };
    let mut remedies = finding.remedies.iter();
    let made = remedies.find(|remedy| {
        let can = matches!(
            remedy.change,
            Change::SetEnv { value: Some(_), .. }
                | Change::UnsetEnv { .. }
                | Change::WithoutEntries { .. }
        );
        can && !matches!(remedy.safety, Safety::Manual(_))
    });
    made.map(|remedy| &remedy.change)
}

/// The fix of an item: it shows the diff and asks.
pub(super) fn fix(item: &Item) -> Option<String> {
    let option = Subject::of(item)?.option?;
    Some(match change(item)? {
        Change::SetEnv { variable, value: Some(value) } => {
            format!("needless fix {option} --set {}", shell_word(&format!("{variable}={value}")))
        }
        Change::UnsetEnv { variable } => {
            format!("needless fix {option} --unset {}", shell_word(variable))
        }
        // The rule makes the new value from the one in force.
        _ => match &item.cause {
            Cause::Finding(finding) => format!("needless fix {option} --rule {}", finding.rule),
            Cause::Unexplained(_) => return None,
        },
    })
}

/// How to measure the effect of a change: before it and after it.
pub(super) fn prove(item: &Item) -> Option<[String; 2]> {
    let option = Subject::of(item)?.option?;
    Some([
        format!("needless prove {option} --save-before before.json"),
        format!("needless prove {option} --before before.json"),
    ])
}
