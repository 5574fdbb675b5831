//! What `fix`, `fix --check` and `undo` do with changes whose trial was cut short, with units that do not run, and with
//! names that are not those of one service. With the real systemd.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;

/// The change that `fix` makes, killed while systemd restarts the unit: the new process has it, and no run has looked.
fn killed_on_trial(machine: &Machine) -> String {
    let old = start_unit(machine, &format!("{SERVICE}ExecStartPre=/bin/sleep 2\n"));
    machine.ok(&format!(
        "needless fix --unit probe --set TZ={ZONE} {YES} --restart >/run/out 2>&1 & p=$!
         until ls /var/lib/needless/journal/*/on-trial >/dev/null 2>&1; do sleep 0.05; done
         until [ \"$(systemctl show -p SubState --value probe)\" = start-pre ]; do sleep 0.05; done
         kill -9 $p"
    ));
    let fresh = machine.pid_of(&format!("{WORDS} unit"), &old);
    assert_eq!(machine.zone(&fresh).as_deref(), Some(ZONE));
    fresh
}

#[test]
fn undo_restarts_a_unit_whose_trial_was_killed() {
    let Some(machine) = machine("") else { return };
    machine.ok("rm -rf /var/lib/needless");
    let before = files(&machine);
    let fresh = killed_on_trial(&machine);
    // A look at a change that does not exist does nothing about it.
    let said = machine.all("needless fix --check 4294967295");
    assert_eq!(
        said,
        "needless: there is no change 4294967295: `needless undo --list` lists the changes\nrc 2"
    );
    machine.ok("ls /var/lib/needless/journal/*/on-trial");
    let said = machine.all("needless undo");
    assert!(said.starts_with("taken back: change 1, "), "{said}");
    // The restart takes two seconds, and is announced.
    let ends = [
        "restarted: systemctl restart probe.service\n",
        "running `systemctl restart probe.service` …\nrc 0",
    ];
    assert!(said.contains(ends[0]) && said.ends_with(ends[1]), "{said}");
    let last = machine.pid_of(&format!("{WORDS} unit"), &fresh);
    assert_eq!(machine.zone(&last), None);
    machine.ok("rm /etc/systemd/system/probe.service");
    same(&before, &files(&machine), "undo");
}

/// Somebody stopped the unit after the run was killed: it stays stopped, and its next start has the old value.
#[test]
fn undo_starts_no_unit_that_was_stopped() {
    let Some(machine) = machine("") else { return };
    machine.ok("rm -rf /var/lib/needless");
    killed_on_trial(&machine);
    machine.ok("systemctl stop probe");
    let said = machine.all("needless undo");
    let last = "\nprobe.service was stopped, and is not started: its next start has what the files say now\nrc 0";
    assert!(said.starts_with("taken back: change 1, ") && said.ends_with(last), "{said}");
    assert_eq!(machine.all("systemctl is-active probe"), "inactive\nrc 3");
    machine.ok("systemctl start probe");
    let pid = machine.pid_of(&format!("{WORDS} unit"), "0");
    assert_eq!(machine.zone(&pid), None);
    machine.ok("! ls /var/lib/needless/journal/*/on-trial");
}

/// A run that was killed between the file and systemd: the next one has systemd read the file, once.
#[test]
fn next_run_reloads_systemd_after_a_kill() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.ok(&format!("needless fix --unit probe --set TZ={ZONE} {YES}"));
    let stale = || machine.ok("systemctl show -p NeedDaemonReload --value probe").trim() == "yes";
    let last = "$(ls -d /var/lib/needless/journal/[0-9]* | sort -V | tail -n 1)";
    // systemd compares times, whose granularity is a tick of the kernel: each is later than the one before.
    let minute = std::cell::Cell::new(0);
    let touch = || {
        minute.set(minute.get() + 1);
        let unit = "/etc/systemd/system/probe.service";
        machine.ok(&format!("touch -d '{} minutes' {unit}", minute.get()));
    };
    for marker in ["announced", "announced-undone"] {
        assert!(!stale());
        // As it would be: systemd has not looked since the file was written.
        machine.ok(&format!("rm {last}/{marker}"));
        touch();
        assert!(stale());
        machine.run("needless undo 4294967295");
        assert!(!stale());
        touch();
        machine.run("needless undo 4294967295");
        assert!(stale(), "only once");
        machine.ok("systemctl daemon-reload");
        if marker == "announced" {
            machine.ok("needless undo --last");
        }
    }
}

/// `undo` restores files; a process that still has the value is named.
#[test]
fn undo_names_the_process_that_keeps_the_value() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.ok(&format!("needless fix --unit probe --set TZ={ZONE} {YES} --restart"));
    let pid = machine.main_of("probe");
    let keeps = format!(
        "probe[{pid}] (probe.service) still has TZ={ZONE}: `systemctl restart probe.service` gives it what the files say now\n"
    );
    let said = machine.ok("needless undo");
    assert!(said.ends_with(&keeps), "{said}");
    // It never got it.
    machine
        .ok(&format!("systemctl restart probe; needless fix --unit probe --set TZ={ZONE} {YES}"));
    let said = machine.ok("needless undo");
    assert!(said.starts_with("taken back: ") && said.lines().count() == 1, "{said}");
    machine.ok("needless fix --in /etc/environment --set TZ=UTC --yes --times-change");
    let said = machine.ok("needless undo");
    assert!(
        said.ends_with("processes that run keep the value until they are restarted\n"),
        "{said}"
    );
}

