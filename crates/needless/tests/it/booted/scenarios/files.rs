//! Files that are not changed, and changes that are taken back: the machine is as it was.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::{stderr, stdout};

/// `needless …`, its output and its status.
fn said(machine: &Machine, command: &str) -> (String, Option<i32>) {
    let done = machine.run(command);
    (format!("{}{}", stdout(&done), stderr(&done)), done.status.code())
}

const ETC: &str = "--in /etc/environment";

/// A name, what makes the file so, the change, the words that refuse it, and what clears it away. A change that sets
/// nothing sets the zone.
const REFUSED: [(&str, &str, &str, &str, &str); 15] = [
    (
        "a link",
        "mv /etc/environment /etc/e; ln -s e /etc/environment",
        ETC,
        "a link to e",
        "mv /etc/e /etc/environment",
    ),
    (
        "a directory that is a link",
        "mkdir /etc/d; ln -s /etc/d /etc/systemd/system/probe.service.d",
        "--unit probe",
        "in the path is a link",
        "rm /etc/systemd/system/probe.service.d; rmdir /etc/d",
    ),
    (
        "a masked drop-in",
        "mkdir /etc/systemd/system/probe.service.d; ln -s /dev/null /etc/systemd/system/probe.service.d/zz-needless.conf",
        "--unit probe",
        "a link to /dev/null",
        "rm -r /etc/systemd/system/probe.service.d",
    ),
    ("a hard link", "ln /etc/environment /etc/twin", ETC, "hard link", "rm /etc/twin"),
    ("others may write", "chmod o+w /etc/environment", ETC, "chmod", "chmod o-w /etc/environment"),
    (
        "Ansible",
        "echo '# Ansible managed' >/etc/environment",
        ETC,
        "Ansible",
        ": >/etc/environment",
    ),
    ("not UTF-8", "printf '#\\351\\n' >/etc/environment", ETC, "not UTF-8", ": >/etc/environment"),
    (
        "a mount",
        "mount --bind /etc/hostname /etc/environment",
        ETC,
        "/etc/environment",
        "umount /etc/environment",
    ),
    (
        "read-only",
        "mount --bind /etc /etc; mount -o remount,bind,ro /etc",
        ETC,
        "the file system is read-only",
        "umount /etc",
    ),
    (
        "a full disk",
        "mount -t tmpfs -o size=4k,mode=700 tmpfs /var/lib/needless; head -c 4096 /dev/zero >/var/lib/needless/x",
        ETC,
        "space",
        "umount /var/lib/needless",
    ),
    ("a path that leaves", "true", "--unit ../../x", "is not the name of a service", "true"),
    (
        "a line in a name",
        "true",
        "--unit 'x.service\n[Service]\nExecStartPre=evil'",
        "there is no unit",
        "true",
    ),
    ("a value of two lines", "true", "--unit probe --set 'TZ=a\nb'", "TZ=", "true"),
    (
        "a value that commands a terminal",
        "true",
        "--unit probe --set \"TZ=$(printf '\\033[2J')\"",
        "TZ=",
        "true",
    ),
    (
        "no zone",
        "true",
        "--unit probe --set TZ=Europe/Berlin2",
        "there is no zone Europe/Berlin2",
        "true",
    ),
];

/// Each is refused in one line that says why, and nothing is written.
#[test]
fn fix_refuses_files_that_it_must_not_change() {
    let Some(machine) = machine("") else { return };
    machine.write(
        "/etc/systemd/system/probe.service",
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe x\n",
    );
    machine.ok("systemctl daemon-reload");
    for (name, prepare, change, words, clear) in REFUSED {
        machine.ok(&format!("mkdir -p /var/lib/needless; {prepare}"));
        let zone = if change.contains("--set") { "" } else { &format!("--set TZ={ZONE}") };
        let before = files(&machine);
        let (printed, status) = said(&machine, &format!("needless fix {change} {zone} {YES}"));
        let after = files(&machine);
        machine.ok(clear);
        assert_eq!(status, Some(2), "{name}: {printed}");
        assert!(printed.contains(words), "{name}: {words:?} in {printed}");
        let lines: Vec<&str> =
            printed.lines().filter(|line| line.starts_with("needless: ")).collect();
        let ours = printed.lines().skip_while(|line| !line.starts_with("needless: ")).count();
        assert_eq!(lines.len(), ours, "{name}: not one line each: {printed}");
        assert!(!printed.contains('\u{1b}'), "{name}: {printed:?}");
        same(&before, &after, name);
    }
}

