//! Sessions of the real sshd whose variable is set for some of them only: below a `Match`, by the user's own files, by
//! the client. The place for a change is that one, not one that reaches every session.

use crate::cell::*;
use crate::common::*;
use crate::machine::Machine;

const SSH: &str = "ssh -i /root/.ssh/t -o StrictHostKeyChecking=no -o ConnectionAttempts=60 -p 2222 root@127.0.0.1";
const RELOAD: &str = "kill -HUP $(cat /run/sshd.pid); until ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done";

fn sshd(settings: &str) -> Option<Machine> {
    program("sshd")?;
    let machine = machine()?;
    machine.write("/etc/ssh/sshd_config", "644", settings);
    machine.ok(
        "set -e; mkdir -p /run/sshd /root/.ssh; chmod 700 /root/.ssh; ssh-keygen -A >/dev/null
         : >/etc/environment; usermod -p '*' root; rm -f /root/.ssh/t*
         ssh-keygen -q -t ed25519 -N '' -C joe@laptop -f /root/.ssh/t
         cat /root/.ssh/t.pub >/root/.ssh/authorized_keys; /usr/sbin/sshd -p 2222
         until ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done",
    );
    Some(machine)
}

/// A session with the probe: its pid, and what `origin` says.
fn session(machine: &Machine, name: &str, client: &str) -> (String, String) {
    drop(machine.start(&format!("{client} exec {SSH} -o SendEnv=TZ /usr/local/bin/probe {name}")));
    let pid = machine.pid_of(&format!("{WORDS} {name}"), "0");
    let story = origin(machine, &pid);
    (pid, story)
}

/// What sshd sets for a user, as it says itself.
fn sets(machine: &Machine, user: &str) -> String {
    machine.ok(&format!(
        "/usr/sbin/sshd -T -C user={user},host=localhost,addr=127.0.0.1 | sed -n 's/^setenv //p'"
    ))
}

