//! What looks needless and is not, what is not worth a change, what must not be reported twice, and
//! advice that would be wrong.

use super::compare;
use super::profile;
use crate::{CheckOptions, NotChecked, Verdict, check};
use needless_model::{Change, Fact, Stage};

pub(super) const START: &str = r#"
execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
"#;
pub(super) const LOAD: &str = r#"
openat(AT_FDCWD, "/etc/localtime", O_RDONLY|O_CLOEXEC) = 3
"#;
const STAT: &str =
    r#"newfstatat(AT_FDCWD, "/etc/localtime", {st_mode=S_IFREG|0644, st_size=127, ...}, 0) = 0"#;

pub(super) fn verdict(trace: &str) -> Verdict {
    check(&profile(trace), &CheckOptions::default())
}

pub(super) fn expect(trace: &str, finding: &str) {
    compare(&verdict(trace), finding, trace);
}

pub(super) fn storm(stats: u32, more: &str) -> String {
    format!("{more}\n{START}{LOAD}{STAT} x{stats}\n")
}

#[test]
fn a_first_reading_is_needed_and_so_is_one_after_a_change() {
    expect(&format!("{START}{LOAD}"), "nothing");
    // A zone that changed twice in a hundred conversions.
    let changed = format!("{START}{LOAD}{STAT} x50\n{LOAD}{STAT} x30\n{LOAD}{STAT} x19\n");
    expect(&changed, "tz-unset: 97 of 100");
}

#[test]
fn localtime_r_and_programs_that_set_tz_themselves_are_healthy() {
    // Both read once; the environment at exec has no TZ all the same.
    expect(&format!("env -TZ\n{START}{LOAD}access(\"/etc/app.conf\", R_OK) = 0 x500\n"), "nothing");
}

#[test]
fn tz_that_is_set_is_not_unset() {
    // glibc does not look then, and musl never: it is the program itself, and the general rule's.
    for healthy in ["env TZ=:/etc/localtime", "env -TZ\nlibc musl"] {
        expect(&storm(150, healthy), "nothing");
        expect(&storm(500, healthy), "repeated-question: 499 of 500\nmanual");
    }
}

#[test]
fn call_sites_distinguish_a_watcher_from_a_clock() {
    let storm = storm(500, "env -TZ");
    expect(&format!("{storm}site main+0xc3: call localtime@plt"), "tz-unset: 500 of 501");
    for call in ["stat", "stat64", "__xstat", "fstatat", "statx"] {
        let own = format!("{storm}site reload+0x12: call {call}@plt");
        expect(&own, "nothing");
    }
    let found = verdict(&format!("{storm}site main+0xc3: call localtime@plt")).findings.remove(0);
    assert_eq!(found.sites, ["main+0xc3: call localtime@plt"]);
}

#[test]
fn a_program_that_never_read_the_zone_asks_for_itself() {
    expect(&format!("env -TZ\n{START}{STAT} x500"), "nothing");
}

#[test]
fn statx_where_the_machine_is_not_known_is_not_decided() {
    let statx = "statx(AT_FDCWD, \"/etc/localtime\", AT_STATX_SYNC_AS_STAT, STATX_ALL, \
                 {stx_mask=STATX_ALL, ...}) = 0 x500\n";
    let lacking = verdict(&format!("env -TZ\n{START}{LOAD}{statx}"));
    assert_eq!(lacking.findings, []);
    let missing = vec![Fact::CallSites];
    let not_checked = NotChecked { rule: "tz-unset".into(), missing };
    assert!(lacking.not_checked.contains(&not_checked), "{:?}", lacking.not_checked);
    let own = "nothing";
    expect(&format!("env -TZ\nmachine x86_64\n{START}{LOAD}{statx}"), own);
    expect(&format!("env -TZ\n{START}{LOAD}{statx}site look+0x12: call statx@plt"), own);
    expect(&format!("env -TZ\nmachine mips\n{START}{LOAD}{statx}"), "tz-unset: 500 of 501");
}

