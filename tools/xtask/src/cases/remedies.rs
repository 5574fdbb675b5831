//! Tries every remedy of a case's findings that changes a variable: `prove` counts the command with and without
//! it, and the predicted calls must disappear.

use super::stage::{CaseBackend, CaseRemedy, CaseStage, Reported, Run};
use anyhow::{Context, Result};
use serde_json::Value;

/// The least part of a prediction that must disappear, in percent.
const LEAST: f64 = 95.0;

/// The result of one remedy.
pub(super) struct Tried {
    /// "library-search: unset LD_LIBRARY_PATH".
    pub(super) name: String,
    /// Calls that the finding predicted to disappear, with the calls that come with them.
    predicted: i64,
    /// How many fewer calls `prove` counted, of all.
    went: i64,
    /// The same for the rows of the finding, as `prove` compares them: predicted, disappeared.
    rows: Option<(u64, i64)>,
    /// Why it could not be compared.
    failure: Option<String>,
}

/// By so many calls two runs of one program differ.
const BY_CHANCE: f64 = 10.0;

impl Tried {
    /// Whether nearly all of the predicted calls disappeared.
    pub(super) fn holds(&self) -> bool {
        // Below zero: more calls are predicted, and no more than these may come.
        // Nothing is predicted where the results were wrong: then a few may come and go by chance.
        let chance = if self.predicted == 0 { BY_CHANCE } else { 0.0 };
        let missing = |of: i64| (1.0 - LEAST / 100.0) * of.abs() as f64 + chance;
        let enough = |went: i64, of: i64| went as f64 >= of as f64 - missing(of) - 1e-9;
        self.failure.is_none()
            && enough(self.went, self.predicted)
            && self.rows.is_some_and(|(of, went)| enough(went, of as i64))
    }

    /// The line to print.
    pub(super) fn line(&self) -> String {
        let Tried { name, predicted, went, rows, failure } = self;
        let so = if self.holds() { "" } else { "  NOT PROVEN" };
        if let Some(why) = failure {
            return format!("    prove {name}: {why}{so}");
        }
        let rows = match rows {
            Some((of, went)) => format!("; of the calls it is about {went} of {of}"),
            None => "; its rule predicts nothing of this change".to_owned(),
        };
        format!("    prove {name}: {went} of {predicted} went{rows}{so}")
    }
}

/// Tries each remedy once and alone, if the finding offers only that one.
pub(super) fn prove(
    stage: &CaseStage,
    reported: &[Reported],
    runs: &dyn Fn() -> Result<Run>,
) -> Vec<Tried> {
    let mut tried: Vec<Tried> = Vec::new();
    for reported in reported {
        for remedy in &reported.remedies {
            let name = format!("{}: {}", reported.rule, remedy.words());
            if tried.iter().any(|known| known.name == name) {
                continue;
            }
            let all = Tried { name, predicted: reported.saved, went: 0, rows: None, failure: None };
            tried.push(match counted(stage, reported, remedy, runs) {
                Ok((went, rows)) => Tried { went, rows, ..all },
                Err(why) => Tried { failure: Some(format!("{why:#}")), ..all },
            });
        }
    }
    tried
}

/// How many calls fewer; and of the finding's rows, predicted and disappeared.
fn counted(
    stage: &CaseStage,
    reported: &Reported,
    remedy: &CaseRemedy,
    runs: &dyn Fn() -> Result<Run>,
) -> Result<(i64, Option<(u64, i64)>)> {
    let run = runs()?;
    let proof: Value = stage.prove(&run, CaseBackend::Ebpf, remedy)?;
    let reason = || {
        let said = proof["reason"].as_str().unwrap_or("calls were not counted in both");
        said.to_owned()
    };
    // Some programs do not make the same calls twice: the difference within one arm counts as disappeared.
    let before = proof["calls_before"]["most"].as_i64().with_context(reason)?;
    let after = proof["calls_after"]["least"].as_i64().with_context(reason)?;
    let predictions = proof["predictions"].as_array().map_or(&[][..], Vec::as_slice);
    let of_rule = predictions.iter().find(|one| one["rule"] == reported.rule.as_str());
    let rows = of_rule.and_then(|one| Some((one["predicted"].as_u64()?, one["went"].as_i64()?)));
    Ok((before - after, rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(predicted: i64, went: i64, rows: Option<(u64, i64)>) -> Tried {
        Tried { name: "r: unset V".into(), predicted, went, rows, failure: None }
    }

    #[test]
    fn what_does_not_go_is_said() {
        for (predicted, went, rows, holds) in [
            (100, 95, Some((80, 76)), true),
            (100, 94, Some((80, 80)), false),
            // The calls disappeared, but more others appeared.
            (12, -82, Some((12, 12)), false),
            (100, 100, Some((80, 75)), false),
            // A zone that is found is read: more calls, as predicted; and more than that.
            (-6, -6, Some((1, 1)), true),
            (-6, -7, Some((1, 1)), false),
            // The rule does not know this variable: it should not have advised it.
            (100, 100, None, false),
        ] {
            let tried = tried(predicted, went, rows);
            assert_eq!(tried.holds(), holds, "{}", tried.line());
            assert_eq!(tried.line().contains("NOT PROVEN"), !holds);
        }
        let failed = Tried { failure: Some("why".into()), ..tried(1, 1, Some((1, 1))) };
        assert!(!failed.holds() && failed.line().contains("why  NOT PROVEN"));
    }
}
