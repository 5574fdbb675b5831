//! Units of systemd: what sets a variable of them, and what is stronger than a drop-in of ours.

use super::scenario::*;
use crate::common::{stderr, stdout};

const DROP_IN: &str = "/etc/systemd/system/NAME.service.d/zz-needless.conf";

#[test]
fn units() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob");
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Seoul\n");
    let big = format!("{}TZ=Europe/Vienna\n", "# a comment that makes it long\n".repeat(40_000));
    hold(
        &machine,
        &[
            Scenario {
                name: "plain",
                unit: "ExecStart=/usr/local/bin/probe NAME",
                answer: &["systemd, as plain.service, does not give it that variable"],
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
                ends: Ends::Refused(
                    "/etc/systemd/system/removed.service:3 removes it (UnsetEnvironment=)",
                ),
                ..UNIT
            },
            Scenario {
                name: "quoted",
                unit: "EnvironmentFile=-/etc/default/NAME\nExecStart=/usr/local/bin/probe NAME",
                files: &[(
                    "/etc/default/NAME",
                    "640",
                    "# of NAME\nA='1'\nTZ=\"Europe/\"'Athens'\n",
                )],
                truth: Some("Europe/Athens"),
                answer: &["/etc/default/quoted:3 sets it"],
                place: ("/etc/default/quoted", "high"),
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
                files: &[("/etc/app/NAME.env", "644", &big)],
                truth: Some("Europe/Vienna"),
                place: (DROP_IN, "medium"),
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
                answer: &["/etc/systemd/system/other.service.d/x.conf:2 sets it"],
                ..UNIT
            },
            Scenario {
                name: "user",
                unit: "User=bob\nExecStart=/usr/local/bin/probe NAME",
                ..UNIT
            },
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
                name: "closed",
                unit: "PrivateTmp=yes\nProtectSystem=strict\nProtectHome=yes\nExecStart=/usr/local/bin/probe NAME",
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
        ],
    );
}

/// What a change of a unit reaches besides, and what its restart takes with it, is said before.
#[test]
fn what_a_change_of_a_unit_means_for_others() {
    let Some(machine) = machine("debs debs-launchers") else { return };
    let shared = ("/etc/default/shared", "644", "TZ=UTC\n");
    let second =
        "[Service]\nEnvironmentFile=/etc/default/shared\nExecStart=/usr/local/bin/probe second\n";
    machine.write("/etc/systemd/system/second.service", "644", second);
    hold(
        &machine,
        &[Scenario {
            name: "first",
            unit: "EnvironmentFile=/etc/default/shared\nExecStart=/usr/local/bin/probe NAME",
            files: &[shared],
            start: "systemctl restart second NAME",
            truth: Some("UTC"),
            place: ("/etc/default/shared", "high"),
            says: &["second.service"],
            ..UNIT
        }],
    );
    machine.ok("mkdir -p /run/sshd; ssh-keygen -A; getent passwd messagebus || useradd -r messagebus; systemctl daemon-reload
         mkdir -p /var/spool/cron/atjobs /var/spool/cron/atspool; touch /var/spool/cron/atjobs/.SEQ
         chown -R daemon:daemon /var/spool/cron/at*; chmod 1770 /var/spool/cron/at*");
    let before = files(&machine);
    let asked = |unit: &str, more: &str| {
        let done = machine.run(&format!("needless fix --unit {unit} --set TZ={ZONE} --yes {more}"));
        format!("{}{}{}", stdout(&done), stderr(&done), done.status)
    };
    let mut seen = 0;
    for (unit, says) in [
        ("cron", "Its jobs do not get it"),
        ("atd", "Its jobs do not get it"),
        ("supervisor", "Every program that it starts gets it, too"),
        ("ssh", "Every session of it gets it, too"),
        ("dbus", "Restarting dbus.service may end sessions, connections and other services"),
        (
            "systemd-logind",
            "Restarting systemd-logind.service may end sessions, connections and other services",
        ),
    ] {
        if machine.run(&format!("systemctl start {unit}")).status.success() {
            let said = asked(unit, "--restart");
            assert!(said.contains(says), "{unit}: {said}");
            seen += 1;
            machine.run("needless undo --last");
            same(&before, &files(&machine), unit);
        }
    }
    assert_eq!(seen, 6, "each of them runs here");
    // A unit that is masked cannot start: nothing is written.
    machine.write(
        "/usr/lib/systemd/system/hidden.service",
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe hidden\n",
    );
    machine.ok("systemctl mask hidden");
    let before = files(&machine);
    let said = asked("hidden", "--restart");
    assert!(
        said.contains("hidden.service is masked") && said.contains("systemctl unmask"),
        "{said}"
    );
    assert!(!said.contains("done: change"), "{said}");
    same(&before, &files(&machine), "hidden");
}
