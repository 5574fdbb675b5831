//! `attach` and `host`: observe for a while what runs already, and report by service.

use crate::cli::{AttachArgs, HostArgs, ReportArgs, WindowArgs};
use crate::context::Context;
use crate::exit;
use crate::output::Stream;
use crate::progress::Progress;
use crate::report::Reporter;
use anyhow::Result;
use needless_model::Exit;
use needless_observe::{ObserveOptions, Who};
use needless_report::Source;

pub(crate) fn attach(args: &AttachArgs, context: &Context) -> Result<Exit> {
    let who = match (&args.unit, &args.container, &args.cgroup) {
        (Some(unit), ..) => Who::Unit(unit.clone()),
        (_, Some(container), _) => Who::Container(container.clone()),
        (.., Some(cgroup)) => Who::Cgroup(cgroup.clone()),
        _ if args.only => Who::Processes(args.pids.clone()),
        _ => Who::WithDescendants(args.pids.clone()),
    };
    observe(&who, &args.window, &args.report, None, context)
}

pub(crate) fn host(args: &HostArgs, context: &Context) -> Result<Exit> {
    observe(&Who::Everyone, &args.window, &args.report, Some(args.top), context)
}

fn observe(
    who: &Who,
    window: &WindowArgs,
    report: &ReportArgs,
    top: Option<usize>,
    context: &Context,
) -> Result<Exit> {
    let reporter = Reporter::open(context, report, Stream::Stdout)?;
    let options = ObserveOptions {
        latency: window.latency,
        watch: context.settings.watched.clone(),
        rights: reporter.rights(context),
        above: Some(needless_environment::look_above),
        ..ObserveOptions::default()
    };
    let mut progress = Progress::new(who, window.length);
    let observed = needless_observe::window(who, window.length, &options, &mut |so_far| {
        progress.show(so_far);
    });
    drop(progress);
    let observed = observed?;
    let source = match who {
        Who::Everyone => Source::Host,
        _ => Source::Attach(observed.whose),
    };
    Ok(exit::answer(reporter.emit(&observed.profile, source, top, &[])?))
}
