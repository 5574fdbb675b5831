//! What is written to a place arrives there as it is, shows no secret, and is seen by those who are said to see it.

use crate::booted::probe::*;
use crate::common::*;

/// What `fix` shows, and the list of changes, hold no secret of the files; the files do.
#[test]
fn fix_shows_no_secret_beside_a_change() {
    let Some(machine) = machine("") else { return };
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
        let before = files(&machine);
        for change in [
            "--set TZ=Asia/Tokyo",
            "--unset TZ",
            "--set API_TOKEN=Zq8hunter",
            "--set DATABASE=pg://me:Zq8hunter@host",
        ] {
            let done = format!("needless fix --in {file} {change} {YES} 2>&1");
            let fixed = machine.ok(&done);
            assert!(fixed.contains("@@ -") && fixed.contains(file), "{fixed}");
            assert!(!fixed.contains("hunter"), "{fixed}");
            let list = machine.ok("needless undo --list; needless undo 2>&1");
            assert!(list.contains(file) && !list.contains("hunter"), "{list}");
            assert_eq!(files(&machine), before, "{file}");
        }
        // Who wants to see the lines asks for them.
        let diff = machine.ok(&format!("needless fix --in {file} --set TZ=Asia/Tokyo --diff"));
        assert!(diff.contains("Zq8hunter") && diff.contains("Asia/Tokyo"), "{diff}");
    }
}

#[test]
fn readers_get_values_as_fix_was_given_them() {
    let Some(machine) = machine("debs") else { return };
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
fn origin_says_who_sees_a_variable() {
    if program("sudo").is_none() {
        return;
    }
    let Some(machine) = machine("") else { return };
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
            let stats = calls(&machine, &pid);
            assert_eq!(stats == 0, sees[at], "{name}, TZ in {column}: {stats} stats");
            let story = origin(&machine, &pid);
            let expected =
                if sees[at] { "TZ is :/etc/localtime in perl[" } else { "TZ is not set in perl[" };
            assert!(story.starts_with(expected), "{name}, TZ in {column}: {story}");
            // `origin` names the file, and whether it reaches the process.
            assert_eq!(at > 0, story.contains(&format!("{column}:1")), "{name}: {story}");
            machine.run("systemctl stop probe");
            machine.end(&pid);
        }
    }
}

/// A list is shown once, and then what was added and dropped.
#[test]
fn origin_shows_what_was_added_to_a_list_and_dropped() {
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
    let printed = flat(&stdout(&done));
    let says = "it changed the variable itself, after its start: with /opt/new, without /opt/old";
    assert!(printed.contains(says), "{printed}");
    assert_eq!(printed.matches("/opt/new:/usr/bin").count(), 1, "{printed}");
}
