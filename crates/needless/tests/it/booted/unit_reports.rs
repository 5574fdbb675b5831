//! `fix` with reports of units, as root: what they show is put right, and no value of them is used.

use crate::booted::probe::*;
use crate::common::*;

/// From the first finding to the report with nothing left.
#[test]
fn fix_leaves_nothing_of_a_report() {
    let Some(machine) = machine("") else { return };
    if !observes_others() {
        return;
    }
    machine.ok("ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime");
    start_unit(&machine, SERVICE);
    let before = files(&machine);
    let report = "needless attach --unit probe --for 2s -o /run/report.json";
    machine.ok(report);
    // A comment in the unit's own file, or in the file that would be written, is respected.
    for file in ["/etc/systemd/system/probe.service", DROP_IN] {
        machine.ok(&format!(
            "mkdir -p $(dirname {file}); echo '# needless: ignore tz-unset: polled once a day' >>{file}"
        ));
        let refused =
            machine.ok("needless fix /run/report.json --rule tz-unset --yes 2>&1 || echo $?");
        let said = "says to ignore tz-unset: polled once a day";
        assert!(refused.contains(&format!("{file}:")) && refused.contains(said), "{refused}");
        assert!(refused.ends_with("2\n"), "{refused}");
        machine
            .ok(&format!("sed -i /needless:/d {file}; [ -s {file} ] || rm -r $(dirname {file})"));
        // What is edited and not reloaded is somebody's unfinished work.
        machine.ok("systemctl daemon-reload");
    }
    same(&before, &files(&machine), "undo");
    let fixed = machine.ok("needless fix /run/report.json --rule tz-unset --yes --restart");
    assert!(fixed.contains("+Environment=\"TZ=Asia/Tokyo\""), "{fixed}");
    machine.ok(report);
    let left = machine.ok("cat /run/report.json");
    assert!(!left.contains("\"rule\": \"tz-unset\""), "{left}");
    machine.ok("needless undo && systemctl restart probe");
    same(&before, &files(&machine), "undo");
    machine.ok(report);
    assert!(machine.ok("cat /run/report.json").contains("\"rule\": \"tz-unset\""));
}

const LURE: &str = "Saves 3 opens per start; checked: the same libraries are loaded.";

/// A report with findings on the process, each with a remedy that sets a variable: rule, variable, value, whether the
/// finding is small.
pub(crate) fn forged(pid: &str, findings: &[(&str, &str, &str, bool)]) -> String {
    let process = serde_json::json!({ "pid": pid.parse::<u32>().unwrap(), "exe": "/usr/bin/perl" });
    let finding = |(rule, variable, value, small): &(&str, &str, &str, bool)| {
        let remedy = serde_json::json!({ "kind": "set_env", "variable": variable, "value": value,
            "text": LURE, "caveat": LURE, "safety": "safe" });
        serde_json::json!({ "rule": rule, "service": "probe.service", "needless": 9, "small": small,
            "process": process, "exes": [], "evidence": [], "remedies": [remedy] })
    };
    let findings: Vec<serde_json::Value> = findings.iter().map(finding).collect();
    serde_json::json!({ "schema": "needless.report/1", "backend": "eBPF",
        "source": { "kind": "attach", "name": "host" }, "complete": true, "window_s": 9.0,
        "totals": { "calls": 9 }, "lost": {}, "findings": findings })
    .to_string()
}

/// A report that a user of the machine wrote changes neither a unit nor /etc/environment.
#[test]
fn fix_takes_no_value_from_a_report() {
    let Some(machine) = machine("") else { return };
    let unit =
        SERVICE.replace("[Service]\n", "[Service]\nEnvironment=LD_LIBRARY_PATH=/opt/a:/opt/b\n");
    let pid = start_unit(&machine, &unit);
    let report = |rule, variable, value| forged(&pid, &[(rule, variable, value, false)]);
    let before = files(&machine);
    let fix = "needless fix /run/r.json --yes --restart 2>&1 || echo rc $?";
    machine.write("/run/r.json", "666", &report("tz-unset", "TZ", "UTC"));
    let printed = machine.ok(&format!("chown daemon /run/r.json; {fix}"));
    assert!(
        printed.contains("not trusted: it belongs to user") && printed.ends_with("rc 2\n"),
        "{printed}"
    );
    machine.ok("rm /run/r.json");
    for (rule, variable) in [
        ("tz-unset", "LD_LIBRARY_PATH"),
        ("tz-unset", "JAVA_TOOL_OPTIONS"),
        ("preload-missing", "LD_PRELOAD"),
        ("command-search", "PATH"),
        ("converter-path", "GCONV_PATH"),
    ] {
        machine.write("/run/r.json", "644", &report(rule, variable, "/tmp/evil"));
        let printed = machine.ok(fix);
        assert!(printed.contains("not take it from a report"), "{rule} {variable}: {printed}");
        assert!(
            !printed.contains("evil") && !printed.contains(LURE),
            "{rule} {variable}: {printed}"
        );
    }
    same(&before, &files(&machine), "undo");
    // Entries of a list that the report does not keep are removed; none is added.
    machine.write(
        "/run/r.json",
        "644",
        &report("library-search", "LD_LIBRARY_PATH", "/tmp/evil:/opt/b"),
    );
    let printed = machine.ok(fix);
    assert!(printed.contains("what the rule advises here is LD_LIBRARY_PATH=/opt/b"), "{printed}");
    assert!(printed.contains("+Environment=\"LD_LIBRARY_PATH=/opt/b\"\n"), "{printed}");
    assert!(
        printed.contains("Another run of this program, or another program, may need a library"),
        "{printed}"
    );
    assert!(
        !printed.contains("+Environment=\"LD_LIBRARY_PATH=/tmp") && !printed.contains(LURE),
        "{printed}"
    );
    // `undo --list` only reads: it works beside another needless, and only on a journal that no other user
    // may write.
    let list = machine.ok("(flock 9; needless undo --list) 9>>/var/lib/needless/lock");
    assert!(list.contains("holds"), "{list}");
    machine.ok("chmod o+w /var/lib/needless/journal");
    let printed =
        machine.ok("needless undo --list 2>&1 || echo rc $?; needless undo 2>&1 || echo rc $?");
    assert_eq!(
        printed.matches("others may write to /var/lib/needless/journal").count(),
        2,
        "{printed}"
    );
    machine.ok("chmod o-w /var/lib/needless/journal; needless undo");
    same(&before, &files(&machine), "undo");
}

