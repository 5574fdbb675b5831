//! The rules told: their list, their pages.

use crate::Style;
use crate::json::{Need, print};
use crate::text::{Tint, clean, wrap};
use needless_rules::{Declared, RULES};
use serde::Serialize;
use std::io::{self, Write};

/// Writes every rule's name and what it finds, in the order they are checked: `declared` by the user,
/// with the place, then the built-in ones.
///
/// # Errors
/// When `out` cannot be written to.
pub fn rules_table(out: &mut dyn Write, declared: &[Declared], style: Style) -> io::Result<()> {
    let own = declared
        .iter()
        .map(|rule| (rule.name, format!("{} ({})", clean(&rule.message), clean(&rule.place))));
    let built_in = RULES.iter().map(|rule| (rule.name, rule.summary.to_owned()));
    let rules: Vec<(&str, String)> = own.chain(built_in).collect();
    let names = rules.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let indent = names + 2;
    for (name, summary) in rules {
        let mut name = name;
        for line in wrap(&summary, style.width.saturating_sub(indent).max(20)) {
            let blanks = " ".repeat(indent - name.len());
            writeln!(out, "{}{blanks}{line}", style.paint(Tint::Name, name))?;
            name = "";
        }
    }
    Ok(())
}

/// Writes the rules as JSON: `schema` is "needless.rules/1", `rules` holds for each its `name`,
/// `summary`, the facts it `needs` (as in a report's `not_checked`) and the environment
/// `variables` it reads, and where a user `declared` it.
///
/// # Errors
/// When `out` cannot be written to.
pub fn rules_json(out: &mut dyn Write, declared: &[Declared]) -> io::Result<()> {
    #[derive(Serialize)]
    struct Document<'a> {
        schema: &'static str,
        rules: Vec<Entry<'a>>,
    }
    #[derive(Serialize)]
    struct Entry<'a> {
        name: &'static str,
        summary: &'a str,
        needs: Vec<Need>,
        variables: Vec<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        declared: Option<&'a str>,
    }
    let own = declared.iter().map(|rule| Entry {
        name: rule.name,
        summary: &rule.message,
        needs: rule.needs().into_iter().map(Need::from).collect(),
        variables: rule.env.iter().map(|(name, _)| *name).collect(),
        declared: Some(&rule.place),
    });
    let built_in = RULES.iter().map(|rule| Entry {
        name: rule.name,
        summary: rule.summary,
        needs: rule.needs.iter().map(|fact| Need::from(*fact)).collect(),
        variables: rule.variables.to_vec(),
        declared: None,
    });
    print(out, &Document { schema: "needless.rules/1", rules: own.chain(built_in).collect() })
}

/// Writes the page of a rule, which is Markdown, with its headings in bold.
///
/// # Errors
/// When `out` cannot be written to.
pub fn explain(out: &mut dyn Write, page: &str, style: Style) -> io::Result<()> {
    let mut code = false;
    for line in page.trim_end().lines().map(clean) {
        code ^= line.trim_start().starts_with("```");
        match line.starts_with('#') && !code {
            true => writeln!(out, "{}", style.paint(Tint::Name, &line))?,
            false => writeln!(out, "{line}")?,
        }
    }
    Ok(())
}
