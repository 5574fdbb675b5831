//! The account, which calls are not explained, and what is small.

use super::profile;
use crate::{Account, Amount, CheckOptions, Scale, Unanswered, by_remedy, check, check_by_service};
use needless_model::{Errno, Finding, Profile};

fn account(log: &str) -> Account {
    check(&profile(log), &CheckOptions::default()).account
}

fn lines(account: &Account) -> Vec<(&str, &str, Unanswered, u64)> {
    let line = account.lines.iter();
    line.map(|l| (&*l.program, &*l.call, l.reason, l.amount.calls)).collect()
}

#[test]
fn the_parts_add_up_to_all_calls() {
    let account = account(
        "env -TZ\n\
         7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n\
         7 openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 newfstatat(AT_FDCWD, \"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x40\n\
         7 openat(AT_FDCWD, \"/opt/x/a\", O_RDONLY) = -1 ENOENT (No such file or directory) x3\n",
    );
    assert_eq!((account.calls, account.failed), (46, 3));
    assert_eq!((account.needless.calls, account.unexplained.calls, account.needed()), (40, 3, 3));
    assert_eq!(account.unjudged.calls, 0);
    let failed = Unanswered::Failed(Errno(2));
    assert_eq!(lines(&account), [("app", "openat", failed, 3)]);
    assert_eq!(account.lines[0].place, Some(("/opt/x/a".to_owned(), 3)));
}

fn kinds(account: &Account) -> Vec<(&str, u64)> {
    account.kinds.iter().map(|kind| (&*kind.call, kind.amount.calls)).collect()
}

fn sum(account: &Account) -> u64 {
    let others = account.needless.calls + account.unexplained.calls + account.unjudged.calls;
    account.needed() + others
}

const EXEC: &str = "7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n";

#[test]
fn issue_42_a_program_that_only_spins_is_not_judged() {
    let spin = "7 poll([{fd=3, events=POLLIN}], 1, 1000) = 1 ([{fd=3, revents=POLLHUP}]) x41200\n\
         7 kill(7, 0) = 0 x41199\n\
         7 exit_group(0) = ?\n";
    let account = account(&(EXEC.to_owned() + spin));
    assert_eq!(kinds(&account), [("poll", 41_200), ("kill", 41_199)]);
    assert_eq!(account.kinds[0].program, ("app".to_owned(), 41_200));
    assert_eq!((account.needed(), account.unjudged.calls), (1, 82_399));
    assert_eq!(sum(&account), account.calls);
}

#[test]
fn issue_42_what_a_start_and_an_open_need_is_needed_and_no_more() {
    let start = "7 brk(NULL) = 0x5000\n\
         7 mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7000\n\
         7 openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 read(3, \"\"..., 832) = 832\n\
         7 fstat(3, {st_mode=S_IFREG|0755, st_size=1, ...}) = 0\n\
         7 mmap(NULL, 1000, PROT_READ, MAP_PRIVATE, 3, 0) = 0x7000 x5\n\
         7 close(3) = 0\n\
         7 arch_prctl(ARCH_SET_FS, 0x7000) = 0\n\
         7 prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=1, rlim_max=1}) = 0\n\
         7 munmap(0x7000, 1) = 0\n";
    let healthy = account(&(EXEC.to_owned() + start));
    assert_eq!((healthy.unjudged.calls, sum(&healthy)), (0, healthy.calls));
    // A second libc of the same size is not there; nor is a second program.
    let more = "7 rt_sigprocmask(SIG_BLOCK, [], NULL, 8) = 0 x40000\n\
         7 prlimit64(0, RLIMIT_STACK, NULL, {rlim_cur=1, rlim_max=1}) = 0 x3\n\
         7 close(3) = 0 x3\n\
         7 wait4(-1, NULL, 0, NULL) = -1 ECHILD (No child processes) x2\n";
    let account = account(&(EXEC.to_owned() + start + more));
    let all = [("rt_sigprocmask", 40_000), ("close", 3), ("prlimit64", 3), ("wait4", 2)];
    assert_eq!(kinds(&account), all);
    assert_eq!((account.unjudged.calls, sum(&account)), (40_008, account.calls));
}