#[test]
fn without_stacks_a_call_is_not_said_to_be_libcs() {
    let why = |more: &str| {
        let found = verdict(&format!("{}{more}", storm(500, "env -TZ"))).findings.remove(0);
        let sentence = found.remedies[0].safety.sentence().to_owned();
        (
            found.stage,
            found.why.contains("Or the program itself asks"),
            sentence.contains("Only if"),
        )
    };
    assert_eq!(why(""), (Stage::Seen, true, true));
    assert_eq!(why("site main+0xc3: call localtime@plt"), (Stage::Explained, false, false));
}

/// The same looks, `gap_ms` apart, in a log with a clock.
fn timed(looks: u32, gap_ms: u32) -> String {
    let mut log = String::new();
    for line in [START, LOAD].concat().lines().filter(|line| !line.is_empty()) {
        log += &format!("1700000000.000000 {line}\n");
    }
    for look in 0..looks {
        let ms = u64::from(look) * u64::from(gap_ms);
        let (s, us) = (1_700_000_000 + ms / 1000, ms % 1000 * 1000);
        log += &format!("{s}.{us:06} {STAT}\n");
    }
    log
}

#[test]
fn a_look_now_and_then_is_a_watchers() {
    expect(&timed(100, 1000), "nothing");
    expect(&timed(100, 100), "tz-unset: 100 of 101");
    // Ten looks in a second are a burst, not a rate.
    expect(&timed(10, 100), "tz-unset: 10 of 11");
}

#[test]
fn children_go_on_with_what_their_parent_read() {
    let mut log = String::new();
    for line in [START, LOAD].concat().lines().filter(|line| !line.is_empty()) {
        log += &format!("100 {line}\n");
    }
    log += &format!("100 {STAT} x4\n");
    for child in [101, 102] {
        log += &format!(
            "100 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = {child}\n\
             {child} {STAT} x8\n"
        );
    }
    // One finding for one program, the processes with most calls first.
    expect(&log, "tz-unset: 20 of 21");
    let profile = profile(&log);
    let found = check(&profile, &CheckOptions::default()).findings.remove(0);
    let pids: Vec<u32> = found.processes.iter().map(|p| profile.process(*p).pid).collect();
    assert_eq!(pids, [101, 102, 100]);
}

#[test]
fn a_parent_that_only_read_the_zone_counts_once() {
    let mut log = String::new();
    for line in [START, LOAD].concat().lines().filter(|line| !line.is_empty()) {
        log += &format!("100 {line}\n");
    }
    for child in [101, 102, 103] {
        log += &format!(
            "100 clone(child_stack=NULL, flags=CLONE_CHILD_CLEARTID|SIGCHLD) = {child}\n\
             {child} {STAT} x8\n"
        );
    }
    // In the last child the zone changed, and the look that noticed was needed.
    log += &format!("103 {STAT} x2\n103 {}\n", LOAD.trim());
    expect(&log, "tz-unset: 25 of 27");
}

#[test]
fn statx_is_glibcs_on_32_bit_machines_only() {
    let statx = STAT.replace("newfstatat", "statx").replace(
        "{st_mode=S_IFREG|0644, st_size=127, ...}, 0)",
        "AT_STATX_SYNC_AS_STAT|AT_NO_AUTOMOUNT, STATX_BASIC_STATS, {stx_mask=STATX_ALL, ...})",
    );
    let log = |machine: &str| format!("{machine}\n{START}{LOAD}{statx} x20\n");
    for machine in ["", "machine x86_64", "machine aarch64"] {
        expect(&log(machine), "nothing");
    }
    expect(&log("machine armv7l"), "tz-unset: 20 of 21");
}

