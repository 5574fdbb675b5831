//! What a profile does not know makes a rule find less: then it says so.

use super::profile;
use crate::{CheckOptions, RULES, check, examples, page};
use needless_model::{Env, Fact, Profile, Target};

/// The profile as a backend would fill it that does not know this fact.
fn without(fact: Fact, profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    profile.facts = profile.facts.without(fact);
    match fact {
        Fact::Paths => {
            for row in profile.rows.iter_mut().filter(|row| row.target.text().is_some()) {
                row.target = Target::None;
            }
        }
        Fact::Outcomes => {
            for row in &mut profile.rows {
                row.outcome = None;
            }
        }
        Fact::Environment => {
            for process in &mut profile.processes {
                process.env = Env::Unknown;
            }
        }
        Fact::Details => {
            let detail = |target| matches!(target, Target::ArgClass(_));
            for row in profile.rows.iter_mut().filter(|row| detail(row.target)) {
                row.target = Target::None;
            }
        }
        Fact::Clock => {
            for row in &mut profile.rows {
                (row.first_ns, row.last_ns) = (0, 0);
            }
        }
        Fact::KernelTime => {
            for row in &mut profile.rows {
                (row.kernel_ns, row.timed) = (0, 0);
            }
        }
        Fact::CallSites => {
            for row in &mut profile.rows {
                row.sites.clear();
            }
        }
        Fact::HostZone => profile.host.zone = None,
        Fact::HostLocales => profile.host.locales.clear(),
        // Distinguished by the fact alone.
        Fact::AllCalls | Fact::Answers => {}
    }
    profile
}

#[test]
fn a_rule_that_lacks_something_finds_the_same_or_is_named() {
    let mut silent = Vec::new();
    for rule in RULES {
        let options =
            CheckOptions { pedantic: true, min_saving_percent: 0.0, ..CheckOptions::default() };
        let page = page(rule);
        for example in examples(page.section("Example")).unwrap() {
            let whole = profile(&example.trace);
            let calls = |profile: &Profile| -> u64 {
                let found = check(profile, &options).findings;
                found.iter().filter(|f| f.rule == rule.name).map(|f| f.needless.max(1)).sum()
            };
            assert!(calls(&whole) > 0, "{}: {}", rule.name, example.trace);
            for fact in Fact::ALL {
                let part = without(fact, &whole);
                let named = check(&part, &options).not_checked.iter().any(|n| n.rule == rule.name);
                if calls(&part) == 0 && !named {
                    silent.push(format!("{} without {fact:?}", rule.name));
                }
            }
        }
    }
    silent.dedup();
    assert!(silent.is_empty(), "{silent:#?}");
}
