//! Programs that a supervisor other than systemd starts: supervisord, daemontools, runit, s6, OpenRC, service(8).

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::stdout;

/// A program that its supervisor starts again when it has ended.
const AGAIN: Scenario<'static> = Scenario { start: "true", fix: "--pid PID", ..UNIT };

const WEB: &str = "; two\n[program:NAME]\ncommand=/usr/local/bin/probe NAME\nenvironment=A=\"1\"\n";
/// A restart by supervisorctl keeps the old environment.
const SUPERVISORD: &str =
    "pid=$(cat /run/supervisord.pid) && kill $pid && while [ -e /proc/$pid ]; do sleep 0.1; done
    TZ= setsid env -u TZ /usr/bin/supervisord -n -c /etc/supervisor/supervisord.conf &";
/// An init script that sources its file, as distributions have them.
const INIT: &str = "#!/bin/sh
### BEGIN INIT INFO
# Provides: NAME
### END INIT INFO
NAME=NAME
PIDFILE=/run/NAME.pid
[ -r /etc/default/NAME ] && . /etc/default/NAME
case $1 in
start) start-stop-daemon --start --background --make-pidfile --pidfile $PIDFILE --startas /usr/local/bin/probe -- NAME ;;
esac
";

/// The shell that supervisord starts has nothing of it; the program that works for it has another value.
const SCRIPT: Scenario<'static> = Scenario {
    name: "script",
    files: &[
        (
            "/etc/supervisor/conf.d/NAME.conf",
            "644",
            "[program:NAME]\ncommand=/usr/local/bin/NAME-start\n",
        ),
        (
            "/usr/local/bin/NAME-start",
            "755",
            "#!/bin/sh\nA=$(echo Asia/Omsk)\nTZ=$A /usr/local/bin/probe NAME\n:\n",
        ),
    ],
    start: SUPERVISORD,
    truth: Some("Asia/Omsk"),
    place: ("", "low"),
    fix: "--restart --pid $(ps -o ppid= -p PID)",
    ends: Ends::Refused("sets it itself, or a program between it and "),
    ..UNIT
};

