//! A change of TZ is judged by the local time that the program really gets, and a text is read as its reader reads it.

use crate::booted::machine::Machine;
use crate::booted::scenario::*;
use crate::common::program;

const HOME: &str = "America/New_York";
const OTHER: &str = "Europe/Madrid";
/// The same local times as those of the machine.
const RULES: &str = "EST5EDT,M3.2.0,M11.1.0";

/// The caveats in the output of `fix`, in order.
fn caveats(said: &str) -> Vec<&str> {
    said.lines().filter_map(|line| line.strip_prefix("  caveat   ")).collect()
}

/// `--yes` alone writes no change of local times: of a scheduler it moves every job.
#[test]
fn a_change_of_local_times_needs_an_option_of_its_own() {
    if program("cron").is_none() {
        return;
    }
    let Some(machine) = machine("") else { return };
    machine.ok("systemctl restart cron");
    let (before, pid) = (files(&machine), machine.main_of("cron"));
    let fix = |zone: &str, more: &str| {
        machine.all(&format!("needless fix --unit cron --set TZ={zone} --yes --restart {more}"))
    };
    let said = fix(OTHER, "");
    let times = "Its local times change by +";
    assert!(caveats(&said)[0].starts_with(times), "{said}");
    assert!(
        caveats(&said)[0].ends_with(
            " h from now: logs, schedules, file names. The schedule of every job moves."
        ),
        "{said}"
    );
    assert!(said.contains("add --times-change") && said.ends_with("rc 2"), "{said}");
    same(&before, &files(&machine), "nothing is written");
    assert_eq!(machine.main_of("cron"), pid, "nothing is restarted");
    // What a terminal is asked shows the caveat as well, and is not refused before.
    let said = machine.all(&format!("needless fix --unit cron --set TZ={OTHER} </dev/null"));
    assert!(
        caveats(&said)[0].starts_with(times) && said.contains("no terminal to ask on"),
        "{said}"
    );
    // The same local times by another name need no such option.
    for (zone, more) in [(HOME, ""), (RULES, ""), (OTHER, "--times-change")] {
        let said = fix(zone, more);
        assert!(said.ends_with("rc 0"), "{said}");
        assert_eq!(said.contains(times), !more.is_empty(), "{said}");
        assert_eq!(machine.zone(&machine.main_of("cron")).as_deref(), Some(zone));
    }
    // Back to the zone of the machine is a change as well.
    let said = machine.all("needless fix --unit cron --unset TZ --yes");
    assert!(caveats(&said)[0].starts_with("Its local times change by -"), "{said}");
    for _ in 0..3 {
        machine.ok("needless undo");
    }
    same(&before, &files(&machine), "undone");
}

const JAIL: &str = "[Service]
RootDirectory=/srv/jail
BindReadOnlyPaths=/usr/bin /usr/lib /usr/lib64 /usr/local/bin
ExecStart=/usr/local/bin/probe jail
";

