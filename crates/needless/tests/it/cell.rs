//! Shared by the tests of places: a program with needless calls, and the checks for each way to start it.

use crate::common::*;
use crate::machine::Machine;

/// Converts fifty times, sleeps, and repeats: with TZ unset each conversion checks /etc/localtime.
pub(crate) const PROBE: &str = "#!/usr/bin/perl
while (1) { my @t = localtime for 1 .. 50; select undef, undef, undef, 0.2 }
";
pub(crate) const WORDS: &str = "/usr/bin/perl /usr/local/bin/probe";
pub(crate) const ZONE: &str = "Asia/Tokyo";

/// A machine with the probe in it.
pub(crate) fn machine() -> Option<Machine> {
    program("perl")?;
    program("strace")?;
    Machine::boot(&[("probe", PROBE)])
}

/// The output of `origin`, without line breaks.
pub(crate) fn origin(machine: &Machine, pid: &str) -> String {
    let printed = machine.ok(&format!("needless origin --all TZ {pid}"));
    printed.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Asserts that two listings of /etc are the same, and shows the lines that differ.
pub(crate) fn same(before: &str, after: &str, name: &str) {
    let only = |these: &str, those: &str| -> Vec<String> {
        let those: std::collections::BTreeSet<&str> = those.lines().collect();
        these.lines().filter(|line| !those.contains(line)).map(str::to_owned).collect()
    };
    let (gone, new) = (only(before, after), only(after, before));
    assert!(before == after, "{name}: not every byte is back: {gone:#?} became {new:#?}");
}

/// One way to start a program, and where a change for it belongs.
pub(crate) struct Cell<'a> {
    /// Its name in messages of failed tests.
    pub(crate) name: &'a str,
    pub(crate) start: &'a dyn Fn(),
    /// Finds the program's pid; the argument is a pid to exclude.
    pub(crate) find: &'a dyn Fn(&str) -> String,
    /// Its name in the output of `origin`.
    pub(crate) program: &'a str,
    /// What `origin` says before the fix.
    pub(crate) why: &'a [&'a str],
    /// The file that the change goes to.
    pub(crate) place: &'a str,
}

impl Cell<'_> {
    /// The needless calls are there and `origin` says why; `fix` changes the place and nothing else; after a
    /// restart the calls are gone and `origin` names the place; undo restores every byte.
    pub(crate) fn holds(&self, machine: &Machine) {
        self.holds_for(machine, "");
    }

    /// The same, where `user`, some words before a command, makes the change.
    pub(crate) fn holds_for(&self, machine: &Machine, user: &str) {
        let Cell { name, start, find, program, why, place } = self;
        start();
        let pid = find("0");
        let stats = machine.stats(&pid);
        assert!(stats > 50, "{name}: no storm");
        let story = origin(machine, &pid);
        assert!(story.starts_with(&format!("TZ is not set in {program}[")), "{name}: {story}");
        for word in *why {
            assert!(story.contains(word), "{name}: {word:?} in {story}");
        }
        let before = machine.etc();
        let fix = format!("{user} needless fix --pid {pid} --set TZ={ZONE} --yes");
        let fixed = machine.ok(&fix);
        assert!(fixed.contains(place), "{name}: {fixed}");
        let again = machine.ok(&fix);
        // Of a unit the process is known, and it still runs without the change.
        let said = ["already so", "written, not in force"].iter().any(|said| again.contains(said));
        assert!(said && !again.contains("done: change"), "{name}: {again}");
        assert!(machine.etc() != before, "{name}: nothing has changed");
        // Until it has ended; otherwise an init script says that it is already running.
        machine.ok(&format!("kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.1; done"));
        start();
        let fresh = find(&pid);
        assert_eq!(machine.stats(&fresh), 0, "{name}: the storm is still there");
        let story = origin(machine, &fresh);
        assert!(story.starts_with(&format!("TZ is {ZONE} in {program}[")), "{name}: {story}");
        assert!(story.contains(place), "{name}: {place} in {story}");
        machine.ok(&format!("{user} needless undo --last"));
        same(&before, &machine.etc(), name);
        machine.ok(&format!("kill {fresh}"));
        eprintln!("{name}: {stats} questions in two seconds, then none");
    }
}

/// The cell of a probe that was started with its name as its argument.
pub(crate) fn cell(machine: &Machine, name: &str, start: &dyn Fn(), why: &[&str], place: &str) {
    let find = |not: &str| machine.pid_of(&format!("{WORDS} {name}"), not);
    Cell { name, start, find: &find, program: "perl", why, place }.holds(machine);
}

/// Texts that some format treats specially.
pub(crate) const HARD: [&str; 9] = [
    "plain",
    "two words",
    "a\"b",
    "it's",
    "50% of $HOME %h %%",
    "back\\slash \\x41",
    "# no comment #",
    ";semi; `tick`",
    "<+0330>-3:30",
];

/// The real reader passes each written value to the program byte for byte; `fix` refuses values that the
/// format cannot express. Returns how many were written.
pub(crate) fn values_arrive(machine: &Machine, write: &str, read: &str) -> usize {
    let mut written = 0;
    for value in HARD {
        let quoted = value.replace('\'', "'\\''");
        let fixed = machine.run(&format!("needless fix {write} --set 'X={quoted}' --yes"));
        if !fixed.status.success() {
            assert!(stderr(&fixed).contains("X="), "{write} {value}: {}", stderr(&fixed));
            continue;
        }
        written += 1;
        assert_eq!(machine.ok(read), format!("X={value}\n"), "{write}: {}", stdout(&fixed));
    }
    written
}
