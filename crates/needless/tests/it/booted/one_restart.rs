//! What `fix --restart` does to a unit besides the change: edits of others that wait, what else is restarted, how often, in
//! which state the unit is left, and how runs wait for each other. With the real systemd.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::booted::unit_reports::forged;
use crate::common::*;

const FIX: &str = "needless fix --unit probe --set TZ=Asia/Tokyo --yes --times-change";
const UNIT: &str = "/etc/systemd/system/probe.service";
/// The last lines where the unit does not come up again.
const DOWN: &str = "needless: probe.service IS DOWN: `systemctl status probe.service`\nrc 3";

/// Somebody edits the unit to start another program, and has not reloaded it yet.
fn edit(machine: &Machine, program: &str) {
    machine.write(UNIT, "644", &format!("[Service]\nExecStart=/usr/local/bin/{program} unit\n"));
    // systemd compares times, whose granularity is a tick of the kernel.
    machine.ok(&format!("touch -d '1 minute' {UNIT}"));
}

fn is_active(machine: &Machine) -> String {
    stdout(&machine.run("systemctl is-active probe")).trim().to_owned()
}

#[test]
fn fix_puts_no_edit_of_others_into_force() {
    let Some(machine) = machine("") else { return };
    let pid = start_unit(&machine, SERVICE);
    edit(&machine, "probe-of-tomorrow");
    let before = files(&machine);
    for option in ["", " --restart", " </dev/null"] {
        let said = machine.all(&format!("{FIX}{option}"));
        let why = "needless: probe.service was edited and not reloaded (/etc/systemd/system/probe.service); a restart \
                   would put that into force too: `systemctl daemon-reload` first, or --with-pending\nrc 2";
        assert_eq!(said, why, "{option}");
    }
    same(&before, &files(&machine), "an edit that waits");
    assert_eq!(machine.main_of("probe"), pid);
    assert_eq!(machine.ok("systemctl show -p NeedDaemonReload --value probe"), "yes\n");
    // What is only printed changes nothing; and what was not seen is no fact.
    machine.ok(&format!("{} --diff --restart", FIX.replace(" --yes --times-change", "")));
    let said = machine.ok(&format!("needless origin TZ {pid}"));
    assert!(!said.contains("has become another program"), "{said}");
    // Nothing is reloaded for a file of variables.
    machine.write(
        "/etc/systemd/system/other.service",
        "644",
        "[Service]\nEnvironmentFile=/etc/other.env\nExecStart=/usr/local/bin/probe other\n",
    );
    machine.write("/etc/other.env", "644", "TZ=UTC\n");
    machine.ok("systemctl daemon-reload; systemctl start other
         touch -d '2 minutes' /etc/systemd/system/other.service");
    let said = machine
        .ok(&format!("needless fix --unit other --set TZ={ZONE} --yes --times-change --restart"));
    assert!(said.contains("+TZ=Asia/Tokyo") && said.contains("in force: "), "{said}");
    // The unit of another is edited: its name is said.
    let pid = start_unit(&machine, SERVICE);
    machine.ok("touch -d '4 minutes' /etc/systemd/system/other.service");
    let said = machine.ok(&format!("{FIX} --restart"));
    let caveat = "caveat   Other units were edited and not reloaded; systemd reads these edits, too: other.\n";
    assert!(said.contains(caveat), "{said}");
    assert!(machine.main_of("probe") != pid);
}

#[test]
fn fix_with_pending_edits_says_what_became_of_the_unit() {
    let Some(machine) = machine("") else { return };
    let old = start_unit(&machine, SERVICE);
    let before = files(&machine);
    edit(&machine, "probe-of-tomorrow");
    let waits = files(&machine);
    let said = machine.all(&format!("{FIX} --with-pending --restart"));
    for part in [
        "caveat   probe.service was edited and not reloaded (/etc/systemd/system/probe.service): that comes into force",
        "written: change 1; `needless undo 1` takes it back\n",
        "probe.service does not run with it; taken back, and restarted once more\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.ends_with(DOWN), "{said}");
    assert_eq!(is_active(&machine), "failed");
    same(&waits, &files(&machine), "taken back");
    // The new program is there: it is started, with the change.
    machine.ok("cp /usr/local/bin/probe /usr/local/bin/probe-of-tomorrow");
    start_unit(&machine, SERVICE);
    edit(&machine, "probe-of-tomorrow");
    let said = machine.ok(&format!("{FIX} --with-pending --restart"));
    assert!(said.contains(&format!("in force: TZ={ZONE} in probe-of-tomorr[")), "{said}");
    let fresh = machine.pid_of("/usr/bin/perl /usr/local/bin/probe-of-tomorrow unit", &old);
    assert_eq!(machine.zone(&fresh).as_deref(), Some(ZONE));
    machine.ok("needless undo; rm /usr/local/bin/probe-of-tomorrow");
    start_unit(&machine, SERVICE);
    same(&before, &files(&machine), "undo");
}

#[test]
fn undo_says_that_the_unit_is_down() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.ok(&format!("rm -rf /var/lib/needless; {FIX}; systemctl restart probe"));
    machine.ok("touch /var/lib/needless/journal/1/on-trial; rm /usr/local/bin/probe");
    let said = machine.all("needless undo");
    assert!(said.starts_with("taken back: change 1, ") && said.ends_with(DOWN), "{said}");
    assert_eq!(is_active(&machine), "failed");
    // On a terminal that line is bold.
    machine.write("/usr/local/bin/probe", "755", PROBE);
    machine.ok(&format!("{FIX}; systemctl restart probe; touch /var/lib/needless/journal/2/on-trial; rm /usr/local/bin/probe"));
    let said = machine.all("TERM=xterm script -qec 'needless undo' /dev/null </dev/null");
    assert!(said.contains("\u{1b}[1mneedless: probe.service IS DOWN: "), "{said:?}");
    assert!(said.contains("status probe.service`\u{1b}[0m"), "{said:?}");
}

#[test]
fn undo_says_which_edits_of_others_come_into_force() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.write("/etc/systemd/system/other.service", "644", SERVICE);
    machine.ok(&format!("systemctl daemon-reload; systemctl start other; {FIX}; touch -d '4 minutes' /etc/systemd/system/other.service"));
    edit(&machine, "probe-of-tomorrow");
    let said = machine.ok("needless undo");
    for part in [
        "caveat   probe.service was edited and not reloaded (/etc/systemd/system/probe.service): that comes into force, too.\n",
        "caveat   Other units were edited and not reloaded; systemd reads these edits, too: other.\n",
    ] {
        assert!(said.starts_with("caveat ") && said.contains(part), "{part}: {said}");
    }
}

