//! `fix` with the real sshd, with the real localedef, and for several processes at once.

use crate::cell::*;
use crate::common::*;
use crate::machine::Machine;

const SSH: &str = "ssh -i /root/.ssh/t -o StrictHostKeyChecking=no -p 2222 root@127.0.0.1";
/// sshd reads its configuration again, and listens again.
const RELOAD: &str = "kill -HUP $(cat /run/sshd.pid); until ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; done";

fn sshd() -> Option<Machine> {
    program("sshd")?;
    let machine = machine()?;
    machine.ok(
        "set -e; mkdir -p /run/sshd /root/.ssh; chmod 700 /root/.ssh; ssh-keygen -A >/dev/null
         usermod -p '*' root; rm -f /root/.ssh/t*; ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/t
         cat /root/.ssh/t.pub >/root/.ssh/authorized_keys; /usr/sbin/sshd -p 2222",
    );
    Some(machine)
}

/// Where sshd does not use PAM, /etc/environment reaches no session: SetEnv is the place.
#[test]
fn sshd_without_pam() {
    let Some(machine) = sshd() else { return };
    machine.write("/etc/ssh/sshd_config.d/a.conf", "644", "UsePAM no\n");
    machine.write("/etc/environment", "644", "TZ=Asia/Tokyo\n");
    let start = || {
        machine.ok(RELOAD);
        drop(machine.start(&format!("exec {SSH} /usr/local/bin/probe setenv")));
    };
    let why = ["/etc/environment:1 TZ=Asia/Tokyo does not reach it: sshd does not use PAM here"];
    cell(&machine, "setenv", &start, &why, "/etc/ssh/sshd_config.d/zz-needless.conf");
    machine.ok("/usr/sbin/sshd -t");
}

/// Only the first SetEnv line counts: a second line, added by needless, would have no effect.
#[test]
fn a_set_env_that_is_there() {
    let Some(machine) = sshd() else { return };
    let file = "/etc/ssh/sshd_config.d/a.conf";
    machine.write(file, "644", "AcceptEnv LC_* T?\nSetEnv A=\"1 2\" TZ=UTC # c\n");
    machine.write("/etc/ssh/sshd_config.d/b.conf", "644", "SetEnv TZ=Europe/Athens\n");
    // A Match in an included file ends with that file.
    let other = "Match User nosuch\n  SetEnv TZ=Asia/Dubai\n";
    machine.write("/etc/ssh/sshd_config.d/0.conf", "644", other);
    machine.ok(RELOAD);
    drop(machine.start(&format!("TZ=Asia/Seoul exec {SSH} -o SendEnv=TZ /usr/local/bin/probe a")));
    let pid = machine.pid_of(&format!("{WORDS} a"), "0");
    let story = origin(&machine, &pid);
    assert!(story.starts_with("TZ is UTC in perl["), "{story}");
    for part in [
        "a.conf:2 sets it, and sshd sets it for every session (SetEnv)",
        "0.conf:2 TZ=Asia/Dubai does not reach it: its Match does not fit",
        "a.conf:1 TZ in AcceptEnv perhaps: if the client sends it",
        "b.conf:1 TZ=Europe/Athens does not reach it: sshd takes the first SetEnv line only",
    ] {
        assert!(story.contains(part), "{part}: {story}");
    }
    let before = machine.etc();
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set TZ={ZONE} --yes"));
    assert!(fixed.contains("+SetEnv \"… TZ=Asia/Tokyo"), "{fixed}");
    machine.ok(RELOAD);
    assert_eq!(machine.ok(&format!("{SSH} 'echo $TZ $A'")), "Asia/Tokyo 1 2\n");
    machine.ok("needless undo && /usr/sbin/sshd -t");
    assert_eq!(machine.etc(), before);
    // A variable that only the client sends, through AcceptEnv, is reported as such.
    machine.write(file, "644", "AcceptEnv T?\n");
    machine.ok(&format!("kill {pid}; rm /etc/ssh/sshd_config.d/[0b].conf; {RELOAD}"));
    drop(machine.start(&format!("TZ=Asia/Seoul exec {SSH} -o SendEnv=TZ /usr/local/bin/probe b")));
    let pid = machine.pid_of(&format!("{WORDS} b"), "0");
    let story = origin(&machine, &pid);
    assert!(story.starts_with("TZ is Asia/Seoul in perl["), "{story}");
    assert!(story.contains("TZ in AcceptEnv perhaps: if the client sends it"), "{story}");
}

