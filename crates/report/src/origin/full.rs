//! The origin of a variable for a person at a terminal.

use super::json::{OriginConfidence, OriginFile, OriginReach, OriginValue};
use crate::text::{Tint, escape, wrap};
use crate::{OriginDocument, Style};
use needless_model::Confidence;
use std::io::{self, Write};

/// Which files are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    All,
    /// Of the others only the names.
    ThatReach,
}

/// As many names of files fit into a line.
const NAMED: usize = 4;

pub(crate) fn write(out: &mut dyn Write, origin: &OriginDocument, style: Style) -> io::Result<()> {
    document(out, origin, Files::All, style)
}

pub(super) fn document(
    out: &mut dyn Write,
    origin: &OriginDocument,
    files: Files,
    style: Style,
) -> io::Result<()> {
    for line in wrap(&escape(&shortened(&origin.answer, origin)), style.width) {
        writeln!(out, "{}", style.paint(Tint::Name, &line))?;
    }
    for other in &origin.or {
        item(out, "also", &escape(other), Tint::Faint, style)?;
    }
    steps(out, origin, style)?;
    self::files(out, origin, files, style)?;
    for (at, belongs) in origin.belongs.iter().enumerate() {
        let word = if at == 0 { "\nto change it:" } else { "\nor:" };
        writeln!(out, "{word} {}", escape(&belongs.place))?;
        item(out, "why", &escape(&belongs.why), Tint::Faint, style)?;
        item(out, "sure", sure(&belongs.confidence).word(), Tint::Faint, style)?;
    }
    if origin.not_read.is_empty() && origin.not_looked_at.is_empty() {
        return writeln!(out, "\nnot read:  nothing");
    }
    for (title, list) in [("not read", &origin.not_read), ("not looked at", &origin.not_looked_at)]
    {
        if !list.is_empty() {
            writeln!(out, "\n{title}:")?;
            list.iter().try_for_each(|one| item(out, "-", &escape(one), Tint::Faint, style))?;
        }
    }
    Ok(())
}

fn steps(out: &mut dyn Write, origin: &OriginDocument, style: Style) -> io::Result<()> {
    if !origin.steps.is_empty() {
        writeln!(out, "\nfrom the first ancestor:")?;
    }
    // A list is long: of each process only what it has more or less than the one above it.
    let last = origin.steps.last().and_then(|step| step.live.text().or(step.initial.text()));
    let mut above = last.filter(|value| origin.answer.contains(value));
    for step in &origin.steps {
        let role = step.role.as_ref();
        let role = role.map_or(String::new(), |role| format!(", {}", escape(role)));
        let now = step.live.text().or(step.initial.text());
        let variable = escape(&origin.variable);
        let value = match (step.initial.text().or(now), now, above) {
            (Some(was), Some(now), Some(above)) if is_list(&origin.variable) => {
                let own =
                    if was == now { String::new() } else { format!("; now {}", changes(was, now)) };
                format!("{variable} {}{own}", as_above(above, was))
            }
            _ => value(&origin.variable, &step.initial, &step.live),
        };
        above = now.or(above);
        writeln!(out, "  {}[{}]{role}: {value}", escape(&step.program), step.pid)?;
        for sentence in &step.says {
            item(out, "→", &escape(&shortened(sentence, origin)), Tint::Care, style)?;
        }
    }
    Ok(())
}

