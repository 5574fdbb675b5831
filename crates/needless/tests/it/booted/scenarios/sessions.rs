//! Sessions of users, and jobs: who gets what from su, sudo, login shells, cron and at.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::program;

const BOB: &str =
    "setpriv --reuid bob --regid bob --init-groups env HOME=/home/bob XDG_STATE_HOME=/run/bob";
/// A program in the background, which is started again as it was.
const SESSION: Scenario<'static> =
    Scenario { fix: "--pid PID", place: ("/etc/environment", "high"), ..UNIT };
const SUDO: Scenario<'static> = Scenario { place: ("/etc/needless/sudo.env", "high"), ..SESSION };
const KEEP: (&str, &str, &str) = ("/etc/sudoers.d/keep", "440", "Defaults env_keep += \"TZ\"\n");
const SIMPLE: (&str, &str, &str) =
    ("/home/bob/.profile", "644", "# mine\nexport TZ=Europe/Oslo # where I live\n");
const ALL_SHELLS: (&str, &str, &str) = ("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");

const SU: [Scenario<'static>; 8] = [
    // A login shell reads it after PAM's files: there it belongs, and its user changes it.
    Scenario {
        name: "login",
        files: &[SIMPLE],
        start: "setsid su - bob -c 'exec /usr/local/bin/probe NAME' &",
        truth: Some("Europe/Oslo"),
        answer: &["/home/bob/.profile:"],
        place: ("/home/bob/.profile", "high"),
        user: BOB,
        ..SESSION
    },
    // Not root, who does not write into the directories of others.
    Scenario {
        name: "not-roots",
        files: &[SIMPLE],
        start: "setsid su - bob -c 'exec /usr/local/bin/probe NAME' &",
        truth: Some("Europe/Oslo"),
        place: ("/home/bob/.profile", "high"),
        ends: Ends::Refused("belongs to user"),
        ..SESSION
    },
    Scenario {
        name: "su",
        files: &[("/etc/environment", "644", "# for all\nLANG=C.UTF-8\n")],
        start: "setsid su -s /bin/sh -c 'exec /usr/local/bin/probe NAME' daemon &",
        all: &["su does not give it that variable"],
        says: &["It reaches every session that PAM opens on this machine"],
        ..SESSION
    },
    Scenario {
        name: "su-l",
        files: &[("/etc/environment", "644", "# for all\nLANG=C.UTF-8\n")],
        start: "TZ=UTC setsid su - -s /bin/sh -c 'exec /usr/local/bin/probe NAME' daemon &",
        all: &["su - starts a new environment"],
        ..SESSION
    },
    Scenario {
        name: "kept",
        start: "TZ=Asia/Kolkata setsid su -w TZ - bob -c 'exec /usr/local/bin/probe NAME' &",
        truth: Some("Asia/Kolkata"),
        answer: &["inherited: su["],
        story: &["kept here: `-w` of su names it"],
        place: ("", "low"),
        ends: Ends::Refused("the process that started it has ended"),
        ..SESSION
    },
    Scenario {
        name: "dropped",
        start: "TZ=Asia/Kolkata setsid su -w LANG - bob -c 'exec /usr/local/bin/probe NAME' &",
        answer: &["lost here: su - starts a new environment"],
        ..SESSION
    },
    // Debian's su reads pam_env.conf twice, the second time after /etc/environment.
    Scenario {
        name: "pam",
        files: &[
            ("/etc/environment", "644", "TZ=UTC\n"),
            ("/etc/security/pam_env.conf", "644", "# zones\nTZ DEFAULT=Asia/Baku\n"),
        ],
        start: "setsid su -s /bin/sh -c 'exec /usr/local/bin/probe NAME' daemon &",
        truth: Some("Asia/Baku"),
        answer: &["/etc/security/pam_env.conf:2", "PAM reads it (pam_env in /etc/pam.d/su)"],
        story: &[
            "to change it: pam_env.conf, /etc/security/pam_env.conf",
            "no tool writes there: write `TZ DEFAULT=VALUE` by hand, instead of what line 2 sets",
            "not looked at: - PAM modules other than pam_env",
        ],
        place: ("/etc/security/pam_env.conf", "high"),
        ends: Ends::ByHand("write `TZ DEFAULT=Asia/Tokyo` by hand, instead of what line 2 sets"),
        ..SESSION
    },
    // An ordinary user may not follow the links of root's processes, and still learns which launcher it was.
    Scenario {
        name: "asks",
        files: &[SIMPLE],
        start: "setsid su - bob -c 'exec /usr/local/bin/probe NAME' &",
        truth: Some("Europe/Oslo"),
        answer: &["su - starts a login shell"],
        story: &["to change it: user's shell, /home/bob/.profile"],
        never: &["sudoers"],
        place: ("/home/bob/.profile", "high"),
        user: "setpriv --reuid bob --regid bob --init-groups env XDG_STATE_HOME=/run/bob",
        ..SESSION
    },
];

