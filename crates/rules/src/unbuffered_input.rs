//! ## What it finds
//!
//! Programs that read standard input byte by byte: `dd bs=1`, `sed -u`, a loop around `getchar()`
//! without a buffer.
//!
//! ## Why it happens
//!
//! Each byte costs a call. That is needed only where several programs share one input and none may
//! take more than its part. Shells read so for this reason, and are not reported.
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
//! A shell that reads lines from a pipe, for which POSIX demands it:
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
//! `dd bs=64K`, with `iflag=skip_bytes,count_bytes` where bytes are counted; no `-u`; a buffer in
//! the program. Not where another program reads the same input afterwards: what was read ahead is
//! gone.
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
    variables: &[],
    correctness: false,
    pedantic: false,
    page: include_str!("unbuffered_input.rs"),
    check,
};

/// Fewer are read in no time.
const FEWEST: u64 = 500;
/// POSIX has them read a byte at a time what is not a file: the commands that they run share it.
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
            "What is read ahead is gone for a program that reads the same input afterwards.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Seen, what, why, remedies));
    }
}
