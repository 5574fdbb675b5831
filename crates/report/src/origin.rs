//! Where a variable comes from, told.

mod json;

pub use json::{ORIGIN_SCHEMA, origin_json, origin_schema};

use crate::Style;
use crate::text::{Tint, clean, wrap};
use needless_model::{Provenance, Value, Visibility};
use std::io::{self, Write};

/// Writes a story: the answer, the steps, the files, the place for a change, what was not read.
///
/// # Errors
/// When `out` cannot be written to.
pub fn origin(out: &mut dyn Write, story: &Provenance, style: Style) -> io::Result<()> {
    for line in wrap(&clean(&story.answer), style.width) {
        writeln!(out, "{}", style.paint(Tint::Name, &line))?;
    }
    for other in &story.or {
        item(out, "also", &clean(other), Tint::Faint, style)?;
    }
    if !story.steps.is_empty() {
        writeln!(out, "\nfrom the first ancestor:")?;
    }
    for step in &story.steps {
        let role = step.role.map_or(String::new(), |role| format!(", {role}"));
        let value = value(&story.variable, &step.initial, &step.live);
        writeln!(out, "  {}[{}]{role}: {value}", clean(&step.program), step.pid)?;
        for sentence in &step.says {
            item(out, "→", &clean(sentence), Tint::Care, style)?;
        }
    }
    if !story.mentions.is_empty() {
        writeln!(out, "\nfiles:")?;
    }
    for mention in &story.mentions {
        let at = match mention.line {
            0 => clean(&mention.file).into_owned(),
            line => format!("{}:{line}", clean(&mention.file)),
        };
        writeln!(out, "  {at}  {}", clean(&mention.says))?;
        let (word, why, tint) = match &mention.reaches {
            Visibility::Yes(why) => ("read", why, Tint::Fix),
            Visibility::No(why) => ("not read", why, Tint::Faint),
            Visibility::Perhaps(why) => ("perhaps", why, Tint::Care),
        };
        item(out, word, &clean(why), tint, style)?;
    }
    for (at, belongs) in story.belongs.iter().enumerate() {
        let word = if at == 0 { "\nto change it:" } else { "\nor:" };
        writeln!(out, "{word} {}", clean(&belongs.place))?;
        item(out, "why", &clean(&belongs.why), Tint::Faint, style)?;
        item(out, "sure", belongs.confidence.word(), Tint::Faint, style)?;
    }
    match story.unread.is_empty() {
        true => writeln!(out, "\nnot read:  nothing"),
        false => {
            writeln!(out, "\nnot read:")?;
            story.unread.iter().try_for_each(|why| item(out, "-", &clean(why), Tint::Faint, style))
        }
    }
}

fn item(out: &mut dyn Write, word: &str, text: &str, tint: Tint, style: Style) -> io::Result<()> {
    let mut lead = format!("    {word}  ");
    let indent = lead.chars().count();
    for line in wrap(text, style.width.saturating_sub(indent).max(20)) {
        writeln!(out, "{lead}{}", style.paint(tint, &line))?;
        lead = " ".repeat(indent);
    }
    Ok(())
}

/// `TZ=UTC`, `TZ not set`, `TZ=UTC at its start, not set now`.
fn value(variable: &str, initial: &Value, live: &Value) -> String {
    let variable = clean(variable);
    let one = |value: &Value| match value {
        Value::Set(text) => format!("{variable}={}", clean(text)),
        Value::Unset => format!("{variable} not set"),
        Value::Unknown(_) => format!("{variable} not known"),
    };
    match (initial, live) {
        (Value::Unknown(_), live) if live.is_known() => format!("{} now", one(live)),
        (initial, Value::Unknown(_)) => one(initial),
        (initial, live) if initial == live => one(initial),
        (initial, live) => format!("{} at its start, {} now", one(initial), one(live)),
    }
}
