//! ## What it finds
//!
//! Programs that give memory back to the kernel and request it again a moment later, again and again:
//! their heap grows and shrinks, or they map a large block for each temporary result.
//!
//! ## Why it happens
//!
//! glibc gives memory at the end of the heap back when more than 128 KiB of it are free. A program
//! that allocates and frees a few hundred kilobytes in each round pays for two calls in each round
//! and, which costs more, for new pages: the benchmark in the reference had 392,546 page faults,
//! and 388 without trimming.
//!
//! A block of more than 32 MiB glibc maps separately, and unmaps it when it is freed; smaller ones it
//! keeps from the second time on. Python with 60 strings of 40 MB, one after the other, had 586,783
//! page faults and took 1.32 s of CPU time; with the blocks on the heap and kept there, 10,645 and
//! 0.22 s.
//!
//! Where page faults and the memory that was given back are counted (not in a log), the time of the
//! finding includes them: as many as there were faults, and at most as many as pages were given back,
//! times the cost of a page on this machine.
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
//! stage seen
//! set MALLOC_TRIM_THRESHOLD_=268435456
//! ```
//!
//! The stage is `seen`: a program that calls malloc_trim() or sbrk() by itself makes the same calls, and these
//! remain: with the advised value, a loop of malloc_trim(0) kept 5,998 of its 8,997 calls, and a loop of
//! sbrk() all of them.
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
//! stage seen
//! manual
//! ```
//!
//! Large blocks, one for each temporary result:
//!
//! ```trace
//! libc glibc 2.36
//! env -GLIBC_TUNABLES
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! mmap(NULL, 40001536, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f1a00000000
//! munmap(0x7f1a00000000, 40001536) = 0
//! end
//! ```
//! ```finding
//! heap-trim-churn: 998 of 1000
//! stage seen
//! manual
//! ```
//!
//! That is from a log, which does not show whether the blocks are touched. `needless run` counts page
//! faults; where the blocks are touched it advises
//! `GLIBC_TUNABLES=glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1073741824`.
//!
//! ## Not a finding
//!
//! Large blocks of another allocator, which has settings of its own: MAP_NORESERVE.
//!
//! ```trace
//! libc glibc 2.36
//! execve("/usr/bin/node", ["node"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! mmap(NULL, 40001536, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS|MAP_NORESERVE, -1, 0) = 0x7f1a00000000
//! munmap(0x7f1a00000000, 40001536) = 0
//! end
//! ```
//! ```finding
//! nothing
//! ```
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
//! For a heap that grows and shrinks: set MALLOC_TRIM_THRESHOLD_, MALLOC_MMAP_THRESHOLD_ and MALLOC_TOP_PAD_ together (or the same
//! settings in GLIBC_TUNABLES): one of them alone turns off glibc's own adjustment, and can make it
//! worse. Do not do this in a container with a tight memory limit: the program keeps the memory
//! that it once had, and may be killed. For large blocks two settings are needed at once, so they are
//! advised as one variable, GLIBC_TUNABLES, which glibc has known since 2.26; other C libraries and
//! allocators (jemalloc, tcmalloc) ignore it. Memory that is kept is not zero: a program that asks for
//! large blocks of zeroes (calloc) and hardly touches them gets slower: 60 times `bytes(40_000_000)` in
//! Python took 13 ms, and 184 ms with the settings. Where page faults are known, blocks of which less
//! than half is touched are therefore no finding. MALLOC_ARENA_MAX does not help: it turned 5,601 calls into
//! 7,002.
//!
//! ## References
//!
//! * `man 3 mallopt`
//! * <https://github.com/cloudflare/cf_benchmark/pull/2>

use crate::engine::details;
use crate::engine::helpers;
use crate::engine::{Case, Merged};
use crate::engine::{kernel_time, scale};
use crate::text::{count, number};
use crate::{Rule, Sink, View};
use needless_model::{
    ArgClass, Fact, Finding, Libc, ProcId, Process, Remedy, Row, Runtime, Safety, Stage,
};
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
    ..Rule::PLAIN
};

