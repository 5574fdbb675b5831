//! The library's system calls, counted by strace, and what it needs of the dynamic linker.

use crate::common::{have, library, may_mount, program, run, with_a_link};
use std::process::Command;

/// All system calls of a program, as lines of strace's log.
fn calls(
    program: &std::path::Path,
    conversions: &str,
    tz: Option<&str>,
    preloaded: bool,
) -> Vec<String> {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mut c = Command::new("strace");
    c.args(["-f", "-o"]).arg(log.path());
    if preloaded {
        c.arg("-E").arg(format!("LD_PRELOAD={}", library().display()));
    }
    c.arg(program).arg(conversions);
    assert!(run(&mut c, tz, false).status.success());
    let text = std::fs::read_to_string(log.path()).expect("strace's log");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn one_call_a_second_in_a_million_conversions() {
    if !have("strace") {
        return;
    }
    let storm = program("storm", &[]);
    let few = calls(&storm, "60", None, true);
    let start = std::time::Instant::now();
    let many = calls(&storm, "1000060", None, true);
    let seconds = start.elapsed().as_secs() as usize;
    let stats = |log: &[String]| log.iter().filter(|l| l.contains("\"/etc/localtime\"")).count();
    let plain = stats(&calls(&storm, "600", None, false));
    assert!(plain >= 600, "the C library checks the file each time: {plain}");
    // One more in each second that the million takes.
    let more = many.len() - few.len();
    assert!(more <= seconds + 1, "{more} more calls:\n{}", many.join("\n"));
}

#[test]
fn posixrules_is_read_where_the_c_library_reads_it() {
    if !have("strace") {
        return;
    }
    let storm = program("storm", &[]);
    for (tz, read) in [
        ("EST5EDT,M3.2.0,M11.1.0", false),
        ("EST5EDT4,M3.2.0,M11.1.0", false),
        ("<+03>-3<+04>,J60,J300", false),
        ("<+03>-3", false),
        ("CET-1CEST", true),
        ("CET-1CEST-2,", true),
        ("<+03>-3<+04>", true),
    ] {
        for preloaded in [false, true] {
            let calls = calls(&storm, "3", Some(tz), preloaded);
            let opens = calls.iter().any(|call| call.contains("/posixrules\""));
            assert_eq!(opens, read, "{tz}, preloaded: {preloaded}:\n{}", calls.join("\n"));
        }
    }
}

#[test]
fn needs_the_c_library_alone_of_any_version() {
    if !have("readelf") {
        return;
    }
    let read = |option: &str| {
        let out =
            Command::new("readelf").args(["-W", option]).arg(library()).output().expect("readelf");
        String::from_utf8(out.stdout).expect("text")
    };
    let dynamic = read("-d");
    assert!(dynamic.contains("libneedless_localtime.so"), "{dynamic}");
    let needed: Vec<_> = dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(matches!(needed[..], [one] if one.ends_with("[libc.so.6]")), "{dynamic}");
    for absent in ["VERNEED", "TEXTREL"] {
        assert!(!dynamic.contains(absent), "{absent} in {dynamic}");
    }
    let symbols = read("--dyn-syms");
    let undefined: Vec<_> =
        symbols.lines().filter(|l| l.contains(" UND ") && !l.trim_end().ends_with("UND")).collect();
    assert!(undefined.len() > 10, "{symbols}");
    for line in undefined {
        assert!(line.contains("WEAK"), "{line}");
    }
    // Otherwise the program's own function of that name would be called instead.
    for line in read("-r").lines().filter(|line| line.contains("R_")) {
        let name = line.split_whitespace().nth(4).unwrap_or_default();
        let ours =
            symbols.lines().any(|l| !l.contains(" UND ") && l.ends_with(&format!(" {name}")));
        assert!(!ours, "{line}");
    }
    let wanted = [
        "localtime",
        "localtime_r",
        "gmtime",
        "gmtime_r",
        "__gmtime_r",
        "mktime",
        "timelocal",
        "timegm",
        "ctime",
        "ctime_r",
        "tzset",
        "strftime",
        "strftime_l",
        "__strftime_l",
        "wcsftime",
        "wcsftime_l",
        // To keep their zone the same: see src/libc_sync.rs.
        "strptime",
        "strptime_l",
        "vsyslog",
        "__vsyslog_chk",
    ];
    let variadic: &[_] = if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        &["syslog", "__syslog_chk"]
    } else {
        &[]
    };
    let mut exported: Vec<_> = symbols
        .lines()
        .filter(|l| l.contains("FUNC") && !l.contains(" UND "))
        .filter_map(|l| l.split_whitespace().last())
        .collect();
    exported.sort_unstable();
    let mut wanted = [&wanted[..], variadic].concat();
    wanted.sort_unstable();
    assert_eq!(exported, wanted, "exactly the functions that it replaces");
}

