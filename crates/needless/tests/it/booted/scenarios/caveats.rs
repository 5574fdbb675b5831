//! What a change of a unit reaches besides, and what its restart takes with it.

use crate::booted::scenario::*;

/// What a change of a unit reaches besides, and what its restart takes with it, is said before.
#[test]
fn fix_says_what_a_change_of_a_unit_means_for_others() {
    let Some(machine) = machine("debs debs-launchers") else { return };
    let shared = ("/etc/default/shared", "644", "TZ=UTC\n");
    let second =
        "[Service]\nEnvironmentFile=/etc/default/shared\nExecStart=/usr/local/bin/probe second\n";
    machine.write("/etc/systemd/system/second.service", "644", second);
    hold(
        &machine,
        &[Scenario {
            name: "first",
            unit: "EnvironmentFile=/etc/default/shared\nExecStart=/usr/local/bin/probe NAME",
            files: &[shared],
            start: "systemctl restart second NAME",
            truth: Some("UTC"),
            place: ("/etc/default/shared", "high"),
            says: &["second.service"],
            ..UNIT
        }],
    );
    machine.ok("mkdir -p /run/sshd; ssh-keygen -A; getent passwd messagebus || useradd -r messagebus; systemctl daemon-reload
         mkdir -p /var/spool/cron/atjobs /var/spool/cron/atspool; touch /var/spool/cron/atjobs/.SEQ
         chown -R daemon:daemon /var/spool/cron/at*; chmod 1770 /var/spool/cron/at*");
    let before = files(&machine);
    let asked = |unit: &str, more: &str| {
        machine.all(&format!("needless fix --unit {unit} --set TZ={ZONE} {YES} {more}"))
    };
    let mut seen = 0;
    for (unit, says) in [
        ("cron", "Its jobs do not get it"),
        ("atd", "Its jobs do not get it"),
        ("supervisor", "Every program that it starts gets it, too"),
        ("ssh", "Every session of it gets it, too"),
        ("dbus", "Restarting dbus.service may end sessions, connections and other services"),
        (
            "systemd-logind",
            "Restarting systemd-logind.service may end sessions, connections and other services",
        ),
    ] {
        if machine.run(&format!("systemctl start {unit}")).status.success() {
            let said = asked(unit, "--restart");
            assert!(said.contains(says), "{unit}: {said}");
            seen += 1;
            machine.run("needless undo --last");
            same(&before, &files(&machine), unit);
        }
    }
    assert_eq!(seen, 6, "each of them runs here");
    // A unit that is masked cannot start: nothing is written.
    machine.write(
        "/usr/lib/systemd/system/hidden.service",
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe hidden\n",
    );
    machine.ok("systemctl mask hidden");
    let before = files(&machine);
    let said = asked("hidden", "--restart");
    assert!(
        said.contains("hidden.service is masked") && said.contains("systemctl unmask"),
        "{said}"
    );
    assert!(!said.contains("written: change"), "{said}");
    same(&before, &files(&machine), "hidden");
}
