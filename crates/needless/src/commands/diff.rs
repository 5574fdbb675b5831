//! `diff`: compares two captures.

use crate::cli::{DiffArgs, FailOn, OutputArgs};
use crate::context::Context;
use crate::exit;
use crate::output::{self, Output, Stream, emit_all};
use anyhow::{Context as _, Result, anyhow, bail};
use needless_model::{Exit, Snapshot, changed_rows};
use needless_report::{DiffDocument, Difference, Saved};
use needless_strace_log::ReadOptions;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub(crate) fn diff(args: &DiffArgs, context: &Context) -> Result<Exit> {
    let outputs = args.output.open(context)?;
    let (before, after) = (capture(&args.before, context)?, capture(&args.after, context)?);
    let difference = Difference { before: &before, after: &after, service: false };
    let exceeded = match args.fail_on {
        Some(limit) if exceeds(limit, &difference)? => Some(limit),
        _ => None,
    };
    emit(&difference, &args.output, outputs)?;
    if let Some(limit) = exceeded {
        output::warn(format_args!("failed: more calls are made than --fail-on {limit} allows"));
    }
    Ok(exit::answer(exceeded.is_none()))
}

/// Whether the calls grew by more than `limit`.
///
/// # Errors
/// When the two captures did not count the same.
fn exceeds(limit: FailOn, difference: &Difference<'_>) -> Result<bool> {
    let Difference { before, after, .. } = *difference;
    if before.complete != after.complete {
        bail!(
            "--fail-on: one of them counted every call and the other only those that rules need: make both with --all"
        );
    }
    let grew = after.calls.saturating_sub(before.calls);
    Ok(match limit {
        FailOn::Any | FailOn::Large => {
            if !before.all_rows || !after.all_rows {
                bail!(
                    "--fail-on any: a report keeps only the rows of its findings: make both with --format profile"
                );
            }
            changed_rows(before, after).iter().any(|row| row.after > row.before)
        }
        FailOn::Calls(most) => grew > most,
        FailOn::Percent(most) => grew as f64 > most / 100.0 * before.calls as f64,
    })
}

/// Reads a JSON report, a profile or a log of strace.
fn capture(path: &Path, context: &Context) -> Result<Snapshot> {
    let named = || format!("cannot read {}", path.display());
    let mut file = context.user.act(|| File::open(path))?.with_context(named)?;
    let mut start = [0];
    let is_json = file.read(&mut start).with_context(named)? == 1 && start == *b"{";
    if is_json {
        return Ok(saved(path, context)?.snapshot);
    }
    let options = ReadOptions { watch: context.settings.watched.clone(), ..ReadOptions::default() };
    let read = || needless_strace_log::read_files(&[path.to_owned()], &options);
    let profile = context.user.act(read)??;
    Ok(Snapshot::of(&profile, path.to_string_lossy()))
}

/// Reads a JSON report or a profile.
pub(super) fn saved(path: &Path, context: &Context) -> Result<Saved> {
    let text = context.user.text_of(path)?;
    needless_report::read_saved(&text).map_err(|why| anyhow!("{}: {why}", path.display()))
}

pub(super) fn emit(
    difference: &Difference<'_>,
    args: &OutputArgs,
    outputs: Vec<Output<'_>>,
) -> Result<()> {
    let document = DiffDocument::of(difference, crate::VERSION);
    emit_all(outputs, args.format, |out, format, style| {
        needless_report::write_diff(out, &document, format, style)
    })
}

impl OutputArgs {
    /// Where the report goes.
    pub(super) fn open<'a>(&self, context: &'a Context) -> Result<Vec<Output<'a>>> {
        Output::all(context, &self.output, self.format, Stream::Stdout)
    }
}