/// The variables of five findings of one unit, what it gives and what the rules advise.
const FIVE: [(&str, &str, &str, &str); 5] = [
    ("tz-unset", "TZ", "", "America/New_York"),
    ("library-search", "LD_LIBRARY_PATH", "/opt/a:/opt/b", "/opt/b"),
    ("perl-path", "PERL5LIB", "/opt/a:/opt/b", "/opt/b"),
    ("python-path", "PYTHONPATH", "/opt/a:/opt/b", "/opt/b"),
    ("ruby-path", "RUBYLIB", "/opt/a:/opt/b", "/opt/b"),
];

/// Starts the unit with what it gives; writes the report of its findings, and of one that is small.
fn five_findings(machine: &Machine, program: &str) -> String {
    let given = FIVE.iter().filter(|one| !one.2.is_empty());
    let given: Vec<String> = given.map(|one| format!("{}={}", one.1, one.2)).collect();
    let unit = format!(
        "[Service]\nEnvironment={} NODE_PATH=/opt/a:/opt/b\nExecStartPre=/bin/sh -c 'echo >>/run/starts'\n\
         ExecStart=/usr/local/bin/{program} unit\n",
        given.join(" ")
    );
    machine.ok("rm -f /run/starts");
    let pid = start_unit(machine, &unit);
    let five = FIVE.map(|(rule, variable, _, value)| (rule, variable, value, false));
    let all = [&five[..], &[("node-path", "NODE_PATH", "/opt/b", true)]].concat();
    machine.write("/run/report.json", "644", &forged(&pid, &all));
    pid
}

fn starts(machine: &Machine) -> usize {
    machine.ok("cat /run/starts").lines().count()
}

