//! Files that a POSIX shell sources: profile.d, /etc/default, /etc/conf.d, /etc/sysconfig, Apache's
//! envvars, wrapper scripts. POSIX, Shell Command Language 2.

use super::shell_lines::{self, ShellLines, SimpleCommand};
use super::shell_words::{expanded, is_number};
use super::{Edit, FoundValue, NOTE, Reach, lines, number, splice};
use crate::error::EnvironmentError;

/// The program that checks a script.
pub(crate) const CHECK: &[&str] = &["sh", "-n"];

/// A line that sets, exports or removes a variable.
struct ShellLine {
    line: usize,
    value: Option<String>,
    exported: bool,
    /// Whether it is alone, with a value that no shell would compute.
    plain: bool,
    reach: Reach,
}

impl ShellLine {
    /// Whether it may be replaced by another line.
    fn is_own(&self) -> bool {
        self.plain && self.reach == Reach::Yes
    }
}

/// A file as its shell reads it.
struct ShellFile {
    entries: Vec<ShellLine>,
    read: ShellLines,
}

fn read(text: &str, variable: &str) -> ShellFile {
    let read = shell_lines::read(text, variable);
    let doubt = read.doubt.as_ref().map(|(line, _)| *line);
    let reach = |command: &SimpleCommand| match (command.inside, doubt) {
        (Some(line), _) => Reach::Inside { line },
        (None, Some(line)) if line < number(command.line) => Reach::Perhaps { line },
        _ => Reach::Yes,
    };
    let found = read.commands.iter();
    let entries = found
        .filter_map(|one| {
            entry(one, variable).map(|entry| ShellLine { reach: reach(one), ..entry })
        })
        .collect();
    ShellFile { entries, read }
}

/// What a command does to the variable; whether it is reached is not known here.
fn entry(command: &SimpleCommand, variable: &str) -> Option<ShellLine> {
    let SimpleCommand { assigned, words, line, .. } = command;
    let (reach, line) = (Reach::Yes, *line);
    let plain = command.alone && !command.redirected;
    let (exported, all) = match &words[..] {
        // `TZ=UTC command` sets it for that command only.
        [] => (false, &assigned[..]),
        [name, all @ ..] if name == "export" => (true, all),
        [name, all @ ..] if name == "unset" => {
            let here = all.iter().any(|name| name == variable);
            let plain = plain && assigned.is_empty() && all.len() == 1;
            return here.then_some(ShellLine { line, value: None, exported: true, plain, reach });
        }
        _ => return None,
    };
    let value = |word: &String| Some(word.strip_prefix(variable)?.strip_prefix('=')?.to_owned());
    match all.iter().rev().find_map(value) {
        Some(value) => {
            let (value, sure) = value_of(&value);
            let plain =
                plain && sure && all.len() == 1 && (words.is_empty() || assigned.is_empty());
            Some(ShellLine { line, value: Some(value), exported, plain, reach })
        }
        // Its value was set earlier.
        None => (exported && all.iter().any(|name| name == variable)).then_some(ShellLine {
            line,
            value: Some(String::new()),
            exported,
            plain: false,
            reach,
        }),
    }
}

/// A word's value, and whether it is literal.
pub(super) fn value_of(text: &str) -> (String, bool) {
    let (mut value, mut sure, mut quote) = (String::new(), true, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => value.push(c),
            (None, '\\') => value.extend(chars.next()),
            (Some(_), '\\') => match chars.next() {
                Some(c @ ('"' | '\\' | '$' | '`')) => value.push(c),
                Some(c) => value.extend(['\\', c]),
                None => sure = false,
            },
            (_, c) => {
                let special = quote.is_none() && "*?[~(){}<>|".contains(c);
                sure &= !special && !matches!(c, '$' | '`');
                value.push(c);
            }
        }
    }
    (value, sure && quote.is_none())
}

/// Refuses a file with a line behind which nothing is certain.
fn refuse_doubt(read: &ShellLines, variable: &str) -> Result<(), EnvironmentError> {
    let Some((line, what)) = &read.doubt else { return Ok(()) };
    Err(format!(
        "line {line} ({what}) may end the file, or change what others do: set {variable} by hand, and look"
    )
    .into())
}

/// Whether the last line of a text goes on in what follows.
pub(crate) fn goes_on(text: &str) -> bool {
    shell_lines::read(text, "").goes_on
}

/// Where `text` sets `variable` for the programs it starts; the last counts.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    assignments(text, variable, false)
}

