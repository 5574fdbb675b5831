//! The commands in the order of `needless --help`, in groups.

use super::Action;
use clap::{Command, Subcommand};
use std::fmt::Write as _;

/// What each group is called, and its commands.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Observe", &["run", "attach", "host", "top", "read", "show"]),
    ("Explain and fix", &["explain", "origin", "fix", "undo", "prove"]),
    ("CI", &["check", "diff"]),
    ("Fleet", &["agent", "ship"]),
    ("Setup", &["doctor", "preload", "completions", "man"]),
];

/// The help of needless: as the parser writes it, which knows no groups of commands.
pub(super) fn template() -> String {
    let actions = Action::augment_subcommands(Command::new("needless"));
    let widest = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max();
    let mut help = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        let _ = writeln!(help, "\n{group}:");
        for name in names {
            let about = actions.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(help, "  {name:<0$}  {about}", widest.unwrap_or_default());
        }
    }
    help + "\nOptions:\n{options}{after-help}"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_group_and_fits_into_a_line() {
        let actions = Action::augment_subcommands(Command::new("needless"));
        let mut commands: Vec<&str> = actions.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        commands.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, commands);
        for line in template().lines().filter(|line| line.starts_with("  ")) {
            assert!(line.chars().count() <= 80 && !line.ends_with("  "), "{line}");
        }
    }
}
