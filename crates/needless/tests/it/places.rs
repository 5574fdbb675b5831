//! `origin`, `fix` and `undo` with the real daemons: which processes see a variable that is set in a place, the
//! report about it, the fix, its effect on the calls, and every byte restored.

use crate::cell::*;
use crate::common::*;

const UNIT: &str = "[Service]\nExecStart=/usr/local/bin/probe unit\n";

#[test]
fn a_unit_of_systemd() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    machine.ok("systemctl daemon-reload");
    let why = [
        "/etc/environment:1 TZ=Asia/Tokyo does not reach it: systemd does not read it for probe.service",
        "/etc/profile.d/tz.sh:1 TZ=Asia/Tokyo does not reach it: only login shells read it",
    ];
    let start = || drop(machine.ok("systemctl restart probe"));
    let drop_in = "/etc/systemd/system/probe.service.d/zz-needless.conf";
    cell(&machine, "unit", &start, &why, drop_in);
    assert_eq!(machine.ok("systemctl show -p Environment --value probe").trim(), "");
}

/// All steps: a window, the change, a second window, and the proof for the unit.
#[test]
fn a_fix_is_proven_on_the_unit() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    machine.ok("systemctl daemon-reload && systemctl start probe");
    machine.ok("needless prove --unit probe --for 3s --save-before /run/before.json");
    let unchanged = machine.run("needless prove --unit probe --for 3s --before /run/before.json");
    assert_eq!(unchanged.status.code(), Some(1), "{}", stdout(&unchanged));
    machine.ok(&format!("needless fix --unit probe --set TZ={ZONE} --yes --restart"));
    machine.pid_of(&format!("{WORDS} unit"), "0");
    let proof = machine.ok("needless prove --unit probe --for 3s --before /run/before.json");
    assert!(proof.starts_with("needless prove: proven"), "{proof}");
    assert!(proof.contains("newfstatat(\"/etc/localtime\")"), "{proof}");
}

/// The process decides whether a change is in force: before a restart, after it, and where the file has it already.
#[test]
fn a_fix_is_looked_for_in_the_process() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    machine.ok("systemctl daemon-reload && systemctl start probe");
    let before = machine.etc();
    let fix = format!("needless fix --unit probe --set TZ={ZONE} --yes");
    let check = |id: &str, status: i32| {
        let done = machine.run(&format!("needless fix --check {id}"));
        let said = format!("{}{}", stdout(&done), stderr(&done));
        assert_eq!(done.status.code(), Some(status), "{said}");
        said
    };
    // The machine has the journal of the one that it is a copy of.
    let made = |said: &str| {
        let id = said.split_once("done: change ").and_then(|(_, rest)| rest.split_once(';'));
        id.unwrap_or_else(|| panic!("{said}")).0.to_owned()
    };
    check("4294967295", 2);
    let said = machine.ok(&fix);
    let id = &made(&said);
    let next =
        format!("restart: `systemctl restart probe.service`; then `needless fix --check {id}`");
    assert!(said.contains(&format!("written, not in force: {next}")), "{said}");
    assert!(check(id, 1).contains("was started before the change: restart probe.service"));
    let said = machine.ok(&fix);
    assert!(said.contains("written, not in force: ") && !said.contains("done: change"), "{said}");
    machine.ok("systemctl restart probe");
    machine.pid_of(&format!("{WORDS} unit"), "0");
    let said = check(id, 0);
    assert!(said.starts_with(&format!("in force: TZ={ZONE} in perl[")), "{said}");
    let said = machine.ok(&fix);
    assert!(said.contains("already so: ") && said.contains("in force in perl["), "{said}");
    machine.ok(&format!("needless undo {id}"));
    assert!(check(id, 2).contains(&format!("change {id} was undone")));
    same(&before, &machine.etc(), "undo");
    // A unit that does not run.
    machine.ok("systemctl stop probe");
    let said = machine.ok(&fix);
    let id = &made(&said);
    assert!(said.contains("probe.service does not run; when it was started"), "{said}");
    assert!(check(id, 2).contains("was not seen: probe.service does not run"));
    machine.ok("systemctl start probe");
    machine.pid_of(&format!("{WORDS} unit"), "0");
    check(id, 0);
    machine.ok(&format!("needless undo {id}"));
    // With --restart it looks by itself.
    let said = machine.ok(&format!("{fix} --restart"));
    assert!(said.contains(&format!("in force: TZ={ZONE} in perl[")), "{said}");
    check(&made(&said), 0);
}

