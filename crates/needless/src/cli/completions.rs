//! The options of `completions`, and the scripts.

use super::Cli;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, Args, Command, CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};

#[derive(Args)]
pub(crate) struct CompletionsArgs {
    /// The shell that reads the script.
    #[arg(value_name = "SHELL")]
    shell: CompletedShell,
}

/// The shells in which the scripts are tested.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompletedShell {
    Bash,
    Zsh,
    Fish,
}

/// The script for a shell.
pub(crate) fn completions(args: &CompletionsArgs) -> Vec<u8> {
    let shell = match args.shell {
        CompletedShell::Bash => Shell::Bash,
        CompletedShell::Zsh => Shell::Zsh,
        CompletedShell::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    let mut command = with_rules(Cli::command());
    generate(shell, &mut command, "needless", &mut script);
    if shell == Shell::Fish {
        script.extend(fish_arguments(&command).into_bytes());
    }
    script
}

/// What clap_complete leaves out for fish: values of arguments that are no options.
fn fish_arguments(command: &Command) -> String {
    let mut lines = String::new();
    for one in command.get_subcommands() {
        let values = one.get_positionals().flat_map(Arg::get_possible_values);
        let names: Vec<String> = values.map(|value| value.get_name().to_owned()).collect();
        if !names.is_empty() {
            let (of, names) = (one.get_name(), names.join(" "));
            let when = format!("__fish_needless_using_subcommand {of}");
            lines += &format!("complete -c needless -n \"{when}\" -f -a \"{names}\"\n");
        }
    }
    lines
}

/// The command line with the names of the built-in rules wherever it takes one. To the parser itself a rule may also be
/// one that needless.toml declares.
fn with_rules(command: Command) -> Command {
    let takes_rule = |arg: &Arg| {
        arg.get_value_names().is_some_and(|names| names.iter().any(|name| *name == "RULE"))
    };
    let rules = needless_rules::RULES.iter();
    let rules: Vec<PossibleValue> =
        rules.map(|rule| PossibleValue::new(rule.name).help(rule.summary)).collect();
    let named = |arg: Arg| match takes_rule(&arg) {
        true => arg.value_parser(PossibleValuesParser::new(rules.clone())),
        false => arg,
    };
    command.mut_subcommands(|one| one.mut_args(&named))
}
