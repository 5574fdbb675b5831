//! One scenario, and what is checked of it.

use crate::common::*;
use crate::machine::{Machine, wait};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Converts fifty times, sleeps, and repeats: with TZ unset each conversion checks /etc/localtime.
pub(crate) const PROBE: &str = "#!/usr/bin/perl
while (1) { my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 }
";
/// The value that `fix` writes.
pub(crate) const ZONE: &str = "Asia/Tokyo";
/// The probe as a unit starts it.
pub(crate) const RUN: &str = "/usr/local/bin/probe";

/// A way to start a program, what is true of it, and what has to be said and done.
#[derive(Clone, Copy)]
pub(crate) struct Scenario<'a> {
    /// The name in the list, in messages, of the unit, and the argument of the probe.
    pub(crate) name: &'a str,
    /// The unit's `[Service]`; empty where there is no unit of that name to write.
    pub(crate) unit: &'a str,
    /// Other files: path, mode, text.
    pub(crate) files: &'a [(&'a str, &'a str, &'a str)],
    /// Starts it, in the background if it stays; empty: a restart of the unit.
    pub(crate) start: &'a str,
    /// Prints the process's id; empty: that of the probe with its name.
    pub(crate) find: &'a str,
    /// Prints the offset from UTC that the program uses; empty: the truth is read from /proc/PID/environ.
    pub(crate) offset: &'a str,
    /// The value of TZ in the process.
    pub(crate) truth: Option<&'a str>,
    /// The value that the program has set since, if it did.
    pub(crate) now: Option<&'a str>,
    /// Parts of the answer of `origin`.
    pub(crate) answer: &'a [&'a str],
    /// Words that `origin` must not print.
    pub(crate) never: &'a [&'a str],
    /// The file that `origin` names for a change, "" for none; and how sure it is.
    pub(crate) place: (&'a str, &'a str),
    /// The options of `fix`: for which program, and with a restart or without.
    pub(crate) fix: &'a str,
    /// Words before each command that changes something: another user.
    pub(crate) user: &'a str,
    /// Parts of what `fix` prints.
    pub(crate) says: &'a [&'a str],
    /// What becomes of the change.
    pub(crate) ends: Ends<'a>,
}

/// What becomes of a change.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ends<'a> {
    /// It is written to `place`, and the new process has the value.
    Arrives,
    /// It is refused in one line with these words, and nothing is written.
    Refused(&'a str),
    /// It is written, does not reach the new process, and is taken back with these words.
    TakenBack(&'a str),
}

pub(crate) const UNIT: Scenario<'static> = Scenario {
    name: "",
    unit: "",
    files: &[],
    start: "",
    find: "",
    offset: "",
    truth: None,
    now: None,
    answer: &[],
    never: &[],
    place: ("/etc/systemd/system/NAME.service.d/zz-needless.conf", "high"),
    fix: "--unit NAME --restart",
    user: "",
    says: &[],
    ends: Ends::Arrives,
};

