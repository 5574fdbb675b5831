//! What several formats of a proof share.

use crate::summary;
use crate::text::{count, duration, escape, list, number, percent};
use needless_model::{Counted, Measure, Outcome, Proof, Quantity, RowChange};

/// With fewer pairs there is no statement about the quantities.
const LEAST_PAIRS: usize = 6;
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
pub(crate) fn line(proof: &Proof) -> String {
    let calls = calls(proof).map_or_else(String::new, |calls| format!("; calls {calls}"));
    format!(
        "needless prove: {} with {}: {}{calls}",
        verdict(proof).0,
        changes(proof),
        escape(&proof.program)
    )
}

/// The verdict in a word or two, and why.
pub(crate) fn verdict(proof: &Proof) -> (&'static str, String) {
    let (word, why) = match &proof.outcome {
        Outcome::Differs(how) => {
            return (
                "the program behaves differently: nothing is proven",
                format!(
                    "{how}. Output that always differs can be left out of the comparison with --ignore-output REGEX."
                ),
            );
        }
        Outcome::NotProven(why) => return ("not proven", why.clone()),
        Outcome::Proven { calls: true, cpu: true } => {
            ("proven", "calls fell, counted, and CPU time fell, beyond chance")
        }
        Outcome::Proven { calls: true, cpu: false } if proof.measures.is_empty() => (
            "proven in calls; not proven in CPU time",
            "calls fell, counted; CPU time was not measured",
        ),
        Outcome::Proven { calls: true, cpu: false } => (
            "proven in calls; not proven in CPU time",
            "calls fell, counted; CPU time shows no difference beyond chance",
        ),
        Outcome::Proven { calls: false, .. } => {
            ("proven in CPU time", "CPU time fell, beyond chance, though calls did not")
        }
    };
    (word, format!("{why}; output and exit status are the same"))
}

/// `TZ=UTC and unset LANG`.
pub(crate) fn changes(proof: &Proof) -> String {
    if proof.changes.is_empty() {
        return "none".to_owned();
    }
    let all: Vec<String> = proof.changes.iter().map(summary::change).collect();
    list(&all)
}

/// `9 → 0  newfstatat("/etc/localtime") ok`.
pub(crate) fn changed(row: &RowChange) -> String {
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
pub(crate) fn calls(proof: &Proof) -> Option<String> {
    let (before, after) = proof.calls?;
    let (gone, of) = proof.gone()?;
    let what = match gone {
        0 => "none gone".to_owned(),
        1.. => format!("{} gone, {}", number(gone.unsigned_abs()), share(gone, of)),
        _ => format!("{} more", number(gone.unsigned_abs())),
    };
    Some(format!("{} → {}: {what}", range(before), range(after)))
}

fn range(counted: Counted) -> String {
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
pub(crate) fn predictions(proof: &Proof) -> Vec<String> {
    let (Some(predicted), Some((gone, _))) = (proof.predicted(), proof.gone()) else {
        return Vec::new();
    };
    let went: i64 = proof.predictions.iter().map(|p| p.went).sum();
    let rules: Vec<&str> = proof.predictions.iter().map(|p| &*p.rule).collect();
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
            format!("{}: {} predicted, {} went", p.rule, number(p.predicted), signed(p.went))
        }));
    }
    let kernel: Option<u64> = proof.predictions.iter().map(|p| p.kernel_ns).sum();
    let user = proof.predictions.iter().filter_map(|p| p.user_ns).reduce(u64::saturating_add);
    let user = user.map(|ns| {
        format!(" and {} of its own work, by what its runtime takes for each", duration(ns))
    });
    if let (Some(ns), Some(cpu)) = (kernel.filter(|ns| *ns > 0), proof.measure(Quantity::Cpu)) {
        let measured = (cpu.difference * 1e9).round();
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
pub(crate) fn notes(proof: &Proof) -> Vec<String> {
    let failure =
        proof.failure.iter().map(|why| format!("It could not be measured to its end: {why}."));
    failure.chain(proof.warnings.iter().cloned()).collect()
}

/// The table of measures.
pub(crate) fn figures(proof: &Proof) -> Vec<Figure> {
    proof.measures.iter().map(|measure| figure(measure, proof)).collect()
}

fn figure(measure: &Measure, proof: &Proof) -> Figure {
    let (name, unit): (_, fn(f64) -> String) = match measure.quantity {
        Quantity::Cpu => ("CPU time", time),
        Quantity::System => ("  in the kernel", time),
        Quantity::User => ("  in user mode", time),
        Quantity::Wall => ("wall clock", time),
        Quantity::Faults => ("page faults", plain),
        Quantity::Switches => ("switches", plain),
        Quantity::Peak => ("peak memory", memory),
    };
    let relative = |value: f64| value / measure.before * 100.0;
    let known = measure.before > 0.0;
    let (low, high) = measure.interval;
    // Within a tenth, since resident memory varies a little.
    let hidden = measure.quantity == Quantity::Peak
        && measure.before.max(measure.after) < proof.peak_floor_kib as f64 * 1.1;
    Figure {
        name,
        before: unit(measure.before),
        after: unit(measure.after),
        change: if known { format!("{:+.1} %", relative(measure.difference)) } else { "-".into() },
        interval: if known {
            format!("{:+.1} to {:+.1} %", relative(low), relative(high))
        } else {
            format!("{low:+.0} to {high:+.0}")
        },
        so: if hidden {
            "hidden by needless's own"
        } else if proof.pairs < LEAST_PAIRS {
            "too few pairs"
        } else if measure.fell() {
            "less"
        } else if measure.rose() {
            "more"
        } else {
            "no difference shown"
        },
    }
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
