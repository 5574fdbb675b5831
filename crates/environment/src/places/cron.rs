//! Crontabs: crontab(5). The system's name a user for each job; those of users belong to crontab(1).

use super::wrapper::WRAPPER;
use super::{FoundValue, cron_job, cron_table};
use crate::activation::{WorkerQuery, newest};
use crate::crontab::{tables, text, user_of};
use crate::place::{CheckStyle, DEFAULT, Destination, FilePath, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::sources::Sources;
use crate::start_path::How;
use crate::started_by::{Launcher, StartedBy};
use cron_job::{FoundJob, job_of};
use cron_table::Job;
use needless_host::{ProcInfo, Root, ancestry};
use needless_model::{Assignment, Confidence, Visibility};

/// What both kinds have in common.
const TABLE: Place = Place {
    reaches: "the job, or with --in every job of the table; nothing of cron's own unit reaches them",
    effect: "the next job, within a minute",
    check: &["crontab"],
    check_style: CheckStyle::Crontab,
    worker: Some(newest_run),
    next: |part| part.map(|_| "run of the job"),
    order_matters: true,
    has_parts: true,
    ..DEFAULT
};

/// A crontab of the system.
pub static CRONTAB: Place = Place {
    name: "crontab",
    files: "/etc/crontab, /etc/cron.d/NAME",
    read_by: ReadBy::Parts("job"),
    find: |text, variable, part| cron_table::find(text, variable, part, true),
    put: |text, edit| cron_table::put(text, edit, true),
    parts: |text| cron_table::jobs(text, true).iter().map(Job::part).collect(),
    is_file: |path, _| path.is("/etc/crontab") || path.below("/cron.d/"),
    unread,
    scan: |sources| {
        let mut all = vec!["/etc/crontab".to_owned()];
        all.extend(sources.in_dir("/etc/cron.d", ""));
        scan(sources, all, |text, variable| cron_table::find(text, variable, None, true));
    },
    locate: |query| match query.started_by {
        StartedBy::Cron => vec![location(query)],
        _ => Vec::new(),
    },
    ..TABLE
};

/// A crontab of a user, changed through crontab(1). The format of the system's tables looks for a job in these, too.
pub static USER_CRONTAB: Place = Place {
    name: "user's crontab",
    files: "/var/spool/cron/crontabs/USER, /var/spool/cron/USER (through crontab)",
    read_by: ReadBy::Parts("job"),
    find: |text, variable, part| cron_table::find(text, variable, part, false),
    put: |text, edit| cron_table::put(text, edit, false),
    parts: |text| cron_table::jobs(text, false).iter().map(Job::part).collect(),
    is_file: |path, _| user_of(path.0).is_some(),
    scan: |sources| {
        let all = tables(sources.root);
        scan(sources, all, |text, variable| cron_table::find(text, variable, None, false));
    },
    needs_file: true,
    ..TABLE
};

/// As Debian's cron does it: run-parts(8) has the same rule for names.
fn unread(path: &FilePath<'_>, text: &str) -> Option<&'static str> {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if path.below("/cron.d/") && !path.name().chars().all(known) {
        return Some(
            "cron does not read this file: its name has other characters than letters, digits, _ and - (Debian).",
        );
    }
    let ends = text.is_empty() || text.ends_with('\n');
    (!ends).then_some(
        "cron does not read this file: its last line has no line end (Debian). If this change adds one, its jobs begin to run.",
    )
}
/// The table of anacron. It takes a value as it is written, with its quotes.
pub static ANACRONTAB: Place = Place {
    name: "anacrontab",
    files: "/etc/anacrontab",
    reaches: "every job of the table",
    read_by: ReadBy::Parts("job"),
    effect: "the next run of anacron",
    find: cron_table::in_anacrontab,
    put: |text, edit| match edit.value {
        Some(value) if value.is_empty() || value != value.trim() => {
            Err("anacron takes no such value: set it by hand in the job's command".into())
        }
        value => {
            let first = cron_table::jobs(text, false).first().map(|job| job.line);
            let line = value.map(|value| format!("{}={value}", edit.variable));
            cron_table::put_for_all(text, edit.variable, line.as_deref(), first)
        }
    },
    is_file: |path, _| path.is("/etc/anacrontab"),
    scan: |sources| {
        let reaches = Visibility::No("only anacron reads it, for its jobs".into());
        sources.file("/etc/anacrontab", cron_table::in_anacrontab, None, reaches);
    },
    order_matters: true,
    ..DEFAULT
};

/// The process that cron started last for a job, and that still runs.
fn newest_run(of: &WorkerQuery<'_>) -> Option<u32> {
    let root = Root::own().ok()?;
    newest(|pid| {
        let chain = ancestry(pid, "PATH").unwrap_or_default();
        let [.., parent, me] = &chain[..] else { return false };
        let is_cron = |info| Launcher::of(info) == Some(Launcher::Cron);
        let is_its = |job: FoundJob| job.file == of.file && of.part == Some(&job.job.part());
        is_cron(parent) && !is_cron(me) && job_of(&root, &chain).is_ok_and(is_its)
    })
}

/// The format of a table.
fn format_of(file: &str) -> &'static Place {
    if user_of(file).is_some() { &USER_CRONTAB } else { &CRONTAB }
}

fn scan(sources: &mut Sources<'_>, all: Vec<String>, find: impl Fn(&str, &str) -> Vec<FoundValue>) {
    let reaches = match sources.started_by {
        StartedBy::Cron => Visibility::Perhaps("if the job stands below it in that table".into()),
        _ => Visibility::No("only cron reads it, for the jobs of that table".into()),
    };
    for table in all {
        if let Ok(text) = text(sources.root, &table) {
            let found = find(&text, sources.variable);
            sources.found(&table, found, &reaches);
        }
    }
}

fn location(query: &LocationQuery<'_>) -> Destination {
    let found = match job_of(query.root, query.chain) {
        Ok(found) => found,
        Err(why) => return Destination::new(&CRONTAB, None, why, Confidence::Medium),
    };
    let FoundJob { file, job, .. } = &found;
    let line = job.line + 1;
    let own = found.own_value(query.variable).is_some();
    let way = found.way(query.root, query.variable);
    let fits = |value: Option<&str>| {
        query.process().is_some_and(|me| me.initial.is_known() && me.initial.text() == value)
    };
    if let Some(last) = way.last().filter(|last| !own && fits(last.value.as_deref())) {
        let does = if last.value.is_some() { "sets" } else { "removes" };
        return match last.how {
            How::Script => {
                let script = last.file.clone();
                let why = format!("the job runs this script, and its line {} {does} it", last.line);
                let sure = if last.sure { Confidence::High } else { Confidence::Medium };
                Destination::new(&WRAPPER, script, why, sure)
            }
            How::Words(_) | How::Sourced | How::EnvFile | How::Quadlet => {
                let at = format!("{}:{}", last.file, last.line);
                let how = match (user_of(file), last.file == *file) {
                    (Some(user), true) => format!("there (crontab -u {user} -e)"),
                    _ => "there".to_owned(),
                };
                let why = format!(
                    "{at} {does} it in the job's own command, after cron: change it {how} by hand"
                );
                let location = Destination::new(format_of(file), None, why, Confidence::Low);
                Destination { label: "the job's command".into(), ..location }
            }
        };
    }
    let why = format!(
        "cron gives the job in line {line} what this table says for it, and nothing of cron's own unit"
    );
    let location = Destination::new(format_of(file), file.clone(), why, Confidence::High);
    location.part(job.part())
}

/// The lines of all tables as they count for the job of a process; `None` where its line is not known. The command of
/// the job may set or remove the variable, too.
pub(crate) fn job_assignments(
    root: &Root,
    chain: &[ProcInfo],
    variable: &str,
    mentions: &mut [Assignment],
) -> Option<FoundJob> {
    let found = job_of(root, chain).ok()?;
    let line = found.job.line as u32 + 1;
    let counts = found.value(variable).map(|value| value.line);
    for one in mentions.iter_mut() {
        if ![&CRONTAB, &USER_CRONTAB].iter().any(|kind| (kind.is_file)(&FilePath(&one.file), "")) {
            continue;
        }
        one.reaches = if one.file != found.file {
            Visibility::No(format!("its job stands in {}:{line}", found.file))
        } else if Some(one.line) == counts {
            Visibility::Yes(format!("cron gives it to the job in line {line}"))
        } else {
            Visibility::No(format!("it does not count for its job, in line {line}"))
        };
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_cron_passes_over() {
        for (path, text, is_read) in [
            ("/etc/cron.d/a-B_1", "x\n", true),
            ("/etc/crontab", "", true),
            ("/etc/crontab", "x", false),
            ("/etc/cron.d/a.dpkg-old", "x\n", false),
            ("/etc/cron.d/a~", "x\n", false),
        ] {
            assert_eq!(unread(&FilePath(path), text).is_none(), is_read, "{path}");
        }
    }
}
