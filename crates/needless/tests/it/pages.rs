//! `explain`, `doctor`: what needless knows without running anything.

use crate::common::*;
use serde_json::Value;

fn rule_names() -> Vec<String> {
    let done = needless(&["explain", "--format", "json"]);
    assert!(done.status.success() && done.stderr.is_empty());
    let list: Value = serde_json::from_slice(&done.stdout).unwrap();
    let rules = list["rules"].as_array().or(list.as_array()).unwrap();
    rules.iter().map(|rule| rule["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rules_lists_every_rule_in_both_formats() {
    let mut names = rule_names();
    let built: Vec<&str> = needless_rules::RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names, built);
    let table = stdout(&needless(&["explain"]));
    names.retain(|name| !table.lines().any(|line| line.split(' ').next() == Some(name)));
    assert_eq!(names, Vec::<String>::new(), "not in the table");
}

/// The sentence, and the table of families: "tz-unset and 6 more".
#[test]
fn the_readme_counts_the_rules() {
    let readme = std::fs::read_to_string("../../README.md").unwrap();
    let all = rule_names().len();
    assert!(readme.contains(&format!("`needless explain` lists all {all}.")), "{all}");
    let more = |line: &str| line.strip_suffix(" more |")?.rsplit_once(" and ")?.1.parse().ok();
    let by_family: usize = readme.lines().filter_map(more).map(|more: usize| 1 + more).sum();
    // No family has repeated-question.
    assert_eq!(by_family + 1, all);
}

#[test]
fn explain_prints_one_page_or_all() {
    let all = needless(&["explain", "--all"]);
    assert!(all.status.success() && all.stderr.is_empty());
    let all = stdout(&all);
    for name in rule_names() {
        let page = needless(&["explain", &name]);
        assert!(page.status.success());
        let page = stdout(&page);
        assert!(page.contains(&name) && all.contains(&page), "{name}");
        for section in
            ["What it finds", "Why it happens", "Example", "Not a finding", "Fix", "References"]
        {
            assert!(page.contains(section), "{name} lacks {section}");
        }
    }
}

#[test]
fn explain_says_where_the_rules_are_listed() {
    let done = needless(&["explain", "tz-unse"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(stderr(&done).contains("tz-unse") && stderr(&done).contains("needless explain"));
    assert!(done.stdout.is_empty());
    for args in [&["explain", "--test", "tz-unset"][..], &["explain", "--all", "tz-unset"]] {
        assert_eq!(needless(args).status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn doctor_reports_what_can_be_observed_here() {
    let done = needless(&["doctor"]);
    assert!(done.stderr.is_empty(), "{}", stderr(&done));
    for check in ["kernel", "ptrace", "yama", "zone", "locale"] {
        assert!(stdout(&done).contains(check), "{check}: {}", stdout(&done));
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for args in [&["--help"][..], &["run", "--help"], &["read", "--help"], &["--version"]] {
        let done = needless(args);
        assert!(done.status.success() && done.stderr.is_empty(), "{args:?}");
        assert!(stdout(&done).contains("needless"), "{args:?}");
    }
}

/// The answer to a newcomer's mistake says what to type.
#[test]
fn mistakes_are_answered_with_what_was_meant() {
    for (words, says, never) in [
        (&["ls", "-l"][..], "needless run -- CMD", "subject"),
        (&["explain", "TZ_UNSET"], "perhaps tz-unset", ""),
        (&["run", "--ignore", "locale", "true"], "locale-alias, ", "tz-unset"),
        (&["explain", "nothing-like-it"], "`needless explain` lists them", "perhaps"),
        (&["explain", "--format", "concise"], "there are full and json", "profile"),
        (&["attach"], "--container CONTAINER", ""),
        (&["fix", "--diff", "--set", "TZ=UTC", "--in", "/etc/passwd"], "the page Places", "origin"),
        (&["origin", "TZ"], "-- CMD", ""),
    ] {
        let done = needless(words);
        assert_eq!(done.status.code(), Some(2), "{words:?}");
        let said = stderr(&done);
        assert!(said.contains(says), "{words:?}: {said}");
        assert!(never.is_empty() || !said.contains(never), "{words:?}: {said}");
    }
    // Without arguments the help is printed.
    assert!(stderr(&needless(&[])).contains("Usage: needless"));
}
