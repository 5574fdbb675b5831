//! What a unit starts before its program, and what that does to a variable.

use super::scenario::*;

const SCRIPT: &str = "/usr/local/bin/NAME-start";
const STARTS: &str = "Environment=TZ=UTC\nExecStart=/usr/local/bin/NAME-start";
const DROP_IN: &str = "/etc/systemd/system/NAME.service.d/zz-needless.conf";

#[test]
fn wrappers() {
    let Some(machine) = machine("debs") else { return };
    machine.ok("useradd -m -s /bin/bash bob");
    if machine.has("envdir").is_none() {
        return;
    }
    hold(
        &machine,
        &[
            Scenario {
                name: "env-u",
                unit: "Environment=TZ=UTC\nExecStart=/usr/bin/env -u TZ /usr/local/bin/probe NAME",
                answer: &["/etc/systemd/system/env-u.service:3 removes it (`env -u`)"],
                place: ("", "low"),
                ends: Ends::Refused(
                    "env-u.service:3 removes it (`env -u`), after systemd: change it there by hand",
                ),
                ..UNIT
            },
            Scenario {
                name: "env-i",
                unit: "Environment=TZ=UTC\nExecStart=env -i PATH=/usr/bin /usr/local/bin/probe NAME",
                answer: &["/etc/systemd/system/env-i.service:3 removes it (`env -i`)"],
                place: ("", "low"),
                ends: Ends::Refused(
                    "env-i.service:3 removes it (`env -i`), after systemd: change it there by hand",
                ),
                ..UNIT
            },
            Scenario {
                name: "env-tz",
                unit: "ExecStart=/usr/bin/env TZ=Asia/Dubai /usr/local/bin/probe NAME",
                truth: Some("Asia/Dubai"),
                answer: &["/etc/systemd/system/env-tz.service:2 sets it"],
                place: ("", "low"),
                ends: Ends::Refused(
                    "env-tz.service:2 sets it (`env`), after systemd: change it there by hand",
                ),
                ..UNIT
            },
            Scenario {
                name: "sh-c",
                unit: "ExecStart=sh -c 'TZ=Asia/Seoul exec /usr/local/bin/probe NAME'",
                truth: Some("Asia/Seoul"),
                answer: &["/etc/systemd/system/sh-c.service:2 sets it", "`sh -c`"],
                place: ("", "low"),
                ends: Ends::Refused(
                    "sh-c.service:2 sets it (`sh -c`), after systemd: change it there by hand",
                ),
                ..UNIT
            },
            Scenario {
                name: "unsets",
                unit: STARTS,
                files: &[(
                    SCRIPT,
                    "755",
                    "#!/bin/sh\nA=1\nunset TZ\nexec /usr/local/bin/probe NAME\n",
                )],
                answer: &["/usr/local/bin/unsets-start:3 removes it (`unset TZ`)"],
                never: &["was not there when it was started"],
                place: (SCRIPT, "high"),
                ..UNIT
            },
            Scenario {
                name: "exports",
                unit: STARTS,
                files: &[(
                    SCRIPT,
                    "755",
                    "#!/bin/sh\nexport TZ=Asia/Kolkata\nexec /usr/local/bin/probe NAME\n",
                )],
                truth: Some("Asia/Kolkata"),
                answer: &["/usr/local/bin/exports-start:2 sets it"],
                place: (SCRIPT, "high"),
                ..UNIT
            },
            Scenario {
                name: "sources",
                unit: "ExecStart=/usr/local/bin/NAME-start",
                files: &[
                    (
                        SCRIPT,
                        "755",
                        "#!/bin/sh\n[ -r /etc/default/NAME ] && . /etc/default/NAME\nexec /usr/local/bin/probe NAME\n",
                    ),
                    ("/etc/default/NAME", "644", "# of NAME\nTZ=Europe/Rome\n"),
                ],
                answer: &["/etc/default/sources:2 sets it without `export`"],
                place: ("/etc/default/sources", "high"),
                ..UNIT
            },
            Scenario {
                name: "conditional",
                unit: "ExecStart=/usr/local/bin/NAME-start",
                files: &[(
                    SCRIPT,
                    "755",
                    "#!/bin/sh\nif [ -e /etc/passwd ]; then\n  export TZ=Asia/Baku\nfi\nexec /usr/local/bin/probe NAME\n",
                )],
                truth: Some("Asia/Baku"),
                answer: &["/usr/local/bin/conditional-start:3 sets it"],
                place: (SCRIPT, "medium"),
                ..UNIT
            },
            // A program that is no shell script took it away: it is not systemd's child that runs, and that is seen.
            Scenario {
                name: "hides",
                unit: STARTS,
                files: &[(
                    SCRIPT,
                    "755",
                    "#!/usr/bin/perl\ndelete $ENV{TZ};\nexec '/usr/local/bin/probe', 'NAME';\n",
                )],
                place: (DROP_IN, "medium"),
                ends: Ends::TakenBack("does not have it"),
                ..UNIT
            },
            // The interpreter is the same, its script is not.
            Scenario {
                name: "another-script",
                unit: "Environment=TZ=UTC\nExecStart=/usr/bin/perl /usr/local/bin/NAME-start",
                files: &[(
                    SCRIPT,
                    "644",
                    "delete $ENV{TZ};\nexec '/usr/local/bin/probe', 'NAME';\n",
                )],
                place: (DROP_IN, "medium"),
                ends: Ends::TakenBack("does not have it"),
                ..UNIT
            },
            // A directory of variables, in which a unit's program may look: systemd knows nothing of it.
            Scenario {
                name: "envdir",
                unit: "ExecStart=envdir /etc/app /usr/local/bin/probe NAME",
                files: &[("/etc/app/TZ", "644", "Asia/Baku\n")],
                truth: Some("Asia/Baku"),
                place: (DROP_IN, "medium"),
                ends: Ends::TakenBack("does not have it"),
                ..UNIT
            },
            // The same kind of program, which passes on all.
            Scenario {
                name: "becomes",
                unit: "ExecStart=/usr/local/bin/NAME-start",
                files: &[(
                    SCRIPT,
                    "755",
                    "#!/usr/bin/perl\nexec '/usr/local/bin/probe', 'NAME';\n",
                )],
                place: (DROP_IN, "medium"),
                ..UNIT
            },
            Scenario {
                name: "nice",
                unit: "ExecStart=/usr/bin/nice -n 5 /usr/local/bin/probe NAME",
                ..UNIT
            },
            Scenario {
                name: "timeout",
                unit: "ExecStart=/usr/bin/timeout 1000 /usr/local/bin/probe NAME",
                place: (DROP_IN, "medium"),
                ..UNIT
            },
            // systemd waits for a oneshot's end: what it runs is found while it runs.
            Scenario {
                name: "oneshot",
                unit: "Type=oneshot\nTimeoutStartSec=600\nExecStart=/usr/bin/timeout 1000 /usr/local/bin/probe NAME",
                start: "systemctl restart --no-block NAME",
                place: (DROP_IN, "medium"),
                ..UNIT
            },
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
                place: (DROP_IN, "medium"),
                ends: Ends::TakenBack("was started with it, and then changed TZ itself"),
                ..UNIT
            },
            // It writes over the block that it was started with.
            Scenario {
                name: "title",
                unit: "ExecStart=/usr/local/bin/titled",
                files: &[(
                    "/usr/local/bin/titled",
                    "755",
                    "#!/usr/bin/perl\nuse POSIX; $0 = 'titled ' . ('x' x 4000);\nwhile (1) { open(my $f, '>', '/run/offset'); print $f strftime('%z', localtime), qq(\\n); close $f; sleep 1 }\n",
                )],
                find: "pgrep -f '^titled xxx'",
                offset: "rm -f /run/offset; until [ -s /run/offset ]; do sleep 0.1; done; cat /run/offset",
                // Which script its Perl runs is not seen any more; that systemd started it is, in its memory.
                says: &["starts /usr/local/bin/titled, which has become another program"],
                place: (DROP_IN, "medium"),
                ..UNIT
            },
            // runuser reads no file of PAM, and passes on what the unit gives.
            Scenario {
                name: "runuser",
                unit: "Environment=TZ=UTC\nExecStart=/sbin/runuser -u bob -- /usr/local/bin/probe NAME",
                truth: Some("UTC"),
                answer: &["/etc/systemd/system/runuser.service:2 sets it"],
                ..UNIT
            },
            Scenario {
                name: "setpriv",
                unit: "ExecStart=/usr/bin/setpriv --reuid bob --clear-groups /usr/local/bin/probe NAME",
                // What its options do is not read.
                place: (DROP_IN, "medium"),
                ..UNIT
            },
            // su starts a session: PAM's files reach it, and the unit's do not.
            Scenario {
                name: "su",
                unit: "Environment=TZ=UTC\nExecStart=/usr/bin/su - bob -c 'exec /usr/local/bin/probe NAME'",
                never: &["/etc/default/supervisor", "/etc/init.d"],
                place: ("/etc/environment", "high"),
                fix: "--pid PID",
                says: &["It reaches every session that PAM opens on this machine"],
                ..UNIT
            },
        ],
    );
}
