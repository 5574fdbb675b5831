//! The configuration file `needless.toml`: a user's own rules, suppressions, and budgets.
//!
//! ```toml
//! [[rule]]
//! name = "git-home-config"
//! calls = "access"
//! path = "/**/.gitconfig"
//! outcome = "missing"
//! …
//!
//! [[ignore]]
//! rule = "tz-unset"
//! program = "backup"
//! reason = "started once a night"
//! until = 2027-06-30
//! ```
//!
//! A file is read whole or refused: with the line and column of what is wrong, and what to do.

mod budget;
mod error;
mod file;
mod find;
mod ignore;
mod rule;
mod test;

pub use budget::{RUNS, is_budget_name, with_budget};
pub use error::ConfigError;
pub use find::{ConfigFiles, find};
pub use test::{FailedExample, test};

use needless_model::{RuleName, WatchList, quote};
use needless_rules::{Budget, Counted, Declared, Ignore, UNUSED_IGNORE};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The manual page of needless.toml, for man(1).
pub const MANUAL: &str = include_str!("../needless.toml.5");

/// What the files declare.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Rules, in the order in which they were declared.
    pub rules: Vec<Declared>,
    /// Suppressions.
    pub ignores: Vec<Ignore>,
    /// Budgets of commands.
    pub budgets: Vec<Budget>,
}

/// Reads files and folders of files, one after the other: what they say counts together.
///
/// # Errors
/// When one cannot be read or is wrong: in one line.
pub fn read<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<Config, ConfigError> {
    let mut config = Config::default();
    let files = paths.into_iter().map(find::named).collect::<Result<Vec<_>, _>>()?;
    for path in files.into_iter().flatten() {
        let name = path.display().to_string();
        let text = std::fs::read(&path)
            .map_err(|why| ConfigError::of_file(&name, format!("cannot be read: {why}")))?;
        let text = String::from_utf8(text)
            .map_err(|_| ConfigError::of_file(&name, "it is not UTF-8, as TOML has to be"))?;
        parse(&text, &name, &mut config)?;
    }
    config.check()?;
    Ok(config)
}

/// Adds what a file says to `config`. `name` is what errors call it.
///
/// # Errors
/// When it is wrong.
pub fn parse(text: &str, name: &str, config: &mut Config) -> Result<(), ConfigError> {
    let text = file::Text::new(text, name);
    let file = file::read(&text)?;
    let mut known: HashMap<RuleName, String> =
        config.rules.iter().map(|rule| (rule.name.clone(), rule.place.clone())).collect();
    for rule in file.rule {
        let declared = rule::declared(rule, &text, &known)?;
        known.insert(declared.name.clone(), declared.place.clone());
        config.rules.push(declared);
    }
    let ignores = file.ignore.into_iter().map(|one| ignore::ignore(one, &text));
    config.ignores.extend(ignores.collect::<Result<Vec<_>, _>>()?);
    for (name, budget) in file.budget {
        let budget = budget::budget(name, budget, &text)?;
        if let Some(other) = config.budgets.iter().find(|other| other.name == budget.name) {
            let what = format!("budget {} is in {} already", budget.name, other.file);
            return Err(ConfigError::at(&format!("{}:{}", budget.file, budget.line), what));
        }
        config.budgets.push(budget);
    }
    Ok(())
}

fn is_built_in(rule: &str) -> bool {
    rule == UNUSED_IGNORE || needless_rules::by_name(rule).is_some()
}

impl Config {
    /// Whether a rule of this name is built in or declared.
    pub fn knows(&self, rule: &str) -> bool {
        let declared = self.rules.iter().any(|own| own.name == rule);
        declared || is_built_in(rule)
    }

    /// Checks that each suppression names an existing rule, which may be declared in another file.
    ///
    /// # Errors
    /// If one does not.
    fn check(&self) -> Result<(), ConfigError> {
        let declared: HashSet<&str> = self.rules.iter().map(|rule| &*rule.name).collect();
        let known = |rule: &str| declared.contains(rule) || is_built_in(rule);
        match self.ignores.iter().find(|ignore| !known(&ignore.rule)) {
            None => Ok(()),
            Some(ignore) => Err(ConfigError::at(
                &ignore.place,
                format!("there is no rule {}: `needless explain` lists them", quote(&ignore.rule)),
            )),
        }?;
        self.check_budgets(self)
    }

    /// Checks that each budget names existing rules, of this configuration or the other.
    ///
    /// # Errors
    /// If one does not.
    pub fn check_budgets(&self, other: &Config) -> Result<(), ConfigError> {
        for budget in &self.budgets {
            for (counted, limit) in &budget.limits {
                let Counted::Rule(rule) = counted else { continue };
                if !self.knows(rule) && !other.knows(rule) {
                    let place = format!("{}:{}", budget.file, limit.line);
                    let rule = quote(rule);
                    let what = format!("there is no rule {rule}: `needless explain` lists them");
                    return Err(ConfigError::at(&place, what));
                }
            }
        }
        Ok(())
    }

    /// The variables that the rules read, the built-in ones and these.
    pub fn watched(&self) -> WatchList {
        let own = self.rules.iter().flat_map(|rule| rule.env.iter().map(|(name, _)| &**name));
        let built_in = needless_rules::watched_variables();
        built_in.iter().chain(own).collect::<BTreeSet<&str>>().into_iter().collect()
    }
}
