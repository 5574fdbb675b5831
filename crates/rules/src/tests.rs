//! The examples of every rule's page, run; and the form of the pages.

use crate::pages::page::SECTIONS;
use crate::{Block, CheckOptions, RULES, Rule, Verdict, check, examples, page};
use needless_model::{Change, Finding, Profile};
use needless_strace_log::notation;

mod account;
mod after;
mod facts;
mod limits;
mod locales;
mod origin;
mod prices;
mod rederived;
mod searchers;
mod services;
mod taken_out;
mod traps;
mod unprivileged;
mod views;
mod zones;

/// The profile of an example.
fn profile(trace: &str) -> Profile {
    notation::example(trace, &crate::watched_variables()).unwrap_or_else(|e| panic!("{e}\n{trace}"))
}

pub(super) fn compare(verdict: &Verdict, wanted: &str, about: &str) {
    crate::compare(verdict, wanted).unwrap_or_else(|why| panic!("{why}\nin {about}"));
}

fn run(example: &Block, rule: &Rule) {
    let profile = profile(&example.trace);
    let options = CheckOptions { pedantic: rule.pedantic, ..CheckOptions::default() };
    let verdict = check(&profile, &options);
    compare(&verdict, &example.finding, &format!("{}:\n{}", rule.name, example.trace));
    for finding in verdict.findings.iter().chain(&verdict.below) {
        reads_well(finding);
        // Calls that go with these without being counted one by one are in `besides`: a finding never
        // has more calls than were counted.
        let rows = finding.rows.iter().map(|at| profile.rows[*at].count).sum::<u64>();
        assert!(finding.needless <= rows, "{}: {} of {rows} calls", finding.rule, finding.needless);
    }
}

/// What holds of every finding, whatever it says.
fn reads_well(finding: &Finding) {
    let Finding { rule, what, why, remedies, .. } = finding;
    assert!(finding.needless <= finding.of, "{rule}: {finding:?}");
    assert!(!finding.processes.is_empty() && !remedies.is_empty(), "{rule}: {finding:?}");
    assert!(!finding.evidence.is_empty() && !finding.rows.is_empty(), "{rule}: {finding:?}");
    assert!(
        !what.is_empty() && what.len() <= 120 && !what.ends_with('.') && !what.contains('\n'),
        "{rule}: {what}"
    );
    assert!(why.ends_with('.') && !why.contains("  "), "{rule}: {why}");
    for remedy in remedies {
        let sentence = remedy.safety.sentence();
        assert!(sentence.ends_with('.') && !sentence.contains("  "), "{rule}: {sentence}");
        // `fix` takes no other from a report.
        if let Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } = &remedy.change {
            assert!(
                crate::watched_variables().find(variable.as_bytes()).is_some(),
                "{rule}: {variable}"
            );
        }
        if let Change::SetEnv { variable, value: Some(value) } = &remedy.change
            && variable == "TZ"
        {
            assert_eq!(needless_localtime::posix_tz(value), None, "{rule} advises {value}");
        }
    }
}

#[test]
fn every_example_of_every_page() {
    for rule in RULES {
        for example in page(rule).sections.iter().flat_map(|s| examples(&s.text).unwrap()) {
            run(&example, rule);
        }
    }
}

#[test]
fn every_page_has_its_sections_and_both_kinds_of_example() {
    for rule in RULES {
        let page = page(rule);
        let titles: Vec<&str> = page.sections.iter().map(|s| s.title.as_str()).collect();
        // The proof comes last in the making of a rule; `xtask` demands it of every case.
        let proven =
            |title: &&str| *title != "Proof" || crate::pages::measured::proof(rule.name).is_some();
        let sections: Vec<&str> = SECTIONS.into_iter().filter(proven).collect();
        assert_eq!(titles, sections, "{}", rule.name);
        for section in &page.sections {
            assert!(section.text.len() > 10, "{}: {} says nothing", rule.name, section.title);
        }
        let found = examples(page.section("Example")).unwrap();
        assert!(!found.is_empty(), "{}: no example of a finding", rule.name);
        for example in &found {
            let named = example.finding.lines().any(|l| l.starts_with(&format!("{}: ", rule.name)));
            assert!(named, "{}: an example that is not of this rule", rule.name);
        }
        for example in examples(page.section("Not a finding")).unwrap() {
            let named = example.finding.contains(&format!("{}: ", rule.name));
            assert!(!named, "{}: a counterexample that is found", rule.name);
        }
    }
}

#[test]
fn names_are_names_and_the_general_rule_comes_last() {
    let mut names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(names.last(), Some(&"repeated-question"));
    for rule in RULES {
        let legal = rule.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        assert!(legal && rule.name.contains('-'), "{}", rule.name);
        assert!(rule.summary.len() <= 100 && !rule.summary.ends_with('.'), "{}", rule.summary);
        assert_eq!(crate::by_name(rule.name).map(|r| r.name), Some(rule.name));
        assert!(page(rule).markdown().starts_with(&format!("# {}\n\n", rule.name)));
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), RULES.len());
    assert_eq!(crate::by_name("no-such-rule").map(|r| r.name), None);
    assert!(crate::watched_variables().iter().is_sorted());
}
