//! Programs of service managers whose places are easily missed: transient units of systemd, execline's run scripts of
//! s6, /etc/rc.conf of OpenRC. With the real ones.

use crate::cell::*;
use crate::common::*;
use crate::machine::Machine;

fn machine(debs: &str) -> Option<Machine> {
    program("perl")?;
    program("strace")?;
    Machine::boot_with(&[("probe", PROBE)], debs)
}

/// A drop-in would stay behind when such a unit has ended: none is made.
#[test]
fn a_transient_unit() {
    let Some(machine) = machine("debs-launchers") else { return };
    let start = |name: &str, more: &str| {
        machine.ok(&format!("systemd-run --unit={name} {more} /usr/local/bin/probe {name}"));
        machine.pid_of(&format!("{WORDS} {name}"), "0")
    };
    let before = machine.etc();
    let pid = start("brief", "-E TZ=Europe/Rome");
    let story = origin(&machine, &pid);
    assert!(story.starts_with("TZ is Europe/Rome in perl["), "{story}");
    for part in ["/run/systemd/transient/brief.service:", "brief.service is transient", "sure low"]
    {
        assert!(story.contains(part), "{part:?} in {story}");
    }
    for subject in [format!("--pid {pid}"), "--unit brief".to_owned()] {
        let done = machine.run(&format!("needless fix {subject} --set TZ={ZONE} --yes --restart"));
        assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
        assert!(stderr(&done).contains("(--setenv=TZ=…)"), "{}", stderr(&done));
    }
    same(&before, &machine.etc(), "a transient unit");
    // As it says.
    let pid = start("again", &format!("--setenv=TZ={ZONE}"));
    assert_eq!(machine.stats(&pid), 0);
}

#[test]
fn a_run_script_of_execline() {
    let Some(machine) = machine("debs-launchers") else { return };
    if machine.has("s6-svscan").is_none() || machine.has("execlineb").is_none() {
        return;
    }
    let shebang = format!("#!{} -P", machine.has("execlineb").unwrap());
    let run = |name: &str| format!("/run/s6/{name}/run");
    let chain =
        format!("{shebang}\n# of chain\nfdmove -c 2 1\nexport A 1\n/usr/local/bin/probe chain\n");
    machine.write(&run("chain"), "755", &chain);
    let dir = format!("{shebang}\ns6-envdir /etc/six\n/usr/local/bin/probe dir\n");
    machine.write(&run("dir"), "755", &dir);
    machine.write("/etc/six/LANG", "644", "C\n");
    let value = format!("{shebang}\nredirfd -w 1 /run/value\nenv\n");
    machine.write("/run/value/run", "755", &value);
    drop(machine.start("exec s6-svscan /run/s6"));
    for (name, place) in [("chain", run("chain")), ("dir", "/etc/six/TZ".to_owned())] {
        let find = |not: &str| machine.pid_of(&format!("{WORDS} {name}"), not);
        let pid = find("0");
        assert!(machine.stats(&pid) > 50, "{name}: no storm");
        let story = origin(&machine, &pid);
        let why = "a supervisor of run scripts does not give it that variable";
        assert!(story.contains(why) && story.contains(&place), "{story}");
        let fixed =
            machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes --restart"));
        assert!(fixed.contains(&place), "{fixed}");
        assert!(fixed.contains(&format!("restarted: s6-svc -r /run/s6/{name}\n")), "{fixed}");
        let fresh = find(&pid);
        assert!(fixed.contains(&format!("in force: TZ={ZONE} in perl[{fresh}]\n")), "{fixed}");
        assert_eq!(machine.stats(&fresh), 0, "{name}: the storm is still there");
        let story = origin(&machine, &fresh);
        assert!(story.starts_with(&format!("TZ is {ZONE} in perl[")), "{story}");
        assert!(story.contains(&format!("{place}:")), "{story}");
        let said = machine.ok("needless undo");
        assert!(
            said.contains(&format!("perl[{fresh}] still has TZ={ZONE}: `s6-svc -r ")),
            "{said}"
        );
    }
    assert_eq!(machine.ok(&format!("cat {}", run("chain"))), chain);
    // execlineb reads the values that were written.
    let read = "/run/value/run && grep ^X= /run/value.txt";
    machine.write("/run/value/run", "755", &value.replace("/run/value", "/run/value.txt"));
    let written = values_arrive(&machine, "--in /run/value/run", read);
    assert_eq!(written, HARD.len());
}

