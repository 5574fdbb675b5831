//! ## What it finds
//!
//! Programs that read standard input byte by byte: `dd bs=1`, `sed -u`, a loop around `getchar()`
//! without a buffer.
//!
//! ## Why it happens
//!
//! Each byte costs a call. That is needed only where several programs share one input and none may
//! take more than its part. The `read` of a shell reads like this for that reason: from a pipe always,
//! in dash from a file too. It is no fault of the environment, and reported only where a loop has read
//! tens of thousands of bytes: then another command for the same work is worth a thought.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/dd", ["dd"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(0, "x", 1) = 1 x3000
//! ```
//! ```finding
//! unbuffered-input: 2999 of 3000
//! manual
//! ```
//!
//! A long loop around `read` in a shell:
//!
//! ```trace
//! execve("/usr/bin/dash", ["dash"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(0, "x", 1) = 1 x30000
//! ```
//! ```finding
//! unbuffered-input: 29999 of 30000
//! stage explained
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A shell that reads a few lines from a pipe, as POSIX demands:
//!
//! ```trace
//! execve("/usr/bin/bash", ["bash"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(0, "x", 1) = 1 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Blocks of any size:
//!
//! ```trace
//! execve("/usr/bin/dd", ["dd"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! read(0, "x"..., 512) = 512 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Use `dd bs=64K`, with `iflag=fullblock,skip_bytes,count_bytes` if bytes are counted: without
//! `fullblock` a short read from a pipe counts as a block. Drop `-u`; add a buffer to the program. Do
//! not do this if another program reads the same input afterwards: it would not get what was read
//! ahead. In a shell let one command take the whole input: `awk` or `xargs`; the commands of a loop
//! that read the same input have to be changed with it. `mapfile` of bash does not help: from a pipe
//! it reads a byte at a time, too.
//!
//! ## References
//!
//! * `man 1 dd`
//! * POSIX.1-2024, `read()`, and the shell's `read`

use crate::engine::Case;
use crate::engine::details;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Fact, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "unbuffered-input",
    summary: "Standard input is read a few bytes at a time",
    needs: &[Fact::Details, Fact::Outcomes],
    ..Rule::PLAIN
};

/// Fewer cost no noticeable time.
const FEWEST: u64 = 500;
/// A shell reads like this on purpose: only a long loop is worth another script.
const FEWEST_OF_SHELL: u64 = 10_000;
/// POSIX makes them read input that is not a file a byte at a time: the commands that they run
/// share it.
pub(super) const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ksh", "mksh", "zsh", "busybox", "ash"];

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = details::storms(view, &[ArgClass::TinyInput], FEWEST);
    let is_shell = |case: &Case| SHELLS.contains(&view.process(case.process).name());
    let loops: Vec<Case> = cases.extract_if(.., |case| is_shell(case)).collect();
    for (program, cases) in helpers::by_program(view, loops, FEWEST_OF_SHELL) {
        let merged = helpers::merged(view, cases);
        let what = format!("{} reads of a byte each, by the shell's read", number(merged.needless));
        let why = format!(
            "{program} reads its input line by line with read, which may not take more than the line: \
             the other commands of the script share the input. The environment cannot change that."
        );
        let remedies = vec![helpers::by_hand(
            "Let one command read the whole input: awk or xargs",
            "A change of the script; commands in the loop that read the same input need a change, too.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} reads of standard input for a few bytes each", number(merged.needless));
        let why = format!("{program} reads its input without a buffer, a few bytes at a time.");
        let remedies = vec![helpers::by_hand(
            "Read in larger blocks (dd bs=64K iflag=fullblock,skip_bytes,count_bytes), and drop options such as -u",
            "A program that reads the same input afterwards does not get what was read ahead.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Seen, what, why, remedies));
    }
}
