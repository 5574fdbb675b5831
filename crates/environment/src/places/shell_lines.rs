//! The simple commands of a shell file, line by line, as POSIX, Shell Command Language 2.9, has them.
//!
//! What a shell makes of them is not worked out: no condition is judged, no function entered, no file followed. A command
//! inside of `if`, a loop or a function is marked, and the first line of the file that may end it, or may change what
//! others mean, is named. Behind that line nothing is certain.

use super::shell_words::{
    ARITHMETIC, Token, is_assignment, is_bare, is_redirection, may_assign, may_fail, tokens,
};
use super::{lines, names, number};
use std::collections::HashSet;

/// A simple command.
#[derive(Default)]
pub(super) struct SimpleCommand {
    /// Its line, from 0.
    pub(super) line: usize,
    /// The line, from 1, of the command around it that may not run it: `if`, a function.
    pub(super) inside: Option<u32>,
    /// Whether it stands alone in its line, at the begin of that.
    pub(super) alone: bool,
    /// The assignments before it: all of it, or for this command only.
    pub(super) assigned: Vec<String>,
    /// Its name and arguments, as they are written.
    pub(super) words: Vec<String>,
    /// Whether it reads or writes a file that may not be there.
    pub(super) redirected: bool,
}

/// A file.
pub(super) struct ShellLines {
    pub(super) commands: Vec<SimpleCommand>,
    /// The first line, from 1, behind which nothing is certain, and what it has: a word of ours, for the file may have
    /// secrets.
    pub(super) doubt: Option<(u32, &'static str)>,
    /// Whether the last line goes on in the next one.
    pub(super) goes_on: bool,
}

/// The words with which a shell does something itself that may end the file or change what its lines mean: sh, bash, ksh
/// and zsh. What begins with any other word is a program, or a builtin that changes nothing.
const DOUBTFUL: &str = " . alias autoload bg bind break builtin caller command compgen complete compopt continue coproc \
    declare disable emulate enable eval exec exit fc fg foreach function getln getopts integer jobs kill killall let \
    limit local logout mapfile nameref nocorrect pkill print read readarray readonly repeat return sched select set \
    setopt shift shopt skill source suspend trap typeset unalias unfunction unhash unlimit unsetopt vared zcompile zle \
    zmodload zparseopts zstyle ";
/// Builtins that keep an assignment in front of them, and end the file where a redirection fails.
const SPECIAL: [&str; 4] = [":", "export", "unset", "times"];
/// Targets of redirections that are always there.
const SURE: [&str; 7] =
    [">&1", ">&2", "<&0", ">/dev/null", ">>/dev/null", "</dev/null", "&>/dev/null"];
/// Stands for the parentheses of `name ()`.
const PARENTHESES: &str = "()";

/// Reads a text; `variable`: the one that its reader wants to know of.
pub(super) fn read(text: &str, variable: &str) -> ShellLines {
    let mut reader = Reader { variable, ..Reader::default() };
    let mut goes_on = false;
    for (at, line) in lines(text).into_iter().enumerate() {
        // A carriage return is a part of the last word.
        goes_on = reader.line(line.strip_suffix('\n').unwrap_or(line), at);
    }
    goes_on |= reader.here.is_some();
    let called = |one: &&SimpleCommand| {
        one.words.first().is_some_and(|name| reader.functions.contains(name))
    };
    let call = reader.commands.iter().find(called).map(|one| number(one.line));
    let call = call.map(|line| (line, "a function of the file"));
    let doubt = reader.doubt.into_iter().chain(call).min();
    ShellLines { commands: reader.commands, doubt, goes_on }
}

#[derive(Default)]
struct Reader<'v> {
    variable: &'v str,
    commands: Vec<SimpleCommand>,
    doubt: Option<(u32, &'static str)>,
    /// Where the commands begin that are not closed yet, from 1.
    open: Vec<u32>,
    /// How many of these are in parentheses.
    subshells: u32,
    /// The command that is being read.
    command: SimpleCommand,
    /// A redirection whose file is the next word.
    redirection: String,
    functions: HashSet<String>,
    /// The last line of the here-document that is being read, and whether tabs before that are left out.
    here: Option<(String, bool)>,
    /// How many `case` are open, and whether the next words are patterns of one.
    cases: u32,
    patterns: bool,
}

impl Reader<'_> {
    /// Reads a line. Returns whether it goes on in the next one.
    fn line(&mut self, text: &str, at: usize) -> bool {
        if let Some((end, tabs)) = &self.here {
            let line = if *tabs { text.trim_start_matches('\t') } else { text };
            if line == end {
                self.here = None;
            } else if may_fail(text) {
                self.doubt(at, "an expansion");
            }
            return false;
        }
        if text.contains(['\r', '\0']) {
            self.doubt(at, "a control character");
        }
        let (tokens, whole) = tokens(text);
        let one = !tokens.iter().any(|token| matches!(token, Token::Operator(_)));
        let last = matches!(tokens.last(), Some(Token::Operator("&&" | "||" | "|")));
        let goes_on = !whole || last;
        if goes_on {
            self.doubt(at, "it goes on in the next line");
        }
        let before = self.commands.len();
        for token in tokens {
            match token {
                Token::Word(word) => self.word(word, at),
                Token::Operator(operator) => self.operator(operator, at),
            }
        }
        self.end(at);
        let alone = one && self.commands.len() == before + 1 && !text.starts_with([' ', '\t']);
        if let Some(only) = self.commands.last_mut().filter(|_| alone) {
            only.alone = true;
        }
        goes_on
    }

