//! Units whose work is done by other processes than the main one, or that set the variable themselves: all processes
//! decide, and a place above the point where the variable is set is not tried.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;

const SCRIPT: &str = "/usr/local/bin/NAME-start";
const PLACE: &str = "/etc/systemd/system/NAME.service.d/zz-needless.conf";

#[test]
fn fix_looks_at_every_process_of_a_unit() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob");
    hold(&machine, &UNITS);
    origin_of_a_unit_is_about_the_worker(&machine);
}

/// The main process shows nothing of what its worker has set: `origin` and `fix` have one answer.
fn origin_of_a_unit_is_about_the_worker(machine: &Machine) {
    let program = "#!/usr/bin/perl\nfork or do { $ENV{TZ} = 'Asia/Seoul'; open F, '>/run/is-set' };\nsleep 1000;\n";
    machine.write("/usr/local/bin/forks", "755", program);
    let unit = "[Service]\nExecStart=/usr/local/bin/forks\n";
    machine.write("/etc/systemd/system/forks.service", "644", unit);
    machine.ok("systemctl daemon-reload; systemctl start forks
         until [ -e /run/is-set ]; do sleep 0.05; done");
    let said = flat(&machine.ok("needless origin TZ --unit forks"));
    assert!(said.starts_with("TZ is Asia/Seoul in perl["), "{said}");
    assert!(said.contains("sure low"), "{said}");
    let said = machine.all("needless fix --unit forks --set TZ=Asia/Tokyo --yes --times-change");
    assert!(said.contains("sets it itself") && said.ends_with("rc 2"), "{said}");
}

const UNITS: [Scenario<'static>; 8] = [
    // It changes its variable itself, after its start: the value of its start arrives, and is not in force.
    Scenario {
        name: "own",
        unit: "Environment=TZ=UTC\nExecStart=/usr/local/bin/own NAME",
        files: &[(
            "/usr/local/bin/own",
            "755",
            "#!/usr/bin/perl\n$ENV{TZ} = 'Asia/Seoul'; sleep 1000;\n",
        )],
        find: "pgrep -f '^/usr/bin/perl /usr/local/bin/own'",
        truth: Some("UTC"),
        now: Some("Asia/Seoul"),
        place: ("", "low"),
        ends: Ends::Refused("sets it itself, after its start (perhaps in its own configuration)"),
        ..UNIT
    },
    // Some time after its start, and only where it was given one.
    Scenario {
        name: "afterwards",
        unit: "ExecStart=/usr/local/bin/NAME-own",
        files: &[(
            "/usr/local/bin/NAME-own",
            "755",
            "#!/usr/bin/perl\nif ($ENV{TZ}) { select undef, undef, undef, 1.7; $ENV{TZ} = 'Asia/Seoul' } sleep 1000;\n",
        )],
        find: "pgrep -f '^/usr/bin/perl /usr/local/bin/afterwards-own'",
        fix: "--unit NAME --restart --for 2s",
        ends: Ends::Breaks("was started with it, and then changed TZ itself"),
        ..UNIT
    },
    // The main process has it, and those that work do not.
    Scenario {
        name: "workers",
        unit: "ExecStart=/usr/local/bin/NAME-own",
        files: &[(
            "/usr/local/bin/NAME-own",
            "755",
            "#!/usr/bin/perl\nfor (1, 2) { fork and next; delete $ENV{TZ}; sleep 1000 } sleep 1000;\n",
        )],
        find: "systemctl show -p MainPID --value NAME",
        ends: Ends::Breaks("has not: workers-own["),
        ..UNIT
    },
    Scenario {
        name: "bare",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(
            SCRIPT,
            "755",
            "#!/bin/sh\nfor i in 1 2 3; do env -i /usr/local/bin/probe NAME & done\nwait\n",
        )],
        place: (PLACE, "low"),
        ends: Ends::TakenBack("has it: bare-start["),
        ..UNIT
    },
    // The processes that work have what the script sets, and the shell has nothing: it is not restarted for a try.
    Scenario {
        name: "child",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(
            SCRIPT,
            "755",
            "#!/bin/sh\nA=$(echo Asia/Omsk)\nTZ=$A /usr/local/bin/probe NAME\n:\n",
        )],
        truth: Some("Asia/Omsk"),
        place: ("", "low"),
        ends: Ends::Refused("child-start["),
        ..UNIT
    },
    // What sudo and su only pass on belongs to the unit.
    Scenario {
        name: "by-sudo",
        unit: "Environment=TZ=UTC\nExecStart=/usr/bin/sudo -n -u bob /usr/local/bin/probe NAME",
        truth: Some("UTC"),
        fix: "--pid PID --restart",
        program: "",
        ..UNIT
    },
    Scenario {
        name: "by-su",
        unit: "Environment=TZ=UTC\nExecStart=/usr/bin/su bob -c 'exec /usr/local/bin/probe NAME'",
        truth: Some("UTC"),
        fix: "--pid PID --restart",
        program: "",
        ..UNIT
    },
    // Also where nothing is set: PAM's files would reach every session.
    Scenario {
        name: "by-su-unset",
        unit: "ExecStart=/usr/bin/su bob -c 'exec /usr/local/bin/probe NAME'",
        fix: "--pid PID --restart",
        program: "",
        ..UNIT
    },
];
