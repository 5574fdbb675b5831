//! ## What it finds
//!
//! Programs that give memory back, map it or wait for each other thousands of times where a variable makes their memory
//! allocator or their thread pool do so: `MALLOC_CONF` with a decay of 0 (jemalloc), `MALLOC_MMAP_THRESHOLD_` and
//! `MALLOC_ARENA_MAX=1` (glibc), `OMP_WAIT_POLICY=passive` (OpenMP).
//!
//! ## Why it happens
//!
//! * jemalloc keeps freed pages for ten seconds before it gives them back with madvise(2). With `dirty_decay_ms:0` or
//!   `muzzy_decay_ms:0` it does so at once, for each.
//! * glibc raises the size from which it maps a block separately (128 KiB) when such a block is freed. A value in
//!   `MALLOC_MMAP_THRESHOLD_` turns that off: each larger block is then mapped and unmapped, and its pages are new.
//! * With one arena all threads of a program share one lock; who waits for it sleeps in futex(2).
//! * Threads of OpenMP wait at the end of each parallel loop: with `passive` they sleep at once, and are woken for the next.
//!
//! Such calls have other causes as well. The variable is what can be tried: `needless prove` shows whether it is the cause.
//!
//! ## Example
//!
//! ```trace
//! facts +allcalls
//! env MALLOC_CONF=dirty_decay_ms:0,narenas:4
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! madvise(0x7f2c5e800000, 4096, MADV_DONTNEED) = 0 x6000
//! ```
//! ```finding
//! allocator-setting: 5999 of 6000
//! set MALLOC_CONF=dirty_decay_ms:10000,narenas:4
//! ```
//!
//! ```trace
//! facts +allcalls
//! env MALLOC_MMAP_THRESHOLD_=131072
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! mmap(NULL, 204800, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f2c5e800000 x2000
//! munmap(0x7f2c5e800000, 204800) = 0 x2000
//! ```
//! ```finding
//! allocator-setting: 3998 of 4000
//! unset MALLOC_MMAP_THRESHOLD_
//! ```
//!
//! ```trace
//! facts +allcalls
//! env MALLOC_ARENA_MAX=1
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! futex(0x7f2c5e3d2c80, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 x4600
//! ```
//! ```finding
//! allocator-setting: 4599 of 4600
//! unset MALLOC_ARENA_MAX
//! ```
//!
//! ## Not a finding
//!
//! The same calls without the variable, or with a value that does not cause them:
//!
//! ```trace
//! facts +allcalls
//! env MALLOC_CONF=dirty_decay_ms:5000 MALLOC_ARENA_MAX=8 MALLOC_MMAP_THRESHOLD_=268435456
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! madvise(0x7f2c5e800000, 4096, MADV_DONTNEED) = 0 x6000
//! futex(0x7f2c5e3d2c80, FUTEX_WAIT_PRIVATE, 2, NULL) = 0 x4600
//! munmap(0x7f2c5e800000, 204800) = 0 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Take the setting back to what the allocator does by itself. The program then keeps more memory that it has freed: in a
//! container with a tight limit it may be killed, and somebody may have set the variable for that reason. Try it first:
//! `needless prove --unset MALLOC_ARENA_MAX -- COMMAND`.
//!
//! ## References
//!
//! * `man 3 mallopt`: M_MMAP_THRESHOLD, M_ARENA_MAX
//! * <https://jemalloc.net/jemalloc.3.html>: opt.dirty_decay_ms
//! * <https://www.openmp.org/spec-html/5.0/openmpse55.html>: OMP_WAIT_POLICY

use crate::engine::Case;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, LARGE_BLOCK, ProcId, Process, Remedy, Safety, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "allocator-setting",
    summary: "A variable makes an allocator or a thread pool call the kernel again and again",
    needs: &[Fact::Outcomes, Fact::AllCalls, Fact::Environment],
    variables: &["MALLOC_CONF", "MALLOC_MMAP_THRESHOLD_", "MALLOC_ARENA_MAX", "OMP_WAIT_POLICY"],
    ..Rule::PLAIN
};

/// Fewer cost no noticeable time.
const FEWEST: u64 = 1000;
/// What jemalloc does by itself.
const DECAY: &str = "10000";
const KEEPS: &str = "The program keeps more memory that it has freed: in a container with a tight limit it may be killed.";

/// A variable that may cause calls.
struct Cause {
    variable: &'static str,
    calls: &'static [&'static str],
    /// The value that does not cause them: `None`: this one does not; an empty one: unset.
    better: fn(&str) -> Option<String>,
    /// What the calls do.
    what: &'static str,
    why: &'static str,
    caveat: &'static str,
}