/// What is set below the point where PAM's files are read: nothing that every session gets is changed for it.
const BELOW: Scenario<'static> = Scenario {
    truth: Some("Asia/Omsk"),
    place: ("", "low"),
    ends: Ends::Refused("sets it itself"),
    ..SESSION
};
const UNSEEN: Scenario<'static> =
    Scenario { ends: Ends::Refused("no file that was read sets it: perhaps"), ..BELOW };
const SET_BELOW: [Scenario<'static>; 4] = [
    Scenario {
        name: "typed",
        start: "setsid su -s /bin/bash -c 'export TZ=Asia/Omsk; /usr/local/bin/probe NAME; :' daemon &",
        ..BELOW
    },
    Scenario {
        name: "env",
        start: "setsid su -s /bin/bash -c 'env TZ=Asia/Omsk /usr/local/bin/probe NAME; :' daemon &",
        ..BELOW
    },
    Scenario {
        name: "exec",
        start: "setsid su -s /bin/sh -c 'export TZ=Asia/Omsk; exec /usr/local/bin/probe NAME' daemon &",
        ..UNSEEN
    },
    Scenario {
        name: "env-exec",
        start: "setsid su - -s /bin/sh -c 'exec env TZ=Asia/Omsk /usr/local/bin/probe NAME' daemon &",
        ..UNSEEN
    },
];
/// Shells whose files are not read.
const OTHER_SHELLS: [(&str, Scenario<'static>); 3] = [
    (
        "zsh",
        Scenario {
            name: "zsh",
            files: &[("/home/bob/.zshenv", "644", "export TZ=Asia/Omsk\n")],
            start: "setsid su -s /usr/bin/zsh bob -c '/usr/local/bin/probe NAME; :' &",
            ..BELOW
        },
    ),
    (
        "zsh",
        Scenario {
            name: "zsh-l",
            files: &[("/home/bob/.zshenv", "644", "export TZ=Asia/Omsk\n")],
            start: "setsid su - -s /usr/bin/zsh bob -c 'exec /usr/local/bin/probe NAME' &",
            ..UNSEEN
        },
    ),
    (
        "fish",
        Scenario {
            name: "fish",
            files: &[("/home/bob/.config/fish/config.fish", "644", "set -gx TZ Asia/Omsk\n")],
            start: "setsid su - -s /usr/bin/fish bob -c '/usr/local/bin/probe NAME; true' &",
            ..BELOW
        },
    ),
];

const BY_SUDO: [Scenario<'static>; 6] = [
    // What its caller has is stronger than its env_file.
    Scenario {
        name: "caller",
        start: "TZ=Asia/Omsk setsid sudo -n -u bob /usr/local/bin/probe NAME &",
        truth: Some("Asia/Omsk"),
        never: &["sudo -i"],
        place: ("", "low"),
        ends: Ends::Refused("the process that started it has ended"),
        ..SUDO
    },
    Scenario {
        name: "given",
        start: "setsid sudo -n -u bob TZ=Asia/Omsk /usr/local/bin/probe NAME &",
        truth: Some("Asia/Omsk"),
        never: &["sudo -i"],
        story: &["set here: by `sudo` among sudo["],
        place: ("", "low"),
        ends: Ends::Refused("decides: change that command"),
        ..SUDO
    },
    Scenario {
        name: "sudo",
        files: &[KEEP],
        start: "setsid sudo -n -u bob /usr/local/bin/probe NAME &",
        all: &["sudo does not give it that variable"],
        ..SUDO
    },
    // env_keep names it, but sudo judges a zone with a blank first.
    Scenario {
        name: "blank",
        files: &[KEEP],
        start: "TZ='Asia/ Tokyo' setsid sudo -n -u bob /usr/local/bin/probe NAME &",
        answer: &["nor is a blank"],
        ..SUDO
    },
    Scenario {
        name: "untrusted",
        files: &[KEEP, ("/etc/environment", "644", "TZ=Asia/Tokyo\n")],
        start: "TZ=:/etc/localtime setsid sudo -n /usr/local/bin/probe NAME &",
        all: &["`:/etc/localtime`, never is", "/etc/pam.d/sudo has no pam_env", "TZ in env_keep"],
        ..SUDO
    },
    // The words of sudo's own command remove it: nothing else is blamed, and no file helps.
    Scenario {
        name: "preserved",
        start: "TZ=UTC setsid sudo -n -E -u bob env -u TZ /usr/local/bin/probe NAME &",
        answer: &["lost here: by `env -u` among sudo["],
        story: &["change that command", "sure low"],
        never: &["never is"],
        place: ("", "low"),
        ends: Ends::Refused("decides: change that command"),
        ..SUDO
    },
];

#[test]
fn fix_changes_what_a_session_gets() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob; install -d -o bob /run/bob");
    let profile = machine.ok("cat /home/bob/.profile");
    let own = format!("{profile}TZ=Europe/Oslo; export TZ # where I live\n");
    let unexported = format!("{profile}TZ=Europe/Oslo\n");
    let login = SU[0];
    hold(
        &machine,
        &[
            // It sources ~/.bashrc as distributions write it, which is understood.
            Scenario {
                name: "sources",
                files: &[("/home/bob/.profile", "644", &own)],
                answer: &[],
                ..login
            },
            // A file of all login shells exports it already.
            Scenario {
                name: "unexported",
                files: &[ALL_SHELLS, ("/home/bob/.profile", "644", &unexported)],
                answer: &["/home/bob/.profile:", "sets it, and su - starts a login shell"],
                story: &["to change it: user's shell, /home/bob/.profile"],
                ..login
            },
        ],
    );
    hold(&machine, &SU);
    hold(&machine, &SET_BELOW);
    for (shell, scenario) in OTHER_SHELLS {
        if program(shell).is_some() {
            hold(&machine, &[scenario]);
        }
    }
    origin_names_the_file_of_all_login_shells(&machine);
    if program("sudo").is_some() {
        hold(&machine, &BY_SUDO);
        machine.ok("visudo -c");
    }
}

