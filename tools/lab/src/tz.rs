//! `needless-lab tz`: what time conversions cost with TZ set and unset, as three articles measured it.

mod dates;
mod riddle;
mod sample;
mod why;

use crate::measure::{Measured, SubjectRun, least};
use crate::report::{Experiment, Results};
use crate::step;
use std::path::PathBuf;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "tz",
    summary: "What conversions of time ask the kernel and what they cost, with TZ set and unset, and with needless preload.",
    source: "packagecloud's blog, \"How setting the TZ environment variable avoids thousands of system calls\", 2017; \
             a Japanese blog, \"The riddle of the TZ variable\", 2015; InterSystems' forum, \"Linux TZ environment \
             variable not being set and the impact to Caché\", 2016",
    needs: "glibc; tzdata; the right to mount in a private namespace for the rows where /etc/localtime is \
            Tokyo's; libneedless_localtime.so for the column of needless preload",
};

/// How to measure.
#[derive(Clone, Debug)]
pub(crate) struct TzOptions {
    /// Calls of each row, at least 1. The source of 2015 made 10⁸.
    pub(crate) calls: u64,
    /// The library of `needless preload`, or why there is none.
    pub(crate) preloaded: Result<PathBuf, String>,
}

/// How often each row is measured. The least CPU time is reported: other work of the machine only adds to it.
const ROUNDS: usize = 5;

/// Runs the experiment.
///
/// # Errors
/// When our own program cannot run as a subject.
pub(crate) fn tz(options: &TzOptions) -> Result<Results, String> {
    let mut results = Results::of(EXPERIMENT);
    let options = &TzOptions { preloaded: loads(&options.preloaded), ..options.clone() };
    if let Err(why) = &options.preloaded {
        results.skipped.push(format!("the column of needless preload: {why}"));
    }
    if cfg!(not(target_env = "gnu")) {
        results.notes.push(
            "This program was built for musl, so these are musl's functions: a build for glibc is needed to measure glibc's, \
             with needless preload and without."
                .into(),
        );
    }
    step("tracing the sample");
    sample::add(&mut results);
    riddle::add(options, &mut results)?;
    dates::add(options, &mut results)?;
    Ok(results)
}

/// The library, if our own program can load it.
fn loads(preloaded: &Result<PathBuf, String>) -> Result<PathBuf, String> {
    if cfg!(any(not(target_env = "gnu"), target_feature = "crt-static")) {
        return Err(
            "this program is linked statically or with musl, and LD_PRELOAD has no effect on it"
                .into(),
        );
    }
    let library = preloaded.clone()?;
    SubjectRun { function: "time", calls: 1, preloaded: Some(&library), ..SubjectRun::default() }
        .measure()?;
    Ok(library)
}

/// What the subjects cost without the preloaded library and with it, the least of [`ROUNDS`].
/// They take turns: if the machine becomes slower, it does so for all of them.
fn in_turn(
    subjects: &[SubjectRun<'_>],
    preloaded: Option<&std::path::Path>,
) -> Result<Vec<(Measured, Option<Measured>)>, String> {
    let mut own = vec![Vec::new(); subjects.len()];
    let mut preloads = own.clone();
    for _ in 0..ROUNDS {
        for (at, subject) in subjects.iter().enumerate() {
            own[at].push(subject.measure()?);
            if let Some(library) = preloaded {
                preloads[at].push(SubjectRun { preloaded: Some(library), ..*subject }.measure()?);
            }
        }
    }
    let pairs = own.into_iter().zip(preloads);
    Ok(pairs.filter_map(|(own, preloaded)| Some((least(own)?, least(preloaded)))).collect())
}

/// System calls of one more call of the function, after the zone has been read: those of 200 calls minus
/// those of 100. `None` where they cannot be counted.
fn asks(subject: &SubjectRun<'_>) -> Option<f64> {
    const STEP: u64 = 100;
    let count = |calls| {
        let subject = SubjectRun { calls, ..*subject };
        let (program, words) = subject.words().ok()?;
        let counted = needless_observe::count_command(
            &program,
            &words,
            subject.environment(),
            Default::default(),
        )
        .ok()?;
        Some(counted.totals.calls)
    };
    Some(count(2 * STEP)?.saturating_sub(count(STEP)?) as f64 / STEP as f64)
}
