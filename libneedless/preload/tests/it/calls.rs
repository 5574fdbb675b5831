//! The library's system calls, counted by strace, and what it needs of the dynamic linker.

use crate::common::{have, library, may_mount, program, run, with_a_link};
use std::process::Command;

/// All system calls of so many conversions, as lines of strace's log.
fn calls(program: &std::path::Path, conversions: &str, preloaded: bool) -> Vec<String> {
    let log = tempfile::NamedTempFile::new().expect("a file");
    let mut c = Command::new("strace");
    c.args(["-f", "-o"]).arg(log.path());
    if preloaded {
        c.arg("-E").arg(format!("LD_PRELOAD={}", library().display()));
    }
    c.arg(program).arg(conversions);
    assert!(run(&mut c, None, false).status.success());
    let text = std::fs::read_to_string(log.path()).expect("strace's log");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn one_look_a_second_in_a_million_conversions() {
    if !have("strace") {
        return;
    }
    let storm = program("storm", &[]);
    let few = calls(&storm, "60", true);
    let start = std::time::Instant::now();
    let many = calls(&storm, "1000060", true);
    let seconds = start.elapsed().as_secs() as usize;
    let looks = calls(&storm, "600", false);
    let looks = looks.iter().filter(|call| call.contains("\"/etc/localtime\"")).count();
    assert!(looks >= 600, "the C library looks each time: {looks}");
    // One more in each second that the million takes, and that one may be made at the end of a second.
    let more = many.len().saturating_sub(few.len());
    assert!(more <= seconds + 2, "{more} more calls:\n{}", many.join("\n"));
}

/// What readelf prints of the library.
fn readelf(option: &str) -> String {
    let out =
        Command::new("readelf").args(["-W", option]).arg(library()).output().expect("readelf");
    String::from_utf8(out.stdout).expect("text")
}

#[test]
fn needs_the_c_library_alone_of_any_version() {
    if !have("readelf") {
        return;
    }
    let dynamic = readelf("-d");
    assert!(dynamic.contains("libneedless_localtime.so"), "{dynamic}");
    let needed: Vec<_> = dynamic.lines().filter(|line| line.contains("(NEEDED)")).collect();
    assert!(matches!(needed[..], [one] if one.ends_with("[libc.so.6]")), "{dynamic}");
    for absent in ["VERNEED", "TEXTREL"] {
        assert!(!dynamic.contains(absent), "{absent} in {dynamic}");
    }
    let symbols = readelf("--dyn-syms");
    let undefined: Vec<_> =
        symbols.lines().filter(|l| l.contains(" UND ") && !l.trim_end().ends_with("UND")).collect();
    assert!(undefined.len() >= 3, "{symbols}");
    for line in undefined {
        let name = line.split_whitespace().last().unwrap_or_default();
        // ISO C reserves these names for the implementation: no program has a function or variable of that name.
        assert!(line.contains("WEAK") && name.starts_with('_'), "{line}");
    }
    // Otherwise the program's own function of that name would be called instead.
    for line in readelf("-r").lines().filter(|line| line.contains("R_")) {
        let name = line.split_whitespace().nth(4).unwrap_or_default();
        let ours =
            symbols.lines().any(|l| !l.contains(" UND ") && l.ends_with(&format!(" {name}")));
        assert!(!ours, "{line}");
    }
}

#[test]
fn replaces_exactly_the_functions_that_may_look() {
    if !have("readelf") {
        return;
    }
    if cfg!(target_arch = "x86_64") {
        let notes = readelf("-n");
        assert!(notes.contains("IBT") && notes.contains("SHSTK"), "{notes}");
    }
    let symbols = readelf("--dyn-syms");
    let mut exported: Vec<_> = symbols
        .lines()
        .filter(|l| l.contains("FUNC") && !l.contains(" UND "))
        .filter_map(|l| l.split_whitespace().last())
        .collect();
    exported.sort_unstable();
    let wanted = [
        "__strftime_l",
        "__wcsftime_l",
        "ctime",
        "getdate",
        "getdate_r",
        "localtime",
        "localtime_r",
        "mktime",
        "strftime",
        "strftime_l",
        "strptime",
        "strptime_l",
        "timelocal",
        "tzset",
        "wcsftime",
        "wcsftime_l",
    ];
    assert_eq!(exported, wanted);
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
