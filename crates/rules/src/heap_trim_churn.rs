//! ## What it finds
//!
//! Programs whose heap grows and shrinks again and again: memory is freed, given back to the
//! kernel, and requested again a moment later.
//!
//! ## Why it happens
//!
//! glibc gives memory at the end of the heap back when more than 128 KiB of it are free. A program
//! that allocates and frees a few hundred kilobytes in each round pays for two calls in each round
//! and, which costs more, for new pages: the benchmark in the reference had 392,546 page faults,
//! and 388 without trimming.
//!
//! ## Example
//!
//! ```trace
//! libc glibc 2.36
//! env -MALLOC_TRIM_THRESHOLD_
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! brk(0x34ab5000) = 0x34ab5000
//! brk(0x34a8d000) = 0x34a8d000
//! end
//! ```
//! ```finding
//! heap-trim-churn: 998 of 1000
//! stage explained
//! set MALLOC_TRIM_THRESHOLD_=268435456
//! ```
//!
//! A setting in GLIBC_TUNABLES overrides the variable:
//!
//! ```trace
//! libc glibc 2.36
//! env GLIBC_TUNABLES=glibc.malloc.trim_threshold=4096
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! brk(0x34ab5000) = 0x34ab5000
//! brk(0x34a8d000) = 0x34a8d000
//! end
//! ```
//! ```finding
//! heap-trim-churn: 998 of 1000
//! stage explained
//! manual
//! ```
//!
//! ## Not a finding
//!
//! A heap that grows; a program that frees all at its end:
//!
//! ```trace
//! libc glibc 2.36
//! execve("/usr/bin/perl", ["perl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! brk(0x34a00000) = 0x34a00000
//! brk(0x34a21000) = 0x34a21000
//! brk(0x34a42000) = 0x34a42000
//! brk(0x34a63000) = 0x34a63000
//! brk(0x34a84000) = 0x34a84000
//! brk(0x34aa5000) = 0x34aa5000
//! brk(0x34ac6000) = 0x34ac6000
//! brk(0x34ae7000) = 0x34ae7000
//! brk(0x34a00000) = 0x34a00000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A set-user-ID program, which ignores the variables:
//!
//! ```trace
//! secure
//! libc glibc 2.36
//! execve("/usr/bin/su", ["su"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! brk(0x34ab5000) = 0x34ab5000
//! brk(0x34a8d000) = 0x34a8d000
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ and MALLOC_TOP_PAD_ together (or the same
//! settings in GLIBC_TUNABLES): one of them alone turns off glibc's own adjustment, and can make it
//! worse. Do not do this in a container with a tight memory limit: the program keeps the memory
//! that it once had, and may be killed. MALLOC_ARENA_MAX does not help: it turned 5,601 calls into
//! 7,002.
//!
//! ## References
//!
//! * `man 3 mallopt`
//! * <https://github.com/cloudflare/cf_benchmark/pull/2>

use crate::details;
use crate::helpers;
use crate::search;
use crate::select::Case;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Fact, Libc, Process, Remedy, Row, Safety, Stage};
use std::collections::BTreeMap;

pub(crate) const RULE: Rule = Rule {
    name: "heap-trim-churn",
    summary: "Memory is given back to the kernel and taken again, over and over",
    needs: &[Fact::Details, Fact::Outcomes],
    variables: &[
        "MALLOC_TRIM_THRESHOLD_",
        "MALLOC_MMAP_THRESHOLD_",
        "MALLOC_TOP_PAD_",
        "GLIBC_TUNABLES",
    ],
    page: include_str!("heap_trim_churn.rs"),
    check,
    ..Rule::PLAIN
};

/// Fewer are not worth a change.
const FEWEST: u64 = 500;
const THRESHOLD: &str = "268435456";

fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let process = view.process(id);
        let tuned = |name: &str| process.env.value(name).is_some();
        let reached = search::heeds_variables(process)
            && *view.libc(id) != Libc::Musl
            && !tuned("MALLOC_TRIM_THRESHOLD_");
        let up = details::rows_of(view, id, ArgClass::HeapGrows);
        let down = details::rows_of(view, id, ArgClass::HeapShrinks);
        let sum = |rows: &[(usize, &Row)]| rows.iter().map(|(_, row)| row.count).sum::<u64>();
        let (grows, shrinks) = (sum(&up), sum(&down));
        // A heap that grows in many steps and shrinks now and then is in normal use.
        if reached && shrinks >= FEWEST && shrinks * 4 >= grows {
            let rows = up.iter().chain(&down).map(|(at, _)| *at).collect();
            // To its full size once, and back at the end.
            cases.push(Case {
                process: id,
                needless: grows + shrinks - 2,
                of: grows + shrinks,
                rows,
            });
        }
    }
    let mut by_tunable: BTreeMap<Option<&str>, Vec<Case>> = BTreeMap::new();
    for case in cases {
        by_tunable.entry(tunable(view.process(case.process))).or_default().push(case);
    }
    let programs = by_tunable.into_iter().flat_map(|(set, cases)| {
        helpers::by_program(view, cases, FEWEST).into_iter().map(move |found| (set, found))
    });
    for (set, (program, cases)) in programs {
        let glibc = matches!(view.libc(cases[0].process), Libc::Glibc(_));
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} calls give memory back to the kernel and take it again",
            number(merged.needless)
        );
        let keeps = match set {
            None => "(128 KiB)".to_owned(),
            Some(set) => format!("with {set} in GLIBC_TUNABLES"),
        };
        let why = format!(
            "{program} frees and allocates more than glibc keeps at the end of its heap {keeps}, \
             over and over; each round costs new pages, too."
        );
        let remedies = match set {
            None => remedies(),
            Some(set) => vec![helpers::by_hand(
                &format!(
                    "in GLIBC_TUNABLES, which has {set}, set glibc.malloc.trim_threshold={THRESHOLD}"
                ),
                "GLIBC_TUNABLES overrides MALLOC_TRIM_THRESHOLD_. The program then keeps the memory \
                 that it once had: in a container with a tight limit it may be killed.",
            )],
        };
        let stage = if glibc { Stage::Explained } else { Stage::Seen };
        sink.find(helpers::finding(merged, RULE.name, stage, what, why, remedies));
    }
}

/// The setting in GLIBC_TUNABLES that decides how much of the heap is kept: each of these also
/// turns off glibc's own adjustment.
pub(crate) fn tunable(process: &Process) -> Option<&str> {
    let names = ["trim_threshold", "top_pad", "mmap_threshold", "mmap_max"];
    let decides = |setting: &&str| {
        let name = setting.strip_prefix("glibc.malloc.").and_then(|rest| rest.split_once('='));
        name.is_some_and(|(name, _)| names.contains(&name))
    };
    process.env.value("GLIBC_TUNABLES")?.split(':').find(decides)
}

/// Two variables, the one that matters most first. A third does nothing by itself.
pub(crate) fn remedies() -> Vec<Remedy> {
    let price = "The program keeps the memory that it once had: in a container with a tight limit \
                 it may be killed. Set MALLOC_MMAP_THRESHOLD_=268435456 as well: without it glibc \
                 maps each block above 128 KiB separately (man 3 mallopt).";
    let caveat = || Safety::Caveat(price.to_owned());
    vec![
        helpers::set("MALLOC_TRIM_THRESHOLD_", THRESHOLD, caveat()),
        helpers::set("MALLOC_TOP_PAD_", "16777216", caveat()),
    ]
}
