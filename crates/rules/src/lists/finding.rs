//! What is reported about the entries of a variable's list that hold nothing.

use crate::engine::{Case, merge_shared};
use crate::lists::dirs::Dirs;
use crate::lists::entries::{Entries, Tried, is_filled, state, stopped, walked};
use crate::lists::variable::{self, Left, remedy};
use crate::rule::general::search_list::{RULE, has_own_rule};
use crate::text::{count, list, number, some};
use crate::{Sink, View};
use needless_model::{Finding, ProcId, Query, Row, SearchList, Stage};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Calls that follow the open of a directory, to list it: fstat, two reads and close.
const LISTED: u64 = 4;
/// man opens directories without reading them: statfs and close.
const HELD: u64 = 2;

/// The lists of a process that no rule of their own judges.
pub(crate) fn lists_of<'p>(view: &View<'p>, id: ProcId) -> impl Iterator<Item = &'p SearchList> {
    let lists = view.process(id).lists.as_deref().unwrap_or_default();
    lists.iter().filter(|list| !has_own_rule(&list.variable))
}

/// The calls that entries which hold nothing cost.
struct Cost {
    cases: BTreeMap<ProcId, Case>,
    /// Rows of which only so many calls are meant.
    shared: HashMap<usize, u64>,
    /// How often one of the entries was opened.
    opens: u64,
}

impl Cost {
    fn of(view: &View<'_>, sink: &Sink, entries: &Entries<'_>) -> Cost {
        let mut cost = Cost { cases: BTreeMap::new(), shared: HashMap::new(), opens: 0 };
        let mut looks: BTreeMap<ProcId, Vec<(&str, &Row)>> = BTreeMap::new();
        for (entry, tried) in entries {
            for asked in &tried.rows {
                let id = asked.row.process;
                let fresh = || Case { process: id, needless: 0, of: 0, rows: Vec::new() };
                let case = cost.cases.entry(id).or_insert_with(fresh);
                case.needless += asked.row.count;
                case.of += asked.row.count;
                case.rows.push(asked.at);
                if asked.itself {
                    looks.entry(id).or_default().push((&entry.dir, asked.row));
                    if asked.row.ok() && asked.row.query == Query::Open {
                        cost.opens += asked.row.count;
                    }
                }
            }
        }
        for (id, case) in &mut cost.cases {
            let looks = looks.get(id).map_or(&[][..], Vec::as_slice);
            let mut rows = walked(view, sink, *id, looks);
            rows.extend(stopped(view, sink, *id, entries));
            for (at, count) in rows {
                case.needless += count;
                case.of += count;
                case.rows.push(at);
                cost.shared.insert(at, count);
            }
        }
        cost
    }
}

/// What the entries of a variable cost that hold nothing.
pub(crate) fn finding(
    view: &View<'_>,
    sink: &Sink,
    variable: &str,
    entries: &Entries<'_>,
    others: &BTreeSet<&str>,
) -> Option<Finding> {
    let Cost { cases, shared, opens } = Cost::of(view, sink, entries);
    if cases.is_empty() {
        return None;
    }
    let programs: BTreeSet<&str> = cases.keys().map(|id| view.process(*id).name()).collect();
    let after_open = if variable == "MANPATH" { HELD } else { LISTED };
    let index = Dirs::new(entries.keys().map(|entry| &*entry.dir).collect());
    let merged = merge_shared(view.profile, cases.into_values().collect(), &shared, |path| {
        index.pattern(path)
    });
    let dirs: BTreeSet<&str> = entries.keys().map(|entry| &*entry.dir).collect();
    let same = match others.iter().copied().collect::<Vec<_>>() {
        others if others.is_empty() => String::new(),
        others => format!(" {} lists some of them, too.", list(&others)),
    };
    let programs: Vec<&str> = programs.into_iter().take(3).collect();
    let state = state(view, entries);
    let (what, cause, each) = words(variable, entries, dirs.len() as u64, &list(&programs));
    let texts = in_order(view, variable, entries);
    Some(Finding {
        stage: Stage::Explained,
        what: format!("{} calls {what}", number(merged.needless)),
        why: format!("{variable} lists {cause}: {}. {state}{each}{same}", some(&dirs)),
        remedies: vec![remedy(
            variable,
            texts,
            is_filled(view, &dirs),
            left(view, variable, entries),
        )],
        besides: (opens * after_open) as i64,
        ..merged.finding(RULE.name)
    })
}

/// What the calls do, what the variable lists, and when it is searched: sentences about `n` entries, which may be
/// directories or files.
fn words(
    variable: &str,
    entries: &Entries<'_>,
    n: u64,
    programs: &str,
) -> (String, String, &'static str) {
    let known = variable::known(variable);
    let directories = known.is_some() || entries.values().all(Tried::is_directory);
    let (one, many) = if directories { ("directory", "directories") } else { ("entry", "entries") };
    let said = count(n, one, many);
    if known.is_none() && !entries.values().any(Tried::is_directory) {
        let are = if n == 1 { "is" } else { "are" };
        return (
            format!("ask for {said} of {variable} that {are} not there"),
            format!("{said} that {programs} asked for and did not find"),
            "Each is asked for whenever the list is read.",
        );
    }
    let hold = if n == 1 { "holds" } else { "hold" };
    let things = known.map_or("files", |known| known.things);
    (
        format!("look for {things} in {said} of {variable} that {hold} none"),
        format!("{said} that {hold} none of the {things} that {programs} asked for"),
        "Each name is looked for in each entry in turn, up to the one that holds it.",
    )
}

/// The texts of the entries, in the order of the list.
fn in_order(view: &View<'_>, variable: &str, entries: &Entries<'_>) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let lists = view.ids().flat_map(|id| lists_of(view, id));
    for entry in lists.filter(|list| list.variable == variable).flat_map(|list| &list.entries) {
        let same = |text: &String| text.trim_end_matches('/') == entry.text.trim_end_matches('/');
        if entries.contains_key(entry) && !texts.iter().any(same) {
            texts.push(entry.text.clone());
        }
    }
    texts
}

/// What is left in the lists that have some of these entries.
fn left(view: &View<'_>, variable: &str, entries: &Entries<'_>) -> Left {
    let lists = view.ids().flat_map(|id| lists_of(view, id));
    let lists = lists.filter(|list| list.variable == variable);
    let mut left = Left { others: true, empty: true };
    for list in lists {
        let kept = list.entries.iter().any(|entry| !entries.contains_key(entry));
        left.others &= list.others || kept;
        left.empty &= list.empty;
    }
    left
}
