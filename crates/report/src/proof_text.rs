//! What several formats of a proof share.

use crate::proof::json::{
    ChangedRow, CountRange, ProofBody, ProofMeasure, ProofOutcome, ProofPrediction, ProofQuantity,
};
use crate::text::{count, duration, escape, list, number, percent};

/// With fewer pairs there is no statement about the quantities.
const LEAST_PAIRS: u64 = 6;
/// How many rows of calls are shown to a person.
pub(crate) const SHOWN: usize = 6;

/// One line of the table of measures.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    pub(crate) before: String,
    pub(crate) after: String,
    pub(crate) change: String,
    pub(crate) interval: String,
    pub(crate) so: &'static str,
}

/// The proof in one line, for a concise report.
pub(crate) fn line(proof: &ProofBody) -> String {
    let calls = calls(proof).map_or_else(String::new, |calls| format!("; calls {calls}"));
    format!(
        "needless prove: {} with {}: {}{calls}",
        verdict(proof).0,
        changes(proof),
        escape(&proof.program)
    )
}

/// The verdict in a word or two, and why.
pub(crate) fn verdict(proof: &ProofBody) -> (&'static str, String) {
    let reason = proof.reason.as_deref().unwrap_or_default();
    let (word, why) = match (proof.outcome, proof.calls_fell, proof.cpu_fell) {
        (ProofOutcome::Differs, ..) => {
            return (
                "the program behaves differently: nothing is proven",
                format!(
                    "{reason}. Output that always differs can be left out of the comparison with --ignore-output REGEX."
                ),
            );
        }
        (ProofOutcome::NotProven, ..) => return ("not proven", reason.to_owned()),
        (ProofOutcome::Proven, true, true) => {
            ("proven", "calls fell, counted, and CPU time fell, beyond chance")
        }
        (ProofOutcome::Proven, true, false) if proof.measures.is_empty() => (
            "proven in calls; not proven in CPU time",
            "calls fell, counted; CPU time was not measured",
        ),
        (ProofOutcome::Proven, true, false) => (
            "proven in calls; not proven in CPU time",
            "calls fell, counted; CPU time shows no difference beyond chance",
        ),
        (ProofOutcome::Proven, false, _) => {
            ("proven in CPU time", "CPU time fell, beyond chance, though calls did not")
        }
    };
    (word, format!("{why}; output and exit status are the same"))
}

/// `TZ=UTC and unset LANG`.
pub(crate) fn changes(proof: &ProofBody) -> String {
    if proof.changes.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<String> = proof.changes.iter().map(|change| escape(change).into_owned()).collect();
    list(&all)
}

/// `9 → 0  newfstatat("/etc/localtime") ok`.
pub(crate) fn changed(row: &ChangedRow) -> String {
    let about = match row.path.as_str() {
        "" => String::new(),
        path => format!("(\"{}\")", escape(path)),
    };
    let line = format!(
        "{} → {}  {}{about} {}",
        number(row.before),
        number(row.after),
        escape(&row.call),
        escape(&row.outcome)
    );
    line.trim_end().to_owned()
}

/// `71 → 62, 9 gone (12.7 %)`.
pub(crate) fn calls(proof: &ProofBody) -> Option<String> {
    let (before, after) = proof.calls()?;
    let (gone, of) = proof.gone()?;
    let what = match gone {
        0 => "none gone".to_owned(),
        1.. => format!("{} gone, {}", number(gone.unsigned_abs()), share(gone, of)),
        _ => format!("{} more", number(gone.unsigned_abs())),
    };
    Some(format!("{} → {}: {what}", range(before), range(after)))
}

fn range(counted: CountRange) -> String {
    if counted.least == counted.most {
        return number(counted.least);
    }
    format!("{} to {}", number(counted.least), number(counted.most))
}

fn share(part: i64, of: u64) -> String {
    signed_percent(part as f64 / of.max(1) as f64)
}

