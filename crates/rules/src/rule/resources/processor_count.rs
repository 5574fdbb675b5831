//! ## What it finds
//!
//! Programs that ask, many times, how many processors there are.
//!
//! ## Why it happens
//!
//! `sysconf(_SC_NPROCESSORS_ONLN)` and `get_nprocs()` open, read and close
//! /sys/devices/system/cpu/online at each call, in every recent version of glibc but 2.34.
//! Allocators and thread pools that ask at each decision pay this each time.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/sys/devices/system/cpu/online", O_RDONLY|O_CLOEXEC) = 3 x300
//! ```
//! ```finding
//! processor-count: 299 of 300
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A few libraries at the start:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/sys/devices/system/cpu/online", O_RDONLY|O_CLOEXEC) = 3 x8
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! The program, or the library that asks, has to remember the number. Some take it from a variable
//! and then do not ask: OMP_NUM_THREADS, OPENBLAS_NUM_THREADS, RAYON_NUM_THREADS. Do not do this
//! where processors come and go (virtual machines that are resized): the program would keep the old
//! number.
//!
//! ## References
//!
//! * `man 3 get_nprocs`

use crate::engine::helpers;
use crate::{Rule, Sink, View};
use needless_model::Stage;

pub(crate) const RULE: Rule = Rule {
    name: "processor-count",
    summary: "The number of processors is read from /sys again and again",
    mentions: &[ONLINE],
    ..Rule::PLAIN
};

const ONLINE: &str = "/sys/devices/system/cpu/online";

/// Each of a few libraries may ask.
const FEWEST: u64 = 100;

/// open, read and close.
const CALLS: u64 = 3;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = helpers::rereads(view, sink, |_| true, |path| path == ONLINE);
    cases.retain(|case| case.needless >= FEWEST);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} reads of the number of processors repeat an earlier one", merged.counts());
        let why = format!(
            "{program} calls get_nprocs() or sysconf() where it could remember the number."
        );
        let remedies = vec![helpers::by_hand(
            "Let the program remember the number, or set it with the variable of its thread pool",
            "A change of code or configuration; processors that come and go are then not seen.",
        )];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
