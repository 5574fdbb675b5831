//! Merges changes at one place: one change for all that want it.

use crate::place::Destination;
use crate::redact::{HIDDEN, may_show, secret};
use needless_model::shorten;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::mem::take;

/// A change at a place, for all processes that need it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeRequest {
    /// The place.
    pub location: Destination,
    /// The variable.
    pub variable: String,
    /// Its value; `None`: to be removed.
    pub value: Option<String>,
    /// The rules whose remedy it is; none where the user named the change.
    pub rules: Vec<String>,
    /// What it does to local times, where it changes them: the first thing to know before it is made.
    pub times: Vec<String>,
    /// What else to know.
    pub caveats: Vec<String>,
    /// The processes or units that get it, as names to show.
    pub targets: Vec<String>,
}

/// How many characters of a long value or line a screen shows: of its beginning and of its end.
pub(crate) const SHOWN: (usize, usize) = (400, 100);
impl ChangeRequest {
    /// The change in words: as [`label`], or the name of what is made.
    pub fn label(&self) -> String {
        match self.location.place.make {
            Some(_) => self.variable.clone(),
            None => label(&self.variable, self.value.as_deref()),
        }
    }
}

/// "TZ=UTC", "TZ removed", for a screen and the journal: without a value that may be a secret.
pub fn label(variable: &str, value: Option<&str>) -> String {
    match value {
        Some(value) if may_show(variable, value) => {
            format!("{variable}={}", shorten(value, SHOWN.0, SHOWN.1))
        }
        Some(_) => format!("{variable}={HIDDEN}"),
        None => format!("{variable} removed"),
    }
}

/// The value as it may be shown and written down: hidden where the name sounds like a secret's.
pub fn shown<'v>(variable: &str, value: &'v str) -> &'v str {
    if secret(variable, value) { HIDDEN } else { value }
}

/// The first of them by name, and how many more there are.
pub fn listed(names: &[String]) -> String {
    const NAMED: usize = 8;
    match names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        None => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// Each once, in the order of arrival. A report may name thousands, so duplicates are found by hash.
fn distinct<T: Clone + Eq + Hash>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = HashSet::new();
    all.into_iter().filter(|one| seen.insert(one.clone())).collect()
}

/// How many contradicting values are shown.
const NAMED: usize = 4;

/// Each place once for each variable, for all that want the same value there; and a sentence for each place where
/// different values are wanted, which gets none of them.
pub fn merged(all: Vec<ChangeRequest>) -> (Vec<ChangeRequest>, Vec<String>) {
    let mut places: Vec<Vec<ChangeRequest>> = Vec::new();
    let mut known = HashMap::new();
    for one in all {
        let Destination { place, file, part, .. } = &one.location;
        let key = (place.name, file.clone(), part.clone(), one.variable.clone());
        let at = *known.entry(key).or_insert(places.len());
        places.resize_with(places.len().max(at + 1), Vec::new);
        places[at].push(one);
    }
    let (mut merged, mut conflicts) = (Vec::new(), Vec::new());
    for mut place in places {
        let rules = distinct(place.iter_mut().flat_map(|one| take(&mut one.rules)));
        let caveats = distinct(place.iter_mut().flat_map(|one| take(&mut one.caveats)));
        let times = distinct(place.iter_mut().flat_map(|one| take(&mut one.times)));
        let targets = distinct(place.iter_mut().flat_map(|one| take(&mut one.targets)));
        let values = distinct(place.iter().map(|one| one.value.clone()));
        let first = place.swap_remove(0);
        let values: Vec<String> =
            values.iter().map(|value| label(&first.variable, value.as_deref())).collect();
        match values.len().checked_sub(NAMED) {
            _ if values.len() == 1 => {
                merged.push(ChangeRequest { rules, times, caveats, targets, ..first })
            }
            Some(more @ 1..) => {
                let shown = values[..NAMED].join(", ");
                conflicts.push(conflict(&first, &format!("{shown} and {more} other values")));
            }
            _ => conflicts.push(conflict(&first, &values.join(" and "))),
        }
    }
    (merged, conflicts)
}

