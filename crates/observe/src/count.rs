//! Counting the calls of a small command, for experiments.

use crate::run::{BackendChoice, Failure, ObserveOptions, count};
use needless_launch::{Launch, Stdio};
use needless_model::{Profile, WatchList};
use std::ffi::OsString;
use std::path::Path;

/// Runs `program` under ptrace with these arguments (its own name first) and this environment, without
/// input and output, and counts each of its calls.
///
/// `watch`: the variables that may be read from the environment.
///
/// # Errors
/// When it cannot be run, or not be traced.
pub fn count_command(
    program: &Path,
    argv: &[OsString],
    env: Vec<(OsString, OsString)>,
    watch: WatchList,
) -> Result<Profile, Failure> {
    let launch = Launch {
        program: program.to_owned(),
        argv: argv.to_vec(),
        env: Some(env),
        stdio: Stdio::Null,
        caller: None,
    };
    let options =
        ObserveOptions { backend: BackendChoice::Ptrace, watch, ..ObserveOptions::default() };
    count(launch, &options).map(|captured| captured.profile)
}
