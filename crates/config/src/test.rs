//! The examples of rules, run.

use crate::Config;
use needless_rules::{CheckOptions, check, compare};

/// An example that does not give what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where the example stands ("needless.toml:20").
    pub place: String,
    /// The rule.
    pub rule: &'static str,
    /// How it differs, in one line.
    pub why: String,
}

/// Runs every example of every rule; gives how many there were, and those that failed. All rules are
/// asked of each, built-in ones too, as they are of a program.
///
/// The rules are kept for the rest of the run.
pub fn test(config: &Config) -> (usize, Vec<Failure>) {
    let watch = config.watched();
    let options =
        CheckOptions { declared: Vec::leak(config.rules.clone()), ..CheckOptions::default() };
    let (mut count, mut failures) = (0, Vec::new());
    for rule in options.declared {
        for example in &rule.examples {
            count += 1;
            let profile = needless_strace_log::notation::example(&example.trace, watch);
            let done =
                profile.and_then(|profile| compare(&check(&profile, &options), &example.finding));
            if let Err(why) = done {
                let place = example.place.clone();
                failures.push(Failure { place, rule: rule.name, why });
            }
        }
    }
    (count, failures)
}
