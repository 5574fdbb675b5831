//! A way to start a program, what is true of it, and what has to be said and done: one entry of the lists in
//! `scenarios/`, and what is checked of each.

use crate::booted::machine::{Machine, wait};
pub(crate) use crate::booted::probe::*;
use crate::common::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// In each text NAME is the scenario's name.
#[derive(Clone, Copy)]
pub(crate) struct Scenario<'a> {
    /// The name in the list, in messages, of the unit, and the argument of the probe (without `@` and what follows).
    pub(crate) name: &'a str,
    /// The unit's `[Service]`; empty where there is no unit of that name to write.
    pub(crate) unit: &'a str,
    /// Other files: path, mode, text.
    pub(crate) files: &'a [(&'a str, &'a str, &'a str)],
    /// Starts it, in the background if it stays; empty: a restart of the unit.
    pub(crate) start: &'a str,
    /// The command line of the program, which makes the calls of the probe; empty: the probe with its name.
    pub(crate) words: &'a str,
    /// Prints the id of a process that makes no such calls; empty: it is found by its command line.
    pub(crate) find: &'a str,
    /// Prints the offset from UTC that the program uses; empty: the truth is read from /proc/PID/environ.
    pub(crate) offset: &'a str,
    /// The value of TZ in the process.
    pub(crate) truth: Option<&'a str>,
    /// The value that the program has set since, if it did.
    pub(crate) now: Option<&'a str>,
    /// The program's name in the answer of `origin`; empty: any.
    pub(crate) program: &'a str,
    /// The answer of `origin` contains these texts.
    pub(crate) answer: &'a [&'a str],
    /// `origin` prints these texts; its lines are joined to one.
    pub(crate) story: &'a [&'a str],
    /// `origin --all` prints these texts; its lines are joined to one.
    pub(crate) all: &'a [&'a str],
    /// The last words of `origin`.
    pub(crate) last: &'a str,
    /// `origin` prints none of these texts.
    pub(crate) never: &'a [&'a str],
    /// The file that `origin` names for a change, "" for none; and how sure it is.
    pub(crate) place: (&'a str, &'a str),
    /// The file that is written, where `fix` gets another one than that.
    pub(crate) written: &'a str,
    /// The options of `fix`: for which program, and with a restart or without.
    pub(crate) fix: &'a str,
    /// Words before each command of needless: another user.
    pub(crate) user: &'a str,
    /// `fix` prints these texts.
    pub(crate) says: &'a [&'a str],
    /// What becomes of the change.
    pub(crate) ends: Ends<'a>,
    /// `origin --all` prints these texts about the new process; its lines are joined to one.
    pub(crate) after: &'a [&'a str],
    /// `undo` prints these texts.
    pub(crate) undone: &'a [&'a str],
}

