//! Many services in one profile, each judged separately.

use super::profile;
use crate::{CheckOptions, Verdict, check, check_by_service};
use needless_model::{Costs, Fact, Finding, ProcId, Profile};

/// A log of `pid`: a program that starts and converts `times` times, and asks much else that is
/// not needless.
fn clock(pid: u32, times: u32, others: u32) -> String {
    let mut log = format!(
        "{pid} execve(\"/usr/bin/app{pid}\", [\"app\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0\n\
         {pid} openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
         {pid} openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
         {pid} newfstatat(AT_FDCWD, \"/etc/localtime\", {{st_mode=S_IFREG|0644, st_size=127, ...}}, 0) = 0 x{times}\n"
    );
    for other in 0..others {
        log += &format!("{pid} openat(AT_FDCWD, \"/srv/{pid}/{other}\", O_RDONLY|O_CLOEXEC) = 4\n");
    }
    log
}

/// One service per pid, in the order of their logs.
fn host(logs: &[String], services: &[(u32, Option<&str>)]) -> Profile {
    let mut profile = profile(&format!("env -TZ\n{}", logs.concat()));
    for process in &mut profile.processes {
        let (_, service) = services.iter().find(|(pid, _)| *pid == process.pid).unwrap();
        process.service = service.map(str::to_owned);
    }
    profile
}

fn found(findings: &[Finding]) -> Vec<(Option<&str>, u64)> {
    findings.iter().map(|f| (f.service.as_deref(), f.needless)).collect()
}

#[test]
fn a_busy_neighbour_hides_nothing() {
    let logs = [clock(1, 20, 0), clock(2, 0, 4000)];
    let profile = host(&logs, &[(1, Some("clock.service")), (2, Some("web.service"))]);
    // Twenty calls of four thousand are not worth a word, of twenty they are.
    assert_eq!(found(&check(&profile, &CheckOptions::default()).findings), []);
    let verdict = check_by_service(&profile, &CheckOptions::default());
    assert_eq!(found(&verdict.findings), [(Some("clock.service"), 20)]);
}

#[test]
fn findings_name_processes_and_rows_of_the_whole() {
    let logs = [clock(5, 0, 3), clock(6, 30, 1), clock(7, 40, 2), clock(8, 50, 0)];
    let services = [(5, Some("a")), (6, Some("b")), (7, None), (8, Some("b"))];
    let profile = host(&logs, &services);
    let verdict = check_by_service(&profile, &CheckOptions::default());
    let mut pids = Vec::new();
    for finding in &verdict.findings {
        pids.push(finding.processes.iter().map(|id| profile.process(*id).pid).collect::<Vec<_>>());
        assert!(!finding.rows.is_empty());
        for row in finding.rows.iter().map(|at| &profile.rows[*at]) {
            assert!(finding.processes.contains(&row.process));
            assert_eq!(profile.path(row), "/etc/localtime");
            assert_eq!(profile.process(row.process).service, finding.service);
        }
    }
    // Two programs of one service make two findings.
    assert_eq!(found(&verdict.findings), [(Some("b"), 50), (None, 40), (Some("b"), 30)]);
    assert_eq!(pids, [[8], [7], [6]]);
}

#[test]
fn findings_are_ranked_over_all_services_by_the_time_they_cost() {
    let logs = [clock(1, 100, 0), clock(2, 300, 0), clock(3, 200, 0)];
    let services = [(1, Some("a")), (2, Some("b")), (3, Some("c"))];
    let mut profile = host(&logs, &services);
    // Measured: a hundred calls that take longer than three hundred.
    for row in &mut profile.rows {
        let slow = profile.processes[row.process.index()].pid == 1;
        (row.timed, row.kernel_ns) = (row.count, row.count * if slow { 9000 } else { 1000 });
    }
    let verdict = check_by_service(&profile, &CheckOptions::default());
    assert_eq!(found(&verdict.findings), [(Some("a"), 100), (Some("b"), 300), (Some("c"), 200)]);
    assert!(verdict.findings.iter().all(|f| !f.estimated));
    // Calibrated, not measured.
    for row in &mut profile.rows {
        (row.timed, row.kernel_ns) = (0, 0);
    }
    profile.host.costs = Some(Costs { stat_ns: 500, ..Costs::each(1) });
    let verdict = check_by_service(&profile, &CheckOptions::default());
    assert_eq!(found(&verdict.findings), [(Some("b"), 300), (Some("c"), 200), (Some("a"), 100)]);
    assert!(verdict.findings.iter().all(|f| f.estimated && f.kernel_ns.is_some()));
}

#[test]
fn small_savings_of_a_service_that_computes_are_not_shown() {
    let logs = [clock(1, 50, 0), clock(2, 60, 0)];
    let mut profile = host(&logs, &[(1, Some("a")), (2, Some("b"))]);
    profile.host.costs = Some(Costs::each(500));
    for process in &mut profile.processes {
        // An hour of one, a millisecond of the other.
        let ms = if process.pid == 2 { 3_600_000 } else { 1 };
        (process.cpu_user_ns, process.cpu_sys_ns) = (Some(ms * 1_000_000), Some(0));
    }
    let verdict = check_by_service(&profile, &CheckOptions::default());
    assert_eq!(found(&verdict.findings), [(Some("a"), 50)]);
    assert_eq!(found(&verdict.below), [(Some("b"), 60)]);
}

#[test]
fn unchecked_rules_are_reported_once_even_without_processes() {
    let logs = [clock(1, 9, 0), clock(2, 9, 0)];
    let mut profile = host(&logs, &[(1, Some("a")), (2, Some("b"))]);
    profile.facts = profile.facts.without(Fact::Answers).without(Fact::Environment);
    let skipped = |verdict: Verdict| -> Vec<_> {
        verdict.not_checked.iter().map(|s| (s.rule.clone(), s.missing.clone())).collect()
    };
    let whole = skipped(check(&profile, &CheckOptions::default()));
    assert!(!whole.is_empty(), "some rule needs one of these");
    assert_eq!(skipped(check_by_service(&profile, &CheckOptions::default())), whole);
    let none = Profile { facts: profile.facts.without(Fact::Outcomes), ..Profile::default() };
    let by_service = skipped(check_by_service(&none, &CheckOptions::default()));
    assert_eq!(by_service, skipped(check(&none, &CheckOptions::default())));
    assert!(!by_service.is_empty());
}

#[test]
fn where_no_service_is_known_all_count_as_one() {
    let logs = [clock(1, 9, 2), clock(2, 70, 1)];
    let profile = host(&logs, &[(1, None), (2, None)]);
    let whole = check(&profile, &CheckOptions::default());
    let verdict = check_by_service(&profile, &CheckOptions::default());
    assert_eq!(verdict.findings, whole.findings);
    assert_eq!(verdict.findings[0].processes, [ProcId(1)]);
}

#[test]
fn rules_that_are_not_wanted_find_nothing_in_any_service() {
    let profile = host(&[clock(1, 30, 0), clock(2, 40, 0)], &[(1, Some("a")), (2, Some("b"))]);
    let options = CheckOptions { ignore: vec!["tz-unset".to_owned()], ..CheckOptions::default() };
    let verdict = check_by_service(&profile, &options);
    assert_eq!((found(&verdict.findings), found(&verdict.below)), (vec![], vec![]));
}
