//! What a simple command of a shell file does to the file: it may end it, or set our variable in a way that is not
//! certain.

use super::super::check_name;
use super::super::shell_builtins::{Kind, kind, options};
use super::super::shell_words::{is_assignment, is_bare};
use super::{ENDS, Flow, SimpleCommand};

impl Flow<'_> {
    /// A simple command that was read to its end.
    pub(super) fn judge(&mut self, line: u32) {
        let command = std::mem::take(&mut self.command);
        if command.is_empty() {
            return;
        }
        self.redirections(&command, line);
        let named = |word: &String| {
            word.strip_prefix(self.variable).is_some_and(|rest| rest.starts_with("+="))
        };
        if command.assigned.iter().any(named) {
            self.unclear(line, "");
        }
        let [name, arguments @ ..] = &command.words[..] else {
            self.commands.push(command);
            return;
        };
        let assigns =
            |word: &String| word.split_once('=').is_some_and(|(name, _)| name == self.variable);
        let names = |words: &[String]| {
            // Of other variables than ours, or of ours in the form that `shell.rs` reads.
            words
                .iter()
                .all(|word| check_name(word).is_ok() || is_assignment(word) && !word.contains("+="))
        };
        let kind = kind(name);
        if kind != Kind::Program && command.assigned.iter().any(assigns) {
            self.unclear(line, "an assignment in front of a builtin");
        }
        match (name.as_str(), arguments) {
            ("fi" | "done" | "esac" | "}", []) => {}
            ("for", [name, ..]) if name != self.variable && check_name(name).is_ok() => {}
            ("fi" | "done" | "esac" | "}" | "for", _) => self.unclear(line, ""),
            ("export", arguments) if names(arguments) && !arguments.is_empty() => {}
            ("unset", [option, ..]) if option == "-f" => {}
            ("unset", arguments) => {
                let after = arguments.strip_prefix(&["-v".to_owned()]).unwrap_or(arguments);
                if !after.iter().all(|word| check_name(word).is_ok()) {
                    self.unclear(line, "unset");
                }
            }
            ("local", arguments) if self.others(arguments) => {}
            ("read", [option, arguments @ ..]) if option == "-r" && self.others(arguments) => {}
            ("read", arguments) if self.others(arguments) => {}
            ("printf", [format, ..]) if !format.starts_with('-') => {}
            ("command" | "builtin", [option, ..]) if matches!(option.as_str(), "-v" | "-V") => {}
            ("return", _) => self.end(line, "returns"),
            ("exit" | "logout", _) => self.end(line, "exits"),
            ("exec", []) => {}
            ("exec", _) => self.end(line, "starts another program"),
            ("set", [first, ..]) if first == "--" => {}
            ("set", arguments) => match options(arguments) {
                Some(true) => self.may_end(line, ENDS),
                Some(false) => {}
                None => self.unclear(line, "set"),
            },
            (name, arguments) => match kind {
                Kind::Plain => {}
                Kind::Kills => self.may_end(line, ENDS),
                Kind::Program => {
                    if arguments.iter().any(|word| word.contains("$$") || word.contains("PID")) {
                        self.may_end(line, ENDS);
                    }
                    if let Some(verb) = self.exiting.get(name).copied() {
                        self.may_end(line, verb);
                    }
                    self.called.push((name.to_owned(), line));
                }
                Kind::Other(name) => self.unclear(line, name),
            },
        }
        self.commands.push(command);
    }

    /// Whether these are names, and none of them is our variable's.
    fn others(&self, words: &[String]) -> bool {
        words.iter().all(|word| {
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            check_name(name).is_ok() && name != self.variable
        })
    }

    /// A redirection that fails ends a shell where the command is one of its own. Finds here-documents.
    fn redirections(&mut self, command: &SimpleCommand, line: u32) {
        let name = command.words.first().map_or("", String::as_str);
        let own = !matches!(name, "fi" | "done" | "esac" | "}") && kind(name) != Kind::Program;
        let mut redirected = command.redirected.iter().peekable();
        while let Some(one) = redirected.next() {
            let bare = is_bare(Some(one));
            let target = if bare { redirected.next().map_or("", String::as_str) } else { "" };
            let whole = format!("{}{target}", one.trim_start_matches(|c: char| c.is_ascii_digit()));
            if let Some(end) = whole.strip_prefix("<<").filter(|end| !end.starts_with('<')) {
                let tabs = end.starts_with('-');
                let end = end.strip_prefix('-').unwrap_or(end);
                self.here_expands = !end.contains(['\'', '"', '\\']);
                let plain = end.replace(['\'', '"', '\\'], "");
                if self.here.is_some() || plain.is_empty() || plain.contains(['$', '`']) {
                    self.unclear(line, "");
                }
                self.here = Some((plain, tabs));
                continue;
            }
            let sure =
                [">&1", ">&2", "<&0", ">/dev/null", ">>/dev/null", "</dev/null", "&>/dev/null"];
            if own && !sure.contains(&whole.as_str()) {
                self.may_end(line, ENDS);
            }
        }
    }
}