/// A run that was killed between the file and systemd: the next one has systemd read the file, once.
#[test]
fn what_a_killed_run_did_not_announce_is_announced() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    machine.ok("systemctl daemon-reload && systemctl start probe");
    machine.ok(&format!("needless fix --unit probe --set TZ={ZONE} --yes"));
    let stale = || machine.ok("systemctl show -p NeedDaemonReload --value probe").trim() == "yes";
    let last = "$(ls -d /var/lib/needless/journal/[0-9]* | sort -V | tail -n 1)";
    for marker in ["announced", "announced-undone"] {
        assert!(!stale());
        // As it would be: systemd has not looked since the file was written.
        machine
            .ok(&format!("rm {last}/{marker}; sleep 1.1; touch /etc/systemd/system/probe.service"));
        assert!(stale());
        machine.run("needless undo 4294967295");
        assert!(!stale());
        machine.ok("sleep 1.1; touch /etc/systemd/system/probe.service");
        machine.run("needless undo 4294967295");
        assert!(stale(), "only once");
        machine.ok("systemctl daemon-reload");
        if marker == "announced" {
            machine.ok("needless undo --last");
        }
    }
}

/// Another program in the unit started the daemon, so the place is not certain: without --restart it is refused, with
/// it the look decides.
#[test]
fn a_doubtful_place_is_tried_and_decided_by_the_look() {
    let Some(machine) = machine() else { return };
    let start = "#!/bin/sh\n/usr/local/bin/probe unit &\necho $! >/run/probe.pid\n";
    machine.write("/usr/local/bin/start", "755", start);
    let bare = start.replace("/usr/local/bin/probe", "env -u TZ /usr/local/bin/probe");
    machine.write("/usr/local/bin/bare", "755", &bare);
    for (program, arrives) in [("start", true), ("bare", false)] {
        let unit = format!(
            "[Service]\nType=forking\nPIDFile=/run/probe.pid\nExecStart=/usr/local/bin/{program}\n"
        );
        machine.write("/etc/systemd/system/probe.service", "644", &unit);
        machine.ok("systemctl daemon-reload && systemctl restart probe");
        machine.pid_of(&format!("{WORDS} unit"), "0");
        let before = machine.etc();
        let fix = format!("needless fix --unit probe --set TZ={ZONE} --yes");
        let refused = machine.run(&fix);
        assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
        assert!(stderr(&refused).contains("not done by a tool"), "{}", stderr(&refused));
        same(&before, &machine.etc(), program);
        let done = machine.run(&format!("{fix} --restart"));
        let said = format!("{}{}", stdout(&done), stderr(&done));
        assert!(said.contains("It is not certain that it arrives ("), "{said}");
        assert_eq!(done.status.success(), arrives, "{said}");
        if arrives {
            assert!(said.contains(&format!("in force: TZ={ZONE} in perl[")), "{said}");
            machine.ok("needless undo --last && systemctl restart probe");
        } else {
            assert!(said.contains("taken back, and restarted once more"), "{said}");
        }
        same(&before, &machine.etc(), program);
    }
}