/// runit's: a program that the directory reaches, one that removes the variable itself, one that dies of it.
#[test]
fn a_run_script_of_runit() {
    let Some(machine) = machine("debs-launchers") else { return };
    if machine.has("runsvdir").is_none() {
        return;
    }
    machine.write("/etc/probe.env/LANG", "644", "C\n");
    let hides = "#!/usr/bin/perl\ndelete $ENV{TZ};\nexec '/usr/local/bin/probe', 'hides';\n";
    machine.write("/usr/local/bin/hides", "755", hides);
    let dies = "#!/usr/bin/perl\nexit 3 if $ENV{TZ};\nexec '/usr/local/bin/probe', 'dies';\n";
    machine.write("/usr/local/bin/dies", "755", dies);
    for (name, program) in [("plain", "probe plain"), ("hides", "hides"), ("dies", "dies")] {
        let run = format!("#!/bin/sh\nexec chpst -e /etc/probe.env /usr/local/bin/{program}\n");
        machine.write(&format!("/run/sv/{name}/run"), "755", &run);
    }
    drop(machine.start("exec runsvdir /run/sv"));
    for name in ["plain", "hides", "dies"] {
        let find = |not: &str| machine.pid_of(&format!("{WORDS} {name}"), not);
        let pid = find("0");
        let before = machine.etc();
        let done =
            machine.run(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes --restart"));
        let said = format!("{}{}", stdout(&done), stderr(&done));
        if name == "plain" {
            assert!(done.status.success(), "{said}");
            let fresh = find(&pid);
            assert!(said.contains("restarted: sv restart /run/sv/plain\n"), "{said}");
            assert!(said.contains(&format!("in force: TZ={ZONE} in perl[{fresh}]")), "{said}");
            machine.ok("needless undo; sv restart /run/sv/plain");
        } else {
            assert_eq!(done.status.code(), Some(2), "{name}: {said}");
            assert!(said.contains("taken back, and restarted once more"), "{name}: {said}");
            find(&pid);
        }
        same(&before, &machine.etc(), name);
    }
}

/// What /etc/rc.conf exports reaches every service; /etc/conf.d/NAME is narrower, and stronger.
#[test]
fn openrc_and_its_rc_conf() {
    const SERVICE: &str = "#!/sbin/openrc-run
command=/usr/bin/perl
command_args=\"/usr/local/bin/probe openrc\"
command_background=true
pidfile=/run/probed.pid
";
    let Some(machine) = machine("debs-openrc") else { return };
    if machine.has("openrc-run").is_none() {
        return;
    }
    machine.write("/etc/init.d/probed", "755", SERVICE);
    // The directories that OpenRC makes when it boots a machine.
    machine.ok("mkdir -p /etc/conf.d /run/openrc; cd /run/openrc
        mkdir -p daemons exclusive failed hotplugged inactive init.d options scheduled started \
            starting stopping tmp wasinactive; touch softlevel");
    machine.write("/etc/rc.conf", "644", "rc_sys=\"\"\n# zones\nexport TZ=\"Europe/Rome\"\n");
    let start = |not: &str| {
        machine.ok("rc-service probed zap; rc-service probed start");
        machine.pid_of(&format!("{WORDS} openrc"), not)
    };
    let pid = start("0");
    let story = origin(&machine, &pid);
    assert!(story.starts_with("TZ is Europe/Rome in perl["), "{story}");
    assert!(story.contains("/etc/rc.conf:3 sets it"), "{story}");
    assert!(story.contains("to change it: init script, /etc/conf.d/probed"), "{story}");
    let before = machine.etc();
    let stop = |pid: &str| {
        drop(machine.ok(&format!("kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.1; done")))
    };
    let zone = |pid: &str| machine.ok(&format!("tr '\\0' '\\n' </proc/{pid}/environ | grep ^TZ="));
    for place in [format!("--pid {pid}"), "--in /etc/rc.conf".to_owned()] {
        machine.ok(&format!("needless fix {place} --set TZ={ZONE} --yes"));
        stop(&machine.pid_of(&format!("{WORDS} openrc"), "0"));
        let fresh = start(&pid);
        assert_eq!(zone(&fresh), format!("TZ={ZONE}\n"), "{place}");
        machine.ok("needless undo");
        same(&before, &machine.etc(), &place);
    }
    // The first call writes, the second restarts what the first did not.
    stop(&machine.pid_of(&format!("{WORDS} openrc"), "0"));
    let pid = start("0");
    let fix = format!("needless fix --pid {pid} --set TZ={ZONE} --yes");
    let looks = "not looked at: `needless origin TZ PID` looks at a process\n";
    let said = machine.ok(&fix);
    assert!(said.ends_with(&format!("written, {looks}")), "{said}");
    let said = machine.ok(&format!("{fix} --restart"));
    assert!(said.contains("already so: ") && !said.contains("done: change"), "{said}");
    assert!(said.ends_with(&format!("restarted: rc-service probed restart\n{looks}")), "{said}");
    let fresh = machine.pid_of(&format!("{WORDS} openrc"), &pid);
    assert_eq!(zone(&fresh), format!("TZ={ZONE}\n"));
}
