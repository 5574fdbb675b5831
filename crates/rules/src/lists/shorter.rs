//! The list that a process has now, without the entries that a report found to hold nothing. Entries are only taken out.

use crate::lists::advice;
use crate::lists::search::Search;
use crate::lists::variable::{Left, remedy};
use needless_model::{Process, Remedy, without_entries};
use std::collections::HashSet;

/// What the process has now: not known, not set, or this.
pub(crate) type Now<'a> = Option<Option<&'a str>>;

/// The list that the process has, without the entries that the report does not keep.
pub(crate) fn shorter(
    search: &Search,
    process: &Process,
    keeps: Option<&str>,
    now: Now<'_>,
) -> Result<Remedy, String> {
    let variable = search.variable;
    let now = now.ok_or_else(|| format!("the value of {variable} there is not known"))?;
    let now = now.ok_or_else(|| format!("{variable} is not set there"))?;
    let searcher = search.searcher;
    let entries = |value| searcher.raw_entries(value);
    let keeps: HashSet<&str> = keeps.into_iter().flat_map(entries).collect();
    let all: Vec<&str> = entries(now).collect();
    // The rule may write an empty entry as `.`.
    let current =
        |entry: &str| entry.is_empty() && search.empty_is_current() && keeps.contains(".");
    let stays = |entry: &&str| keeps.contains(entry) || current(entry);
    let kept: Vec<&str> = all.iter().copied().filter(stays).collect();
    if kept.len() == all.len() {
        return Err(format!("{variable} lists none of these directories there"));
    }
    Ok(advice::remedy(search, process, &kept))
}

/// Those of `entries` that the process has in its list.
pub(crate) fn fewer_entries(
    variable: &str,
    entries: &[String],
    now: Now<'_>,
) -> Result<Remedy, String> {
    let now = now.ok_or_else(|| format!("the value of {variable} there is not known"))?;
    let now = now.ok_or_else(|| format!("{variable} is not set there"))?;
    let listed = |entry: &&String| {
        without_entries(variable, now, std::slice::from_ref(*entry)).as_deref() != Some(now)
    };
    let listed: Vec<String> = entries.iter().filter(listed).cloned().collect();
    if listed.is_empty() {
        return Err(format!("{variable} lists none of these directories there"));
    }
    let rest = without_entries(variable, now, &listed);
    let empty = now.split([':', ';']).any(str::is_empty);
    let left = Left { others: rest.is_some(), empty };
    Ok(remedy(variable, listed, false, left))
}