#[test]
fn what_a_rule_explains_does_not_come_back_as_a_repeated_question() {
    let facts = "facts +answers";
    expect(&storm(5000, facts), "tz-unset: 5000 of 5001");
    // Not even if the rule is not wanted.
    let options = CheckOptions { ignore: vec!["tz-unset".to_owned()], ..CheckOptions::default() };
    assert!(check(&profile(&storm(5000, facts)), &options).findings.is_empty());
    let options =
        CheckOptions { only: vec!["repeated-question".to_owned()], ..CheckOptions::default() };
    assert!(check(&profile(&storm(5000, facts)), &options).findings.is_empty());
    // Time functions that are rarely called are explained, too: a burst of 300, and one check five
    // minutes later.
    let burst = "1700000300.000000 ".to_owned() + STAT;
    expect(&format!("{facts}\n{}{burst}\n", timed(300, 0)), "nothing");
}

#[test]
fn a_healthy_program_has_many_questions_and_no_finding() {
    let mut log = format!("facts +answers\n{START}");
    for file in 0..1500 {
        // As git and make: each file looked at twice.
        log += &format!(
            "newfstatat(AT_FDCWD, \"/src/{file}\", {{st_mode=S_IFREG|0644, st_size=1, ...}}, AT_SYMLINK_NOFOLLOW) = 0 x2\n"
        );
    }
    expect(&log, "nothing");
}

#[test]
fn ten_calls_among_five_thousand_are_not_worth_a_change() {
    let mut log = storm(10, "");
    for file in 0..5000 {
        log += &format!("access(\"/src/{file}\", R_OK) = 0\n");
    }
    expect(&log, "tz-unset: 10 of 11\nbelow");
    assert!(verdict(&log).findings.is_empty());
    let all = CheckOptions { min_saving_percent: 0.0, ..CheckOptions::default() };
    assert_eq!(check(&profile(&log), &all).findings.len(), 1);
    // Four calls never are.
    expect(&storm(4, ""), "tz-unset: 4 of 5\nbelow");
    assert!(verdict(&storm(4, "")).findings.is_empty());
}

#[test]
fn ten_calls_in_an_hour_of_computing_are_not_worth_a_change() {
    let long = verdict(&storm(10, "costs 1000\ncpu 3600s"));
    assert!(long.findings.is_empty());
    assert_eq!((long.below[0].kernel_ns, long.below[0].estimated), (Some(10_000), true));
    // Ten million of them in a minute are.
    let mut busy = profile(&storm(10, "costs 1000\ncpu 60s"));
    for row in busy.rows.iter_mut().filter(|row| row.count == 10) {
        row.count = 10_000_000;
    }
    let busy = check(&busy, &CheckOptions::default());
    assert_eq!(busy.findings[0].kernel_ns, Some(10_000_000_000));
}

#[test]
fn measured_time_goes_before_calibrated_time() {
    let mut profile = profile(&storm(10, "costs 1000"));
    for row in profile.rows.iter_mut().filter(|row| row.count == 10) {
        (row.timed, row.kernel_ns) = (5, 10_000);
    }
    let found = check(&profile, &CheckOptions::default()).findings.remove(0);
    assert_eq!((found.kernel_ns, found.estimated), (Some(20_000), false));
}

#[test]
fn a_rule_without_its_facts_is_said_to_be_unchecked() {
    let blind = verdict(&storm(500, "facts -outcomes -answers"));
    assert!(blind.findings.is_empty());
    let missing = vec![Fact::Outcomes];
    assert!(blind.not_checked.contains(&NotChecked { rule: "tz-unset".into(), missing }));
    let missing = vec![Fact::Outcomes, Fact::Answers];
    assert!(blind.not_checked.contains(&NotChecked { rule: "repeated-question".into(), missing }));
}

#[test]
fn bash_and_perl_get_sentences_of_their_own() {
    for (program, word) in [("bash", "prompt"), ("perl", "POSIX::strftime")] {
        let log = storm(199, "env -TZ").replace("/usr/bin/app", &format!("/usr/bin/{program}"));
        let found = verdict(&log).findings.remove(0);
        assert!(found.why.contains(word), "{}", found.why);
        assert_eq!((found.needless, found.of), (199, 200));
        // Their code is not the user's to change.
        let changes: Vec<_> = found.remedies.iter().map(|remedy| &remedy.change).collect();
        assert!(matches!(changes[..], [Change::SetEnv { .. }, Change::Preload]), "{changes:?}");
    }
}

