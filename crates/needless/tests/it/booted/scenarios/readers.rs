//! Files that several read: what is written is what each of them reads, who they are is said first, and what has to be
//! restarted. The truth is in the restarted processes.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::booted::unit_reports::forged;

/// What `fix` prints, with its exit status as the last line; it must be 0.
fn fixed(machine: &Machine, options: &str) -> String {
    let said = machine.all(&format!("needless fix {options} --yes --times-change"));
    assert!(said.ends_with("rc 0"), "{options}: {said}");
    // Whom it reaches is said first.
    assert_eq!(said.lines().position(|line| line.starts_with("  reaches  ")), Some(1), "{said}");
    said
}

/// A text has all of these parts.
fn has(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "{part:?} in {said}");
    }
}

/// A service that runs the probe, with these lines besides; it is started, and may be as often as a test likes.
fn service(machine: &Machine, name: &str, lines: &str) {
    let start = format!("ExecStart=/usr/local/bin/probe {}", name.split('@').next().unwrap());
    let start = if lines.contains("ExecStart=") { String::new() } else { start };
    let unit = format!("[Unit]\nStartLimitIntervalSec=0\n[Service]\n{lines}\n{start}\n");
    machine.write(&format!("/etc/systemd/system/{name}.service"), "644", &unit);
    if !name.ends_with('@') {
        machine.ok(&format!("systemctl daemon-reload; systemctl restart {name}"));
    }
}

/// The variable that a service has, after a restart of it.
fn restarted(machine: &Machine, unit: &str, variable: &str) -> Option<String> {
    machine.ok(&format!("systemctl restart {unit}"));
    is(machine, unit, variable)
}

/// The variable that the program of a service was started with, once it runs: until then its process has systemd's name
/// for it, or that of the script.
fn is(machine: &Machine, unit: &str, variable: &str) -> Option<String> {
    let pid = machine.main_of(unit);
    machine
        .ok(&format!("while grep -q -e '^(' -e '-start$' /proc/{pid}/comm; do sleep 0.05; done"));
    let environ = machine.ok(&format!("tr '\\0' '\\n' </proc/{pid}/environ"));
    let value = |line: &str| Some(line.strip_prefix(variable)?.strip_prefix('=')?.to_owned());
    environ.lines().find_map(value)
}

const ZONE_HERE: Option<&str> = Some(ZONE);

#[test]
fn fix_writes_what_every_reader_of_a_file_reads() {
    let Some(machine) = machine("debs debs-launchers") else { return };
    only_systemd_reads_it(&machine);
    units_of_the_distribution(&machine);
    a_script_reads_it_too(&machine);
    only_a_script_reads_it(&machine);
    containers_read_it_too(&machine);
}

/// Three services, one, and one by a pattern: an assignment, and never `export`.
fn only_systemd_reads_it(machine: &Machine) {
    let text = "TZ=Asia/Baku\nDB_PASSWORD=hunter2\n";
    machine.write("/etc/default/shared", "600", text);
    for name in ["shr1", "shr2", "shr3"] {
        service(machine, name, "EnvironmentFile=/etc/default/shared");
    }
    let said = fixed(machine, "--in /etc/default/shared --set TZ=Asia/Tokyo --restart");
    has(
        &said,
        &[
            "  reaches  3 units: shr1.service, shr2.service, shr3.service\n",
            "  place    EnvironmentFile, /etc/default/shared\n",
            "  caveat   --restart restarts none of them",
            "  restart  systemctl restart shr1.service\n",
            "  restart  systemctl restart shr3.service\n",
            "nothing restarted: ",
            "`systemctl restart shr2.service`",
        ],
    );
    fixed(machine, "--in /etc/default/shared --set DB_PASSWORD=new");
    for name in ["shr1", "shr2", "shr3"] {
        assert_eq!(is(machine, name, "TZ").as_deref(), Some("Asia/Baku"), "not restarted");
        assert_eq!(restarted(machine, name, "TZ").as_deref(), ZONE_HERE);
        assert_eq!(is(machine, name, "DB_PASSWORD").as_deref(), Some("new"));
    }
    machine.ok("needless undo; needless undo");
    assert_eq!(machine.ok("cat /etc/default/shared"), text);
    // One of them, by its name: the others are named.
    let said = fixed(machine, "--unit shr2 --set TZ=Asia/Tokyo --restart");
    has(
        &said,
        &[
            "  reaches  3 units: ",
            "after a restart of their own: shr1.service, shr3.service.",
            "in force: ",
        ],
    );
    machine.ok("needless undo; systemctl restart shr2");

    machine.write("/etc/sysconfig/rh", "644", "# of rh\nA=1\n");
    machine.write("/etc/pat/a.env", "644", "B=1\n");
    service(machine, "rh", "EnvironmentFile=-/etc/sysconfig/rh\nEnvironmentFile=/etc/pat/*.env");
    for file in ["/etc/sysconfig/rh", "/etc/pat/a.env"] {
        let said = fixed(machine, &format!("--in {file} --set TZ=Asia/Tokyo --restart"));
        has(
            &said,
            &[
                "  reaches  one unit: rh.service\n",
                "restarted: systemctl restart rh.service",
                "in force: ",
            ],
        );
        assert_eq!(is(machine, "rh", "TZ").as_deref(), ZONE_HERE);
        machine.ok("needless undo; systemctl restart rh");
    }
}