/// What the unit starts takes the variable away again. Where needless can read that, the place is there: a script is
/// changed, a command line is for a person. Where it cannot, the new process shows it, and nothing of the change stays.
#[test]
fn a_change_that_does_not_arrive_is_taken_back() {
    let Some(machine) = machine() else { return };
    let wrap = "#!/bin/sh\nA=1\nunset TZ\nexec /usr/local/bin/probe unit\n";
    machine.write("/usr/local/bin/wrap", "755", wrap);
    let late = "#!/bin/sh\nsleep 0.3\nunset TZ\nexec /usr/local/bin/probe unit\n";
    machine.write("/usr/local/bin/late", "755", late);
    let fails = "#!/bin/sh\n[ -z \"$TZ\" ] || exit 3\nexec /usr/local/bin/probe unit\n";
    machine.write("/usr/local/bin/fails-with-tz", "755", fails);
    let hides = "#!/usr/bin/perl\ndelete $ENV{TZ};\nexec '/usr/local/bin/probe', 'unit';\n";
    machine.write("/usr/local/bin/hides", "755", hides);
    for (exec, outcome) in [
        (
            "/usr/local/bin/probe unit\nExecStartPre=/bin/sh -c 'test -z \"$$TZ\"'",
            Outcome::TakenBack("the restart failed"),
        ),
        ("/usr/local/bin/fails-with-tz", Outcome::TakenBack("probe.service does not run with it")),
        ("/usr/local/bin/hides", Outcome::TakenBack("does not have it")),
        (
            "/usr/bin/env -u TZ /usr/local/bin/probe unit",
            Outcome::ByHand("probe.service:2 removes it (`env -u`), after systemd"),
        ),
        (
            "/usr/bin/env TZ=UTC /usr/local/bin/probe unit",
            Outcome::ByHand("probe.service:2 sets it (`env`), after systemd"),
        ),
        ("/usr/local/bin/wrap", Outcome::InForce("place    wrapper script, /usr/local/bin/wrap")),
        ("/usr/local/bin/late", Outcome::InForce("place    wrapper script, /usr/local/bin/late")),
    ] {
        // On a quick machine all these starts are within ten seconds.
        let unit = format!("[Service]\nExecStart={exec}\n[Unit]\nStartLimitIntervalSec=0\n");
        machine.write("/etc/systemd/system/probe.service", "644", &unit);
        machine.ok("systemctl daemon-reload && systemctl restart probe");
        let old = machine.pid_of(&format!("{WORDS} unit"), "0");
        let before = machine.etc();
        let fix = format!("needless fix --unit probe --set TZ={ZONE} --yes --restart");
        let done = machine.run(&fix);
        let said = format!("{}{}", stdout(&done), stderr(&done));
        let arrives = matches!(outcome, Outcome::InForce(_));
        assert_eq!(done.status.code(), Some(if arrives { 0 } else { 2 }), "{exec}: {said}");
        let (Outcome::TakenBack(by) | Outcome::ByHand(by) | Outcome::InForce(by)) = outcome;
        assert!(said.contains(by), "{exec}: {said}");
        let by_hand = matches!(outcome, Outcome::ByHand(_));
        assert_eq!(!by_hand, said.contains("done: change"), "{exec}: {said}");
        let fresh = machine.pid_of(&format!("{WORDS} unit"), if by_hand { "0" } else { &old });
        assert_eq!(by_hand, fresh == old, "{exec}: {said}");
        match outcome {
            Outcome::TakenBack(_) => {
                assert!(said.contains("taken back, and restarted once more"), "{exec}: {said}");
            }
            Outcome::InForce(_) => {
                let words = format!("in force: TZ={ZONE} in perl[{fresh}]");
                assert!(said.contains(&words), "{exec}: {said}");
                machine.ok("needless undo --last");
                let text = machine.ok(&format!("cat {exec}"));
                assert!(text.contains("\nunset TZ\n"), "{text}");
            }
            Outcome::ByHand(_) => {}
        }
        same(&before, &machine.etc(), exec);
        assert_eq!(machine.ok("systemctl show -p Environment --value probe").trim(), "");
    }
}