fn origin_names_the_file_of_all_login_shells(machine: &Machine) {
    let (path, mode, text) = ALL_SHELLS;
    machine.write(path, mode, text);
    drop(machine.start("TZ=UTC exec su - -s /bin/sh -c 'exec /usr/local/bin/probe login' daemon"));
    let pid = machine.pid_of(&format!("{WORDS} login"), "0");
    let story = origin(machine, &pid);
    assert!(story.starts_with("TZ is Asia/Tokyo in perl["), "{story}");
    assert!(story.contains("/etc/profile.d/tz.sh:1 sets it"), "{story}");
    assert_eq!(calls(machine, &pid), 0);
    machine.end(&pid);
    machine.ok(&format!("rm {path}"));
}

/// cron starts its job every minute; only the probe counts, not a shell that searches for it.
const ONCE: &str = "#!/bin/sh
! pgrep -x -f \"/usr/bin/perl /usr/local/bin/probe $1\" >/dev/null && exec /usr/local/bin/probe $1
";
const AT: Scenario<'static> = Scenario {
    // Debian's PAM service of at has pam_env, which does not reach the job.
    files: &[
        ("/etc/environment", "644", "TZ=Asia/Tokyo\n"),
        ("/etc/systemd/system/atd.service.d/tz.conf", "644", "[Service]\nEnvironment=TZ=UTC\n"),
    ],
    place: ("", "low"),
    ends: Ends::Refused("submit it again with the variable set"),
    ..SESSION
};
const UTC: (&str, &str, &str) =
    ("/etc/systemd/system/cron.service.d/tz.conf", "644", "[Service]\nEnvironment=TZ=UTC\n");