/// Many changes, in one place and in several, taken back in turn and from the middle.
#[test]
fn undo_takes_back_changes_in_any_order() {
    let Some(machine) = machine("") else { return };
    for at in 0..5 {
        let unit = format!("[Service]\nExecStart=/usr/local/bin/probe u{at}\n");
        machine.write(&format!("/etc/systemd/system/u{at}.service"), "644", &unit);
    }
    machine.write("/etc/default/endless", "640", "# no end\nexport A=1");
    machine.ok("chown root:daemon /etc/default/endless; touch -d 2020-01-01 /etc/default/endless
         systemctl daemon-reload; systemctl start u0 u1 u2 u3 u4");
    let before = files(&machine);
    twelve_changes(&machine, &before);
    ten_at_once(&machine);
    same(&before, &files(&machine), "ten at once");
    one_that_cannot_be_written(&machine);
    same(&before, &files(&machine), "immutable");
    one_that_is_edited(&machine);
    same(&before, &files(&machine), "edited");
}

const DROP_IN: &str = "/etc/systemd/system/u0.service.d/zz-needless.conf";

fn fix(machine: &Machine, what: &str, value: &str) {
    machine.ok(&format!("needless fix {what} --set {value} --yes --times-change"));
}

/// Two of each unit and of one file, and some more.
fn twelve_changes(machine: &Machine, before: &str) {
    let time = machine.ok("stat -c %y /etc/default/endless");
    for at in 0..5 {
        fix(machine, &format!("--unit u{at}"), "TZ=Asia/Tokyo");
        fix(machine, "--in /etc/environment", &format!("A{at}=x{at}"));
    }
    fix(machine, "--unit u0", "LANG=C.UTF-8");
    fix(machine, "--in /etc/default/endless", "TZ=UTC");
    let list = machine.ok("needless undo --list");
    let last: u32 =
        list.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).max().unwrap();
    let mine: Vec<u32> = (last - 11..=last).collect();
    // One that is below another is refused, and names it.
    let (printed, status) = said(machine, &format!("needless undo {}", mine[0]));
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains(&format!("change {}", mine[10])), "{printed}");
    for id in mine.iter().rev() {
        machine.ok(&format!("needless undo {id}"));
    }
    same(before, &files(machine), "twelve changes");
    assert_eq!(machine.ok("stat -c %y /etc/default/endless"), time);
    for at in 0..5 {
        assert_eq!(
            machine
                .ok(&format!("systemctl show -p NeedDaemonReload,Environment,DropInPaths u{at}")),
            "Environment=\nDropInPaths=\nNeedDaemonReload=no\n"
        );
    }
}

/// Each change is made once, or refused whole; and all are taken back.
fn ten_at_once(machine: &Machine) {
    let script = "for at in 0 1 2 3 4 0 1 2 3 4; do needless fix --unit u$at --set TZ=Asia/Tokyo --yes --times-change & done; wait";
    machine.run(script);
    for at in 0..5 {
        machine.ok(&format!("needless fix --unit u{at} --set TZ=Asia/Tokyo {YES}; grep -c TZ=Asia/Tokyo /etc/systemd/system/u{at}.service.d/zz-needless.conf"));
    }
    for _ in 0..5 {
        machine.ok("needless undo --last");
    }
}

/// A file that cannot be written now: the change holds, and is taken back when it can.
fn one_that_cannot_be_written(machine: &Machine) {
    fix(machine, "--unit u0", "TZ=Asia/Tokyo");
    if machine.run(&format!("chattr +i {DROP_IN}")).status.success() {
        let (printed, status) = said(machine, "needless undo --last");
        assert_eq!(status, Some(2), "{printed}");
        let again = said(machine, "needless undo --last").0;
        assert!(
            !again.contains("never made") && !again.contains("no change to take back"),
            "{again}"
        );
        machine.ok(&format!("chattr -i {DROP_IN}; needless undo --last"));
    } else {
        machine.ok("needless undo --last");
    }
    assert_eq!(
        machine.ok("systemctl show -p NeedDaemonReload,Environment u0"),
        "Environment=\nNeedDaemonReload=no\n"
    );
}

/// Edited in between: our lines go and the others stay, if that is wanted; left alone where ours were edited.
fn one_that_is_edited(machine: &Machine) {
    fix(machine, "--unit u0", "TZ=Asia/Tokyo");
    machine.ok(&format!("echo 'Nice=5' >>{DROP_IN}"));
    let (printed, status) = said(machine, "needless undo --last");
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("there is no terminal to ask on"), "{printed}");
    machine.ok(&format!("sed -i s/Tokyo/Seoul/ {DROP_IN}"));
    let (printed, status) = said(machine, "needless undo --last --yes");
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("it has changed since; nothing was undone"), "{printed}");
    machine.ok(&format!("sed -i s/Seoul/Tokyo/ {DROP_IN}"));
    let printed = machine.ok("needless undo --last --yes");
    assert!(printed.contains("-Environment=\"TZ=Asia/Tokyo\""), "{printed}");
    assert_eq!(machine.ok(&format!("cat {DROP_IN}")), "[Service]\nNice=5\n");
    assert_eq!(machine.ok("systemctl show -p Environment,Nice u0"), "Environment=\nNice=5\n");
    machine.ok(&format!("rm {DROP_IN}; rmdir $(dirname {DROP_IN}); systemctl daemon-reload"));
}
