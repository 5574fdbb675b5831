//! Units of systemd: what sets a variable of them, and what is stronger than a drop-in of ours.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;

const PLACE: &str = "/etc/systemd/system/NAME.service.d/zz-needless.conf";

/// The files of a unit: drop-ins are sorted by their names, in whichever directory they are.
const FILES: [Scenario<'static>; 10] = [
    Scenario {
        name: "plain",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        answer: &["systemd, as plain.service, does not give it that variable"],
        ..UNIT
    },
    // By its process, and without a restart: systemd hands on nothing of these files.
    Scenario {
        name: "by-pid",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        files: &[
            ("/etc/environment", "644", "TZ=Asia/Tokyo\n"),
            ("/etc/profile.d/zone.sh", "644", "export TZ=Asia/Tokyo\n"),
        ],
        all: &[
            "/etc/environment:1 TZ=Asia/Tokyo does not reach it: systemd does not read it for by-pid.service",
            "/etc/profile.d/zone.sh:1 TZ=Asia/Tokyo does not reach it: only login shells read it",
        ],
        fix: "--pid PID",
        ..UNIT
    },
    Scenario {
        name: "set",
        unit: "Environment=LANG=C \"TZ=UTC\"\nExecStart=/usr/local/bin/probe NAME",
        truth: Some("UTC"),
        answer: &["/etc/systemd/system/set.service:2 sets it"],
        ..UNIT
    },
    // Drop-ins are sorted by their names, in whichever directory they are.
    Scenario {
        name: "order",
        unit: "Environment=TZ=UTC\nExecStart=/usr/local/bin/probe NAME",
        files: &[
            (
                "/etc/systemd/system/NAME.service.d/50-a.conf",
                "644",
                "[Service]\nEnvironment=TZ=Europe/Rome\n",
            ),
            (
                "/run/systemd/system/NAME.service.d/60-b.conf",
                "644",
                "[Service]\nEnvironment=TZ=Europe/Oslo\n",
            ),
        ],
        truth: Some("Europe/Oslo"),
        answer: &["/run/systemd/system/order.service.d/60-b.conf:2 sets it"],
        ..UNIT
    },
    // A drop-in of all services beats the unit's own with a smaller name.
    Scenario {
        name: "every",
        unit: "Environment=TZ=UTC\nExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/run/systemd/system/service.d/70-all.conf",
            "644",
            "[Service]\nEnvironment=TZ=Asia/Dubai\n",
        )],
        truth: Some("Asia/Dubai"),
        answer: &["/run/systemd/system/service.d/70-all.conf:2 sets it"],
        ..UNIT
    },
    Scenario {
        name: "reset",
        unit: "Environment=TZ=UTC\nEnvironment=\nExecStart=/usr/local/bin/probe NAME",
        answer: &["does not give it that variable"],
        ..UNIT
    },
    Scenario {
        name: "last",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/etc/systemd/system/NAME.service.d/zzz-last.conf",
            "644",
            "[Service]\nEnvironment=TZ=UTC\n",
        )],
        truth: Some("UTC"),
        // systemd would not use it: known before it is restarted.
        place: ("", "low"),
        ends: Ends::Refused("zzz-last.conf:2 sets it, and sorts after zz-needless.conf"),
        ..UNIT
    },
    Scenario {
        name: "removed",
        unit: "Environment=TZ=UTC\nUnsetEnvironment=TZ\nExecStart=/usr/local/bin/probe NAME",
        answer: &["/etc/systemd/system/removed.service:3 removes it"],
        place: ("", "low"),
        ends: Ends::Refused("/etc/systemd/system/removed.service:3 removes it (UnsetEnvironment=)"),
        ..UNIT
    },
    Scenario {
        name: "alias",
        unit: "ExecStart=/usr/local/bin/probe NAME\n[Install]\nAlias=other.service",
        files: &[(
            "/etc/systemd/system/other.service.d/x.conf",
            "644",
            "[Service]\nEnvironment=TZ=Europe/Oslo\n",
        )],
        start: "ln -sf alias.service /run/systemd/system/other.service; systemctl daemon-reload; systemctl restart NAME",
        truth: Some("Europe/Oslo"),
        answer: &[
            "/etc/systemd/system/other.service.d/x.conf:2 sets it, and alias.service is started with it",
        ],
        ..UNIT
    },
    Scenario {
        name: "closed",
        unit: "PrivateTmp=yes\nProtectSystem=strict\nProtectHome=yes\nPrivateDevices=yes\nExecStart=/usr/local/bin/probe NAME",
        answer: &["systemd, as closed.service, does not give it that variable"],
        ..UNIT
    },
];

