//! One window over a service, to be compared with another one.

use crate::{ProveError, answer};
use needless_model::{Exit, Snapshot, WatchList, quote};
use needless_observe::{Caller, ObserveOptions, Who};
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// What to observe of a service.
#[derive(Clone, Debug)]
pub struct ServiceWindow {
    /// The service.
    pub who: Who,
    /// How long.
    pub length: Duration,
    /// A command for `sh -c` that prints how many requests were served so far.
    pub counter: Option<OsString>,
    /// The user that runs `counter`, if not our own.
    pub caller: Option<Caller>,
    /// Variables that may be read from an environment.
    pub watch: WatchList,
}

/// Observes the service for its window, and counts its requests. `tick` gets the time so far.
///
/// # Errors
/// When the service cannot be observed, or its requests cannot be counted.
pub fn observe_service(
    window: &ServiceWindow,
    tick: &mut dyn FnMut(Duration),
) -> Result<Snapshot, ProveError> {
    let ServiceWindow { who, length, counter, caller, watch } = window;
    let options = ObserveOptions { all: true, watch: watch.clone(), ..ObserveOptions::default() };
    let count = || counter.as_ref().map(|counter| requests(counter, caller.clone())).transpose();
    let at_first = count()?;
    let first = Instant::now();
    let profile = needless_observe::window(who, *length, &options, tick)?.profile;
    let between = first.elapsed();
    let at_last = count()?;
    if let (Some(first), Some(last)) = (at_first, at_last)
        && last <= first
    {
        return Err(ProveError::Counter(format!(
            "no request was counted in the window: the counter went from {first} to {last}"
        )));
    }
    let mut snapshot = Snapshot::of(&profile, who.to_string());
    // It takes a while to start observing: requests are served then, and calls are not counted.
    let observed =
        snapshot.window_ns.map_or(1.0, |ns| ns as f64 / between.as_nanos().max(1) as f64);
    let served = at_first.zip(at_last).map(|(first, last)| last - first);
    snapshot.requests = served.map(|served| served * observed.min(1.0));
    Ok(snapshot)
}

/// The number that the counter prints.
fn requests(counter: &OsString, caller: Option<Caller>) -> Result<f64, ProveError> {
    let (written, exit) =
        answer(counter, caller).map_err(|error| ProveError::Counter(error.to_string()))?;
    let text = String::from_utf8_lossy(&written);
    match text.trim().parse::<f64>() {
        Ok(number) if exit == Exit::Code(0) && number.is_finite() => Ok(number),
        _ => Err(ProveError::Counter(format!(
            "the command has to print one number and to succeed; it printed {}, {}",
            quote(text.trim()),
            match exit {
                Exit::Code(code) => format!("exit status {code}"),
                Exit::Signal(number) => format!("signal {number}"),
            }
        ))),
    }
}
