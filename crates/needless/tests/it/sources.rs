//! `origin` where a variable is set in a place that is not a file with the service's name: the truth is read from the
//! process, and the answer and the place for a change are compared with it.

use crate::cell::*;
use crate::common::*;
use crate::machine::{Machine, wait};

fn machine() -> Option<Machine> {
    program("perl")?;
    Machine::boot_with(&[("probe", PROBE)], "debs-launchers")
}

/// What is true of a process, and what `origin` has to say of it.
struct Row<'a> {
    /// The argument of the probe.
    name: &'a str,
    /// The variable in the process.
    truth: Option<&'a str>,
    /// Parts of the answer, which is the first paragraph.
    answer: &'a [&'a str],
    /// Parts of what stands below "to change it".
    place: &'a [&'a str],
}

impl Row<'_> {
    /// Compares; returns all that was printed, without line breaks.
    fn holds(&self, machine: &Machine) -> String {
        let Row { name, truth, answer, place } = self;
        let pid = machine.pid_of(&format!("{WORDS} {name}"), "0");
        // Until its C library has started, its environment is nowhere.
        machine.ok("sleep 0.5");
        let environ = machine.ok(&format!("tr '\\0' '\\n' </proc/{pid}/environ"));
        let real = environ.lines().find_map(|line| line.strip_prefix("TZ="));
        assert_eq!(real, *truth, "{name}: the test is wrong");
        let printed = machine.ok(&format!("needless origin TZ {pid}"));
        let flat = |text: &str| text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let said = flat(printed.split("\n\n").next().unwrap());
        let is =
            truth.map_or("TZ is not set in perl[".into(), |zone| format!("TZ is {zone} in perl["));
        assert!(said.starts_with(&is), "{name}: {said}");
        for part in *answer {
            assert!(said.contains(part), "{name}: {part:?} in {said}");
        }
        let below = printed.split("\nto change it: ").nth(1).unwrap_or_else(|| panic!("{printed}"));
        let below = flat(below.split("\n\n").next().unwrap());
        for part in *place {
            assert!(below.contains(part), "{name}: {part:?} in {below}");
        }
        machine.run(&format!("kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.1; done"));
        flat(&printed)
    }
}

fn unit(machine: &Machine, name: &str, service: &str) {
    let text = format!("[Service]\n{service}\n");
    machine.write(&format!("/etc/systemd/system/{name}.service"), "644", &text);
    machine.ok(&format!("systemctl daemon-reload; systemctl restart {name}"));
}

