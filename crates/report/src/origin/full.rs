//! The origin of a variable for a person at a terminal.

use crate::Style;
use crate::text::{Tint, escape, wrap};
use needless_model::{Provenance, Value, Visibility};
use std::io::{self, Write};

pub(crate) fn write(
    out: &mut dyn Write,
    origin: &Provenance,
    _: &str,
    style: Style,
) -> io::Result<()> {
    for line in wrap(&escape(&origin.answer), style.width) {
        writeln!(out, "{}", style.paint(Tint::Name, &line))?;
    }
    for other in &origin.or {
        item(out, "also", &escape(other), Tint::Faint, style)?;
    }
    if !origin.steps.is_empty() {
        writeln!(out, "\nfrom the first ancestor:")?;
    }
    for step in &origin.steps {
        let role = step.role.map_or(String::new(), |role| format!(", {role}"));
        let value = value(&origin.variable, &step.initial, &step.live);
        writeln!(out, "  {}[{}]{role}: {value}", escape(&step.program), step.pid)?;
        for sentence in &step.says {
            item(out, "→", &escape(sentence), Tint::Care, style)?;
        }
    }
    if !origin.mentions.is_empty() {
        writeln!(out, "\nfiles:")?;
    }
    for assignment in &origin.mentions {
        let at = match assignment.line {
            0 => escape(&assignment.file).into_owned(),
            line => format!("{}:{line}", escape(&assignment.file)),
        };
        writeln!(out, "  {at}  {}", escape(&assignment.says))?;
        let (word, why, tint) = match &assignment.reaches {
            Visibility::Yes(why) => ("read", why, Tint::Fix),
            Visibility::No(why) => ("not read", why, Tint::Faint),
            Visibility::Perhaps(why) => ("perhaps", why, Tint::Care),
        };
        item(out, word, &escape(why), tint, style)?;
    }
    for (at, belongs) in origin.belongs.iter().enumerate() {
        let word = if at == 0 { "\nto change it:" } else { "\nor:" };
        writeln!(out, "{word} {}", escape(&belongs.place))?;
        item(out, "why", &escape(&belongs.why), Tint::Faint, style)?;
        item(out, "sure", belongs.confidence.word(), Tint::Faint, style)?;
    }
    if origin.unread.is_empty() {
        return writeln!(out, "\nnot read:  nothing");
    }
    writeln!(out, "\nnot read:")?;
    origin.unread.iter().try_for_each(|why| item(out, "-", &escape(why), Tint::Faint, style))
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
    let variable = escape(variable);
    let one = |value: &Value| match value {
        Value::Set(text) => format!("{variable}={}", escape(text)),
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
