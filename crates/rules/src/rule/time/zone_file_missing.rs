//! ## What it finds
//!
//! A program that tries to read `/etc/localtime` at each time conversion because there is nothing
//! to read: the file is missing (a dangling link counts), empty, or a directory.
//!
//! ## Why it happens
//!
//! TZ is not set and glibc has no zone loaded, so each `localtime()`, `mktime()` and `tzset()`
//! tries again: one failed open where the file is missing, and open, two fstat, read and close
//! where it is empty or a directory. Images without tzdata have no such file; a bind mount of a
//! path that is missing on the host makes it a directory. musl tries once.
//!
//! ## Example
//!
//! ```trace
//! env -TZ
//! zone missing
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x1000
//! ```
//! ```finding
//! zone-file-missing: 999 of 1000
//! stage explained
//! set TZ=UTC
//! ```
//!
//! An empty file, five calls each time, of which the opens are counted:
//!
//! ```trace
//! env -TZ
//! zone broken
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! repeat 1000
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
//! newfstatat(3, "", {st_mode=S_IFREG|0644, st_size=0, ...}, AT_EMPTY_PATH) = 0 x2
//! read(3, "", 4096) = 0
//! close(3) = 0
//! end
//! ```
//! ```finding
//! zone-file-missing: 999 of 1000
//! stage explained
//! set TZ=UTC
//! ```
//!
//! ## Not a finding
//!
//! The first try is needed, once per program start:
//!
//! ```trace
//! env -TZ
//! zone missing
//! execve("/usr/bin/date", ["date"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A program that reads a good file again and again by itself, which is not the C library's doing:
//!
//! ```trace
//! env -TZ
//! zone file Europe/Athens
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3 x1000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! `TZ=UTC`: without a zone file the program is in UTC already, so its times stay the same. If
//! local times are wanted, install tzdata and give the image or the container its `/etc/localtime`,
//! or set TZ to the zone's name. Do not do this if the file will appear later: with TZ set, the
//! program would never look at it.
//!
//! ## References
//!
//! * `man 3 tzset`
//! * glibc, `time/tzset.c`, `time/tzfile.c`
//! * <https://github.com/bottlerocket-os/bottlerocket/pull/3465>: a system without the file

use crate::engine::{Case, merge};
use crate::mechanism::zone::{self, LOCALTIME, positions, sum};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{
    Change, Errno, Fact, Finding, Libc, ProcId, Query, Remedy, Row, Runtime, Safety, Stage,
    SystemZone, ZoneFile,
};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "zone-file-missing",
    summary: "/etc/localtime is missing or holds no zone, so each time conversion tries to read it again",
    variables: &["TZ"],
    ..Rule::PLAIN
};

/// What follows the open of an empty file: fstat, fstat, read, close.
const CALLS_AFTER_OPEN: u64 = 4;
/// If nothing is known about the file, fewer reads are taken for the program's own.
const FEWEST_READS: u64 = 10;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let localtime = view.rows_at(LOCALTIME);
    let tried = |id| localtime.get(&id).is_some_and(|rows| rows.iter().any(|(_, r)| is_open(r)));
    let mut groups: BTreeMap<(Option<&str>, bool), Vec<Case>> = BTreeMap::new();
    for (&process, rows) in &localtime {
        if !zone::tz_may_be_unset(view, process)
            || *view.libc(process) == Libc::Musl
            || view.process(process).runtime != Runtime::Native
        {
            continue;
        }
        let exe = view.process(process).exe.as_deref();
        // A forked child goes on where its parent, which made the first try, left off.
        let first = u64::from(!view.lineage(process).skip(1).any(tried));
        let failed: Vec<(usize, &Row)> = of(rows, |row| is_open(row) && row.failed(Errno::ENOENT));
        let case = |rows: &[(usize, &Row)]| Case {
            process,
            needless: sum(rows).saturating_sub(first),
            of: sum(rows),
            rows: positions(rows),
        };
        if sum(&failed) > first {
            groups.entry((exe, false)).or_default().push(case(&failed));
        }
        if zone::zone_of(view, process).is_none()
            && sum(&of(rows, |row| is_open(row) && row.ok())) > first
        {
            sink.lack(RULE.name, Fact::HostZone);
        }
        if let Some(reads) = reads_nothing(view, process, rows)
            && sum(&reads) > first
        {
            groups.entry((exe, true)).or_default().push(case(&reads));
        }
    }
    for ((_, broken), cases) in groups {
        sink.find(finding(view, cases, broken));
    }
}

fn is_open(row: &Row) -> bool {
    row.query == Query::Open
}

fn of<'p>(rows: &[(usize, &'p Row)], wanted: impl Fn(&Row) -> bool) -> Vec<(usize, &'p Row)> {
    rows.iter().copied().filter(|(_, row)| wanted(row)).collect()
}

