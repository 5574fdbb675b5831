//! Which program makes the calls that name no path.

use super::is_chance;
use needless_model::Profile;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// (program, call) → how many.
pub(super) type Callers = BTreeMap<(String, String), u64>;

/// The calls of each program that name no path and whose number is not a matter of time, for
/// [`Snapshot::callers`](needless_model::Snapshot::callers).
pub fn callers(profile: &Profile) -> BTreeMap<(String, String), u64> {
    let mut callers = Callers::new();
    for row in &profile.rows {
        let call = profile.call(row);
        if profile.path(row).is_empty() && !is_chance(call, row.outcome) {
            let program = profile.process(row.process).title();
            *callers.entry((program, call.to_owned())).or_default() += row.count;
        }
    }
    callers
}

/// The programs that make `call` more often than before, most calls first. Where nothing is known of before, a program
/// that alone makes it.
pub(super) fn grown(call: &str, before: &Callers, now: &Callers) -> Vec<String> {
    let of_call = || now.iter().filter(|((_, other), _)| other == call);
    if before.is_empty() {
        let mut all = of_call().map(|((program, _), _)| program.clone());
        return all.next().filter(|_| all.next().is_none()).into_iter().collect();
    }
    let more = |(key, count): (&(String, String), &u64)| {
        let more = count.saturating_sub(before.get(key).copied().unwrap_or(0));
        (more > 0).then(|| (Reverse(more), key.0.clone()))
    };
    let mut grown: Vec<(Reverse<u64>, String)> = of_call().filter_map(more).collect();
    grown.sort();
    grown.into_iter().map(|(_, program)| program).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_that_writes_more_is_named() {
        let all = |of: &[(&str, &str, u64)]| -> Callers {
            of.iter().map(|(program, call, n)| (((*program).into(), (*call).into()), *n)).collect()
        };
        let now =
            all(&[("a", "write", 9), ("b", "write", 90), ("c", "write", 5), ("d", "read", 7)]);
        let before = all(&[("a", "write", 3), ("b", "write", 10), ("c", "write", 5)]);
        assert_eq!(grown("write", &before, &now), ["b", "a"]);
        assert_eq!(grown("read", &before, &now), ["d"]);
        assert_eq!(grown("read", &Callers::new(), &now), ["d"]);
        assert!(grown("write", &Callers::new(), &now).is_empty(), "any of three");
    }
}
