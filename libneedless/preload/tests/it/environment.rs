//! Whatever a program does to its environment, its zone is the C library's, and no freed memory is read.

use crate::common::{have, library, program, run};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// What the program does: see c/environ.c.
const WHICH: [&str; 4] = ["0", "1", "2", "3"];
/// With how many variables it starts.
const VARIABLES: [usize; 4] = [1, 2, 4, 20];

fn with_variables(mut command: Command, variables: usize) -> Command {
    command.env_clear().envs((0..variables).map(|at| (format!("A{at}"), "x")));
    command
}

#[test]
fn edits_by_hand_are_seen_in_the_next_call() {
    let environ = program("environ", &[]);
    for which in WHICH {
        for variables in VARIABLES {
            let made = || {
                let mut command = with_variables(Command::new(&environ), variables);
                command.arg(which);
                command
            };
            crate::common::same(made, None);
        }
    }
}

#[test]
fn nothing_is_read_that_was_freed() {
    if !have("valgrind") {
        return;
    }
    let environ = program("environ", &[]);
    for which in WHICH {
        for variables in [1, 20] {
            let mut command = with_variables(Command::new("valgrind"), variables);
            command.args(["-q", "--error-exitcode=99"]).arg(&environ).arg(which);
            let out = run(&mut command, None, true);
            let said = String::from_utf8_lossy(&out.stderr);
            assert!(out.status.success() && said.is_empty(), "{which}: {:?} {said}", out.status);
            assert!(String::from_utf8_lossy(&out.stdout).contains("JST"), "{out:?}");
        }
    }
}

/// bash rewrites its exported variables in place: the array and its last entry stay, `TZ` is in the middle.
#[test]
fn bash_prints_the_zone_that_is_set() {
    if !have("bash") {
        return;
    }
    let script = "export V0= V4=xxxxxxxxxxx V5=xxxxx
        printf '%(%F %T %Z)T\\n' 1717243445
        unset V4
        TZ=Asia/Tokyo printf '%(%F %T %Z)T\\n' 1717243445";
    let answers = [false, true].map(|preloaded| bash(script, preloaded));
    assert!(answers[0].ends_with("21:04:05 JST\n"), "{}", answers[0]);
    assert_eq!(answers[0], answers[1]);
}

fn bash(script: &str, preloaded: bool) -> String {
    let mut command = Command::new("bash");
    command.env_clear().env("PATH", "/usr/bin:/bin").env("A", "1").env("HOME", "/");
    let out = run(command.args(["-c", script]), None, preloaded);
    assert!(out.status.success(), "{out:?}\n{script}");
    String::from_utf8(out.stdout).expect("text")
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

/// Exports, removals, zones for one command and for all, in random order; the time is printed after each.
fn script(random: &mut Random) -> String {
    const ZONES: [&str; 6] =
        ["Asia/Tokyo", "JST-9", "Europe/Athens", "", ":America/New_York", "EST5EDT,M3.2.0,M11.1.0"];
    let mut script = String::new();
    for _ in 0..12 {
        let variable = random.below(6);
        let value = "x".repeat(random.below(24) as usize);
        let zone = ZONES[random.below(6) as usize];
        let print = "printf '%(%F %T %Z)T\\n' 1717243445";
        let line = match random.below(9) {
            0 | 1 => format!("export V{variable}={value}"),
            2 => format!("unset V{variable}"),
            3 => format!("export TZ={zone}"),
            4 => format!("TZ={zone}"),
            5 => "unset TZ".to_owned(),
            6 => format!("TZ={zone} {print}"),
            7 => format!("f() {{ local -x TZ={zone}; {print}; }}; f"),
            _ => print.to_owned(),
        };
        writeln!(script, "{line}\n{print}").expect("a string grows");
    }
    script
}

#[test]
fn random_scripts_of_bash_print_the_same() {
    const SCRIPTS: usize = 500;
    if !have("bash") {
        return;
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..SCRIPTS {
        let script = script(&mut random);
        let answers = [false, true].map(|preloaded| bash(&script, preloaded));
        assert_eq!(answers[0], answers[1], "{script}");
    }
}

/// The program defines functions of these names itself: the library must not call them.
#[test]
fn a_programs_own_functions_are_not_called() {
    let own: PathBuf = program("own", &[]);
    for tz in [None, Some("Asia/Tokyo"), Some("JST-9")] {
        crate::common::same(|| Command::new(&own), tz);
    }
}

/// By dlopen, and by dlmopen into a namespace without and with a C library.
#[test]
fn it_answers_wherever_it_is_loaded() {
    let namespaces = program("namespaces", &["-ldl"]);
    for tz in [None, Some("Asia/Tokyo"), Some("EST5EDT,M3.2.0,M11.1.0")] {
        let out = run(Command::new(&namespaces).arg(library()), tz, false);
        assert_eq!(String::from_utf8_lossy(&out.stdout), "loaded\n", "{tz:?}: {out:?}");
    }
}