fn files(
    out: &mut dyn Write,
    origin: &OriginDocument,
    files: Files,
    style: Style,
) -> io::Result<()> {
    let hidden = |file: &&OriginFile| files == Files::ThatReach && file.reaches == OriginReach::No;
    let (others, shown): (Vec<_>, Vec<_>) = origin.files.iter().partition(hidden);
    if !shown.is_empty() {
        writeln!(out, "\nfiles:")?;
    }
    for OriginFile { file, line, says, reaches, why } in shown {
        let line = line.map_or_else(String::new, |line| format!(":{line}"));
        writeln!(out, "  {}{line}  {}", escape(file), escape(says))?;
        let (word, tint) = match reaches {
            OriginReach::Yes => ("read:", Tint::Fix),
            OriginReach::No => ("does not reach it:", Tint::Faint),
            OriginReach::Perhaps => ("perhaps:", Tint::Care),
        };
        item(out, word, &escape(why), tint, style)?;
    }
    let mut names: Vec<&str> = others.iter().map(|other| other.file.as_str()).collect();
    names.dedup();
    let Some(count) = Some(names.len()).filter(|count| *count > 0) else { return Ok(()) };
    let more = if count > NAMED { " …" } else { "" };
    names.truncate(NAMED);
    let line = format!(
        "files with it that do not reach the process: {count} ({}{more}); --all shows why",
        names.join(", ")
    );
    writeln!(out)?;
    wrap(&escape(&line), style.width).iter().try_for_each(|line| writeln!(out, "{line}"))
}

/// How sure a place is; one that this version does not know is a guess.
fn sure(confidence: &OriginConfidence) -> Confidence {
    let known: Option<Confidence> = confidence.into();
    known.unwrap_or(Confidence::Low)
}

/// Whether a variable holds a list of directories, separated by colons.
fn is_list(variable: &str) -> bool {
    variable.ends_with("PATH") || variable.ends_with("_DIRS")
}

/// A sentence in which a process changed a list: the entries, instead of both lists.
fn shortened(sentence: &str, origin: &OriginDocument) -> String {
    let mut text = sentence.to_owned();
    for step in origin.steps.iter().filter(|_| is_list(&origin.variable)) {
        if let (Some(was), Some(now)) = (step.initial.text(), step.live.text()) {
            text = text.replace(&format!("{was} then, {now} now"), &changes(was, now));
        }
    }
    text
}

/// A list, compared with the one above it.
fn as_above(above: &str, now: &str) -> String {
    match changes(above, now).as_str() {
        "" => "as above".to_owned(),
        changes => format!("as above, {changes}"),
    }
}

/// How a list differs from another one: "with /a, without /b"; empty where it does not.
fn changes(was: &str, now: &str) -> String {
    let (was, is): (Vec<_>, Vec<_>) = (was.split(':').collect(), now.split(':').collect());
    let only = |these: &[&str], those: &[&str]| -> String {
        let only: Vec<_> = these.iter().copied().filter(|one| !those.contains(one)).collect();
        escape(&only.join(", ")).into_owned()
    };
    let lists = [("with", only(&is, &was)), ("without", only(&was, &is))];
    let said = lists.iter().filter(|(_, list)| !list.is_empty());
    let said: Vec<_> = said.map(|(word, list)| format!("{word} {list}")).collect();
    match said.is_empty() && was != is {
        true => "in another order".to_owned(),
        false => said.join(", "),
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
fn value(variable: &str, initial: &OriginValue, live: &OriginValue) -> String {
    let variable = escape(variable);
    let one = |value: &OriginValue| match value {
        OriginValue::Set { value } => format!("{variable}={}", escape(value)),
        OriginValue::Unset => format!("{variable} not set"),
        OriginValue::Unknown { .. } => format!("{variable} not known"),
    };
    match (initial, live) {
        (initial, OriginValue::Unknown { .. }) => one(initial),
        (OriginValue::Unknown { .. }, live) => format!("{} now", one(live)),
        (initial, live) if initial == live => one(initial),
        (initial, live) => format!("{} at its start, {} now", one(initial), one(live)),
    }
}

#[cfg(test)]
mod tests {
    use super::{as_above, changes};

    #[test]
    fn lists_are_compared_by_entry() {
        for (above, now, said) in [
            ("/a:/b", "/a:/b", ""),
            ("/a:/b", "/b:/a", "in another order"),
            ("/a:/b", "/c:/a:/d", "with /c, /d, without /b"),
        ] {
            assert_eq!(changes(above, now), said);
        }
        assert_eq!(
            (as_above("/a", "/a"), as_above("/a", "/b")),
            ("as above".into(), "as above, with /b, without /a".into())
        );
    }
}