/// Debian's ssh and cron name a file in /etc/default, which their init scripts source. sshd writes its title over the
/// variables that it was started with: a command that systemd runs before it with the same ones says what they are.
fn units_of_the_distribution(machine: &Machine) {
    machine.ok("mkdir -p /run/sshd; ssh-keygen -A");
    for name in ["ssh", "cron"] {
        let says =
            format!("[Service]\nExecStartPre=/bin/sh -c 'echo \"is $$TZ\" >/run/{name}.tz'\n");
        machine.write(&format!("/etc/systemd/system/{name}.service.d/says.conf"), "644", &says);
        machine.ok(&format!("systemctl daemon-reload; systemctl restart {name}"));
        let file = format!("/etc/default/{name}");
        let said = fixed(machine, &format!("--in {file} --set TZ=Asia/Tokyo --restart"));
        let reach = format!("  reaches  one unit: {name}.service\n");
        has(&said, &[&reach, "\n+TZ=Asia/Tokyo\n", "in force: "]);
        assert_eq!(machine.ok(&format!("cat /run/{name}.tz")), "is Asia/Tokyo\n");
        machine.ok(&format!("needless undo; systemctl restart {name}"));
        assert_eq!(machine.ok(&format!("cat /run/{name}.tz")), "is \n");
    }
}

/// The script of md1 sources what md2 names: both get the variable, whichever of them it is for.
fn a_script_reads_it_too(machine: &Machine) {
    let script = "#!/bin/sh\n. /etc/default/mixd\nexec /usr/local/bin/probe md1\n";
    machine.write("/usr/local/bin/md1-start", "755", script);
    for (text, old) in [("TZ=Asia/Baku\n", Some("Asia/Baku")), ("export TZ=Asia/Baku\n", None)] {
        machine.write("/etc/default/mixd", "644", text);
        service(machine, "md1", "ExecStart=/usr/local/bin/md1-start");
        service(machine, "md2", "EnvironmentFile=/etc/default/mixd");
        for options in ["--unit md1", "--in /etc/default/mixd"] {
            assert_eq!(restarted(machine, "md2", "TZ").as_deref(), old);
            let said = fixed(machine, &format!("{options} --set TZ=Asia/Tokyo --restart"));
            has(
                &said,
                &[
                    "  reaches  2 units: md1.service, md2.service\n",
                    "\n+TZ=Asia/Tokyo\n+export TZ\n",
                ],
            );
            for unit in ["md1", "md2"] {
                assert_eq!(
                    restarted(machine, unit, "TZ").as_deref(),
                    ZONE_HERE,
                    "{options} {text}"
                );
            }
            let fix = format!(
                "needless fix {options} --set TZ=Asia/Tokyo --yes --times-change --restart"
            );
            has(&machine.ok(&fix), &["already so: "]);
            fixed(machine, "--in /etc/default/mixd --unset TZ");
            for unit in ["md1", "md2"] {
                assert_eq!(restarted(machine, unit, "TZ"), None, "{options} {text}");
            }
            machine.ok("needless undo; needless undo");
            assert_eq!(machine.ok("cat /etc/default/mixd"), text);
        }
    }
    // What one of them would take for something else.
    machine.write("/etc/default/mixd", "644", "TZ=UTC; export TZ\n");
    let said =
        machine.all("needless fix --in /etc/default/mixd --set TZ=Asia/Tokyo --yes --times-change");
    has(&said, &["line 1 sets TZ in a form that systemd, which reads the file too,", "rc 2"]);
}

