//! Errors of the command line, with more help than the parser gives.

use super::Cli;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// The error with a tip, if there is one, and without control characters.
pub(super) fn explained(mut error: Error) -> Error {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(similar) = similar(&error) {
        error.insert(ContextKind::SuggestedSubcommand, similar);
    }
    if let Some(tip) = tip(&error, &words) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    if let Some(variable) = variable(&error, &words) {
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    let escape = |text: &String| needless_report::escape(text).into_owned();
    // The parser's tips contain the words between color codes, so both are removed.
    let hostile = words.iter().any(|word| escape(word) != *word);
    let cleaned: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(escape(text)))),
            ContextValue::Strings(all) => {
                Some((kind, ContextValue::Strings(all.iter().map(escape).collect())))
            }
            ContextValue::StyledStrs(all) if hostile => {
                let all = all.iter().map(|one| escape(&one.to_string()).into()).collect();
                Some((kind, ContextValue::StyledStrs(all)))
            }
            _ => None,
        })
        .collect();
    for (kind, value) in cleaned {
        error.insert(kind, value);
    }
    error
}

/// The parser's text of an error in one line: `what: why; what to do`.
pub(crate) fn in_one_line(text: &str) -> String {
    let mut tips: Vec<String> = Vec::new();
    let mut what: Vec<&str> = Vec::new();
    let mut in_usage = false;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(tip) = line.strip_prefix("tip: ") {
            // "to pass '--x' as a value, use '-- --x'" would make an option the command.
            tips.extend((!tip.starts_with("to pass ")).then(|| tip.to_owned()));
        } else if let Some(usage) = line.strip_prefix("Usage: ") {
            tips.push(format!("usage: {usage}"));
            in_usage = true;
        } else if line.starts_with("For more information") {
            break;
        } else if in_usage && let Some(usage) = tips.last_mut() {
            *usage += " or ";
            *usage += line;
        } else {
            what.push(line.strip_prefix("error: ").unwrap_or(line));
        }
    }
    let what = what.join(" ");
    if tips.is_empty() { what } else { format!("{what}; {}", tips.join("; ")) }
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

/// A command that the user may have meant, where the parser finds none.
fn similar(error: &Error) -> Option<ContextValue> {
    let unknown = text(error, ContextKind::InvalidSubcommand)?;
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|of| !of.is_hide_set());
    let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
    let near = nearest(unknown, &names);
    let near = near.into_iter().map(str::to_owned).collect::<Vec<_>>();
    (!near.is_empty()).then_some(ContextValue::Strings(near))
}

fn tip(error: &Error, words: &[String]) -> Option<&'static str> {
    match error.kind() {
        // The user forgot `run` before a program, or asked for help on a command that does not exist.
        ErrorKind::InvalidSubcommand => {
            let unknown = text(error, ContextKind::InvalidSubcommand)?;
            let first = words.iter().find(|word| !word.starts_with('-'))?;
            (first == unknown).then_some(match unknown {
                "version" => "the version: needless --version",
                "rules" => "the rules: needless explain",
                _ => "to observe a command, put run before it: needless run -- CMD…",
            })
        }
        ErrorKind::UnknownArgument => {
            let command = words.iter().find(|word| !word.starts_with('-')).map(String::as_str);
            habit(command, text(error, ContextKind::InvalidArg)?)
        }
        _ => None,
    }
}

/// What to do instead of an option that users of strace or perf expect.
fn habit(command: Option<&str>, option: &str) -> Option<&'static str> {
    Some(match (option, command) {
        ("-p" | "--pid", Some("origin")) => {
            "to ask about a process, pass its id: needless origin VAR PID"
        }
        ("-p", Some("fix" | "prove")) => "to name a process, use --pid",
        ("-p" | "--pid", _) => "to observe running processes, pass their ids: needless attach PID…",
        ("-c", _) => "calls are always counted; --all counts every call",
        ("-f" | "--follow-forks", _) => "the children of a command are always observed",
        ("-a", _) => "to observe every process: needless host",
        ("-u", _) => "to run the command as another user, use --as USER",
        ("-e", _) => "what rules need is counted; --rule and --ignore choose what is reported",
        ("-t" | "-T" | "-r" | "-y" | "-s" | "-i" | "-k", _) => {
            "calls are counted, not listed; for a log use strace, which needless read reads"
        }
        _ => return None,
    })
}

