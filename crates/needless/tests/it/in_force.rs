//! `fix --restart` and `fix --check` with the real systemd: the calls that a change saves, and daemons for which a
//! reload is enough.

use crate::cell::*;
use crate::common::*;
use crate::machine::Machine;

const UNIT: &str = "[Service]\nExecStart=/usr/local/bin/probe unit\n";

/// The number of the change in the output of `fix`.
fn made(said: &str) -> &str {
    let id = said.split_once("done: change ").and_then(|(_, rest)| rest.split_once(';'));
    id.unwrap_or_else(|| panic!("{said}")).0
}

/// The calls per second before and after, of the line that has them.
fn figures(said: &str) -> (f64, f64) {
    let number = |text: &str| text.replace(',', "").parse().unwrap_or_else(|_| panic!("{said}"));
    let line = said.lines().find_map(|line| {
        let (before, rest) = line.split_once(" calls per second before, ")?;
        Some((number(before), number(rest.split_once(" after (")?.0)))
    });
    line.unwrap_or_else(|| panic!("no figures: {said}"))
}

/// A machine on which the unit `probe` runs, its zone a link.
fn probed() -> Option<Machine> {
    let machine = machine()?;
    machine.write("/etc/systemd/system/probe.service", "644", UNIT);
    machine.ok("ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime; systemctl daemon-reload; systemctl start probe");
    machine.pid_of(&format!("{WORDS} unit"), "0");
    Some(machine)
}

#[test]
fn calls_are_counted_before_a_change_and_after() {
    let Some(machine) = probed().filter(|_| observes_others()) else { return };
    let fix = format!("needless fix --unit probe --set TZ={ZONE} --yes");
    let said = machine.ok(&format!("{fix} --restart"));
    let (before, after) = figures(&said);
    // On a busy machine one of them is longer.
    let lengths = ["(1 s each)\n", " s after)\n"];
    assert!(before > 0.0 && after == 0.0, "{said}");
    assert!(lengths.iter().any(|of| said.contains(of)), "{said}");
    eprintln!("{}", said.lines().last().unwrap_or_default());
    // The same later, with what was counted before the change.
    let said = machine.ok(&format!("needless fix --check {} --for 500ms", made(&said)));
    let (still, now) = figures(&said);
    assert!(still == before && now == 0.0 && said.contains("(1 s before, 0.5 s after)"), "{said}");
    machine.ok("needless undo --last && systemctl restart probe");
    // Without --restart, the count before is kept for the look.
    let said = machine.ok(&fix);
    assert!(said.contains("written, not in force") && !said.contains("calls per second"), "{said}");
    machine.ok("systemctl restart probe; sleep 1");
    let (before, after) = figures(&machine.ok(&format!("needless fix --check {}", made(&said))));
    assert!(before > 0.0 && after == 0.0, "{before} {after}");
    machine.ok("needless undo --last && systemctl restart probe");
    // From a report: the rule of the finding is counted.
    machine.ok("needless attach --unit probe --for 2s -o /run/report.json");
    let fix = "needless fix /run/report.json --rule tz-unset --yes --restart";
    let (before, after) = figures(&machine.ok(fix));
    assert!(before > 0.0 && after == 0.0, "{before} {after}");
}

/// Without the right to count, and for a variable that no rule knows, the change is made and one line says why there are
/// no figures.
#[test]
fn calls_that_are_not_counted_are_named() {
    let Some(machine) = probed() else { return };
    let none =
        "setpriv --bounding-set -bpf,-perfmon,-sys_admin --inh-caps -bpf,-perfmon,-sys_admin";
    let set = |what: &str| format!("needless fix --unit probe --set {what} --yes --restart");
    for (fix, why) in [
        (
            format!("{none} {}", set(&format!("TZ={ZONE}"))),
            "calls not counted: to observe what runs already needs CAP_BPF and CAP_PERFMON",
        ),
        (set("COLOUR=1"), "calls not counted: no rule is about COLOUR"),
    ] {
        let said = machine.ok(&fix);
        assert!(said.contains("in force: ") && said.contains(why), "{said}");
        assert!(!said.contains("per second"), "{said}");
        machine.ok("needless undo --last && systemctl restart probe");
    }
}

