//! The words and operators of a line of a shell file. POSIX, Shell Command Language 2.3.

use std::iter::Peekable;
use std::str::Chars;

/// A word as it is written, with its quotes; or an operator.
pub(super) enum Token {
    Word(String),
    Operator(&'static str),
}

impl Token {
    /// The word; `None` for an operator.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            Token::Operator(_) => None,
        }
    }
}

/// What the tokens of a line do not understand; the shells themselves differ there, too.
pub(super) const ARITHMETIC: &str = "((";

/// The tokens of a line without its comment, and whether the last word ends with the line. What is in quotes, `${…}`
/// or `$(…)` belongs to its word; a redirection is a word of its own.
pub(super) fn tokens(line: &str) -> (Vec<Token>, bool) {
    let mut reader = Reader { chars: line.chars().peekable(), word: String::new(), whole: true };
    let mut tokens = Vec::new();
    while let Some(c) = reader.chars.next() {
        let redirects = reader.word.ends_with(['<', '>', '&']);
        let operator = match c {
            ' ' | '\t' => "",
            '(' if reader.word.ends_with('=') || reader.chars.peek() == Some(&'(') => ARITHMETIC,
            '(' => "(",
            ')' => ")",
            ';' if reader.chars.next_if_eq(&';').is_some() => ";;",
            ';' => ";",
            '#' if reader.word.is_empty() => break,
            // `2>&1`, `&>file`
            '&' if redirects || reader.chars.peek() == Some(&'>') => {
                if !redirects {
                    reader.end(&mut tokens);
                }
                reader.word.push(c);
                continue;
            }
            '&' if reader.chars.next_if_eq(&'&').is_some() => "&&",
            '&' => "&",
            '|' if reader.chars.next_if_eq(&'|').is_some() => "||",
            '|' if reader.word.ends_with('>') => {
                reader.word.push(c);
                continue;
            }
            '|' => "|",
            '<' | '>' => {
                let number = reader.word.chars().all(|c| c.is_ascii_digit());
                if !number && !redirects {
                    reader.end(&mut tokens);
                }
                reader.word.push(c);
                continue;
            }
            c => {
                reader.take(c);
                continue;
            }
        };
        reader.end(&mut tokens);
        if !operator.is_empty() {
            tokens.push(Token::Operator(operator));
        }
    }
    reader.end(&mut tokens);
    (tokens, reader.whole)
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    word: String,
    whole: bool,
}

impl Reader<'_> {
    fn end(&mut self, tokens: &mut Vec<Token>) {
        if !self.word.is_empty() {
            tokens.push(Token::Word(std::mem::take(&mut self.word)));
        }
    }

    /// Adds `c` to the word, with all that belongs to it: the rest of a quote or an expansion.
    fn take(&mut self, c: char) {
        self.word.push(c);
        match c {
            '\\' => match self.chars.next() {
                Some(c) => self.word.push(c),
                None => self.whole = false,
            },
            '\'' => self.until('\''),
            '"' => self.until('"'),
            '`' => self.until('`'),
            '$' => match self.chars.peek() {
                Some('{') => self.inner('}'),
                Some('(') => self.inner(')'),
                // bash knows escapes in `$'…'`, other shells do not.
                Some('\'') => self.whole &= !self.chars.clone().any(|c| c == '\\'),
                _ => {}
            },
            _ => {}
        }
    }

    fn inner(&mut self, end: char) {
        self.word.extend(self.chars.next());
        self.until(end);
    }

    /// Takes everything to the end of a quote or an expansion.
    fn until(&mut self, end: char) {
        while let Some(c) = self.chars.next() {
            match c {
                c if c == end => return self.word.push(c),
                '(' if end == ')' => {
                    self.word.push(c);
                    self.until(')');
                }
                // A comment; and quotes within `"${…}"`, where shells differ.
                '#' if end == ')' && self.word.ends_with([' ', '\t', '(', ';']) => break,
                '\'' if end == '}' => break,
                '\'' | '"' if end == '"' => self.word.push(c),
                _ if end == '\'' => self.word.push(c),
                '\'' | '"' | '$' if end == '`' => self.word.push(c),
                c => self.take(c),
            }
        }
        self.whole = false;
    }
}

/// Whether an expansion in it may end the shell: `${X?}`.
pub(super) fn may_fail(word: &str) -> bool {
    expansions(word).any(|(_, rest)| rest.starts_with('?'))
}

/// Whether an expansion in it may set the variable: `${X=a}`, `$((X=1))`.
pub(super) fn may_assign(word: &str, variable: &str) -> bool {
    let sets = |text: &str| {
        let names = text.contains(variable) || text.contains('$');
        names && (text.contains('=') || text.contains("++") || text.contains("--"))
    };
    let mut arithmetic = word.split("$((").skip(1).chain(word.split("$[").skip(1));
    let named = |name: &str| name == variable || name.contains('!');
    expansions(word).any(|(name, rest)| rest.starts_with('=') && named(name))
        || arithmetic.any(sets)
}

/// The expansions `${NAME…}` in a word: the name, and what follows without a colon.
fn expansions(word: &str) -> impl Iterator<Item = (&str, &str)> {
    word.split("${").skip(1).map(|rest| {
        let name = |c: char| c.is_ascii_alphanumeric() || "_@*#!$-".contains(c);
        let (name, rest) = rest.split_at(rest.find(|c| !name(c)).unwrap_or(rest.len()));
        (name, rest.strip_prefix(':').unwrap_or(rest))
    })
}

/// `<`, `2>`, `&>`, `>file`.
pub(super) fn is_redirection(word: &str) -> bool {
    let word = word.trim_start_matches(|c: char| c.is_ascii_digit());
    word.starts_with(['<', '>']) || word.starts_with("&>")
}

/// Whether the file of a redirection is the next word.
pub(super) fn is_bare(word: Option<&String>) -> bool {
    word.is_some_and(|word| word.ends_with(['<', '>', '|']) || matches!(word.as_str(), "<<-"))
}

pub(super) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    super::check_name(name.strip_suffix('+').unwrap_or(name)).is_ok()
}

/// Whether it is the name of an argument: `$1`.
pub(super) fn is_number(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_digit())
}

/// `$NAME`, `${NAME}`, `${NAME:+WORD}` and `${NAME:-WORD}` with the values that are known.
pub(super) fn expanded(text: &str, known: &[(String, String)]) -> String {
    known.iter().rev().fold(text.to_owned(), |text, (name, value)| {
        let mut braced = text.replace(&format!("${{{name}}}"), value);
        for (mark, uses_word) in [(":+", !value.is_empty()), (":-", value.is_empty())] {
            let begin = format!("${{{name}{mark}");
            while let Some(at) = braced.find(&begin) {
                let Some(end) = end_of_word(&braced[at + begin.len()..]) else { break };
                let word = at + begin.len()..at + begin.len() + end;
                let other = if mark == ":-" { value.clone() } else { String::new() };
                let new = if uses_word { braced[word.clone()].to_owned() } else { other };
                braced.replace_range(at..=word.end, &new);
            }
        }
        let plain = format!("${name}");
        let goes_on =
            |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        match braced.find(&plain) {
            Some(at) if !goes_on(&braced[at + plain.len()..]) => braced.replacen(&plain, value, 1),
            _ => braced,
        }
    })
}

/// Where the brace is that ends a word, which may have others in it.
fn end_of_word(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, c)| {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
        None
    })
}
