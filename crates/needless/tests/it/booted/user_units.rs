//! Units of a user's own systemd, changed by that user, without root.

use crate::booted::machine::{Machine, wait};
use crate::booted::scenario::*;
use crate::booted::settings::{CLOSER, STORM};
use crate::common::*;
use std::process::Output;

const HOME: &str = "/home/bob";
const UNITS: &str = "/home/bob/.config/systemd/user";

/// A machine on which the systemd of the user bob runs.
fn machine_of_bob() -> Option<Machine> {
    let machine = machine("debs-launchers")?;
    machine.has("dbus-daemon")?;
    machine.has("loginctl")?;
    machine.ok("set -e; id messagebus 2>/dev/null || useradd -r messagebus
         useradd --create-home --uid 4242 --shell /bin/bash bob
         systemctl daemon-reload; systemctl start dbus.socket; loginctl enable-linger bob");
    let up = wait(|| {
        let state = bob(&machine, "systemctl --user is-system-running");
        matches!(stdout(&state).trim(), "running" | "degraded").then_some(())
    });
    let why = "the systemd of a user does not start in namespaces here";
    needed(up.ok_or(why.to_owned()))?;
    Some(machine)
}

/// Runs a script as bob.
fn bob(machine: &Machine, script: &str) -> Output {
    let env =
        "HOME=/home/bob USER=bob XDG_RUNTIME_DIR=/run/user/4242 PATH=/usr/local/bin:/usr/bin:/bin";
    machine.run(&format!("cd {HOME}; exec {BOB} env -i {env} sh -c \"{script}\""))
}

const BOB: &str = "setpriv --reuid=4242 --regid=4242 --clear-groups";

fn bob_ok(machine: &Machine, script: &str) -> String {
    let done = bob(machine, script);
    assert!(done.status.success(), "{script}: {}{}", stdout(&done), stderr(&done));
    stdout(&done)
}

/// All files of bob's configuration: the journal is in his home, too.
fn configuration(machine: &Machine) -> String {
    files_in(machine, "home/bob/.config")
}

fn unit(machine: &Machine, exec: &str) -> String {
    let text = format!("[Service]\nExecStart={exec}\n");
    machine.write(&format!("{UNITS}/probe.service"), "644", &text);
    machine.ok(&format!("chown -R bob:bob {HOME}/.config"));
    bob_ok(machine, "systemctl --user daemon-reload && systemctl --user restart probe");
    machine.pid_of(&format!("{WORDS} mine"), "0")
}

const AS_BOB: &str = "setpriv --reuid=4242 --regid=4242 --clear-groups env HOME=/home/bob USER=bob \
    XDG_RUNTIME_DIR=/run/user/4242 XDG_STATE_HOME=/run/bob";
const START: &str = "setpriv --reuid=4242 --regid=4242 --clear-groups env -i HOME=/home/bob XDG_RUNTIME_DIR=/run/user/4242 \
    sh -c 'systemctl --user daemon-reload; systemctl --user restart NAME'";
const FILE: &str = "/home/bob/.config/systemd/user/NAME.service";
/// A unit of bob's, changed by bob.
const OWN: Scenario<'static> = Scenario {
    files: &[(FILE, "644", "[Service]\nExecStart=/usr/local/bin/probe NAME\n")],
    start: START,
    place: ("/home/bob/.config/systemd/user/NAME.service.d/zz-needless.conf", "high"),
    fix: "--user-unit NAME --restart",
    user: AS_BOB,
    ..UNIT
};
/// Another program of the unit starts it.
const FORKS: Scenario<'static> = Scenario {
    files: &[
        (
            FILE,
            "644",
            "[Service]\nType=forking\nPIDFile=%t/NAME.pid\nExecStart=/usr/local/bin/NAME-start\n",
        ),
        (
            "/usr/local/bin/NAME-start",
            "755",
            "#!/bin/sh\n/usr/local/bin/probe NAME &\necho $! >$XDG_RUNTIME_DIR/NAME.pid\n",
        ),
    ],
    place: ("/home/bob/.config/systemd/user/NAME.service.d/zz-needless.conf", "medium"),
    ..OWN
};