/// systemd is asked: what is given to all units, other names of a unit, patterns.
#[test]
fn what_systemd_knows_and_the_files_of_a_unit_do_not_show() {
    let Some(machine) = machine() else { return };
    machine.ok("systemctl set-environment TZ=Asia/Tokyo");
    unit(&machine, "all", "ExecStart=/usr/local/bin/probe all");
    let drop_in =
        |name: &str| format!("systemd unit, /etc/systemd/system/{name}.service.d/zz-needless.conf");
    let row = Row {
        name: "all",
        truth: Some("Asia/Tokyo"),
        answer: &["systemctl show-environment has it", "systemctl set-environment"],
        place: &[&drop_in("all"), "sure high"],
    };
    // All of its sources are known.
    assert!(row.holds(&machine).ends_with("not read: nothing"));
    machine.ok("systemctl unset-environment TZ");

    let generator = "/etc/systemd/system-environment-generators/50-tz";
    machine.write(generator, "755", "#!/bin/sh\necho TZ=Asia/Seoul\n");
    unit(&machine, "made", "ExecStart=/usr/local/bin/probe made");
    let says = format!("{generator}:2 sets it, and this generator gives it to made.service");
    Row { name: "made", truth: Some("Asia/Seoul"), answer: &[&says], place: &[&drop_in("made")] }
        .holds(&machine);
    machine.ok(&format!("rm {generator}; systemctl daemon-reload"));

    let alias = "/etc/systemd/system/other.service.d/x.conf";
    machine.write(alias, "644", "[Service]\nEnvironment=TZ=Europe/Oslo\n");
    machine.ok("ln -s named.service /etc/systemd/system/other.service");
    unit(&machine, "named", "ExecStart=/usr/local/bin/probe named\n[Install]\nAlias=other.service");
    let says = format!("{alias}:2 sets it, and named.service is started with it");
    Row {
        name: "named",
        truth: Some("Europe/Oslo"),
        answer: &[&says],
        place: &[&drop_in("named")],
    }
    .holds(&machine);

    machine.write("/etc/app/tz.glob", "644", "TZ=Europe/Vienna\n");
    unit(&machine, "glob", "EnvironmentFile=/etc/app/*.glob\nExecStart=/usr/local/bin/probe glob");
    let place = ["EnvironmentFile, /etc/app/tz.glob", "sure high"];
    Row {
        name: "glob",
        truth: Some("Europe/Vienna"),
        answer: &["/etc/app/tz.glob:1 sets it"],
        place: &place,
    }
    .holds(&machine);

    machine.write("/etc/default/export", "644", "export TZ=Asia/Tokyo\n");
    unit(
        &machine,
        "export",
        "EnvironmentFile=/etc/default/export\nExecStart=/usr/local/bin/probe export",
    );
    let says = "/etc/default/export:1: systemd drops a line that begins with `export`";
    Row { name: "export", truth: None, answer: &[says], place: &[&drop_in("export"), "sure high"] }
        .holds(&machine);

    // A program of supervisord is no business of this unit: one line, and the reason only on request.
    let other = "[program:w]\ncommand=/bin/true\nenvironment=TZ=\"Asia/Tokyo\"\n";
    machine.write("/etc/supervisor/conf.d/w.conf", "644", other);
    unit(&machine, "noise", "ExecStart=/usr/local/bin/probe noise");
    let row = Row {
        name: "noise",
        truth: None,
        answer: &["noise.service, does not give it"],
        place: &[],
    };
    let printed = row.holds(&machine);
    let line = "do not reach the process: 1 (/etc/supervisor/conf.d/w.conf); --all shows why";
    assert!(printed.contains(line) && !printed.contains("only for what supervisord"), "{printed}");
    // It ends with its list: a unit that systemd starts directly has no other sources.
    assert!(printed.ends_with("not read: nothing"), "{printed}");
}

