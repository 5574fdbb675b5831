//! What an ordinary user changes without root: ~/.profile and ~/.bashrc.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::*;

const HOME: &str = "/home/bob";
const BOB: &str = "setpriv --reuid bob --regid bob --init-groups env -u XDG_RUNTIME_DIR HOME=/home/bob XDG_STATE_HOME=/run/bob";

/// An ordinary user's login shell: ~/.profile is read after PAM's files and is stronger.
#[test]
fn fix_changes_the_profile_and_the_bashrc_of_a_user() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -k /etc/skel -s /bin/bash bob; install -d -o bob /run/bob");
    // /etc/skel's own, which sources ~/.bashrc.
    assert!(machine.ok(&format!("cat {HOME}/.profile")).contains(". \"$HOME/.bashrc\""));
    assert!(machine.ok(&format!("cat {HOME}/.bashrc")).contains("dircolors"));
    machine.ok(&format!("touch -d 2020-01-01 {HOME}/.profile {HOME}"));
    let times = || machine.ok(&format!("stat -c '%y %n' {HOME}/.profile {HOME}"));
    let before = times();
    let typed =
        format!("echo '/usr/local/bin/probe NAME' | {BOB} HISTFILE=/dev/null setsid bash -i &");
    hold(
        &machine,
        &[
            Scenario {
                name: "profile",
                files: &[("/etc/environment", "644", "LANG=C.UTF-8\n")],
                start: LOGIN,
                all: &["su - does not give it that variable"],
                place: ("/home/bob/.profile", "high"),
                fix: "--pid PID",
                user: BOB,
                ..UNIT
            },
            // What a person starts in an interactive bash.
            Scenario {
                name: "bashrc",
                start: &typed,
                place: ("/home/bob/.bashrc", "high"),
                fix: "--pid PID",
                user: BOB,
                ..UNIT
            },
        ],
    );
    assert_eq!(times(), before);
    fix_changes_the_strongest_line(&machine);
    fix_refuses_files_that_would_hide_others(&machine);
}

const LOGIN: &str = "TZ=UTC setsid su - bob -c 'exec /usr/local/bin/probe NAME' &";

fn fix_changes_the_strongest_line(machine: &Machine) {
    let place = format!("{HOME}/.profile");
    let start = || {
        let script = LOGIN.replace("NAME", "login");
        machine.ok(&format!("{{ {script} }} >/dev/null 2>&1 </dev/null"));
    };
    let find = |not: &str| machine.pid_of(&format!("{WORDS} login"), not);
    machine.write("/etc/environment", "644", "TZ=Europe/Oslo\n");
    machine.ok(&format!("echo 'export TZ=Europe/Rome   # keep this' >>{place}"));
    start();
    let pid = find("0");
    let story = machine.ok(&format!("{BOB} needless origin TZ {pid}"));
    assert!(story.contains("TZ is Europe/Rome") && !story.contains("started by bash"), "{story}");
    let fixed = machine.ok(&format!("{BOB} needless fix --pid {pid} --set TZ={ZONE} {YES}"));
    assert!(fixed.contains(&place), "{fixed}");
    let last = machine.ok(&format!("tail -n 1 {place}"));
    assert_eq!(last, format!("export TZ={ZONE}   # keep this\n"));
    machine.end(&pid);
    start();
    let fresh = find(&pid);
    assert_eq!(machine.zone(&fresh).as_deref(), Some(ZONE));
    // Root does not write into a user's files.
    let refused = machine.run(&format!("needless fix --pid {fresh} --set TZ=UTC {YES}"));
    assert!(stderr(&refused).contains("belongs to user"), "{}", stderr(&refused));
    machine.ok(&format!("{BOB} needless undo"));
}

/// No file is made that would hide ~/.profile, and no line is added that would not be reached.
fn fix_refuses_files_that_would_hide_others(machine: &Machine) {
    machine.ok(&format!("echo 'exec true' >{HOME}/.bash_aliases; chown bob: {HOME}/.bash_aliases"));
    for (file, why) in [
        (
            ".bash_profile",
            "bash reads only the first of .bash_profile, .bash_login, .profile: change /home/bob/.profile",
        ),
        (".bashrc", ".bash_aliases, which has `exec` in it"),
    ] {
        let done =
            machine.run(&format!("{BOB} needless fix --in {HOME}/{file} --set TZ=UTC {YES}"));
        assert_eq!(done.status.code(), Some(2), "{file}: {}", stdout(&done));
        assert!(stderr(&done).contains(why), "{file}: {}", stderr(&done));
    }
}
