//! Whether a new text changes the variable that was meant and no other one: the grammar of the file's reader is asked
//! about every name in the old text and in the new one.

use crate::error::EnvironmentError;
use crate::place::Place;
use crate::places::{self, Edit, FoundValue};
use std::collections::BTreeMap;

/// So many bytes are read again, at most: each name costs two readings of the text. What stands next to the change, and
/// names that are assigned to, come first.
const READ: usize = 8 << 20;

/// Refuses a `new` text in which another variable than that of `edit` is not what it was in `old`; of a text with parts,
/// also if the variable itself changes in another part.
///
/// # Errors
/// Which variable, and why where that can be seen.
pub(crate) fn others_same(
    place: &Place,
    old: &str,
    new: &str,
    edit: &Edit<'_>,
) -> Result<(), EnvironmentError> {
    if old == new || place.compares_all {
        return Ok(());
    }
    let at = first_difference(old, new);
    let parts: Vec<Option<String>> = (place.parts)(old).into_iter().map(Some).collect();
    let part = edit.part.map(str::to_owned);
    let known = parts.contains(&part);
    let others = parts.iter().filter(|other| known && **other != part);
    let ours: Vec<_> = others.map(|part| (edit.variable, part.as_deref())).collect();
    let mut parts: Vec<Option<&str>> = parts.iter().map(Option::as_deref).collect();
    parts.extend([None, edit.part]);
    parts.sort_unstable();
    parts.dedup();
    let names = names(old, new, at);
    let names = names.iter().filter(|name| **name != edit.variable);
    let all = names.flat_map(|name| parts.iter().map(move |part| (*name, *part)));
    let most = READ / (old.len() + new.len() + 1);
    for (name, part) in ours.into_iter().chain(all).take(most) {
        let values = |text: &str| -> Vec<(Option<String>, bool)> {
            let found = (place.find)(text, name, part);
            // Of our variable the last one counts: what another part gets may be set once more above it.
            let from = if name == edit.variable { found.len().saturating_sub(1) } else { 0 };
            let found = found.into_iter().skip(from);
            found.map(|found| (found.value.clone(), found.is_sure())).collect()
        };
        if values(old) != values(new) {
            let found = (place.find)(old, name, part);
            return Err(why(old, at, name, found.last()).into());
        }
    }
    Ok(())
}

/// Why the variable `name` would change.
fn why(old: &str, at: usize, name: &str, found: Option<&FoundValue>) -> String {
    let above = at.checked_sub(1).and_then(|at| places::lines(old).get(at).copied());
    if above.is_some_and(|above| above.trim_end().ends_with('\\')) {
        return format!(
            "line {at} ends with a backslash: the next line would become a part of {name}"
        );
    }
    match found {
        Some(found) => format!(
            "{name} (line {}) would change with it, as the reader of such a file takes the lines: edit it by hand",
            found.line
        ),
        None => format!(
            "it would set {name}, too, as the reader of such a file takes the lines: edit it by hand"
        ),
    }
}

/// The first line, from 0, that is not the same in both.
fn first_difference(old: &str, new: &str) -> usize {
    let both = places::lines(old).into_iter().zip(places::lines(new));
    both.take_while(|(old, new)| places::bare(old) == places::bare(new)).count()
}

/// Every word of both texts that may be the name of a variable: before `=` or `:` first, then by its distance from the
/// line `at`.
fn names<'t>(old: &'t str, new: &'t str, at: usize) -> Vec<&'t str> {
    let mut ranks: BTreeMap<&str, (bool, usize)> = BTreeMap::new();
    for text in [old, new] {
        for (line, words) in places::lines(text).into_iter().enumerate() {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
            for word in words.split(|c| !is_name(c)) {
                if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
                    continue;
                }
                let end = word.as_ptr() as usize - words.as_ptr() as usize + word.len();
                let behind = words[end..].trim_start_matches([' ', '\t', '"', '\'', ']']);
                let rank = (!behind.starts_with(['=', ':']), line.abs_diff(at));
                let known = ranks.entry(word).or_insert(rank);
                *known = rank.min(*known);
            }
        }
    }
    let mut names: Vec<_> = ranks.into_iter().map(|(name, rank)| (rank, name)).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ENVIRONMENT_FILE, PAM_ENV};

    #[test]
    fn a_change_of_another_variable_is_refused_with_its_line() {
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        for place in [&PAM_ENV, &ENVIRONMENT_FILE] {
            let why = place.change("B=1\nA=b\\\n", &edit).unwrap_err().to_string();
            assert_eq!(why, "line 2 ends with a backslash: the next line would become a part of A");
            assert!(place.change("A=b\\\nc\n", &edit).is_ok());
        }
        let edit = Edit { value: None, ..edit };
        let why = ENVIRONMENT_FILE.change("TZ=a\rA=b\n", &edit).unwrap_err().to_string();
        assert!(why.starts_with("A (line 1) would change with it"), "{why}");
    }

    /// Of a text that is too long to be read for every name, the next names are compared.
    #[test]
    fn a_long_text_is_not_read_for_ever() {
        let lines: String = (0..40_000).map(|n| format!("V{n}=x\n")).collect();
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        assert!(ENVIRONMENT_FILE.change(&lines, &edit).is_ok());
        assert!(ENVIRONMENT_FILE.change(&format!("{lines}A=b\\\n"), &edit).is_err());
    }
}