/// The environment variable that a wrong value comes from, where the option was not used.
fn variable(error: &Error, words: &[String]) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation) {
        return None;
    }
    let (option, value) =
        (text(error, ContextKind::InvalidArg)?, text(error, ContextKind::InvalidValue)?);
    let long = option.split([' ', '=']).next()?.strip_prefix("--")?;
    let given = |word: &String| {
        let name = word.strip_prefix("--").map(|word| word.split('=').next().unwrap_or(word));
        name == Some(long)
    };
    // Words after `--` belong to the command.
    if words.iter().take_while(|word| *word != "--").any(given) {
        return None;
    }
    let command = Cli::command();
    let all = std::iter::once(&command).chain(command.get_subcommands());
    let mut arguments = all.flat_map(clap::Command::get_arguments);
    arguments.find_map(|argument| {
        let name = argument.get_env().filter(|_| argument.get_long() == Some(long))?;
        let found = std::env::var_os(name)?.to_string_lossy() == value;
        found.then(|| name.to_string_lossy().into_owned())
    })
}

/// The names that are closest to a mistyped word.
pub(crate) fn nearest<'a>(word: &str, names: &[&'a str]) -> Vec<&'a str> {
    let most = (word.len() / 3).min(3);
    let near = names.iter().map(|name| (distance(word.as_bytes(), name.as_bytes()), *name));
    let near: Vec<_> = near.filter(|(far, _)| *far <= most).collect();
    let best = near.iter().map(|(far, _)| *far).min();
    near.into_iter().filter(|(far, _)| Some(*far) == best).map(|(_, name)| name).collect()
}

/// How many letters are inserted, left out, replaced or swapped with their neighbor.
fn distance(one: &[u8], other: &[u8]) -> usize {
    // Rows of the table of prefixes: the last but one, and the last.
    let (mut before, mut last): (Vec<usize>, Vec<usize>) =
        (Vec::new(), (0..=other.len()).collect());
    for (at, letter) in one.iter().enumerate() {
        let mut row = vec![at + 1];
        for (to, wanted) in other.iter().enumerate() {
            let replaced = last[to] + usize::from(letter != wanted);
            let mut best = replaced.min(last[to + 1] + 1).min(row[to] + 1);
            if at > 0 && to > 0 && *letter == other[to - 1] && one[at - 1] == *wanted {
                best = best.min(before[to - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_parser_becomes_one_line() {
        let text = "error: unexpected argument '--foo' found\n\n  tip: to pass '--foo' as a value, use '-- --foo'\n\n\
                    Usage: needless run [OPTIONS] <CMD>...\n\nFor more information, try '--help'.\n";
        assert_eq!(
            in_one_line(text),
            "unexpected argument '--foo' found; usage: needless run [OPTIONS] <CMD>..."
        );
        let missing =
            "error: the following required arguments were not provided:\n  <VAR>\n  <PID>\n";
        assert_eq!(
            in_one_line(missing),
            "the following required arguments were not provided: <VAR> <PID>"
        );
    }

    #[test]
    fn distances() {
        let distance = |one: &str, other: &str| distance(one.as_bytes(), other.as_bytes());
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("tz-unset", "tz-unset"), 0);
        assert_eq!(distance("tzunset", "tz-unset"), 1);
        assert_eq!(distance("tz-usnet", "tz-unset"), 1);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_slip_is_understood_and_another_word_is_not() {
        let names = ["tz-unset", "close-storm", "locale-alias"];
        assert_eq!(nearest("tz-unser", &names), ["tz-unset"]);
        assert_eq!(nearest("closestrom", &names), ["close-storm"]);
        assert!(nearest("banana", &names).is_empty() && nearest("", &names).is_empty());
    }
}