/// The predictions of the rules beside what was counted: one sentence for all, one for each rule if there are
/// several, and one about time.
pub(crate) fn predictions(proof: &ProofBody) -> Vec<String> {
    let (Some(predicted), Some((gone, _))) = (proof.predicted(), proof.gone()) else {
        return Vec::new();
    };
    let went: i64 = proof.predictions.iter().map(|p| p.went).sum();
    let rule = |p: &ProofPrediction| escape(&p.rule).into_owned();
    let rules: Vec<String> = proof.predictions.iter().map(rule).collect();
    let others = match gone - went {
        0 => String::new(),
        1.. => format!("; {} others went with them", number((gone - went).unsigned_abs())),
        _ => format!("; {} others came", number((gone - went).unsigned_abs())),
    };
    let mut all = vec![format!(
        "{} fewer by {}; of the calls it is about, {} went: {}{others}",
        number(predicted),
        list(&rules),
        signed(went),
        agreement(predicted, went)
    )];
    if proof.predictions.len() > 1 {
        all.extend(proof.predictions.iter().map(|p| {
            format!("{}: {} predicted, {} went", rule(p), number(p.predicted), signed(p.went))
        }));
    }
    let kernel: Option<u64> = proof.predictions.iter().map(|p| p.kernel_us.map(|us| us.0)).sum();
    let user = proof.predictions.iter().filter_map(|p| p.user_us).map(|us| us.0);
    let user = user.reduce(u64::saturating_add);
    let user = user.map(|ns| {
        format!(" and {} of its own work, by what its runtime takes for each", duration(ns))
    });
    let cpu = proof.measures.iter().find(|measure| measure.quantity == ProofQuantity::Cpu);
    if let (Some(ns), Some(cpu)) = (kernel.filter(|ns| *ns > 0), cpu) {
        let measured = ((cpu.after - cpu.before) * 1e9).round();
        let by = duration(measured.abs() as u64);
        all.push(format!(
            "about {} of kernel time, by the cost of such a call measured in a short loop{}; CPU time {}",
            duration(ns),
            user.unwrap_or_default(),
            match measured {
                m if m < 0.0 => format!("fell by {by}"),
                m if m > 0.0 => format!("rose by {by}"),
                _ => "did not change".to_owned(),
            }
        ));
    }
    all
}

/// A part of a whole that may be negative.
fn signed_percent(part: f64) -> String {
    match part {
        0.0 => percent(0.0),
        p if p < 0.0 => format!("-{}", percent(-p)),
        p => percent(p),
    }
}

fn signed(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", number(n.unsigned_abs()))
}

/// `100.0 % of the prediction`.
fn agreement(predicted: u64, went: i64) -> String {
    match predicted {
        0 => "nothing was predicted".to_owned(),
        _ => format!("{:.1} % of the prediction", went as f64 / predicted as f64 * 100.0),
    }
}

/// Why it ended early, if it did, then the warnings.
pub(crate) fn notes(proof: &ProofBody) -> Vec<String> {
    let failure =
        proof.failure.iter().map(|why| format!("It could not be measured to its end: {why}."));
    failure.chain(proof.warnings.iter().cloned()).collect()
}

/// The table of measures.
pub(crate) fn figures(proof: &ProofBody) -> Vec<Figure> {
    proof.measures.iter().filter_map(|measure| figure(measure, proof)).collect()
}

/// `None` for a quantity that this version does not know.
fn figure(measure: &ProofMeasure, proof: &ProofBody) -> Option<Figure> {
    let (name, unit): (_, fn(f64) -> String) = match measure.quantity {
        ProofQuantity::Cpu => ("CPU time", time),
        ProofQuantity::System => ("  in the kernel", time),
        ProofQuantity::User => ("  in user mode", time),
        ProofQuantity::Wall => ("wall clock", time),
        ProofQuantity::Faults => ("page faults", plain),
        ProofQuantity::Switches => ("switches", plain),
        ProofQuantity::Peak => ("peak memory", memory),
        ProofQuantity::Other => return None,
    };
    let relative = |value: f64| value / measure.before * 100.0;
    let (known, enough) = (measure.before > 0.0, has_intervals(proof));
    let (low, high) = (measure.low, measure.high);
    // Within a tenth, since resident memory varies a little.
    let hidden = measure.quantity == ProofQuantity::Peak
        && measure.before.max(measure.after) < proof.peak_floor_kib as f64 * 1.1;
    Some(Figure {
        name,
        before: unit(measure.before),
        after: unit(measure.after),
        // Of the two columns: the median of the differences in pairs, which the interval is about, may be another.
        change: match known {
            true => format!("{:+.1} %", relative(measure.after - measure.before)),
            false => "-".into(),
        },
        interval: if !enough {
            "-".into()
        } else if known {
            format!("{:+.1} to {:+.1} %", relative(low), relative(high))
        } else {
            format!("{low:+.0} to {high:+.0}")
        },
        so: if hidden {
            "hidden by needless's own"
        } else if !enough {
            "too few pairs"
        } else if measure.fell() {
            "less"
        } else if measure.rose() {
            "more"
        } else {
            "no difference shown"
        },
    })
}

/// Whether there are enough pairs for an interval.
pub(crate) fn has_intervals(proof: &ProofBody) -> bool {
    proof.pairs >= LEAST_PAIRS
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{:.3} ms", s * 1e3),
        s => format!("{s:.3} s"),
    }
}

fn plain(value: f64) -> String {
    match value.fract() {
        0.0 => number(value as u64),
        _ => format!("{value:.1}"),
    }
}

fn memory(kib: f64) -> String {
    format!("{:.1} MB", kib * 1024.0 / 1e6)
}

/// `1 row`.
pub(crate) fn rows(n: usize) -> String {
    count(n as u64, "row", "rows")
}
