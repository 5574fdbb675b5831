//! What `fix` sets besides variables, with the real systemd: the calls are gone, and every byte comes back.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;

/// Starts a program, again and again, that closes all that could be open.
const STORM: &str = "#!/usr/bin/perl
while (1) { system '/usr/local/bin/closer'; select undef, undef, undef, 0.2 }
";
const CLOSER: &str = "#!/usr/bin/perl
use POSIX ();
open my $f, '<', '/proc/self/limits';
my ($most) = map { /^Max open files +(\\d+)/ } <$f>;
POSIX::close($_) for 3 .. $most - 1;
";
const STORMY: &str = "/etc/systemd/system/storm.service";
const LIMITED: &str = "/etc/systemd/system/storm.service.d/zz-needless.conf";

/// The soft and the hard limit of open files of the main process of a unit.
fn limits(machine: &Machine, unit: &str) -> String {
    let pid = machine.main_of(unit);
    let line = machine.ok(&format!("grep '^Max open files' /proc/{pid}/limits"));
    flat(&line).trim_start_matches("Max open files ").to_owned()
}

/// Whether a report of the unit, of some seconds, has a finding of the rule.
fn reports(machine: &Machine, unit: &str, rule: &str) -> bool {
    machine.ok(&format!("needless attach --unit {unit} --for 3s -o /run/r.json"));
    has_finding(machine, rule)
}

/// Whether the report in /run/r.json has a finding of the rule.
fn has_finding(machine: &Machine, rule: &str) -> bool {
    let report: serde_json::Value = serde_json::from_str(&machine.ok("cat /run/r.json")).unwrap();
    report["findings"].as_array().unwrap().iter().any(|finding| finding["rule"] == rule)
}

fn storm(service: &str) -> Option<Machine> {
    let machine = machine_with(&[("storm", STORM), ("closer", CLOSER)], "")?;
    if !observes_others() {
        return None;
    }
    let unit = format!("[Service]\nExecStart=/usr/local/bin/storm\n{service}");
    machine.write(STORMY, "644", &unit);
    machine.ok("systemctl daemon-reload && systemctl start storm");
    Some(machine)
}

#[test]
fn fix_lowers_the_limit_of_a_close_storm() {
    let Some(machine) = storm("LimitNOFILE=8000:16000\n") else { return };
    let before = files(&machine);
    assert!(reports(&machine, "storm", "close-storm"));
    let fix = "needless fix /run/r.json --rule close-storm --yes";
    let said = machine.ok(&format!("{fix} --restart"));
    eprintln!("{said}");
    for part in [
        "+LimitNOFILE=1024:16000\n",
        "The hard limit stays 16000",
        "storm.service:3 sets LimitNOFILE=8000:16000, and the new drop-in is read after it",
        "in force: LimitNOFILE=1024:16000 in storm[",
        " calls per second before, 0 after",
    ] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    assert_eq!(limits(&machine, "storm"), "1024 16000 files");
    // Once more there is nothing to do; beside it a variable is set, and taken back alone.
    let again = machine.all(fix);
    assert!(again.contains("soft limit of open files is 1024 there"), "{again}");
    machine.ok("needless fix --unit storm --set TZ=Asia/Tokyo --yes");
    let both = machine.ok(&format!("cat {LIMITED}"));
    assert!(both.contains("LimitNOFILE=1024:16000") && both.contains("TZ=Asia/Tokyo"), "{both}");
    machine.ok("needless undo --last");
    assert!(!reports(&machine, "storm", "close-storm"));
    let undone = machine.ok("needless undo --last");
    assert!(undone.contains("systemctl restart storm.service"), "{undone}");
    same(&before, &files(&machine), "undo");
    machine.ok("systemctl restart storm");
    assert_eq!(limits(&machine, "storm"), "8000 16000 files");
    assert!(reports(&machine, "storm", "close-storm"));
}

/// Where the limit is not the unit's, or somebody has the last word, nothing is written.
#[test]
fn fix_lowers_no_limit_that_another_sets_or_needs() {
    let Some(machine) = storm("LimitNOFILE=8000:16000\n") else { return };
    let fix = "needless fix --unit storm --rule close-storm --yes --restart";
    let last = "/etc/systemd/system/storm.service.d/zzz-last.conf";
    machine.write(last, "644", "[Service]\nLimitNOFILE=9000\n");
    machine.ok("systemctl daemon-reload && systemctl restart storm");
    let before = files(&machine);
    let said = machine.all(fix);
    let why = format!("{last}:2 sets it, and sorts after zz-needless.conf: change it there");
    assert!(said.contains(&why) && said.ends_with("rc 2"), "{said}");
    same(&before, &files(&machine), "refused");
    // The program raises its own limit.
    machine.ok(&format!("rm -r $(dirname {last})"));
    let own = "[Service]\nLimitNOFILE=1024:16000\nExecStart=/bin/sh -c 'ulimit -Sn 8000; exec /usr/local/bin/storm'\n";
    machine.write(STORMY, "644", own);
    machine.ok("systemctl daemon-reload && systemctl restart storm");
    let said = machine.all(fix);
    assert!(said.contains("starts its program with a soft limit of 1024 open files"), "{said}");
    let raises = own.replace("1024:16000", "2048:16000");
    machine.write(STORMY, "644", &raises);
    machine.ok("systemctl daemon-reload && systemctl restart storm");
    let before = files(&machine);
    let said = machine.all(fix);
    assert!(
        said.contains(
            "has a soft limit of 8000 open files, which it, or what starts it, sets itself"
        ),
        "{said}"
    );
    assert!(said.contains("taken back, and restarted once more"), "{said}");
    same(&before, &files(&machine), "taken back");
    // It has many open.
    let many = "[Service]\nLimitNOFILE=8000:16000\nExecStart=/usr/bin/perl -e 'open $f[$_], \"</dev/null\" for 1 .. 600; while (1) { system \"/usr/local/bin/closer\"; select undef, undef, undef, 0.2 }'\n";
    machine.write(STORMY, "644", many);
    machine.ok("systemctl daemon-reload && systemctl restart storm; sleep 1");
    let said = machine.all(fix);
    assert!(said.contains("descriptors open, under the limit that it was started with"), "{said}");
    // A report is evidence: no other rule advises it.
    let forged = serde_json::json!({ "schema": "needless.report/1", "backend": "eBPF",
        "source": { "kind": "attach", "name": "host" }, "complete": true, "window_s": 9.0,
        "totals": { "calls": 9 }, "lost": {}, "findings": [{ "rule": "tz-unset", "service": "storm.service",
        "needless": 9, "process": { "pid": 1 }, "exes": [], "evidence": [], "remedies": [{ "kind": "setting",
        "variable": null, "value": null, "setting": "open-files", "text": "x", "caveat": "y", "safety": "safe" }] }] });
    machine.write("/run/forged.json", "644", &forged.to_string());
    let said = machine.all("needless fix /run/forged.json --yes");
    assert!(said.contains("does not advise a setting"), "{said}");
}
