//! The options of `completions`, and the scripts.

use super::Cli;
use clap::{Args, CommandFactory, ValueEnum};
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
    generate(shell, &mut Cli::command(), "needless", &mut script);
    script
}
