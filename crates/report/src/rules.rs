//! The rules told: their list, their pages.

use crate::Style;
use crate::json::{Need, print};
use crate::text::{Tint, wrap};
use needless_rules::{RULES, Rule};
use serde::Serialize;
use std::io::{self, Write};

/// Writes every rule's name and what it finds, in the order they are checked.
///
/// # Errors
/// When `out` cannot be written to.
pub fn rules_table(out: &mut dyn Write, style: Style) -> io::Result<()> {
    let names = RULES.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let indent = names + 2;
    for rule in RULES {
        let mut name = rule.name;
        for line in wrap(rule.summary, style.width.saturating_sub(indent).max(20)) {
            let blanks = " ".repeat(indent - name.len());
            writeln!(out, "{}{blanks}{line}", style.paint(Tint::Name, name))?;
            name = "";
        }
    }
    Ok(())
}

/// Writes the rules as JSON: `schema` is "needless.rules/1", `rules` holds for each its `name`,
/// `summary`, the facts it `needs` (as in a report's `not_checked`) and the environment
/// `variables` it reads.
///
/// # Errors
/// When `out` cannot be written to.
pub fn rules_json(out: &mut dyn Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document {
        schema: &'static str,
        rules: Vec<Entry>,
    }
    #[derive(Serialize)]
    struct Entry {
        name: &'static str,
        summary: &'static str,
        needs: Vec<Need>,
        variables: &'static [&'static str],
    }
    let rules = RULES.iter().map(|rule| Entry {
        name: rule.name,
        summary: rule.summary,
        needs: rule.needs.iter().map(|fact| Need::from(*fact)).collect(),
        variables: rule.variables,
    });
    print(out, &Document { schema: "needless.rules/1", rules: rules.collect() })
}

/// Writes the page of `rule`, which is Markdown, with its headings in bold.
///
/// # Errors
/// When `out` cannot be written to.
pub fn explain(out: &mut dyn Write, rule: &Rule, style: Style) -> io::Result<()> {
    let mut code = false;
    for line in needless_rules::page(rule).markdown().trim_end().lines() {
        code ^= line.trim_start().starts_with("```");
        match line.starts_with('#') && !code {
            true => writeln!(out, "{}", style.paint(Tint::Name, line))?,
            false => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}
