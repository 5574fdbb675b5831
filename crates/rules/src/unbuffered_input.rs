//! ## What it finds
//!
//! Programs that read standard input byte by byte: `dd bs=1`, `sed -u`, a loop around `getchar()`
//! without a buffer.
//!
//! ## Why it happens
//!
//! Each byte costs a call. That is needed only where several programs share one input and none may
//! take more than its part. Shells read like this for that reason, and are not reported.
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
//! ## Not a finding
//!
//! A shell that reads lines from a pipe, as POSIX demands:
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
//! Use `dd bs=64K`, with `iflag=skip_bytes,count_bytes` if bytes are counted; drop `-u`; add a
//! buffer to the program. Do not do this if another program reads the same input afterwards: it
//! would not get what was read ahead.
//!
//! ## References
//!
//! * `man 1 dd`
//! * POSIX.1-2024, `read()`, and the shell's `read`

use crate::details;
use crate::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Fact, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "unbuffered-input",
    summary: "Standard input is read a few bytes at a time",
    needs: &[Fact::Details, Fact::Outcomes],
    page: include_str!("unbuffered_input.rs"),
    check,
    ..Rule::PLAIN
};

/// Fewer cost no noticeable time.
const FEWEST: u64 = 500;
/// POSIX makes them read input that is not a file a byte at a time: the commands that they run
/// share it.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ksh", "mksh", "zsh", "busybox", "ash"];

fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = details::storms(view, &[ArgClass::TinyInput], FEWEST);
    cases.retain(|case| !SHELLS.contains(&view.process(case.process).name()));
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} reads of standard input for a few bytes each", number(merged.needless));
        let why = format!("{program} reads its input without a buffer, a few bytes at a time.");
        let remedies = vec![helpers::by_hand(
            "Read in larger blocks (dd bs=64K iflag=skip_bytes,count_bytes), and drop options such as -u",
            "A program that reads the same input afterwards does not get what was read ahead.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Seen, what, why, remedies));
    }
}
