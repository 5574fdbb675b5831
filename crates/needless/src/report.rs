//! A profile, judged and reported: the end of `run`, `attach`, `host` and `read`.

use crate::cli::ReportArgs;
use crate::context::Context;
use crate::output::{Output, Stream};
use crate::places;
use crate::policy::Policy;
use anyhow::Result;
use needless_model::Profile;
use needless_observe::Rights;
use needless_report::{Details, Report, ReportDocument, ReportFormat, Source, write};
use std::ffi::OsString;

/// Where a report goes and what it is judged by, checked before anything is observed.
pub(crate) struct Reporter<'a> {
    context: &'a Context,
    outputs: Vec<Output<'a>>,
    policy: Policy<'a>,
    format: Option<ReportFormat>,
    details: Details,
}

impl<'a> Reporter<'a> {
    /// # Errors
    /// When a file that the options name cannot be written.
    pub(crate) fn open(
        context: &'a Context,
        args: &ReportArgs,
        stream: Stream,
    ) -> Result<Reporter<'a>> {
        Ok(Reporter {
            context,
            outputs: outputs(context, args, stream)?,
            policy: Policy::new(context, args),
            format: args.format(),
            details: args.details(),
        })
    }

    /// The rights that writing the report takes.
    pub(crate) fn rights(&self, context: &Context) -> Rights {
        let anywhere = self.outputs.iter().any(Output::needs_capabilities);
        Rights::for_report(context.user.is_other(), anywhere)
    }

    /// Whether the user relies on the judgement: the exit status then says where there is none.
    pub(crate) fn is_relied_on(&self) -> bool {
        self.policy.is_relied_on()
    }

    /// Judges and reports; `command` is what was run. Returns whether the findings are within the budget.
    ///
    /// # Errors
    /// When the report cannot be written.
    pub(crate) fn emit(
        self,
        profile: &Profile,
        source: Source,
        top: Option<usize>,
        command: &[OsString],
    ) -> Result<bool> {
        let Reporter { context, outputs, policy, format, details } = self;
        let mut verdict = match source {
            Source::Attach(_) | Source::Host => {
                needless_rules::check_by_service(profile, policy.options())
            }
            Source::Run(_) | Source::Log(_) => needless_rules::check(profile, policy.options()),
        };
        let judgement = policy.judge(&mut verdict, profile, &source);
        if let Source::Run(program) = &source
            && points_at_files(&outputs, format)
        {
            verdict.places = places::of(verdict.findings.iter(), profile, program, context);
            verdict.file = places::of_command(program);
        }
        let document = ReportDocument::of(profile, &verdict, &source, None, crate::VERSION);
        let rows = Some((profile, &verdict));
        let report = Report { document: &document, rows, top, details, command };
        judgement.end(emit(&report, outputs, format))
    }
}

/// Whether one of the outputs has the place of each finding's variable.
pub(crate) fn points_at_files(outputs: &[Output<'_>], format: Option<ReportFormat>) -> bool {
    // The saved report can become one of the others.
    let points = [ReportFormat::Sarif, ReportFormat::Github, ReportFormat::Json];
    outputs.iter().any(|output| points.contains(&output.format(format)))
}

/// Where the report goes.
///
/// # Errors
/// As for [`Output::of_report`].
pub(crate) fn outputs<'a>(
    context: &'a Context,
    args: &ReportArgs,
    stream: Stream,
) -> Result<Vec<Output<'a>>> {
    if args.quiet && args.output.is_empty() {
        return Ok(Vec::new());
    }
    Output::of_report(context, &args.output, args.format(), stream)
}

/// Writes a report to each output. The arguments of the command are shown only on a terminal.
///
/// # Errors
/// When one cannot be written; the others are.
pub(crate) fn emit(
    report: &Report<'_>,
    outputs: Vec<Output<'_>>,
    format: Option<ReportFormat>,
) -> Result<()> {
    let mut written = Ok(());
    for output in outputs {
        let terminal = output.is_terminal();
        let report = Report {
            command: if terminal { report.command } else { &[] },
            details: Details { end_first: terminal, ..report.details },
            ..*report
        };
        let format = output.format(format);
        let one = output.emit(|out, style| write(out, &report, format, style));
        written = written.and(one);
    }
    written
}
