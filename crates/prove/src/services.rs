//! Two windows over a service compared: one before a change, one after.

use needless_model::Snapshot;

/// Calls that fell by less than this part are not called proven: there is one window of each, and a
/// service's load is never twice the same.
pub const PROVEN_FALL: f64 = 0.1;

/// Calls in two windows, by one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Of what: "second", "second of CPU", "request".
    pub per: &'static str,
    /// Calls before.
    pub before: f64,
    /// Calls after.
    pub after: f64,
}

impl Compared {
    /// Whether they fell by enough.
    pub fn fell(&self) -> bool {
        self.after <= self.before * (1.0 - PROVEN_FALL) && self.before > 0.0
    }
}

/// Calls of two windows per second, per second of CPU and per request, as far as both know them.
/// The last is the best measure: it does not depend on the load.
pub fn compare(before: &Snapshot, after: &Snapshot) -> Vec<Compared> {
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let measures = [
        ("second", seconds(before.window_ns), seconds(after.window_ns)),
        ("second of CPU", seconds(before.cpu_ns), seconds(after.cpu_ns)),
        ("request", before.requests, after.requests),
    ];
    let known = |(per, b, a): (&'static str, Option<f64>, Option<f64>)| {
        let (b, a) = b.zip(a).filter(|(b, a)| *b > 0.0 && *a > 0.0)?;
        Some(Compared { per, before: before.calls as f64 / b, after: after.calls as f64 / a })
    };
    measures.into_iter().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(calls: u64, seconds: u64, requests: Option<f64>) -> Snapshot {
        Snapshot {
            calls,
            window_ns: Some(seconds * 1_000_000_000),
            cpu_ns: Some(seconds * 10_000_000),
            requests,
            ..Snapshot::default()
        }
    }

    #[test]
    fn rates_are_of_what_both_know() {
        // The production table of the first source: 14,925 stats in 30 seconds, then 8.
        let all = compare(&window(14_925, 30, None), &window(8, 30, Some(4.0)));
        let names: Vec<&str> = all.iter().map(|one| one.per).collect();
        assert_eq!(names, ["second", "second of CPU"]);
        assert_eq!(all[0].before, 497.5);
        assert!(all.iter().all(Compared::fell));
    }

    #[test]
    fn half_the_load_is_no_proof_where_requests_are_known() {
        let all = compare(&window(1_000, 10, Some(100.0)), &window(500, 10, Some(50.0)));
        assert!(all[0].fell());
        assert_eq!((all[2].per, all[2].fell()), ("request", false));
    }
}
