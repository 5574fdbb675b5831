//! What several tests share: a profile in words, a table of `strace -c` by hand.

use needless_model::{Profile, Row, Target};
use needless_strace_log::{ReadOptions, read};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The variables that the tests watch.
pub(crate) fn read_options() -> ReadOptions {
    ReadOptions { watch: ["TZ", "LANG"].into(), ..ReadOptions::default() }
}

/// Calls and errors by name.
pub(crate) type Counts = BTreeMap<String, (u64, u64)>;

/// Calls and errors of a profile by name.
pub(crate) fn counts(profile: &Profile) -> Counts {
    let mut counts = Counts::new();
    for row in &profile.rows {
        let sum = counts.entry(profile.call(row).to_owned()).or_default();
        sum.0 += row.count;
        sum.1 += if row.ok() { 0 } else { row.count };
    }
    counts
}

/// Calls and errors of the table that `strace -C` appends to a log; `None` without one. Reads by
/// column, as the table is printed, and not as the crate does.
pub(crate) fn table(log: &str) -> Option<Counts> {
    let mut counts = Counts::new();
    let mut lines = log.lines().skip_while(|l| !l.starts_with("% time"));
    lines.next()?;
    lines.next()?;
    for line in lines.take_while(|l| !l.starts_with("---")) {
        let number = |from: usize, to: usize| line[from..to].trim().parse::<u64>().unwrap_or(0);
        counts.insert(line[51..].trim().to_owned(), (number(31, 41), number(41, 51)));
    }
    Some(counts)
}

/// Everything of a profile that a reader of a test's expectation can follow, in a fixed order.
pub(crate) fn words(profile: &Profile) -> String {
    let mut out = String::new();
    let facts: Vec<&str> = needless_model::Fact::ALL
        .iter()
        .filter(|f| profile.facts.has(**f))
        .map(|f| f.words())
        .collect();
    writeln!(out, "{}: {}", profile.backend, facts.join(", ")).unwrap();
    let clock = if profile.window.length_ns.is_some() { ", with a length" } else { "" };
    writeln!(
        out,
        "{} calls, {} with a path{clock}",
        profile.totals.calls, profile.totals.path_calls
    )
    .unwrap();
    for (id, p) in profile.processes.iter().enumerate() {
        let parent = p.parent.map_or("no parent".into(), |p| p.0.to_string());
        let exe = p.exe.as_deref().unwrap_or("?");
        let own: Vec<_> = profile.rows.iter().filter(|r| r.process.index() == id).collect();
        let calls: u64 = own.iter().map(|r| r.count).sum();
        writeln!(
            out,
            "process {id}: {:?} of {parent}, {exe}, {:?}, {:?}, exit {:?}, {calls} calls",
            p.born, p.libc, p.env, p.exit
        )
        .unwrap();
        for row in own.iter().filter(|r| r.target != Target::None) {
            let outcome = match row.outcome {
                Some(Ok(())) => "ok",
                Some(Err(errno)) => errno.name(),
                None => "unseen",
            };
            let path = match row.target {
                Target::Cwd(_) => format!("(cwd) {}", profile.path(row)),
                Target::Dir(_) => format!("(dir) {}", profile.path(row)),
                _ => profile.path(row).to_owned(),
            };
            writeln!(
                out,
                "  {} {:?} {path} {outcome} x{}, {} repeated, {} timed, {} places",
                profile.call(row),
                row.query,
                row.count,
                row.repeated,
                row.timed,
                row.sites.len()
            )
            .unwrap();
        }
    }
    for (what, n) in &profile.lost {
        writeln!(out, "lost {what} {n}").unwrap();
    }
    for note in &profile.notes {
        writeln!(out, "note {note}").unwrap();
    }
    out
}

/// Of a log that is not refused.
pub(crate) fn profile(text: impl AsRef<[u8]>) -> Profile {
    read(text.as_ref(), "log", &read_options()).unwrap_or_else(|error| panic!("{error}"))
}

/// The row of the first call about `path`.
pub(crate) fn row<'a>(profile: &'a Profile, path: &str) -> &'a Row {
    profile.rows.iter().find(|r| profile.path(r) == path).unwrap_or_else(|| panic!("no {path}"))
}
