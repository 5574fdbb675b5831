//! Sessions of users: who gets what from su, sudo and login shells.

use super::scenario::*;
use crate::common::program;

const BOB: &str =
    "setpriv --reuid bob --regid bob --init-groups env HOME=/home/bob XDG_STATE_HOME=/run/bob";
/// A program in the background, which is started again as it was.
const SESSION: Scenario<'static> =
    Scenario { fix: "--pid PID", place: ("/etc/environment", "high"), ..UNIT };

#[test]
fn sessions() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob; install -d -o bob /run/bob");
    let profile = machine.ok("cat /home/bob/.profile");
    let oslo = format!("{profile}TZ=Europe/Oslo; export TZ # where I live\n");
    let simple = "# mine\nexport TZ=Europe/Oslo # where I live\n";
    let own = [("/home/bob/.profile", "644", simple)];
    let sources = [("/home/bob/.profile", "644", oslo.as_str())];
    let mut all = vec![
        // A login shell reads it after PAM's files: there it belongs, and its user changes it.
        Scenario {
            name: "login",
            files: &own,
            start: "setsid su - bob -c 'exec /usr/local/bin/probe NAME' &",
            truth: Some("Europe/Oslo"),
            answer: &["/home/bob/.profile:"],
            place: ("/home/bob/.profile", "high"),
            user: BOB,
            ..SESSION
        },
        // It sources ~/.bashrc as distributions write it, which is understood.
        Scenario {
            name: "sources",
            files: &sources,
            start: "setsid su - bob -c 'exec /usr/local/bin/probe NAME' &",
            truth: Some("Europe/Oslo"),
            place: ("/home/bob/.profile", "high"),
            user: BOB,
            ..SESSION
        },
        // Not root, who does not write into the directories of others.
        Scenario {
            name: "not-roots",
            files: &own,
            start: "setsid su - bob -c 'exec /usr/local/bin/probe NAME' &",
            truth: Some("Europe/Oslo"),
            place: ("/home/bob/.profile", "high"),
            ends: Ends::Refused("belongs to user"),
            ..SESSION
        },
        Scenario {
            name: "su",
            start: "setsid su -s /bin/sh -c 'exec /usr/local/bin/probe NAME' daemon &",
            says: &["It reaches every session that PAM opens on this machine"],
            ..SESSION
        },
    ];
    if program("sudo").is_some() {
        all.push(Scenario {
            name: "sudo",
            start: "setsid sudo -n -u bob /usr/local/bin/probe NAME &",
            place: ("/etc/needless/sudo.env", "high"),
            ..SESSION
        });
        // env_keep names it, but sudo judges a zone with a blank first.
        all.push(Scenario {
            name: "blank",
            files: &[("/etc/sudoers.d/keep", "440", "Defaults env_keep += \"TZ\"\n")],
            start: "TZ='Asia/ Tokyo' setsid sudo -n -u bob /usr/local/bin/probe NAME &",
            answer: &["nor is a blank"],
            place: ("/etc/needless/sudo.env", "high"),
            ..SESSION
        });
        // The words of sudo's own command remove it: nothing else is blamed, and no file helps.
        all.push(Scenario {
            name: "preserved",
            start: "TZ=UTC setsid sudo -n -E -u bob env -u TZ /usr/local/bin/probe NAME &",
            answer: &["lost here: by `env -u` among sudo["],
            never: &["never is"],
            place: ("", "low"),
            ends: Ends::Refused("decides: change that command"),
            ..SESSION
        });
    }
    hold(&machine, &all);
}