#[test]
fn fix_changes_programs_of_supervisord_daemontools_and_service() {
    let Some(machine) = machine("debs") else { return };
    for name in ["supervisord", "supervise", "svc"] {
        if machine.has(name).is_none() {
            return;
        }
    }
    directories_of_daemontools(&machine);
    let environment = ("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    // While it runs, it restarts the program itself, through the script and so with the directory.
    let supervise = Scenario {
        start: "pgrep -x -f 'supervise /run/NAME' || setsid supervise /run/NAME &",
        ..UNIT
    };
    hold(
        &machine,
        &[
            Scenario {
                name: "supervised",
                files: &[environment, ("/etc/supervisor/conf.d/NAME.conf", "644", WEB)],
                start: SUPERVISORD,
                all: &[
                    "/etc/environment:1 TZ=Asia/Tokyo does not reach it: supervisord does not read it",
                ],
                place: ("/etc/supervisor/conf.d/NAME.conf", "high"),
                fix: "--pid PID",
                ..UNIT
            },
            SCRIPT,
            Scenario {
                name: "hand",
                story: &[
                    "to change it: envdir",
                    "no tool writes there: add the line `VALUE` by hand",
                ],
                place: ("/etc/probe.env/TZ", "high"),
                fix: "--pid PID",
                ends: Ends::ByHand("/etc/probe.env/TZ: add the line `Asia/Tokyo` by hand"),
                ..supervise
            },
            Scenario {
                name: "svc",
                place: ("/run/svc/run", "high"),
                fix: "--pid PID --restart",
                says: &["restarted: svc -t /run/svc\n"],
                undone: &["probe[PID] still has TZ=Asia/Tokyo: `svc -t "],
                ..supervise
            },
            // The steps of service(8) without systemd.
            Scenario {
                name: "sysv",
                files: &[
                    ("/etc/init.d/NAME", "755", INIT),
                    ("/etc/default/NAME", "644", "# of NAME\nTZ=Asia/Tokyo\nOPTIONS=x\n"),
                ],
                start: "env -i PATH=$PATH SYSTEMCTL_SKIP_REDIRECT=1 /etc/init.d/NAME start",
                all: &["/etc/default/sysv:2", "not exported"],
                place: ("/etc/default/NAME", "high"),
                fix: "--pid PID",
                ..UNIT
            },
        ],
    );
}

/// One with envdir, and one without.
fn directories_of_daemontools(machine: &Machine) {
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    machine.write("/etc/probe.env/LANG", "644", "C\n");
    for (name, through) in [("hand", "envdir /etc/probe.env "), ("svc", "")] {
        let run = format!("#!/bin/sh\nexec {through}/usr/local/bin/probe {name}\n");
        machine.write(&format!("/run/{name}/run"), "755", &run);
    }
}

/// The run scripts, below directories that are not compared: supervisors write there.
fn run_scripts(machine: &Machine) -> String {
    let execline = format!("#!{} -P", machine.has("execlineb").unwrap_or_default());
    let chain =
        format!("{execline}\n# of chain\nfdmove -c 2 1\nexport A 1\n/usr/local/bin/probe chain\n");
    for (file, run) in [
        ("/etc/sv/dir", "#!/bin/sh\nexec 2>&1\nexec chpst -v -e ./env /usr/local/bin/probe dir\n"),
        ("/etc/sv/plain", "#!/bin/sh\nexec 2>&1\nexec /usr/local/bin/probe plain\n"),
        ("/run/sv/arrives", "#!/bin/sh\nexec /usr/local/bin/probe arrives\n"),
        ("/run/sv/named", "#!/bin/sh\nexec /usr/local/bin/probe named\n"),
        ("/run/sv/hides", "#!/bin/sh\nexec /usr/local/bin/hides\n"),
        ("/run/sv/dies", "#!/bin/sh\nexec /usr/local/bin/dies\n"),
        ("/run/s6/own", "#!/bin/sh\nexec /usr/local/bin/probe own\n"),
        ("/run/s6/six", "#!/bin/sh\nexec s6-envdir /etc/six /usr/local/bin/probe six\n"),
        ("/run/s6/chain", &chain),
        ("/run/s6/line", &format!("{execline}\ns6-envdir /etc/line /usr/local/bin/probe line\n")),
    ] {
        machine.write(&format!("{file}/run"), "755", run);
    }
    machine.ok("for name in dir plain; do
             mkdir -p /run/state/$name /run/sv; ln -s /run/state/$name /etc/sv/$name/supervise
             ln -s /etc/sv/$name /run/sv/$name; done; mkdir /etc/sv/dir/env");
    for dir in ["six", "line"] {
        machine.write(&format!("/etc/{dir}/LANG"), "644", "C\n");
    }
    let perl = |first: &str, name: &str| {
        format!("#!/usr/bin/perl\n{first};\nexec '/usr/local/bin/probe', '{name}';\n")
    };
    machine.write("/usr/local/bin/hides", "755", &perl("delete $ENV{TZ}", "hides"));
    machine.write("/usr/local/bin/dies", "755", &perl("exit 3 if $ENV{TZ}", "dies"));
    chain
}

#[test]
fn fix_changes_run_scripts_of_runit_and_s6() {
    let Some(machine) = machine("debs-launchers") else { return };
    for name in ["runsvdir", "s6-svscan", "execlineb"] {
        if machine.has(name).is_none() {
            return;
        }
    }
    let chain = run_scripts(&machine);
    drop(machine.start("exec runsvdir -P /run/sv"));
    drop(machine.start("exec s6-svscan /run/s6"));
    let run =
        Scenario { all: &["a supervisor of run scripts does not give it that variable"], ..AGAIN };
    let restarted = Scenario { fix: "--pid PID --restart", ..run };
    let of_s6 = Scenario {
        says: &["restarted: s6-svc -r /run/s6/NAME\n"],
        undone: &["probe[PID] still has TZ=Asia/Tokyo: `s6-svc -r "],
        ..restarted
    };
    let removes = Scenario {
        place: ("/run/sv/NAME/run", "high"),
        ends: Ends::Breaks("taken back, and restarted once more"),
        ..restarted
    };
    let in_dir = Ends::ByHand("/TZ: add the line `Asia/Tokyo` by hand");
    hold(
        &machine,
        &[
            Scenario { name: "dir", place: ("/etc/sv/dir/env/TZ", "high"), ends: in_dir, ..run },
            Scenario { name: "plain", place: ("/etc/sv/plain/run", "high"), ..run },
            Scenario { name: "own", place: ("/run/s6/own/run", "high"), ..of_s6 },
            Scenario { name: "six", place: ("/etc/six/TZ", "high"), ends: in_dir, ..run },
            Scenario {
                name: "chain",
                place: ("/run/s6/chain/run", "high"),
                ends: Ends::ByHand("add `export TZ \"Asia/Tokyo\"` by hand above line 5"),
                ..restarted
            },
            Scenario { name: "line", place: ("/etc/line/TZ", "high"), ends: in_dir, ..restarted },
            Scenario {
                name: "arrives",
                place: ("/run/sv/arrives/run", "high"),
                says: &["restarted: sv restart /run/sv/arrives\n"],
                ..restarted
            },
            // The file is named, and its supervisor is known by what runs there.
            Scenario {
                name: "named",
                place: ("/run/sv/named/run", "high"),
                says: &["restarted: sv restart /run/sv/named\n"],
                fix: "--in /run/sv/named/run --restart",
                ..run
            },
            // One removes the variable itself, one ends because of it.
            Scenario { name: "hides", ..removes },
            Scenario { name: "dies", ..removes },
        ],
    );
    assert_eq!(machine.ok("cat /run/s6/chain/run"), chain);
}

const OPENRC: &str = "#!/sbin/openrc-run
command=/usr/bin/perl
command_args=\"/usr/local/bin/probe NAME\"
command_background=true
pidfile=/run/NAME.pid
";

/// What /etc/rc.conf exports reaches every service; /etc/conf.d/NAME is narrower, and stronger.
#[test]
fn fix_changes_services_of_openrc() {
    let Some(machine) = machine("debs-openrc") else { return };
    if machine.has("openrc-run").is_none() {
        return;
    }
    // The directories that OpenRC makes when it boots a machine.
    machine.ok("mkdir -p /etc/conf.d /run/openrc; cd /run/openrc
        mkdir -p daemons exclusive failed hotplugged inactive init.d options scheduled started \
            starting stopping tmp wasinactive; touch softlevel");
    let service = Scenario {
        start: "rc-service NAME zap; TZ=UTC rc-service NAME start",
        place: ("/etc/conf.d/NAME", "high"),
        fix: "--pid PID",
        ..UNIT
    };
    let script = ("/etc/init.d/NAME", "755", OPENRC);
    let global = ("/etc/rc.conf", "644", "rc_sys=\"\"\n# zones\nexport TZ=\"Europe/Rome\"\n");
    let exported = Scenario {
        files: &[script, global],
        truth: Some("Europe/Rome"),
        answer: &["/etc/rc.conf:3 sets it"],
        story: &["to change it: init script, /etc/conf.d/NAME"],
        ..service
    };
    hold(
        &machine,
        &[
            Scenario {
                name: "unexported",
                files: &[
                    script,
                    ("/etc/conf.d/NAME", "644", "# of NAME\nTZ=Asia/Tokyo\n"),
                    ("/etc/environment", "644", "TZ=Asia/Tokyo\n"),
                ],
                all: &[
                    "/etc/conf.d/unexported:2",
                    "not exported",
                    "/etc/environment:1 TZ=Asia/Tokyo does not reach it: OpenRC, as unexported, does not read it",
                ],
                ..service
            },
            Scenario { name: "narrow", ..exported },
            Scenario {
                name: "global",
                written: "/etc/rc.conf",
                fix: "--in /etc/rc.conf",
                ..exported
            },
        ],
    );
    fix_restarts_what_was_written_before(&machine);
}

/// The first call writes, the second restarts what the first did not.
fn fix_restarts_what_was_written_before(machine: &Machine) {
    machine.write("/etc/init.d/probed", "755", &OPENRC.replace("NAME", "probed"));
    machine.ok("rc-service probed start");
    let words = format!("{WORDS} probed");
    let pid = machine.pid_of(&words, "0");
    let fix = format!("needless fix --pid {pid} --set TZ={ZONE} {YES}");
    let looks = "not looked at: `needless origin TZ PID` looks at a process\n";
    let said = machine.ok(&fix);
    assert!(said.ends_with(&format!("written, {looks}")), "{said}");
    let output = machine.run(&format!("{fix} --restart"));
    let said = stdout(&output);
    assert!(said.contains("already so: ") && !said.contains("written: change"), "{output:?}");
    assert!(
        said.ends_with(&format!("restarted: rc-service probed restart\n{looks}")),
        "{output:?}"
    );
    assert_eq!(machine.zone(&machine.pid_of(&words, &pid)).as_deref(), Some(ZONE));
}
