//! What the scripts have to know, and what they know.

use super::*;
use needless_report::{CheckFormat, OriginFormat, ProofFormat, ReportFormat, RulesFormat};

/// The names in a message that ends with them.
fn listed(message: &str) -> Vec<String> {
    let (_, names) = message.split_once("there are ").unwrap();
    names.replace(" and ", ", ").split(", ").map(str::to_owned).collect()
}

#[test]
fn the_formats_are_those_of_the_parsers() {
    let report = listed(&"?".parse::<ReportFormat>().unwrap_err());
    let check = listed(&"?".parse::<CheckFormat>().unwrap_err());
    assert_eq!(formats("run"), report);
    assert_eq!(formats("check"), check);
    assert_eq!(formats("prove"), listed(&"?".parse::<ProofFormat>().unwrap_err()));
    assert_eq!(formats("explain"), listed(&"?".parse::<RulesFormat>().unwrap_err()));
    // Each format of a document that can be shown again; a profile of a report cannot.
    let mut shown: Vec<String> = report;
    shown.extend(check);
    shown.extend(listed(&"?".parse::<OriginFormat>().unwrap_err()));
    shown.retain(|name| name != "profile");
    shown.sort();
    shown.dedup();
    let mut formats = formats("show");
    formats.sort_unstable();
    assert_eq!(formats, shown);
}

#[test]
fn commands_that_needless_runs_are_known() {
    let mut command = with_values(Cli::command());
    command.build();
    let runs = Runs::of(&command);
    assert_eq!(runs.free, ["run", "preload", "check"]);
    assert_eq!(runs.all, ["run", "preload", "origin", "prove", "check"]);
    for option in ["-o", "--output", "--color", "--as", "--set"] {
        assert!(runs.with_value.iter().any(|one| one == option), "{option}");
    }
    // An option with a value in one of them has one in all of them.
    let all =
        command.get_subcommands().filter(|one| runs.all.iter().any(|all| all == one.get_name()));
    for flag in all.flat_map(Command::get_arguments).filter(|arg| !arg.get_action().takes_values())
    {
        for word in spellings(flag) {
            assert!(!runs.with_value.contains(&word), "{word}");
        }
    }
}

#[test]
fn the_script_for_zsh_has_what_is_added() {
    let script = completions(&CompletionsArgs { shell: CompletedShell::Zsh });
    assert!(String::from_utf8(script).unwrap().contains("local dashes="));
}
