//! What a unit starts before its program, and what that does to a variable.

use crate::booted::scenario::*;

const SCRIPT: &str = "/usr/local/bin/NAME-start";
const GOES_ON: &str = "#!/bin/sh\nexport TZ=Asia/Omsk\n/usr/local/bin/probe NAME\necho ended\n";
const STARTS: &str = "Environment=TZ=UTC\nExecStart=/usr/local/bin/NAME-start";
const PLACE: &str = "/etc/systemd/system/NAME.service.d/zz-needless.conf";

#[test]
fn fix_refuses_what_the_command_of_a_unit_decides() {
    if let Some(machine) = machine("") {
        hold(&machine, &COMMANDS);
    }
}

#[test]
fn fix_changes_the_script_that_a_unit_starts() {
    if let Some(machine) = machine("") {
        hold(&machine, &SCRIPTS);
    }
}

/// For envdir it needs a package.
#[test]
fn fix_tries_units_that_start_another_program() {
    let Some(machine) = machine("debs").filter(|machine| machine.has("envdir").is_some()) else {
        return;
    };
    machine.ok("useradd -m -s /bin/bash bob");
    hold(&machine, &PROGRAMS);
}

/// The command line of the unit sets or removes it: for a person to change.
const COMMANDS: [Scenario<'static>; 6] = [
    Scenario {
        name: "env-u",
        unit: "Environment=TZ=UTC\nExecStart=/usr/bin/env -u TZ /usr/local/bin/probe NAME",
        answer: &["/etc/systemd/system/env-u.service:3 removes it (`env -u`)"],
        story: &["change it there by hand", "sure low"],
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
        answer: &[
            "/etc/systemd/system/env-tz.service:2 sets it, and env-tz.service starts its program",
        ],
        place: ("", "low"),
        ends: Ends::Refused(
            "env-tz.service:2 sets it (`env`), after systemd: change it there by hand",
        ),
        ..UNIT
    },
    Scenario {
        name: "sh-c",
        unit: "Environment=TZ=UTC\nExecStart=sh -c 'TZ=Asia/Seoul exec /usr/local/bin/probe NAME'",
        truth: Some("Asia/Seoul"),
        answer: &[
            "/etc/systemd/system/sh-c.service:3 sets it, and sh-c.service starts its program with `sh -c`",
        ],
        story: &["change it there by hand", "sure low"],
        place: ("", "low"),
        ends: Ends::Refused(
            "sh-c.service:3 sets it (`sh -c`), after systemd: change it there by hand",
        ),
        ..UNIT
    },
    Scenario {
        name: "sh-c-only",
        unit: "ExecStart=sh -c 'TZ=Asia/Seoul exec /usr/local/bin/probe NAME'",
        truth: Some("Asia/Seoul"),
        answer: &["/etc/systemd/system/sh-c-only.service:2 sets it"],
        place: ("", "low"),
        ends: Ends::Refused("sh-c-only.service:2 sets it (`sh -c`), after systemd"),
        ..UNIT
    },
    // The line is in the file of the template.
    Scenario {
        name: "clears@1",
        files: &[(
            "/etc/systemd/system/clears@.service",
            "644",
            "[Service]\nExecStart=/usr/bin/env -i /usr/local/bin/probe clears\nEnvironment=TZ=Asia/Tokyo\n",
        )],
        answer: &["clears@.service:2 removes it (`env -i`)"],
        place: ("", "low"),
        fix: "--pid PID",
        says: &["not done by a tool"],
        ends: Ends::Refused("clears@.service:2 removes it (`env -i`), after systemd"),
        ..UNIT
    },
];