#[test]
#[ignore = "long: a measurement of two minutes"]
fn how_soon_a_changed_file_is_seen() {
    if !may_mount() {
        return;
    }
    let soon = program("soon", &[]);
    let out = with_a_link(|at| format!("{} {at} 100", soon.display()), true);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    print!("{text}");
    assert!(out.status.success() && text.starts_with("100 swaps"), "{out:?}");
}

#[test]
fn a_changed_file_is_seen_in_the_next_second() {
    if !may_mount() {
        return;
    }
    let change = program("change", &[]);
    for preloaded in [false, true] {
        let out = with_a_link(|at| format!("{} {at}", change.display()), preloaded);
        let text = String::from_utf8_lossy(&out.stdout).into_owned()
            + &String::from_utf8_lossy(&out.stderr);
        assert_eq!(text, "seen\n", "preloaded: {preloaded}");
    }
}

#[test]
fn a_changed_variable_is_seen_at_once() {
    let variable = program("variable", &[]);
    for tz in [None, Some("Asia/Tokyo")] {
        crate::common::same(|| Command::new(&variable), tz);
    }
}

#[test]
fn children_of_vfork_convert_too() {
    let vfork = program("vfork", &[]);
    for tz in [None, Some("Europe/Athens"), Some("JST-9")] {
        crate::common::same(|| Command::new(&vfork), tz);
    }
}

#[test]
fn threads_forks_signals_and_flips() {
    let stress = program("stress", &[]);
    let out = run(Command::new(&stress).arg("400"), Some("JST-9"), true);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n", "{:?}", out.status);
}

/// localtime_r stays right, whatever other threads write to the structure that localtime returns.
#[test]
fn localtime_r_does_not_read_the_shared_structure() {
    let shared = program("shared", &[]);
    let out = run(Command::new(&shared).arg("2000"), Some("Europe/Athens"), true);
    assert_eq!(String::from_utf8_lossy(&out.stdout), "done\n", "{:?}", out.status);
}

#[test]
fn flips_of_the_variable_leave_nothing_behind() {
    let leak = program("leak", &[]);
    let grown = |flips: &str, values: &str| -> i64 {
        let out = run(Command::new(&leak).args([flips, values]), None, true);
        assert!(out.status.success(), "{out:?}");
        String::from_utf8_lossy(&out.stdout).trim().parse().expect("a number")
    };
    // In kB. The kernel counts in batches of up to 256; one byte per flip would be 976.
    let start = grown("10", "2");
    let many_flips = grown("1000000", "2") - start;
    assert!(many_flips <= 256, "{many_flips} kB");
    let many_values = grown("20000", "20000") - start;
    assert!((100..=10 * 1024).contains(&many_values), "{many_values} kB");
}

/// New zones take bounded memory: beyond the bound the C library answers, and the answers are the same. The C library's
/// own memory is compared with a run without this library.
#[test]
fn zones_take_bounded_memory() {
    // The library's own memory, in kB, and some for differences between two runs.
    const ROOM: i64 = 400 + 100;
    if !may_mount() {
        return;
    }
    let bounded = program("bounded", &[]);
    let most = [("one", 100_000), ("rules", 20_000), ("zones", 2), ("touched", 5000)];
    for (what, count) in most {
        let [plain, preloaded] = [false, true].map(|preloaded| {
            let line = |at: &str| format!("{} {what} {count} {at}/tokyo", bounded.display());
            let out = with_a_link(line, preloaded);
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            let (grown, sum) = text.split_once(" kB\n").unwrap_or_else(|| panic!("{out:?}"));
            (grown.parse::<i64>().expect("a number"), sum.to_owned())
        });
        println!("{what}: {} kB without, {} kB with", plain.0, preloaded.0);
        assert_eq!(plain.1, preloaded.1, "{what}");
        let room = if what == "touched" { 40 } else { ROOM };
        assert!(preloaded.0 - plain.0 <= room, "{what}: {plain:?}, {preloaded:?}");
    }
}
