//! The table of cases, as data.

use super::*;

#[test]
fn each_rule_has_a_case_or_a_reason() {
    for rule in RULES {
        let cases = CASES.iter().any(|case| any(case.rule, rule.name));
        let reasons: Vec<_> = WITHOUT.iter().filter(|(name, _)| *name == rule.name).collect();
        let reasoned = matches!(reasons[..], [(_, reason)] if reason.len() > 20);
        assert!(cases != reasoned, "{}: one case at least, or one reason", rule.name);
    }
}

#[test]
fn the_table_names_rules_that_exist() {
    let words = CASES.iter().flat_map(|case| case.rule.split(' ').chain(case.beside.split(' ')));
    let words = words.filter(|word| !word.is_empty());
    for name in words.chain(WITHOUT.iter().map(|(name, _)| *name)) {
        assert!(needless_rules::by_name(name).is_some(), "{name}");
    }
}

/// The pages describe what the cases do: a case that changes must be measured again.
#[test]
fn each_case_is_in_the_table_of_proofs() {
    let rows = needless_rules::measured();
    let rows = |case: &Case| {
        rows.iter().any(|row| {
            (&*row.rule, &row.program, &row.fixed) == (case.name(), &case.program(), &case.fixed())
        })
    };
    for case in CASES {
        assert!(rows(case), "{}: cargo xtask cases --write, then gen", case.program());
        // The pages show nothing of the notation of cases.
        let words = [case.program(), case.fixed()].concat();
        assert!(!["@", "ARM", "TWENTY"].iter().any(|mark| words.contains(mark)), "{words}");
    }
    assert_eq!(needless_rules::measured().len(), CASES.len());
}

#[test]
fn pedantic_rules_are_asked_for() {
    for case in CASES {
        let rule = needless_rules::by_name(case.name());
        assert!(rule.is_some_and(|rule| rule.pedantic == case.pedantic), "{}", case.rule);
    }
}

#[test]
fn shellcheck_accepts_the_scripts() {
    let Some(shellcheck) = needless_fixtures::program("shellcheck") else { return };
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cases/scripts");
    let files = std::fs::read_dir(scripts).unwrap().map(|entry| entry.unwrap().path());
    let done = std::process::Command::new(shellcheck).args(files).output().unwrap();
    assert!(done.status.success(), "{}", needless_fixtures::stdout(&done));
}

#[test]
fn healthy_programs_are_many_and_different() {
    let mut lines: Vec<&str> = all_healthy().map(|healthy| healthy.command).collect();
    let all = lines.len();
    lines.sort_unstable();
    lines.dedup();
    assert!(lines.len() == all && all >= 25, "{all}");
}
