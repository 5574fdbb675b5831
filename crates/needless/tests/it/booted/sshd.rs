//! Sessions of the real sshd: what it gives to all of them, and what is set for some only, below a `Match`, by the user's
//! own files, by the client. The place for a change is that one.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::*;

const SSH: &str = "ssh -i /root/.ssh/t -o StrictHostKeyChecking=no -o ConnectionAttempts=60 -p 2222 root@127.0.0.1";
const LISTENS: &str =
    "until ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done";
const CONFIG: &str = "/etc/ssh/sshd_config";
const BOB: &str = "setpriv --reuid bob --regid bob --init-groups env XDG_STATE_HOME=/run/bob";

/// A machine with sshd, and a key that opens it for root and bob.
fn sshd() -> Option<Machine> {
    program("sshd")?;
    let machine = machine("")?;
    machine.ok(&format!(
        "set -e; mkdir -p /run/sshd /root/.ssh; chmod 700 /root/.ssh; ssh-keygen -A >/dev/null
         useradd -m -s /bin/sh bob; usermod -p '*' root; usermod -p '*' bob; rm -f /root/.ssh/t* /run/nologin
         ssh-keygen -q -t ed25519 -N '' -C joe@laptop -f /root/.ssh/t
         cat /root/.ssh/t.pub >/root/.ssh/authorized_keys; install -d -m 700 -o bob /home/bob/.ssh /run/bob
         cp /root/.ssh/t.pub /home/bob/.ssh/authorized_keys; /usr/sbin/sshd -p 2222; {LISTENS}"
    ));
    Some(machine)
}

/// sshd reads its configuration again, and listens again.
fn reload(machine: &Machine) {
    machine.ok(&format!("kill -HUP $(cat /run/sshd.pid); {LISTENS}"));
}

/// The same with another configuration.
fn configure(machine: &Machine, settings: &str) {
    machine.write(CONFIG, "644", settings);
    reload(machine);
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

/// Debian's sshd has pam_env read a file of the user, after all others.
const OF_USER: Scenario<'static> = Scenario {
    name: "of-user",
    files: &[
        ("/home/bob/.pam_environment", "644", "# mine\nTZ DEFAULT=Asia/Baku\n"),
        ("/etc/environment", "644", "TZ=Europe/Rome\n"),
    ],
    truth: Some("Asia/Baku"),
    answer: &["/home/bob/.pam_environment:2 sets it"],
    place: ("/home/bob/.pam_environment", "high"),
    ends: Ends::ByHand("write `TZ DEFAULT=Asia/Tokyo` by hand, instead of what line 2 sets"),
    fix: "--pid PID",
    ..UNIT
};

