//! What is reported about a list of directories: the finding, and the shorter list that it advises.

use crate::View;
use crate::engine::helpers;
use crate::lists::search::{Next, Search, Searcher, is_current};
use crate::lists::searched::SearchedList;
use crate::text::{count, list, number, some};
use needless_model::{Change, Finding, Process, Remedy, Safety, Stage};
use std::collections::BTreeSet;

/// Calls that follow the open of a directory: fstat, two reads and close.
const LISTING: u64 = 4;

/// The finding of a list.
pub(crate) fn finding(
    view: &View<'_>,
    rule: &'static str,
    search: &Search,
    found: SearchedList<'_>,
) -> Finding {
    let here = empty_or_relative(search, &found);
    let process = view.process(found.merged.processes[0]);
    let SearchedList { value, merged, empty, kept, programs, twice, listed, above, .. } = found;
    let variable = search.variable;
    let dirs = count(empty.len() as u64, "directory", "directories");
    let who: Vec<&str> = programs.into_iter().take(3).collect();
    let hold = if empty.len() == 1 { "holds" } else { "hold" };
    let things = search.things;
    let cause = match value {
        Some(_) => format!("{variable} lists {dirs} that {hold} none of the {things}"),
        None => format!("{dirs} {hold} none of the {things}"),
    };
    let remedy = match value {
        None => helpers::by_hand(search.manual, search.caveat),
        Some(_) => remedy(search, process, &kept),
    };
    Finding {
        stage: if value.is_some() { Stage::Explained } else { Stage::Seen },
        what: format!(
            "{} calls look for {things} in {dirs} that {hold} none",
            number(merged.needless)
        ),
        why: format!(
            "{cause} that {} asked for: {}. {}{}{here}",
            list(&who),
            some(&empty),
            search.why,
            named_twice(variable, &twice)
        ),
        remedies: vec![remedy],
        user_ns: search.user_ns.map(|ns| ns.saturating_mul(merged.needless)),
        besides: (listed * LISTING + above) as i64,
        ..merged.finding(rule)
    }
}

/// A sentence on the directories that would still be searched.
fn named_twice(variable: &str, twice: &BTreeSet<&str>) -> String {
    if twice.is_empty() {
        return String::new();
    }
    format!(
        " Something else names {} as well (an option, code, a RUNPATH, another variable): only the \
         calls that certainly disappear with {variable} are counted.",
        some(twice)
    )
}

/// A sentence on entries of the loader's list that start in the working directory.
fn empty_or_relative(search: &Search, found: &SearchedList<'_>) -> &'static str {
    let mut entries = found.empty.iter().chain(&found.kept);
    if search.searcher == Searcher::Loader && entries.any(|entry| is_current(entry)) {
        " An empty or relative entry is in the current directory: anybody who may write there decides which library a \
         program loads."
    } else {
        ""
    }
}

/// The variable with only the entries in `kept`.
pub(crate) fn remedy(search: &Search, process: &Process, kept: &[&str]) -> Remedy {
    let variable = search.variable.to_owned();
    let nothing = kept.iter().all(|entry| entry.is_empty() && !search.empty_is_current());
    let is_set = |next: &&Next| process.env.value(next.variable).is_some_and(|v| !v.is_empty());
    if nothing && let Some(next) = search.next.as_ref().filter(is_set) {
        let caveat = format!("{} {}", next.price, search.caveat);
        return helpers::set(&variable, "", Safety::Caveat(caveat));
    }
    if nothing && search.by_hand {
        return helpers::by_hand(search.manual, search.caveat);
    }
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
