//! What the table of the riddle shows, in sentences: each only if the figures are so.

use super::riddle::{FUNCTIONS, Line, SETTINGS};
use crate::measure::busy;
use needless_report::Told;
use std::time::{SystemTime, UNIX_EPOCH};

/// How much dearer a row must be before anything is said of it: more than machines waver.
pub(super) const CLEARLY: f64 = 1.4;

/// Kernel time that counts as some; below it is what starting to measure takes.
const SOME: f64 = 0.1;

struct Lines<'a> {
    lines: &'a [Line],
    calls: f64,
}

impl Lines<'_> {
    fn line(&self, setting: &str, function: &str) -> Option<&Line> {
        let is = |line: &&Line| {
            SETTINGS[line.setting].name == setting && FUNCTIONS[line.function] == function
        };
        self.lines.iter().find(is)
    }

    /// Nanoseconds of CPU time of one call.
    fn ns(&self, setting: &str, function: &str) -> Option<f64> {
        Some(self.line(setting, function)?.own.spent.cpu() as f64 / self.calls)
    }
}

pub(super) fn tell(calls: u64, lines: &[Line], told: &mut Told) {
    told.says.extend(busy(lines.iter().map(|line| &line.own.spent)));
    let lines = &Lines { lines, calls: calls as f64 };
    let glibc = lines.lines.iter().all(|line| line.own.library.starts_with("glibc"));
    // The mechanisms are those of glibc: of another library only its figures are told.
    if !glibc {
        return;
    }
    let says = [stat(lines), link(lines), footer(lines), detour(lines), engine(lines)];
    told.says.extend(says.into_iter().flatten());
}

fn stat(lines: &Lines<'_>) -> Option<String> {
    let unset =
        lines.line("unset, symlink", "localtime").or(lines.line("unset, file", "localtime"))?;
    let name = SETTINGS[unset.setting].name;
    let (dear, cheap) = (lines.ns(name, "localtime")?, lines.ns(":Asia/Tokyo", "localtime")?);
    let asks = unset.asks?;
    let share = unset.own.spent.sys as f64 / unset.own.spent.cpu().max(1) as f64;
    (asks >= 0.99 && share > SOME && dear > cheap * CLEARLY).then(|| {
        format!(
            "localtime() with TZ unset ({name}) takes {dear:.0} ns of CPU time, {:.0} % of it in the kernel: {asks:.0} \
             system call for each conversion, to see whether /etc/localtime has changed. With TZ=:Asia/Tokyo there \
             is none, and it takes {cheap:.0} ns.",
            share * 100.0
        )
    })
}

fn link(lines: &Lines<'_>) -> Option<String> {
    let (link, file) =
        (lines.ns("unset, symlink", "localtime")?, lines.ns("unset, file", "localtime")?);
    (link > file * 1.1).then(|| {
        format!(
            "Where /etc/localtime is a link the kernel follows it each time: {:.0} ns more.",
            link - file
        )
    })
}

/// The riddle's first half.
fn footer(lines: &Lines<'_>) -> Option<String> {
    let tokyo = lines.line(":Asia/Tokyo", "localtime_r")?;
    let (dear, cheap) =
        (lines.ns(":Asia/Tokyo", "localtime_r")?, lines.ns("JST-9", "localtime_r")?);
    let universal = lines.ns(":Asia/Tokyo", "gmtime")?;
    if tokyo.asks != Some(0.0) || dear < cheap * CLEARLY || dear < universal * CLEARLY {
        return None;
    }
    let zone = needless_host::stored(&std::fs::read(crate::subject::TOKYO).ok()?)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    let past = zone.last.is_none_or(|last| last < i64::try_from(now).unwrap_or(i64::MAX));
    (past && !zone.footer.is_empty()).then(|| {
        format!(
            "localtime_r() makes no system call, and yet takes {:.1} times as long as gmtime() under :Asia/Tokyo \
             ({dear:.0} ns and {universal:.0} ns). Under JST-9, which gives the same local times, it takes {cheap:.0} ns. The \
             transitions that Tokyo's file stores are all in the past (the last of them was {}), so the text at its \
             end, \"{}\", is what holds today, and glibc reads and evaluates that text anew at each call; a TZ that is such a \
             text itself is read once.",
            dear / universal,
            zone.last.map_or("never".into(), |last| format!("in {}", year(last))),
            zone.footer
        )
    })
}

/// The riddle's second half.
fn detour(lines: &Lines<'_>) -> Option<String> {
    let (rule, file) = (lines.ns("JST-9", "gmtime")?, lines.ns(":Asia/Tokyo", "gmtime")?);
    let asks_nothing = lines.line("JST-9", "gmtime")?.asks == Some(0.0);
    (asks_nothing && rule > file * 1.15).then(|| {
        format!(
            "gmtime() knows no zone, and yet takes {rule:.0} ns under JST-9 and {file:.0} ns under :Asia/Tokyo, without a \
             system call: where TZ is a rule and not a file, glibc splits the time into fields and applies the rule for \
             UTC, too, only to throw the result away and split it once more."
        )
    })
}

fn engine(lines: &Lines<'_>) -> Option<String> {
    let ratio = |setting, function| {
        let line = lines.line(setting, function)?;
        let engine = line.engine.as_ref()?.spent.cpu().max(1);
        Some(line.own.spent.cpu() as f64 / engine as f64)
    };
    let ratios = [
        ("localtime() with TZ unset", ratio("unset, symlink", "localtime")),
        ("localtime_r() under :Asia/Tokyo", ratio(":Asia/Tokyo", "localtime_r")),
        ("gmtime() under JST-9", ratio("JST-9", "gmtime")),
    ];
    let faster: Vec<String> = ratios
        .into_iter()
        .filter_map(|(what, ratio)| Some((what, ratio.filter(|ratio| *ratio > CLEARLY)?)))
        .map(|(what, ratio)| format!("{what} {ratio:.0} times"))
        .collect();
    (!faster.is_empty()).then(|| {
        format!("With the engine preloaded, TZ as it is, calls are faster: {}.", faster.join(", "))
    })
}

/// The year of a moment, by the mean length of years: near enough for a transition in its middle.
fn year(seconds: i64) -> i64 {
    1970 + seconds.div_euclid(31_556_952)
}