/// What becomes of a change, with what the report says.
enum Outcome {
    TakenBack(&'static str),
    ByHand(&'static str),
    InForce(&'static str),
}

/// A drop-in that sorts after ours has precedence: needless asks systemd, and undoes the change.
#[test]
fn a_unit_whose_admin_has_the_last_word() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    let last = "[Service]\nEnvironment=TZ=UTC\n";
    machine.write("/etc/systemd/system/probe.service.d/zzz.conf", "644", last);
    machine.write("/srv/probe.env", "644", "# x\nTZ='Europe/Athens'\n");
    machine.ok("systemctl daemon-reload && systemctl start probe");
    let before = machine.etc();
    let done = machine.run("needless fix --unit probe --set TZ=Asia/Tokyo --yes");
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("sorts after zz-needless.conf"), "{}", stderr(&done));
    assert_eq!(machine.etc(), before);
    // EnvironmentFile has precedence over every Environment, so the change belongs there.
    let named = format!("{UNIT}EnvironmentFile=/srv/probe.env\n");
    machine.write("/etc/systemd/system/probe.service", "644", &named);
    machine.ok("systemctl daemon-reload && systemctl restart probe");
    let story = machine.ok("needless origin TZ --unit probe");
    assert!(story.contains("TZ is Europe/Athens") && story.contains("/srv/probe.env:2"), "{story}");
    let fixed = machine.ok("needless fix --unit probe --set TZ=Asia/Tokyo --yes --restart");
    assert!(fixed.contains("/srv/probe.env"), "{fixed}");
    assert_eq!(machine.ok("cat /srv/probe.env"), "# x\nTZ=Asia/Tokyo\n");
    let pid = machine.ok("systemctl show -p MainPID --value probe");
    assert_eq!(machine.stats(pid.trim()), 0);
    machine.ok("needless undo");
    assert_eq!(machine.ok("cat /srv/probe.env"), "# x\nTZ='Europe/Athens'\n");
}

const SCRIPT: &str = "#!/bin/sh
### BEGIN INIT INFO
# Provides: probed
### END INIT INFO
NAME=probed
PIDFILE=/run/probed.pid
[ -r /etc/default/probed ] && . /etc/default/probed
case $1 in
start) start-stop-daemon --start --background --make-pidfile --pidfile $PIDFILE --startas /usr/local/bin/probe -- sysv ;;
esac
";

#[test]
fn an_init_script_that_service_starts() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/init.d/probed", "755", SCRIPT);
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    machine.write("/etc/default/probed", "644", "# of probed\nTZ=Asia/Tokyo\nOPTIONS=x\n");
    // The steps of service(8) without systemd.
    let start =
        || drop(machine.ok("env -i PATH=$PATH SYSTEMCTL_SKIP_REDIRECT=1 /etc/init.d/probed start"));
    let why = ["/etc/default/probed:2", "not exported"];
    cell(&machine, "sysv", &start, &why, "/etc/default/probed");
}

#[test]
fn su_and_su_with_a_login_shell() {
    let Some(machine) = machine() else { return };
    machine.write("/etc/environment", "644", "# for all\nLANG=C.UTF-8\n");
    let start = || drop(machine.start("exec su -s /bin/sh -c '/usr/local/bin/probe su' daemon"));
    cell(&machine, "su", &start, &["su does not give it that variable"], "/etc/environment");
    let start =
        || drop(machine.start("TZ=UTC exec su - -s /bin/sh -c '/usr/local/bin/probe su-l' daemon"));
    cell(&machine, "su-l", &start, &["su - starts a new environment"], "/etc/environment");
    // profile.d reaches su - only.
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    start();
    let pid = machine.pid_of(&format!("{WORDS} su-l"), "0");
    let story = origin(&machine, &pid);
    assert!(
        story.contains("TZ is Asia/Tokyo") && story.contains("/etc/profile.d/tz.sh:1 sets it"),
        "{story}"
    );
    assert_eq!(machine.stats(&pid), 0);
}

#[test]
fn sudo_which_drops_what_it_does_not_trust() {
    if program("sudo").is_none() {
        return;
    }
    let Some(machine) = machine() else { return };
    machine.write("/etc/sudoers.d/keep", "440", "Defaults env_keep += \"TZ\"\n");
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    let dropped =
        || drop(machine.start("TZ=:/etc/localtime exec sudo -n /usr/local/bin/probe sudo"));
    let why = ["`:/etc/localtime`, never is", "/etc/pam.d/sudo has no pam_env", "TZ in env_keep"];
    dropped();
    let pid = machine.pid_of(&format!("{WORDS} sudo"), "0");
    let story = origin(&machine, &pid);
    for word in why {
        assert!(story.contains(word), "{word:?} in {story}");
    }
    assert!(machine.stats(&pid) > 50);
    machine.ok(&format!("kill {pid}"));
    let start = || drop(machine.start("exec sudo -n /usr/local/bin/probe sudo"));
    cell(
        &machine,
        "sudo",
        &start,
        &["sudo does not give it that variable"],
        "/etc/needless/sudo.env",
    );
    machine.ok("visudo -c");
}

