//! Patterns of paths and names, as a shell has them.

use needless_model::Process;
use std::fmt;

/// A pattern: `*` and `?` stand for any text and one character within a name, `**` for any text
/// with slashes too, `/**/` for any number of directories, none included. A backslash makes the
/// next character literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: String,
    /// The text before the first wildcard: everything that fits begins with it.
    start: String,
    /// The text after the last wildcard: everything that fits ends with it. Most texts fail here
    /// already.
    end: String,
    rest: Vec<Token>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    /// `?`
    One,
    /// `*`
    Name,
    /// `**`
    Any,
    /// The `**` of `/**/`: with the slash after it, it may be left out.
    Directories,
}

impl Glob {
    /// # Errors
    /// If it is empty, or ends with a backslash.
    pub fn new(text: &str) -> Result<Glob, String> {
        if text.is_empty() {
            return Err("the pattern is empty".to_owned());
        }
        let mut tokens = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '\\' => Token::Char(chars.next().ok_or("the pattern ends with a backslash")?),
                '?' => Token::One,
                '*' if chars.peek() == Some(&'*') => {
                    while chars.next_if_eq(&'*').is_some() {}
                    let inside = tokens.last() == Some(&Token::Char('/'));
                    if inside && chars.peek() == Some(&'/') {
                        Token::Directories
                    } else {
                        Token::Any
                    }
                }
                '*' => Token::Name,
                c => Token::Char(c),
            });
        }
        let literal = |token: &Token| match token {
            Token::Char(c) => Some(*c),
            _ => None,
        };
        let start: String = tokens.iter().map_while(literal).collect();
        let rest = tokens.split_off(start.chars().count());
        let last = rest.iter().rposition(|token| literal(token).is_none());
        // The slash after `**` disappears together with the directories if there are none.
        let slash = last.is_some_and(|at| rest[at] == Token::Directories);
        let end = rest.iter().skip(last.map_or(0, |at| at + 1 + usize::from(slash)));
        let end = end.filter_map(literal).collect();
        Ok(Glob { text: text.to_owned(), start, end, rest })
    }

    /// Whether all of `text` fits.
    pub fn fits(&self, text: &str) -> bool {
        if !text.ends_with(&self.end) {
            return false;
        }
        let Some(text) = text.strip_prefix(&self.start) else { return false };
        // Which tokens may come next: never more work than characters times tokens.
        let none = vec![false; self.rest.len() + 1];
        let (mut at, mut next, mut stays) = (none.clone(), none.clone(), none);
        at[0] = true;
        self.skip(&mut at, &stays);
        for c in text.chars() {
            next.fill(false);
            stays.fill(false);
            for (n, token) in self.rest.iter().enumerate().filter(|(n, _)| at[*n]) {
                match token {
                    Token::Char(wanted) => next[n + 1] |= *wanted == c,
                    Token::One => next[n + 1] |= c != '/',
                    Token::Name => stays[n] = c != '/',
                    Token::Any | Token::Directories => stays[n] = true,
                }
            }
            self.skip(&mut next, &stays);
            std::mem::swap(&mut at, &mut next);
            if !at.contains(&true) {
                return false;
            }
        }
        at[self.rest.len()]
    }

    /// Whether the program fits: the executable's file name or the name that the kernel gave it (a script's
    /// own) or, where the pattern has a slash, the executable's path.
    pub(crate) fn fits_program(&self, process: &Process) -> bool {
        if self.text.contains('/') {
            process.exe.as_deref().is_some_and(|exe| self.fits(exe))
        } else {
            self.fits(process.name())
                || process.command.as_deref().is_some_and(|name| self.fits(name))
        }
    }

    /// Also allows the tokens after wildcards that stand for nothing, or for nothing more. `stays`
    /// marks those that stand for something already.
    fn skip(&self, at: &mut [bool], stays: &[bool]) {
        for (n, token) in self.rest.iter().enumerate() {
            if at[n] && *token == Token::Directories {
                at[n + 2] = true;
            }
            at[n] |= stays[n];
            if at[n] && matches!(token, Token::Name | Token::Any | Token::Directories) {
                at[n + 1] = true;
            }
        }
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, text: &str) -> bool {
        Glob::new(pattern).unwrap().fits(text)
    }

    #[test]
    fn a_program_is_its_executable_or_its_script() {
        let process = Process {
            exe: Some("/usr/bin/perl".to_owned()),
            command: Some("ts".to_owned()),
            ..Process::new(1, None, needless_model::Spawn::Exec)
        };
        let fits = |pattern: &str| Glob::new(pattern).unwrap().fits_program(&process);
        assert!(fits("perl") && fits("ts") && fits("/usr/bin/*"));
        assert!(!fits("/usr/bin/ts") && !fits("pe"));
    }

    #[test]
    fn wildcards_stay_within_a_name_unless_doubled() {
        assert!(fits("/etc/*.conf", "/etc/a.conf") && fits("/etc/*.conf", "/etc/.conf"));
        assert!(!fits("/etc/*.conf", "/etc/a/b.conf") && !fits("/etc/*.conf", "/etc/a.confx"));
        assert!(fits("/etc/**.conf", "/etc/a/b.conf") && fits("/etc/**", "/etc/"));
        assert!(!fits("/etc/**", "/etc") && !fits("/etc/**", "/etcetera"));
        assert!(fits("py?hon*", "python3.11") && !fits("py?hon", "pyhon") && !fits("a?b", "a/b"));
        assert!(fits("*", "") && fits("**", "a/b") && fits("a**b**c", "a/x/b/y/c"));
    }

    #[test]
    fn directories_between_slashes_may_be_none() {
        assert!(fits("/**/.git", "/.git") && fits("/**/.git", "/a/b/.git"));
        assert!(!fits("/**/.git", "/a/x.git") && !fits("/home/**/x", "/homex"));
        assert!(fits("/**/**/x", "/x") && fits("/a/**/", "/a/") && !fits("/a/**/", "/a"));
        assert!(fits("/home/**/x", "/home/x") && fits("/home/**/x", "/home/a/x"));
    }

    #[test]
    fn what_is_meant_literally() {
        assert!(fits(r"/a\*b", "/a*b") && !fits(r"/a\*b", "/axb") && fits("[a]", "[a]"));
        assert!(fits("/é*", "/éa") && fits("?", "é"));
        assert!(Glob::new("").is_err() && Glob::new(r"a\").is_err());
    }

    #[test]
    fn many_wildcards_take_no_longer() {
        assert!(!fits(&"*a".repeat(60), &"a".repeat(4000).replace("aaaa", "aaab")[..59]));
        assert!(!fits(&format!("{}b", "**a".repeat(60)), &"a".repeat(4000)));
    }
}
