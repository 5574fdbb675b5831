//! What stands between a unit and its program: its command line, and the shell scripts that it starts or sources. Each
//! may set or remove a variable after systemd.

use crate::command_words::{behind_options, is_interpreter};
use crate::container::{self, RunArguments};
use crate::places::shell::{self, ShellCommand};
use crate::places::{FoundValue, env_file, quadlet, systemd, wrapper};
use crate::unit::Unit;
use needless_host::{ProcInfo, Root};
use std::fs::File;
use std::io::Read;

/// As deep as scripts that start or source others are followed.
const DEEPEST: u32 = 4;

/// What a line does to the variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub file: String,
    pub line: u32,
    /// `None`: it is removed.
    pub value: Option<String>,
    /// Where it is done: "env -u", "a script".
    pub how: How,
    /// Whether the line is always reached, with a value that no shell computes.
    pub sure: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// By the words of a command line.
    Words(&'static str),
    /// A script that becomes the program.
    Script,
    /// A file that a script sources.
    Sourced,
    /// A file of variables for a container (`--env-file`).
    EnvFile,
    /// The quadlet of which a unit is made.
    Quadlet,
}

/// The way from a unit, or another command line, to the program.
#[derive(Debug)]
pub(crate) struct StartPath<'a> {
    root: &'a Root,
    variable: &'a str,
    /// In the order in which they are done.
    pub steps: Vec<Step>,
    /// Lines of files that are read and set the variable without exporting it.
    pub unexported: Vec<(String, u32)>,
    /// The scripts and the program that the command line runs, the last one at the end.
    pub programs: Vec<String>,
    /// The files that its shell scripts source, and those of `--env-file`; whether a shell reads it.
    pub reads: Vec<(String, bool)>,
    /// Where a container is started, which gets nothing but what its command gives it.
    pub container: Option<(String, u32)>,
    /// Whether that container is made or described elsewhere: `docker start`, `docker compose up`.
    pub made_elsewhere: bool,
    /// The arguments of the script that is read, where they are known.
    arguments: Option<Vec<String>>,
    /// Whether the last one is known: its name is not made by a shell.
    known: bool,
    /// The shell scripts that are read, and whether each becomes another program (`exec`).
    scripts: Vec<(String, bool)>,
    /// Whether the variable is exported so far: then a plain assignment changes it for programs, too.
    exported: bool,
}