fn conflict(target: &ChangeRequest, values: &str) -> String {
    format!(
        "{}: {values} are wanted there: change one at a time (--rule, --pid, --unit with --set)",
        target.location.label
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Activation, CRONTAB, SUPERVISORD};
    use needless_model::Confidence;
    use std::cell::Cell;

    fn target(file: &str, part: Option<&str>, value: &str, process: &str) -> ChangeRequest {
        let location = Destination {
            place: if part.is_some() { &SUPERVISORD } else { &CRONTAB },
            file: Some(file.into()),
            part: part.map(str::to_owned),
            label: file.into(),
            why: String::new(),
            confidence: Confidence::High,
            activation: Activation::Unknown,
            caveat: None,
            reach: None,
        };
        let (variable, value) = ("TZ".into(), Some(value.into()));
        ChangeRequest {
            location,
            variable,
            value,
            rules: Vec::new(),
            times: vec!["t".into()],
            caveats: vec!["c".into()],
            targets: vec![process.into()],
        }
    }

    #[test]
    fn each_place_once_each_part_by_itself_and_no_two_values() {
        let (merged, conflicts) = merged(vec![
            target("/a", None, "UTC", "x[1]"),
            target("/a", None, "UTC", "x[2]"),
            target("/s", Some("web"), "UTC", "y[3]"),
            target("/s", Some("db"), "UTC", "y[4]"),
            target("/b", None, "UTC", "z[5]"),
            target("/b", None, "Asia/Tokyo", "z[6]"),
            target("/b", None, "UTC", "z[7]"),
        ]);
        let targets: Vec<_> = merged.iter().map(|target| target.targets.join(" ")).collect();
        assert_eq!(targets, ["x[1] x[2]", "y[3]", "y[4]"]);
        assert_eq!(
            (&merged[0].times[..], &merged[0].caveats[..]),
            (&["t".to_owned()][..], &["c".to_owned()][..])
        );
        assert_eq!(conflicts.len(), 1);
        assert!(conflicts[0].contains("TZ=UTC and TZ=Asia/Tokyo"), "{conflicts:?}");
    }

    thread_local!(static COMPARED: Cell<u64> = const { Cell::new(0) });

    #[derive(Clone, Debug)]
    struct Counted(u32);

    impl PartialEq for Counted {
        fn eq(&self, other: &Counted) -> bool {
            COMPARED.set(COMPARED.get() + 1);
            self.0 == other.0
        }
    }

    impl Eq for Counted {}

    impl Hash for Counted {
        fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }

    #[test]
    fn what_is_there_already_is_not_looked_for_one_by_one() {
        let distinct = distinct((0..20_000).chain(0..20_000).map(Counted));
        let values: Vec<u32> = distinct.iter().map(|one| one.0).collect();
        assert_eq!(values, (0..20_000).collect::<Vec<_>>());
        // One comparison for each repetition; a few more where hashes begin alike.
        assert!(COMPARED.get() < 40_000, "{}", COMPARED.get());
    }

    /// Would take minutes if each were compared with all before.
    #[test]
    fn many_values_at_one_place_and_many_places_are_no_more_work_each() {
        let n = 100_000;
        let one = (0..n).map(|n| target("/a", None, &format!("JST-{n}"), &format!("x[{n}]")));
        let (merged, conflicts) = super::merged(one.collect());
        assert!(merged.is_empty());
        let [said] = conflicts.as_slice() else { panic!("{conflicts:?}") };
        assert!(said.contains("TZ=JST-3 and 99996 other values are wanted"), "{said}");
        let apart = (0..n).map(|n| target(&format!("/{n}"), None, "UTC", &format!("x[{n}]")));
        let (merged, conflicts) = super::merged(apart.collect());
        assert_eq!((merged.len(), conflicts.len()), (n, 0));
        let all = (0..n).map(|n| target("/a", None, "UTC", &format!("x[{n}]")));
        let (merged, _) = super::merged(all.collect());
        assert_eq!((merged.len(), merged[0].targets.len()), (1, n));
    }
}