/// A Match is stronger: needless asks sshd itself, and undoes the change.
#[test]
fn sshd_has_the_last_word() {
    let Some(machine) = sshd() else { return };
    machine.ok("printf 'Match all\\n  SetEnv TZ=UTC\\n' >>/etc/ssh/sshd_config");
    let before = machine.etc();
    let drop_in = "/etc/ssh/sshd_config.d/zz-needless.conf";
    let done = machine.run(&format!("needless fix --in {drop_in} --set TZ={ZONE} --yes"));
    assert_eq!(done.status.code(), Some(2), "{}", stdout(&done));
    assert!(stderr(&done).contains("sshd still uses another TZ"), "{}", stderr(&done));
    assert_eq!(machine.etc(), before);
    let done = machine.run(&format!("needless fix --in {drop_in} --set 'TZ=a\tb' --yes"));
    assert!(stderr(&done).contains("control characters"), "{}", stderr(&done));
    machine.ok("sed -i '/^Match all/,$d' /etc/ssh/sshd_config");
    let read = format!("{RELOAD}; {SSH} env | grep ^X=");
    assert_eq!(values_arrive(&machine, &format!("--in {drop_in}"), &read), HARD.len());
    machine.ok("/usr/sbin/sshd -t");
}

/// Two processes that convert times; the second is a fork of the first.
const TWINS: &str = "#!/usr/bin/perl
fork; while (1) { my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 }
";