const BY_SU: &str = "* * * * * root su bob -c '/usr/local/bin/once NAME'\n";

/// at(1) saves the environment when a job is submitted, so there is no file to change.
#[test]
fn fix_changes_a_job_of_cron_and_none_of_at() {
    for name in ["cron", "perl"] {
        if program(name).is_none() {
            return;
        }
    }
    let Some(machine) = machine_with(&[("once", ONCE)], "debs-launchers") else { return };
    if machine.has("atd").is_none() {
        return;
    }
    machine.ok(
        "set -e; useradd -m -s /bin/bash bob; rm -f /etc/cron.d/* /etc/crontab; cd /var/spool/cron
         mkdir -p atjobs atspool; touch atjobs/.SEQ; chmod 600 atjobs/.SEQ
         chown -R daemon:daemon atjobs atspool; chmod 1770 atjobs atspool",
    );
    jobs_of_at(&machine);
    jobs_of_cron(&machine);
}

fn jobs_of_at(machine: &Machine) {
    let at = "systemctl restart atd; echo 'exec /usr/local/bin/probe NAME' |";
    let (plain, zoned) = (format!("{at} at now"), format!("{at} env TZ=Asia/Baku at now"));
    hold(
        machine,
        &[
            Scenario {
                name: "at",
                start: &plain,
                all: &[
                    "at gives a job the environment of the user who submitted it, and passes on nothing of its own",
                    "tz.conf:2 TZ=UTC does not reach it: atd.service has it, and at gives a job the environment",
                    "/etc/environment:1 TZ=Asia/Tokyo does not reach it: at gives a job the environment of the user who submitted it",
                ],
                ..AT
            },
            Scenario {
                name: "at-tz",
                start: &zoned,
                truth: Some("Asia/Baku"),
                answer: &[
                    "/var/spool/cron/atjobs/=",
                    "sets it, and it is the only job of at that runs",
                ],
                story: &["submit it again"],
                never: &["inherited"],
                ..AT
            },
        ],
    );
}

fn jobs_of_cron(machine: &Machine) {
    hold(
        machine,
        &[
            // cron hands on nothing of its own.
            Scenario {
                name: "cron",
                files: &[
                    ALL_SHELLS,
                    UTC,
                    (
                        "/etc/cron.d/NAME",
                        "644",
                        "# a job\n* * * * * root /usr/local/bin/once NAME\n",
                    ),
                ],
                start: "systemctl restart cron",
                all: &[
                    "cron builds a new environment for a job",
                    "tz.sh:1 TZ=Asia/Tokyo does not reach it: only login shells",
                ],
                place: ("/etc/cron.d/NAME", "high"),
                ..SESSION
            },
            // PAM's files would reach every session, its table reaches this job.
            Scenario {
                name: "by-su",
                files: &[("/etc/cron.d/NAME", "644", BY_SU)],
                start: "systemctl restart cron",
                place: ("/etc/cron.d/NAME", "high"),
                ..SESSION
            },
            // An ordinary user learns where it belongs, and may not write there.
            Scenario {
                name: "of-bob",
                files: &[(
                    "/etc/cron.d/NAME",
                    "644",
                    "TZ=Asia/Baku\n* * * * * bob /usr/local/bin/once NAME\n",
                )],
                start: "systemctl restart cron",
                truth: Some("Asia/Baku"),
                story: &["to change it: crontab, /etc/cron.d/of-bob"],
                place: ("/etc/cron.d/NAME", "high"),
                user: BOB,
                ends: Ends::Refused("it belongs to root: run this with sudo"),
                ..SESSION
            },
        ],
    );
}