#[test]
fn fix_says_that_there_is_nothing_to_restart() {
    let Some(machine) = machine("") else { return };
    let said = machine
        .ok("needless fix --in /etc/environment --set TZ=UTC --yes --times-change --restart");
    let last = "nothing to restart: no program is known that reads it again; `needless origin TZ PID` looks at a process\n";
    assert!(said.ends_with(last), "{said}");
    let said =
        machine.ok("needless fix --in $(readlink -m /etc/default/locale) --set LANG=C.UTF-8 --yes");
    assert!(
        said.ends_with("written, not looked at: `needless origin LANG PID` looks at a process\n"),
        "{said}"
    );
}

/// Names that are not those of one service, and why not.
const NO_SERVICES: [(&str, &str); 8] = [
    ("prob*", "\"prob*\" is a pattern: name one unit (`systemctl list-units 'prob*'` lists them)"),
    ("[p]robe.service", "is a pattern"),
    ("prob?", "is a pattern"),
    (
        "probe.timer",
        "probe.timer runs no program that gets variables: name the service that it starts",
    ),
    ("p.socket", "p.socket runs no program that gets variables: name the service that it starts"),
    ("tmp.mount", "tmp.mount runs no program that gets variables: name a service"),
    ("system.slice", "system.slice runs no program that gets variables: name a service"),
    ("multi-user.target", "multi-user.target runs no program that gets variables: name a service"),
];

/// Patterns and units of other kinds: one line, and nothing is written.
#[test]
fn fix_refuses_names_that_are_not_those_of_one_service() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.write("/etc/systemd/system/probe.timer", "644", "[Timer]\nOnCalendar=daily\n");
    machine.write(
        "/etc/systemd/system/p.socket",
        "644",
        "[Socket]\nListenStream=/run/p\nAccept=yes\n",
    );
    machine.write(
        "/etc/systemd/system/p@.service",
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe sock\nStandardInput=socket\n",
    );
    machine.ok("systemctl daemon-reload; systemctl start p.socket");
    let before = files(&machine);
    for (name, why) in NO_SERVICES {
        for option in ["--unit", "--user-unit"] {
            let said = machine
                .all(&format!("needless fix {option} '{name}' --set TZ={ZONE} {YES} --restart"));
            assert!(said.starts_with("needless: ") && said.contains(why), "{name}: {said}");
            assert!(said.ends_with("\nrc 2") && said.lines().count() == 2, "{name}: {said}");
        }
    }
    same(&before, &files(&machine), "names");
    // Each connection has an instance of its own: the next one gets it, whatever its name is.
    drop(machine.start(
        "exec perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(\"/run/p\"); sleep 999'",
    ));
    let pid = machine.pid_of(&format!("{WORDS} sock"), "0");
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES} --restart"));
    for part in [
        "/etc/systemd/system/p@.service.d/zz-needless.conf",
        "caveat   Each connection starts an instance",
        "nothing to restart: ",
    ] {
        assert!(fixed.contains(part), "{part}: {fixed}");
    }
    drop(machine.start(
        "exec perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(\"/run/p\"); sleep 998'",
    ));
    let fresh = machine.pid_of(&format!("{WORDS} sock"), &pid);
    assert_eq!(machine.zone(&fresh).as_deref(), Some(ZONE));
    machine.ok("needless undo");
    same(&before, &files(&machine), "a connection");
}

