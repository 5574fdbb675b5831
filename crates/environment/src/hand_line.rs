//! The line that a person adds to a file into which no tool writes: what it says, and where it stands.

use crate::error::EnvironmentError;
use crate::places::{Edit, FoundValue};
use crate::redact::may_show;

/// Stands for a value that is not known yet, or is not shown.
pub const VALUE: &str = "VALUE";

/// A line, as a person writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandLine {
    /// What it says, without the blanks at its begin.
    pub text: String,
    /// Where it stands, behind the words `add LINE`: "below `env:` of the job build". Empty: anywhere in the file.
    pub place: String,
    /// The line, from 1, above which it is added, with as many blanks as that one has; `None` where it is added at the end.
    pub above: Option<u32>,
    /// The line, from 1, whose setting of the variable it takes the place of.
    pub replaces: Option<u32>,
}

impl HandLine {
    /// A line that stands anywhere in its file, of which the last one counts.
    pub(crate) fn anywhere(text: String, found: &[FoundValue]) -> HandLine {
        HandLine { text, place: String::new(), above: None, replaces: last_set(found) }
    }
}

/// The line of the last value that is set, from 1.
pub(crate) fn last_set(found: &[FoundValue]) -> Option<u32> {
    found.iter().rfind(|one| one.value.is_some()).map(|one| one.line)
}

/// What is to be done by hand where a text has the variable at the places `found`: in an imperative, with the line that
/// `write` makes. `None` where the text is as it is wanted.
///
/// # Errors
/// Those of `write`.
pub(crate) fn hand_line(
    found: &[FoundValue],
    text: &str,
    edit: &Edit<'_>,
    write: impl Fn(&str, &Edit<'_>) -> Result<HandLine, EnvironmentError>,
) -> Result<Option<String>, EnvironmentError> {
    let Some(value) = edit.value else {
        return Ok(last_set(found).map(|line| format!("remove line {line} by hand")));
    };
    let is = |last: &FoundValue| last.is_sure() && last.value.as_deref() == Some(value);
    if found.last().is_some_and(is) {
        return Ok(None);
    }
    let shown = if may_show(edit.variable, value) { value } else { VALUE };
    let line = write(text, &Edit { value: Some(shown), ..*edit })?;
    let (said, place) = (&line.text, &line.place);
    Ok(Some(match line.replaces {
        Some(at) => format!("write `{said}` by hand, instead of what line {at} sets"),
        None if place.is_empty() => format!("add the line `{said}` by hand"),
        None => format!("add `{said}` by hand {place}"),
    }))
}