#[test]
fn cron_which_hands_on_nothing_of_its_own() {
    if program("cron").is_none() {
        return;
    }
    let Some(machine) = machine() else { return };
    machine.ok("rm -f /etc/cron.d/* /etc/crontab");
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    // One at a time, because cron starts the job every minute. Only the probe counts, not a shell that
    // searches for it.
    let table = "# a job\n* * * * * root exec /usr/local/bin/probe cron\n";
    let once = "#!/bin/sh\n! pgrep -x -f '/usr/bin/perl /usr/local/bin/probe cron' >/dev/null && exec /usr/local/bin/probe cron\n";
    machine.write("/usr/local/bin/once", "755", once);
    machine.write(
        "/etc/cron.d/probe",
        "644",
        &table.replace("exec /usr/local/bin/probe cron", "/usr/local/bin/once"),
    );
    machine.write(
        "/etc/systemd/system/cron.service.d/tz.conf",
        "644",
        "[Service]\nEnvironment=TZ=UTC\n",
    );
    machine.ok("systemctl daemon-reload; systemctl restart cron");
    let start = || ();
    let why = [
        "cron builds a new environment for a job",
        "tz.sh:1 TZ=Asia/Tokyo does not reach it: only login shells",
    ];
    cell(&machine, "cron", &start, &why, "/etc/cron.d/probe");
}

#[test]
fn ssh_with_a_command() {
    if program("sshd").is_none() {
        return;
    }
    let Some(machine) = machine() else { return };
    machine.ok(
        "set -e; mkdir -p /run/sshd /root/.ssh; chmod 700 /root/.ssh; ssh-keygen -A >/dev/null
         rm -f /root/.ssh/t*; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/t
         cat /root/.ssh/t.pub >/root/.ssh/authorized_keys; /usr/sbin/sshd -p 2222",
    );
    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    let ssh = "exec ssh -i /root/.ssh/t -o StrictHostKeyChecking=no -p 2222 root@127.0.0.1";
    let start = || drop(machine.start(&format!("{ssh} /usr/local/bin/probe ssh")));
    cell(&machine, "ssh", &start, &["sshd does not give it that variable"], "/etc/environment");
    drop(machine.start(&format!("{ssh} bash -lc \"'/usr/local/bin/probe ssh-l'\"")));
    let pid = machine.pid_of(&format!("{WORDS} ssh-l"), "0");
    let story = origin(&machine, &pid);
    assert!(story.contains("tz.sh:1 sets it, which reaches it if a login shell"), "{story}");
}

#[test]
fn a_program_of_supervisord() {
    let Some(machine) = machine() else { return };
    if machine.has("supervisord").is_none() {
        return;
    }
    let config =
        "; two\n[program:probe]\ncommand=/usr/local/bin/probe supervised\nenvironment=A=\"1\"\n";
    machine.write("/etc/supervisor/conf.d/probe.conf", "644", config);
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    let start = || {
        // A restart by supervisorctl keeps the old environment, so supervisord itself is restarted.
        machine.run(
            "pid=$(cat /run/supervisord.pid) && kill $pid && while [ -e /proc/$pid ]; do sleep 0.1; done",
        );
        drop(machine.start(
            "TZ= exec env -u TZ /usr/bin/supervisord -n -c /etc/supervisor/supervisord.conf",
        ));
    };
    let why = ["/etc/environment:1 TZ=Asia/Tokyo does not reach it: supervisord does not read it"];
    cell(&machine, "supervised", &start, &why, "/etc/supervisor/conf.d/probe.conf");
}

#[test]
fn a_run_script_with_an_environment_directory() {
    let Some(machine) = machine() else { return };
    if machine.has("supervise").is_none() {
        return;
    }
    let run = "#!/bin/sh\nexec envdir /etc/probe.env /usr/local/bin/probe envdir\n";
    machine.write("/etc/service/probe/run", "755", run);
    machine.write("/etc/probe.env/LANG", "644", "C\n");
    // While it runs, it restarts the program itself, through the script and so with the directory.
    let supervise = "pgrep -x supervise || { mkdir /run/probe.d; cp /etc/service/probe/run /run/probe.d; exec supervise /run/probe.d; }";
    let start = || drop(machine.start(supervise));
    cell(&machine, "envdir", &start, &["to change it: envdir"], "/etc/probe.env/TZ");
}

