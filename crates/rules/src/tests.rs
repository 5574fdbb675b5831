//! The examples of every rule's page, run; and the form of the pages.

use crate::page::SECTIONS;
use crate::{Options, RULES, Rule, Verdict, check, notation, page};
use needless_model::{Change, Finding};

mod locales;
mod services;
mod traps;

/// A `trace` block of a page and the `finding` block after it.
struct Example {
    trace: String,
    finding: String,
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples = Vec::new();
    let mut trace: Option<String> = None;
    let mut blocks = text.split("```");
    blocks.next();
    while let Some(block) = blocks.next() {
        let (kind, body) = block.split_once('\n').unwrap_or((block, ""));
        match kind {
            "trace" => {
                assert!(trace.is_none(), "a trace block without a finding block:\n{body}");
                trace = Some(body.to_owned());
            }
            "finding" => {
                let trace = trace.take().expect("a finding block without a trace block");
                examples.push(Example { trace, finding: body.to_owned() });
            }
            _ => {}
        }
        blocks.next().expect("a block that ends");
    }
    assert!(trace.is_none(), "a trace block without a finding block");
    examples
}

/// A finding as a finding block writes it: `RULE: N of M`, then optionally `stage WORD`,
/// `set VARIABLE[=VALUE]`, `unset VARIABLE`, `manual` (no other remedy), `below` (the threshold).
/// `demand` says which of these are wanted.
fn told(finding: &Finding, below: bool, demand: &[&str]) -> String {
    let mut out = format!("{}: {} of {}\n", finding.rule, finding.needless, finding.of);
    for line in demand {
        let kind = line.split_whitespace().next().unwrap_or("");
        let said = match kind {
            "stage" => Some(format!("stage {}", finding.stage.word())),
            "below" => below.then(|| "below".to_owned()),
            "manual" => finding
                .remedies
                .iter()
                .all(|r| matches!(r.change, Change::Manual(_)))
                .then(|| "manual".to_owned()),
            "set" | "unset" => finding
                .remedies
                .iter()
                .map(|r| match &r.change {
                    Change::SetEnv { variable, value: Some(value) } => {
                        format!("set {variable}={value}")
                    }
                    Change::SetEnv { variable, value: None } => format!("set {variable}"),
                    Change::UnsetEnv { variable } => format!("unset {variable}"),
                    other => other.kind().to_owned(),
                })
                .find(|said| said.starts_with(&format!("{kind} "))),
            other => panic!("a finding block does not know {other:?}"),
        };
        out.push_str(&said.unwrap_or_else(|| format!("no {kind}")));
        out.push('\n');
    }
    out
}

/// Holds a verdict against the text of a finding block. Every finding must be named, and nothing
/// else; findings below the threshold only if the block says so.
pub(super) fn compare(verdict: &Verdict, wanted: &str, about: &str) {
    let lines: Vec<&str> = wanted.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in lines.iter().filter(|line| **line != "nothing") {
        match line.contains(": ") {
            true => blocks.push(vec![line]),
            false => blocks.last_mut().expect("`RULE: N of M` first").push(line),
        }
    }
    let with_below = blocks.iter().any(|block| block.contains(&"below"));
    let shown = verdict.findings.iter().map(|f| (f, false));
    let below = verdict.below.iter().filter(|_| with_below).map(|f| (f, true));
    let mut said: Vec<String> = shown
        .chain(below)
        .map(|(finding, below)| {
            let start = format!("{}: {} of {}", finding.rule, finding.needless, finding.of);
            let demand = blocks.iter().find(|block| block[0] == start);
            told(finding, below, demand.map_or(&[], |block| &block[1..]))
        })
        .collect();
    let mut want: Vec<String> = blocks.iter().map(|block| block.join("\n") + "\n").collect();
    said.sort();
    want.sort();
    assert_eq!(said.concat(), want.concat(), "left: found, right: wanted, in {about}");
}

fn run(example: &Example, rule: &Rule) {
    let profile = notation::profile(&example.trace);
    let options = Options { pedantic: rule.pedantic, ..Options::default() };
    let verdict = check(&profile, &options);
    compare(&verdict, &example.finding, &format!("{}:\n{}", rule.name, example.trace));
    for finding in verdict.findings.iter().chain(&verdict.below) {
        reads_well(finding);
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
        if let Change::SetEnv { variable, value: Some(value) } = &remedy.change
            && variable == "TZ"
        {
            assert_eq!(crate::posix_tz::posix_tz(value), None, "{rule} advises {value}");
        }
    }
}

#[test]
fn every_example_of_every_page() {
    for rule in RULES {
        for example in page(rule).sections.iter().flat_map(|s| examples(&s.text)) {
            run(&example, rule);
        }
    }
}

#[test]
fn every_page_has_its_sections_and_both_kinds_of_example() {
    for rule in RULES {
        let page = page(rule);
        let titles: Vec<&str> = page.sections.iter().map(|s| s.title.as_str()).collect();
        assert_eq!(titles, SECTIONS, "{}", rule.name);
        for section in &page.sections {
            assert!(section.text.len() > 10, "{}: {} says nothing", rule.name, section.title);
        }
        let found = examples(page.section("Example"));
        assert!(!found.is_empty(), "{}: no example of a finding", rule.name);
        for example in &found {
            let named = example.finding.lines().any(|l| l.starts_with(&format!("{}: ", rule.name)));
            assert!(named, "{}: an example that is not of this rule", rule.name);
        }
        for example in examples(page.section("Not a finding")) {
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
    assert!(crate::watched_variables().is_sorted());
}