/// A machine with the probe in it and a zone of its own.
pub(crate) fn machine(debs: &str) -> Option<Machine> {
    program("perl")?;
    program("strace")?;
    let machine = Machine::boot_with(&[("probe", PROBE)], debs)?;
    machine.ok("ln -sf /usr/share/zoneinfo/America/New_York /etc/localtime
         rm -f /etc/timezone; : >/etc/environment");
    Some(machine)
}

/// Every scenario holds; the message names those that do not.
pub(crate) fn hold(machine: &Machine, all: &[Scenario<'_>]) {
    let mut failed = Vec::new();
    for one in all {
        if catch_unwind(AssertUnwindSafe(|| one.holds(machine))).is_err() {
            failed.push(one.name);
        }
        one.clear(machine);
    }
    assert!(failed.is_empty(), "{} of {} do not hold: {failed:?}", failed.len(), all.len());
}

impl Scenario<'_> {
    fn with_name(&self, text: &str) -> String {
        text.replace("NAME", self.name)
    }

    fn files(&self) -> Vec<(String, &str, String)> {
        let unit = (!self.unit.is_empty()).then(|| {
            let path = format!("/etc/systemd/system/{}.service", self.name);
            (path, "644", self.with_name(&format!("[Service]\n{}\n", self.unit)))
        });
        let more = self.files.iter();
        let more =
            more.map(|(path, mode, text)| (self.with_name(path), *mode, self.with_name(text)));
        unit.into_iter().chain(more).collect()
    }

    fn start(&self, machine: &Machine) {
        match self.start {
            "" => drop(machine.ok(&format!("systemctl restart {}", self.name))),
            script => {
                machine
                    .ok(&format!("{{ {}\n}} >/dev/null 2>&1 </dev/null", self.with_name(script)));
            }
        }
    }

    /// The process, if it is not `not`.
    fn pid(&self, machine: &Machine, not: &str) -> String {
        if self.find.is_empty() {
            let words = format!("/usr/bin/perl {RUN} {}", self.name.trim_end_matches("@x"));
            return machine.pid_of(&words, not);
        }
        let find = self.with_name(self.find);
        let found = wait(|| {
            let pid = stdout(&machine.run(&find)).trim().to_owned();
            (!pid.is_empty() && pid != "0" && pid != not).then_some(pid)
        });
        found.unwrap_or_else(|| panic!("{}: does not run: {}", self.name, machine.ok("ps -ef")))
    }

    /// The real value of TZ in the process, whatever needless says.
    fn is(&self, machine: &Machine, pid: &str, value: Option<&str>) {
        if self.offset.is_empty() {
            let environ = machine.ok(&format!("tr '\\0' '\\n' </proc/{pid}/environ"));
            let real = environ.lines().find_map(|line| line.strip_prefix("TZ="));
            assert_eq!(real, value, "{}: the value in {pid}", self.name);
        } else {
            let zone = value.map_or("env -u TZ".to_owned(), |zone| format!("TZ={zone}"));
            let is = machine.ok(&self.with_name(self.offset));
            assert_eq!(is, machine.ok(&format!("{zone} date +%z")), "{}: its offset", self.name);
        }
    }

    /// What `systemctl` says of the unit: its variables, its files, whether it is in step with them.
    fn systemd(&self, machine: &Machine) -> String {
        let fields = "Environment,EnvironmentFiles,DropInPaths,NeedDaemonReload";
        stdout(&machine.run(&format!("systemctl show -p {fields} {}", self.name)))
    }

    fn holds(&self, machine: &Machine) {
        let name = self.name;
        for (path, mode, text) in self.files() {
            machine.write(&path, mode, &text);
        }
        machine.ok("[ ! -d /home/bob ] || chown -R bob: /home/bob; systemctl daemon-reload");
        self.start(machine);
        let pid = self.pid(machine, "0");
        let (before, unit) = (files(machine), self.systemd(machine));
        self.is(machine, &pid, self.truth);
        let probe = self.find.is_empty();
        let before_fix = if probe { calls(machine, &pid) } else { 0 };
        assert_eq!(probe && self.truth.is_none(), before_fix > 0, "{name}: {before_fix} calls");
        let (file, sure) = self.origin(machine, &pid);
        assert_eq!(
            (file.as_str(), sure.as_str()),
            (&*self.with_name(self.place.0), self.place.1),
            "{name}: the place"
        );
        let fix = self.with_name(self.fix).replace("PID", &pid);
        let done = machine.run(&format!("{} needless fix {fix} --set TZ={ZONE} --yes", self.user));
        let said = format!("{}{}", stdout(&done), stderr(&done));
        for part in self.says {
            assert!(said.contains(&self.with_name(part)), "{name}: {part:?} in {said}");
        }
        let restarts = fix.contains("--restart");
        match self.ends {
            Ends::Arrives => {
                assert!(done.status.success(), "{name}: {said}");
                assert!(said.contains(&format!("+++ b{file}\n")), "{name}: {file} in {said}");
                if restarts {
                    assert!(said.contains(&format!("in force: TZ={ZONE} in ")), "{name}: {said}");
                } else {
                    self.end(machine, &pid);
                    self.start(machine);
                }
                let fresh = self.pid(machine, &pid);
                self.is(machine, &fresh, Some(ZONE));
                if probe {
                    assert_eq!(calls(machine, &fresh), 0, "{name}: afterwards");
                }
                machine.ok(&format!("{} needless undo --last", self.user));
            }
            Ends::Refused(words) => {
                assert_eq!(done.status.code(), Some(2), "{name}: {said}");
                let lines = stderr(&done);
                let reason = lines.lines().find(|line| line.contains(&self.with_name(words)));
                assert!(
                    reason.is_some() && lines.lines().count() <= 2,
                    "{name}: {words:?} in {said}"
                );
                assert!(!said.contains("done: change"), "{name}: {said}");
            }
            Ends::TakenBack(words) => {
                assert_eq!(done.status.code(), Some(2), "{name}: {said}");
                assert!(said.contains(&self.with_name(words)), "{name}: {words:?} in {said}");
                assert!(said.contains("taken back, and restarted once more"), "{name}: {said}");
                // Nothing that is called certain may fail.
                assert_ne!(sure, "high", "{name}: {said}");
            }
        }
        same(&before, &files(machine), name);
        assert_eq!(unit, self.systemd(machine), "{name}: what systemd knows");
        eprintln!(
            "{name}: {}, sure {sure}; {before_fix} calls",
            if file.is_empty() { "by hand" } else { &file }
        );
    }

    /// Asks `origin`; the file that it names for a change, and how sure it is.
    fn origin(&self, machine: &Machine, pid: &str) -> (String, String) {
        let (name, user) = (self.name, self.user);
        let printed = machine.ok(&format!("{user} needless origin TZ {pid} --json"));
        let story: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let answer = story["answer"].as_str().unwrap();
        let is = self
            .now
            .or(self.truth)
            .map_or("TZ is not set in ".to_owned(), |zone| format!("TZ is {zone} in "));
        assert!(answer.starts_with(&is), "{name}: {answer}");
        for part in self.answer {
            assert!(answer.contains(&self.with_name(part)), "{name}: {part:?} in {answer}");
        }
        for part in self.never {
            assert!(!printed.contains(part), "{name}: {part:?} in {printed}");
        }
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let place = &story["belongs"][0];
        (text(&place["file"]), text(&place["confidence"]))
    }

    fn end(&self, machine: &Machine, pid: &str) {
        machine.run(&format!("kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.05; done"));
    }

    /// Removes it from the machine, also where it failed.
    fn clear(&self, machine: &Machine) {
        let name = self.name;
        let gone: Vec<String> = self.files().into_iter().map(|(path, ..)| path).collect();
        let words = format!("^/usr/bin/perl {RUN} {}$", name.trim_end_matches("@x"));
        machine.run(&format!(
            "systemctl stop {name}; systemctl reset-failed {name}; systemctl unset-environment TZ; pkill -f '{words}'
             rm -rf {} /etc/systemd/system/{name}.service.d; systemctl daemon-reload",
            gone.join(" ")
        ));
    }
}

/// Every file that a change may be in, with its checksum, mode, owner and time. crontab(1) has files of its own while it
/// checks a table.
pub(crate) fn files(machine: &Machine) -> String {
    machine.ok("cd /; set -- etc home usr/local/bin var/spool/cron
         { find \"$@\" -printf '%p %y %m %u %g %l\\n'; find \"$@\" -type f -size -999k -exec sha256sum {} +; } 2>/dev/null |
         grep -v crontabs/tmp | sort")
}

/// Asserts that two listings of files are the same, and shows the lines that differ.
pub(crate) fn same(before: &str, after: &str, name: &str) {
    let only = |these: &str, those: &str| -> Vec<String> {
        let those: std::collections::BTreeSet<&str> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(str::to_owned).collect()
    };
    let (gone, new) = (only(before, after), only(after, before));
    assert!(before == after, "{name}: not every byte is back: {gone:#?} became {new:#?}");
}

/// How often the probe checks /etc/localtime in two of its rounds, which is about half a second: strace shows where a
/// round ends.
pub(crate) fn calls(machine: &Machine, pid: &str) -> usize {
    let log = machine.ok(&format!(
        "strace -e trace=%file,pselect6,select -o /run/strace.{pid} -p {pid} 2>/dev/null & tracer=$!
         until [ \"$(grep -c select /run/strace.{pid} 2>/dev/null)\" -ge 4 ]; do
             [ -e /proc/{pid} ] && sleep 0.05 || exit 1; done
         kill -INT $tracer; wait $tracer; cat /run/strace.{pid}; rm /run/strace.{pid}"
    ));
    let mut rounds = 0;
    let count = |line: &&str| {
        rounds += usize::from(line.contains("select"));
        (1..=2).contains(&rounds) && line.contains("\"/etc/localtime\"")
    };
    log.lines().filter(count).count()
}
