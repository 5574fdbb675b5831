//! `fix --restart` and `fix --check` with the real systemd: the calls that a change saves, and daemons for which a
//! reload is enough.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;

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
    let machine = machine("")?;
    machine.ok("ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime");
    start_unit(&machine, SERVICE);
    Some(machine)
}

#[test]
fn fix_counts_calls_before_a_change_and_after() {
    let Some(machine) = probed().filter(|_| observes_others()) else { return };
    let fix = format!("needless fix --unit probe --set TZ={ZONE} {YES}");
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
    let old = machine.main_of("probe");
    machine.ok("systemctl restart probe");
    machine.pid_of(&format!("{WORDS} unit"), &old);
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
fn fix_says_why_calls_are_not_counted() {
    let Some(machine) = probed() else { return };
    let none =
        "setpriv --bounding-set -bpf,-perfmon,-sys_admin --inh-caps -bpf,-perfmon,-sys_admin";
    let set = |what: &str| format!("needless fix --unit probe --set {what} {YES} --restart");
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
fn fix_says_that_a_change_saved_nothing() {
    let Some(machine) = machine("").filter(|_| observes_others()) else { return };
    let looks = "#!/usr/bin/perl\nwhile (1) { -e '/run/none' for 1 .. 9; select undef, undef, undef, 0.05 }\n";
    machine.write("/usr/local/bin/looks", "755", looks);
    machine.write("/run/rules/needless.toml", "644", WRONG);
    let unit = "[Service]\nExecStart=/usr/local/bin/looks\n";
    machine.write("/etc/systemd/system/looks.service", "644", unit);
    machine.ok("systemctl daemon-reload; systemctl start looks");
    machine.pid_of("/usr/bin/perl /usr/local/bin/looks", "0");
    let config = "--config /run/rules/needless.toml";
    let fix = format!("needless {config} fix --unit looks --set QUIET=1 --yes --restart --for 3s");
    let said = machine.all(&fix);
    assert!(said.contains("in force: QUIET=1 in looks["), "{said}");
    let (before, after) = figures(&said);
    assert!(before > 0.0 && after > 0.0, "{said}");
    let undo = format!("`needless undo {}` takes it back\nrc 2", made(&said));
    assert!(said.contains(": it saved little or nothing\n") && said.ends_with(&undo), "{said}");
    assert!(said.contains("QUIET=1: not seen to help; the change stays"), "{said}");
}

/// supervisord starts a program anew whose section has changed; `restart` of supervisorctl would keep the environment.
#[test]
fn fix_has_supervisord_update_a_program() {
    let Some(machine) = machine("debs") else { return };
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
    let before = files(&machine);
    let said = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES} --restart"));
    let fresh = machine.pid_of(&web, &pid);
    for part in
        ["restarted: supervisorctl update web\n", &format!("in force: TZ={ZONE} in probe[{fresh}]")]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    if observes_others() {
        let (before, after) = figures(&said);
        assert!(before > 0.0 && after == 0.0, "{said}");
    }
    assert_eq!(machine.pid_of(&own, "0"), other, "the other program goes on");
    machine.ok("needless undo --last");
    same(&before, &files(&machine), "undo");
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
    let before = files(&machine);
    let said = machine.ok(&format!("needless fix --pid {one} --set TZ={ZONE} {YES} --restart"));
    for part in [
        "every program of the group both of supervisord",
        "restarted: supervisorctl update both\n",
        &format!("in force: TZ={ZONE} in probe["),
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(machine.pid_of(&web, "0"), fresh, "its new section is not applied");
    machine.ok("needless undo --last");
    same(&before, &files(&machine), "undo");
    // The program's own script removes it.
    let done = machine.run(&format!("needless fix --pid {other} --set TZ={ZONE} {YES} --restart"));
    let said = format!("{}{}", stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("taken back, and restarted once more"), "{said}");
    same(&before, &files(&machine), "taken back");
}

/// The workers of a pool get the pool's variables at a reload; the master, with what its unit gives it, goes on.
#[test]
fn fix_reloads_a_pool_of_php_fpm() {
    let Some(machine) = machine("debs") else { return };
    let Some(fpm) = machine.has("php-fpm8.2 || command -v php-fpm8.4 || command -v php-fpm8.3")
    else {
        return;
    };
    let name = fpm.rsplit('/').next().unwrap().replace("php-fpm", "php") + "-fpm";
    machine.ok(&format!("mkdir -p /run/php; systemctl daemon-reload; systemctl start {name}"));
    let main = || machine.main_of(&name);
    let master = main();
    let worker = machine.pid_of("php-fpm: pool www *", "0");
    let before = files(&machine);
    let said = machine.ok(&format!("needless fix --pid {worker} --set TZ={ZONE} {YES} --restart"));
    let reload = format!("reloaded: systemctl try-reload-or-restart {name}.service\n");
    assert!(said.contains("/fpm/pool.d/www.conf") && said.contains(&reload), "{said}");
    assert!(said.contains(&format!("in force: TZ={ZONE} in php-fpm")), "{said}");
    assert_eq!(main(), master, "only the workers are new");
    assert!(machine.run(&format!("test -e /proc/{worker}")).status.code() == Some(1));
    let id = made(&said).to_owned();
    machine.ok("needless undo --last");
    same(&before, &files(&machine), "undo");
    // Written without a reload: the look says what is missing, and sees it afterwards.
    let worker = machine.pid_of("php-fpm: pool www *", "0");
    let said = machine.ok(&format!("needless fix --pid {worker} --set TZ=Asia/Seoul {YES}"));
    assert!(made(&said) != id && said.contains("written, not in force: restart:"), "{said}");
    let check = format!("needless fix --check {}", made(&said));
    let done = machine.run(&check);
    assert_eq!(done.status.code(), Some(1), "{}", stdout(&done));
    machine.ok(&format!(
        "old=$(pgrep -f '[p]hp-fpm: pool www'); systemctl reload {name}
         for pid in $old; do while [ -e /proc/$pid ]; do sleep 0.1; done; done
         until pgrep -f '[p]hp-fpm: pool www'; do sleep 0.1; done"
    ));
    assert!(machine.ok(&check).contains("in force: TZ=Asia/Seoul in php-fpm"));
    machine.ok("needless undo --last");
    // The master's own variables come from the unit, and a reload does not change them.
    let said =
        machine.ok(&format!("needless fix --pid {} --set TZ={ZONE} {YES} --restart", master));
    assert!(said.contains(&format!("restarted: systemctl restart {name}.service")), "{said}");
    assert!(main() != master, "{said}");
    let workers = "Its workers do not get it: php-fpm clears their environment (clear_env). For these: --in /etc/php/";
    assert!(said.contains(workers) && said.contains("/fpm/pool.d/www.conf --part www."), "{said}");
    let story = origin(&machine, &main());
    assert!(
        story.contains("/zz-needless.conf why")
            && story.contains("/fpm/pool.d/www.conf why php-fpm clears"),
        "{story}"
    );
    machine.ok(&format!("needless undo --last; systemctl restart {name}"));
    fix_takes_back_what_a_broken_pool_does_not_let_php_fpm_read(&machine, &name);
}

/// A mistake of others in the configuration: a reload would end php-fpm.
fn fix_takes_back_what_a_broken_pool_does_not_let_php_fpm_read(machine: &Machine, name: &str) {
    let main = || machine.main_of(name);
    let worker = machine.pid_of("php-fpm: pool www *", "0");
    let dir = machine.ok("dirname /etc/php/*/fpm/pool.d/www.conf");
    machine.write(&format!("{}/broken.conf", dir.trim()), "644", "[broken]\nuser = www-data\n");
    let (before, master) = (files(machine), main());
    let done = machine.run(&format!("needless fix --pid {worker} --set TZ={ZONE} {YES} --restart"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("refuses its configuration"), "{}", stderr(&done));
    assert!(stderr(&done).contains("; taken back"), "{}", stderr(&done));
    same(&before, &files(machine), "a broken pool");
    // The same where the file says it already.
    machine.ok(&format!(
        "cd {}; mv broken.conf /run; needless fix --pid {worker} --set TZ={ZONE} {YES}; mv /run/broken.conf .",
        dir.trim()
    ));
    let done = machine.run(&format!("needless fix --pid {worker} --set TZ={ZONE} {YES} --restart"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("refuses its configuration"), "{}", stderr(&done));
    machine.ok("needless undo");
    same(&before, &files(machine), "written before");
    assert_eq!(
        (main(), machine.run(&format!("test -e /proc/{worker}")).status.code()),
        (master, Some(0))
    );
}

/// A unit that does not last with the change, at once, in a loop, or while its calls are counted, is not in force: the
/// change is taken back, and the unit runs again although systemd had given it up.
#[test]
fn fix_takes_back_what_a_unit_does_not_survive() {
    let Some(machine) = machine("") else { return };
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
        let before = files(&machine);
        let fix = format!("needless fix --unit {name} --set TZ={ZONE} {YES} --restart --for 2s");
        let done = machine.run(&fix);
        let said = stderr(&done);
        assert_eq!(done.status.code(), Some(2), "{name}: {} {said}", stdout(&done));
        assert!(
            said.contains("taken back") && !stdout(&done).contains("in force:"),
            "{name}: {said}"
        );
        same(&before, &files(&machine), name);
        machine.pid_of(&format!("{WORDS} {name}"), "0");
        machine.ok(&format!("systemctl is-active {name}; systemctl stop {name}"));
    }
}

/// All steps: a window, the change, a second window, and the proof for the unit.
#[test]
fn prove_proves_a_fix_of_a_unit() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    machine.ok("needless prove --unit probe --for 3s --save-before /run/before.json");
    let unchanged = machine.run("needless prove --unit probe --for 3s --before /run/before.json");
    assert_eq!(unchanged.status.code(), Some(1), "{}", stdout(&unchanged));
    machine.ok(&format!("needless fix --unit probe --set TZ={ZONE} {YES} --restart"));
    machine.pid_of(&format!("{WORDS} unit"), "0");
    let proof = machine.ok("needless prove --unit probe --for 3s --before /run/before.json");
    assert!(proof.starts_with("needless prove: proven"), "{proof}");
    assert!(proof.contains("newfstatat(\"/etc/localtime\")"), "{proof}");
}

/// The process decides whether a change is in force: before a restart, after it, and where the file has it already.
#[test]
fn fix_check_looks_into_the_process() {
    let Some(machine) = machine("") else { return };
    start_unit(&machine, SERVICE);
    let before = files(&machine);
    let fix = format!("needless fix --unit probe --set TZ={ZONE} {YES}");
    let check = |id: &str, status: i32| {
        let said = machine.all(&format!("needless fix --check {id}"));
        assert!(said.ends_with(&format!("rc {status}")), "{said}");
        said
    };
    check("4294967295", 2);
    let said = machine.ok(&fix);
    let id = made(&said);
    let next =
        format!("restart: `systemctl restart probe.service`; then `needless fix --check {id}`");
    assert!(said.contains(&format!("written, not in force: {next}")), "{said}");
    assert!(check(id, 1).contains("was started before the change: restart probe.service"));
    let said = machine.ok(&fix);
    assert!(said.contains("written, not in force: "), "{said}");
    assert!(!said.contains("written: change"), "{said}");
    machine.ok("systemctl restart probe");
    machine.pid_of(&format!("{WORDS} unit"), "0");
    let said = check(id, 0);
    assert!(said.starts_with(&format!("in force: TZ={ZONE} in probe[")), "{said}");
    let said = machine.ok(&fix);
    assert!(said.contains("already so: ") && said.contains("in force in probe["), "{said}");
    machine.ok(&format!("needless undo {id}"));
    assert!(check(id, 2).contains(&format!("change {id} was undone")));
    same(&before, &files(&machine), "undo");
    // A unit that does not run.
    machine.ok("systemctl stop probe");
    let said = machine.ok(&fix);
    let id = made(&said);
    assert!(said.contains("probe.service does not run; when it was started"), "{said}");
    assert!(check(id, 2).contains("was not seen: probe.service does not run"));
    machine.ok("systemctl start probe");
    machine.pid_of(&format!("{WORDS} unit"), "0");
    check(id, 0);
    machine.ok(&format!("needless undo {id}"));
    // With --restart it looks by itself.
    let said = machine.ok(&format!("{fix} --restart"));
    assert!(said.contains(&format!("in force: TZ={ZONE} in probe[")), "{said}");
    check(made(&said), 0);
}

/// PHP has its own zones and asks nothing; but programs that it runs (mail, exec) have its environment.
#[test]
fn fix_changes_a_pool_of_php_fpm_that_was_started_by_hand() {
    let Some(machine) = machine("debs") else { return };
    let Some(fpm) = machine.has("php-fpm8.2 || command -v php-fpm8.4 || command -v php-fpm8.3")
    else {
        return;
    };
    machine.ok("mkdir -p /run/php");
    let start = format!("TZ=UTC exec {fpm} -F");
    let worker = |not: &str| machine.pid_of("php-fpm: pool www *", not);
    drop(machine.start(&start));
    let pid = worker("0");
    let story = origin(&machine, &pid);
    assert!(
        story.contains("TZ is not set") && story.contains("php-fpm clears the environment"),
        "{story}"
    );
    let before = files(&machine);
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} {YES}"));
    assert!(
        fixed.contains("/fpm/pool.d/www.conf") && fixed.contains("+env[TZ] = \"Asia/Tokyo\""),
        "{fixed}"
    );
    machine.ok(&format!("{fpm} -t"));
    machine.run("pkill -f '[p]hp-fpm: master'; while pgrep -f '[p]hp-fpm: '; do sleep 0.1; done");
    drop(machine.start(&start));
    let story = origin(&machine, &worker(&pid));
    assert!(
        story.contains("TZ is Asia/Tokyo") && story.contains("/fpm/pool.d/www.conf:"),
        "{story}"
    );
    machine.ok("needless undo");
    same(&before, &files(&machine), "undo");
}