/// A script that the unit starts sets or removes it: the place is there.
const SCRIPTS: [Scenario<'static>; 9] = [
    Scenario {
        name: "unsets",
        unit: STARTS,
        files: &[(SCRIPT, "755", "#!/bin/sh\nA=1\nunset TZ\nexec /usr/local/bin/probe NAME\n")],
        answer: &["/usr/local/bin/unsets-start:3 removes it (`unset TZ`)"],
        story: &[
            "to change it: wrapper script, /usr/local/bin/unsets-start",
            "its line 3 removes it",
        ],
        never: &["was not there when it was started", "different when it was started"],
        place: (SCRIPT, "high"),
        says: &["place    wrapper script, /usr/local/bin/unsets-start"],
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
        story: &["to change it: wrapper script, /usr/local/bin/exports-start"],
        place: (SCRIPT, "high"),
        ..UNIT
    },
    // The script goes on while its program runs.
    Scenario {
        name: "child",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(SCRIPT, "755", GOES_ON)],
        truth: Some("Asia/Omsk"),
        answer: &["/usr/local/bin/child-start:2 sets it"],
        place: (SCRIPT, "high"),
        fix: "--pid PID --restart",
        ..UNIT
    },
    // Once more before the restart: the process has what the script said when it was started.
    Scenario {
        name: "twice",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(SCRIPT, "755", GOES_ON)],
        truth: Some("Asia/Omsk"),
        answer: &["/usr/local/bin/twice-start:2 sets it"],
        place: (SCRIPT, "high"),
        fix: "--pid PID",
        ..UNIT
    },
    // systemd exports it already: an assignment is enough.
    Scenario {
        name: "assigns",
        unit: STARTS,
        files: &[(SCRIPT, "755", "#!/bin/sh\nTZ=Asia/Dubai\nexec /usr/local/bin/probe NAME\n")],
        truth: Some("Asia/Dubai"),
        answer: &["/usr/local/bin/assigns-start:2 sets it"],
        story: &["to change it: wrapper script, /usr/local/bin/assigns-start"],
        place: (SCRIPT, "high"),
        ..UNIT
    },
    // It is not yet the program when systemd says that it runs.
    Scenario {
        name: "late",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(
            SCRIPT,
            "755",
            "#!/bin/sh\nsleep 0.3\nunset TZ\nexec /usr/local/bin/probe NAME\n",
        )],
        place: (SCRIPT, "high"),
        says: &["place    wrapper script, /usr/local/bin/late-start"],
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
        story: &["to change it: init script, /etc/default/sources"],
        place: ("/etc/default/sources", "medium"),
        ..UNIT
    },
    Scenario {
        name: "helper",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[
            (
                SCRIPT,
                "755",
                "#!/bin/sh\nF=/etc/default/NAME\n[ -r $F ] && . $F\nexec /usr/local/bin/probe NAME\n",
            ),
            ("/etc/default/NAME", "644", "# of NAME\nTZ=Asia/Tokyo\n"),
        ],
        answer: &["/etc/default/helper:2 sets it without `export`"],
        story: &["to change it: init script, /etc/default/helper"],
        place: ("/etc/default/helper", "medium"),
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
];