/// The same; `exported`: the variable is exported already, and a plain assignment changes it for programs.
pub(crate) fn assignments(text: &str, variable: &str, exported: bool) -> Vec<FoundValue> {
    let ShellFile { entries: all, read } = read(text, variable);
    let exports = exported || all.iter().any(|entry| entry.exported && entry.value.is_some());
    let sure = read.doubt.is_none();
    let mut found = Vec::new();
    for entry in all {
        match entry.value {
            None => found.push(FoundValue {
                certain: sure && entry.plain,
                reach: entry.reach,
                ..FoundValue::removed(entry.line)
            }),
            Some(value) if value.is_empty() && entry.exported && !entry.plain => {}
            // Set, but not exported: no program sees it.
            Some(_) if !exports => {}
            Some(value) => {
                found.push(FoundValue {
                    certain: sure && entry.plain,
                    reach: entry.reach,
                    ..FoundValue::set(entry.line, value)
                });
            }
        }
    }
    found
}

/// Where `variable` is set without being exported, which is a trap.
pub(crate) fn unexported(text: &str, variable: &str) -> Option<u32> {
    let all = read(text, variable).entries;
    let exports = all.iter().any(|entry| entry.exported);
    let set = all.iter().rfind(|entry| entry.value.is_some())?;
    (!exports).then(|| FoundValue::removed(set.line).line)
}

/// Names of shells whose scripts are understood.
pub(crate) const NAMES: [&str; 6] = ["sh", "dash", "bash", "ash", "ksh", "zsh"];

/// A command of a script that others follow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ShellCommand {
    /// `. FILE`
    Source(String),
    /// `VARIABLE=VALUE` before the words of the command that the script becomes.
    Assign(String),
    /// The words of `exec`, or of the last command.
    Becomes(Vec<String>),
}

/// The files that `text` sources, and the commands that it becomes, with their lines from 1. Variables that the script
/// sets to a plain text before are expanded in names of files, and so are its `arguments`, where they are known.
pub(crate) fn commands_of(
    text: &str,
    variable: &str,
    arguments: Option<&[String]>,
) -> Vec<(u32, ShellCommand)> {
    let (mut found, mut last) = (Vec::new(), None);
    let argument = |all: &[String], at: usize| all.get(at - 1).cloned().unwrap_or_default();
    let mut known: Vec<(String, String)> = arguments.map_or_else(Vec::new, |all| {
        (1..=9).map(|at| (at.to_string(), argument(all, at))).collect()
    });
    let plain = |word: &String| value_of(word).0;
    for command in shell_lines::read(text, variable).commands {
        let line = number(command.line);
        // A function has arguments of its own.
        let mine = known.iter().filter(|(name, _)| command.inside.is_none() || !is_number(name));
        let mine: Vec<(String, String)> = mine.cloned().collect();
        let pairs = command.assigned.iter().filter_map(|word| word.split_once('='));
        let pairs: Vec<(String, String)> = pairs
            .map(|(name, value)| (name.to_owned(), expanded(&value_of(value).0, &mine)))
            .collect();
        let words: Vec<String> = command.words.iter().map(plain).collect();
        match words.first().map(String::as_str) {
            None => known.extend(pairs),
            Some("." | "source") => {
                let file = expanded(words.get(1).map_or("", String::as_str), &mine);
                if file.starts_with('/') && !file.contains('$') {
                    found.push((line, ShellCommand::Source(file)));
                }
            }
            Some("set" | "shift") => known.retain(|(name, _)| !is_number(name)),
            Some(first) => {
                let value = pairs.into_iter().rev().find(|(name, _)| name == variable);
                let value = value.map(|(_, value)| (line, ShellCommand::Assign(value)));
                let exec = first == "exec";
                let becomes = ShellCommand::Becomes(words[usize::from(exec)..].to_vec());
                let all = value.into_iter().chain([(line, becomes)]);
                if exec {
                    found.extend(all);
                    last = None;
                } else {
                    last = Some(all);
                }
            }
        }
    }
    found.extend(last.into_iter().flatten());
    found
}

/// The lines, from 0, that set, export or remove the variable, if they do nothing else.
///
/// # Errors
/// When a line does so among other things, or one may end the file.
pub(super) fn lines_about(text: &str, variable: &str) -> Result<Vec<usize>, EnvironmentError> {
    let ShellFile { entries, read } = read(text, variable);
    refuse_doubt(&read, variable)?;
    let exports = |line: usize| {
        let mut here = read.commands.iter().filter(|one| one.line == line);
        here.any(|one| one.alone && one.assigned.is_empty() && one.words == ["export", variable])
    };
    let own = entries.iter().map(|entry| {
        let own = entry.is_own() || entry.reach == Reach::Yes && exports(entry.line);
        own.then_some(entry.line).ok_or_else(|| {
            let line = entry.line + 1;
            let why = "in a form that systemd, which reads the file too, takes for something else";
            format!("line {line} sets {variable} {why}: change it by hand").into()
        })
    });
    own.collect()
}

