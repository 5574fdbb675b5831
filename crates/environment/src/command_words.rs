//! The words of command lines.

use crate::places::shell::{self, ShellCommand};

/// Whether a program runs the script that it is given, and so may become any other.
pub(crate) fn is_interpreter(name: &str) -> bool {
    ["perl", "python", "ruby", "node", "php"].iter().any(|one| {
        name.strip_prefix(one)
            .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
    })
}

/// The words behind the options of a program; `with_word`: the letters of options whose argument is the next word.
pub(crate) fn behind_options<'a>(words: &'a [String], with_word: &str) -> &'a [String] {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') || word.contains('='))
    {
        at += 1;
        if word == "--" {
            break;
        }
        let takes = word.len() == 2 && with_word.contains(&word[1..]);
        at += usize::from(takes && !word.contains('='));
    }
    words.get(at..).unwrap_or_default()
}

/// Programs that start the command behind their options.
const STARTERS: [&str; 7] = ["exec", "nice", "nohup", "setsid", "tini", "dumb-init", "catatonit"];

/// Whether a command line sets or removes the variable for the program that it starts: then nothing set before counts.
pub(crate) fn words_decide(words: &[String], variable: &str) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    let name = program.rsplit('/').next().unwrap_or(program);
    if name == "env" {
        let is_mine = |word: &str| {
            word.strip_prefix(variable).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        };
        let own = rest
            .iter()
            .take_while(|word| word.starts_with('-') || word.contains('=') || is_mine(word));
        let removes = |word: &str| matches!(word, "-" | "-i" | "--ignore-environment");
        let decides = |word: &String| {
            let of_option = word.strip_prefix("--unset=").or_else(|| word.strip_prefix("-u"));
            removes(word) || is_mine(of_option.unwrap_or(word))
        };
        return own.clone().any(decides) || words_decide(&rest[own.count()..], variable);
    }
    if shell::NAMES.contains(&name) {
        let at = rest.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
        return at.and_then(|at| rest.get(at + 1)).is_some_and(|text| text_decides(text, variable));
    }
    STARTERS.contains(&name) && words_decide(behind_options(rest, "n"), variable)
}

/// The same of a text that a shell runs.
pub(crate) fn text_decides(text: &str, variable: &str) -> bool {
    let mut commands = shell::commands_of(text, variable, None).into_iter();
    !shell::assignments(text, variable, true).is_empty()
        || commands.any(|(_, command)| match command {
            ShellCommand::Assign(_) => true,
            ShellCommand::Becomes(words) => words_decide(&words, variable),
            ShellCommand::Source(_) => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_sets_it_itself_decides() {
        for text in [
            "env TZ=UTC prog",
            "/usr/bin/env -i prog",
            "env -u TZ prog",
            "env --unset=TZ A=1 prog",
            "sh -c 'export TZ=UTC; exec prog'",
            "TZ=UTC exec prog",
            "export TZ=UTC && prog",
            "tini -- env TZ=UTC prog",
            "exec env A=1 TZ=UTC prog",
            "unset TZ; prog",
        ] {
            assert!(text_decides(text, "TZ"), "{text}");
        }
        for text in [
            "prog TZ=UTC",
            "env A=1 prog TZ=UTC",
            "env MYTZ=1 prog",
            "TZ=UTC date; prog",
            "sh -c 'prog'",
            "",
        ] {
            assert!(!text_decides(text, "TZ"), "{text}");
        }
    }
}
