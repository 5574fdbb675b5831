//! What the table of the riddle shows, in sentences. Each is printed only if the figures show it.

use super::riddle::{FUNCTIONS, RiddleRow, SETTINGS};
use crate::measure::busy;
use needless_localtime::Zone;
use std::time::{SystemTime, UNIX_EPOCH};

/// How many times more a row must cost before a sentence says so: more than measurements vary.
pub(super) const CLEARLY: f64 = 1.4;

/// The least share of kernel time that counts: starting to measure takes some, too.
const SOME: f64 = 0.1;

struct Lines<'a> {
    lines: &'a [RiddleRow],
    calls: f64,
}

impl Lines<'_> {
    fn line(&self, setting: &str, function: &str) -> Option<&RiddleRow> {
        let is = |line: &&RiddleRow| {
            SETTINGS[line.setting].name == setting && FUNCTIONS[line.function] == function
        };
        self.lines.iter().find(is)
    }

    /// Nanoseconds of CPU time of one call.
    fn ns(&self, setting: &str, function: &str) -> Option<f64> {
        Some(self.line(setting, function)?.own.spent.cpu() as f64 / self.calls)
    }
}

pub(super) fn notes(calls: u64, lines: &[RiddleRow]) -> Vec<String> {
    let mut notes = vec![busy(lines.iter().map(|line| &line.own.spent))];
    let lines = &Lines { lines, calls: calls as f64 };
    // The sentences explain glibc; another library has only its figures.
    if lines.lines.iter().all(|line| line.own.library.starts_with("glibc")) {
        notes.extend([stat(lines), link(lines), footer(lines), detour(lines), preloaded(lines)]);
    }
    notes.into_iter().flatten().collect()
}

fn stat(lines: &Lines<'_>) -> Option<String> {
    let unset =
        lines.line("unset, symlink", "localtime").or(lines.line("unset, file", "localtime"))?;
    let name = SETTINGS[unset.setting].name;
    let (slow, fast) = (lines.ns(name, "localtime")?, lines.ns(":Asia/Tokyo", "localtime")?);
    let asks = unset.asks?;
    let share = unset.own.spent.sys as f64 / unset.own.spent.cpu().max(1) as f64;
    (asks >= 0.99 && share > SOME && slow > fast * CLEARLY).then(|| {
        format!(
            "localtime() with TZ unset ({name}) takes {slow:.0} ns of CPU time, {:.0} % of it in the kernel: {asks:.0} \
             system call for each conversion, to see whether /etc/localtime has changed. With TZ=:Asia/Tokyo there \
             is none, and it takes {fast:.0} ns.",
            share * 100.0
        )
    })
}

fn link(lines: &Lines<'_>) -> Option<String> {
    let (link, file) =
        (lines.ns("unset, symlink", "localtime")?, lines.ns("unset, file", "localtime")?);
    (link > file * 1.1).then(|| {
        format!(
            "If /etc/localtime is a link, the kernel follows it each time: {:.0} ns more.",
            link - file
        )
    })
}

/// The first half of the riddle.
fn footer(lines: &Lines<'_>) -> Option<String> {
    let tokyo = lines.line(":Asia/Tokyo", "localtime_r")?;
    let (slow, fast) = (lines.ns(":Asia/Tokyo", "localtime_r")?, lines.ns("JST-9", "localtime_r")?);
    let universal = lines.ns(":Asia/Tokyo", "gmtime")?;
    if tokyo.asks != Some(0.0) || slow < fast * CLEARLY || slow < universal * CLEARLY {
        return None;
    }
    let file = std::fs::read(crate::subject::TOKYO).ok()?;
    let zone = Zone::from_tzif(&file).ok()?;
    // RFC 9636, section 3: the file ends with a line that holds the rule for all times after its transitions.
    let rule = String::from_utf8_lossy(file.rsplit(|byte| *byte == b'\n').nth(1)?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs().try_into().ok()?;
    // The rule of Tokyo never changes the clock, so what holds now begins with the last transition.
    let (_, since) = zone.type_around(now)?;
    zone.is_by_rules(now).then(|| {
        format!(
            "localtime_r() makes no system call, but takes {:.1} times as long as gmtime() under :Asia/Tokyo \
             ({slow:.0} ns and {universal:.0} ns). Under JST-9, which gives the same local times, it takes {fast:.0} ns. The \
             transitions in Tokyo's file are all in the past (the last was in {}), so the text at its end, \"{rule}\", \
             holds today, and glibc parses and evaluates that text again at each call. If TZ is such a text itself, glibc \
             parses it once.",
            slow / universal,
            year(since.start),
        )
    })
}

/// The second half of the riddle.
fn detour(lines: &Lines<'_>) -> Option<String> {
    let (rule, file) = (lines.ns("JST-9", "gmtime")?, lines.ns(":Asia/Tokyo", "gmtime")?);
    let asks_nothing = lines.line("JST-9", "gmtime")?.asks == Some(0.0);
    (asks_nothing && rule > file * 1.15).then(|| {
        format!(
            "gmtime() needs no zone, but takes {rule:.0} ns under JST-9 and {file:.0} ns under :Asia/Tokyo, without a \
             system call: if TZ is a rule and not a file, glibc splits the time into fields and applies the rule also for \
             UTC, then discards the result and splits the time again."
        )
    })
}

fn preloaded(lines: &Lines<'_>) -> Option<String> {
    let line = lines.line("unset, symlink", "localtime")?;
    let with = line.preloaded.as_ref()?.spent.cpu().max(1) as f64;
    let ratio = line.own.spent.cpu() as f64 / with;
    (ratio > CLEARLY).then(|| {
        format!(
            "With needless preload and TZ unset, the C library is asked for conversions that do not look at the file, but once a \
             second: localtime() is {ratio:.0} times as fast."
        )
    })
}

/// The year of a moment, by the mean length of years: exact enough for a transition in the middle of a year.
fn year(seconds: i64) -> i64 {
    1970 + seconds.div_euclid(31_556_952)
}
