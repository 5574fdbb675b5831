//! Counting the calls of a small command of our own, for experiments.

use crate::run::{Backend, Failure, ObserveOptions, count};
use needless_launch::{Launch, Stdio};
use needless_model::Profile;
use std::ffi::OsString;
use std::path::Path;

/// Runs `program` under ptrace with these arguments (its own name first) and this environment, without
/// input and output, and counts each of its calls.
///
/// `watch`: the variables that the profile may hold.
///
/// # Errors
/// When it cannot be run, or not be traced.
pub fn count_command(
    program: &Path,
    argv: &[OsString],
    env: Vec<(OsString, OsString)>,
    watch: &'static [&'static str],
) -> Result<Profile, Failure> {
    let launch = Launch {
        program: program.to_owned(),
        argv: argv.to_vec(),
        env: Some(env),
        stdio: Stdio::Null,
        caller: None,
    };
    let options = ObserveOptions { backend: Backend::Ptrace, watch, ..ObserveOptions::default() };
    count(launch, &options).map(|captured| captured.profile)
}