/// The successful reads of a file that is not a zone. After reading a good one, glibc asks by
/// `stat` and does not open it again.
fn reads_nothing<'p>(
    view: &View<'_>,
    process: ProcId,
    rows: &[(usize, &'p Row)],
) -> Option<Vec<(usize, &'p Row)>> {
    let reads = of(rows, |row| is_open(row) && row.ok());
    let looked_at = rows.iter().any(|(_, row)| {
        matches!(row.query, Query::Stat | Query::Lstat | Query::Readlink) && row.ok()
    });
    if looked_at {
        return None;
    }
    let broken = match zone::zone_of(view, process) {
        Some(zone) => matches!(zone.file, ZoneFile::NotAZone(_)),
        None => {
            let name = view.process(process).name();
            let reads_itself = ["python", "php", "ruby", "perl", "node", "java"];
            sum(&reads) >= FEWEST_READS
                && matches!(view.libc(process), Libc::Glibc(_))
                && !reads_itself.iter().any(|known| name.starts_with(known))
                && !seeks(view, process, sum(&reads))
        }
    };
    broken.then_some(reads)
}

/// Whether the process moves in files about as often as it reads the zone: a reader of a good
/// file goes back to its end, a reader of an empty one never does.
fn seeks(view: &View<'_>, process: ProcId, reads: u64) -> bool {
    let seeks: u64 = view
        .rows_of(process)
        .filter(|(_, row)| matches!(view.profile.call(row), "lseek" | "_llseek"))
        .map(|(_, row)| row.count)
        .sum();
    !view.profile.facts.has(Fact::AllCalls) || seeks >= reads
}

fn finding(view: &View<'_>, cases: Vec<Case>, broken: bool) -> Finding {
    let merged = merge(view.profile, cases);
    let first = merged.processes[0];
    let explained = merged.processes.iter().all(|p| zone::tz_known_unset(view, *p))
        && zone::zone_of(view, first).is_some();
    let tries = merged.of;
    let (what, why) = if broken {
        (
            format!("{} time conversions read /etc/localtime and find no zone", number(tries)),
            "TZ is not set and /etc/localtime holds no zone (empty, or a directory), so glibc \
             reads it again at every conversion: openat, fstat, fstat, read, close."
                .to_owned(),
        )
    } else {
        (
            format!(
                "{} time conversions look for /etc/localtime and do not find it",
                number(tries)
            ),
            "TZ is not set and /etc/localtime does not exist, so glibc tries to open it at every \
             localtime(), mktime() and tzset()."
                .to_owned(),
        )
    };
    Finding {
        stage: if explained { Stage::Explained } else { Stage::Seen },
        kernel_ns: broken.then(|| tries_ns(view, merged.needless)).flatten(),
        estimated: broken,
        what,
        why,
        remedies: remedies(zone::zone_of(view, first)),
        besides: if broken { (CALLS_AFTER_OPEN * merged.needless) as i64 } else { 0 },
        ..merged.finding(RULE.name)
    }
}

/// The five calls together, not the open alone.
fn tries_ns(view: &View<'_>, tries: u64) -> Option<u64> {
    Some(view.profile.host.costs?.open_ns.saturating_mul(tries))
}

pub(crate) fn remedies(zone: Option<&SystemZone>) -> Vec<Remedy> {
    // A damaged zone file may stand for another zone than UTC.
    let utc = zone.is_none_or(|zone| zone.name.is_some());
    let price = "Takes effect at the next start. A zone file that is put there later is then \
                 ignored.";
    vec![
        Remedy {
            change: Change::SetEnv {
                variable: "TZ".to_owned(),
                value: utc.then(|| "UTC".to_owned()),
            },
            safety: Safety::Caveat(if utc {
                format!(
                    "The times stay as they are: without a zone file the program is in UTC now. \
                     {price}"
                )
            } else {
                format!("The value is the name of the zone that is meant. {price}")
            }),
        },
        Remedy {
            change: Change::Manual(
                "Install tzdata where the program runs and make /etc/localtime a link to the zone"
                    .to_owned(),
            ),
            safety: Safety::Manual(
                "Right if local times are wanted: they change from UTC to that zone.".to_owned(),
            ),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use needless_model::ZoneFile;

    /// Who sets UTC where another zone was meant gets other times.
    #[test]
    fn utc_is_said_to_change_nothing_only_where_it_is_the_zone() {
        let caveat = |name: Option<&str>| {
            let (file, how) = (ZoneFile::NotAZone("empty".to_owned()), String::new());
            let zone = SystemZone { file, name: name.map(str::to_owned), how, tzdata: true };
            let [set, ..] = &remedies(Some(&zone))[..] else { panic!("no remedy") };
            let Change::SetEnv { value, .. } = &set.change else { panic!("{set:?}") };
            (value.clone(), set.safety.sentence().contains("The times stay as they are"))
        };
        assert_eq!(caveat(Some("UTC")), (Some("UTC".to_owned()), true));
        assert_eq!(caveat(None), (None, false));
    }
}
