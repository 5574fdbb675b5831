//! What is reported about a list of directories: the finding, and the shorter list that it advises.

use crate::helpers;
use crate::search::{Search, SearchedList};
use crate::text::{count, list, number};
use needless_model::{Change, Finding, Remedy, Safety, Stage};
use std::collections::BTreeSet;

/// Calls that follow the open of a directory: fstat, two reads and close.
const LISTING: u64 = 4;

/// The finding of a list.
pub(crate) fn finding(search: &Search, found: SearchedList<'_>) -> Finding {
    let SearchedList { value, merged, empty, kept, programs, twice, listed, above, .. } = found;
    let variable = search.variable;
    let dirs = count(empty.len() as u64, "directory", "directories");
    let who: Vec<&str> = programs.into_iter().take(3).collect();
    let hold = if empty.len() == 1 { "holds" } else { "hold" };
    let mut shown: Vec<&str> = empty.iter().copied().take(3).collect();
    shown.extend((empty.len() > shown.len()).then_some("others"));
    let things = search.things;
    let cause = match value {
        Some(_) => format!("{variable} lists {dirs} that {hold} none of the {things}"),
        None => format!("{dirs} {hold} none of the {things}"),
    };
    let remedy = match value {
        None => helpers::by_hand(search.manual, search.caveat),
        Some(_) => remedy(search, variable, &kept),
    };
    Finding {
        stage: if value.is_some() { Stage::Explained } else { Stage::Seen },
        what: format!(
            "{} calls look for {things} in {dirs} that {hold} none",
            number(merged.needless)
        ),
        why: format!(
            "{cause} that {} asked for: {}. {}{}",
            list(&who),
            list(&shown),
            search.why,
            named_twice(variable, &twice)
        ),
        remedies: vec![remedy],
        besides: (listed * LISTING + above) as i64,
        ..merged.finding(search.rule)
    }
}

/// A sentence on the directories that would still be searched.
fn named_twice(variable: &str, twice: &BTreeSet<&str>) -> String {
    let mut shown: Vec<&str> = twice.iter().copied().take(3).collect();
    if shown.is_empty() {
        return String::new();
    }
    shown.extend((twice.len() > shown.len()).then_some("others"));
    format!(
        " Something else names {} as well (an option, code, a RUNPATH, another variable): only the \
         calls that certainly disappear with {variable} are counted.",
        list(&shown)
    )
}

/// A list that has only the entries in `kept` left.
pub(crate) fn remedy(search: &Search, variable: &str, kept: &[&str]) -> Remedy {
    let variable = variable.to_owned();
    let nothing = kept.iter().all(|entry| entry.is_empty() && !search.empty_is_current());
    let change = if nothing {
        Change::UnsetEnv { variable }
    } else {
        // An empty value would mean no list: `.` is the same as an empty entry.
        let value = Some(kept.join(":")).filter(|value| !value.is_empty());
        Change::SetEnv { variable, value: value.or(Some(".".to_owned())) }
    };
    let caveat = search.caveat.to_owned();
    let safety = if search.by_hand { Safety::Manual(caveat) } else { Safety::Caveat(caveat) };
    Remedy { change, safety }
}
