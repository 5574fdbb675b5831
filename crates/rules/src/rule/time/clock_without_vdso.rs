//! ## What it finds
//!
//! Programs that make a system call to get the time. The kernel offers each process a way without a
//! call, the vDSO, which is several times cheaper: 0.13 instead of 0.9 µs on one virtual machine.
//!
//! ## Why it happens
//!
//! The vDSO answers clock_gettime(), gettimeofday() and time() without a call, if the clock source
//! of the machine can be read from user space (tsc, kvm-clock, hyperv). With hpet or acpi_pm it
//! cannot, and with xen only where the host allows it: each request for the precise time becomes a
//! call. time() and the coarse clocks, which are exact to a tick, need no clock source. A program that makes the system call itself, without
//! the C library, pays on every machine.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 x3000
//! ```
//! ```finding
//! clock-without-vdso: 3000 of 3000
//! manual
//! ```
//!
//! On a machine whose clock source the vDSO can read, the program is the cause:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 x3000
//! clocksource tsc
//! ```
//! ```finding
//! clock-without-vdso: 3000 of 3000
//! stage explained
//! manual
//! ```
//!
//! On a machine whose clock source it cannot read:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 x3000
//! clocksource hpet
//! ```
//! ```finding
//! clock-without-vdso: 3000 of 3000
//! stage explained
//! manual
//! ```
//!
//! ## Not a finding
//!
//! CPU time, which only the kernel knows:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! clock_gettime(CLOCK_PROCESS_CPUTIME_ID, {tv_sec=1, tv_nsec=2}) = 0 x3000
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Read /sys/devices/system/clocksource/clocksource0/current_clocksource. If it is not tsc and the
//! machine has a stable one, choose tsc. Do not do this on a virtual machine that is moved from
//! host to host: its time may jump. If the clock source is right, the program is the cause: let it
//! call the C library.
//!
//! ## References
//!
//! * `man 7 vdso`
//! * <https://blog.packagecloud.io/system-calls-are-much-slower-on-ec2/>

use crate::engine::Case;
use crate::engine::details;
use crate::engine::helpers;
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ArgClass, Fact, Remedy, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "clock-without-vdso",
    summary: "Programs ask the kernel for the time although the vDSO could give it without a call",
    needs: &[Fact::Details, Fact::Outcomes],
    ..Rule::PLAIN
};

/// The loader makes a few, and programs do so before the vDSO is ready.
const FEWEST: u64 = 1000;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut cases = Vec::new();
    for id in view.ids() {
        let rows = details::rows_of(view, id, ArgClass::Clock);
        let needless = rows.iter().map(|(_, row)| row.count).sum();
        let rows = rows.into_iter().map(|(at, _)| at).collect();
        if needless >= FEWEST {
            cases.push(Case { process: id, needless, of: needless, rows });
        }
    }
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} system calls for the time, which the vDSO could give without a call",
            number(merged.needless)
        );
        let source = view.profile.host.clock_source.as_deref();
        let (stage, why, remedy) = explanation(&program, source);
        sink.find(helpers::finding(merged, RULE.name, stage, what, why, vec![remedy]));
    }
}

/// Clock sources that the vDSO of some architecture reads. OutsideList (hpet, acpi_pm, jiffies) need a call.
const READABLE: [&str; 7] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "riscv_clocksource",
    "tod",
];

/// How sure, why, and what to do, by the machine's clock source where it is known.
fn explanation(program: &str, source: Option<&str>) -> (Stage, String, Remedy) {
    let jumps = "A clock source that is not stable makes time jump, above all where a virtual machine is moved.";
    match source {
        Some(source) if READABLE.contains(&source) => (
            Stage::Explained,
            format!(
                "The machine's clock source is {source}, which the vDSO reads without a call: \
                 {program} calls the kernel itself, without the C library."
            ),
            helpers::by_hand(
                "Let the program call clock_gettime() of the C library",
                "A change of code, or of the runtime that it was built with.",
            ),
        ),
        // xen can be read where the host has a stable TSC (arch/x86/xen/time.c), which the name does not say.
        Some(source) if source != "xen" => (
            Stage::Explained,
            format!(
                "The machine's clock source is {source}, which cannot be read from user space: each \
                 request for the precise time becomes a call; time() and the coarse clocks need none."
            ),
            helpers::by_hand(
                "Choose tsc, if the machine has a stable one: \
                 /sys/devices/system/clocksource/clocksource0/current_clocksource",
                jumps,
            ),
        ),
        _ => (
            Stage::Seen,
            format!(
                "Either the machine's clock source cannot be read from user space, or {program} \
                 calls the kernel itself, without the C library."
            ),
            helpers::by_hand(
                "Read /sys/devices/system/clocksource/clocksource0/current_clocksource: choose tsc \
                 if it is stable; if it is tsc already, let the program call clock_gettime() of the \
                 C library",
                jumps,
            ),
        ),
    }
}