/// Where page faults are not known, fewer rounds of the heap are not worth a change.
const FEWEST: u64 = 500;
/// The same for large blocks.
const FEWEST_BLOCKS: u64 = 100;
/// As few rounds are enough if they fault in many pages.
const FEWEST_OF_PAGES: u64 = 10;
/// As many pages take some ten milliseconds.
const MANY_PAGES: u64 = 10_000;
/// The smallest page of any architecture.
const PAGE: u64 = 4096;
const THRESHOLD: &str = "268435456";

/// How programs give memory back: what one remedy is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Kind<'p> {
    /// The setting in GLIBC_TUNABLES that decides about it.
    tunable: Option<&'p str>,
    /// Large blocks, and not only the end of the heap.
    blocks: bool,
}

/// A process that gives memory back, and the pages that it faulted in again.
struct Churn {
    case: Case,
    blocks: bool,
    pages: u64,
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut kinds: BTreeMap<Kind<'_>, Vec<Case>> = BTreeMap::new();
    let mut pages: BTreeMap<ProcId, u64> = BTreeMap::new();
    for churn in view.ids().filter_map(|id| churn(view, id)) {
        let id = churn.case.process;
        pages.insert(id, churn.pages);
        let kind = Kind { tunable: tunable(view.process(id)), blocks: churn.blocks };
        kinds.entry(kind).or_default().push(churn.case);
    }
    for (kind, cases) in kinds {
        for (program, cases) in helpers::by_program(view, cases, 0) {
            let pages = cases.iter().map(|case| pages[&case.process]).sum();
            let merged = helpers::merged(view, cases);
            sink.find(finding(view, kind, &program, merged, pages));
        }
    }
}

fn churn(view: &View<'_>, id: ProcId) -> Option<Churn> {
    let process = view.process(id);
    let tuned = |name: &str| process.env.value(name).is_some();
    let reached = helpers::heeds_variables(process)
        && *view.libc(id) != Libc::Musl
        && !tuned("MALLOC_TRIM_THRESHOLD_");
    if !reached {
        return None;
    }
    let [up, down, mapped, unmapped] = [
        ArgClass::HeapGrows,
        ArgClass::HeapShrinks,
        ArgClass::BlockMapped,
        ArgClass::BlockUnmapped,
    ]
    .map(|class| details::rows_of(view, id, class));
    let sum = |rows: &[(usize, &Row)]| rows.iter().map(|(_, row)| row.count).sum::<u64>();
    let (grows, shrinks) = (sum(&up), sum(&down));
    // Other runtimes map memory themselves, and have settings of their own.
    let blocks =
        if process.runtime == Runtime::Native { sum(&mapped).min(sum(&unmapped)) } else { 0 };
    // A heap that grows in many steps and shrinks now and then is in normal use.
    let shrinks = if shrinks * 4 >= grows { shrinks } else { 0 };
    let given_back = process.given_back.unwrap_or(0) / PAGE;
    let again =
        process.minor_faults.filter(|_| given_back > 0).map(|faults| faults.min(given_back));
    let many = |rounds| rounds >= FEWEST_OF_PAGES && again >= Some(MANY_PAGES);
    let shrinks = if shrinks >= FEWEST || many(shrinks) { shrinks } else { 0 };
    // Of a block of zeroes (calloc) that is hardly touched, a new one is cheaper than an old one.
    let touched = |again| again >= given_back / 2;
    let enough = again.map_or(blocks >= FEWEST_BLOCKS, |again| many(blocks) && touched(again));
    let blocks = if enough { blocks } else { 0 };
    let rounds = shrinks + blocks;
    if rounds == 0 {
        return None;
    }
    // The first round is needed.
    let pages = scale(again.unwrap_or(0), rounds - 1, rounds);
    let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
    let mut add = |calls: u64, rows: [&[(usize, &Row)]; 2]| {
        case.of += calls;
        // To its full size once, and back at the end.
        case.needless += calls.saturating_sub(2);
        case.rows.extend(rows.into_iter().flatten().map(|(at, _)| *at));
    };
    if shrinks > 0 {
        add(grows + shrinks, [&up, &down]);
    }
    if blocks > 0 {
        add(2 * blocks, [&mapped, &unmapped]);
    }
    Some(Churn { case, blocks: blocks > 0, pages })
}

