//! `cargo xtask lab`: the laboratory, built with the preload library beside it, whose column it then has.

use anyhow::{Context, Result, ensure};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds both, and becomes the laboratory.
///
/// # Errors
/// When one of them cannot be built or started.
pub(crate) fn lab(root: &Path, words: &[&str]) -> Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let build = root.join("libneedless/preload/build-so");
    let built = Command::new(&build).arg(target.join("release")).status();
    ensure!(built.context("cannot run build-so")?.success(), "{} failed", build.display());
    let mut lab = Command::new(env!("CARGO"));
    lab.args("run --quiet --release --locked --package needless-lab --manifest-path".split(' '));
    let error = lab.arg(root.join("Cargo.toml")).arg("--").args(words).exec();
    Err(error).context("cannot run cargo")
}