/// PHP has its own zones and asks nothing; but programs that it runs (mail, exec) have its environment.
#[test]
fn a_worker_of_php_fpm() {
    let Some(machine) = machine() else { return };
    let Some(fpm) = machine.has("php-fpm8.2 || command -v php-fpm8.4 || command -v php-fpm8.3")
    else {
        return;
    };
    machine.ok("mkdir -p /run/php");
    let start = format!("TZ=UTC exec {fpm} -F");
    let worker = |not: &str| machine.pid_of("php-fpm: pool www *", not);
    drop(machine.start(&start));
    let pid = worker("0");
    let story = origin(&machine, &pid);
    assert!(
        story.contains("TZ is not set") && story.contains("php-fpm clears the environment"),
        "{story}"
    );
    let before = machine.etc();
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert!(
        fixed.contains("/fpm/pool.d/www.conf") && fixed.contains("+env[TZ] = \"Asia/Tokyo\""),
        "{fixed}"
    );
    machine.ok(&format!("{fpm} -t"));
    machine.run("pkill -f '[p]hp-fpm: master'; sleep 1");
    drop(machine.start(&start));
    let story = origin(&machine, &worker(&pid));
    assert!(
        story.contains("TZ is Asia/Tokyo") && story.contains("/fpm/pool.d/www.conf:"),
        "{story}"
    );
    machine.ok("needless undo");
    assert_eq!(machine.etc(), before);
}

const DROP_IN: &str = "/etc/systemd/system/probe.service.d/zz-needless.conf";

/// From the first finding to the report with nothing left.
#[test]
fn a_report_of_a_unit_is_put_right() {
    let Some(machine) = machine() else { return };
    if !observes_others() {
        return;
    }
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    machine.ok("ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime; systemctl daemon-reload; systemctl start probe");
    let before = machine.etc();
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
    }
    assert_eq!(machine.etc(), before);
    let fixed = machine.ok("needless fix /run/report.json --rule tz-unset --yes --restart");
    assert!(fixed.contains("+Environment=\"TZ=Asia/Tokyo\""), "{fixed}");
    machine.ok(report);
    let left = machine.ok("cat /run/report.json");
    assert!(!left.contains("\"rule\": \"tz-unset\""), "{left}");
    machine.ok("needless undo && systemctl restart probe");
    assert_eq!(machine.etc(), before);
    machine.ok(report);
    assert!(machine.ok("cat /run/report.json").contains("\"rule\": \"tz-unset\""));
}

/// A report that a user of the machine wrote changes neither a unit nor /etc/environment.
#[test]
fn a_strangers_report_changes_nothing() {
    let Some(machine) = machine() else { return };
    let unit =
        UNIT.replace("[Service]\n", "[Service]\nEnvironment=LD_LIBRARY_PATH=/opt/a:/opt/b\n");
    machine.write("/etc/systemd/system/probe.service", "644", &unit);
    machine.ok("systemctl daemon-reload; systemctl start probe");
    let pid = machine.ok("systemctl show -p MainPID --value probe").trim().to_owned();
    let lure = "Saves 3 opens per start; checked: the same libraries are loaded.";
    let report = |rule: &str, variable: &str, value: &str| {
        let remedy = serde_json::json!({ "kind": "set_env", "variable": variable, "value": value,
            "text": lure, "caveat": lure, "safety": "safe" });
        let process =
            serde_json::json!({ "pid": pid.parse::<u32>().unwrap(), "exe": "/usr/bin/perl" });
        let finding = serde_json::json!({ "rule": rule, "service": "probe.service", "needless": 9,
            "process": process, "exes": [], "evidence": [], "remedies": [remedy] });
        serde_json::json!({ "schema": "needless.report/1", "backend": "eBPF",
            "source": { "kind": "attach", "name": "host" }, "complete": true, "window_s": 9.0,
            "totals": { "calls": 9 }, "lost": {}, "findings": [finding] })
        .to_string()
    };
    let before = machine.etc();
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
            !printed.contains("evil") && !printed.contains(lure),
            "{rule} {variable}: {printed}"
        );
    }
    assert_eq!(machine.etc(), before);
    // Entries of a list that the report does not keep are removed; none is added.
    machine.write(
        "/run/r.json",
        "644",
        &report("library-search", "LD_LIBRARY_PATH", "/tmp/evil:/opt/b"),
    );
    let printed = machine.ok(fix);
    assert!(printed.contains("what the rule advises here is LD_LIBRARY_PATH=/opt/b"), "{printed}");
    assert!(printed.contains("+Environment=\"LD_LIBRARY_PATH=/opt/b\"\n"), "{printed}");
    assert!(printed.contains("A program that was not observed may need a library"), "{printed}");
    assert!(
        !printed.contains("+Environment=\"LD_LIBRARY_PATH=/tmp") && !printed.contains(lure),
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
    assert_eq!(machine.etc(), before);
}

