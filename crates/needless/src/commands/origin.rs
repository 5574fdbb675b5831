//! `origin`: where a variable of a process, a unit or a command comes from.

use crate::cli::OriginArgs;
use crate::context::Context;
use crate::exit;
use crate::output::{self, Output, Stream};
use anyhow::Result;
use needless_environment::{self as environment, check_variable};
use needless_model::{Exit, Provenance};
use needless_observe::{BackendChoice, ObserveOptions};
use needless_report::{OriginDocument, OriginFormat};

pub(crate) fn origin(args: &OriginArgs, context: &Context) -> Result<Exit> {
    check_variable(&args.variable)?;
    if !args.command.is_empty() {
        return of_run(args, context);
    }
    let (unit, user) = match &args.user_unit {
        Some(unit) => (Some(unit), true),
        None => (args.unit.as_ref(), false),
    };
    let pid = match unit {
        // As `fix` does: where a main process only forks to work, its worker has the variable.
        Some(unit) => environment::main_process_of(unit, user).map(|main| {
            environment::deciding((!user).then_some(unit.as_str()), main, &args.variable)
        }),
        None => args.pid,
    };
    let origin = match pid {
        Some(pid) => environment::origin_of_process(pid, &args.variable).map(|(_, origin)| origin),
        None => {
            let unit = unit.map(String::as_str).unwrap_or_default();
            environment::origin_of_stopped_unit(unit, &args.variable, user)
        }
    };
    emit(origin?.provenance, args, open(args, Stream::Stdout, context)?)?;
    Ok(exit::DONE)
}

/// Runs the command and watches each of its programs start; ends as the command does.
fn of_run(args: &OriginArgs, context: &Context) -> Result<Exit> {
    let output = open(args, Stream::Stderr, context)?;
    let options = ObserveOptions {
        backend: BackendChoice::Ptrace,
        watch: [args.variable.as_str()].into(),
        ..ObserveOptions::default()
    };
    let captured = needless_observe::run(&args.command, context.user.caller(), &options)?;
    let story = environment::trace_run(&captured.profile, &args.variable);
    if let Err(error) = emit(story, args, output) {
        output::warn(format_args!("{error:#}"));
    }
    Ok(captured.exit)
}

fn open<'a>(args: &OriginArgs, stream: Stream, context: &'a Context) -> Result<Output<'a>> {
    let endings = (!args.json).then_some(OriginFormat::ENDINGS);
    Output::open(context, args.output.as_deref(), stream, endings)
}

fn emit(mut story: Provenance, args: &OriginArgs, output: Output<'_>) -> Result<()> {
    if !args.show_value {
        environment::redact(&mut story);
    }
    let by_ending = args.output.as_deref().and_then(OriginFormat::of_path);
    let format = match (args.json || by_ending == Some(OriginFormat::Json), args.all) {
        (true, _) => OriginFormat::Json,
        (false, true) => OriginFormat::Full,
        (false, false) => OriginFormat::Concise,
    };
    let document = OriginDocument::of(&story, crate::VERSION);
    output.emit(|out, style| needless_report::write_origin(out, &document, format, style))
}