/// What becomes of a change.
#[derive(Clone, Copy)]
pub(crate) enum Ends<'a> {
    /// It is written to `place`, and the new process has the value.
    Arrives,
    /// It is refused in one line with these words, and nothing is written or restarted.
    Refused(&'a str),
    /// It is refused in one line with what to write by hand, which begins with these words; once that is done, the new
    /// process has the value.
    ByHand(&'a str),
    /// It is written, does not reach the new process, and is taken back with these words.
    TakenBack(&'a str),
    /// It is written, the program does not run with it, and it is taken back with these words.
    Breaks(&'a str),
}

pub(crate) const UNIT: Scenario<'static> = Scenario {
    name: "",
    unit: "",
    files: &[],
    start: "",
    words: "",
    find: "",
    offset: "",
    truth: None,
    now: None,
    program: "perl",
    answer: &[],
    story: &[],
    all: &[],
    last: "",
    never: &[],
    place: ("/etc/systemd/system/NAME.service.d/zz-needless.conf", "high"),
    written: "",
    fix: "--unit NAME --restart",
    user: "",
    says: &[],
    ends: Ends::Arrives,
    after: &[],
    undone: &[],
};

/// A text with the line that `fix` said: in the place of one, above one, or at the end.
pub(crate) fn as_said(text: &str, said: &str) -> String {
    let line = said.split('`').nth(1).unwrap_or_else(|| panic!("no line: {said}"));
    let number = |words: &str| -> Option<usize> {
        let rest = said.split_once(words)?.1;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let mut all: Vec<&str> = text.lines().collect();
    match (number("instead of what line "), number("above line ")) {
        (Some(at), _) => all[at - 1] = line,
        (None, Some(at)) => all.insert(at - 1, line),
        (None, None) => all.push(line),
    }
    all.join("\n") + "\n"
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

/// What was true before `fix`.
struct Before {
    pid: String,
    files: String,
    systemd: String,
    calls: usize,
    /// The place that `origin` names, and how sure it is.
    place: (String, String),
}

impl Scenario<'_> {
    fn with_name(&self, text: &str) -> String {
        text.replace("NAME", self.name)
    }

    /// The name of a template has its instance behind an `@`.
    fn argument(&self) -> &str {
        self.name.split('@').next().unwrap_or_default()
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
        match (self.find, self.words) {
            ("", "") => return machine.pid_of(&format!("{WORDS} {}", self.argument()), not),
            ("", words) => return machine.pid_of(words, not),
            _ => {}
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
            assert_eq!(machine.zone(pid).as_deref(), value, "{}: the value in {pid}", self.name);
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
        for (path, mode, text) in self.files() {
            machine.write(&path, mode, &text);
        }
        machine.ok("[ ! -d /home/bob ] || chown -R bob: /home/bob; systemctl daemon-reload");
        self.start(machine);
        let pid = self.pid(machine, "0");
        self.is(machine, &pid, self.truth);
        let counted = self.find.is_empty();
        let calls = if counted { calls(machine, &pid) } else { 0 };
        // Each of its hundred conversions.
        let wanted = if counted && self.truth.is_none() { 100 } else { 0 };
        assert!(calls >= wanted && (calls > 0) == (wanted > 0), "{}: {calls} calls", self.name);
        let (files, systemd) = (files(machine), self.systemd(machine));
        let place = self.origin(machine, &pid, self.now.or(self.truth));
        self.prints(machine, &pid, "", self.story, self.last);
        self.prints(machine, &pid, "--all", self.all, "");
        let (file, sure) = self.place;
        assert_eq!(
            (place.0.as_str(), place.1.as_str()),
            (&*self.with_name(file), sure),
            "{}: the place",
            self.name
        );
        let before = Before { pid, files, systemd, calls, place };
        self.fix(machine, &before);
        same(&before.files, &crate::booted::probe::files(machine), self.name);
        assert_eq!(before.systemd, self.systemd(machine), "{}: what systemd knows", self.name);
        let Before { place: (file, sure), calls, .. } = before;
        let file = if file.is_empty() { "by hand" } else { &file };
        eprintln!("{}: {file}, sure {sure}; {calls} calls", self.name);
    }

    /// Runs `fix`, and looks what becomes of the change.
    fn fix(&self, machine: &Machine, before: &Before) {
        let name = self.name;
        let command = format!("{} needless fix", self.user);
        let options = self.with_name(self.fix).replace("PID", &before.pid);
        let fix = format!("{command} {options} --set TZ={ZONE}");
        let done = machine.run(&format!("{fix} {YES}"));
        let (status, lines) = (done.status.code(), stderr(&done));
        let said = format!("{}{lines}", stdout(&done));
        for part in self.says {
            assert!(said.contains(&self.with_name(part)), "{name}: {part:?} in {said}");
        }
        if let Ends::TakenBack(words)
        | Ends::Breaks(words)
        | Ends::ByHand(words)
        | Ends::Refused(words) = self.ends
        {
            let down = self.says.iter().any(|part| part.contains("IS DOWN"));
            assert_eq!(status, Some(if down { 3 } else { 2 }), "{name}: {said}");
            assert!(lines.contains(&self.with_name(words)), "{name}: {words:?} in {said}");
        }
        let refused = matches!(self.ends, Ends::Refused(_) | Ends::ByHand(_));
        assert_eq!(said.contains("written: change"), !refused, "{name}: {said}");
        match self.ends {
            Ends::Arrives => {
                assert!(done.status.success(), "{name}: {said}");
                self.arrives(machine, before, &options, &said);
            }
            Ends::Refused(words) => {
                assert!(lines.lines().count() <= 2, "{name}: {said}");
                assert_eq!(self.pid(machine, "0"), before.pid, "{name}: nothing is restarted");
                // It does not ask first.
                let asked = stderr(&machine.run(&format!("{fix} </dev/null")));
                assert!(asked.contains(&self.with_name(words)), "{name}: {asked}");
            }
            Ends::ByHand(_) => {
                assert_eq!(lines.lines().count(), 1, "{name}: {said}");
                self.by_hand(machine, before, &options, &lines);
            }
            Ends::TakenBack(_) => {
                assert!(said.contains("taken back, and restarted once more"), "{name}: {said}");
                // Nothing that is called certain may fail.
                assert_ne!(before.place.1, "high", "{name}: {said}");
                self.pid(machine, &before.pid);
            }
            Ends::Breaks(_) => assert!(said.contains("taken back"), "{name}: {said}"),
        }
    }

    /// The change is written once, the new process has it, and it is undone.
    fn arrives(&self, machine: &Machine, before: &Before, options: &str, said: &str) {
        let (name, user) = (self.name, self.user);
        let place =
            self.with_name(if self.written.is_empty() { self.place.0 } else { self.written });
        assert!(said.contains(&format!("+++ b{place}\n")), "{name}: {place} in {said}");
        let restarts = options.contains("--restart");
        let in_force = self.in_force();
        assert_eq!(said.contains(&in_force), restarts, "{name}: {said}");
        let fix = format!("{user} needless fix {options} --set TZ={ZONE} {YES}");
        // A process that has ended is no subject.
        if !(restarts && options.contains(&before.pid)) {
            let again = machine.ok(&fix);
            // Of a unit the process is known, and it may still run without the change.
            let is = ["already so", "written, not in force"].iter().any(|is| again.contains(is));
            assert!(is && !again.contains("written: change"), "{name}: {again}");
        }
        let fresh = self.fresh(machine, before, restarts, &place);
        let undone = machine.ok(&format!("{user} needless undo --last"));
        for part in self.undone {
            let part = self.with_name(part).replace("PID", &fresh);
            assert!(undone.contains(&part), "{name}: {part:?} in {undone}");
        }
    }

    /// How the line begins that says so: with the name of the script, not of its interpreter.
    fn in_force(&self) -> String {
        let who = if self.program == "perl" { "probe[" } else { "" };
        format!("in force: TZ={ZONE} in {who}")
    }

    /// The new process, which has the value of `place`.
    fn fresh(&self, machine: &Machine, before: &Before, restarted: bool, place: &str) -> String {
        if !restarted {
            machine.end(&before.pid);
            self.start(machine);
        }
        let fresh = self.pid(machine, &before.pid);
        self.is(machine, &fresh, Some(ZONE));
        if self.find.is_empty() {
            assert_eq!(calls(machine, &fresh), 0, "{}: afterwards", self.name);
        }
        self.origin(machine, &fresh, Some(ZONE));
        self.prints(machine, &fresh, "--all", &[&[place], self.after].concat(), "");
        fresh
    }

    /// Does by hand what `fix` said, and calls it once more: now all is so, and a restart is looked at as ever. Puts the
    /// file back.
    fn by_hand(&self, machine: &Machine, before: &Before, options: &str, said: &str) {
        let (name, place) = (self.name, self.with_name(self.place.0));
        let old = machine.run(&format!("stat -c %a {place} && cat {place}"));
        let printed = stdout(&old);
        let (mode, text) = printed.split_once('\n').unwrap_or(("644", ""));
        machine.write(&place, mode, &as_said(text, said));
        let restarts = options.contains("--restart");
        let again =
            machine.ok(&format!("{} needless fix {options} --set TZ={ZONE} {YES}", self.user));
        let is = ["already so", "written, not in force", "in force: "];
        assert!(is.iter().any(|is| again.contains(is)), "{name}: {again}");
        let is = again.lines().any(|line| line.starts_with(&self.in_force()));
        assert_eq!(is, restarts, "{name}: {again}");
        self.fresh(machine, before, restarts, &place);
        match old.status.success() {
            true => machine.write(&place, mode, text),
            false => drop(machine.ok(&format!("rm {place}"))),
        }
    }

    /// Asks `origin`, whose answer begins with the value; the file that it names for a change, and how sure it is.
    fn origin(&self, machine: &Machine, pid: &str, value: Option<&str>) -> (String, String) {
        let Scenario { name, user, program, .. } = self;
        let printed = machine.ok(&format!("{user} needless origin TZ {pid} --json"));
        let story: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let answer = story["answer"].as_str().unwrap();
        let is = value.map_or("not set".to_owned(), str::to_owned);
        let begin = format!("TZ is {is} in {program}");
        assert!(answer.starts_with(&begin), "{name}: {answer}");
        if value == self.now.or(self.truth) {
            for part in self.answer {
                assert!(answer.contains(&self.with_name(part)), "{name}: {part:?} in {answer}");
            }
            for part in self.never {
                assert!(!printed.contains(part), "{name}: {part:?} in {printed}");
            }
        }
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let place = &story["belongs"][0];
        (text(&place["file"]), text(&place["confidence"]))
    }

    /// Asserts that the text of `origin` contains `parts` and ends with `last`.
    fn prints(&self, machine: &Machine, pid: &str, option: &str, parts: &[&str], last: &str) {
        if parts.is_empty() && last.is_empty() {
            return;
        }
        let printed = machine.ok(&format!("{} needless origin {option} TZ {pid}", self.user));
        let printed = flat(&printed);
        for part in parts {
            let part = self.with_name(part);
            assert!(printed.contains(&part), "{}: {part:?} in {printed}", self.name);
        }
        assert!(printed.ends_with(last), "{}: {last:?} ends {printed}", self.name);
    }

    /// Removes it from the machine, also where it failed.
    fn clear(&self, machine: &Machine) {
        let (name, words) = (self.name, format!("^{WORDS} {}$", self.argument()));
        let gone: Vec<String> = self.files().into_iter().map(|(path, ..)| path).collect();
        machine.run(&format!(
            "systemctl stop {name}; systemctl reset-failed {name}; systemctl unset-environment TZ; pkill -f '{words}'
             rm -rf {} /etc/systemd/system/{name}.service.d; systemctl daemon-reload",
            gone.join(" ")
        ));
    }
}
