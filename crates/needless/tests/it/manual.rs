//! The manual pages.

use crate::common::*;
use std::process::Stdio;

fn page(name: &str) -> String {
    let done = needless(&["man", name]);
    assert!(done.status.success() && done.stderr.is_empty(), "{name}: {}", stderr(&done));
    stdout(&done)
}

fn pages() -> Vec<String> {
    stdout(&needless(&["man"])).lines().map(str::to_owned).collect()
}

/// A page as man(1) shows it in a locale, wide enough that no line is broken, and what man says of it.
fn shown(name: &str, locale: &str, folder: &std::path::Path) -> (String, String) {
    let file = folder.join(name);
    std::fs::write(&file, page(name)).unwrap();
    let done = command("man")
        .env("LC_ALL", locale)
        .env("MANWIDTH", "1000")
        .args(["--warnings", "-P", "cat", "-l"])
        .arg(&file)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (stdout(&done), stderr(&done))
}

#[test]
fn each_command_and_the_configuration_have_a_page() {
    let help = stdout(&needless(&["--help"]));
    // A command is a line of its group.
    let (commands, _) = help.split_once("\nOptions:").unwrap();
    let commands = commands.lines().filter_map(|line| line.strip_prefix("  "));
    let names = commands.filter_map(|line| line.split_whitespace().next());
    let mut wanted: Vec<String> = names.map(|name| format!("needless-{name}.1")).collect();
    assert!(wanted.len() > 15, "{help}");
    wanted.extend(["needless.1".into(), "needless.toml.5".into()]);
    let mut pages = pages();
    wanted.sort();
    pages.sort();
    assert_eq!(pages, wanted);
}

#[test]
fn a_page_has_what_the_help_has_and_man_shows_it_without_a_warning() {
    let Some(_) = program("man") else { return };
    let folder = tempfile::tempdir().unwrap();
    for name in pages() {
        let (text, warnings) = shown(&name, "C.UTF-8", folder.path());
        assert_eq!(warnings, "", "{name}");
        let (_, warnings) = shown(&name, "C", folder.path());
        assert_eq!(warnings, "", "{name} in ASCII");
        assert!(text.contains("NAME") && text.contains("SEE ALSO"), "{name}: {text}");
        let Some(of) = name.strip_prefix("needless-").and_then(|rest| rest.strip_suffix(".1"))
        else {
            continue;
        };
        let help = stdout(&needless(&[of, "--help"]));
        let words = help.split_whitespace().filter(|word| word.starts_with("--"));
        for option in words.map(|word| word.trim_end_matches([',', '.', ':', ';', ')', '`'])) {
            assert!(text.contains(option), "{name} lacks {option}: {text}");
        }
        // Examples keep their lines.
        let Some((_, examples)) = help.split_once("\nExamples") else { continue };
        for line in examples.lines().skip(1).map(str::trim) {
            assert!(
                text.lines().any(|shown| shown.trim() == line),
                "{name} lacks {line:?}: {text}"
            );
        }
    }
}

#[test]
fn the_first_page_has_statuses_variables_and_files() {
    let Some(_) = program("man") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (text, _) = shown("needless.1", "C", folder.path());
    let at = |heading: &str| {
        text.lines().position(|line| line == heading).unwrap_or_else(|| panic!("{heading}: {text}"))
    };
    assert!(at("EXIT STATUS") < at("ENVIRONMENT") && at("ENVIRONMENT") < at("FILES"));
    for line in [
        "Stands for --backend of run, prove, check.",
        "Stands for --color of all commands.",
        "Stands for --format of run, attach, host, read.",
    ] {
        assert!(text.lines().any(|shown| shown.trim() == line), "{line}: {text}");
    }
    for name in ["needless-fix.1", "needless-undo.1"] {
        assert!(page(name).contains("/var/lib/needless"), "{name}");
    }
}

#[test]
fn a_page_has_no_character_that_a_locale_may_lack() {
    for name in pages() {
        let page = page(&name);
        assert!(page.is_ascii(), "{name}: {page}");
        assert!(!page.contains("see a summary with"), "{name}: {page}");
    }
}

#[test]
fn a_page_that_does_not_exist_is_refused_in_one_line() {
    let done = needless(&["man", "needless-nothing.1"]);
    assert_eq!(done.status.code(), Some(2));
    let said = stderr(&done);
    assert!(
        said.starts_with("needless: needless-nothing.1: ") && said.lines().count() == 1,
        "{said}"
    );
}
