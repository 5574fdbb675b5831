//! `fix --format ansible`: ansible-playbook takes what it prints, and does what `fix` would have done.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;

/// A machine with ansible-playbook in it.
fn ansible() -> Option<Machine> {
    let machine = machine("debs debs-ansible")?;
    machine.has("ansible-playbook")?;
    machine.has("supervisord")?;
    Some(machine)
}

/// Runs a play there, and returns its last lines. `options`: `--check`.
fn play(machine: &Machine, file: &str, options: &str) -> String {
    let words = format!(
        "cd /root; LC_ALL=C.UTF-8 ansible-playbook -i localhost, -c local {options} {file} 2>&1"
    );
    machine.ok(&words)
}

#[test]
fn ansible_makes_the_drop_in_of_a_unit() {
    let Some(machine) = ansible() else { return };
    let unit = "[Service]\nExecStart=/usr/local/bin/probe web\n";
    machine.write("/etc/systemd/system/web.service", "644", unit);
    machine.ok("systemctl daemon-reload; systemctl start web");
    let before = files(&machine);
    let fix = "needless fix --unit web --set TZ=Asia/Tokyo --format ansible";
    let plain = machine.ok(fix);
    assert!(plain.contains("# Restart: systemctl restart web.service"), "{plain}");
    assert!(!plain.contains("state: restarted"), "{plain}");
    machine.ok(&format!("{fix} --restart >/root/play.yaml"));
    let said = play(&machine, "play.yaml", "--check");
    assert!(said.contains("failed=0") && !said.contains("changed=0"), "{said}");
    same(&before, &files(&machine), "only printed, and only checked");
    let old = machine.pid_of(&format!("{WORDS} web"), "0");
    let said = play(&machine, "play.yaml", "");
    assert!(said.contains("failed=0"), "{said}");
    let new = machine.pid_of(&format!("{WORDS} web"), &old);
    assert_eq!(calls(&machine, &new), 0, "{said}");
    let file = machine.ok("cat /etc/systemd/system/web.service.d/zz-needless.conf");
    assert_eq!(file, "[Service]\nEnvironment=\"TZ=Asia/Tokyo\"\n");
    let again = play(&machine, "play.yaml", "");
    assert!(again.contains("changed=0"), "{again}");
    // The file is there: there is nothing to print.
    let done = machine.run(fix);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(0), ""));
    assert!(stderr(&done).contains("already so: TZ=Asia/Tokyo"), "{}", stderr(&done));
}

/// A file, its text before, the change, and the text after.
const LINES: [(&str, &str, &str, &str); 9] = [
    ("/etc/environment", "A=1\nTZ=UTC\nB=2\n", "--set TZ=Asia/Tokyo", "A=1\nTZ=Asia/Tokyo\nB=2\n"),
    (
        "/etc/default/one",
        "# of one\nA=1\n",
        "--set TZ=Asia/Tokyo",
        "# of one\nA=1\nexport TZ=Asia/Tokyo\n",
    ),
    ("/etc/default/two", "TZ=UTC\nB=2\n", "--set TZ=Asia/Tokyo", "export TZ=Asia/Tokyo\nB=2\n"),
    ("/etc/default/three", "A=1\nexport TZ=UTC\n", "--unset TZ", "A=1\n"),
    (
        "/etc/ssh/sshd_config",
        "Port 22\nMatch User joe\n  X11Forwarding no\nMatch all\n",
        "--set TZ=Asia/Tokyo",
        "Port 22\nSetEnv TZ=Asia/Tokyo\nMatch User joe\n  X11Forwarding no\nMatch all\n",
    ),
    (
        "/etc/supervisor/conf.d/w.conf",
        "[program:web]\ncommand=/bin/true\n[program:db]\ncommand=/bin/true\n",
        "--part db --set TZ=Asia/Tokyo",
        "[program:web]\ncommand=/bin/true\n[program:db]\nenvironment=TZ=\"Asia/Tokyo\"\ncommand=/bin/true\n",
    ),
    (
        "/etc/php/8.2/fpm/pool.d/www.conf",
        "[www]\nuser = www-data\nenv[TZ] = \"UTC\"\nenv[A] = \"1\"\n",
        "--part www --set TZ=Asia/Tokyo",
        "[www]\nuser = www-data\nenv[TZ] = \"Asia/Tokyo\"\nenv[A] = \"1\"\n",
    ),
    ("/etc/profile.d/zz-needless.sh", "", "--set TZ=Asia/Tokyo", "export TZ=Asia/Tokyo\n"),
    (
        "/etc/default/managed",
        "# Ansible managed\nA='{{ x }}'\n",
        "--set TZ=Asia/Tokyo",
        "# Ansible managed\nA='{{ x }}'\nexport TZ=Asia/Tokyo\n",
    ),
];

