//! What findings cost, where that was not measured.

use super::profile;
use crate::{CheckOptions, check};
use needless_model::{Costs, Finding, Profile, Stage};

const APP: &str = "execve(\"/usr/bin/app\", [\"app\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0\n";

/// The finding in calls of a program, on a machine where each kind of call costs something else.
fn only(calls: &str, change: impl FnOnce(&mut Profile)) -> Finding {
    let mut profile = profile(&(APP.to_owned() + calls));
    profile.host.costs =
        Some(Costs { read_ns: 300, write_ns: 700, call_ns: 200, ..Costs::each(2_000) });
    change(&mut profile);
    let mut verdict = check(&profile, &CheckOptions::default());
    assert_eq!(verdict.findings.len(), 1, "{:?}", verdict.findings);
    verdict.findings.remove(0)
}

#[test]
fn a_call_without_a_path_does_not_cost_what_a_stat_costs() {
    let time = |calls| only(calls, |_| ()).kernel_ns;
    let clock = "clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 x3000\n";
    assert_eq!(time(clock), Some(3_000 * 200));
    assert_eq!(time("write(1, \"line\\n\", 5) = 5 x2000\n"), Some(1_999 * 700));
    assert_eq!(time("read(0, \"x\", 1) = 1 x2000\n"), Some(1_999 * 300));
}

#[test]
fn an_estimate_is_no_more_than_the_kernel_time_of_its_process() {
    let clock = "clock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 x300000\n";
    let spent = |all_ms: u64, kernel_ms: u64| {
        let finding = only(clock, |profile| {
            let process = &mut profile.processes[0];
            process.cpu_ns = Some(all_ms * 1_000_000);
            process.cpu_sys_ns = Some(kernel_ms * 1_000_000);
        });
        finding.kernel_ns.map(|ns| ns / 1_000_000)
    };
    assert_eq!(spent(2_000, 1_000), Some(60));
    assert_eq!(spent(2_000, 40), Some(40));
    // The division of a few dozen ticks is chance.
    assert_eq!(spent(50, 4), Some(50));
}

/// The account does not add to what is needless what is so only perhaps.
#[test]
fn what_may_have_another_cause_is_uncertain() {
    let writes = "write(1, \"line\\n\", 5) = 5 x2000\n";
    let clock =
        "clocksource hpet\nclock_gettime(CLOCK_MONOTONIC, {tv_sec=1, tv_nsec=2}) = 0 x3000\n";
    let mut profile = profile(&format!("{APP}{writes}{clock}"));
    profile.host.costs = Some(Costs::each(100));
    let verdict = check(&profile, &CheckOptions::default());
    let stages: Vec<_> = verdict.findings.iter().map(|f| (&*f.rule, f.stage)).collect();
    let wanted = [("clock-without-vdso", Stage::Explained), ("unbuffered-output", Stage::Seen)];
    assert_eq!(stages, wanted);
    let account = verdict.account;
    assert_eq!((account.needless.calls, account.uncertain.calls), (4_999, 1_999));
    let certain = account.certain();
    assert_eq!((certain.calls, certain.kernel_ns), (3_000, Some(300_000)));
    assert_eq!(
        account.needed() + account.needless.calls + account.unexplained.calls,
        account.calls
    );
}