/// Command lines and scripts between systemd and the program.
#[test]
fn what_a_unit_runs_before_its_program() {
    let Some(machine) = machine() else { return };
    let script = |name: &str, lines: &str| {
        let file = format!("/usr/local/bin/{name}-start");
        let text = format!("#!/bin/sh\n{lines}\nexec /usr/local/bin/probe {name}\n");
        machine.write(&file, "755", &text);
        unit(&machine, name, &format!("Environment=TZ=UTC\nExecStart={file}"));
    };
    script("unset", "unset TZ");
    let printed = Row {
        name: "unset",
        truth: None,
        answer: &["/usr/local/bin/unset-start:2 removes it (`unset TZ`)"],
        place: &[
            "wrapper script, /usr/local/bin/unset-start",
            "its line 2 removes it",
            "sure high",
        ],
    }
    .holds(&machine);
    assert!(!printed.contains("different when it was started"), "{printed}");
    script("sets", "export TZ=Asia/Kolkata");
    let place = ["wrapper script, /usr/local/bin/sets-start", "sure high"];
    Row {
        name: "sets",
        truth: Some("Asia/Kolkata"),
        answer: &["/usr/local/bin/sets-start:2 sets it"],
        place: &place,
    }
    .holds(&machine);
    // systemd exports it already: an assignment is enough.
    script("plain", "TZ=Asia/Dubai");
    let place = ["wrapper script, /usr/local/bin/plain-start"];
    Row {
        name: "plain",
        truth: Some("Asia/Dubai"),
        answer: &["/usr/local/bin/plain-start:2 sets it"],
        place: &place,
    }
    .holds(&machine);

    let by_hand = ["change it there by hand", "sure low"];
    unit(
        &machine,
        "env",
        "Environment=TZ=UTC\nExecStart=/usr/bin/env -u TZ /usr/local/bin/probe env",
    );
    let says = "/etc/systemd/system/env.service:3 removes it (`env -u`)";
    Row { name: "env", truth: None, answer: &[says], place: &by_hand }.holds(&machine);
    unit(
        &machine,
        "shell",
        "Environment=TZ=UTC\nExecStart=sh -c 'TZ=Asia/Seoul exec /usr/local/bin/probe shell'",
    );
    let says = "/etc/systemd/system/shell.service:3 sets it, and shell.service starts its program with `sh -c`";
    Row { name: "shell", truth: Some("Asia/Seoul"), answer: &[says], place: &by_hand }
        .holds(&machine);

    // What a helper sources: the line is there, and is not exported.
    machine.write("/etc/default/helper", "644", "# of helper\nTZ=Asia/Tokyo\n");
    let file = "/usr/local/bin/helper-start";
    let text =
        "#!/bin/sh\nF=/etc/default/helper\n[ -r $F ] && . $F\nexec /usr/local/bin/probe helper\n";
    machine.write(file, "755", text);
    unit(&machine, "helper", &format!("ExecStart={file}"));
    let place = ["init script, /etc/default/helper", "sure high"];
    Row {
        name: "helper",
        truth: None,
        answer: &["/etc/default/helper:2 sets it without `export`"],
        place: &place,
    }
    .holds(&machine);
    let init = "#!/bin/sh\n### BEGIN INIT INFO\n# Provides: sysvd\n# Default-Start: 2 3 4 5\n### END INIT INFO\n\
                NAME=sysvd\n[ -r /etc/default/$NAME ] && . /etc/default/$NAME\ncase $1 in\nstart) start-stop-daemon \
                --start --background --make-pidfile --pidfile /run/sysvd.pid --startas /usr/local/bin/probe -- sysvd ;;\nesac\n";
    machine.write("/etc/init.d/sysvd", "755", init);
    machine.write("/etc/default/sysvd", "644", "TZ=Asia/Tokyo\n");
    machine.ok("systemctl daemon-reload; systemctl start sysvd");
    let printed = Row {
        name: "sysvd",
        truth: None,
        answer: &["/etc/default/sysvd:1 sets it without `export`"],
        place: &["init script, /etc/default/sysvd", "sure high"],
    }
    .holds(&machine);
    // start-stop-daemon is no script: what it reads is not known, and that is said.
    let ends =
        "not looked at: - programs of the unit that are not shell scripts, and what they read";
    assert!(printed.ends_with(ends) && !printed.contains("not read"), "{printed}");

    // runuser is not su: it reads no file of PAM, and passes on what the unit gives it.
    unit(
        &machine,
        "runuser",
        "Environment=TZ=UTC\nExecStart=/sbin/runuser -u daemon -- /usr/local/bin/probe runuser",
    );
    let place = ["/etc/systemd/system/runuser.service.d/zz-needless.conf", "sure high"];
    let says = "/etc/systemd/system/runuser.service:2 sets it";
    Row { name: "runuser", truth: Some("UTC"), answer: &[says], place: &place }.holds(&machine);

    // A file that was changed after the start says nothing of the start; an older one does.
    unit(&machine, "late", "ExecStart=/usr/local/bin/probe late");
    machine.ok("sleep 2");
    machine.write(
        "/etc/systemd/system/late.service.d/x.conf",
        "644",
        "[Service]\nEnvironment=TZ=UTC\n",
    );
    machine.ok("systemctl daemon-reload");
    let says = "late.service.d/x.conf:2 sets it, and was changed after the process was started";
    Row { name: "late", truth: None, answer: &[says], place: &[] }.holds(&machine);
}

