//! The list of rules for other tools.

use crate::Style;
use crate::document::NeededFact;
use crate::json::print;
use needless_rules::{Declared, RULES};
use serde::Serialize;
use std::io::{self, Write};

/// The list of rules.
#[derive(Serialize)]
struct RulesDocument<'a> {
    /// Name and version of this format.
    schema: &'static str,
    rules: Vec<RulesEntry<'a>>,
}

/// A rule.
#[derive(Serialize)]
struct RulesEntry<'a> {
    name: &'a str,
    /// What it finds.
    summary: &'a str,
    /// The facts that it needs, as in the field `not_checked` of a report.
    needs: Vec<NeededFact>,
    /// The environment variables that it reads.
    variables: Vec<&'a str>,
    /// The place where a user declared it.
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<&'a str>,
}

pub(crate) fn write(out: &mut dyn Write, declared: &[Declared], _: Style) -> io::Result<()> {
    let own = declared.iter().map(|rule| RulesEntry {
        name: &rule.name,
        summary: &rule.message,
        needs: rule.needs().into_iter().map(NeededFact::from).collect(),
        variables: rule.env.iter().map(|(name, _)| &**name).collect(),
        declared: Some(&rule.place),
    });
    let built_in = RULES.iter().map(|rule| RulesEntry {
        name: rule.name,
        summary: rule.summary,
        needs: rule.needs.iter().map(|fact| (*fact).into()).collect(),
        variables: rule.variables.to_vec(),
        declared: None,
    });
    let rules = own.chain(built_in).collect();
    print(out, &RulesDocument { schema: "needless.rules/1", rules })
}