const UNITS_OF_BOB: [Scenario<'static>; 12] = [
    Scenario {
        name: "mine",
        files: &[
            (FILE, "644", "[Service]\nExecStart=/usr/local/bin/probe NAME\n"),
            (
                "/home/bob/.config/systemd/user/NAME.service.d/nice.conf",
                "644",
                "[Service]\nNice=1\n",
            ),
            ("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n"),
        ],
        all: &["tz.sh:1 TZ=Asia/Tokyo does not reach it: only login shells read it"],
        fix: "--pid PID",
        ..OWN
    },
    // Root does not change the user's files.
    Scenario {
        name: "not-roots",
        fix: "--pid PID",
        user: "",
        ends: Ends::Refused("belongs to user 4242"),
        ..OWN
    },
    // The variables of the user's systemd itself, and what it takes from /etc/environment.
    Scenario {
        name: "own",
        written: "/home/bob/.config/environment.d/zz-needless.conf",
        fix: "--in /home/bob/.config/environment.d/zz-needless.conf",
        after: &["zz-needless.conf:2 sets it, and the user's systemd reads it"],
        ..OWN
    },
    Scenario {
        name: "system",
        written: "/etc/environment",
        fix: "--in /etc/environment",
        user: "",
        after: &["/etc/environment:2 sets it, and environment.d links to it (99-environment.conf)"],
        ..OWN
    },
    Scenario {
        name: "forks",
        says: &["forks.service starts the script /usr/local/bin/forks-start, which may change"],
        ..FORKS
    },
    // No shell script: only that it forks is seen.
    Scenario {
        name: "unlooked",
        files: &[
            FORKS.files[0],
            (
                "/usr/local/bin/NAME-start",
                "755",
                "#!/usr/bin/perl\nmy $pid = fork;\nexec '/usr/local/bin/probe', 'NAME' unless $pid;\n\
                 open my $file, '>', \"$ENV{XDG_RUNTIME_DIR}/NAME.pid\" or die;\nprint $file \"$pid\\n\";\n",
            ),
        ],
        fix: "--user-unit NAME",
        ends: Ends::Refused("another program in that unit started it"),
        ..FORKS
    },
    Scenario {
        name: "hides",
        files: &[
            (FILE, "644", "[Service]\nExecStart=/usr/local/bin/hides\n"),
            (
                "/usr/local/bin/hides",
                "755",
                "#!/usr/bin/perl\ndelete $ENV{TZ};\nexec '/usr/local/bin/probe', 'NAME';\n",
            ),
        ],
        place: ("/home/bob/.config/systemd/user/NAME.service.d/zz-needless.conf", "medium"),
        ends: Ends::TakenBack("does not have it: "),
        ..OWN
    },
    // The restart that takes the change back fails, too: the message names the command for the user's systemd.
    Scenario {
        name: "sulks",
        files: &[
            (
                FILE,
                "644",
                "[Service]\nExecStart=/usr/local/bin/probe NAME\nExecStartPre=/usr/local/bin/sulks\n",
            ),
            (
                "/usr/local/bin/sulks",
                "755",
                "#!/bin/sh\n[ -z \"$TZ\" ] && [ ! -e /run/user/4242/hurt ] && exit\ntouch /run/user/4242/hurt\nexit 3\n",
            ),
        ],
        says: &[
            "; taken back, but ",
            "look at `systemctl --user status NAME.service`, then start it",
            "NAME.service IS DOWN: `systemctl --user status NAME.service`",
        ],
        ends: Ends::Breaks("the restart failed: "),
        ..OWN
    },
    // What its command does is read before: no place is called sure that the command overrules.
    Scenario {
        name: "env-u",
        files: &[(
            FILE,
            "644",
            "[Service]\nExecStart=/usr/bin/env -u TZ /usr/local/bin/probe NAME\n",
        )],
        place: ("", "low"),
        ends: Ends::Refused(
            "NAME.service:2 removes it (`env -u`), after systemd: change it there by hand",
        ),
        ..OWN
    },
    Scenario {
        name: "wrap",
        files: &[
            (FILE, "644", "[Service]\nExecStart=/home/bob/wrap\n"),
            ("/home/bob/wrap", "755", "#!/bin/sh\nunset TZ\nexec /usr/local/bin/probe NAME\n"),
        ],
        story: &["to change it: wrapper script, /home/bob/wrap"],
        place: ("/home/bob/wrap", "high"),
        says: &["place    wrapper script, /home/bob/wrap"],
        ..OWN
    },
    // Another program of the unit became it: not sure, and tried.
    Scenario {
        name: "becomes",
        files: &[(
            FILE,
            "644",
            "[Service]\nExecStart=/usr/bin/perl -e 'exec \"/usr/local/bin/probe\", \"NAME\"'\n",
        )],
        place: ("/home/bob/.config/systemd/user/NAME.service.d/zz-needless.conf", "medium"),
        ..OWN
    },
    // The command that made the unit has the last word.
    Scenario {
        name: "transient",
        files: &[],
        start: "setpriv --reuid=4242 --regid=4242 --clear-groups env -i HOME=/home/bob XDG_RUNTIME_DIR=/run/user/4242 \
            systemd-run --user --quiet --unit=NAME -E TZ=UTC /usr/local/bin/probe NAME",
        truth: Some("UTC"),
        place: ("/home/bob/.config/environment.d/zz-needless.conf", "low"),
        fix: "--pid PID",
        ends: Ends::Refused("the command that made transient.service sets it"),
        ..OWN
    },
];