/// Sessions: what PAM, sshd, su and sudo give, at's jobs, and the files of login shells.
#[test]
fn what_a_session_gets() {
    let Some(machine) = machine() else { return };
    machine.ok(
        "useradd -m -s /bin/bash bob; : >/etc/environment; cp /etc/security/pam_env.conf /root/",
    );
    machine.ok(
        "echo 'TZ DEFAULT=Asia/Baku' >>/etc/security/pam_env.conf; echo TZ=UTC >/etc/environment",
    );
    // Debian's su reads pam_env.conf twice, the second time after /etc/environment.
    drop(machine.start("exec su -s /bin/sh -c 'exec /usr/local/bin/probe pam' daemon"));
    let row = Row {
        name: "pam",
        truth: Some("Asia/Baku"),
        answer: &["/etc/security/pam_env.conf:", "PAM reads it (pam_env in /etc/pam.d/su)"],
        place: &["pam_env.conf, /etc/security/pam_env.conf", "sure high"],
    };
    assert!(row.holds(&machine).contains("not looked at: - PAM modules other than pam_env"));
    let change = "needless fix --in /etc/security/pam_env.conf --set TZ=Asia/Tokyo --yes";
    machine.ok(change);
    assert_eq!(machine.ok("su -s /bin/sh -c 'echo $TZ' daemon"), "Asia/Tokyo\n");
    machine.ok("needless undo; cp /root/pam_env.conf /etc/security/; : >/etc/environment");

    machine.write("/etc/profile.d/tz.sh", "644", "export TZ=Asia/Tokyo\n");
    machine.ok("echo TZ=Europe/Oslo >>/home/bob/.profile");
    drop(machine.start("exec su - bob -c 'exec /usr/local/bin/probe profile'"));
    Row {
        name: "profile",
        truth: Some("Europe/Oslo"),
        answer: &["/home/bob/.profile:", "sets it, and su - starts a login shell"],
        place: &["user's shell, /home/bob/.profile", "sure high"],
    }
    .holds(&machine);
    machine.ok("rm /etc/profile.d/tz.sh; sed -i /Oslo/d /home/bob/.profile");

    drop(machine.start("TZ=Asia/Kolkata exec su -w TZ - bob -c 'exec /usr/local/bin/probe kept'"));
    let printed =
        Row { name: "kept", truth: Some("Asia/Kolkata"), answer: &["inherited: su["], place: &[] }
            .holds(&machine);
    assert!(printed.contains("kept here: `-w` of su names it"), "{printed}");
    drop(
        machine
            .start("TZ=Asia/Kolkata exec su -w LANG - bob -c 'exec /usr/local/bin/probe dropped'"),
    );
    Row {
        name: "dropped",
        truth: None,
        answer: &["lost here: su - starts a new environment"],
        place: &[],
    }
    .holds(&machine);

    if program("sudo").is_some() {
        drop(machine.start("TZ=UTC exec sudo -n -E -u bob env -u TZ /usr/local/bin/probe sudo"));
        let printed = Row {
            name: "sudo",
            truth: None,
            answer: &["lost here: by `env -u` among sudo["],
            place: &["change that command", "sure low"],
        }
        .holds(&machine);
        assert!(!printed.contains("never is"), "{printed}");
    }

    if machine.has("atd").is_some() {
        machine.ok("set -e; cd /var/spool/cron; mkdir -p atjobs atspool; touch atjobs/.SEQ; chmod 600 atjobs/.SEQ
             chown -R daemon:daemon atjobs atspool; chmod 1770 atjobs atspool
             systemctl daemon-reload; systemctl start atd
             echo 'exec /usr/local/bin/probe job' | TZ=Asia/Baku at now");
        let answer =
            ["/var/spool/cron/atjobs/=", "sets it, and it is the only job of at that runs"];
        Row { name: "job", truth: Some("Asia/Baku"), answer: &answer, place: &["submit it again"] }
            .holds(&machine);
    }

    if program("sshd").is_some() {
        machine.ok("set -e; mkdir -p /run/sshd /root/.ssh; chmod 700 /root/.ssh; ssh-keygen -A >/dev/null
             rm -f /root/.ssh/t*; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/t
             { printf 'environment=\"TZ=Europe/Rome\" '; cat /root/.ssh/t.pub; } >/root/.ssh/authorized_keys
             echo PermitUserEnvironment yes >/etc/ssh/sshd_config.d/a.conf
             echo AcceptEnv TZ >/etc/ssh/sshd_config.d/b.conf; /usr/sbin/sshd -p 2222");
        let ssh = "exec ssh -i /root/.ssh/t -o StrictHostKeyChecking=no -p 2222";
        drop(machine.start(&format!("{ssh} root@127.0.0.1 /usr/local/bin/probe key")));
        let answer =
            ["/root/.ssh/authorized_keys:1 sets it", "if the session was opened with that key"];
        let row = Row { name: "key", truth: Some("Europe/Rome"), answer: &answer, place: &[] };
        assert!(row.holds(&machine).contains("not looked at: - PAM modules"));
        machine.ok("cp /root/.ssh/t.pub /root/.ssh/authorized_keys");
        let sent = "TZ=Asia/Dubai; export TZ;";
        drop(machine.start(&format!(
            "{sent} {ssh} -o SendEnv=TZ root@127.0.0.1 /usr/local/bin/probe sent"
        )));
        let answer =
            ["the client sent it (SendEnv), which /etc/ssh/sshd_config.d/b.conf:1 accepts"];
        Row { name: "sent", truth: Some("Asia/Dubai"), answer: &answer, place: &[] }
            .holds(&machine);
    }
}

/// An ordinary user may not follow the links of root's processes, and still learns which launcher it was.
#[test]
fn launchers_of_root_for_an_ordinary_user() {
    let Some(machine) = machine() else { return };
    machine.ok("useradd -m -s /bin/sh bob; echo export TZ=Europe/Oslo >>/home/bob/.profile");
    drop(machine.start("exec su - bob -c 'exec /usr/local/bin/probe own'"));
    let pid = machine.pid_of(&format!("{WORDS} own"), "0");
    let ask = format!("setpriv --reuid bob --regid bob --init-groups needless origin TZ {pid}");
    let printed = machine.ok(&ask);
    let printed = printed.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.starts_with("TZ is Europe/Oslo in perl["), "{printed}");
    let says = "/home/bob/.profile:";
    assert!(printed.contains(says) && printed.contains("su - starts a login shell"), "{printed}");
    assert!(printed.contains("to change it: user's shell, /home/bob/.profile"), "{printed}");
    assert!(!printed.contains("sudoers"), "{printed}");
    machine.ok(&format!("kill {pid}"));
    if program("sshd").is_some() {
        machine.ok("set -e; mkdir -p /run/sshd /root/.ssh; ssh-keygen -A >/dev/null; usermod -p '*' bob
             rm -f /root/.ssh/b*; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/b
             install -d -m 700 -o bob /home/bob/.ssh; cp /root/.ssh/b.pub /home/bob/.ssh/authorized_keys
             rm -f /run/nologin; echo TZ=Europe/Rome >/etc/environment; /usr/sbin/sshd -p 2223
             until ssh-keyscan -p 2223 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done");
        let ssh = "exec ssh -i /root/.ssh/b -o StrictHostKeyChecking=no -p 2223 bob@127.0.0.1";
        drop(machine.start(&format!("{ssh} exec /usr/local/bin/probe session")));
        let pid = machine.pid_of(&format!("{WORDS} session"), "0");
        let printed = machine.ok(&ask.replace(&ask[ask.rfind(' ').unwrap()..], &format!(" {pid}")));
        let printed = printed.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        assert!(printed.starts_with("TZ is Europe/Rome in perl["), "{printed}");
        assert!(printed.contains("/etc/environment:1 sets it"), "{printed}");
        assert!(printed.contains("to change it: pam_env, /etc/environment"), "{printed}");
        machine.ok(&format!("kill {pid}; : >/etc/environment"));
    }
    if machine.has("cron").is_none() {
        return;
    }
    machine.ok("rm -f /etc/cron.d/* /etc/crontab");
    machine.write(
        "/etc/cron.d/own",
        "644",
        "TZ=Asia/Baku\n* * * * * bob exec /usr/local/bin/probe job\n",
    );
    machine.ok("systemctl restart cron");
    let pid = wait(|| {
        let pid = stdout(&machine.run(&format!("pgrep -o -x -f '{WORDS} job'"))).trim().to_owned();
        (!pid.is_empty()).then_some(pid)
    })
    .expect("cron starts the job within a minute");
    let printed = machine.ok(&ask.replace(&ask[ask.rfind(' ').unwrap()..], &format!(" {pid}")));
    assert!(printed.starts_with("TZ is Asia/Baku in perl["), "{printed}");
    assert!(printed.contains("to change it: crontab, /etc/cron.d/own"), "{printed}");
}

/// A list is shown once, and then what was added and dropped.
#[test]
fn a_list_is_shown_as_its_entries() {
    let Some(perl) = program("perl") else { return };
    let script = "$ENV{PATH} = '/opt/new:/usr/bin'; $| = 1; print qq(ready\\n); sleep 100";
    let mut child = command(&perl)
        .args(["-e", script])
        .env("PATH", "/usr/bin:/opt/old")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    let done = needless(&["origin", "PATH", &child.id().to_string()]);
    let (_, _) = (child.kill(), child.wait());
    let printed = stdout(&done).split_ascii_whitespace().collect::<Vec<_>>().join(" ");
    let says = "it changed the variable itself, after its start: with /opt/new, without /opt/old";
    assert!(printed.contains(says), "{printed}");
    assert_eq!(printed.matches("/opt/new:/usr/bin").count(), 1, "{printed}");
}
