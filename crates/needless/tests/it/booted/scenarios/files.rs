//! Files that are not changed, and changes that are taken back: the machine is as it was.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::{stderr, stdout};

/// `needless …`, its output and its status.
fn said(machine: &Machine, command: &str) -> (String, Option<i32>) {
    let done = machine.run(command);
    (format!("{}{}", stdout(&done), stderr(&done)), done.status.code())
}

/// Each is refused in one line that says why, and nothing is written.
#[test]
fn fix_refuses_files_that_it_must_not_change() {
    let Some(machine) = machine("") else { return };
    let fix = |what: &str| format!("needless fix {what} --set TZ={ZONE} --yes");
    let environment = fix("--in /etc/environment");
    machine.write(
        "/etc/systemd/system/probe.service",
        "644",
        "[Service]\nExecStart=/usr/local/bin/probe x\n",
    );
    machine.ok("systemctl daemon-reload");
    let unit = fix("--unit probe");
    let dir = "/etc/systemd/system/probe.service.d";
    for (name, prepare, command, words, clear) in [
        (
            "a link",
            "mv /etc/environment /etc/e; ln -s e /etc/environment",
            &environment,
            "a link to e",
            "mv /etc/e /etc/environment",
        ),
        (
            "a directory that is a link",
            &*format!("mkdir /etc/d; ln -s /etc/d {dir}"),
            &unit,
            "in the path is a link",
            &*format!("rm {dir}; rmdir /etc/d"),
        ),
        (
            "a masked drop-in",
            &*format!("mkdir {dir}; ln -s /dev/null {dir}/zz-needless.conf"),
            &unit,
            "a link to /dev/null",
            &*format!("rm -r {dir}"),
        ),
        ("a hard link", "ln /etc/environment /etc/twin", &environment, "hard link", "rm /etc/twin"),
        (
            "others may write",
            "chmod o+w /etc/environment",
            &environment,
            "chmod",
            "chmod o-w /etc/environment",
        ),
        (
            "Ansible",
            "echo '# Ansible managed' >/etc/environment",
            &environment,
            "Ansible",
            ": >/etc/environment",
        ),
        (
            "not UTF-8",
            "printf '#\\351\\n' >/etc/environment",
            &environment,
            "not UTF-8",
            ": >/etc/environment",
        ),
        (
            "a mount",
            "mount --bind /etc/hostname /etc/environment",
            &environment,
            "/etc/environment",
            "umount /etc/environment",
        ),
        (
            "read-only",
            "mount --bind /etc /etc; mount -o remount,bind,ro /etc",
            &environment,
            "the file system is read-only",
            "umount /etc",
        ),
        (
            "a full disk",
            "mount -t tmpfs -o size=4k,mode=700 tmpfs /var/lib/needless; head -c 4096 /dev/zero >/var/lib/needless/x",
            &environment,
            "space",
            "umount /var/lib/needless",
        ),
        (
            "a path that leaves",
            "true",
            &fix("--unit ../../x"),
            "is not the name of a service",
            "true",
        ),
        (
            "a line in a name",
            "true",
            &fix("--unit 'x.service\n[Service]\nExecStartPre=evil'"),
            "there is no unit",
            "true",
        ),
        (
            "a value of two lines",
            "true",
            &"needless fix --unit probe --set 'TZ=a\nb' --yes".to_owned(),
            "TZ=",
            "true",
        ),
        (
            "a value that commands a terminal",
            "true",
            &"needless fix --unit probe --set \"TZ=$(printf '\\033[2J')\" --yes".to_owned(),
            "TZ=",
            "true",
        ),
        (
            "no zone",
            "true",
            &"needless fix --unit probe --set TZ=Europe/Berlin2 --yes".to_owned(),
            "there is no zone Europe/Berlin2",
            "true",
        ),
    ] {
        machine.ok(&format!("mkdir -p /var/lib/needless; {prepare}"));
        let before = files(&machine);
        let (printed, status) = said(&machine, command);
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
    let time = machine.ok("stat -c %y /etc/default/endless");
    let fix = |what: &str, value: &str| {
        machine.ok(&format!("needless fix {what} --set {value} --yes"));
    };
    for at in 0..5 {
        fix(&format!("--unit u{at}"), "TZ=Asia/Tokyo");
        fix("--in /etc/environment", &format!("A{at}=x{at}"));
    }
    fix("--unit u0", "LANG=C.UTF-8");
    fix("--in /etc/default/endless", "TZ=UTC");
    let list = machine.ok("needless undo --list");
    let last: u32 =
        list.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).max().unwrap();
    let mine: Vec<u32> = (last - 11..=last).collect();
    // One that is below another is refused, and names it.
    let (printed, status) = said(&machine, &format!("needless undo {}", mine[0]));
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains(&format!("change {}", mine[10])), "{printed}");
    for id in mine.iter().rev() {
        machine.ok(&format!("needless undo {id}"));
    }
    same(&before, &files(&machine), "twelve changes");
    assert_eq!(machine.ok("stat -c %y /etc/default/endless"), time);
    for at in 0..5 {
        assert_eq!(
            machine
                .ok(&format!("systemctl show -p NeedDaemonReload,Environment,DropInPaths u{at}")),
            "Environment=\nDropInPaths=\nNeedDaemonReload=no\n"
        );
    }
    // Ten at once: each change is made once, or refused whole; and all are taken back.
    let script = "for at in 0 1 2 3 4 0 1 2 3 4; do needless fix --unit u$at --set TZ=Asia/Tokyo --yes & done; wait";
    machine.run(script);
    for at in 0..5 {
        machine.ok(&format!("needless fix --unit u{at} --set TZ=Asia/Tokyo --yes; grep -c TZ=Asia/Tokyo /etc/systemd/system/u{at}.service.d/zz-needless.conf"));
    }
    for _ in 0..5 {
        machine.ok("needless undo --last");
    }
    same(&before, &files(&machine), "ten at once");
    // A file that cannot be written now: the change holds, and is taken back when it can.
    fix("--unit u0", "TZ=Asia/Tokyo");
    let file = "/etc/systemd/system/u0.service.d/zz-needless.conf";
    if machine.run(&format!("chattr +i {file}")).status.success() {
        let (printed, status) = said(&machine, "needless undo --last");
        assert_eq!(status, Some(2), "{printed}");
        let again = said(&machine, "needless undo --last").0;
        assert!(
            !again.contains("never made") && !again.contains("no change to take back"),
            "{again}"
        );
        machine.ok(&format!("chattr -i {file}; needless undo --last"));
    } else {
        machine.ok("needless undo --last");
    }
    assert_eq!(
        machine.ok("systemctl show -p NeedDaemonReload,Environment u0"),
        "Environment=\nNeedDaemonReload=no\n"
    );
    same(&before, &files(&machine), "immutable");
    // Edited in between: left alone, with the copy named.
    fix("--unit u0", "TZ=Asia/Tokyo");
    machine.ok(&format!("echo '# mine' >>{file}"));
    let (printed, status) = said(&machine, "needless undo --last");
    assert_eq!(status, Some(2), "{printed}");
    assert!(printed.contains("it has changed since"), "{printed}");
    machine.ok(&format!("sed -i '/# mine/d' {file}; needless undo --last"));
    same(&before, &files(&machine), "edited");
}