/// Other programs, of which only the new process shows what they pass on.
const PROGRAMS: [Scenario<'static>; 16] = [
    // A shell script stands between, and what it does is not worked out: the new process shows it.
    Scenario {
        name: "script",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(SCRIPT, "755", "#!/bin/sh\nA=1\nexec /usr/local/bin/probe NAME\n")],
        place: (PLACE, "medium"),
        says: &[
            "It is not certain that the new process gets it (script.service starts the script ",
        ],
        ..UNIT
    },
    Scenario {
        name: "drops",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(SCRIPT, "755", "#!/bin/sh\nV=T\nunset ${V}Z\nexec /usr/local/bin/probe NAME\n")],
        place: (PLACE, "medium"),
        ends: Ends::TakenBack("does not have it"),
        ..UNIT
    },
    // Also where the process has what its unit sets: another value may fare otherwise.
    Scenario {
        name: "unlooked",
        unit: STARTS,
        files: &[(SCRIPT, "755", "#!/bin/sh\nA=1\nexec /usr/local/bin/probe NAME\n")],
        truth: Some("UTC"),
        place: (PLACE, "medium"),
        fix: "--unit NAME",
        ends: Ends::Refused(
            "unlooked.service starts the script /usr/local/bin/unlooked-start, which may change the variable before its \
             program has it; with --restart it is tried, and taken back if it does not arrive",
        ),
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
        place: (PLACE, "medium"),
        ends: Ends::TakenBack("does not have it"),
        ..UNIT
    },
    // The interpreter is the same, its script is not.
    Scenario {
        name: "another-script",
        unit: "Environment=TZ=UTC\nExecStart=/usr/bin/perl /usr/local/bin/NAME-start",
        files: &[(SCRIPT, "644", "delete $ENV{TZ};\nexec '/usr/local/bin/probe', 'NAME';\n")],
        place: (PLACE, "medium"),
        ends: Ends::TakenBack("does not have it"),
        ..UNIT
    },
    // A directory of variables, in which a unit's program may look: systemd knows nothing of it.
    Scenario {
        name: "envdir",
        unit: "ExecStart=envdir /etc/app /usr/local/bin/probe NAME",
        files: &[("/etc/app/TZ", "644", "Asia/Baku\n")],
        truth: Some("Asia/Baku"),
        place: (PLACE, "medium"),
        ends: Ends::TakenBack("does not have it"),
        ..UNIT
    },
    // Programs of the unit that do not bear the variable: nothing of the change stays.
    Scenario {
        name: "refuses",
        unit: "ExecStart=/usr/local/bin/probe NAME\nExecStartPre=/bin/sh -c 'test -z \"$$TZ\"'",
        ends: Ends::Breaks("the restart failed"),
        says: &["taken back, and restarted once more"],
        ..UNIT
    },
    Scenario {
        name: "dies",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(
            SCRIPT,
            "755",
            "#!/bin/sh\n[ -z \"$TZ\" ] || exit 3\nexec /usr/local/bin/probe NAME\n",
        )],
        place: (PLACE, "medium"),
        ends: Ends::Breaks("dies.service does not run with it"),
        says: &["taken back, and restarted once more"],
        ..UNIT
    },
    // The same kind of program, which passes on all.
    Scenario {
        name: "becomes",
        unit: "ExecStart=/usr/local/bin/NAME-start",
        files: &[(SCRIPT, "755", "#!/usr/bin/perl\nexec '/usr/local/bin/probe', 'NAME';\n")],
        place: (PLACE, "medium"),
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
        place: (PLACE, "medium"),
        program: "",
        ..UNIT
    },
    // systemd waits for a oneshot's end: what it runs is found while it runs.
    Scenario {
        name: "oneshot",
        unit: "Type=oneshot\nTimeoutStartSec=600\nExecStart=/usr/bin/timeout 1000 /usr/local/bin/probe NAME",
        start: "systemctl restart --no-block NAME",
        place: (PLACE, "medium"),
        program: "",
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
        program: "",
        offset: "rm -f /run/offset; until [ -s /run/offset ]; do sleep 0.1; done; cat /run/offset",
        // Which script its Perl runs is not seen any more; that systemd started it is, in its memory.
        says: &[
            "starts /usr/local/bin/titled, and its process runs perl: perhaps the one became the other",
        ],
        place: (PLACE, "medium"),
        ..UNIT
    },
    // runuser reads no file of PAM, and passes on what the unit gives.
    Scenario {
        name: "runuser",
        unit: "Environment=TZ=UTC\nExecStart=/sbin/runuser -u bob -- /usr/local/bin/probe NAME",
        truth: Some("UTC"),
        answer: &["/etc/systemd/system/runuser.service:2 sets it"],
        program: "",
        ..UNIT
    },
    Scenario {
        name: "setpriv",
        unit: "ExecStart=/usr/bin/setpriv --reuid bob --clear-groups /usr/local/bin/probe NAME",
        // What its options do is not read.
        place: (PLACE, "medium"),
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
];
