//! Lines that distributions write into the files of each new user's shell. What they do is known: they set no variable
//! but their own (LS_COLORS, LESSOPEN, aliases, completions), and do not end an interactive shell.

use super::bare;
use super::shell_words::{Token, tokens};

/// With each the file of the user that it reads, where it reads one.
const LINES: [(&str, Option<&str>); 10] = [
    (". \"$HOME/.bashrc\"", Some(".bashrc")),
    (". ~/.bashrc", Some(".bashrc")),
    ("source ~/.bashrc", Some(".bashrc")),
    (". ~/.bash_aliases", Some(".bash_aliases")),
    (". /usr/share/bash-completion/bash_completion", None),
    (". /etc/bash_completion", None),
    ("[ -z \"$PS1\" ] && return", None),
    ("[ -x /usr/bin/lesspipe ] && eval \"$(SHELL=/bin/sh lesspipe)\"", None),
    (
        "test -r ~/.dircolors && eval \"$(dircolors -b ~/.dircolors)\" || eval \"$(dircolors -b)\"",
        None,
    ),
    ("eval \"$(dircolors -b)\"", None),
];
/// Ends the file where no person types the commands.
const GUARD: [&str; 4] = ["case $- in", "*i*) ;;", "*) return;;", "esac"];
const CONDITION: &str = "if ! shopt -oq posix; then";

/// Stands for such a line, with its number.
const MARK: &str = ": needless-line-";

/// The text with commands that do nothing in place of such lines.
pub(crate) fn neutral(text: &str) -> String {
    if text.contains(MARK) {
        return text.to_owned();
    }
    let all: Vec<&str> = super::lines(text);
    let trimmed: Vec<&str> = all.iter().map(|line| bare(line).trim()).collect();
    let mut out = String::with_capacity(text.len());
    let mut guard = 0;
    for (at, line) in all.iter().enumerate() {
        if trimmed[at..].starts_with(&GUARD) {
            guard = GUARD.len();
        }
        let end = &line[bare(line).len()..];
        if guard > 0 || is_stock(trimmed[at]) {
            out.push_str(&format!("{MARK}{at}{end}"));
        } else if trimmed[at] == CONDITION {
            out.push_str(&format!("if {MARK}{at}; then{end}"));
        } else {
            out.push_str(line);
        }
        guard = guard.saturating_sub(1);
    }
    out
}

/// `new`, which was made of `neutral(text)`, with the lines of `text` again.
pub(crate) fn put_back(text: &str, new: &str) -> String {
    if text.contains(MARK) {
        return new.to_owned();
    }
    let all = super::lines(text);
    let line = |line: &str| {
        let number = line.split_once(MARK)?.1;
        let number = number.split(|c: char| !c.is_ascii_digit()).next()?;
        all.get(number.parse::<usize>().ok()?).map(|line| (*line).to_owned())
    };
    super::lines(new).into_iter().map(|one| line(one).unwrap_or_else(|| one.to_owned())).collect()
}

/// The user's own files that such lines read.
pub(crate) fn sourced(text: &str) -> Vec<&'static str> {
    let all = text.lines().map(str::trim);
    all.filter_map(|line| LINES.iter().find(|(stock, _)| *stock == line)?.1).collect()
}

fn is_stock(line: &str) -> bool {
    LINES.iter().any(|(stock, _)| *stock == line) || is_harmless(line)
}

/// `alias NAME=…`, `shopt -s NAME`: one command that changes no variable.
fn is_harmless(line: &str) -> bool {
    if !line.starts_with("alias ") && !line.starts_with("shopt ") {
        return false;
    }
    let (found, whole) = tokens(line);
    let words: Option<Vec<&str>> = found.iter().map(Token::word).collect();
    let Some(words) = words.filter(|_| whole) else { return false };
    match &words[..] {
        ["shopt", "-s" | "-u", names @ ..] => {
            names.iter().all(|name| name.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        }
        ["alias", all @ ..] => all.iter().all(|one| {
            let name = one.split_once('=').map_or("", |(name, _)| name);
            let own =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            own && !["export", "unset"].contains(&name) && !one.contains(['$', '`'])
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Edit, NOTE, shell};
    use super::*;

    const PROFILE: &str = "# ~/.profile\nif [ -n \"$BASH_VERSION\" ]; then\n    if [ -f \"$HOME/.bashrc\" ]; then\n\t. \"$HOME/.bashrc\"\n    fi\nfi\nif [ -d \"$HOME/bin\" ] ; then\n    PATH=\"$HOME/bin:$PATH\"\nfi\n";
    const BASHRC: &str = "# c\ncase $- in\n    *i*) ;;\n      *) return;;\nesac\nshopt -s histappend\nif [ -x /usr/bin/dircolors ]; then\n    alias ls='ls --color=auto'\nfi\nif ! shopt -oq posix; then\n  if [ -f /usr/share/bash-completion/bash_completion ]; then\n    . /usr/share/bash-completion/bash_completion\n  fi\nfi\n";

    #[test]
    fn what_a_distribution_writes_is_understood_and_stays() {
        for text in [PROFILE, BASHRC] {
            let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
            assert!(shell::put(text, &edit).is_err(), "{text}");
            let plain = neutral(text);
            assert_eq!(put_back(text, &plain), text);
            let new = put_back(text, &shell::put(&plain, &edit).unwrap());
            assert_eq!(new, format!("{text}{NOTE}\nexport TZ=UTC\n"));
        }
        assert_eq!(sourced(PROFILE), [".bashrc"]);
    }

    #[test]
    fn other_lines_stay_as_doubtful_as_they_are() {
        for line in [
            "alias export=true",
            "alias x=$(y)",
            "shopt -s x; TZ=UTC",
            ". ~/.bashrc; exit",
            "case $- in",
            "eval \"$(ssh-agent)\"",
            ": needless-line-0",
        ] {
            assert_eq!(neutral(line), line);
        }
    }
}