/// EnvironmentFile= is stronger than every line of Environment=.
const ENVIRONMENT_FILES: [Scenario<'static>; 10] = [
    Scenario {
        name: "quoted",
        unit: "EnvironmentFile=-/etc/default/NAME\nExecStart=/usr/local/bin/probe NAME",
        files: &[("/etc/default/NAME", "640", "# of NAME\nA='1'\nTZ=\"Europe/\"'Athens'\n")],
        truth: Some("Europe/Athens"),
        answer: &["/etc/default/quoted:3 sets it"],
        place: ("/etc/default/quoted", "high"),
        says: &["\n+TZ=Asia/Tokyo\n"],
        ..UNIT
    },
    // A file is stronger than the last drop-in.
    Scenario {
        name: "file-last",
        unit: "EnvironmentFile=/etc/app/NAME.env\nExecStart=/usr/local/bin/probe NAME",
        files: &[
            (
                "/etc/systemd/system/NAME.service.d/zzz.conf",
                "644",
                "[Service]\nEnvironment=TZ=UTC\n",
            ),
            ("/etc/app/NAME.env", "644", "# x\nTZ='Europe/Athens'\n"),
        ],
        truth: Some("Europe/Athens"),
        answer: &["/etc/app/file-last.env:2 sets it"],
        place: ("/etc/app/NAME.env", "high"),
        says: &["\n-TZ='Europe/Athens'\n", "\n+TZ=Asia/Tokyo\n"],
        ..UNIT
    },
    // A file that may be missing is missing: the drop-in is the place.
    Scenario {
        name: "missing",
        unit: "EnvironmentFile=-/etc/default/NAME\nExecStart=/usr/local/bin/probe NAME",
        ..UNIT
    },
    Scenario {
        name: "export",
        unit: "EnvironmentFile=/etc/default/NAME\nExecStart=/usr/local/bin/probe NAME",
        files: &[("/etc/default/NAME", "644", "export TZ=UTC\n")],
        answer: &["/etc/default/export:1: systemd drops a line that begins with `export`"],
        ..UNIT
    },
    Scenario {
        name: "glob",
        unit: "EnvironmentFile=/etc/app/*.NAME\nExecStart=/usr/local/bin/probe NAME",
        files: &[("/etc/app/tz.NAME", "644", "TZ=Europe/Vienna\n")],
        truth: Some("Europe/Vienna"),
        answer: &["/etc/app/tz.glob:1 sets it"],
        story: &["to change it: EnvironmentFile, /etc/app/tz.glob"],
        place: ("/etc/app/tz.glob", "high"),
        ..UNIT
    },
    // A program makes the file at each start: what is written there is gone.
    Scenario {
        name: "made",
        unit: "ExecStartPre=sh -c 'echo TZ=Asia/Seoul >/run/NAME.env'\nEnvironmentFile=-/run/NAME.env\nExecStart=/usr/local/bin/probe NAME",
        truth: Some("Asia/Seoul"),
        answer: &["/run/made.env:1 sets it"],
        place: ("", "low"),
        ends: Ends::Refused(
            "/run/made.env sets it (EnvironmentFile=), and a program makes that file anew",
        ),
        ..UNIT
    },
    // The file is stronger, and longer than what is read of one.
    Scenario {
        name: "big",
        unit: "EnvironmentFile=/etc/app/NAME.env\nExecStart=/usr/local/bin/probe NAME",
        files: &[("/etc/app/NAME.env", "644", "")],
        start: "{ seq 99999 | sed 's/^/# a comment, /'; echo TZ=Europe/Vienna; } >/etc/app/NAME.env; systemctl restart NAME",
        truth: Some("Europe/Vienna"),
        place: (PLACE, "medium"),
        ends: Ends::TakenBack("does not have it"),
        ..UNIT
    },
    Scenario {
        name: "inst@x",
        files: &[
            (
                "/etc/systemd/system/inst@.service",
                "644",
                "[Service]\nEnvironmentFile=/etc/app/%i.env\nExecStart=/usr/local/bin/probe inst\n",
            ),
            ("/etc/app/x.env", "644", "TZ=Asia/Baku\n"),
        ],
        truth: Some("Asia/Baku"),
        answer: &["/etc/app/x.env:1 sets it"],
        place: ("/etc/app/x.env", "high"),
        ..UNIT
    },
    // systemd knows what a specifier stands for.
    Scenario {
        name: "spec@Asia-Baku",
        files: &[(
            "/etc/systemd/system/spec@.service",
            "644",
            "[Service]\nEnvironment=\"TZ=%I\"\nExecStart=/usr/local/bin/probe spec\n",
        )],
        truth: Some("Asia/Baku"),
        answer: &["/etc/systemd/system/spec@.service:2 sets it"],
        ..UNIT
    },
    // A file of one instance, and the removal of one value only.
    Scenario {
        name: "value@1",
        files: &[
            (
                "/etc/systemd/system/value@.service",
                "644",
                "[Service]\nExecStart=/usr/local/bin/probe value\nEnvironmentFile=/etc/default/%p-%i\nUnsetEnvironment=TZ=UTC\n",
            ),
            ("/etc/default/value-1", "644", "TZ=Europe/Athens\n"),
        ],
        truth: Some("Europe/Athens"),
        answer: &["/etc/default/value-1:1 sets it, and value@1.service is started with"],
        place: ("/etc/default/value-1", "high"),
        ..UNIT
    },
];

