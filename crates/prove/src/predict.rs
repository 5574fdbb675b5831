//! What rules predict of a change, and what became of it.

use crate::can_make;
use needless_model::{
    Change, Finding, Prediction, Profile, Proof, Remedy, RuleName, Safety, Snapshot, Stage,
};
use needless_rules::{CheckOptions, Declared, check};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the rules that advise such changes predict, and how many of the calls that their findings are about are
/// gone in `after`.
pub(crate) fn predictions(
    before: &Profile,
    after: &Profile,
    changes: &[Change],
    declared: &Arc<[Declared]>,
) -> Vec<Prediction> {
    let (was, is) = (Snapshot::of(before, ""), Snapshot::of(after, ""));
    // Every finding counts, however small: the change may be for that one.
    let every = CheckOptions {
        min_saving_percent: 0.0,
        pedantic: true,
        declared: declared.clone(),
        ..CheckOptions::default()
    };
    let mut by_rule: BTreeMap<RuleName, Vec<Finding>> = BTreeMap::new();
    for finding in check(before, &every).findings {
        if concerns(&finding, changes) {
            by_rule.entry(finding.rule.clone()).or_default().push(finding);
        }
    }
    let unnamed = |of: &Snapshot| -> i64 {
        of.rows.iter().filter(|((_, path, _), _)| path.is_empty()).map(|(_, n)| *n as i64).sum()
    };
    let prediction = |(rule, findings): (RuleName, Vec<Finding>)| {
        let rows = findings.iter().flat_map(|finding| &finding.rows);
        let keys: BTreeSet<_> = rows.map(|at| Snapshot::key(before, &before.rows[*at])).collect();
        let count = |of: &Snapshot, key| of.rows.get(key).map_or(0, |n| *n as i64);
        let predicted: u64 = findings.iter().map(|finding| finding.needless).sum();
        let named: i64 = keys.iter().map(|key| count(&was, key)).sum();
        // Reads of an open file have no path: where a finding is about more calls than its rows hold, the
        // others are among those.
        let rest = (predicted as i64 - named).max(0);
        let fell: i64 = keys.iter().map(|key| count(&was, key) - count(&is, key)).sum();
        Prediction {
            rule,
            predicted,
            went: fell + (unnamed(&was) - unnamed(&is)).clamp(0, rest),
            kernel_ns: findings.iter().map(|finding| finding.kernel_ns).sum(),
            user_ns: findings
                .iter()
                .filter_map(|finding| finding.user_ns)
                .reduce(u64::saturating_add),
        }
    };
    by_rule.into_iter().map(prediction).collect()
}

/// Whether one of the changes is of a variable that the finding advises to change. Our time functions help
/// where TZ is unset.
fn concerns(finding: &Finding, changes: &[Change]) -> bool {
    let variable = |change: &Change| match change {
        Change::Preload => Some("TZ".to_owned()).filter(|_| finding.rule == "tz-unset"),
        change => change.variable().map(str::to_owned),
    };
    let advised: Vec<String> =
        finding.remedies.iter().filter_map(|remedy| variable(&remedy.change)).collect();
    changes.iter().filter_map(variable).any(|changed| advised.contains(&changed))
}

/// The first remedy of each finding that needs no person's decision: one change for each variable.
pub fn first_changes(findings: &[Finding]) -> Vec<Change> {
    let manual = |remedy: &&Remedy| matches!(remedy.safety, Safety::Manual(_));
    let firsts = findings.iter().filter_map(|finding| {
        finding.remedies.iter().find(|remedy| !manual(remedy) && can_make(&remedy.change))
    });
    one_for_each_variable(firsts.map(|remedy| remedy.change.clone()))
}

/// The first change of each variable.
pub fn one_for_each_variable(changes: impl Iterator<Item = Change>) -> Vec<Change> {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let variable = |change: &Change| change.variable().unwrap_or_default().to_owned();
    changes.filter(|change| seen.insert(variable(change))).collect()
}

/// Marks findings as proven: if the measurement proved its changes, and most of the calls that the finding is
/// about are gone.
pub fn mark_proven(findings: &mut [Finding], proof: &Proof) {
    if !proof.holds() {
        return;
    }
    for finding in findings.iter_mut().filter(|finding| concerns(finding, &proof.changes)) {
        let known = proof.predictions.iter().find(|p| p.rule == finding.rule);
        if known.is_some_and(|known| known.went * 2 >= known.predicted as i64) {
            finding.stage = Stage::Proven;
        }
    }
}
