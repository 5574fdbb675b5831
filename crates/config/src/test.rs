//! The examples of rules, run.

use crate::Config;
use needless_model::RuleName;
use needless_rules::{CheckOptions, check, compare};

/// An example that does not give what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedExample {
    /// Where the example stands ("needless.toml:20").
    pub place: String,
    /// The rule.
    pub rule: RuleName,
    /// How it differs, in one line.
    pub why: String,
}

/// Runs every example of every rule; gives how many there were, and those that failed. All rules are
/// asked of each, built-in ones too, as they are of a program.
pub fn test(config: &Config) -> (usize, Vec<FailedExample>) {
    let watch = config.watched();
    let options = CheckOptions { declared: config.rules.clone().into(), ..CheckOptions::default() };
    let (mut count, mut failures) = (0, Vec::new());
    for rule in options.declared.iter() {
        for example in &rule.examples {
            count += 1;
            let profile = needless_strace_log::notation::example(&example.trace, &watch)
                .map_err(|error| error.to_string());
            let done =
                profile.and_then(|profile| compare(&check(&profile, &options), &example.finding));
            if let Err(why) = done {
                let place = example.place.clone();
                failures.push(FailedExample { place, rule: rule.name.clone(), why });
            }
        }
    }
    (count, failures)
}