/// A rule whose remedy does not help this program.
const WRONG: &str = "[[rule]]
name = \"looks-for-run-none\"
calls = \"stat\"
path = \"/run/none\"
outcome = \"missing\"
at-least = 2
message = \"it looks for a file that is not there\"
why = \"QUIET is not set.\"
remedy = { set = \"QUIET=1\", fix = true, caveat = \"None.\" }
[[rule.example]]
trace = '''
execve(\"/x\", [\"x\"], 0x7ffd2f3b6dd8 /* 35 vars */) = 0
newfstatat(AT_FDCWD, \"/run/none\", 0x7ffd3d515cc0, 0) = -1 ENOENT (No such file or directory) x9
'''
finding = \"looks-for-run-none: 9 of 9\"
[[rule.example]]
trace = '''
execve(\"/x\", [\"x\"], 0x7ffd2f3b6dd8 /* 35 vars */) = 0
newfstatat(AT_FDCWD, \"/run/other\", 0x7ffd3d515cc0, 0) = -1 ENOENT (No such file or directory)
'''
finding = \"nothing\"
";

#[test]
fn a_change_that_arrives_and_saves_nothing() {
    let Some(machine) = machine().filter(|_| observes_others()) else { return };
    let looks = "#!/usr/bin/perl\nwhile (1) { -e '/run/none' for 1 .. 9; select undef, undef, undef, 0.05 }\n";
    machine.write("/usr/local/bin/looks", "755", looks);
    machine.write("/run/rules/needless.toml", "644", WRONG);
    let unit = "[Service]\nExecStart=/usr/local/bin/looks\n";
    machine.write("/etc/systemd/system/looks.service", "644", unit);
    machine.ok("systemctl daemon-reload; systemctl start looks");
    machine.pid_of("/usr/bin/perl /usr/local/bin/looks", "0");
    let config = "--config /run/rules/needless.toml";
    let fix = format!("needless {config} fix --unit looks --set QUIET=1 --yes --restart --for 3s");
    let said = machine.ok(&fix);
    assert!(said.contains("in force: QUIET=1 in perl["), "{said}");
    let (before, after) = figures(&said);
    assert!(before > 0.0 && after > 0.0, "{said}");
    assert!(
        said.contains(": the process has the change, and it saved little or nothing\n"),
        "{said}"
    );
}

/// supervisord starts a program anew whose section has changed; `restart` of supervisorctl would keep the environment.
#[test]
fn a_program_of_supervisord_is_updated() {
    let Some(machine) = machine() else { return };
    if machine.has("supervisord").is_none() {
        return;
    }
    let config = "[program:web]\ncommand=/usr/local/bin/probe web\n[program:own]\ncommand=/usr/local/bin/own\n";
    machine.write("/etc/supervisor/conf.d/web.conf", "644", config);
    let own = "#!/bin/sh\nunset TZ\nexec /usr/local/bin/probe own\n";
    machine.write("/usr/local/bin/own", "755", own);
    drop(
        machine.start("exec env -u TZ /usr/bin/supervisord -n -c /etc/supervisor/supervisord.conf"),
    );
    let (web, own) = (format!("{WORDS} web"), format!("{WORDS} own"));
    let (pid, other) = (machine.pid_of(&web, "0"), machine.pid_of(&own, "0"));
    let before = machine.etc();
    let said = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes --restart"));
    let fresh = machine.pid_of(&web, &pid);
    for part in
        ["restarted: supervisorctl update web\n", &format!("in force: TZ={ZONE} in perl[{fresh}]")]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    if observes_others() {
        let (before, after) = figures(&said);
        assert!(before > 0.0 && after == 0.0, "{said}");
    }
    assert_eq!(machine.pid_of(&own, "0"), other, "the other program goes on");
    machine.ok("needless undo --last");
    same(&before, &machine.etc(), "undo");
    // What others have changed and not applied yet stays like that; a program of a group is found by its own name.
    let more = format!(
        "{config}[program:one]\ncommand=/usr/local/bin/probe one\n[program:two]\ncommand=/usr/local/bin/probe two\n[group:both]\nprograms=one,two\n"
    );
    machine.write("/etc/supervisor/conf.d/web.conf", "644", &more);
    machine.ok("supervisorctl update");
    let one = machine.pid_of(&format!("{WORDS} one"), "0");
    let fresh = machine.pid_of(&web, "0");
    let more = more.replace("probe web\n", "probe web\npriority=5\n");
    machine.write("/etc/supervisor/conf.d/web.conf", "644", &more);
    let before = machine.etc();
    let said = machine.ok(&format!("needless fix --pid {one} --set TZ={ZONE} --yes --restart"));
    for part in [
        "every program of the group both of supervisord",
        "restarted: supervisorctl update both\n",
        &format!("in force: TZ={ZONE} in perl["),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(machine.pid_of(&web, "0"), fresh, "its new section is not applied");
    machine.ok("needless undo --last");
    same(&before, &machine.etc(), "undo");
    // The program's own script removes it.
    let done = machine.run(&format!("needless fix --pid {other} --set TZ={ZONE} --yes --restart"));
    let said = format!("{}{}", stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("taken back, and restarted once more"), "{said}");
    same(&before, &machine.etc(), "taken back");
}

/// daemontools' supervise starts the run script anew, which reads the directory.
#[test]
fn a_run_script_of_daemontools_is_restarted() {
    let Some(machine) = machine() else { return };
    if machine.has("svc").is_none() || machine.has("supervise").is_none() {
        return;
    }
    let run = "#!/bin/sh\nexec envdir /etc/probe.env /usr/local/bin/probe envdir\n";
    machine.write("/run/probe.d/run", "755", run);
    machine.write("/etc/probe.env/LANG", "644", "C\n");
    drop(machine.start("exec supervise /run/probe.d"));
    let words = format!("{WORDS} envdir");
    let (pid, before) = (machine.pid_of(&words, "0"), machine.etc());
    let said = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes --restart"));
    let fresh = machine.pid_of(&words, &pid);
    assert!(said.contains("restarted: svc -t /run/probe.d\n"), "{said}");
    assert!(said.contains(&format!("in force: TZ={ZONE} in perl[{fresh}]\n")), "{said}");
    let said = machine.ok("needless undo");
    assert!(said.contains(&format!("perl[{fresh}] still has TZ={ZONE}: `svc -t ")), "{said}");
    same(&before, &machine.etc(), "undo");
}

/// The workers of a pool get the pool's variables at a reload; the master, with what its unit gives it, goes on.
#[test]
fn a_pool_of_php_fpm_is_reloaded() {
    let Some(machine) = machine() else { return };
    let Some(fpm) = machine.has("php-fpm8.2 || command -v php-fpm8.4 || command -v php-fpm8.3")
    else {
        return;
    };
    let name = fpm.rsplit('/').next().unwrap().replace("php-fpm", "php") + "-fpm";
    machine.ok(&format!("mkdir -p /run/php; systemctl daemon-reload; systemctl start {name}"));
    let main = || machine.ok(&format!("systemctl show -p MainPID --value {name}"));
    let master = main();
    let worker = machine.pid_of("php-fpm: pool www *", "0");
    let before = machine.etc();
    let said = machine.ok(&format!("needless fix --pid {worker} --set TZ={ZONE} --yes --restart"));
    let reload = format!("reloaded: systemctl try-reload-or-restart {name}.service\n");
    assert!(said.contains("/fpm/pool.d/www.conf") && said.contains(&reload), "{said}");
    assert!(said.contains(&format!("in force: TZ={ZONE} in php-fpm")), "{said}");
    assert_eq!(main(), master, "only the workers are new");
    assert!(machine.run(&format!("test -e /proc/{worker}")).status.code() == Some(1));
    let id = made(&said).to_owned();
    machine.ok("needless undo --last");
    same(&before, &machine.etc(), "undo");
    // Written without a reload: the look says what is missing, and sees it afterwards.
    let worker = machine.pid_of("php-fpm: pool www *", "0");
    let said = machine.ok(&format!("needless fix --pid {worker} --set TZ=Asia/Seoul --yes"));
    assert!(made(&said) != id && said.contains("written, not in force: restart:"), "{said}");
    let check = format!("needless fix --check {}", made(&said));
    let done = machine.run(&check);
    assert_eq!(done.status.code(), Some(1), "{}", stdout(&done));
    machine.ok(&format!("systemctl reload {name}; sleep 1"));
    assert!(machine.ok(&check).contains("in force: TZ=Asia/Seoul in php-fpm"));
    machine.ok("needless undo --last");
    // The master's own variables come from the unit, and a reload does not change them.
    let said = machine
        .ok(&format!("needless fix --pid {} --set TZ={ZONE} --yes --restart", master.trim()));
    assert!(said.contains(&format!("restarted: systemctl restart {name}.service")), "{said}");
    assert!(main() != master, "{said}");
    let workers = "Its workers do not get it: php-fpm clears their environment (clear_env). For these: --in /etc/php/";
    assert!(said.contains(workers) && said.contains("/fpm/pool.d/www.conf --part www."), "{said}");
    let story = origin(&machine, main().trim());
    assert!(
        story.contains("/zz-needless.conf why")
            && story.contains("/fpm/pool.d/www.conf why php-fpm clears"),
        "{story}"
    );
    machine.ok(&format!("needless undo --last; systemctl restart {name}"));
    // A mistake of others in the configuration: a reload would end php-fpm.
    let worker = machine.pid_of("php-fpm: pool www *", "0");
    let dir = machine.ok("dirname /etc/php/*/fpm/pool.d/www.conf");
    machine.write(&format!("{}/broken.conf", dir.trim()), "644", "[broken]\nuser = www-data\n");
    let (before, master) = (machine.etc(), main());
    let done = machine.run(&format!("needless fix --pid {worker} --set TZ={ZONE} --yes --restart"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("refuses its configuration"), "{}", stderr(&done));
    assert!(stderr(&done).contains("; taken back"), "{}", stderr(&done));
    same(&before, &machine.etc(), "a broken pool");
    // The same where the file says it already.
    machine.ok(&format!(
        "cd {}; mv broken.conf /run; needless fix --pid {worker} --set TZ={ZONE} --yes; mv /run/broken.conf .",
        dir.trim()
    ));
    let done = machine.run(&format!("needless fix --pid {worker} --set TZ={ZONE} --yes --restart"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("refuses its configuration"), "{}", stderr(&done));
    machine.ok("needless undo");
    same(&before, &machine.etc(), "written before");
    assert_eq!(
        (main(), machine.run(&format!("test -e /proc/{worker}")).status.code()),
        (master, Some(0))
    );
}

/// A unit that does not last with the change, at once, in a loop, or while its calls are counted, is not in force: the
/// change is taken back, and the unit runs again although systemd had given it up.
#[test]
fn a_unit_that_does_not_last_gets_the_old_value_back() {
    let Some(machine) = machine() else { return };
    for (name, dies, more) in [
        ("once", "exit 3", "Restart=always\nEnvironmentFile=/etc/once.env\n"),
        ("loops", "sleep 0.4; exit 3", "Restart=always\n"),
        ("later", "sleep 1.7; exit 3", ""),
        ("well", "sleep 1.7; exit 0", ""),
    ] {
        let script = format!(
            "#!/bin/sh\n[ -z \"$TZ\" ] || {{ {dies}; }}\nexec /usr/local/bin/probe {name}\n"
        );
        machine.write(&format!("/usr/local/bin/{name}"), "755", &script);
        let unit = format!("[Service]\nExecStart=/usr/local/bin/{name}\n{more}");
        machine.write(&format!("/etc/systemd/system/{name}.service"), "644", &unit);
        machine.write("/etc/once.env", "644", "TZ=\n");
        machine.ok(&format!("systemctl daemon-reload; systemctl start {name}"));
        machine.pid_of(&format!("{WORDS} {name}"), "0");
        let before = machine.etc();
        let fix = format!("needless fix --unit {name} --set TZ={ZONE} --yes --restart --for 2s");
        let done = machine.run(&fix);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{name}: {} {said}", stdout(&done));
        assert!(
            said.contains("taken back") && !stdout(&done).contains("in force:"),
            "{name}: {said}"
        );
        assert_eq!(machine.etc(), before, "{name}");
        machine.pid_of(&format!("{WORDS} {name}"), "0");
        machine.ok(&format!("systemctl is-active {name}; systemctl stop {name}"));
    }
}