/// All that a report advises for a unit costs it one restart, and is one change.
#[test]
fn fix_restarts_a_unit_once_for_all_its_findings() {
    let Some(machine) = machine("") else { return };
    machine.ok("mkdir -p /opt/b; rm -rf /var/lib/needless");
    let old = five_findings(&machine, "probe");
    let before = files(&machine);
    assert_eq!(starts(&machine), 1);
    let done = machine.run("needless fix /run/report.json --yes --restart");
    let (said, warned) = (stdout(&done), stderr(&done));
    assert!(done.status.success(), "{said}{warned}");
    assert_eq!(starts(&machine), 2, "{said}{warned}");
    let small =
        "needless: small, not applied: node-path of probe.service; --rule RULE applies one\n";
    assert!(warned.contains(small), "{warned}");
    for (part, times) in [
        ("written: change 1;", 1),
        ("restarted: systemctl restart", 1),
        ("in force: ", 5),
        ("calls", 1),
    ] {
        let lines = said
            .lines()
            .filter(|line| line.starts_with(part) || (part == "calls" && line.contains(" calls ")));
        assert_eq!(lines.count(), times, "{part}: {said}");
    }
    let fresh = machine.pid_of(&format!("{WORDS} unit"), &old);
    let environ = machine.ok(&format!("tr '\\0' '\\n' </proc/{fresh}/environ"));
    for (_, variable, _, value) in FIVE {
        assert!(environ.lines().any(|line| line == format!("{variable}={value}")), "{environ}");
    }
    assert!(environ.contains("NODE_PATH=/opt/a:/opt/b\n"), "{environ}");
    // The same again: nothing is left to do.
    let said = machine.all(
        "needless fix --check 1; needless fix --unit probe --set RUBYLIB=/opt/b --yes --restart",
    );
    assert!(said.matches("in force: ").count() == 5 && said.contains("already so: "), "{said}");
    assert_eq!(starts(&machine), 2);
    machine.ok("needless undo 1");
    same(&before, &files(&machine), "undo");
    // Named, it is applied.
    let said = machine.ok("needless fix /run/report.json --unit probe --rule node-path --yes 2>&1");
    assert!(
        said.contains("+Environment=\"NODE_PATH=/opt/b\"") && !said.contains("small"),
        "{said}"
    );
    machine.ok("needless undo");
    // Only small ones are left.
    machine.write(
        "/run/small.json",
        "644",
        &forged(&machine.main_of("probe"), &[("node-path", "NODE_PATH", "/opt/b", true)]),
    );
    let said = machine.all("needless fix /run/small.json --yes");
    assert_eq!(said, format!("{small}rc 0"));
}

/// One variable does not arrive: all is taken back, with one restart.
#[test]
fn fix_takes_all_changes_of_a_unit_back_together() {
    let Some(machine) = machine("") else { return };
    let script =
        "#!/bin/sh\n[ $PYTHONPATH = /opt/b ] && unset PYTHONPATH\nexec /usr/local/bin/probe unit\n";
    machine.write("/usr/local/bin/drops", "755", script);
    five_findings(&machine, "drops");
    let before = files(&machine);
    let said = machine.all("needless fix --unit probe /run/report.json --yes --restart");
    assert!(
        said.contains("PYTHONPATH=/opt/b") && said.contains("taken back, and restarted once more"),
        "{said}"
    );
    assert!(said.ends_with("rc 2"), "{said}");
    assert_eq!(starts(&machine), 3, "{said}");
    same(&before, &files(&machine), "taken back");
    assert_eq!(is_active(&machine), "active");
}

/// What systemd restarts with the unit is said before the question, and is what it restarts.
#[test]
fn fix_says_what_is_restarted_with_the_unit() {
    let Some(machine) = machine("") else { return };
    for (name, more) in [
        ("app1", "Requires=probe.service"),
        ("app2", "PartOf=probe.service"),
        ("app3", "BindsTo=probe.service"),
        ("app4", "Wants=probe.service"),
        ("app5", "Requires=probe.service"),
    ] {
        let unit = format!("[Unit]\n{more}\n[Service]\nExecStart=/usr/local/bin/probe {name}\n");
        machine.write(&format!("/etc/systemd/system/{name}.service"), "644", &unit);
    }
    start_unit(&machine, SERVICE);
    let names = ["app1", "app2", "app3", "app4"];
    machine.ok(&format!("systemctl start {}", names.join(" ")));
    let mains = || names.map(|name| machine.main_of(name));
    let before = mains();
    let line = "  restart  systemctl restart probe.service (restarts as well: app1 app2 app3; 3 processes)\n";
    let said = machine.all(&format!("{} </dev/null", FIX.replace(" --yes --times-change", "")));
    assert!(said.contains(line) && said.contains("there is no terminal to ask on"), "{said}");
    assert_eq!(mains(), before);
    let said = machine.ok(&format!("{FIX} --restart"));
    assert!(said.contains(line), "{said}");
    let after = mains();
    let restarted: Vec<bool> = before.iter().zip(&after).map(|(was, is)| was != is).collect();
    assert_eq!(restarted, [true, true, true, false], "{before:?} {after:?}");
    assert_eq!(machine.all("systemctl is-active app5"), "inactive\nrc 3");
}