/// Two processes that convert times; the second is a fork of the first.
const TWINS: &str = "#!/usr/bin/perl
fork; while (1) { my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 }
";

/// A report with several findings: each place once, with all its processes; a finding without a place is named.
#[test]
fn fix_makes_each_change_of_a_report_once() {
    let Some(machine) = machine_with(&[("twins", TWINS)], "") else { return };
    if !observes_others() {
        return;
    }
    machine.ok("ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime");
    for (name, program) in [("one", "probe one"), ("two", "twins")] {
        let unit = format!("[Service]\nExecStart=/usr/local/bin/{program}\n");
        machine.write(&format!("/etc/systemd/system/{name}.service"), "644", &unit);
    }
    machine.ok("systemctl daemon-reload; systemctl start one two");
    drop(machine.start("/usr/local/bin/probe nobodys; true"));
    machine.pid_of(&format!("{WORDS} nobodys"), "0");
    // A simple unit counts as started before it executes its program.
    let pids = machine.ok("all() { pgrep -f '^/usr/bin/perl /usr/local/bin/(probe|twins)'; }
        for _ in $(seq 300); do [ $(all | wc -l) -lt 4 ] || break; sleep 0.1; done; all");
    let pids: Vec<&str> = pids.split_ascii_whitespace().collect();
    assert_eq!(pids.len(), 4, "{pids:?}");
    let report = |pids: &str| {
        machine.ok(&format!("needless attach {pids} --for 2s -o /run/report.json"));
        machine.ok("cat /run/report.json")
    };
    let seen: serde_json::Value = serde_json::from_str(&report(&pids.join(" "))).unwrap();
    let findings = seen["findings"].as_array().unwrap();
    let storms = findings.iter().filter(|finding| finding["rule"] == "tz-unset");
    let mut reported: Vec<String> = storms
        .flat_map(|finding| finding["affected"].as_array().unwrap())
        .map(|process| process["pid"].to_string())
        .collect();
    reported.sort();
    let mut all: Vec<String> = pids.iter().map(|pid| (*pid).to_owned()).collect();
    all.sort();
    assert_eq!(reported, all, "every process of every finding is named");
    let before = files(&machine);
    let done = machine.run("needless fix /run/report.json --rule tz-unset --yes --restart");
    let (printed, refused) = (stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(2), "{printed}{refused}");
    assert!(refused.contains("not done by a tool: it was started by "), "{refused}");
    assert!(refused.contains("1 change was not made"), "{refused}");
    assert_eq!(printed.matches("written: change").count(), 2, "{printed}{refused}");
    for name in ["one", "two"] {
        let file = format!("/etc/systemd/system/{name}.service.d/zz-needless.conf");
        assert_eq!(printed.matches(&format!("+++ b{file}")).count(), 1, "{printed}");
    }
    let twins = machine.ok("pgrep -f '^/usr/bin/perl /usr/local/bin/twins'");
    assert_eq!(twins.split_ascii_whitespace().count(), 2);
    let line = printed.lines().find(|line| line.contains("for  ") && line.contains(", "));
    assert_eq!(line.map(|line| line.matches("perl[").count()), Some(2), "{printed}");
    for name in ["probe one", "twins"] {
        let pid = machine.ok(&format!("pgrep -o -f '^/usr/bin/perl /usr/local/bin/{name}'"));
        assert_eq!(calls(&machine, pid.trim()), 0, "{name}");
    }
    machine.ok("needless undo && needless undo");
    same(&before, &files(&machine), "undo");
}