/// Sets it where the last plain setting is, if that is the last line about the variable, else at the end.
///
/// # Errors
/// When a line of the text may end the file, or change what others do.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let ShellFile { entries: all, read } = read(text, edit.variable);
    refuse_doubt(&read, edit.variable)?;
    let Some(value) = edit.value else {
        let sets = |entry: &ShellLine| entry.value.is_some();
        let (own, others): (Vec<_>, Vec<_>) = all.iter().partition(|entry| entry.is_own());
        let removed_last = all.last().is_some_and(|last| last.is_own() && !sets(last));
        if removed_last && others.iter().any(|entry| sets(entry)) {
            return Ok(text.to_owned());
        }
        let mut out = text.to_owned();
        for entry in own.iter().rev() {
            out = splice(&out, entry.line, entry.line + 1, &[]);
        }
        return match others.iter().any(|entry| sets(entry)) {
            true => Ok(at_end(&out, format!("unset {}", edit.variable))),
            false => Ok(out),
        };
    };
    let line = format!("export {}={}", edit.variable, word(value));
    match all.last() {
        Some(last) if last.is_own() => Ok(splice(text, last.line, last.line + 1, &[line])),
        _ => Ok(at_end(text, line)),
    }
}

/// The text with a line added at its end.
fn at_end(text: &str, line: String) -> String {
    let at = lines(text).len();
    splice(text, at, at, &[NOTE.to_owned(), line])
}

/// A value as one word of a shell.
pub(crate) fn word(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:,+@%=-".contains(c);
    if !value.is_empty() && value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("'{}'", value.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_export() {
        let one = |text: &str| {
            let last = find(text, "TZ", None).pop();
            last.map(|found| (found.value, found.certain))
        };
        let set = |value: &str, certain| Some((Some(value.to_owned()), certain));
        assert_eq!(one("export TZ=UTC\n"), set("UTC", true));
        assert_eq!(one("TZ='Asia/Tokyo'; export TZ\n"), set("Asia/Tokyo", false));
        assert_eq!(one("TZ=UTC\n"), None);
        assert_eq!(one("TZ=UTC date\n"), None);
        assert_eq!(one("export TZ=$(cat /etc/timezone)\n").map(|(_, sure)| sure), Some(false));
        assert_eq!(one("cat <<EOF\nexport TZ=no\nEOF\n"), None);
        assert_eq!(one("# export TZ=no\n"), None);
        assert_eq!(one("unset TZ\n"), Some((None, true)));
        assert_eq!(one("TZ=a\nexport TZ\n"), set("a", true));
        assert_eq!(unexported("A=1\nTZ=UTC\n", "TZ"), Some(2));
    }

    #[test]
    fn what_a_script_sources_and_becomes() {
        let text = "#!/bin/sh\nNAME=x\nDIR=/etc/default\n[ -r $DIR/$NAME ] && . $DIR/$NAME\n\
                    if [ -f /a ]; then . /a; fi\n. $OTHER/b\nTZ=UTC exec env -u A \"p q\" # c\n";
        let becomes = |words: &[&str]| {
            ShellCommand::Becomes(words.iter().map(|word| (*word).to_owned()).collect())
        };
        let expected = [
            (4, ShellCommand::Source("/etc/default/x".into())),
            (5, ShellCommand::Source("/a".into())),
            (7, ShellCommand::Assign("UTC".into())),
            (7, becomes(&["env", "-u", "A", "p q"])),
        ];
        assert_eq!(commands_of(text, "TZ", None), expected);
        assert_eq!(commands_of("a b\nc", "TZ", None), [(2, becomes(&["c"]))]);
        // As dnsmasq's helper does it.
        let text = "N=x\nI=\"${2}\"\n. /etc/${N}${I:+.${I}} && . /etc/${I:-none}\n";
        for (arguments, first, second) in
            [(&["exec"][..], "/etc/x", "/etc/none"), (&["exec", "a"], "/etc/x.a", "/etc/a")]
        {
            let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
            let source = |file: &str| (3, ShellCommand::Source(file.to_owned()));
            let found = commands_of(text, "TZ", Some(&arguments));
            assert_eq!(found, [source(first), source(second)], "{arguments:?}");
        }
        assert_eq!(commands_of(text, "TZ", None), []);
    }

    #[test]
    fn a_file_whose_lines_go_on_is_refused() {
        for (text, line) in [
            ("X='a\nexport TZ=inner\nb'\n", Some(1)),
            ("A=1\nX=\"a\nTZ=inner\nb\"\n", Some(2)),
            ("/bin/env A=1 \\\nTZ=Asia/Tokyo date\n", Some(1)),
            ("echo 'a' \"b'\" \\' # it's\n", None),
            ("cat <<EOF\nit's\nEOF\nexport TZ=UTC\n", None),
        ] {
            let doubt = read(text, "TZ").read.doubt.map(|(line, _)| line);
            assert_eq!(doubt, line, "{text}");
            let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
            assert_eq!(put(text, &edit).is_err(), line.is_some(), "{text}");
            let certain = find(text, "TZ", None).iter().any(|found| found.certain);
            assert!(line.is_none() || !certain, "{text}");
        }
    }
}