/// The root of a unit has zones of its own, or none.
#[test]
fn zones_are_looked_up_where_the_program_looks() {
    let Some(machine) = machine("") else { return };
    machine.write("/etc/systemd/system/jail.service", "644", JAIL);
    machine.ok("cd /; mkdir -p srv/jail/usr/local srv/jail/etc; cd srv/jail
         mkdir -p usr/bin usr/lib usr/lib64 usr/local/bin proc sys dev run tmp; ln -s usr/bin usr/lib usr/lib64 .
         systemctl daemon-reload; systemctl start jail");
    let pid = machine.pid_of(&format!("{WORDS} jail"), "0");
    let before = files(&machine);
    let why = format!(
        "in the root of this process there is no zone {OTHER}: its time would silently be UTC"
    );
    let refused = |who: &str| {
        let said =
            machine.all(&format!("needless fix {who} --set TZ={OTHER} --yes --times-change"));
        assert!(said.contains(&why) && said.ends_with("rc 2"), "{who}: {said}");
    };
    refused("--unit jail");
    refused(&format!("--pid {pid}"));
    machine.ok("systemctl stop jail");
    refused("--unit jail");
    same(&before, &files(&machine), "nothing is written");
    machine.ok(&format!(
        "mkdir -p /srv/jail/usr/share/zoneinfo/Europe; systemctl start jail
         cp -L /usr/share/zoneinfo/{OTHER} /srv/jail/usr/share/zoneinfo/Europe"
    ));
    let pid = machine.pid_of(&format!("{WORDS} jail"), "0");
    // It has no /etc/localtime: its time is UTC, whatever the machine's is.
    let fix = |zone: &str, more: &str| {
        machine.all(&format!("needless fix --unit jail --set TZ={zone} --yes --restart {more}"))
    };
    let said = fix(OTHER, "");
    assert!(said.contains("Its local times change by +") && said.ends_with("rc 2"), "{said}");
    let said = fix(OTHER, "--times-change");
    assert!(said.ends_with("rc 0"), "{said}");
    let fresh = machine.pid_of(&format!("{WORDS} jail"), &pid);
    assert_eq!(machine.zone(&fresh).as_deref(), Some(OTHER));
    machine.ok("needless undo; systemctl restart jail");
    let said = fix("UTC", "");
    assert!(said.ends_with("rc 0") && !said.contains("local times"), "{said}");
    machine.ok("needless undo; systemctl restart jail");
    // The same for a file of its: what its zone is there decides, not what the machine's is.
    let drop_in = "/etc/systemd/system/jail.service.d/own.conf";
    machine.write(drop_in, "644", "[Service]\n");
    machine.ok("systemctl daemon-reload");
    let fix =
        |zone: &str| machine.all(&format!("needless fix --in {drop_in} --set TZ={zone} --yes"));
    let said = fix(HOME);
    assert!(said.contains("in the root of this process there is no zone"), "{said}");
    let said = fix(OTHER);
    assert!(said.contains("change by +") && said.ends_with("rc 2"), "{said}");
    let said = fix("UTC");
    assert!(said.ends_with("rc 0") && !said.contains("local times"), "{said}");
}

/// The directory of zones, and the zone of a schedule.
#[test]
fn where_zones_are_and_the_zone_of_a_schedule_are_judged() {
    let Some(machine) = machine("") else { return };
    let text = format!("{SERVICE}Environment=TZ={OTHER}\n");
    let pid = start_unit(&machine, &text);
    let before = files(&machine);
    let fix = |change: &str| machine.all(&format!("needless fix {change} --yes"));
    for who in ["--unit probe".to_owned(), format!("--pid {pid}")] {
        let said = fix(&format!("{who} --set TZDIR=/srv/zones"));
        assert!(caveats(&said)[0].starts_with("Its local times change by -"), "{said}");
        assert!(said.contains("add --times-change") && said.ends_with("rc 2"), "{said}");
    }
    machine.ok("systemctl stop probe");
    let said = fix("--unit probe --set TZDIR=/srv/zones");
    assert!(caveats(&said)[0].starts_with("Its local times change by -"), "{said}");
    same(&before, &files(&machine), "nothing is written");
    // The truth, with the zones and without.
    let time = |dir: &str| machine.ok(&format!("TZ={OTHER} TZDIR={dir} date +%z"));
    assert_eq!(time("/srv/zones"), "+0000\n");
    machine.ok("cp -r /usr/share/zoneinfo /srv/zones");
    assert_ne!(time("/srv/zones"), "+0000\n");
    let said = fix("--unit probe --set TZDIR=/srv/zones");
    assert!(said.ends_with("rc 0") && !said.contains("local times"), "{said}");
    machine.ok("needless undo");
    machine.write("/etc/cron.d/jobs", "644", "12 18 * * * root true\n");
    let said = fix(&format!("--in /etc/cron.d/jobs --set CRON_TZ={OTHER}"));
    assert!(caveats(&said)[0].starts_with("The times of the schedule change by +"), "{said}");
    assert!(said.ends_with("rc 2"), "{said}");
    let said = fix(&format!("--in /etc/cron.d/jobs --set CRON_TZ={HOME}"));
    assert!(said.ends_with("rc 0") && !said.contains("times of"), "{said}");
    let said = fix("--in /etc/cron.d/jobs --set CRON_TZ=Nowhere/City");
    assert!(said.contains("there is no zone Nowhere/City") && said.ends_with("rc 2"), "{said}");
}

/// What a session gets of these variables, a line each, as PAM itself reads the file.
fn session(machine: &Machine) -> String {
    machine.ok("su - bob -c env | grep -E '^(A|B|TZ)=' | sort | cat -A")
}

/// /etc/environment, read by the real pam_env before and after.
#[test]
fn a_line_for_pam_changes_no_other_one() {
    let Some(machine) = machine("") else { return };
    machine.ok("useradd -m -s /bin/bash bob");
    let long = format!("B={}", "x".repeat(9000));
    for (text, gets, refused) in [
        ("A=1\r\n", "A=1^M$\n", "end with CR LF"),
        (
            "B=1\nA=b\\\n",
            "B=1$\n",
            "line 2 ends with a backslash: the next line would become a part of A",
        ),
        (&*format!("A=1\n{long}\n"), "A=1$\n", "line 2 is longer than 8190 bytes"),
        ("A=b\\\n# c\nc # \\\n", "A=bc $\n", ""),
        ("A=\"1\"\n\tB=2", "A=1$\nB=2$\n", ""),
    ] {
        machine.write("/etc/environment", "644", text);
        assert_eq!(session(&machine), gets, "{text:.40}");
        let said =
            machine.all(&format!("needless fix --in /etc/environment --set TZ={HOME} --yes"));
        if refused.is_empty() {
            assert!(said.ends_with("rc 0"), "{said}");
            assert_eq!(session(&machine), format!("{gets}TZ={HOME}$\n"), "{text:.40}");
        } else {
            assert!(said.contains(refused) && said.ends_with("rc 2"), "{said}");
            assert_eq!(session(&machine), gets, "{text:.40}");
        }
    }
}

/// A value that names what is not there, a file that nobody reads, a value that fills the screen.
#[test]
fn values_and_files_without_effect_get_a_caveat() {
    let Some(machine) = machine("") else { return };
    machine.write("/etc/systemd/system/probe.service", "644", SERVICE);
    machine.write("/etc/cron.d/old.dpkg-old", "644", "* * * * * root true\n");
    machine.write("/etc/cron.d/open", "644", "* * * * * root true");
    machine.ok("systemctl daemon-reload");
    for (change, says) in [
        ("--unit probe --set LANG=xx_YY.UTF-8", "The locale xx_YY.UTF-8 is not installed"),
        ("--unit probe --set LD_LIBRARY_PATH=/nonexist", "There is no directory /nonexist"),
        ("--unit probe --set LD_PRELOAD=/nope.so", "There is no library /nope.so"),
        ("--in /etc/cron.d/old.dpkg-old --set A=1", "cron does not read this file: its name"),
        ("--in /etc/cron.d/open --set A=1", "crontab refuses the text"),
    ] {
        let said = machine.all(&format!("needless fix {change} </dev/null"));
        assert!(said.contains(says), "{change}: {said}");
    }
    let long = "$(printf '/usr/lib:%.0s' $(seq 11000))/usr/lib";
    let said =
        machine.all(&format!("needless fix --unit probe --set LD_LIBRARY_PATH={long} </dev/null"));
    assert!(said.contains("LD_LIBRARY_PATH=") && said.len() < 5000, "{} {said:.900}", said.len());
    for wrong in ["/etc/passwd", ":/etc/passwd"] {
        let said = machine
            .all(&format!("needless fix --unit probe --set TZ={wrong} --yes --times-change"));
        assert!(
            said.contains("/etc/passwd is not a time zone file") && said.ends_with("rc 2"),
            "{said}"
        );
    }
}