/// What `fix` shows, and the list of changes, hold no secret of the files; the files do.
#[test]
fn secrets_beside_a_change_are_not_shown() {
    let Some(machine) = machine() else { return };
    let unit = "[Service]\nType=oneshot\nEnvironment=\"KEY=Zq8hunter\" TZ=UTC\nExecStart=/bin/sh -c 'true \\\n  --password Zq8hunter'\n";
    let script = "export URL=https://me:Zq8hunter@host/\nX='-----BEGIN KEY-----'\ncurl -H 'Authorization: Bearer Zq8hunter' -u me:Zq8hunter h\nexport TZ=UTC\nrun --token=Zq8hunter\n";
    let compose = "services:\n  web:\n    image: x\n    environment:\n      KEY: |\n        Zq8hunter\n      TZ: UTC\n      OTHER: >-\n        Zq8hunter\n";
    for (file, text) in [
        ("/etc/systemd/system/once.service.d/zz-needless.conf", unit),
        ("/etc/default/once", script),
        ("/etc/compose.yaml", compose),
    ] {
        machine.ok(&format!("mkdir -p $(dirname {file})"));
        machine.write(file, "644", text);
        let before = machine.etc();
        for change in [
            "--set TZ=Asia/Tokyo",
            "--unset TZ",
            "--set API_TOKEN=Zq8hunter",
            "--set DATABASE=pg://me:Zq8hunter@host",
        ] {
            let done = format!("needless fix --in {file} {change} --yes 2>&1");
            let fixed = machine.ok(&done);
            assert!(fixed.contains("@@ -") && fixed.contains(file), "{fixed}");
            assert!(!fixed.contains("hunter"), "{fixed}");
            let list = machine.ok("needless undo --list; needless undo 2>&1");
            assert!(list.contains(file) && !list.contains("hunter"), "{list}");
            assert_eq!(machine.etc(), before, "{file}");
        }
        // Who wants to see the lines asks for them.
        let diff = machine.ok(&format!("needless fix --in {file} --set TZ=Asia/Tokyo --diff"));
        assert!(diff.contains("Zq8hunter") && diff.contains("Asia/Tokyo"), "{diff}");
    }
}