const CAUSES: [Cause; 4] = [
    Cause {
        variable: "MALLOC_CONF",
        calls: &["madvise"],
        better: decaying,
        what: "give memory back at once",
        why: "with a decay of 0 jemalloc gives each page back when it is freed, and takes it again when it is needed",
        caveat: KEEPS,
    },
    Cause {
        variable: "MALLOC_MMAP_THRESHOLD_",
        calls: &["mmap", "munmap"],
        better: |value| {
            let low = |size: u64| size < LARGE_BLOCK.into();
            value.parse().is_ok_and(low).then(String::new)
        },
        what: "map blocks of memory and give them back",
        why: "a fixed threshold keeps glibc from raising it by itself, so that each larger block is mapped separately",
        caveat: KEEPS,
    },
    Cause {
        variable: "MALLOC_ARENA_MAX",
        calls: &["futex"],
        better: |value| (value.trim() == "1").then(String::new),
        what: "wait for other threads or wake them",
        why: "with one arena all threads share the lock of malloc; locks of the program itself look the same",
        caveat: "Each thread may then have memory of its own: more is used, and in a container with a tight limit the program may \
                 be killed.",
    },
    Cause {
        variable: "OMP_WAIT_POLICY",
        calls: &["futex"],
        better: |value| value.trim().eq_ignore_ascii_case("passive").then(String::new),
        what: "put threads to sleep and wake them",
        why: "with this policy threads of OpenMP sleep at the end of each parallel loop; locks of the program itself look the \
              same",
        caveat: "Threads then wait a moment on their processors before they sleep, which other programs may need.",
    },
];

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    for cause in &CAUSES {
        let cases: Vec<Case> = view.ids().filter_map(|id| case(view, sink, cause, id)).collect();
        for (program, cases) in helpers::by_program(view, cases, FEWEST) {
            let process = view.process(cases[0].process);
            let value = process.env.value(cause.variable).unwrap_or_default().to_owned();
            let better = (cause.better)(&value).unwrap_or_default();
            let merged = helpers::merged(view, cases);
            let calls = cause.calls.join(" and ");
            let what = format!("{} {calls} calls {}", number(merged.of), cause.what);
            let why = format!("{program} has {}={value}: {}.", cause.variable, cause.why);
            let remedies = vec![remedy(cause, &better)];
            sink.find(helpers::finding(merged, RULE.name, Stage::Seen, what, why, remedies));
        }
    }
}

fn case(view: &View<'_>, sink: &Sink, cause: &Cause, id: ProcId) -> Option<Case> {
    (cause.better)(view.process(id).env.value(cause.variable)?)?;
    let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
    let rows = view.rows_of(id).filter(|(at, row)| !row.query.names_path() && !sink.taken(*at));
    for (at, row) in rows.filter(|(_, row)| cause.calls.contains(&view.profile.call(row))) {
        case.of += row.count;
        case.needless += row.count - 1;
        case.rows.push(at);
    }
    (case.needless >= FEWEST && helpers::is_much(view, id, case.of)).then_some(case)
}

/// What is advised for a variable as the process has it, or why nothing.
pub(crate) fn remedy_of(variable: &str, process: &Process) -> Result<Remedy, String> {
    let value = process.env.value(variable).filter(|value| !value.is_empty());
    let value = value.ok_or_else(|| format!("{variable} is not set there"))?;
    let cause = CAUSES.iter().find(|cause| cause.variable == variable);
    let better = cause.and_then(|cause| Some((cause, (cause.better)(value)?)));
    let (cause, better) = better.ok_or_else(|| format!("{variable} has a harmless value there"))?;
    Ok(remedy(cause, &better))
}

fn remedy(cause: &Cause, better: &str) -> Remedy {
    if better.is_empty() {
        return helpers::unset(cause.variable, cause.caveat);
    }
    helpers::set(cause.variable, better, Safety::Caveat(cause.caveat.to_owned()))
}

/// Settings of jemalloc with the usual decay where they have one of 0; `None`: they have none.
fn decaying(settings: &str) -> Option<String> {
    let mut found = false;
    let settings = settings.split(',').map(|setting| match setting.split_once(':') {
        Some((name @ ("dirty_decay_ms" | "muzzy_decay_ms"), "0")) => {
            found = true;
            format!("{name}:{DECAY}")
        }
        _ => setting.to_owned(),
    });
    let settings: Vec<String> = settings.collect();
    found.then(|| settings.join(","))
}