/// `--restart` does not start what was stopped.
#[test]
fn fix_starts_no_unit_that_does_not_run() {
    let Some(machine) = machine("") else { return };
    let script = "#!/bin/sh\necho $TZ >>/run/ran\n";
    machine.write("/usr/local/bin/once", "755", script);
    machine.write(
        "/etc/systemd/system/once.service",
        "644",
        "[Service]\nType=oneshot\nExecStart=/usr/local/bin/once\n",
    );
    start_unit(&machine, SERVICE);
    machine.ok("systemctl stop probe; systemctl start once");
    let fix = |name: &str| {
        machine.ok(&format!("needless fix --unit {name} --set TZ={ZONE} {YES} --restart"))
    };
    for name in ["probe", "once"] {
        for again in [false, true] {
            let said = fix(name);
            let last = said.lines().last().unwrap_or_default();
            assert!(last.contains(&format!("{name}.service does not run")), "{said}");
            assert!(last.contains("not started: the next start has it"), "{said}");
            assert_eq!(again, !said.contains("written: change"), "{said}");
            assert_eq!(stdout(&machine.run(&format!("systemctl is-active {name}"))), "inactive\n");
        }
    }
    assert_eq!(machine.ok("cat /run/ran"), "\n");
    machine.ok("systemctl start probe once");
    assert_eq!(machine.ok("cat /run/ran"), format!("\n{ZONE}\n"));
    machine.ok("needless undo; needless undo");
    // One that stays up after its command has ended is run again, and that is said before.
    machine.write(
        "/etc/systemd/system/once.service",
        "644",
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/local/bin/once\n",
    );
    machine.ok("systemctl daemon-reload; systemctl restart once; rm /run/ran");
    let said = machine.all(&format!("needless fix --unit once --set TZ={ZONE} {YES} --restart"));
    assert!(said.contains("caveat   Restarting once.service runs its command once more"), "{said}");
    assert_eq!(machine.ok("cat /run/ran"), format!("{ZONE}\n"));
}

/// What may be a secret does not go unnoticed into a file that everybody may read.
#[test]
fn fix_warns_of_a_secret_in_a_file_that_all_can_read() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    let said = machine.ok("needless fix --unit probe --set API_TOKEN=abc --yes");
    let caveat = format!("caveat   Every user can read {DROP_IN}");
    assert!(said.contains(&caveat), "{said}");
    machine.ok("needless undo");
    let said = machine.ok(&format!("needless fix --unit probe --set TZ={ZONE} {YES}"));
    assert!(!said.contains("can read"), "{said}");
    machine.ok("needless undo");
    machine.write("/etc/probe.env", "600", "API_TOKEN=x\n");
    start_unit(&machine, &format!("{SERVICE}EnvironmentFile=/etc/probe.env\n"));
    let said = machine.ok("needless fix --unit probe --set API_TOKEN=abc --yes");
    assert!(said.contains("/etc/probe.env") && !said.contains("can read"), "{said}");
    machine.ok("needless undo; chmod 644 /etc/probe.env");
    for closed in [false, true] {
        machine.ok(if closed {
            "chmod 700 /etc/closed"
        } else {
            "mkdir /etc/closed; cp /etc/probe.env /etc/closed"
        });
        start_unit(&machine, &format!("{SERVICE}EnvironmentFile=/etc/closed/probe.env\n"));
        let said = machine.ok("needless fix --unit probe --set API_TOKEN=abc --yes; needless undo");
        assert_eq!(said.contains("Every user can read /etc/closed/probe.env"), !closed, "{said}");
    }
}