/// What is true of a unit and stands in none of its files.
const ELSEWHERE: [Scenario<'static>; 11] = [
    Scenario {
        name: "generated",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/etc/systemd/system-environment-generators/50-tz",
            "755",
            "#!/bin/sh\necho TZ=Asia/Seoul\n",
        )],
        truth: Some("Asia/Seoul"),
        answer: &[
            "/etc/systemd/system-environment-generators/50-tz:2 sets it, and this generator gives it to generated.service",
        ],
        ..UNIT
    },
    // A unit that the next boot does not have leaves no drop-in behind.
    Scenario {
        name: "runtime",
        files: &[(
            "/run/systemd/system/NAME.service",
            "644",
            "[Service]\nExecStart=/usr/local/bin/probe NAME\n",
        )],
        place: ("/run/systemd/system/NAME.service.d/zz-needless.conf", "high"),
        ..UNIT
    },
    Scenario {
        name: "default",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/etc/systemd/system.conf.d/tz.conf",
            "644",
            "[Manager]\nDefaultEnvironment=TZ=Asia/Kolkata\n",
        )],
        start: "systemctl daemon-reexec; systemctl restart NAME",
        truth: Some("Asia/Kolkata"),
        answer: &["/etc/systemd/system.conf.d/tz.conf:2 sets it"],
        ..UNIT
    },
    Scenario {
        name: "pass",
        unit: "PassEnvironment=TZ\nExecStart=/usr/local/bin/probe NAME",
        ..UNIT
    },
    Scenario {
        name: "given",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        start: "systemctl set-environment TZ=Asia/Manila; systemctl restart NAME",
        truth: Some("Asia/Manila"),
        answer: &["systemctl show-environment has it", "systemctl set-environment"],
        story: &[
            "to change it: systemd unit, /etc/systemd/system/given.service.d/zz-needless.conf",
        ],
        // All of its sources are known.
        last: "not read: nothing",
        ..UNIT
    },
    Scenario { name: "user", unit: "User=bob\nExecStart=/usr/local/bin/probe NAME", ..UNIT },
    // The session's own files come after the unit's: PAM is stronger.
    Scenario {
        name: "pam",
        unit: "User=bob\nPAMName=login\nEnvironment=TZ=UTC\nExecStart=/usr/local/bin/probe NAME",
        files: &[("/etc/environment", "644", "TZ=Europe/Rome\n")],
        truth: Some("Europe/Rome"),
        answer: &["/etc/environment:1 sets it"],
        place: ("/etc/environment", "high"),
        ..UNIT
    },
    Scenario {
        name: "another-etc",
        unit: "TemporaryFileSystem=/etc\nExecStart=/usr/local/bin/probe NAME",
        place: (PLACE, "medium"),
        fix: "--pid PID",
        ends: Ends::Refused("container or another root"),
        ..UNIT
    },
    // What a person started is gone after the next start: no file of ours stays for it.
    Scenario {
        name: "transient",
        start: "systemd-run --unit NAME /usr/local/bin/probe NAME",
        place: ("", "low"),
        ends: Ends::Refused(
            "transient.service is transient: what started it (systemd-run) gives it its variables (--setenv=TZ=…)",
        ),
        ..UNIT
    },
    Scenario {
        name: "brief",
        start: "systemd-run --unit=NAME -E TZ=Europe/Rome /usr/local/bin/probe NAME",
        truth: Some("Europe/Rome"),
        answer: &["/run/systemd/transient/brief.service:"],
        story: &["brief.service is transient"],
        place: ("", "low"),
        fix: "--pid PID --restart",
        ends: Ends::Refused("(--setenv=TZ=…)"),
        ..UNIT
    },
    // As it says.
    Scenario {
        name: "again",
        start: "systemd-run --unit=NAME --setenv=TZ=Asia/Tokyo /usr/local/bin/probe NAME",
        truth: Some(ZONE),
        place: ("", "low"),
        ends: Ends::Refused("(--setenv=TZ=…)"),
        ..UNIT
    },
];