/// A report with several findings: each place once, with all its processes; a finding without a place is named.
#[test]
fn a_report_of_several_services() {
    program("perl");
    let Some(machine) = Machine::boot(&[("probe", PROBE), ("twins", TWINS)]) else { return };
    if !observes_others() {
        return;
    }
    machine.ok("ln -sf /usr/share/zoneinfo/Asia/Tokyo /etc/localtime");
    for (name, program) in [("one", "probe one"), ("two", "twins")] {
        let unit = format!("[Service]\nExecStart=/usr/local/bin/{program}\n");
        machine.write(&format!("/etc/systemd/system/{name}.service"), "644", &unit);
    }
    machine.ok("systemctl daemon-reload; systemctl start one two");
    drop(machine.start("/usr/local/bin/probe nobodys; true"));
    machine.pid_of(&format!("{WORDS} nobodys"), "0");
    // A simple unit counts as started before it executes its program.
    let pids = machine.ok("all() { pgrep -f '^/usr/bin/perl /usr/local/bin/(probe|twins)'; }
        for _ in $(seq 300); do [ $(all | wc -l) -lt 4 ] || break; sleep 0.1; done; all");
    let pids: Vec<&str> = pids.split_ascii_whitespace().collect();
    assert_eq!(pids.len(), 4, "{pids:?}");
    let report = |pids: &str| {
        machine.ok(&format!("needless attach {pids} --for 2s -o /run/report.json"));
        machine.ok("cat /run/report.json")
    };
    let seen: serde_json::Value = serde_json::from_str(&report(&pids.join(" "))).unwrap();
    let findings = seen["findings"].as_array().unwrap();
    let storms = findings.iter().filter(|finding| finding["rule"] == "tz-unset");
    let mut reported: Vec<String> = storms
        .flat_map(|finding| finding["affected"].as_array().unwrap())
        .map(|process| process["pid"].to_string())
        .collect();
    reported.sort();
    let mut all: Vec<String> = pids.iter().map(|pid| (*pid).to_owned()).collect();
    all.sort();
    assert_eq!(reported, all, "every process of every finding is named");
    let before = machine.etc();
    let done = machine.run("needless fix /run/report.json --rule tz-unset --yes --restart");
    let (printed, refused) = (stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(2), "{printed}{refused}");
    assert!(refused.contains("not done by a tool: it was started by "), "{refused}");
    assert!(refused.contains("1 change was not made"), "{refused}");
    assert_eq!(printed.matches("done: change").count(), 2, "{printed}{refused}");
    for name in ["one", "two"] {
        let file = format!("/etc/systemd/system/{name}.service.d/zz-needless.conf");
        assert_eq!(printed.matches(&format!("+++ b{file}")).count(), 1, "{printed}");
    }
    let twins = machine.ok("pgrep -f '^/usr/bin/perl /usr/local/bin/twins'");
    assert_eq!(twins.split_ascii_whitespace().count(), 2);
    let line = printed.lines().find(|line| line.contains("for  ") && line.contains(", "));
    assert_eq!(line.map(|line| line.matches("perl[").count()), Some(2), "{printed}");
    for name in ["probe one", "twins"] {
        let pid = machine.ok(&format!("pgrep -o -f '^/usr/bin/perl /usr/local/bin/{name}'"));
        assert_eq!(machine.stats(pid.trim()), 0, "{name}");
    }
    machine.ok("needless undo && needless undo");
    assert_eq!(machine.etc(), before);
}

/// The failed opens of locales while `ls` starts with LC_ALL=`name`, counted by strace.
fn misses(machine: &Machine, name: &str) -> usize {
    machine.ok(&format!("LC_ALL={name} strace -e trace=openat -o /run/opens ls / >/run/out 2>&1"));
    let log = machine.ok("cat /run/opens");
    assert!(log.contains("libc.so"), "{log}");
    log.lines().filter(|line| line.contains("/locale/") && line.contains("ENOENT")).count()
}

/// The failed opens of message catalogues while `ls` prints an error.
fn message_misses(machine: &Machine, name: &str) -> usize {
    machine.run(&format!("LC_ALL={name} strace -e trace=openat -o /run/opens ls /nonexistent"));
    let log = machine.ok("cat /run/opens");
    assert!(log.contains("/LC_MESSAGES/coreutils.mo"), "{log}");
    log.lines().filter(|line| line.contains("/LC_MESSAGES/") && line.contains("ENOENT")).count()
}

/// A catalogue of one message (The GNU gettext manual, The Format of GNU MO Files), for printf(1).
fn catalogue(id: &str, text: &str) -> String {
    let (id_at, text_at) = (44, 44 + id.len() + 1);
    let numbers = [0x9504_12de, 0, 1, 28, 36, 0, 0, id.len(), id_at, text.len(), text_at];
    let mut bytes: Vec<u8> = numbers.iter().flat_map(|n| (*n as u32).to_le_bytes()).collect();
    for string in [id, text] {
        bytes.extend(string.bytes().chain([0]));
    }
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

/// Everything below /etc and the locales.
fn files(machine: &Machine) -> String {
    machine.ok("find /etc /usr/lib/locale /usr/share/locale/el* -printf '%p %m %u %g %l ' -type f -exec sha256sum {} \\; -o -printf '\\n' | sort")
}

fn localedef(machine: &Machine) -> bool {
    let sources = machine.run("test -e /usr/share/i18n/locales/el_GR -a -e /etc/locale.gen");
    let missing = "the package locales is not installed".to_owned();
    let there = if sources.status.success() { Ok(()) } else { Err(missing) };
    needed(there).is_some() && machine.has("localedef").is_some()
}

#[test]
fn a_locale_that_is_missing_is_built_into_the_archive() {
    let Some(machine) = machine() else { return };
    if !localedef(&machine) {
        return;
    }
    machine.ok("rm -f /usr/lib/locale/locale-archive");
    for (asked, built) in [("el_GR.UTF-8", "el_GR.utf8"), ("greek", "el_GR.iso88597")] {
        let before = files(&machine);
        let many = misses(&machine, asked);
        assert!(many > 5, "{asked}: {many}");
        let shown = machine.run(&format!("needless fix --locale {asked}"));
        assert!(stderr(&shown).contains("--yes"), "{}", stderr(&shown));
        assert_eq!(files(&machine), before, "without a yes nothing is written");
        let fixed = machine.ok(&format!("needless fix --locale {asked} --yes"));
        assert!(fixed.contains("new file /usr/lib/locale/locale-archive"), "{fixed}");
        assert_eq!(misses(&machine, asked), 0, "{asked}: {fixed}");
        assert!(machine.ok("locale -a").contains(built), "{fixed}");
        assert_ne!(machine.ok("grep -c '^el_GR' /etc/locale.gen").trim(), "0");
        let again = machine.ok(&format!("needless fix --locale {asked} --yes"));
        assert!(again.contains("already so"), "{again}");
        machine.ok("needless undo");
        assert_eq!(files(&machine), before, "{asked}: not every byte is back");
        assert_eq!(misses(&machine, asked), many);
    }
    // An existing archive keeps its locales, and undo restores it.
    machine.ok("localedef -i de_DE -f ISO-8859-1 de_DE");
    let before = files(&machine);
    machine.ok("needless fix --locale el_GR.UTF-8 --yes");
    assert_eq!(misses(&machine, "el_GR.UTF-8"), 0);
    assert_eq!(misses(&machine, "de_DE"), 0);
    machine.ok("needless undo");
    assert_eq!(files(&machine), before);
    // Another program has added a locale since: undo refuses and says why.
    machine.ok("needless fix --locale el_GR.UTF-8 --yes; localedef -i fr_FR -f ISO-8859-1 fr_FR");
    let changed = files(&machine);
    let done = machine.run("needless undo");
    assert_eq!(done.status.code(), Some(2));
    let said = stderr(&done);
    assert!(said.contains("locale-archive: it has changed since"), "{said}");
    assert_eq!(files(&machine), changed);
}

/// The tree of links of 2001: the requested name leads to the locale at the first attempt.
#[test]
fn a_locale_as_a_directory_and_by_a_link() {
    let Some(machine) = machine() else { return };
    if !localedef(&machine) {
        return;
    }
    machine.ok("rm -f /usr/lib/locale/locale-archive");
    let before = files(&machine);
    let many = misses(&machine, "el_GR.UTF-8");
    let fixed = machine.ok("needless fix --locale el_GR.UTF-8 --directory --yes");
    assert!(fixed.contains("new link /usr/lib/locale/el_GR.UTF-8 -> el_GR.utf8"), "{fixed}");
    // The only call left is the open of the archive, which does not exist.
    assert!(many > 5 && misses(&machine, "el_GR.UTF-8") == 1, "{many}");
    machine.ok("needless undo");
    assert_eq!(files(&machine), before);
    let el = "/usr/share/locale/el/LC_MESSAGES";
    machine.ok(&format!("cd /usr/share/locale; rm -rf el_GR* el.*; mkdir -p {el}"));
    for (domain, id) in [("coreutils", "cannot access %s"), ("libc", "No such file or directory")] {
        machine.ok(&format!("printf '{}' >{el}/{domain}.mo", catalogue(id, id)));
    }
    machine.ok("needless fix --locale el_GR.UTF-8 --directory --yes");
    let (between, many) = (files(&machine), message_misses(&machine, "el_GR.UTF-8"));
    assert!(many >= 5, "{many}");
    let fixed = machine.ok("needless fix --locale el_GR.UTF-8 --messages --yes");
    assert!(fixed.contains("new link /usr/share/locale/el_GR.UTF-8 -> el"), "{fixed}");
    assert_eq!(message_misses(&machine, "el_GR.UTF-8"), 0);
    machine.ok("needless undo");
    assert_eq!(files(&machine), between);
    machine.ok("mkdir /usr/share/locale/el_GR");
    let several = machine.run("needless fix --locale el_GR.UTF-8 --messages --yes");
    assert!(stderr(&several).contains("several directories (el_GR, el)"), "{several:?}");
    machine.ok("rmdir /usr/share/locale/el_GR; needless undo");
    let before = files(&machine);
    let many = misses(&machine, "C.UTF-8");
    assert!(many > 5, "{many}");
    let fixed = machine.ok("needless fix --locale C.UTF-8 --yes");
    assert!(fixed.contains("new link /usr/lib/locale/C.UTF-8 -> C.utf8"), "{fixed}");
    assert_eq!(misses(&machine, "C.UTF-8"), 1);
    // undo does not remove another program's link in this place.
    machine.ok("ln -sfn /somewhere /usr/lib/locale/C.UTF-8");
    assert_eq!(machine.run("needless undo").status.code(), Some(2));
    machine.ok("ln -sfn C.utf8 /usr/lib/locale/C.UTF-8; needless undo");
    assert_eq!(files(&machine), before);
    for (name, says) in [
        ("xx_YY.UTF-8", "there is no locale xx_YY"),
        ("../../etc/x", "not a valid locale name"),
        ("el_GR.NOPE-1", "no charmap NOPE-1"),
    ] {
        let done = machine.run(&format!("needless fix --locale {name} --yes"));
        assert_eq!(done.status.code(), Some(2), "{name}");
        assert!(assert_one_line(&done).contains(says), "{name}: {}", stderr(&done));
    }
    assert_eq!(files(&machine), before);
    // The variable itself: Debian has a file for it, which PAM reads.
    drop(machine.start("exec su -s /bin/sh -c '/usr/local/bin/probe locale' daemon"));
    let pid = machine.pid_of(&format!("{WORDS} locale"), "0");
    let fixed = machine.ok(&format!("needless fix --pid {pid} --set LC_TIME=C.utf8 --yes"));
    // Newer ones have a link there.
    let file = machine
        .ok("[ -L /etc/default/locale ] && echo /etc/locale.conf || echo /etc/default/locale");
    assert!(fixed.contains(&format!("+++ b{}", file.trim())), "{fixed}");
    assert_eq!(machine.ok("su -s /bin/sh -c 'echo $LC_TIME' daemon"), "C.utf8\n");
    machine.ok("needless undo");
    assert_eq!(files(&machine), before);
}

/// A unit's own command changes its environment: the line is named, and no drop-in is offered that it would overrule.
#[test]
fn a_unit_whose_command_takes_it_away() {
    let Some(machine) = machine() else { return };
    let unit = |exec: &str, more: &str| {
        let text = format!("[Service]\nExecStart={exec}\n{more}");
        machine.write("/etc/systemd/system/p@.service", "644", &text);
        machine.ok("systemctl daemon-reload; systemctl restart p@1");
        let pid = machine.ok("systemctl show -p MainPID --value p@1").trim().to_owned();
        machine.pid_of(&format!("{WORDS} e"), "0");
        (origin(&machine, &pid), pid)
    };
    let set = "Environment=TZ=Asia/Tokyo\n";
    let (story, pid) = unit("/usr/bin/env -i /usr/local/bin/probe e", set);
    assert!(story.contains("p@.service:2 removes it (`env -i`)"), "{story}");
    let done = machine.run(&format!("needless fix --pid {pid} --set TZ=UTC --yes"));
    assert!(stderr(&done).contains("not done by a tool"), "{}", stderr(&done));
    let (story, _) = unit("/usr/bin/env -u TZ /usr/local/bin/probe e", set);
    assert!(story.contains("p@.service:2 removes it (`env -u`)"), "{story}");
    let (story, pid) = unit("/usr/bin/env TZ=UTC /usr/local/bin/probe e", "");
    assert!(story.contains("p@.service:2 sets it, and p@1.service starts its program"), "{story}");
    let plan = machine.run(&format!("needless fix --pid {pid} --set TZ=Asia/Tokyo </dev/null"));
    assert!(stderr(&plan).contains("p@.service:2 sets it (`env`), after systemd"), "{plan:?}");
    // The file of one instance, and the removal of one value only.
    machine.write("/etc/default/p-1", "644", "TZ=Europe/Athens\n");
    let more = "EnvironmentFile=/etc/default/%p-%i\nUnsetEnvironment=TZ=UTC\n";
    let (story, _) = unit("/usr/local/bin/probe e", more);
    assert!(story.starts_with("TZ is Europe/Athens in perl["), "{story}");
    assert!(
        story.contains("/etc/default/p-1:1 sets it, and p@1.service is started with"),
        "{story}"
    );
}

/// The reader of a file that cannot be asked, and a journal of another user: one line that says what to do.
#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let Some(machine) = Machine::boot(&[]) else { return };
    machine.write("/etc/supervisor/conf.d/w.conf", "644", "[program:web]\ncommand=x\n");
    let fix = "needless fix --in /etc/supervisor/conf.d/w.conf --part web --set TZ=UTC --yes";
    for (script, says) in [
        (
            fix,
            "the file is written, but its reader does not know yet: run that command where it runs",
        ),
        (
            "setpriv --euid=65534 env HOME=/root needless undo --list",
            "no permission for user 65534: XDG_STATE_HOME or HOME must name a directory of that user",
        ),
    ] {
        let done = machine.run(script);
        assert_eq!(done.status.code(), Some(2), "{script}: {}", stdout(&done));
        let said = stderr(&done);
        assert!(said.contains(says) && said.trim().lines().count() == 1, "{script}: {said}");
    }
    // Undoing it is done, and says the same about the reader.
    let undone = machine.run("needless undo --last");
    assert!(stdout(&undone).contains("taken back"), "{}", stderr(&undone));
    assert!(stderr(&undone).contains("does not know yet"), "{}", stderr(&undone));
    // Where nothing can be restarted, the second run says it as the first.
    machine.write("/root/compose.yaml", "644", "services:\n  web:\n    image: x\n");
    for begins in
        ["TZ=UTC in /root/compose.yaml, web\n", "already so: TZ=UTC in /root/compose.yaml"]
    {
        let said = machine
            .ok("needless fix --in /root/compose.yaml --part web --set TZ=UTC --yes --restart");
        let ends = "nothing restarted: it takes effect with docker compose up -d, which makes new containers\n";
        assert!(said.starts_with(begins) && said.ends_with(ends), "{said}");
    }
}

/// Debian 13 gives ordinary users a group of their own and the umask 002.
#[test]
fn a_change_is_undone_whatever_the_umask_is() {
    let Some(machine) = Machine::boot(&[]) else { return };
    for (umask, user) in [("002", 65534), ("000", 0)] {
        let script = format!(
            "set -e; install -d -o {user} -g {user} /run/of{user}; cd /run/of{user}
             echo FROM debian:12 >Dockerfile; chown {user}:{user} Dockerfile; umask {umask}
             as() {{ setpriv --reuid={user} --regid={user} --clear-groups env HOME=$PWD \"$@\"; }}
             as needless fix --set TZ=UTC --in Dockerfile --yes; grep -q TZ Dockerfile
             as needless undo --last; cat Dockerfile"
        );
        let shown = machine.ok(&script);
        assert!(shown.ends_with("FROM debian:12\n"), "{umask}: {shown}");
    }
}

/// Whoever reads the output may go away: the change is made all the same, and nothing complains.
#[test]
fn a_reader_that_went_away_stops_no_change() {
    let Some(machine) = Machine::boot(&[]) else { return };
    machine.write("/root/Dockerfile", "644", "FROM debian:12\n");
    let unread =
        |command: &str| machine.run(&format!("bash -c 'exec > >(true); wait $!; {command}'"));
    let fix = "needless fix --set TZ=UTC --in /root/Dockerfile";
    let steps = [
        (format!("{fix} --yes"), "ENV TZ=\"UTC\""),
        ("needless undo --list".to_owned(), "ENV TZ=\"UTC\""),
        ("needless undo --last".to_owned(), "FROM debian:12"),
    ];
    for (command, last) in &steps {
        let done = unread(command);
        assert_eq!((done.status.code(), stderr(&done)), (Some(0), String::new()), "{command}");
        let text = machine.ok("cat /root/Dockerfile");
        assert_eq!(text.lines().last(), Some(*last), "{command}");
    }
}