#[test]
fn issue_42_children_need_to_be_started_and_waited_for() {
    let forks = "7 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD) = 8\n\
         8 exit_group(0) = ?\n\
         7 wait4(-1, NULL, 0, NULL) = 8\n\
         7 wait4(-1, NULL, 0, NULL) = -1 ECHILD (No child processes)\n\
         7 wait4(-1, NULL, WNOHANG, NULL) = 0 x5\n";
    let account = account(&(EXEC.to_owned() + forks));
    assert_eq!(kinds(&account), [("wait4", 5)]);
}

/// A directory to which a program goes a second time may be one that it had left, or not.
#[test]
fn issue_42_looks_that_no_rule_asks_about_are_needed_once() {
    let account =
        account(&(EXEC.to_owned() + "7 chdir(\"/srv\") = 0 x9\n7 mkdir(\"/a\", 0777) = 0 x9\n"));
    assert_eq!(kinds(&account), [("chdir", 8)]);
}

/// What goes with the calls of a finding is needless, and not besides that not judged.
#[test]
fn issue_42_no_call_is_in_two_parts() {
    for log in [
        "7 openat(AT_FDCWD, \"/proc/mounts\", O_RDONLY) = 3 x300\n7 read(3, \"\"..., 1024) = 9 x900\n7 close(3) = 0 x300\n",
        "7 read(0, \"a\", 1) = 1 x5000\n7 write(1, \"a\", 1) = 1 x5000\n",
    ] {
        let account = account(&(EXEC.to_owned() + log));
        assert_eq!(sum(&account), account.calls, "{log}");
        let shares: u64 = account.shares.iter().map(|share| share.calls).sum();
        assert!(
            shares <= account.calls && account.needless.calls + account.unjudged.calls > 0,
            "{account:?}"
        );
    }
}

#[test]
fn some_errors_are_answers() {
    let account = account(
        "7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n\
         7 futex(0x7f0000000000, FUTEX_WAIT_PRIVATE, 2, NULL) = -1 EAGAIN (Resource temporarily unavailable)\n\
         7 wait4(-1, NULL, 0, NULL) = -1 ECHILD (No child processes)\n\
         7 rt_sigreturn({mask=[]}) = -1 EINTR (Interrupted system call)\n\
         7 rt_sigreturn({mask=[]}) = -1 ENOENT (No such file or directory)\n\
         7 read(3, 0x7ffd, 1) = -1 EAGAIN (Resource temporarily unavailable)\n",
    );
    assert_eq!(lines(&account), [("app", "read", Unanswered::Failed(Errno(11)), 1)]);
}

/// A loop that waits without sleeping is a fact: nothing is advised.
#[test]
fn a_loop_that_spins_is_not_explained() {
    let yields = |n| {
        let exec = "7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n";
        account(&format!("{exec}7 sched_yield() = 0 x{n}\n"))
    };
    assert_eq!(lines(&yields(1000)), [("app", "sched_yield", Unanswered::Spinning, 1000)]);
    assert_eq!(lines(&yields(999)), []);
    assert_eq!(yields(999).unjudged.calls, 999);
}

#[test]
fn a_place_is_never_a_directory_of_the_root() {
    let open = |path: &str| {
        format!(
            "7 openat(AT_FDCWD, \"{path}\", O_RDONLY) = -1 ENOENT (No such file or directory)\n"
        )
    };
    let place = |paths: &[&str]| {
        let log: String = paths.iter().map(|path| open(path)).collect();
        let exec = "7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n";
        account(&(exec.to_owned() + &log)).lines.remove(0).place
    };
    let some = |dir: &str, n| Some((dir.to_owned(), n));
    assert_eq!(place(&["/usr/a/1", "/usr/a/2", "/usr/b/3"]), some("/usr/a/", 2));
    assert_eq!(place(&["/usr/a/1", "/usr/b/2", "/usr/c/3", "/usr/c/4"]), some("/usr/c/", 2));
    let far = ["/usr/a/1", "/usr/b/2", "/usr/c/3", "/usr/d/4", "/usr/e/5", "/usr/f/6"];
    assert_eq!(place(&far), None);
    let ends = ["/usr/a/1.pmc", "/usr/b/2.pmc", "/usr/c/3.pm", "/usr/d/.pmc", "/usr/e/5.pmc"];
    assert_eq!(place(&ends), some("*.pmc", 3));
}