/// A drop-in that somebody changes while the unit is restarted is left alone, and the reason to take it back is said.
#[test]
fn fix_leaves_a_drop_in_that_was_changed_meanwhile() {
    let Some(machine) = machine("") else { return };
    let meddles = format!(
        "#!/bin/sh\n[ -z \"$TZ\" ] && exec /usr/local/bin/probe unit\necho '# mine' >>{DROP_IN}\nexit 3\n"
    );
    machine.write("/usr/local/bin/meddles", "755", &meddles);
    start_unit(&machine, "[Service]\nExecStart=/usr/local/bin/meddles\n");
    let said = machine.all(&format!("needless fix --unit probe --set TZ={ZONE} {YES} --restart"));
    for part in [
        "probe.service does not run with it; not taken back: ",
        "zz-needless.conf: it has changed since",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        said.ends_with("needless: probe.service IS DOWN: `systemctl status probe.service`\nrc 3")
    );
    assert!(machine.ok(&format!("cat {DROP_IN}")).ends_with("# mine\n"));
    // Said once: what follows does not look again.
    let said = machine.all("needless fix --in /etc/environment --set TZ=UTC --yes --times-change");
    assert!(said.starts_with("TZ=UTC in /etc/environment") && said.ends_with("rc 0"), "{said}");
    // Killed before it could say that: the next run does.
    machine.ok(&format!("rm {DROP_IN}; cd /var/lib/needless/journal; touch $(ls | sort -n | tail -n 2 | head -n 1)/on-trial"));
    let said =
        machine.all("needless fix --in /etc/environment --set TZ=Asia/Seoul --yes --times-change");
    assert!(said.contains("probe.service does not run with it; not taken back: "), "{said}");
    let said = machine.all("needless fix --in /etc/environment --set TZ=UTC --yes --times-change");
    assert!(said.starts_with("TZ=UTC in /etc/environment"), "{said}");
}

/// `undo --forget` begins with what a killed run left, as every command does that may write, also where it then has
/// nothing to forget; `--list` only says so.
#[test]
fn forget_finishes_what_a_killed_run_left() {
    let Some(machine) = machine("") else { return };
    machine.ok("rm -rf /var/lib/needless");
    start_unit(&machine, SERVICE);
    let fix = format!("needless fix --unit probe --set TZ={ZONE} {YES}");
    machine.ok(&fix);
    // As if it had been killed before the file was there.
    let before = machine
        .ok(&format!("rm /var/lib/needless/journal/1/applied {DROP_IN}; ls -R /var/lib/needless"));
    let said = machine.all("needless undo --list");
    assert!(
        said.starts_with("   1  begun ") && said.contains("change 1 is not finished: "),
        "{said}"
    );
    assert_eq!(machine.ok("ls -R /var/lib/needless"), before, "--list writes nothing");
    let said = machine.all("needless undo --forget 99");
    assert!(said.contains("change 1 (TZ=Asia/Tokyo in ") && said.contains("rolled back"), "{said}");
    assert!(said.contains("there is no change 99") && said.ends_with("rc 2"), "{said}");
    let said = machine.all("needless undo --list");
    assert!(said.starts_with("   1  rolled back ") && !said.contains("not finished"), "{said}");
    assert_eq!(machine.ok("systemctl show -p NeedDaemonReload --value probe"), "no\n");
    // Its trial is another's business, but not that of the one that is to be forgotten.
    machine.ok(&format!("{fix}; touch /var/lib/needless/journal/2/on-trial"));
    let said = machine.all("needless undo --forget 2");
    assert!(said.starts_with("forgotten: change 2, ") && said.ends_with("rc 0"), "{said}");
    machine.ok(&format!("grep -q TZ={ZONE} {DROP_IN}"));
}

/// systemd reads no files again where it has no room in /run: then nothing is restarted, and no change stays.
#[test]
fn fix_leaves_nothing_where_systemd_has_no_room() {
    let Some(machine) = machine("") else { return };
    let pid = start_unit(&machine, SERVICE);
    let before = files(&machine);
    machine.ok(
        "mount -o remount,size=8m /run; dd if=/dev/zero of=/run/full bs=64k 2>/dev/null || true",
    );
    let fix = format!("needless fix --unit probe --set TZ={ZONE} {YES} --restart");
    let said = machine.all(&fix);
    assert!(said.contains("not enough space available on /run"), "{said}");
    let ends = "nothing was restarted, and the change is taken back: repair that, then run this again\nrc 2";
    assert!(said.ends_with(ends), "{said}");
    same(&before, &files(&machine), "taken back");
    assert_eq!((&*machine.main_of("probe"), machine.zone(&pid)), (&*pid, None));
    machine.ok("rm /run/full; mount -o remount,size=100m /run");
    let state =
        machine.ok("needless undo --list; systemctl show -p NeedDaemonReload --value probe");
    assert!(state.contains("  undone ") && state.ends_with("no\n"), "{state}");
    machine.ok(&fix);
    assert_eq!(machine.zone(&machine.main_of("probe")).as_deref(), Some(ZONE));
}