fn only_a_script_reads_it(machine: &Machine) {
    machine.write("/etc/default/sh1", "644", "A=1\n");
    let script = "#!/bin/sh\n. /etc/default/sh1\nexec /usr/local/bin/probe sh1\n";
    machine.write("/usr/local/bin/sh1-start", "755", script);
    service(machine, "sh1", "ExecStart=/usr/local/bin/sh1-start");
    let said = fixed(machine, "--in /etc/default/sh1 --set TZ=Asia/Tokyo --restart");
    has(&said, &["  reaches  one unit: sh1.service\n", "\n+export TZ=Asia/Tokyo\n", "in force: "]);
    assert_eq!(is(machine, "sh1", "TZ").as_deref(), ZONE_HERE);
    machine.ok("needless undo");
}

/// An engine of containers refuses `export`, and the script needs it.
fn containers_read_it_too(machine: &Machine) {
    let unit = "[Service]\nExecStart=/usr/bin/docker run --env-file /etc/default/sh1 image\n";
    machine.write("/etc/systemd/system/eng.service", "644", unit);
    machine.ok("systemctl daemon-reload");
    let said =
        machine.all("needless fix --in /etc/default/sh1 --set TZ=Asia/Tokyo --yes --times-change");
    has(&said, &["sh1.service sources it", "the container of eng.service", "rc 2"]);
    assert_eq!(machine.ok("cat /etc/default/sh1"), "A=1\n");
}

#[test]
fn fix_names_the_instances_of_a_template() {
    let Some(machine) = machine("") else { return };
    service(&machine, "web@", "");
    machine.ok("systemctl daemon-reload; systemctl start web@a web@b");
    let said = fixed(&machine, "--unit web@ --set TZ=Asia/Tokyo --restart");
    has(
        &said,
        &[
            "  reaches  every instance of web@.service (2 units: web@a.service, web@b.service)\n",
            "  restart  systemctl restart web@a.service\n",
            "  restart  systemctl restart web@b.service\n",
            "nothing restarted: ",
        ],
    );
    assert!(!said.contains("Each connection") && !said.contains("no program is known"), "{said}");
    for unit in ["web@a", "web@b", "web@later"] {
        assert_eq!(restarted(&machine, unit, "TZ").as_deref(), ZONE_HERE);
    }
    machine.ok("needless undo; systemctl stop web@b web@later; systemctl restart web@a");
    assert_eq!(is(&machine, "web@a", "TZ"), None);
    // One runs: it is restarted and looked at.
    let said = fixed(&machine, "--unit web@ --set TZ=Asia/Tokyo --restart");
    has(&said, &["restarted: systemctl restart web@a.service", "in force: "]);
    assert_eq!(is(&machine, "web@a", "TZ").as_deref(), ZONE_HERE);
    machine.ok("needless undo; systemctl stop web@a");
    // A name with a character that systemd escapes.
    let escaped = r"'web@a\x2db'";
    machine.ok(&format!("systemctl start {escaped}"));
    let findings = [("tz-unset", "TZ", "America/New_York", false)];
    let report = forged("999999", &findings).replace("probe.service", "web@a-b.service");
    machine.write("/run/r.json", "644", &report);
    has(&fixed(&machine, "/run/r.json"), &[r"  reaches  one unit: web@a\x2db.service"]);
    machine.ok("needless undo");
    let said = fixed(&machine, &format!("--unit {escaped} --set TZ=Asia/Tokyo --restart"));
    has(&said, &[r"  reaches  one unit: web@a\x2db.service", "in force: "]);
    assert_eq!(is(&machine, escaped, "TZ").as_deref(), ZONE_HERE);
    machine.ok(&format!("needless undo; systemctl stop {escaped}"));
    let said = fixed(&machine, "--unit web@ --set TZ=Asia/Tokyo");
    has(&said, &["  reaches  every instance of web@.service\n"]);
    assert!(!said.contains("  restart  "), "{said}");
}

