//! Changes with their places: where several meet, one change for all of them.

use crate::belongs::Spot;

/// A change with its place, and everybody who wants it there.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The place.
    pub spot: Spot,
    /// The variable.
    pub variable: String,
    /// Its value; `None`: to be removed.
    pub value: Option<String>,
    /// What to know before.
    pub caveats: Vec<String>,
    /// The processes or units, named for people.
    pub whom: Vec<String>,
}

/// "TZ=UTC", "TZ removed".
pub fn words(variable: &str, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{variable}={value}"),
        None => format!("{variable} removed"),
    }
}

/// Each place once for each variable, for everybody who wants the same there; and a sentence for each
/// place where different values are wanted, which gets none of them.
pub fn merged(all: Vec<Target>) -> (Vec<Target>, Vec<String>) {
    let mut merged: Vec<Target> = Vec::new();
    let mut conflicts: Vec<(Target, Vec<String>)> = Vec::new();
    for target in all {
        let same = |other: &&mut Target| {
            let (a, b) = (&other.spot, &target.spot);
            (a.place, &a.file, &a.part) == (b.place, &b.file, &b.part)
                && other.variable == target.variable
        };
        match merged.iter_mut().find(same) {
            None => merged.push(target),
            Some(other) if other.value == target.value => {
                let new = |list: &[String], new: &String| !list.contains(new);
                let caveats = target.caveats.into_iter();
                let caveats: Vec<_> = caveats.filter(|one| new(&other.caveats, one)).collect();
                other.caveats.extend(caveats);
                let whom: Vec<_> =
                    target.whom.into_iter().filter(|one| new(&other.whom, one)).collect();
                other.whom.extend(whom);
            }
            Some(other) => {
                let value = words(&target.variable, target.value.as_deref());
                match conflicts
                    .iter_mut()
                    .find(|(first, _)| first.spot == other.spot && first.variable == other.variable)
                {
                    Some((_, values)) if values.contains(&value) => {}
                    Some((_, values)) => values.push(value),
                    None => {
                        let first = words(&other.variable, other.value.as_deref());
                        conflicts.push((other.clone(), vec![first, value]));
                    }
                }
            }
        }
    }
    merged.retain(|target| {
        let here = |(first, _): &(Target, _)| {
            first.spot == target.spot && first.variable == target.variable
        };
        !conflicts.iter().any(here)
    });
    let said = conflicts.iter().map(|(target, values)| {
        format!(
            "{}: {} are wanted there: change one at a time (--rule, --pid, --unit with --set)",
            target.spot.called,
            values.join(" and ")
        )
    });
    (merged, said.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{CRONTAB, SUPERVISORD};
    use needless_model::Confidence;

    fn target(file: &str, part: Option<&str>, value: &str, whom: &str) -> Target {
        let spot = Spot {
            place: if part.is_some() { &SUPERVISORD } else { &CRONTAB },
            file: Some(file.into()),
            part: part.map(str::to_owned),
            called: file.into(),
            why: String::new(),
            confidence: Confidence::High,
            restart: Vec::new(),
            caveat: None,
            owner: None,
        };
        let (variable, value) = ("TZ".into(), Some(value.into()));
        Target { spot, variable, value, caveats: vec!["c".into()], whom: vec![whom.into()] }
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
        let whom: Vec<_> = merged.iter().map(|target| target.whom.join(" ")).collect();
        assert_eq!(whom, ["x[1] x[2]", "y[3]", "y[4]"]);
        assert_eq!(merged[0].caveats, ["c"]);
        assert_eq!(conflicts.len(), 1);
        assert!(conflicts[0].contains("TZ=UTC and TZ=Asia/Tokyo"), "{conflicts:?}");
    }
}
