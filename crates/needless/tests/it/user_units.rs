//! Units of a user's own systemd, changed by that user, without root.

use crate::cell::*;
use crate::common::*;
use crate::machine::Machine;
use std::process::Output;

const HOME: &str = "/home/bob";
const UNITS: &str = "/home/bob/.config/systemd/user";

/// A machine on which the systemd of the user bob runs.
fn machine_of_bob() -> Option<Machine> {
    program("perl")?;
    program("strace")?;
    let machine = Machine::boot_with(&[("probe", PROBE)], "debs-launchers")?;
    machine.has("dbus-daemon")?;
    machine.has("loginctl")?;
    machine.ok("set -e; id messagebus 2>/dev/null || useradd -r messagebus
         useradd --create-home --uid 4242 --shell /bin/bash bob
         systemctl daemon-reload; systemctl start dbus.socket; loginctl enable-linger bob");
    let up = crate::machine::wait(|| {
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

/// Without line ends.
fn plain(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// All files of bob's configuration.
fn files(machine: &Machine) -> String {
    machine.ok(&format!("cd {HOME} && find .config -printf '%p %m %u ' -type f -exec sha256sum {{}} \\; -o -printf '\\n' | sort"))
}

fn unit(machine: &Machine, exec: &str) -> String {
    let text = format!("[Service]\nExecStart={exec}\n");
    machine.write(&format!("{UNITS}/probe.service"), "644", &text);
    machine.ok(&format!("chown -R bob:bob {HOME}/.config"));
    bob_ok(machine, "systemctl --user daemon-reload && systemctl --user restart probe");
    machine.pid_of(&format!("{WORDS} mine"), "0")
}

#[test]
fn a_user_changes_a_unit_of_their_own() {
    let Some(machine) = machine_of_bob() else { return };
    let pid = unit(&machine, "/usr/local/bin/probe mine");
    assert!(machine.stats(&pid) > 50);
    let (before, etc) = (files(&machine), machine.etc());
    let fix = format!("needless fix --user-unit probe --set TZ={ZONE} --yes --restart");
    let said = bob_ok(&machine, &fix);
    let drop_in = format!("{UNITS}/probe.service.d/zz-needless.conf");
    for part in [
        &*drop_in,
        "restarted: systemctl --user restart probe.service\n",
        &format!("in force: TZ={ZONE} in perl["),
        "calls not counted: to observe what runs already needs CAP_BPF",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(machine.ok(&format!("stat -c %U {drop_in}")), "bob\n");
    machine.ok(&format!("test -d {HOME}/.local/state/needless/journal/1"));
    let fresh = machine.pid_of(&format!("{WORDS} mine"), &pid);
    assert_eq!(machine.stats(&fresh), 0);
    let asked = "needless origin TZ --user-unit probe";
    let story = plain(&bob_ok(&machine, asked));
    assert!(story.starts_with(&format!("TZ is {ZONE} in perl[{fresh}]: {drop_in}:")), "{story}");
    assert!(bob_ok(&machine, "needless fix --check 1").starts_with("in force: "));
    assert!(bob_ok(&machine, "needless undo").contains("taken back: change 1"));
    assert_eq!(bob_ok(&machine, "systemctl --user show -p Environment --value probe"), "\n");
    assert_eq!(files(&machine), before);
    // By its process, and by one who came without a session of their own.
    bob_ok(&machine, "systemctl --user restart probe");
    let pid = machine.pid_of(&format!("{WORDS} mine"), &fresh);
    let bare = "env -u XDG_RUNTIME_DIR needless fix";
    let said = bob_ok(&machine, &format!("{bare} --pid {pid} --set TZ={ZONE} --yes --restart"));
    assert!(said.contains(&drop_in) && said.contains("in force: "), "{said}");
    bob_ok(&machine, "needless undo");
    // One that does not run.
    bob_ok(&machine, "systemctl --user stop probe");
    let said = bob_ok(&machine, &format!("needless fix --user-unit probe --set TZ={ZONE} --yes"));
    assert!(said.contains(&drop_in) && said.contains("probe.service does not run"), "{said}");
    let story = plain(&bob_ok(&machine, asked));
    let says =
        format!("probe.service does not run; it would start with TZ={ZONE}, from {drop_in}:");
    assert!(story.starts_with(&says), "{story}");
    bob_ok(&machine, "needless undo");
    assert_eq!(files(&machine), before);
    for command in ["fix --user-unit nosuch --set A=1 --yes", "origin TZ --user-unit nosuch"] {
        let done = bob(&machine, &format!("needless {command}"));
        assert!(stderr(&done).contains("there is no unit nosuch.service"), "{}", stderr(&done));
    }
    // What starts a container gives it nothing of its own: a drop-in would reach podman only.
    let boxed = "[Service]\nExecStart=/usr/bin/podman run --rm image\n";
    machine.write(&format!("{UNITS}/boxed.service"), "644", boxed);
    bob_ok(&machine, "systemctl --user daemon-reload");
    let done = bob(&machine, &format!("needless fix --user-unit boxed --set TZ={ZONE} --yes"));
    let says = "boxed.service:2 starts a container, which gets only what is said there";
    assert!(stderr(&done).contains(says), "{}", stderr(&done));
    assert_eq!(machine.etc(), etc, "nothing of the system has changed");
}

/// A program of the unit starts the daemon, so the place is not certain: the look decides.
#[test]
fn a_users_unit_that_forks() {
    let Some(machine) = machine_of_bob() else { return };
    let forks = "#!/bin/sh\n/usr/local/bin/probe mine &\necho $! >$XDG_RUNTIME_DIR/probe.pid\n";
    machine.write("/usr/local/bin/forks", "755", forks);
    let pid = unit(&machine, "/usr/local/bin/forks\nType=forking\nPIDFile=%t/probe.pid");
    assert!(machine.stats(&pid) > 50);
    let before = files(&machine);
    let fix = format!("needless fix --user-unit probe --set TZ={ZONE} --yes");
    let done = bob(&machine, &fix);
    let says = "another program in that unit started it";
    assert!(stderr(&done).contains(says) && !stdout(&done).contains("done:"), "{}", stderr(&done));
    assert_eq!(files(&machine), before);
    let said = bob_ok(&machine, &format!("{fix} --restart"));
    assert!(said.contains(&format!("in force: TZ={ZONE} in perl[")), "{said}");
    let fresh = machine.pid_of(&format!("{WORDS} mine"), &pid);
    assert_eq!(machine.stats(&fresh), 0);
    bob_ok(&machine, "needless undo");
    assert_eq!(files(&machine), before);
}

#[test]
fn a_change_that_a_users_unit_does_not_get_is_taken_back() {
    let Some(machine) = machine_of_bob() else { return };
    let hides = "#!/usr/bin/perl\ndelete $ENV{TZ};\nexec '/usr/local/bin/probe', 'mine';\n";
    machine.write("/usr/local/bin/hides", "755", hides);
    unit(&machine, "/usr/local/bin/hides");
    let before = files(&machine);
    let fix = format!("needless fix --user-unit probe --set TZ={ZONE} --yes --restart");
    let done = bob(&machine, &fix);
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("does not have it: "), "{}", stderr(&done));
    assert!(stderr(&done).contains("taken back, and restarted once more"), "{}", stderr(&done));
    assert_eq!(files(&machine), before);
    assert_eq!(bob_ok(&machine, "systemctl --user show -p Environment --value probe"), "\n");
}

/// The restart that takes the change back fails, too: the message names the command for the user's systemd.
#[test]
fn a_users_unit_that_stays_down_is_named() {
    let Some(machine) = machine_of_bob() else { return };
    machine.write(
        "/usr/local/bin/sulks",
        "755",
        "#!/bin/sh\n[ -z \"$TZ\" ] && [ ! -e /run/user/4242/hurt ] && exit\ntouch /run/user/4242/hurt\nexit 3\n",
    );
    unit(&machine, "/usr/local/bin/probe mine\nExecStartPre=/usr/local/bin/sulks");
    let before = files(&machine);
    let done =
        bob(&machine, &format!("needless fix --user-unit probe --set TZ={ZONE} --yes --restart"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    for part in [
        "the restart failed: ",
        "; taken back, but ",
        "look at `systemctl --user status probe.service`, then start it",
    ] {
        assert!(stderr(&done).contains(part), "{part}: {}", stderr(&done));
    }
    assert_eq!(files(&machine), before);
}

/// What its command does is read before: no place is called sure that the command overrules.
#[test]
fn the_command_of_a_users_unit_is_read() {
    let Some(machine) = machine_of_bob() else { return };
    let wrap = "#!/bin/sh\nunset TZ\nexec /usr/local/bin/probe mine\n";
    machine.write(&format!("{HOME}/wrap"), "755", wrap);
    machine.ok(&format!("chown bob:bob {HOME}/wrap"));
    let fix = format!("needless fix --user-unit probe --set TZ={ZONE} --yes --restart");
    let by_hand = "probe.service:2 removes it (`env -u`), after systemd: change it there by hand";
    for runs in [true, false] {
        unit(&machine, "/usr/bin/env -u TZ /usr/local/bin/probe mine");
        if !runs {
            bob_ok(&machine, "systemctl --user stop probe");
        }
        let before = files(&machine);
        let done = bob(&machine, &fix);
        assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
        assert!(stderr(&done).contains(by_hand), "{}", stderr(&done));
        assert_eq!(files(&machine), before);
    }
    let pid = unit(&machine, &format!("{HOME}/wrap"));
    let story = bob_ok(&machine, &format!("needless origin TZ {pid}"));
    assert!(story.contains(&format!("to change it: wrapper script, {HOME}/wrap")), "{story}");
    let said = bob_ok(&machine, &fix);
    assert!(said.contains(&format!("place    wrapper script, {HOME}/wrap")), "{said}");
    assert!(said.contains("in force: "), "{said}");
    bob_ok(&machine, "needless undo");
    assert_eq!(machine.ok(&format!("cat {HOME}/wrap")), wrap);
    // Another program of the unit started it, and became it: not sure, and tried.
    let pid = unit(&machine, "/usr/bin/perl -e 'exec \"/usr/local/bin/probe\", \"mine\"'");
    let story = bob_ok(&machine, &format!("needless origin TZ {pid}"));
    assert!(story.contains("sure  medium"), "{story}");
}

/// A unit that a command made has no file: what its systemd gives to all units is the place.
#[test]
fn a_transient_unit_has_the_variables_of_the_users_systemd() {
    let Some(machine) = machine_of_bob() else { return };
    let start = "systemd-run --user --quiet --unit=job /usr/local/bin/probe job";
    machine.ok(&format!("mkdir {HOME}/.config; chown bob {HOME}/.config"));
    let before = files(&machine);
    bob_ok(&machine, start);
    let pid = machine.pid_of(&format!("{WORDS} job"), "0");
    let fix = format!("needless fix --pid {pid} --set TZ={ZONE} --yes --restart");
    let said = bob_ok(&machine, &fix);
    let file = format!("{HOME}/.config/environment.d/zz-needless.conf");
    assert!(said.contains(&file), "{said}");
    assert!(said.contains("It reaches every unit of the user"), "{said}");
    bob_ok(&machine, &format!("systemctl --user stop job; {start}"));
    let fresh = machine.pid_of(&format!("{WORDS} job"), &pid);
    assert_eq!(machine.stats(&fresh), 0);
    let story = bob_ok(&machine, &format!("needless origin TZ {fresh}"));
    assert!(story.starts_with(&format!("TZ is {ZONE} in perl[")), "{story}");
    assert!(story.contains(&file), "{story}");
    bob_ok(&machine, "needless undo");
    assert_eq!(files(&machine), before);
    bob_ok(
        &machine,
        &format!("systemctl --user daemon-reload; systemctl --user stop job; {start}"),
    );
    let last = machine.pid_of(&format!("{WORDS} job"), &fresh);
    assert!(machine.stats(&last) > 50);
    // The command that made it has the last word.
    let own = "systemd-run --user --quiet --unit=own -E TZ=UTC /usr/local/bin/probe own";
    bob_ok(&machine, own);
    let pid = machine.pid_of(&format!("{WORDS} own"), "0");
    let done = bob(&machine, &format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(
        stderr(&done).contains("the command that made own.service sets it"),
        "{}",
        stderr(&done)
    );
}
