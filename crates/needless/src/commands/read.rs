//! `read`: judges logs of strace.

use crate::cli::ReadArgs;
use crate::context::Context;
use crate::exit;
use crate::output::Stream;
use crate::report::Reporter;
use anyhow::{Context as _, Result, bail};
use needless_model::{Exit, Profile};
use needless_report::Source;
use needless_strace_log::ReadOptions;
use std::path::Path;

pub(crate) fn read(args: &ReadArgs, context: &Context) -> Result<Exit> {
    let reporter = Reporter::open(context, &args.report, Stream::Stdout)?;
    let options = ReadOptions { watch: context.settings.watched.clone(), ..ReadOptions::default() };
    let stdin = Path::new("-");
    if args.files.len() > 1 && args.files.iter().any(|file| file == stdin) {
        bail!("-: standard input is one log: it cannot be read together with files");
    }
    let profile = context.user.act(|| -> Result<Profile> {
        let mut profile = if args.files == [stdin] {
            needless_strace_log::read(std::io::stdin().lock(), "standard input", &options)?
        } else {
            needless_strace_log::read_files(&args.files, &options)?
        };
        if args.here {
            let own = needless_host::Roots::new(Vec::new()).context("cannot open /")?;
            needless_observe::enrich(&mut profile, &own);
        }
        Ok(profile)
    })??;
    let names = args
        .files
        .iter()
        .map(|file| if file == stdin { "standard input".into() } else { file.to_string_lossy() });
    let source = Source::Log(names.collect::<Vec<_>>().join(" "));
    Ok(exit::answer(reporter.emit(&profile, source, None, &[])?))
}