#[test]
fn values_arrive_as_they_are() {
    let Some(machine) = machine() else { return };
    let once = "[Service]\nType=oneshot\nExecStart=/bin/sh -c 'env | grep ^X= >/run/out'\n";
    machine.write("/etc/systemd/system/once.service", "644", once);
    let unit = "rm -f /run/out; systemctl start once && cat /run/out";
    assert_eq!(values_arrive(&machine, "--unit once", unit), HARD.len());
    // The same unit with a file, which has precedence.
    machine.write("/etc/default/once", "644", "# of once\nX=old\n");
    machine.write(
        "/etc/systemd/system/once.service",
        "644",
        &format!("{once}EnvironmentFile=/etc/default/once\n"),
    );
    machine.ok("systemctl daemon-reload");
    assert_eq!(values_arrive(&machine, "--unit once", unit), HARD.len());
    let shell = "env -i sh -c '. /etc/profile.d/zz-needless.sh; env | grep ^X='";
    assert_eq!(values_arrive(&machine, "--in /etc/profile.d/zz-needless.sh", shell), HARD.len());
    machine.write("/etc/environment", "644", "A=1\n");
    let su = "su -s /bin/sh -c 'env | grep ^X=' daemon";
    assert!(values_arrive(&machine, "--in /etc/environment", su) >= 1);
    machine.write("/etc/user.conf", "644", "");
    let generator =
        "/usr/lib/systemd/user-environment-generators/30-systemd-environment-d-generator";
    let user = format!(
        "env -i HOME=/nonexistent {generator} | grep ^X= | sed 's/^X=\\$.\\(.*\\).$/X=\\1/'"
    );
    let plain = machine.ok(&format!(
        "needless fix --in /etc/environment.d/zz-needless.conf --set 'X=two words' --yes >/dev/null; {user}"
    ));
    assert!(plain.starts_with("X=") && plain.contains("two words"), "{plain}");
    if machine.has("envdir").is_some() {
        machine.write("/etc/wrapped", "755", "#!/bin/sh\nexec /usr/bin/env \"$@\"\n");
        let wrapped = "env -i /etc/wrapped | grep ^X=";
        assert_eq!(values_arrive(&machine, "--in /etc/wrapped", wrapped), HARD.len());
    }
}

/// Who sees a TZ that is set in the parent's shell, in /etc/profile.d, in /etc/environment: strace counts
/// every cell, and `origin` says the same.
#[test]
fn who_sees_what() {
    if program("sudo").is_none() {
        return;
    }
    let Some(machine) = machine() else { return };
    machine.write(
        "/etc/systemd/system/probe.service",
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe m-unit\n",
    );
    let service = "env -i PATH=$PATH start-stop-daemon --start --background --make-pidfile --pidfile /run/m.pid --startas /usr/local/bin/probe -- m-service";
    // How it is started, and whether it sees each value.
    let rows: [(&str, &str, [bool; 3]); 9] = [
        ("direct", "/usr/local/bin/probe m-direct", [true, false, false]),
        ("login", "bash -lc '/usr/local/bin/probe m-login'", [true, true, false]),
        ("env", "env -i /usr/local/bin/probe m-env", [false, false, false]),
        ("service", service, [false, false, false]),
        ("su", "su -s /bin/sh -c '/usr/local/bin/probe m-su' daemon", [true, false, true]),
        ("sul", "su - -s /bin/sh -c '/usr/local/bin/probe m-sul' daemon", [false, true, true]),
        ("sudo", "sudo -n /usr/local/bin/probe m-sudo", [false, false, false]),
        ("sudoi", "sudo -n -i /usr/local/bin/probe m-sudoi", [false, true, false]),
        ("unit", "systemctl restart probe", [false, false, false]),
    ];
    for (at, column) in
        ["parent", "/etc/profile.d/tz.sh", "/etc/environment"].into_iter().enumerate()
    {
        machine.ok("rm -f /etc/profile.d/tz.sh; : >/etc/environment");
        let mut parent = "";
        match at {
            0 => parent = "TZ=:/etc/localtime; export TZ; ",
            1 => machine.write(column, "644", "export TZ=:/etc/localtime\n"),
            _ => machine.write(column, "644", "TZ=:/etc/localtime\n"),
        }
        for (name, start, sees) in &rows {
            drop(machine.start(&format!("{parent}{start}")));
            let pid = machine.pid_of(&format!("{WORDS} m-{name}"), "0");
            let stats = machine.stats(&pid);
            assert_eq!(stats == 0, sees[at], "{name}, TZ in {column}: {stats} stats");
            let story = origin(&machine, &pid);
            let expected =
                if sees[at] { "TZ is :/etc/localtime in perl[" } else { "TZ is not set in perl[" };
            assert!(story.starts_with(expected), "{name}, TZ in {column}: {story}");
            // `origin` names the file, and whether it reaches the process.
            assert_eq!(at > 0, story.contains(&format!("{column}:1")), "{name}: {story}");
            machine.run(&format!(
                "systemctl stop probe; kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.1; done"
            ));
        }
    }
}