impl<'a> StartPath<'a> {
    pub(crate) fn new(root: &'a Root, variable: &'a str, exported: bool) -> StartPath<'a> {
        StartPath {
            root,
            variable,
            steps: Vec::new(),
            unexported: Vec::new(),
            programs: Vec::new(),
            reads: Vec::new(),
            container: None,
            made_elsewhere: false,
            arguments: None,
            known: false,
            scripts: Vec::new(),
            exported,
        }
    }

    /// Of a unit whose settings are known.
    pub(crate) fn of_unit(root: &'a Root, variable: &'a str, unit: &Unit) -> StartPath<'a> {
        let gives = unit.effective().is_some_and(|setting| setting.value.is_some());
        let mut way = StartPath::new(root, variable, gives);
        if let Some(file) = quadlet::source(unit) {
            way.quadlet(file);
            return way;
        }
        match (&unit.source, &unit.exec) {
            (Some(script), _) => way.script(script, 0),
            (None, Some(exec)) => {
                let words = systemd::words(&exec.words).unwrap_or_default();
                way.words(&words, (&exec.file, exec.line), 0);
            }
            (None, None) => {}
        }
        way
    }

    /// Of a command that a shell gets with `-c`; `given`: it begins with the variable.
    pub(crate) fn of_text(
        root: &'a Root,
        variable: &'a str,
        given: bool,
        text: &str,
        at: (&str, u32),
    ) -> StartPath<'a> {
        let mut way = StartPath::new(root, variable, given);
        way.text(text, at, How::Words("sh -c"), 0);
        way
    }

    /// What the words of a process's own command line do.
    pub(crate) fn of_words(root: &'a Root, variable: &'a str, words: &[String]) -> StartPath<'a> {
        let mut way = StartPath::new(root, variable, true);
        way.words(words, ("", 0), DEEPEST);
        way
    }

    /// The last deed, which decides.
    pub(crate) fn last(&self) -> Option<&Step> {
        self.steps.last()
    }

    /// The shell script between the unit and its program, which may do anything to the variable: one that becomes
    /// another program, or of which the process `me` is none.
    pub(crate) fn script_between(&self, me: Option<&ProcInfo>) -> Option<&str> {
        let runs = |me: &ProcInfo, script: &String| me.argv.iter().any(|word| word == script);
        let between = |(script, becomes): &&(String, bool)| {
            *becomes || me.is_some_and(|me| !runs(me, script))
        };
        self.scripts.iter().find(between).map(|(script, _)| script.as_str())
    }

    /// Whether `me` is a program of this way; `None` where not all of them are known.
    pub(crate) fn has_program(&self, me: &ProcInfo) -> Option<bool> {
        let is = |program: &String| {
            let real = std::fs::canonicalize(program).ok().filter(|_| self.root.is_ours());
            let real = real.as_deref().and_then(|path| path.to_str());
            let same = |path: &str| path == program || Some(path) == real;
            let first = me.argv.first();
            let bare = !program.contains('/') && (me.name() == program || first == Some(program));
            // A script: its interpreter has it among its first words.
            let is_script = || me.argv.iter().take(4).any(|word| word.contains('/') && same(word));
            bare || me.exe.as_deref().is_some_and(same) || is_script()
        };
        self.programs.iter().any(is).then_some(true).or(self.known.then_some(false))
    }

    fn push(&mut self, (file, line): (&str, u32), value: Option<String>, how: How, sure: bool) {
        self.exported = value.is_some();
        self.steps.push(Step { file: file.to_owned(), line, value, how, sure });
    }

    /// A command line, of a unit or a script.
    fn words(&mut self, words: &[String], at: (&str, u32), depth: u32) {
        let Some((program, rest)) = words.split_first() else { return };
        // systemd.service(5): prefixes of the program.
        let program = program.trim_start_matches(['@', '-', ':', '+', '!']);
        let name = program.rsplit('/').next().unwrap_or(program);
        self.programs.push(program.to_owned());
        self.known = false;
        match name {
            "env" => self.env(rest, at, depth),
            "sh" | "dash" | "bash" | "ash" | "ksh" | "zsh" => self.shell(rest, at, depth),
            "su" | "runuser" => {
                match rest.iter().position(|word| word == "-c" || word == "--command") {
                    Some(at_c) => self.text(
                        rest.get(at_c + 1).map_or("", String::as_str),
                        at,
                        How::Words("-c"),
                        depth,
                    ),
                    None => self.words(behind_options(rest, "ugGswT"), at, depth),
                }
            }
            name if container::starts_others(name, rest) => {
                self.known = true;
                self.container = Some((at.0.to_owned(), at.1));
                self.made_elsewhere = true;
            }
            name if container::is_engine(name) => {
                self.known = true;
                if let Some(arguments) = container::run_arguments(rest, self.variable) {
                    self.run(arguments, at, name == "podman");
                }
            }
            "sudo" => {
                let command = behind_options(rest, "ughpCrtTUDR");
                let assigned = format!("{}=", self.variable);
                let given = &rest[..rest.len() - command.len()];
                let value = given.iter().rev().find_map(|word| word.strip_prefix(&assigned));
                if let Some(value) = value {
                    self.push(at, Some(value.to_owned()), How::Words("sudo"), true);
                }
                self.words(command, at, depth);
            }
            "nice" | "ionice" | "stdbuf" | "nohup" | "setsid" => {
                self.words(behind_options(rest, "ncpioe"), at, depth);
            }
            "timeout" => {
                let rest = behind_options(rest, "ks");
                self.words(rest.get(1..).unwrap_or_default(), at, depth);
            }
            _ => {
                let script = rest.iter().find(|word| !word.starts_with('-'));
                if let Some(script) = script.filter(|_| is_interpreter(name)) {
                    self.programs.pop();
                    self.programs.push(script.clone());
                }
                self.known = !program.contains('$');
                if program.starts_with('/') {
                    self.arguments = Some(rest.to_vec());
                    self.script(program, depth);
                }
            }
        }
    }

    fn env(&mut self, words: &[String], at: (&str, u32), depth: u32) {
        let mut words = words.iter();
        let assigned = format!("{}=", self.variable);
        while let Some(word) = words.clone().next() {
            let next = || words.clone().nth(1).map(String::as_str);
            let removes = match word.as_str() {
                "-" | "-i" | "--ignore-environment" => Some("env -i"),
                "-u" | "--unset" if next() == Some(self.variable) => Some("env -u"),
                word if word.strip_prefix("-u") == Some(self.variable) => Some("env -u"),
                word if word.strip_prefix("--unset=") == Some(self.variable) => Some("env -u"),
                _ => None,
            };
            if let Some(how) = removes {
                self.push(at, None, How::Words(how), true);
            } else if let Some(value) = word.strip_prefix(&assigned) {
                self.push(at, Some(value.to_owned()), How::Words("env"), true);
            } else if !word.starts_with('-') && !word.contains('=') {
                break;
            }
            words.next();
            if matches!(word.as_str(), "-u" | "--unset" | "-C" | "--chdir") {
                words.next();
            }
        }
        self.words(words.as_slice(), at, depth);
    }

    fn shell(&mut self, words: &[String], at: (&str, u32), depth: u32) {
        let flags = words.iter().take_while(|word| word.starts_with(['-', '+'])).count();
        let script = words.get(flags).map_or("", String::as_str);
        if words[..flags].iter().any(|word| !word.starts_with("--") && word.contains('c')) {
            self.arguments = None;
            self.text(script, at, How::Words("sh -c"), depth);
        } else if script.starts_with('/') {
            self.arguments = Some(words[flags + 1..].to_vec());
            self.script(script, depth);
        }
    }

    /// A shell script that becomes the program.
    fn script(&mut self, path: &str, depth: u32) {
        let mut begin = [0; 2];
        let is_script = |mut file: File| file.read_exact(&mut begin).is_ok() && begin == *b"#!";
        // Most are programs of many megabytes.
        if !self.root.open(path).is_ok_and(is_script) {
            return;
        }
        let Ok(bytes) = self.root.read(path) else { return };
        let text = String::from_utf8_lossy(&bytes);
        let first = text.lines().next().unwrap_or_default();
        // Not Python's or Perl's.
        if first.split([' ', '/']).any(|word| shell::NAMES.contains(&word)) {
            self.scripts.push((path.to_owned(), wrapper::becomes_another(&text)));
            self.text(&text, (path, 0), How::Script, depth);
        }
    }

    /// The text of a shell; `at`: the line where all of it stands, or the line 0 of its own file.
    fn text(&mut self, text: &str, at: (&str, u32), how: How, depth: u32) {
        if depth >= DEEPEST {
            return;
        }
        let line = |own: u32| if at.1 == 0 { own } else { at.1 };
        // A file that is sourced ends where the script that sources it goes on.
        let found: Vec<FoundValue> = match how {
            How::Sourced => shell::assignments(text, self.variable, self.exported),
            _ => wrapper::before_exec(text, |before| {
                shell::assignments(before, self.variable, self.exported)
            }),
        };
        let unexported = shell::unexported(text, self.variable).filter(|_| !self.exported);
        self.unexported.extend(unexported.map(|own| (at.0.to_owned(), line(own))));
        let mut found = found.into_iter().peekable();
        let commands = shell::commands_of(text, self.variable, self.arguments.as_deref());
        let mut commands = commands.into_iter().peekable();
        loop {
            let next = found.peek().map(|found| found.line);
            match commands.peek().map(|(own, _)| *own) {
                Some(own) if next.is_none_or(|next| own < next) => {
                    let Some((_, command)) = commands.next() else { return };
                    match command {
                        ShellCommand::Source(file) => self.sourced(&file, depth),
                        ShellCommand::Assign(value) => {
                            self.push((at.0, line(own)), Some(value), how, true);
                        }
                        ShellCommand::Becomes(words) => {
                            self.words(&words, (at.0, line(own)), depth + 1)
                        }
                    }
                }
                _ => {
                    let Some(found) = found.next() else { return };
                    // What the script does besides is not worked out.
                    let sure = found.is_sure() && how != How::Sourced;
                    self.push((at.0, line(found.line)), found.value, how, sure);
                }
            }
        }
    }

    /// A container that a command starts. `seen`: its process is found below the unit, and so what a file gives it is
    /// looked for there; docker's is not.
    fn run(&mut self, arguments: RunArguments, at: (&str, u32), seen: bool) {
        self.container = Some((at.0.to_owned(), at.1));
        self.reads.extend(arguments.files.iter().map(|file| (file.clone(), false)));
        for file in arguments.files.iter().filter(|_| seen) {
            self.env_file(file);
        }
        if let Some(Some(value)) = arguments.option {
            let sure = !value.contains(['$', '%']);
            self.push(at, Some(value), How::Words("-e"), sure);
        } else if arguments.option.is_some() || arguments.host {
            // It has what the engine itself has.
            self.container = None;
        }
    }

    fn env_file(&mut self, file: &str) {
        let Ok(bytes) = self.root.read(file) else { return };
        for found in env_file::find(&String::from_utf8_lossy(&bytes), self.variable, None) {
            self.push((file, found.line), found.value, How::EnvFile, found.certain);
        }
    }

    /// A unit that podman's generator made.
    fn quadlet(&mut self, file: &str) {
        let Ok(bytes) = self.root.read(file) else { return };
        let text = String::from_utf8_lossy(&bytes);
        self.container = Some((file.to_owned(), 0));
        for path in quadlet::env_files(&text, file) {
            self.reads.push((path.clone(), false));
            self.env_file(&path);
        }
        for found in quadlet::find(&text, self.variable, None) {
            self.push((file, found.line), found.value, How::Quadlet, found.certain);
        }
    }

    fn sourced(&mut self, file: &str, depth: u32) {
        self.reads.push((file.to_owned(), true));
        if let Ok(bytes) = self.root.read(file) {
            self.text(&String::from_utf8_lossy(&bytes), (file, 0), How::Sourced, depth + 1);
        }
    }
}

#[cfg(test)]
mod tests;
