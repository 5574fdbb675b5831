//! What a report says of waiting, of the CPU time by program, and of the number of processes.

use crate::common::*;
use serde_json::Value;

fn of_kind<'a>(report: &'a Value, kind: &str) -> Vec<&'a Value> {
    report["waiting"].as_array().unwrap().iter().filter(|one| one["kind"] == kind).collect()
}

fn program_of<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["programs"].as_array().unwrap();
    all.iter().find(|one| one["program"] == name).unwrap_or_else(|| panic!("{report:#}"))
}

/// Sleeps, reads from a pipe, a lock that another process has, and children.
const SCRIPT: &str = "
    sleep 0.1; sleep 0.1; (sleep 0.1; echo x) | cat
    flock lock sh -c 'echo held; sleep 0.2' | (read held; flock lock true); wait";

#[test]
fn what_was_waited_for_is_listed_by_kind_and_is_no_cost() {
    if !observes_others() || program("flock").is_none() {
        return;
    }
    let folder = open_folder();
    let script = format!("cd {}; {SCRIPT}", folder.path().display());
    let report = run_with(&["--backend", "ebpf", "--latency"], &[], &["sh", "-c", &script]);
    let sleeps = of_kind(&report, "sleep");
    let sum = |of: &[&Value], what| of.iter().map(|one| one[what].as_f64().unwrap()).sum::<f64>();
    assert_eq!(sum(&sleeps, "calls"), 4.0, "{report:#}");
    // clock_nanosleep(2) does not return earlier.
    assert!(sum(&sleeps, "wait_us") >= 500_000.0, "{report:#}");
    for (kind, by) in [("read_pipe", "cat"), ("lock", "flock"), ("children", "sh (dash)")] {
        let by_it = of_kind(&report, kind).into_iter().any(|one| one["program"] == by);
        assert!(by_it, "{kind}: {report:#}");
    }
    let account = &report["account"];
    let cost = |part: &str| account[part]["kernel_us"].as_f64().unwrap_or(0.0);
    let cpu = ["cpu_user_s", "cpu_sys_s"].map(|part| report["totals"][part].as_f64().unwrap());
    let cost = cost("needless") + cost("unexplained");
    assert!(cost <= 2e6 * cpu.iter().sum::<f64>(), "{report:#}");
}

#[test]
fn without_latency_nothing_is_said_of_waiting() {
    let report = run(&[], &["sh", "-c", "sleep 0.01"]);
    assert_eq!(report["waiting"].as_array().map(Vec::len), Some(0));
}

#[test]
fn each_program_has_its_processes_and_its_time() {
    let script = "for i in 1 2 3 4 5; do /bin/true; done; exec /usr/bin/env -i perl -e '$i += $_ for 1..3000000'";
    let report = run(&[], &["sh", "-c", script]);
    assert_eq!(program_of(&report, "true")["processes"], 5);
    // The shell became env, and env perl: one process, which the observer started.
    assert_eq!(program_of(&report, "perl")["processes"], 1);
    assert_eq!(program_of(&report, "env")["processes"], 0);
    assert_eq!(report["started"], 5);
    let spent = |name| program_of(&report, name)["cpu_s"].as_f64().unwrap();
    assert!(spent("true") > 0.0 && spent("perl") > spent("true"), "{report:#}");
    assert_eq!(report["programs"][0]["program"], "perl");
}

#[test]
fn many_processes_are_one_line() {
    let script = "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done; exec perl -e '$i += $_ for 1..3000000'";
    let done = command(NEEDLESS)
        .args([
            "run",
            "--format",
            "full",
            "--min-saving",
            "0",
            "--",
            "env",
            "LANG=C.UTF-8",
            "sh",
            "-c",
            script,
        ])
        .output()
        .unwrap();
    let text = stderr(&done);
    assert!(text.contains("  processes      100 processes started, "), "{text}");
    assert!(text.contains("; most ran true: 100\n"), "{text}");
}

/// A process that ends with its owner.
struct Ends(std::process::Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_file_system_with_slow_look_ups_is_named() {
    let (Some(python), true) = (program("python3"), observes_others()) else { return };
    let Some(()) = root() else { return };
    let device = std::fs::File::open("/dev/fuse").map(drop).map_err(|e| format!("/dev/fuse: {e}"));
    if needed(device).is_none() {
        return;
    }
    let Some(own) = own_mounts() else { return };
    let folder = open_folder();
    let (slow, report) = (folder.path().join("slow"), folder.path().join("report"));
    std::fs::create_dir(&slow).unwrap();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/common/slow_files.py");
    // The shell waits for the line that says that it is mounted; the reader of the pipe ends with the server.
    let script = r#"
        mkfifo "$1/ready"; "$2" "$3" "$1/slow" 0.0005 >"$1/ready" & read line <"$1/ready"
        "$4" run --backend ebpf --latency -o "$1/report" --format "$5" -- \
            perl -e 'for (1 .. 60) { -e "$ARGV[0]/$_" }' "$1/slow"
        kill -9 $!"#;
    for format in ["json", "full"] {
        let _ = std::fs::remove_file(folder.path().join("ready"));
        let mut shell = command_of(&own);
        shell.args(["sh", "-c", script, "sh"]).arg(folder.path()).arg(&python);
        let mut shell = Ends(shell.args([server, NEEDLESS, format]).spawn().unwrap());
        assert!(shell.0.wait().is_ok());
        let text = std::fs::read_to_string(&report).unwrap();
        if format == "full" {
            let line = format!("on fuse.slow {}: 60 failed look-ups, ", slow.display());
            assert!(text.contains(&line), "{text}");
            continue;
        }
        let report: Value = serde_json::from_str(&text).unwrap();
        let named = &report["slow_file_system"];
        assert_eq!(named["kind"], "fuse.slow", "{report:#}");
        assert_eq!((named["at"].as_str(), named["calls"].as_u64()), (slow.to_str(), Some(60)));
        // The server sleeps at least so long before each answer.
        assert!(named["mean_us"].as_f64() >= Some(500.0), "{named:#}");
        assert_eq!(of_kind(&report, "path")[0]["calls"], 60);
    }
}
