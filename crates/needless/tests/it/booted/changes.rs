//! `fix` with the real localedef, for several processes at once, and what it says where it can do nothing.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;

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
fn etc_and_locales(machine: &Machine) -> String {
    files_in(machine, "etc usr/lib/locale usr/share/locale/el*")
}

fn localedef(machine: &Machine) -> bool {
    let sources = machine.run("test -e /usr/share/i18n/locales/el_GR -a -e /etc/locale.gen");
    let missing = "the package locales is not installed".to_owned();
    let there = if sources.status.success() { Ok(()) } else { Err(missing) };
    needed(there).is_some() && machine.has("localedef").is_some()
}

#[test]
fn fix_builds_a_missing_locale_into_the_archive() {
    let Some(machine) = machine("") else { return };
    if !localedef(&machine) {
        return;
    }
    machine.ok("rm -f /usr/lib/locale/locale-archive");
    for (asked, built) in [("el_GR.UTF-8", "el_GR.utf8"), ("greek", "el_GR.iso88597")] {
        let before = etc_and_locales(&machine);
        let many = misses(&machine, asked);
        assert!(many > 5, "{asked}: {many}");
        let shown = machine.run(&format!("needless fix --locale {asked}"));
        assert!(stderr(&shown).contains("--yes"), "{}", stderr(&shown));
        assert_eq!(etc_and_locales(&machine), before, "without a yes nothing is written");
        let fixed = machine.ok(&format!("needless fix --locale {asked} --yes"));
        assert!(fixed.contains("new file /usr/lib/locale/locale-archive"), "{fixed}");
        assert_eq!(misses(&machine, asked), 0, "{asked}: {fixed}");
        assert!(machine.ok("locale -a").contains(built), "{fixed}");
        assert_ne!(machine.ok("grep -c '^el_GR' /etc/locale.gen").trim(), "0");
        let again = machine.ok(&format!("needless fix --locale {asked} --yes"));
        assert!(again.contains("already so"), "{again}");
        machine.ok("needless undo");
        assert_eq!(etc_and_locales(&machine), before, "{asked}: not every byte is back");
        assert_eq!(misses(&machine, asked), many);
    }
    // An existing archive keeps its locales, and undo restores it.
    machine.ok("localedef -i de_DE -f ISO-8859-1 de_DE");
    let before = etc_and_locales(&machine);
    machine.ok("needless fix --locale el_GR.UTF-8 --yes");
    assert_eq!(misses(&machine, "el_GR.UTF-8"), 0);
    assert_eq!(misses(&machine, "de_DE"), 0);
    machine.ok("needless undo");
    assert_eq!(etc_and_locales(&machine), before);
    // Another program has added a locale since: undo refuses and says why.
    machine.ok("needless fix --locale el_GR.UTF-8 --yes; localedef -i fr_FR -f ISO-8859-1 fr_FR");
    let changed = etc_and_locales(&machine);
    let done = machine.run("needless undo");
    assert_eq!(done.status.code(), Some(2));
    let said = stderr(&done);
    assert!(said.contains("locale-archive: it has changed since"), "{said}");
    assert_eq!(etc_and_locales(&machine), changed);
}

/// The tree of links of 2001: the requested name leads to the locale at the first attempt.
#[test]
fn fix_makes_a_locale_as_a_directory_and_by_a_link() {
    let Some(machine) = machine("") else { return };
    if !localedef(&machine) {
        return;
    }
    machine.ok("rm -f /usr/lib/locale/locale-archive");
    let before = etc_and_locales(&machine);
    let many = misses(&machine, "el_GR.UTF-8");
    let fixed = machine.ok("needless fix --locale el_GR.UTF-8 --directory --yes");
    assert!(fixed.contains("new link /usr/lib/locale/el_GR.UTF-8 -> el_GR.utf8"), "{fixed}");
    // The only call left is the open of the archive, which does not exist.
    assert!(many > 5 && misses(&machine, "el_GR.UTF-8") == 1, "{many}");
    machine.ok("needless undo");
    assert_eq!(etc_and_locales(&machine), before);
    let el = "/usr/share/locale/el/LC_MESSAGES";
    machine.ok(&format!("cd /usr/share/locale; rm -rf el_GR* el.*; mkdir -p {el}"));
    for (domain, id) in [("coreutils", "cannot access %s"), ("libc", "No such file or directory")] {
        machine.ok(&format!("printf '{}' >{el}/{domain}.mo", catalogue(id, id)));
    }
    machine.ok("needless fix --locale el_GR.UTF-8 --directory --yes");
    let (between, many) = (etc_and_locales(&machine), message_misses(&machine, "el_GR.UTF-8"));
    assert!(many >= 5, "{many}");
    let fixed = machine.ok("needless fix --locale el_GR.UTF-8 --messages --yes");
    assert!(fixed.contains("new link /usr/share/locale/el_GR.UTF-8 -> el"), "{fixed}");
    assert_eq!(message_misses(&machine, "el_GR.UTF-8"), 0);
    machine.ok("needless undo");
    assert_eq!(etc_and_locales(&machine), between);
    machine.ok("mkdir /usr/share/locale/el_GR");
    let several = machine.run("needless fix --locale el_GR.UTF-8 --messages --yes");
    assert!(stderr(&several).contains("several directories (el_GR, el)"), "{several:?}");
    machine.ok("rmdir /usr/share/locale/el_GR; needless undo");
    let before = etc_and_locales(&machine);
    let many = misses(&machine, "C.UTF-8");
    assert!(many > 5, "{many}");
    let fixed = machine.ok("needless fix --locale C.UTF-8 --yes");
    assert!(fixed.contains("new link /usr/lib/locale/C.UTF-8 -> C.utf8"), "{fixed}");
    assert_eq!(misses(&machine, "C.UTF-8"), 1);
    // undo does not remove another program's link in this place.
    machine.ok("ln -sfn /somewhere /usr/lib/locale/C.UTF-8");
    assert_eq!(machine.run("needless undo").status.code(), Some(2));
    machine.ok("ln -sfn C.utf8 /usr/lib/locale/C.UTF-8; needless undo");
    assert_eq!(etc_and_locales(&machine), before);
    for (name, says) in [
        ("xx_YY.UTF-8", "there is no locale xx_YY"),
        ("../../etc/x", "not a valid locale name"),
        ("el_GR.NOPE-1", "no charmap NOPE-1"),
    ] {
        let done = machine.run(&format!("needless fix --locale {name} --yes"));
        assert_eq!(done.status.code(), Some(2), "{name}");
        assert!(assert_one_line(&done).contains(says), "{name}: {}", stderr(&done));
    }
    assert_eq!(etc_and_locales(&machine), before);
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
    assert_eq!(etc_and_locales(&machine), before);
}

/// The reader of a file that cannot be asked, and a journal of another user: one line that says what to do.
#[test]
fn fix_says_what_to_do_where_it_can_do_nothing() {
    let Some(machine) = Machine::boot(&[]) else { return };
    machine.write("/etc/supervisor/conf.d/w.conf", "644", "[program:web]\ncommand=x\n");
    let fix = "needless fix --in /etc/supervisor/conf.d/w.conf --part web --set TZ=UTC --yes --times-change";
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
fn undo_works_with_any_umask() {
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
fn fix_goes_on_when_nobody_reads_its_output() {
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
