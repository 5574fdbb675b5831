//! What a shell does with the lines of a file: which commands it comes to, and whether it is certain what they do.
//! POSIX, Shell Command Language 2.9.
//!
//! A `return`, `exit` or `exec` ends the file; `if` and functions run their commands only sometimes. Debian's ~/.bashrc
//! returns in its first lines unless a person types the commands. A short list of statements is understood
//! (assignments, `export`, `unset`, programs, compound commands). With any other in the file (`eval`, `trap`, `alias`,
//! `readonly`, a file that is sourced) it is not certain what a shell makes of the rest.

mod judge;

use super::Reach;
use super::shell_builtins::{Kind, kind};
use super::shell_words::{
    ARITHMETIC, Token, is_assignment, is_bare, is_redirection, may_assign, may_fail, tokens,
};
use std::collections::{HashMap, HashSet};

/// A simple command.
#[derive(Default)]
pub(super) struct SimpleCommand {
    /// The assignments before it: all of it, or for this command only.
    pub(super) assigned: Vec<String>,
    /// Its name and arguments, as they are written.
    pub(super) words: Vec<String>,
    /// Redirections.
    redirected: Vec<String>,
}

/// A line.
pub(super) struct LineRead {
    /// Whether it is reached.
    pub(super) reach: Reach,
    /// Its simple commands; none for a line of a here-document.
    pub(super) commands: Vec<SimpleCommand>,
    /// Whether it is one simple command.
    pub(super) single: bool,
}

/// A command that has others in it and is not closed yet, with the line where it begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    If,
    Loop,
    Case,
    Group,
    Subshell,
    Function,
}

/// Says of a line that these rules do not understand it.
const UNCLEAR: &str = "is not understood";
const ENDS: &str = "ends the file";

