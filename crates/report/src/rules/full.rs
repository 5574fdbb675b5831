//! The list of rules for a person at a terminal.

use crate::Style;
use crate::text::{Tint, escape, wrap};
use needless_rules::{Declared, RULES};
use std::io::{self, Write};

pub(crate) fn write(out: &mut dyn Write, declared: &[Declared], style: Style) -> io::Result<()> {
    let own = declared
        .iter()
        .map(|rule| (&*rule.name, format!("{} ({})", escape(&rule.message), escape(&rule.place))));
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
