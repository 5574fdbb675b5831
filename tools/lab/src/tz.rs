//! `needless lab tz`: what time conversions cost with TZ set and unset, as three articles measured it.

mod dates;
mod riddle;
mod sample;
mod why;

use crate::measure::{Measured, Subject, least};
use needless_report::{Experiment, Told};
use std::path::PathBuf;

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "tz",
    summary: "What conversions of time ask the kernel and what they cost, with TZ set and unset, and with the engine of needless preload.",
    source: "packagecloud's blog, \"How setting the TZ environment variable avoids thousands of system calls\", 2017; \
             a Japanese blog, \"The riddle of the TZ variable\", 2015; InterSystems' forum, \"Linux TZ environment \
             variable not being set and the impact to Caché\", 2016",
    needs: "glibc; tzdata; the right to mount in a namespace of its own for the rows where /etc/localtime is \
            Tokyo's; libneedless_localtime.so for the column of the engine",
};

/// How to measure.
#[derive(Clone, Debug)]
pub struct TzOptions {
    /// Calls of each row, at least 1. The source of 2015 made 10⁸.
    pub calls: u64,
    /// The preload library, or why there is none.
    pub engine: Result<PathBuf, String>,
}

/// How often each row is measured; the least CPU time is told: what else happens on the machine only adds to it.
const ROUNDS: usize = 5;

/// Makes the experiment. `step` is told what comes next.
///
/// # Errors
/// When our own program cannot be run as a subject at all.
pub fn tz(options: &TzOptions, step: &mut dyn FnMut(&str)) -> Result<Told, String> {
    let mut told =
        Told { experiment: EXPERIMENT, tables: Vec::new(), says: Vec::new(), skipped: Vec::new() };
    let options = &TzOptions { engine: loads(&options.engine), ..options.clone() };
    if let Err(why) = &options.engine {
        told.skipped.push(format!("the column of the engine: {why}"));
    }
    if cfg!(not(target_env = "gnu")) {
        told.says.push(
            "This needless has musl for its C library, so these are musl's functions: what is said of glibc, and the \
             engine, can only be measured by a needless that was built for glibc."
                .into(),
        );
    }
    step("tracing the sample");
    sample::tell(&mut told);
    riddle::tell(options, &mut told, step)?;
    dates::tell(options, &mut told, step)?;
    Ok(told)
}

/// The engine, if it can be loaded into our own program.
fn loads(engine: &Result<PathBuf, String>) -> Result<PathBuf, String> {
    if cfg!(any(not(target_env = "gnu"), target_feature = "crt-static")) {
        return Err(
            "this needless is linked statically or with musl, and LD_PRELOAD would not reach it"
                .into(),
        );
    }
    let library = engine.clone()?;
    Subject { function: "time", calls: 1, engine: Some(&library), ..Subject::default() }
        .measure()?;
    Ok(library)
}

/// What the subjects took with the C library's own functions and with the engine's, the least of
/// [`ROUNDS`], all in turn, so that a machine that grows slower does so for all.
fn in_turn(
    subjects: &[Subject<'_>],
    engine: Option<&std::path::Path>,
) -> Result<Vec<(Measured, Option<Measured>)>, String> {
    let mut own = vec![Vec::new(); subjects.len()];
    let mut engines = own.clone();
    for _ in 0..ROUNDS {
        for (at, subject) in subjects.iter().enumerate() {
            own[at].push(subject.measure()?);
            if let Some(library) = engine {
                engines[at].push(Subject { engine: Some(library), ..*subject }.measure()?);
            }
        }
    }
    let pairs = own.into_iter().zip(engines);
    Ok(pairs.filter_map(|(own, engine)| Some((least(own)?, least(engine)))).collect())
}

/// System calls that one more call of the function makes, once the zone is read: what 200 make less
/// what 100 make. `None` where they cannot be counted.
fn asks(subject: &Subject<'_>) -> Option<f64> {
    const STEP: u64 = 100;
    let count = |calls| {
        let subject = Subject { calls, ..*subject };
        let (program, words) = subject.words().ok()?;
        let counted =
            needless_observe::count_command(&program, &words, subject.environment(), &[]).ok()?;
        Some(counted.totals.calls)
    };
    Some(count(2 * STEP)?.saturating_sub(count(STEP)?) as f64 / STEP as f64)
}