#[test]
fn fix_changes_what_every_session_of_sshd_gets() {
    let Some(machine) = sshd() else { return };
    let begin = format!("kill -HUP $(cat /run/sshd.pid); {LISTENS}; setsid");
    let command = format!("{begin} {SSH} /usr/local/bin/probe NAME &");
    let login = format!("{begin} {SSH} bash -lc \"'/usr/local/bin/probe NAME'\" &");
    let of_bob = command.replace("root@", "bob@");
    let all_shells = ("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    let session =
        Scenario { start: &command, place: ("/etc/environment", "high"), fix: "--pid PID", ..UNIT };
    hold(
        &machine,
        &[
            Scenario {
                name: "ssh",
                files: &[all_shells],
                all: &["sshd does not give it that variable"],
                ..session
            },
            Scenario {
                name: "ssh-l",
                files: &[("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Seoul\n")],
                start: &login,
                truth: Some("Asia/Seoul"),
                all: &["tz.sh:1 sets it, which reaches it if a login shell"],
                place: ("/etc/profile.d/tz.sh", "medium"),
                ends: Ends::Refused("not done by a tool"),
                ..session
            },
            // Where sshd does not use PAM, /etc/environment reaches no session.
            Scenario {
                name: "setenv",
                files: &[
                    ("/etc/ssh/sshd_config.d/a.conf", "644", "UsePAM no\n"),
                    ("/etc/environment", "644", "TZ=Asia/Tokyo\n"),
                ],
                all: &[
                    "/etc/environment:1 TZ=Asia/Tokyo does not reach it: sshd does not use PAM here",
                ],
                place: ("/etc/ssh/sshd_config.d/zz-needless.conf", "high"),
                ..session
            },
            Scenario { start: &of_bob, ..OF_USER },
            // An ordinary user learns where it belongs, and may not write there.
            Scenario {
                name: "of-bob",
                files: &[("/etc/environment", "644", "TZ=Europe/Rome\n")],
                start: &of_bob,
                truth: Some("Europe/Rome"),
                answer: &["/etc/environment:1 sets it"],
                story: &["to change it: pam_env, /etc/environment"],
                user: BOB,
                ends: Ends::Refused("it belongs to root: run this with sudo"),
                ..session
            },
        ],
    );
    machine.ok("/usr/sbin/sshd -t");
    fix_changes_the_first_set_env_line(&machine);
    fix_asks_sshd_and_takes_back_what_it_does_not_use(&machine);
}

/// Only the first SetEnv line counts: a second line, added by needless, would have no effect.
fn fix_changes_the_first_set_env_line(machine: &Machine) {
    let file = "/etc/ssh/sshd_config.d/a.conf";
    machine.write(file, "644", "AcceptEnv LC_* T?\nSetEnv A=\"1 2\" TZ=UTC # c\n");
    machine.write("/etc/ssh/sshd_config.d/b.conf", "644", "SetEnv TZ=Europe/Athens\n");
    // A Match in an included file ends with that file.
    let other = "Match User nosuch\n  SetEnv TZ=Asia/Dubai\n";
    machine.write("/etc/ssh/sshd_config.d/0.conf", "644", other);
    reload(machine);
    let (pid, story) = session(machine, "a", "TZ=Asia/Seoul");
    assert!(story.starts_with("TZ is UTC in perl["), "{story}");
    for part in [
        "a.conf:2 sets it, and sshd sets it for every session (SetEnv)",
        "0.conf:2 TZ=Asia/Dubai does not reach it: its Match does not fit",
        "a.conf:1 TZ in AcceptEnv perhaps: if the client sends it",
        "b.conf:1 TZ=Europe/Athens does not reach it: sshd takes the first SetEnv line only",
    ] {
        assert!(story.contains(part), "{part}: {story}");
    }
    let before = files(machine);
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES}"));
    assert!(fixed.contains("+SetEnv \"… TZ=Asia/Tokyo"), "{fixed}");
    reload(machine);
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ $A'")), "Asia/Tokyo 1 2\n");
    machine.ok("needless undo && /usr/sbin/sshd -t");
    same(&before, &files(machine), "sshd");
    // A variable that only the client sends, through AcceptEnv, is reported as such.
    machine.write(file, "644", "AcceptEnv T?\n");
    machine.ok(&format!("kill {pid}; rm /etc/ssh/sshd_config.d/[0b].conf"));
    reload(machine);
    let (_, story) = session(machine, "b", "TZ=Asia/Seoul");
    assert!(story.starts_with("TZ is Asia/Seoul in perl["), "{story}");
    for part in [
        "TZ in AcceptEnv perhaps: if the client sends it",
        "the client sent it (SendEnv), which /etc/ssh/sshd_config.d/a.conf:1 accepts",
    ] {
        assert!(story.contains(part), "{part}: {story}");
    }
    machine.ok(&format!("rm {file}"));
    reload(machine);
}