#[test]
fn fix_changes_the_units_of_a_user() {
    let Some(machine) = machine_of_bob() else { return };
    machine.ok("install -d -o bob /run/bob");
    hold(&machine, &UNITS_OF_BOB);
    fix_refuses_a_unit_that_is_stopped_and_removes_it(&machine);
    fix_gives_a_transient_unit_the_variables_of_the_users_systemd(&machine);
}

/// Its command is read all the same.
fn fix_refuses_a_unit_that_is_stopped_and_removes_it(machine: &Machine) {
    unit(machine, "/usr/bin/env -u TZ /usr/local/bin/probe mine");
    bob_ok(machine, "systemctl --user stop probe");
    let before = configuration(machine);
    let done =
        bob(machine, &format!("needless fix --user-unit probe --set TZ={ZONE} {YES} --restart"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    let by_hand = "probe.service:2 removes it (`env -u`), after systemd: change it there by hand";
    assert!(stderr(&done).contains(by_hand), "{}", stderr(&done));
    assert_eq!(configuration(machine), before);
    machine.ok(&format!("rm {UNITS}/probe.service"));
}

/// A unit that a command made has no file: what its systemd gives to all units is the place.
fn fix_gives_a_transient_unit_the_variables_of_the_users_systemd(machine: &Machine) {
    let start = "systemd-run --user --quiet --unit=job /usr/local/bin/probe job";
    let before = configuration(machine);
    bob_ok(machine, start);
    let pid = machine.pid_of(&format!("{WORDS} job"), "0");
    let fix = format!("needless fix --pid {pid} --set TZ={ZONE} {YES} --restart");
    let said = bob_ok(machine, &fix);
    let file = format!("{HOME}/.config/environment.d/zz-needless.conf");
    assert!(said.contains(&file), "{said}");
    assert!(said.contains("It reaches every unit of the user"), "{said}");
    bob_ok(machine, &format!("systemctl --user stop job; {start}"));
    let fresh = machine.pid_of(&format!("{WORDS} job"), &pid);
    assert_eq!(calls(machine, &fresh), 0);
    let story = bob_ok(machine, &format!("needless origin TZ {fresh}"));
    assert!(story.starts_with(&format!("TZ is {ZONE} in perl[")), "{story}");
    assert!(story.contains(&file), "{story}");
    bob_ok(machine, "needless undo");
    assert_eq!(configuration(machine), before);
    bob_ok(machine, &format!("systemctl --user daemon-reload; systemctl --user stop job; {start}"));
    let last = machine.pid_of(&format!("{WORDS} job"), &fresh);
    assert!(calls(machine, &last) > 0);
}

/// The soft limit of open files, which bob lowers by what root has observed.
#[test]
fn fix_lowers_the_limit_of_a_unit_of_a_user() {
    let Some(machine) = machine_of_bob().filter(|_| observes_others()) else { return };
    machine.write("/usr/local/bin/storm", "755", STORM);
    machine.write("/usr/local/bin/closer", "755", CLOSER);
    let text = "[Service]\nExecStart=/usr/local/bin/storm\nLimitNOFILE=8000:16000\n";
    machine.write(&format!("{UNITS}/storm.service"), "644", text);
    machine.ok(&format!("chown -R bob:bob {HOME}/.config"));
    bob_ok(&machine, "systemctl --user daemon-reload && systemctl --user restart storm");
    let limit = || {
        let pid = machine.pid_of("/usr/bin/perl /usr/local/bin/storm", "0");
        machine.ok(&format!("awk '/^Max open files/ {{ print $4, $5 }}' /proc/{pid}/limits"))
    };
    assert_eq!(limit(), "8000 16000\n");
    let before = configuration(&machine);
    let pid = machine.pid_of("/usr/bin/perl /usr/local/bin/storm", "0");
    machine.ok(&format!(
        "needless attach {pid} --for 3s -o /run/storm.json; chmod 644 /run/storm.json"
    ));
    let fix = "needless fix /run/storm.json --rule close-storm --yes --restart";
    let said = bob_ok(&machine, fix);
    for part in [
        "+LimitNOFILE=1024:16000\n",
        "restarted: systemctl --user restart storm.service\n",
        "in force: LimitNOFILE=1024:16000 in storm[",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(limit(), "1024 16000\n");
    bob_ok(&machine, "needless undo; systemctl --user restart storm");
    assert_eq!(configuration(&machine), before);
    assert_eq!(limit(), "8000 16000\n");
}

/// By its name, by its process, and where it does not run.
#[test]
fn fix_changes_a_unit_of_a_user_by_name_and_by_process() {
    let Some(machine) = machine_of_bob() else { return };
    let pid = unit(&machine, "/usr/local/bin/probe mine");
    assert!(calls(&machine, &pid) > 0);
    let (before, etc) = (configuration(&machine), files_in(&machine, "etc"));
    let fix = format!("needless fix --user-unit probe --set TZ={ZONE} {YES} --restart");
    let said = bob_ok(&machine, &fix);
    let drop_in = format!("{UNITS}/probe.service.d/zz-needless.conf");
    for part in [
        &*drop_in,
        "restarted: systemctl --user restart probe.service\n",
        &format!("in force: TZ={ZONE} in probe["),
        "calls not counted: to observe what runs already needs CAP_BPF",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(machine.ok(&format!("stat -c %U {drop_in}")), "bob\n");
    machine.ok(&format!("test -d {HOME}/.local/state/needless/journal/1"));
    let fresh = machine.pid_of(&format!("{WORDS} mine"), &pid);
    assert_eq!(calls(&machine, &fresh), 0);
    let asked = "needless origin TZ --user-unit probe";
    let story = flat(&bob_ok(&machine, asked));
    assert!(story.starts_with(&format!("TZ is {ZONE} in perl[{fresh}]: {drop_in}:")), "{story}");
    assert!(bob_ok(&machine, "needless fix --check 1").starts_with("in force: "));
    assert!(bob_ok(&machine, "needless undo").contains("taken back: change 1"));
    assert_eq!(bob_ok(&machine, "systemctl --user show -p Environment --value probe"), "\n");
    assert_eq!(configuration(&machine), before);
    // By its process, and by one who came without a session of their own.
    bob_ok(&machine, "systemctl --user restart probe");
    let pid = machine.pid_of(&format!("{WORDS} mine"), &fresh);
    let bare = "env -u XDG_RUNTIME_DIR needless fix";
    let said = bob_ok(&machine, &format!("{bare} --pid {pid} --set TZ={ZONE} {YES} --restart"));
    assert!(said.contains(&drop_in) && said.contains("in force: "), "{said}");
    bob_ok(&machine, "needless undo");
    // One that does not run.
    bob_ok(&machine, "systemctl --user stop probe");
    let said = bob_ok(&machine, &format!("needless fix --user-unit probe --set TZ={ZONE} {YES}"));
    assert!(said.contains(&drop_in) && said.contains("probe.service does not run"), "{said}");
    let story = flat(&bob_ok(&machine, asked));
    let says =
        format!("probe.service does not run; it would start with TZ={ZONE}, from {drop_in}:");
    assert!(story.starts_with(&says), "{story}");
    bob_ok(&machine, "needless undo");
    assert_eq!(configuration(&machine), before);
    for command in ["fix --user-unit nosuch --set A=1 --yes", "origin TZ --user-unit nosuch"] {
        let done = bob(&machine, &format!("needless {command}"));
        assert!(stderr(&done).contains("there is no unit nosuch.service"), "{}", stderr(&done));
    }
    // What starts a container gives it nothing of its own: a drop-in would reach podman only.
    let boxed = "[Service]\nExecStart=/usr/bin/podman run --rm image\n";
    machine.write(&format!("{UNITS}/boxed.service"), "644", boxed);
    bob_ok(&machine, "systemctl --user daemon-reload");
    let done = bob(&machine, &format!("needless fix --user-unit boxed --set TZ={ZONE} {YES}"));
    let says = "boxed.service:2 starts a container, which gets only what is said there";
    assert!(stderr(&done).contains(says), "{}", stderr(&done));
    assert_eq!(files_in(&machine, "etc"), etc, "nothing of the system has changed");
}
