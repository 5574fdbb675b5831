//! ## What it finds
//!
//! Files, pipes and sockets that a program reads or writes a few bytes at a time, thousands of times: a JSON parser on a
//! file without a buffer, a `send` for each letter, a `write` for each line of a log. Standard input and standard output
//! have rules of their own.
//!
//! ## Why it happens
//!
//! Each call costs as much as the transfer of some thousand bytes. Languages whose files have no buffer of their own
//! (`File` of Rust, `os.File` of Go, `read(2)` in C) need one around them: `BufReader` and `BufWriter`, `bufio`, stdio.
//!
//! ## Example
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(3, "x", 1) = 1 <0.000002> x50000
//! ```
//! ```finding
//! small-transfers: 49993 of 50000
//! manual
//! ```
//!
//! A line of a log at a time:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(5, "2026-11-28 line\n", 16) = 16 <0.000004> x20000
//! ```
//! ```finding
//! small-transfers: 19960 of 20000
//! manual
//! ```
//!
//! ## Not a finding
//!
//! Blocks of a few kilobytes:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(3, "x"..., 4096) = 4096 <0.000002> x50000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Messages of several peers in turn, which must not be kept back:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/sbin/server", ["server"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 2000
//! sendto(5, "ok", 2, 0, NULL, 0) = 2 <0.000004>
//! sendto(7, "ok", 2, 0, NULL, 0) = 2 <0.000004>
//! sendto(6, "ok", 2, 0, NULL, 0) = 2 <0.000004>
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A terminal, which shows what is written at once:
//!
//! ```trace
//! facts +allcalls
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! write(2</dev/pts/3>, ".", 1) = 1 <0.000004> x20000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Put a buffer around it. What is written then arrives later, and is lost if the program is killed: flush it where
//! somebody waits for it, and after each line of a log that has to survive a crash. A descriptor that another program
//! reads afterwards must not be read ahead.
//!
//! ## References
//!
//! * `man 3 setvbuf`
//! * <https://doc.rust-lang.org/std/io/struct.BufReader.html>

use crate::engine::Case;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, Row, Sequence, Stage, WaitsOn};

pub(crate) const RULE: Rule = Rule {
    name: "small-transfers",
    summary: "A file, pipe or socket is read or written a few bytes at a time",
    needs: &[Fact::Outcomes, Fact::AllCalls],
    ..Rule::PLAIN
};

/// Fewer cost no noticeable time.
const FEWEST: u64 = 1000;
/// A shell reads a byte at a time on purpose, also from a descriptor of its own: as for standard input.
const FEWEST_OF_SHELL: u64 = 10_000;
/// More bytes than this a call, on the mean, are no small transfers.
const SMALL: u64 = 64;
/// The usual buffer of stdio, bufio and BufReader is 4 or 8 KiB.
const BUFFER: u64 = 8192;
const CALLS: [&str; 8] =
    ["read", "write", "pread64", "pwrite64", "recvfrom", "sendto", "recvmsg", "sendmsg"];

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    for call in CALLS {
        let mut cases = Vec::new();
        for id in view.ids() {
            let shell = super::unbuffered_input::SHELLS.contains(&view.process(id).name());
            let least = if shell { FEWEST_OF_SHELL } else { FEWEST };
            let rows =
                view.rows_of(id).filter(|(at, row)| !row.query.names_path() && !sink.taken(*at));
            for (at, row) in rows.filter(|(_, row)| view.profile.call(row) == call) {
                if row.count >= least
                    && is_small(row)
                    && helpers::is_much(view, id, row.count)
                    && !helpers::may_wait(view, (at, row))
                {
                    let with = row.sequence.returned.div_ceil(BUFFER).max(1);
                    let needless = row.count.saturating_sub(with);
                    cases.push(Case { process: id, needless, of: row.count, rows: vec![at] });
                }
            }
        }
        for (program, cases) in helpers::by_program(view, cases, FEWEST) {
            let rows: Vec<&Row> = cases
                .iter()
                .flat_map(|case| &case.rows)
                .map(|at| &view.profile.rows[*at])
                .collect();
            let bytes = rows.iter().map(|row| row.sequence.returned).sum::<u64>();
            let on =
                rows[0].sequence.descriptor.map_or(WaitsOn::Unknown, |descriptor| descriptor.on);
            let merged = helpers::merged(view, cases);
            let each = bytes / merged.of.max(1);
            let what = format!(
                "{} {call} calls of {} on {}; with a buffer of 8 KiB: {}",
                number(merged.of),
                if each <= 1 { "a byte".to_owned() } else { format!("about {each} bytes each") },
                noun(on),
                number(merged.of - merged.needless),
            );
            let why = format!(
                "{program} has no buffer there, so that each few bytes cost a call of their own."
            );
            let remedies = vec![helpers::by_hand(
                "Put a buffer around it: stdio, BufReader and BufWriter, bufio",
                "What is written then arrives later, and is lost if the program is killed: flush it where somebody waits \
                 for it.",
            )];
            sink.find(helpers::finding(merged, RULE.name, Stage::Seen, what, why, remedies));
        }
    }
}

/// Whether all calls of a row are transfers that bring many bytes each, on the mean: these are needed.
pub(crate) fn are_large(call: &str, row: &Row) -> bool {
    let Sequence { calls, zero, returned, .. } = row.sequence;
    CALLS.contains(&call)
        && row.ok()
        && calls == row.count
        && returned > 0
        && returned >= SMALL * (calls - zero)
}

/// Whether the calls of a row are small, one after the other on one descriptor, and without a pause.
fn is_small(row: &Row) -> bool {
    let sequence = &row.sequence;
    // Where it is not known what a standard stream is, it may be a terminal.
    let on = sequence.descriptor.map_or(WaitsOn::Unknown, |descriptor| descriptor.on);
    let terminal = on == WaitsOn::Terminal || on == WaitsOn::Unknown && sequence.first <= 2;
    let most = |part: u64, of: u64| part * 10 >= of * 9;
    row.ok()
        && !terminal
        && sequence.calls > 0
        && sequence.returned > 0
        && sequence.returned < SMALL * (sequence.calls - sequence.zero)
        && most(sequence.same, sequence.calls)
        && most(sequence.calls - sequence.zero, sequence.calls)
        && most(sequence.at_once, sequence.timed)
}

fn noun(on: WaitsOn) -> &'static str {
    match on {
        WaitsOn::Pipe => "a pipe",
        WaitsOn::Socket | WaitsOn::NameServer => "a socket",
        WaitsOn::File => "a file",
        WaitsOn::Unknown | WaitsOn::Terminal => "one descriptor",
    }
}