fn finding(view: &View<'_>, kind: Kind<'_>, program: &str, merged: Merged, pages: u64) -> Finding {
    let process = view.process(merged.processes[0]);
    let glibc = matches!(view.libc(merged.processes[0]), Libc::Glibc(_));
    let needless = number(merged.needless);
    let faults = match pages {
        0 => String::new(),
        _ => format!(": {}", count(pages, "page fault", "page faults")),
    };
    let what = format!("{needless} calls give memory back to the kernel and take it again{faults}");
    let why = match kind {
        Kind { tunable: Some(set), .. } => format!(
            "{program} frees and allocates more than glibc keeps with {set} in GLIBC_TUNABLES, over \
             and over; each round costs new pages, too. A program that calls malloc_trim() or sbrk() \
             by itself looks the same."
        ),
        Kind { blocks: true, .. } => format!(
            "{program} frees and allocates blocks of more than 32 MiB, over and over. glibc maps \
             each of them separately and gives it back, so each round costs new pages."
        ),
        Kind { blocks: false, .. } => format!(
            "{program} frees and allocates more than glibc keeps at the end of its heap (128 KiB), \
             over and over; each round costs new pages, too. A program that calls malloc_trim() or \
             sbrk() by itself looks the same."
        ),
    };
    let remedies = match kind {
        Kind { tunable: Some(set), .. } => vec![helpers::by_hand(
            &format!(
                "in GLIBC_TUNABLES, which has {set}, set glibc.malloc.trim_threshold={THRESHOLD}"
            ),
            "GLIBC_TUNABLES overrides MALLOC_TRIM_THRESHOLD_. The program then keeps the memory \
             that it once had: in a container with a tight limit it may be killed.",
        )],
        Kind { blocks: true, .. } if pages == 0 => vec![helpers::by_hand(
            "measure it: needless run counts the page faults, needless prove --set GLIBC_TUNABLES=… \
             tries the settings of `needless explain heap-trim-churn`",
            "A log does not show whether the program touches the blocks. Where it does not, the \
             settings make it slower.",
        )],
        Kind { blocks: true, .. } => vec![block_remedy(process)],
        Kind { blocks: false, .. } => remedies(),
    };
    // The program's own malloc_trim() and sbrk() make the same calls as malloc's trim.
    let sure = glibc && pages > 0 && kind.blocks;
    let stage = if sure { Stage::Explained } else { Stage::Seen };
    let found = helpers::finding(merged, RULE.name, stage, what, why, remedies);
    let page_ns = view.profile.host.costs.map_or(0, |costs| costs.page_ns);
    if pages == 0 || page_ns == 0 {
        return found;
    }
    let calls_ns = kernel_time(view.profile, &found).0.unwrap_or(0);
    let kernel_ns = Some(calls_ns.saturating_add(pages.saturating_mul(page_ns)));
    Finding { kernel_ns, estimated: true, ..found }
}

/// One variable with both settings: each without the other does nothing.
pub(crate) fn block_remedy(process: &Process) -> Remedy {
    let settings = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=1073741824";
    let value = match process.env.value("GLIBC_TUNABLES") {
        Some(others) if !others.is_empty() => format!("{others}:{settings}"),
        _ => settings.to_owned(),
    };
    let price = "The program keeps the memory that it once had, up to 1 GiB that is free: in a \
                 container with a tight limit it may be killed. Large blocks of zeroes (calloc) are \
                 then zeroed by the program. Another allocator than malloc of glibc ignores it.";
    helpers::set("GLIBC_TUNABLES", &value, Safety::Caveat(price.to_owned()))
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
                 maps each block above 128 KiB separately (man 3 mallopt). \
                 Nothing changes for sbrk(), and little for malloc_trim(), that the program calls \
                 by itself.";
    let caveat = || Safety::Caveat(price.to_owned());
    vec![
        helpers::set("MALLOC_TRIM_THRESHOLD_", THRESHOLD, caveat()),
        helpers::set("MALLOC_TOP_PAD_", "16777216", caveat()),
    ]
}