#[test]
fn fix_changes_a_unit_by_its_last_drop_in() {
    let Some(machine) = machine("") else { return };
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Seoul\n");
    hold(&machine, &FILES);
}

#[test]
fn fix_changes_the_environment_file_of_a_unit() {
    if let Some(machine) = machine("") {
        hold(&machine, &ENVIRONMENT_FILES);
    }
}

#[test]
fn fix_asks_systemd_what_no_file_of_a_unit_says() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob");
    hold(&machine, &ELSEWHERE);
    origin_leaves_out_what_is_no_business_of_the_unit(&machine);
    origin_tells_a_file_that_was_changed_later(&machine);
}

/// A program of supervisord is another's: one line, and the reason only on request.
fn origin_leaves_out_what_is_no_business_of_the_unit(machine: &Machine) {
    let other = "[program:w]\ncommand=/bin/true\nenvironment=TZ=\"Asia/Tokyo\"\n";
    machine.write("/etc/supervisor/conf.d/w.conf", "644", other);
    let pid = start_unit(machine, SERVICE);
    let printed = flat(&machine.ok(&format!("needless origin TZ {pid}")));
    assert!(printed.contains("probe.service, does not give it"), "{printed}");
    let line = "do not reach the process: 1 (/etc/supervisor/conf.d/w.conf); --all shows why";
    assert!(printed.contains(line) && !printed.contains("only for what supervisord"), "{printed}");
    // It ends with its list: a unit that systemd starts directly has no other sources.
    assert!(printed.ends_with("not read: nothing"), "{printed}");
    assert_eq!(flat(&machine.ok("needless origin TZ --unit probe")), printed);
}

/// A file that was changed after the start says nothing of the start; an older one does.
fn origin_tells_a_file_that_was_changed_later(machine: &Machine) {
    let pid = start_unit(machine, SERVICE);
    let file = "/etc/systemd/system/probe.service.d/x.conf";
    machine.write(file, "644", "[Service]\nEnvironment=TZ=UTC\n");
    machine.ok(&format!("touch -d '1 minute' {file}; systemctl daemon-reload"));
    let story = origin(machine, &pid);
    assert!(story.starts_with("TZ is not set in perl["), "{story}");
    let says = format!("{file}:2 sets it, and was changed after the process was started");
    assert!(story.contains(&says), "{story}");
}