#[test]
fn the_preload_library_is_offered_only_where_it_can_help() {
    let offered = |log: &str| {
        let found = verdict(log).findings.remove(0);
        found.remedies.iter().any(|remedy| remedy.change == Change::Preload)
    };
    assert!(offered(&storm(99, "env -TZ")));
    // The dynamic linker does not take libraries from the environment of such a program.
    assert!(!offered(&storm(99, "env -TZ\nsecure")));
}

/// Only its code could change how `col` writes, and it is not the user's.
#[test]
fn what_only_the_code_of_others_could_change_is_shown_on_demand() {
    let of = |env: &str, program: &str, options: &CheckOptions| {
        let log = format!(
            "{env}execve(\"/usr/bin/{program}\", [\"x\"], 0x7ffd) = 0\nwrite(1, \"line\\n\", 5) = 5 x3000\n"
        );
        let verdict = check(&profile(&log), options);
        let texts = verdict.findings.iter().map(|finding| match &finding.remedies[0].change {
            Change::Manual(text) => text.clone(),
            other => panic!("{other:?}"),
        });
        (texts.collect::<Vec<_>>(), verdict.below.len())
    };
    let (usual, known) = (CheckOptions::default(), "env -_STDBUF_O\n");
    for program in ["col", "bc", "unzip"] {
        assert_eq!(of(known, program, &usual), (vec![], 1), "{program}");
        for demanded in [
            CheckOptions { pedantic: true, ..CheckOptions::default() },
            CheckOptions { only: vec!["unbuffered-output".to_owned()], ..CheckOptions::default() },
            CheckOptions { min_saving_percent: 0.0, ..CheckOptions::default() },
        ] {
            assert_eq!(of(known, program, &demanded).0.len(), 1, "{program} {demanded:?}");
        }
        // It may be stdbuf, which a log without an environment does not show.
        let (texts, _) = of("", program, &usual);
        assert!(texts[0].starts_with(&format!("If stdbuf was put before {program}")), "{texts:?}");
    }
    // A program of the user's, and one with a switch.
    for program in ["report", "grep"] {
        assert_eq!(of(known, program, &usual).0.len(), 1, "{program}");
    }
}

/// Twelve rounds of a block of 40,001,536 bytes.
const BLOCKS: &str = "libc glibc 2.36
costs 2000
execve(\"/usr/bin/python3\", [\"python3\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
repeat 12
mmap(NULL, 40001536, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f1a00000000
munmap(0x7f1a00000000, 40001536) = 0
end
";

#[test]
fn memory_that_is_faulted_in_again_costs_its_pages() {
    let found = |faults: u64| {
        let mut profile = profile(BLOCKS);
        let process = profile.processes.last_mut().unwrap();
        (process.minor_faults, process.given_back) = (Some(faults), Some(12 * 40_001_536));
        check(&profile, &CheckOptions::default()).findings
    };
    // Of 117,192 pages that were given back, eleven twelfths are faulted in again.
    let touched = found(118_000);
    assert_eq!((touched[0].needless, touched[0].of), (22, 24));
    assert_eq!(touched[0].kernel_ns, Some(22 * 2000 + 107_426 * 2000));
    assert!(touched[0].what.contains("107,426 page faults"), "{}", touched[0].what);
    assert!(matches!(touched[0].remedies[0].change, Change::SetEnv { .. }));
    // Blocks of zeroes that are hardly touched.
    assert_eq!(found(20_000), []);
    // Without page faults, as few rounds are no finding.
    expect(BLOCKS, "nothing");
}

#[test]
fn an_estimate_is_not_more_than_was_spent() {
    let mut busy = profile(&storm(1000, "costs 1000"));
    for process in &mut busy.processes {
        process.cpu_ns = Some(400_000);
    }
    assert_eq!(check(&busy, &CheckOptions::default()).findings[0].kernel_ns, Some(400_000));
}
