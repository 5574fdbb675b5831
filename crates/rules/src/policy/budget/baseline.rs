//! An earlier report as a budget: what was needless then may be needless still.

use super::{Budget, Counted, Counts, Limit};
use std::collections::BTreeMap;

impl Budget {
    /// The budget that a report stands for. `found`: the calls that its findings named, by rule. Each rule may name as
    /// many calls, and a tenth more, since programs do not always make the same; a rule that only the runs have may
    /// name none. `file` is the report.
    pub fn of_report(
        name: String,
        file: String,
        found: &BTreeMap<String, u64>,
        runs: &[Counts],
    ) -> Budget {
        let limit = |most: u64| Limit { most, vary: most / 10, line: 1 };
        let new = runs.iter().flat_map(Counts::keys);
        let new = new.filter(|counted| matches!(counted, Counted::Rule(_))).cloned();
        let mut limits: BTreeMap<Counted, Limit> = new.map(|rule| (rule, limit(0))).collect();
        let known = found.iter().map(|(rule, calls)| (Counted::Rule(rule.clone()), limit(*calls)));
        limits.extend(known);
        Budget { name, file, line: 1, limits, of_report: true }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured_counts;
    use super::*;

    #[test]
    fn worse_is_more_by_over_a_tenth_or_another_rule() {
        let found = BTreeMap::from([("tz-unset".to_owned(), 99)]);
        let over = |all: &[(&str, u64)]| {
            let run = all.iter().map(|(rule, calls)| (Counted::Rule((*rule).to_owned()), *calls));
            let runs = [run.chain([(Counted::Calls, 1_000)]).collect::<Counts>()];
            let budget = Budget::of_report("x".into(), "x.json".into(), &found, &runs);
            let measured = measured_counts(Some(&budget), &runs);
            let over = measured.iter().filter(|one| one.is_over());
            over.map(|one| one.counted.to_string()).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        for within in [0, 50, 99, 108] {
            assert_eq!(over(&[("tz-unset", within)]), none, "{within}");
        }
        assert_eq!(over(&[]), none);
        assert_eq!(over(&[("tz-unset", 109)]), ["rule.tz-unset"]);
        assert_eq!(over(&[("tz-unset", 9), ("close-storm", 6)]), ["rule.close-storm"]);
    }
}