#[test]
fn a_match_that_fits() {
    let settings = "UsePAM yes\nSetEnv TZ=UTC A=1\nMatch User nobody\n  SetEnv TZ=Asia/Seoul\n\
                    Match Address 127.0.0.0/8 User root\n  X11Forwarding no\n  SetEnv TZ=Asia/Dubai B=2\n\
                    Match all\n  SetEnv TZ=Asia/Baku\n";
    let Some(machine) = sshd(settings) else { return };
    let (pid, story) = session(&machine, "fits", "");
    assert!(story.starts_with("TZ is Asia/Dubai in perl["), "{story}");
    for part in [
        "/etc/ssh/sshd_config:7 sets it, and sshd sets it for this session (SetEnv below Match Address 127.0.0.0/8 User root)",
        "sshd_config:2 TZ=UTC does not reach it: sshd takes the SetEnv of the Match that fits",
        "sshd_config:4 TZ=Asia/Seoul does not reach it: its Match does not fit",
        "sshd_config:9 TZ=Asia/Baku does not reach it: its Match does not fit, or an earlier one does",
    ] {
        assert!(story.contains(part), "{part:?} in {story}");
    }
    let before = machine.etc();
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert!(fixed.contains("every session that this Match fits"), "{fixed}");
    machine.ok(RELOAD);
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ $A $B'")), format!("{ZONE} 2\n"));
    assert_eq!(sets(&machine, "root"), format!("TZ={ZONE}\nB=2\n"));
    assert_eq!(sets(&machine, "nobody"), "TZ=Asia/Seoul\n");
    assert_eq!(sets(&machine, "daemon"), "TZ=Asia/Baku\n");
    machine.ok("needless undo");
    same(&before, &machine.etc(), "a Match");
    // A block without such a line gets one, with what its sessions have from the line for all.
    let text = "SetEnv TZ=UTC A=1\nMatch User nobody\n  X11Forwarding no\n";
    machine.write("/etc/ssh/sshd_config", "644", text);
    let change = "needless fix --in /etc/ssh/sshd_config --part 'Match User nobody'";
    machine.ok(&format!("{change} --set TZ={ZONE} --yes"));
    assert_eq!(sets(&machine, "nobody"), format!("TZ={ZONE}\nA=1\n"));
    assert_eq!(sets(&machine, "root"), "TZ=UTC\nA=1\n");
    machine.ok("needless undo");
    // An earlier Match has the last word: sshd is asked, and the change is taken back.
    let text = "Match all\n  SetEnv TZ=UTC\nMatch User nobody\n  SetEnv TZ=Asia/Seoul\n";
    machine.write("/etc/ssh/sshd_config", "644", text);
    let done = machine.run(&format!("{change} --set TZ={ZONE} --yes"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("sshd still uses another TZ"), "{}", stderr(&done));
    assert_eq!(machine.ok("cat /etc/ssh/sshd_config"), text);
}

/// What sshd sets for every session: the look is at the next one, after a reload of the unit.
#[test]
fn the_next_session_is_looked_at() {
    let Some(machine) = sshd("Port 2222\nUsePAM yes\nSetEnv TZ=UTC\n") else { return };
    machine.ok(
        "kill $(cat /run/sshd.pid); while pgrep -x sshd; do sleep 0.1; done; systemctl start ssh
        until ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done",
    );
    let before = machine.etc();
    let (pid, _) = session(&machine, "first", "");
    for (restart, begin) in [
        ("", "written, not in force: `systemctl reload ssh.service`: "),
        ("--restart", "reloaded: systemctl reload ssh.service; "),
    ] {
        let said = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes {restart}"));
        let id = said.split_once("done: change ").and_then(|(_, rest)| rest.split_once(';'));
        let id = id.unwrap_or_else(|| panic!("{said}")).0;
        let check = format!("needless fix --check {id}");
        let last = format!("{begin}the next session has it; then `{check}` looks\n");
        assert!(said.ends_with(&last), "{said}");
        let done = machine.run(&check);
        let said = stdout(&done);
        assert_eq!(done.status.code(), Some(1), "{said}{}", stderr(&done));
        let pending = format!(
            "not in force: TZ={ZONE}: perl[{pid}] was started before the change: the next session has it\n"
        );
        assert_eq!(said, pending);
        let again =
            machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes {restart}"));
        assert!(
            again.contains("already so: ") && again.ends_with(": the next session has it\n"),
            "{again}"
        );
        assert_eq!(again.contains("reloaded: "), !restart.is_empty(), "{again}");
        if restart.is_empty() {
            machine.ok("systemctl reload ssh; until ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done");
        }
        let (fresh, _) = session(&machine, if restart.is_empty() { "second" } else { "third" }, "");
        let said = machine.ok(&check);
        assert!(said.starts_with(&format!("in force: TZ={ZONE} in perl[{fresh}]\n")), "{said}");
        let said = machine.ok("needless undo");
        let keeps = format!(
            "perl[{fresh}] still has TZ={ZONE}: the next session has what the files say now\n"
        );
        assert!(said.ends_with(&keeps), "{said}");
        same(&before, &machine.etc(), "undo");
        machine.ok(&format!(
            "kill {fresh}; while [ -e /proc/{fresh} ]; do sleep 0.1; done; systemctl reload ssh"
        ));
    }
}

#[test]
fn what_a_user_or_a_client_sets() {
    let Some(machine) = sshd("UsePAM yes\nPermitUserEnvironment yes\n") else { return };
    let begin = "{ printf 'environment=\"TZ=Europe/Rome\",no-pty '; cat /root/.ssh/t.pub; } >/root/.ssh/authorized_keys";
    machine.ok(begin);
    let (pid, story) = session(&machine, "key", "");
    assert!(story.starts_with("TZ is Europe/Rome in perl["), "{story}");
    for part in ["to change it: authorized_keys, /root/.ssh/authorized_keys", "sure high"] {
        assert!(story.contains(part), "{part:?} in {story}");
    }
    let fix = format!("--set TZ={ZONE} --yes");
    let fixed = machine.ok(&format!("needless fix --pid {pid} {fix}"));
    assert!(fixed.contains("authorized_keys, joe@laptop") && !fixed.contains("AAAA"), "{fixed}");
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ'")), format!("{ZONE}\n"));
    machine.ok(&format!("needless undo; kill {pid}"));
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ'")), "Europe/Rome\n");
    // Every value that is written arrives as it is.
    let write = "--in /root/.ssh/authorized_keys";
    assert_eq!(values_arrive(&machine, write, &format!("{SSH} env | grep ^X=")), HARD.len());

    machine.ok("cat /root/.ssh/t.pub >/root/.ssh/authorized_keys; echo TZ=Asia/Baku >/root/.ssh/environment");
    let (pid, story) = session(&machine, "file", "");
    assert!(story.starts_with("TZ is Asia/Baku in perl["), "{story}");
    assert!(story.contains("to change it: ~/.ssh/environment, /root/.ssh/environment"), "{story}");
    machine.ok(&format!("needless fix --pid {pid} {fix}; kill {pid}"));
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ'")), format!("{ZONE}\n"));
    machine.ok("needless undo");
    let write = "--in /root/.ssh/environment";
    assert_eq!(values_arrive(&machine, write, &format!("{SSH} env | grep ^X=")), HARD.len());
    machine.ok("rm /root/.ssh/environment");

    machine.ok(&format!("echo AcceptEnv TZ >>/etc/ssh/sshd_config; {RELOAD}"));
    let before = machine.etc();
    let (pid, story) = session(&machine, "sent", "TZ=Asia/Seoul");
    assert!(story.starts_with("TZ is Asia/Seoul in perl["), "{story}");
    assert!(story.contains("to change it: the ssh client"), "{story}");
    let done = machine.run(&format!("needless fix --pid {pid} {fix}"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("the client sent it (SendEnv"), "{}", stderr(&done));
    same(&before, &machine.etc(), "what the client sends");
    // PAM is stronger than all three: it is the place.
    machine.ok(&format!("kill {pid}; echo TZ=UTC >/etc/environment"));
    let (_, story) = session(&machine, "pam", "TZ=Asia/Seoul");
    assert!(story.starts_with("TZ is UTC in perl["), "{story}");
    assert!(story.contains("to change it: pam_env, /etc/environment"), "{story}");
}
