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
        _ => Who::Processes(args.pids.clone()),
    };
    let source = Source::Attach(who.to_string());
    observe(&who, &args.window, source, &args.report, None, context)
}

pub(crate) fn host(args: &HostArgs, context: &Context) -> Result<Exit> {
    observe(&Who::Everyone, &args.window, Source::Host, &args.report, Some(args.top), context)
}

fn observe(
    who: &Who,
    window: &WindowArgs,
    source: Source,
    report: &ReportArgs,
    top: Option<usize>,
    context: &Context,
) -> Result<Exit> {
    let reporter = Reporter::open(context, report, Stream::Stdout)?;
    let options = ObserveOptions {
        all: window.all,
        latency: window.latency,
        watch: context.settings.watched.clone(),
        rights: reporter.rights(context),
        above: Some(needless_environment::look_above),
        ..ObserveOptions::default()
    };
    let mut progress = Progress::new(who, window.length);
    let profile = needless_observe::window(who, window.length, &options, &mut |so_far| {
        progress.show(so_far);
    });
    drop(progress);
    Ok(exit::answer(reporter.emit(&profile?, source, top, &[])?))
}