/// A Match is stronger: needless asks sshd itself, and undoes the change.
fn fix_asks_sshd_and_takes_back_what_it_does_not_use(machine: &Machine) {
    machine.ok("printf 'Match all\\n  SetEnv TZ=UTC\\n' >>/etc/ssh/sshd_config");
    let before = files(machine);
    let drop_in = "/etc/ssh/sshd_config.d/zz-needless.conf";
    let done = machine.run(&format!("needless fix --in {drop_in} --set TZ={ZONE} {YES}"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("sshd still uses another TZ"), "{}", stderr(&done));
    same(&before, &files(machine), "sshd");
    let done = machine.run(&format!("needless fix --in {drop_in} --set 'TZ=a\tb' {YES}"));
    assert!(stderr(&done).contains("control characters"), "{}", stderr(&done));
    machine.ok("sed -i '/^Match all/,$d' /etc/ssh/sshd_config");
    let read = format!("kill -HUP $(cat /run/sshd.pid); {LISTENS}; {SSH} env | grep ^X=");
    assert_eq!(values_arrive(machine, &format!("--in {drop_in}"), &read), HARD.len());
    machine.ok("/usr/sbin/sshd -t");
}

/// What is set for some sessions is changed there.
#[test]
fn fix_changes_what_some_sessions_of_sshd_get() {
    let Some(machine) = sshd() else { return };
    fix_changes_the_match_that_fits(&machine);
    fix_changes_the_files_of_the_user(&machine);
}

fn fix_changes_the_match_that_fits(machine: &Machine) {
    let settings = "UsePAM yes\nSetEnv TZ=UTC A=1\nMatch User nobody\n  SetEnv TZ=Asia/Seoul\n\
                    Match Address 127.0.0.0/8 User root\n  X11Forwarding no\n  SetEnv TZ=Asia/Dubai B=2\n\
                    Match all\n  SetEnv TZ=Asia/Baku\n";
    configure(machine, settings);
    let (pid, story) = session(machine, "fits", "");
    assert!(story.starts_with("TZ is Asia/Dubai in perl["), "{story}");
    for part in [
        "/etc/ssh/sshd_config:7 sets it, and sshd sets it for this session (SetEnv below Match Address 127.0.0.0/8 User root)",
        "sshd_config:2 TZ=UTC does not reach it: sshd takes the SetEnv of the Match that fits",
        "sshd_config:4 TZ=Asia/Seoul does not reach it: its Match does not fit",
        "sshd_config:9 TZ=Asia/Baku does not reach it: its Match does not fit, or an earlier one does",
    ] {
        assert!(story.contains(part), "{part:?} in {story}");
    }
    let before = files(machine);
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES}"));
    assert!(fixed.contains("every session that this Match fits"), "{fixed}");
    reload(machine);
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ $A $B'")), format!("{ZONE} 2\n"));
    assert_eq!(sets(machine, "root"), format!("TZ={ZONE}\nB=2\n"));
    assert_eq!(sets(machine, "nobody"), "TZ=Asia/Seoul\n");
    assert_eq!(sets(machine, "daemon"), "TZ=Asia/Baku\n");
    machine.ok("needless undo");
    same(&before, &files(machine), "a Match");
    // A block without such a line gets one, with what its sessions have from the line for all.
    let text = "SetEnv TZ=UTC A=1\nMatch User nobody\n  X11Forwarding no\n";
    machine.write(CONFIG, "644", text);
    let change = "needless fix --in /etc/ssh/sshd_config --part 'Match User nobody'";
    machine.ok(&format!("{change} --set TZ={ZONE} {YES}"));
    assert_eq!(sets(machine, "nobody"), format!("TZ={ZONE}\nA=1\n"));
    assert_eq!(sets(machine, "root"), "TZ=UTC\nA=1\n");
    machine.ok("needless undo");
    // An earlier Match has the last word: sshd is asked, and the change is taken back.
    let text = "Match all\n  SetEnv TZ=UTC\nMatch User nobody\n  SetEnv TZ=Asia/Seoul\n";
    machine.write(CONFIG, "644", text);
    let done = machine.run(&format!("{change} --set TZ={ZONE} {YES}"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("sshd still uses another TZ"), "{}", stderr(&done));
    assert_eq!(machine.ok("cat /etc/ssh/sshd_config"), text);
}

fn fix_changes_the_files_of_the_user(machine: &Machine) {
    configure(machine, "UsePAM yes\nPermitUserEnvironment yes\n");
    let begin = "{ printf 'environment=\"TZ=Europe/Rome\",no-pty '; cat /root/.ssh/t.pub; } >/root/.ssh/authorized_keys";
    machine.ok(begin);
    let (pid, story) = session(machine, "key", "");
    assert!(story.starts_with("TZ is Europe/Rome in perl["), "{story}");
    for part in [
        "/root/.ssh/authorized_keys:1 sets it",
        "if the session was opened with that key",
        "to change it: authorized_keys, /root/.ssh/authorized_keys",
        "no tool writes there: write `environment=\"TZ=VALUE\"` by hand, instead of what line 1 sets",
        "sure high",
        "not looked at: - PAM modules",
    ] {
        assert!(story.contains(part), "{part:?} in {story}");
    }
    let fix = format!("--set TZ={ZONE} {YES}");
    let before = files(machine);
    let refused = machine.run(&format!("needless fix --pid {pid} {fix}"));
    let said = stderr(&refused);
    let option = format!("environment=\"TZ={ZONE}\"");
    let words = format!("authorized_keys: write `{option}` by hand, instead of what line 1 sets");
    assert!(said.contains(&words) && !said.contains("AAAA"), "{said}");
    assert_eq!((refused.status.code(), said.lines().count()), (Some(2), 1), "{said}");
    same(&before, &files(machine), "a key");
    machine.ok(&format!(
        "sed -i 's|environment=\"TZ=Europe/Rome\"|{option}|' /root/.ssh/authorized_keys; kill {pid}"
    ));
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ'")), format!("{ZONE}\n"));
    let said = machine.ok(&format!("needless fix --in /root/.ssh/authorized_keys {fix}"));
    assert!(said.starts_with("already so: "), "{said}");

    machine.ok("cat /root/.ssh/t.pub >/root/.ssh/authorized_keys; echo TZ=Asia/Baku >/root/.ssh/environment");
    let (pid, story) = session(machine, "file", "");
    assert!(story.starts_with("TZ is Asia/Baku in perl["), "{story}");
    assert!(story.contains("to change it: ~/.ssh/environment, /root/.ssh/environment"), "{story}");
    machine.ok(&format!("needless fix --pid {pid} {fix}; kill {pid}"));
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ'")), format!("{ZONE}\n"));
    machine.ok("needless undo");
    let write = "--in /root/.ssh/environment";
    assert_eq!(values_arrive(machine, write, &format!("{SSH} env | grep ^X=")), HARD.len());
    machine.ok("rm /root/.ssh/environment");

    machine.ok("echo AcceptEnv TZ >>/etc/ssh/sshd_config");
    reload(machine);
    let before = files(machine);
    let (pid, story) = session(machine, "sent", "TZ=Asia/Seoul");
    assert!(story.starts_with("TZ is Asia/Seoul in perl["), "{story}");
    assert!(story.contains("to change it: the ssh client"), "{story}");
    let done = machine.run(&format!("needless fix --pid {pid} {fix}"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("the client sent it (SendEnv"), "{}", stderr(&done));
    same(&before, &files(machine), "what the client sends");
    // PAM is stronger than all three: it is the place.
    machine.ok(&format!("kill {pid}; echo TZ=UTC >/etc/environment"));
    let (_, story) = session(machine, "pam", "TZ=Asia/Seoul");
    assert!(story.starts_with("TZ is UTC in perl["), "{story}");
    assert!(story.contains("to change it: pam_env, /etc/environment"), "{story}");
}

/// What sshd sets for every session: the look is at the next one, after a reload of the unit.
#[test]
fn fix_check_looks_at_the_next_session() {
    let Some(machine) = sshd() else { return };
    machine.write(CONFIG, "644", "Port 2222\nUsePAM yes\nSetEnv TZ=UTC\n");
    machine.ok(&format!(
        "kill $(cat /run/sshd.pid); while pgrep -x sshd; do sleep 0.1; done; systemctl start ssh; {LISTENS}"
    ));
    let before = files(&machine);
    let (pid, _) = session(&machine, "first", "");
    for (restart, begin) in [
        ("", "written, not in force: `systemctl reload ssh.service`: "),
        ("--restart", "reloaded: systemctl reload ssh.service; "),
    ] {
        let said = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES} {restart}"));
        let check = format!("needless fix --check {}", made(&said));
        let last = format!("{begin}the next session has it; then `{check}` looks\n");
        assert!(said.ends_with(&last), "{said}");
        let done = machine.run(&check);
        let said = stdout(&done);
        assert_eq!(done.status.code(), Some(1), "{said}{}", stderr(&done));
        let pending = format!(
            "not in force: TZ={ZONE}: probe[{pid}] was started before the change: the next session has it\n"
        );
        assert_eq!(said, pending);
        let again =
            machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES} {restart}"));
        assert!(
            again.contains("already so: ") && again.ends_with(": the next session has it\n"),
            "{again}"
        );
        assert_eq!(again.contains("reloaded: "), !restart.is_empty(), "{again}");
        if restart.is_empty() {
            machine.ok(&format!("systemctl reload ssh; {LISTENS}"));
        }
        let (fresh, _) = session(&machine, if restart.is_empty() { "second" } else { "third" }, "");
        let said = machine.ok(&check);
        assert!(said.starts_with(&format!("in force: TZ={ZONE} in probe[{fresh}]\n")), "{said}");
        let said = machine.ok("needless undo");
        let keeps = format!(
            "probe[{fresh}] still has TZ={ZONE}: the next session has what the files say now\n"
        );
        assert!(said.ends_with(&keeps), "{said}");
        same(&before, &files(&machine), "undo");
        machine.end(&fresh);
        machine.ok("systemctl reload ssh");
    }
}
