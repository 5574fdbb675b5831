//! Compares the preloaded library with a second C library in the same process: each function, `errno`, `tzname`,
//! static buffers and callers' buffers. `c/oracle.c` compares; the inputs are those of the engine's own oracle.
//!
//! It tests every zone once, then random ones for half a minute; with `NEEDLESS_ORACLE=COUNT` until COUNT comparisons
//! are made, with `NEEDLESS_ORACLE_SECONDS=N` for N seconds. `NEEDLESS_SEED=N` chooses other random inputs. A
//! comparison is one call answered by both.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

#[allow(dead_code, reason = "the engine's oracle uses more of it")]
#[path = "../../../localtime/tests/it/oracle/inputs.rs"]
mod inputs;

use inputs::{Random, ZONEINFO, compiled, corrupted, text, transitions, zone_files};
use needless_fixtures::needed;
use needless_localtime::Zone;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// How long random inputs are tested if no count is given: short enough for each `make test`.
const SECONDS: u64 = 30;
/// How many moments of one zone are tested, at most: a corrupted header may count a million.
const MOMENTS: usize = 600;

/// TZ strings for which POSIX specifies every answer.
const SPECIFIED: [&str; 5] = [
    "JST-9",
    "UTC0",
    "EST5EDT,M3.2.0,M11.1.0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
];

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

/// Writes a line of the file that `oracle.c` reads: the class, `TZ`, moments to test.
fn line(to: &mut String, class: char, tz: &[u8], moments: &[i64]) {
    write!(to, "{class} ").expect("a string grows");
    for byte in tz {
        write!(to, "{byte:02x}").expect("a string grows");
    }
    // An empty value is one NUL.
    if tz.is_empty() {
        to.push_str("00");
    }
    for t in moments.iter().take(MOMENTS) {
        write!(to, " {t}").expect("a string grows");
    }
    to.push('\n');
}

/// The text of the file that `oracle.c` reads; corrupted and compiled zone files are put into `scratch`.
fn questions(random: &mut Random, scratch: &Path) -> String {
    let mut list = String::new();
    let mut zones = needed(zone_files(Path::new(ZONEINFO))).unwrap_or_default();
    for (form, leaps) in [("slim", false), ("slim", true), ("fat", false)] {
        zones.extend(needed(compiled(scratch, form, leaps)).unwrap_or_default());
    }
    let mut seen = HashSet::new();
    for (name, bytes) in &zones {
        let new = seen.insert(bytes.as_slice());
        let moments = if new { transitions(bytes) } else { Vec::new() };
        line(&mut list, 's', name.as_bytes(), &moments);
    }
    for text in SPECIFIED {
        line(&mut list, 's', text.as_bytes(), &[1_711_846_800, 1_729_990_800]);
    }
    let mut texts: Vec<Vec<u8>> = inputs::TEXTS.iter().map(|text| text.as_bytes().into()).collect();
    texts.extend((0..1500).map(|_| text(random)));
    // C libraries for other architectures may lack the fix of glibc's bug 29951, without which posixrules is read
    // differently: see the engine's oracle.
    let rules = std::fs::read(Path::new(ZONEINFO).join("posixrules")).unwrap_or_default();
    let is_cross = std::env::var_os("NEEDLESS_CROSS_TARGET").is_some();
    texts.retain(|text| !is_cross || Zone::with_posixrules(text, &rules).is_none());
    for text in texts {
        if !inputs::is_undefined(&text) && !text.contains(&0) {
            line(&mut list, 'o', &text, &[]);
        }
    }
    for at in 0..if zones.is_empty() { 0 } else { 600 } {
        let (_, bytes) = random.pick(&zones);
        let bad = corrupted(random, bytes);
        let accepted = Zone::from_tzif(&bad).is_ok();
        if inputs::has_no_types(&bad) || accepted && inputs::is_undefined_file(&bad) {
            continue;
        }
        let moments = if accepted { transitions(&bad) } else { Vec::new() };
        let path = scratch.join(format!("corrupted-{at}"));
        std::fs::write(&path, &bad).expect("write a corrupted file");
        line(&mut list, 'o', path.display().to_string().as_bytes(), &moments);
    }
    list.push_str("s -\n");
    list
}

#[test]
#[ignore = "long: every zone, then half a minute of chance"]
fn a_second_c_library_answers_the_same() {
    let oracle = crate::common::program("oracle", &["-ldl"]);
    let goal = number("NEEDLESS_ORACLE", 0);
    let seconds = number("NEEDLESS_ORACLE_SECONDS", if goal == 0 { SECONDS } else { 0 });
    let seed = number("NEEDLESS_SEED", 4);
    let scratch = tempfile::tempdir().expect("a directory for files");
    let mut random = Random(seed.wrapping_mul(2).wrapping_add(0x9e37_79b9_7f4a_7c15) | 1);
    let all = questions(&mut random, scratch.path());
    // A fifth of them in the second locale, which changes names only, not zones.
    let some: String = all.split_inclusive('\n').step_by(5).collect();
    for (locale, list, part) in [("C", all, 2), ("C.UTF-8", some, 2)] {
        let path = scratch.path().join(locale);
        std::fs::write(&path, list).expect("write the questions");
        let mut command = Command::new(&oracle);
        command.args([goal / part, seconds / part, seed + 1].map(|n| n.to_string()));
        command.arg(&path).arg(locale);
        let out = crate::common::run(&mut command, None, true);
        let said = String::from_utf8_lossy(&out.stdout);
        println!("seed {seed}, locale {locale}\n{said}");
        assert!(said.trim_end().ends_with(" comparisons"), "{:?}: {out:?}", out.status);
        assert!(out.status.success(), "the second C library answers differently:\n{said}");
    }
}