/// Drop-ins that others share sort last: ours gets a later name, and reaches one unit.
const OVERRULED: [Scenario<'static>; 4] = [
    Scenario {
        name: "foo-bar",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/etc/systemd/system/service.d/zzzz.conf",
            "644",
            "[Service]\nEnvironment=TZ=UTC\n",
        )],
        truth: Some("UTC"),
        answer: &["/etc/systemd/system/service.d/zzzz.conf:2 sets it"],
        place: ("/etc/systemd/system/NAME.service.d/zzzzzz-needless.conf", "high"),
        says: &["  reaches  one unit: foo-bar.service\n"],
        ..UNIT
    },
    Scenario {
        name: "pre-fix",
        unit: "ExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/etc/systemd/system/pre-.service.d/~.conf",
            "644",
            "[Service]\nEnvironment=TZ=UTC\n",
        )],
        truth: Some("UTC"),
        place: ("/etc/systemd/system/NAME.service.d/~zz-needless.conf", "high"),
        ..UNIT
    },
    Scenario {
        name: "tpl@x",
        files: &[
            (
                "/etc/systemd/system/tpl@.service",
                "644",
                "[Service]\nExecStart=/usr/local/bin/probe tpl\n",
            ),
            (
                "/etc/systemd/system/tpl@.service.d/zzz.conf",
                "644",
                "[Service]\nEnvironment=TZ=UTC\n",
            ),
        ],
        truth: Some("UTC"),
        place: ("/etc/systemd/system/NAME.service.d/zzzzz-needless.conf", "high"),
        ..UNIT
    },
    // It sets nothing, and drops what is set before it.
    Scenario {
        name: "emptied",
        unit: "Environment=TZ=UTC\nExecStart=/usr/local/bin/probe NAME",
        files: &[(
            "/etc/systemd/system/NAME.service.d/zzz-none.conf",
            "644",
            "[Service]\nEnvironment=\n",
        )],
        place: ("/etc/systemd/system/NAME.service.d/zzz-nonezz-needless.conf", "high"),
        ..UNIT
    },
];

#[test]
fn fix_changes_one_unit_where_several_share_a_file() {
    let Some(machine) = machine("") else { return };
    hold(&machine, &OVERRULED);
    // The plan names the services that read such a file.
    for (dir, reach) in [
        ("service", "every service of this machine"),
        (
            "pre-.service",
            "every service whose name begins with pre- (2 units: pre-a.service, pre-b.service)",
        ),
        ("web@.service", "every instance of web@.service (one unit: web@a.service)"),
        ("pre-a.service", "one unit: pre-a.service"),
    ] {
        service(&machine, "pre-a", "");
        service(&machine, "pre-b", "");
        service(&machine, "web@", "");
        machine.ok("systemctl daemon-reload; systemctl start web@a");
        let file = format!("/etc/systemd/system/{dir}.d/x.conf");
        let said = fixed(&machine, &format!("--in {file} --set TZ=Asia/Tokyo"));
        has(&said, &[&format!("  reaches  {reach}\n")]);
        machine.ok("needless undo");
    }
    let said = fixed(
        &machine,
        "--in /etc/systemd/system/pre-a.service.d/x.conf --set TZ=Asia/Tokyo --restart",
    );
    has(&said, &["in force: "]);
    assert_eq!(is(&machine, "pre-a", "TZ").as_deref(), ZONE_HERE);
    machine.ok("needless undo");
    // What removes it for all is named with its reach.
    let unset = "/etc/systemd/system/service.d/unset.conf";
    machine.write(unset, "644", "[Service]\nUnsetEnvironment=TZ\n");
    machine.ok("systemctl daemon-reload");
    let said = machine.all("needless fix --unit pre-a --set TZ=Asia/Tokyo --yes --times-change");
    has(&said, &["change it there, which reaches every service of this machine", "rc 2"]);
    machine.ok(&format!("rm {unset}; systemctl daemon-reload"));

    let script = "#!/bin/sh\nexport TZ=UTC\nexec /usr/local/bin/probe ws\n";
    machine.write("/usr/local/bin/ws-start", "755", script);
    for name in ["ws1", "ws2"] {
        service(&machine, name, "ExecStart=/usr/local/bin/ws-start");
    }
    let said = fixed(&machine, "--unit ws1 --set TZ=Asia/Tokyo");
    has(
        &said,
        &[
            "  reaches  2 units: ws1.service, ws2.service\n",
            "after a restart of their own: ws2.service.",
        ],
    );
    machine.ok("needless undo");
}

/// What everybody reads looks like it.
#[test]
fn fix_says_first_that_everybody_is_reached() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob");
    for (file, reach) in [
        ("/etc/environment", "every session of this machine"),
        ("/etc/profile.d/x.sh", "every session of this machine"),
        ("/etc/crontab", "every job of /etc/crontab"),
        ("/home/bob/.profile", "every session of user bob"),
        ("/etc/default/nobodys", "every program that reads /etc/default/nobodys"),
    ] {
        let user = if file.contains("bob") { "su bob -c" } else { "sh -c" };
        let said = machine.all(&format!(
            "{user} 'needless fix --in {file} --set TZ=Asia/Tokyo --yes --times-change'"
        ));
        has(&said, &[&format!("\n  reaches  {reach}\n")]);
    }
}
