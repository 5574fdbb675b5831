//! `run`: observes a command, reports, and ends as the command did.
//!
//! The report's file is opened and the command is looked up as execvp(3) would first, so that a mistake is reported
//! before anything runs.

use crate::cli::RunArgs;
use crate::context::Context;
use crate::output::{self, Stream};
use crate::report::Reporter;
use anyhow::Result;
use needless_model::{Exit, status};
use needless_observe::ObserveOptions;
use needless_report::Source;

pub(crate) fn run(args: &RunArgs, context: &Context) -> Result<Exit> {
    if args.elevate
        && let Some(failure) = needless_observe::elevate()
    {
        return Err(failure.into());
    }
    let reporter = Reporter::open(context, &args.report, Stream::Stderr)?;
    let options = ObserveOptions {
        backend: args.backend.into(),
        all: args.all,
        patch: !args.no_patch,
        latency: args.latency,
        watch: context.settings.watched.clone(),
        rights: reporter.rights(context),
        ..ObserveOptions::default()
    };
    // With ptrace this process is the tracer from here on. The one that the user started waits, and ends as we end.
    let captured = needless_observe::run(&args.command, context.user.caller(), &options)?;
    let source = Source::Run(args.command[0].to_string_lossy().into_owned());
    let relied_on = reporter.is_relied_on();
    let reported = reporter.emit(&captured.profile, source, None, &args.command);
    if let Err(error) = &reported {
        output::warn(format_args!("{error:#}"));
    }
    Ok(match (captured.exit, reported) {
        (Exit::Code(0), Err(_)) if relied_on => Exit::Code(status::FAILED),
        (Exit::Code(0), Ok(false)) => Exit::Code(status::NO),
        // The command's own status takes precedence.
        (exit, _) => exit,
    })
}