/// What is printed leads to the text that `fix` itself writes, but for its comment; a second run changes nothing.
#[test]
fn ansible_writes_the_lines_that_fix_writes() {
    let Some(machine) = ansible() else { return };
    // It is asked to read its files again.
    machine.ok("supervisord -c /etc/supervisor/supervisord.conf; until supervisorctl pid; do sleep 0.1; done");
    for (file, before, change, _) in LINES {
        if !before.is_empty() {
            machine.write(file, "644", before);
        }
        machine
            .ok(&format!("needless fix --in {file} {change} --format ansible >>/root/play.yaml"));
        if before.contains("managed") {
            let refused = machine.run(&format!("needless fix --in {file} {change} {YES}"));
            assert!(
                stderr(&refused).contains("--format ansible prints it"),
                "{}",
                stderr(&refused)
            );
            assert!(machine.ok("cat /root/play.yaml").contains("into its template instead"));
            continue;
        }
        // As `fix` does it, and back.
        machine.ok(&format!(
            "needless fix --in {file} {change} {YES} && grep -v '^# Set by .needless' {file} >{file}.fixed; \
             needless undo; true"
        ));
    }
    play(&machine, "play.yaml", "--syntax-check");
    let said = play(&machine, "play.yaml", "");
    assert!(said.contains("failed=0"), "{said}");
    for (file, before, _, after) in LINES {
        assert_eq!(machine.ok(&format!("cat {file}")), after, "{file}");
        if !before.contains("managed") {
            assert_eq!(
                machine.ok(&format!("cat {file}.fixed")),
                after,
                "{file}: fix does another thing"
            );
        }
    }
    let again = play(&machine, "play.yaml", "");
    assert!(again.contains("changed=0"), "{again}");
}

/// Values that YAML, Jinja and Ansible treat specially arrive as they are.
#[test]
fn ansible_passes_values_on_as_they_are() {
    let Some(machine) = ansible() else { return };
    let values: Vec<&str> =
        HARD.into_iter().chain(["{{ lookup('pipe', 'id') }}", "{% raw %}", "yes"]).collect();
    for (at, value) in values.iter().enumerate() {
        let value = value.replace('\'', "'\\''");
        machine.write(&format!("/etc/default/v{at}"), "644", "A=1\n");
        for file in [format!("/etc/default/v{at}"), format!("/etc/default/n{at}")] {
            machine.ok(&format!(
                "needless fix --in {file} --set 'X={value}' --format ansible --show-value >>/root/play.yaml"
            ));
        }
    }
    let said = play(&machine, "play.yaml", "");
    assert!(said.contains("failed=0"), "{said}");
    for (at, value) in values.iter().enumerate() {
        for kind in ["v", "n"] {
            let is = machine.ok(&format!("sh -c '. /etc/default/{kind}{at}; exec env' | grep ^X="));
            assert_eq!(is, format!("X={value}\n"), "{kind}{at}");
        }
    }
}

/// What may be a secret is not printed: neither the value nor what else is in its line.
#[test]
fn fix_prints_no_secret_in_a_snippet() {
    let folder = open_folder();
    let file = folder.path().join("sshd_config");
    std::fs::write(&file, "SetEnv SECRET=hunter2 TZ=UTC\n").unwrap();
    let fix = |change: &str, more: &[&str]| {
        let file = file.to_str().unwrap();
        let words = ["fix", "--in", file, "--set", change, "--format", "ansible"];
        needless(&[&words, more].concat())
    };
    for change in ["API_TOKEN=swordfish", "DATABASE=pg://me:swordfish@h", "TZ=Asia/Tokyo"] {
        let done = fix(change, &[]);
        let said = stderr(&done);
        assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(2), ""), "{change}: {said}");
        assert!(said.contains("--show-value"), "{change}: {said}");
        assert!(!said.contains("hunter2") && !said.contains("swordfish"), "{change}: {said}");
    }
    let done = fix("TZ=Asia/Tokyo", &["--show-value"]);
    assert!(stdout(&done).contains("SECRET=hunter2 TZ=Asia/Tokyo"), "{}", stdout(&done));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "SetEnv SECRET=hunter2 TZ=UTC\n");
}