    fn doubt(&mut self, at: usize, what: &'static str) {
        self.doubt.get_or_insert((number(at), what));
    }

    fn word(&mut self, word: String, at: usize) {
        if may_assign(&word, self.variable) || may_fail(&word) {
            self.doubt(at, "an expansion");
        }
        if !self.redirection.is_empty() {
            let begin = std::mem::take(&mut self.redirection);
            return self.redirect(&(begin + &word), at);
        }
        if is_redirection(&word) {
            match is_bare(Some(&word)) {
                true => self.redirection = word,
                false => self.redirect(&word, at),
            }
            return;
        }
        if self.patterns && word != "esac" {
            return;
        }
        if let Some(first) = self.command.words.first() {
            self.patterns = first == "case" && word == "in";
            self.command.words.push(word);
            if self.patterns {
                self.end(at);
            }
            return;
        }
        match word.as_str() {
            // What follows these is a command again.
            "if" | "while" | "until" | "{" => return self.open.push(number(at)),
            "then" | "else" | "elif" | "do" | "!" => return,
            "for" | "case" => {
                self.open.push(number(at));
                self.cases += u32::from(word == "case");
            }
            "fi" | "done" | "esac" | "}" => {
                self.open.pop();
                self.cases = self.cases.saturating_sub(u32::from(word == "esac"));
                self.patterns = false;
            }
            word if is_assignment(word) => return self.command.assigned.push(word.to_owned()),
            _ => {}
        }
        self.command.words.push(word);
    }

    fn redirect(&mut self, whole: &str, at: usize) {
        let target = whole.trim_start_matches(|c: char| c.is_ascii_digit());
        if let Some(end) = target.strip_prefix("<<").filter(|end| !end.starts_with('<')) {
            let tabs = end.starts_with('-');
            let plain = end.strip_prefix('-').unwrap_or(end).replace(['\'', '"', '\\'], "");
            if self.here.is_some() || plain.is_empty() || plain.contains(['$', '`']) {
                self.doubt(at, "<<");
            }
            self.here = Some((plain, tabs));
        } else {
            self.command.redirected |= !SURE.contains(&target);
        }
    }

    fn operator(&mut self, operator: &str, at: usize) {
        let SimpleCommand { assigned, words, .. } = &self.command;
        match operator {
            ")" if self.patterns => self.patterns = false,
            _ if self.patterns => {}
            ";;" => {
                self.end(at);
                self.patterns = self.cases > 0;
            }
            ARITHMETIC => self.doubt(at, "(("),
            "(" if words.len() == 1 && assigned.is_empty() => {
                let name = std::mem::replace(&mut self.command.words[0], PARENTHESES.to_owned());
                if doubtful(&name).is_some() || SPECIAL.contains(&name.as_str()) {
                    self.doubt(at, "a function in place of a command");
                } else {
                    self.functions.insert(name);
                }
            }
            "(" => {
                self.end(at);
                self.open.push(number(at));
                self.subshells += 1;
            }
            ")" if words.first().is_some_and(|word| word == PARENTHESES) => {
                self.command = SimpleCommand::default();
            }
            ")" if self.subshells > 0 => {
                self.end(at);
                self.open.pop();
                self.subshells -= 1;
            }
            ")" => self.doubt(at, ")"),
            _ => self.end(at),
        }
    }

    /// A simple command was read to its end.
    fn end(&mut self, at: usize) {
        let mut command = std::mem::take(&mut self.command);
        if command.words.is_empty() && command.assigned.is_empty() {
            return;
        }
        if let Some(what) = self.doubt_of(&command) {
            self.doubt(at, what);
        }
        (command.line, command.inside) = (at, self.open.first().copied());
        self.commands.push(command);
    }

    /// What a command has that makes the rest of the file uncertain.
    fn doubt_of(&self, command: &SimpleCommand) -> Option<&'static str> {
        let SimpleCommand { assigned, words, redirected, .. } = command;
        let name = words.first().map_or("", String::as_str);
        let asks = name == "command" && words.get(1).is_some_and(|word| word == "-v");
        if let Some(what) = doubtful(name).filter(|_| !asks) {
            return Some(what);
        }
        let sets = |word: &String| {
            word.strip_prefix(self.variable).is_some_and(|rest| rest.starts_with('='))
        };
        if SPECIAL.contains(&name) && assigned.iter().any(sets) {
            return Some("an assignment in front of a builtin");
        }
        if SPECIAL.contains(&name) && *redirected {
            return Some("a redirection of a builtin");
        }
        if words.iter().any(|word| word.contains("$$") || word.contains("PPID")) {
            return Some("the shell's own number");
        }
        // The variable, in a form that is not read.
        let of_shell = matches!(name, "export" | "unset");
        let read = |word: &&String| sets(word) || of_shell && *word == self.variable;
        let mut others = assigned.iter().chain(words).filter(|word| !read(word));
        others.any(|word| names(word, self.variable)).then_some("the name of the variable")
    }
}

/// What makes a command of this name, in whatever quotes, another one than a program.
fn doubtful(name: &str) -> Option<&'static str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./+-~@:![]{}()".contains(c);
    if !name.chars().all(plain) {
        return Some("a word that is not plain");
    }
    let last = name.rsplit('/').next().unwrap_or(name);
    let is_one = |one: &&str| *one == name || *one == last && one.ends_with("kill");
    DOUBTFUL.split_ascii_whitespace().find(is_one)
}