#[test]
fn one_program_in_several_services_is_one_line() {
    let log = |pid: u32| {
        format!(
            "{pid} execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n\
             {pid} openat(AT_FDCWD, \"/opt/x/{pid}\", O_RDONLY) = -1 ENOENT (No such file or directory) x5\n"
        )
    };
    let mut profile = profile(&(log(1) + &log(2) + &log(3)));
    for process in &mut profile.processes {
        process.service = Some(format!("s{}.service", process.pid));
    }
    let account = check_by_service(&profile, &CheckOptions::default()).account;
    assert_eq!(lines(&account), [("app", "openat", Unanswered::Failed(Errno(2)), 15)]);
    assert_eq!(account.lines[0].processes, 3);
}

/// A scale of a run with so much CPU time, in milliseconds.
fn run_of(cpu_ms: u64) -> Scale {
    let mut profile = Profile { backend: needless_model::Backend::Ebpf, ..Profile::default() };
    profile.totals.cpu_user_ns = Some(cpu_ms * 1_000_000);
    profile.totals.cpu_sys_ns = Some(0);
    Scale::of_run(&profile)
}

#[test]
fn small_is_less_than_a_millisecond_and_half_a_percent() {
    let calls = |us: u64| Amount { user_ns: None, calls: 10, kernel_ns: Some(us * 1000) };
    assert!(run_of(100).is_small(calls(499)) && !run_of(100).is_small(calls(500)));
    assert!(run_of(10_000).is_small(calls(999)) && !run_of(10_000).is_small(calls(1000)));
    // Where no time is known, a call counts as a microsecond.
    let untimed = |calls| Amount { user_ns: None, calls, kernel_ns: None };
    assert!(run_of(10_000).is_small(untimed(999)) && !run_of(10_000).is_small(untimed(1000)));
    let mut window = Profile::default();
    window.window.length_ns = Some(10_000_000_000);
    let window = Scale::of_window(&window);
    assert!(window.is_small(calls(9_999)) && !window.is_small(calls(10_000)));
}

#[test]
fn what_takes_time_is_found_beside_any_number_of_calls() {
    let log = "env -TZ\n\
         7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n\
         7 openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 newfstatat(AT_FDCWD, \"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x400\n\
         7 chdir(\"/srv\") = 0 x900000\n";
    let mut profile = profile(log);
    let found = |profile: &Profile| check(profile, &CheckOptions::default()).findings.len();
    assert_eq!(found(&profile), 0);
    for row in &mut profile.rows {
        (row.timed, row.kernel_ns) = (row.count, row.count * 10_000);
    }
    profile.backend = needless_model::Backend::Ebpf;
    (profile.totals.cpu_user_ns, profile.totals.cpu_sys_ns) = (Some(0), Some(500_000_000));
    assert_eq!(found(&profile), 1, "4 ms of half a second");
    profile.totals.cpu_sys_ns = Some(5_000_000_000);
    assert_eq!(found(&profile), 0, "4 ms of five seconds");
}

#[test]
fn a_remedy_is_small_by_all_that_it_saves_and_never_against_wrong_results() {
    let log = "env -TZ\n\
         7 execve(\"/usr/bin/app\", [\"app\"], 0x7 /* 2 vars */) = 0\n\
         7 openat(AT_FDCWD, \"/lib/x86_64-linux-gnu/libc.so.6\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 openat(AT_FDCWD, \"/etc/localtime\", O_RDONLY|O_CLOEXEC) = 3\n\
         7 newfstatat(AT_FDCWD, \"/etc/localtime\", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0 x400\n";
    let verdict = check(&profile(log), &CheckOptions::default());
    let clock = Finding { kernel_ns: Some(300_000), ..verdict.findings[0].clone() };
    let scale = run_of(10_000);
    assert!(scale.is_small_remedy(&[&clock]));
    assert!(!scale.is_small_remedy(&[&clock, &clock, &clock, &clock]));
    let findings = [clock.clone(), clock.clone()];
    assert_eq!(by_remedy(&findings).len(), 1);
    let wrong = Finding { rule: "tz-not-found".into(), ..clock };
    assert!(!scale.is_small_remedy(&[&wrong]));
}