/// What was seen of a file so far.
pub(super) struct Flow<'v> {
    variable: &'v str,
    /// The first line whose effect is not certain, with the command where that is known.
    unclear: Option<(u32, &'static str)>,
    /// The first line that goes on in the next one.
    pub(super) continues: Option<u32>,
    /// The here-document that is being read: its last line, and whether tabs before that are left out.
    here: Option<(String, bool)>,
    /// Whether its text is expanded.
    here_expands: bool,
    open: Vec<(Open, u32)>,
    /// The first command that ends the file, always or perhaps.
    ends: Option<(u32, &'static str)>,
    may_end: Option<(u32, &'static str)>,
    /// The file's functions, the commands in it, and the functions that exit.
    functions: HashSet<String>,
    called: Vec<(String, u32)>,
    exiting: HashMap<String, &'static str>,
    /// The function that is being defined.
    function: String,
    /// Whether the next word begins a command, and whether a command before it decides if it runs.
    start: bool,
    condition: bool,
    /// Whether `case` was read and not its `in`, and whether the next words are its patterns.
    case_head: bool,
    patterns: bool,
    /// Whether `[[` was read and not its `]]`.
    test: bool,
    /// `function` was read, or `name ()`: a body follows.
    defines: bool,
    /// The command that is being read, and those around it.
    command: SimpleCommand,
    around: Vec<SimpleCommand>,
    /// The commands of this line.
    commands: Vec<SimpleCommand>,
}

impl<'v> Flow<'v> {
    pub(super) fn new(variable: &'v str) -> Flow<'v> {
        Flow {
            variable,
            unclear: None,
            continues: None,
            here: None,
            here_expands: false,
            open: Vec::new(),
            ends: None,
            may_end: None,
            functions: HashSet::new(),
            called: Vec::new(),
            exiting: HashMap::new(),
            function: String::new(),
            start: true,
            condition: false,
            case_head: false,
            patterns: false,
            test: false,
            defines: false,
            command: SimpleCommand::default(),
            around: Vec::new(),
            commands: Vec::new(),
        }
    }

    /// Reads the next line, with its number from 1.
    pub(super) fn line(&mut self, text: &str, number: u32) -> LineRead {
        let reach = self.here();
        if text.contains(['\r', '\0']) {
            self.unclear(number, "");
        }
        if let Some((end, tabs)) = &self.here {
            let line = if *tabs { text.trim_start_matches('\t') } else { text };
            if line == end {
                self.here = None;
            } else if self.here_expands && may_fail(text) {
                self.may_end(number, ENDS);
            }
            return LineRead { reach, commands: Vec::new(), single: false };
        }
        let (tokens, whole) = tokens(text);
        if !whole {
            self.continues.get_or_insert(number);
        }
        let single = !tokens.iter().any(|token| matches!(token, Token::Operator(_)));
        let goes_on = matches!(tokens.last(), Some(Token::Operator("&&" | "||" | "|")));
        for token in tokens {
            match token {
                Token::Word(word) => self.word(word, number),
                Token::Operator(operator) => self.operator(operator, number),
            }
        }
        if goes_on {
            self.unclear(number, "");
        }
        self.operator("\n", number);
        let commands = std::mem::take(&mut self.commands);
        let single = single && commands.len() == 1;
        LineRead { reach, commands, single }
    }

    /// Whether what comes next is reached.
    pub(super) fn here(&self) -> Reach {
        match (self.ends, self.open.first(), self.may_end) {
            (Some((line, verb)), ..) => Reach::No { line, verb },
            (_, Some((_, line)), _) => Reach::Inside { line: *line },
            (.., Some((line, verb))) => Reach::Perhaps { line, verb },
            _ => Reach::Yes,
        }
    }

    /// After the last line: the first line whose effect is not certain, and the command there if it is a shell's own.
    pub(super) fn doubt(&self) -> Option<(u32, &'static str)> {
        let call = self.called.iter().find(|(name, _)| self.functions.contains(name));
        let call = call.map(|(_, line)| (*line, "a function of the file"));
        let here = self.here.as_ref().map(|_| (0, "a here-document without an end"));
        let goes_on = self.continues.map(|line| (line, ""));
        [self.unclear, call, goes_on, here].into_iter().flatten().min()
    }

    fn word(&mut self, word: String, line: u32) {
        if may_assign(&word, self.variable) {
            self.unclear(line, "");
        }
        if may_fail(&word) {
            self.may_end(line, ENDS);
        }
        if self.test {
            self.test = word != "]]";
            return;
        }
        if self.defines && word != "{" {
            if self.function.is_empty() {
                self.define(word, line);
            } else {
                self.may_end(line, UNCLEAR);
                self.unclear(line, "");
            }
            return;
        }
        if self.open.last().is_some_and(|(open, _)| *open == Open::Case) {
            if self.case_head {
                self.patterns = word == "in";
                self.case_head = !self.patterns;
                return;
            }
            if word == "esac" && (self.patterns || self.start) {
                return self.close(Open::Case, word, line);
            }
            if self.patterns {
                return;
            }
        }
        if is_redirection(&word) || is_bare(self.command.redirected.last()) {
            self.command.redirected.push(word);
            return;
        }
        if !self.start {
            return self.command.words.push(word);
        }
        let mut open = |kind| self.open.push((kind, line));
        // What follows these is a command again.
        match word.as_str() {
            "if" => return open(Open::If),
            "while" | "until" => return open(Open::Loop),
            "{" => {
                open(if self.defines { Open::Function } else { Open::Group });
                self.defines = false;
                return;
            }
            "then" | "else" | "elif" | "do" | "!" => return,
            word if is_assignment(word) => return self.command.assigned.push(word.to_owned()),
            _ => {}
        }
        self.start = false;
        match word.as_str() {
            "for" | "select" => self.open.push((Open::Loop, line)),
            "case" => {
                self.open.push((Open::Case, line));
                self.case_head = true;
                return;
            }
            "[[" => {
                self.test = true;
                return;
            }
            "fi" => return self.close(Open::If, word, line),
            "done" => return self.close(Open::Loop, word, line),
            "}" => {
                let kind = self.open.last().map(|(kind, _)| *kind);
                let function = kind == Some(Open::Function);
                return self.close(if function { Open::Function } else { Open::Group }, word, line);
            }
            "function" => {
                (self.defines, self.start) = (true, true);
                self.function.clear();
                return;
            }
            _ => {}
        }
        self.command.words.push(word);
    }

    fn operator(&mut self, operator: &str, line: u32) {
        if self.test {
            return;
        }
        let last = self.open.last().map(|(open, _)| *open);
        match operator {
            ARITHMETIC => self.unclear(line, ""),
            "(" if self.patterns => {}
            "(" => {
                // `function name ()`, or a subshell as the body of a function.
                if self.defines {
                    self.unclear(line, "function");
                }
                self.open.push((Open::Subshell, line));
                self.around.push(std::mem::take(&mut self.command));
                self.defines = false;
                self.start = true;
                return;
            }
            ")" if last == Some(Open::Subshell) => {
                let empty = self.command.is_empty();
                self.judge(line);
                self.open.pop();
                self.command = self.around.pop().unwrap_or_default();
                // `name ()`
                let alone = self.command.words.len() == 1 && self.command.assigned.is_empty();
                if empty && alone {
                    let name = self.command.words.remove(0);
                    self.define(name, line);
                    self.defines = true;
                }
                self.start = self.defines;
                return;
            }
            ")" if last == Some(Open::Case) => {
                self.patterns = false;
                self.start = true;
                return;
            }
            ")" => {
                self.may_end(line, UNCLEAR);
                self.unclear(line, "");
            }
            ";;" => {
                self.judge(line);
                self.patterns = last == Some(Open::Case);
                self.start = true;
            }
            "\n" if self.defines || self.case_head => return,
            _ if self.patterns => return,
            _ => {
                self.judge(line);
                self.start = true;
            }
        }
        self.condition = matches!(operator, "&&" | "||" | "|" | "&");
    }

    fn define(&mut self, name: String, line: u32) {
        if kind(&name) != Kind::Program || name.contains('/') {
            self.unclear(line, "a function in place of a command");
        }
        self.functions.insert(name.clone());
        self.function = name;
    }

    fn close(&mut self, wanted: Open, word: String, line: u32) {
        self.start = false;
        self.patterns = false;
        if self.open.pop().is_none_or(|(open, _)| open != wanted) {
            self.may_end(line, UNCLEAR);
            self.unclear(line, "");
        }
        // Only redirections may follow.
        self.command.words.push(word);
    }

    /// A command that ends the file, where it stands.
    fn end(&mut self, line: u32, verb: &'static str) {
        let within = |kind| self.open.iter().any(|(open, _)| *open == kind);
        if within(Open::Subshell) {
            // It ends the subshell.
        } else if within(Open::Function) {
            if verb != "returns" {
                self.exiting.insert(self.function.clone(), verb);
            }
        } else if self.open.is_empty()
            && !self.condition
            && self.may_end.is_none()
            && self.unclear.is_none()
            && self.continues.is_none()
        {
            self.ends.get_or_insert((line, verb));
        } else {
            self.may_end(line, verb);
        }
    }

    fn may_end(&mut self, line: u32, verb: &'static str) {
        self.may_end.get_or_insert((line, verb));
    }

    fn unclear(&mut self, line: u32, what: &'static str) {
        self.unclear.get_or_insert((line, what));
    }
}

impl SimpleCommand {
    pub(super) fn is_redirected(&self) -> bool {
        !self.redirected.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.assigned.is_empty() && self.words.is_empty() && self.redirected.is_empty()
    }
}