/// A unit that systemd is starting is left alone.
#[test]
fn fix_restarts_no_unit_that_is_being_started() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.write(UNIT, "644", &format!("{SERVICE}ExecStartPre=/bin/sleep 30\n"));
    machine.ok(
        "systemctl daemon-reload; systemctl --no-block restart probe
         until [ \"$(systemctl show -p SubState --value probe)\" = start-pre ]; do sleep 0.1; done",
    );
    let before = files(&machine);
    let said = machine.all(&format!("{FIX} --restart"));
    let why = "needless: systemd is just starting or stopping probe.service (activating, start-pre): try again when that is done\nrc 2";
    assert_eq!(said, why);
    same(&before, &files(&machine), "refused");
}

/// Runs wait for each other for a while.
#[test]
fn runs_wait_for_each_other() {
    let Some(machine) = machine("") else { return };
    let held = |seconds: u32, command: &str| {
        machine.all(&format!(
            "mkdir -p -m 700 /var/lib/needless; (flock 9; touch /run/held; sleep {seconds}) 9>>/var/lib/needless/lock & held=$!
             until [ -e /run/held ]; do sleep 0.05; done; rm /run/held; {command}; rc=$?
             pkill -P $held; kill $held; exit $rc"
        ))
    };
    let fix = "needless fix --in /etc/environment --set TZ=UTC --yes --times-change";
    let said = held(3, fix);
    assert!(said.ends_with("rc 0") && said.contains("written: change "), "{said}");
    assert_eq!(
        said.matches("needless: waiting for another needless, which is changing files\n").count(),
        1,
        "{said}"
    );
    let said = held(60, "needless undo");
    assert!(
        said.ends_with(
            "needless: another needless is changing files: try again when it is done\nrc 2"
        ),
        "{said}"
    );
    machine.ok("needless undo");
    // One that restarts what takes its time is named.
    let slow = "[Service]\nExecStart=/bin/sleep 999\nExecStop=/bin/sleep 40\n";
    machine.write("/etc/systemd/system/slow.service", "644", slow);
    let said = machine.all(
        "systemctl daemon-reload; systemctl start slow; needless fix --unit slow --set COLOUR=1 --yes --restart >/dev/null 2>&1 &
         first=$!; until [ \"$(systemctl show -p ActiveState --value slow)\" = deactivating ]; do sleep 0.1; done
         needless undo; rc=$?; echo first $first; systemctl kill -s KILL slow; wait $first; exit $rc",
    );
    let first = said.rsplit_once("first ").and_then(|(_, rest)| rest.split_once('\n')).unwrap().0;
    let names = format!(
        "needless: another needless is changing files (needless[{first}]): try again when it is done\n"
    );
    assert!(said.contains(&names) && said.ends_with("rc 2"), "{said}");
    machine.ok("needless undo; systemctl stop slow");
    // As a tool calls it that cares for many units.
    let said = machine.all(
        "for n in 1 2 3 4 5 6 7 8; do
             printf '[Service]\\nExecStart=/bin/true\\n' >/etc/systemd/system/u$n.service; done; systemctl daemon-reload
         for n in 1 2 3 4 5 6 7 8; do needless fix --unit u$n --set COLOUR=1 --yes >/run/said.$n 2>&1 & done; wait
         cat /run/said.*; systemctl show -p Environment 'u[1-8].service' u1 u2 u3 u4 u5 u6 u7 u8 | grep -c COLOUR=1",
    );
    assert!(said.matches("written: change ").count() == 8 && said.ends_with("8\nrc 0"), "{said}");
}

/// While calls are counted, others may change files.
#[test]
fn nobody_waits_while_calls_are_counted() {
    let Some(machine) = machine("").filter(|_| observes_others()) else { return };
    let old = start_unit(&machine, SERVICE);
    let said = machine.all(&format!(
        "{FIX} --restart --for 20s >/run/said 2>&1 & first=$!
         while kill -0 $first && [ \"$(systemctl show -p MainPID --value probe)\" = {old} ]; do sleep 0.1; done
         sleep 3; needless fix --in /etc/environment --set COLOUR=1 --yes && kill -0 $first && echo counts; wait $first
         cat /run/said"
    ));
    assert!(
        said.contains("counts\n") && said.contains("in force: ") && said.ends_with("rc 0"),
        "{said}"
    );
}
