//! A profile, judged and reported: the end of `run`, `attach`, `host` and `read`.

use crate::cli::ReportArgs;
use crate::context::Context;
use crate::output::{Output, Stream};
use crate::policy::Policy;
use anyhow::Result;
use needless_model::Profile;
use needless_observe::Rights;
use needless_report::{Report, ReportFormat, Source, write};

/// Where a report goes and what it is judged by, checked before anything is observed.
pub(crate) struct Reporter<'a> {
    output: Output<'a>,
    policy: Policy<'a>,
    format: Option<ReportFormat>,
}

impl<'a> Reporter<'a> {
    /// # Errors
    /// When a file that the options name cannot be read or written.
    pub(crate) fn open(
        context: &'a Context,
        args: &ReportArgs,
        stream: Stream,
    ) -> Result<Reporter<'a>> {
        let output = Output::of_report(context, args, stream)?;
        Ok(Reporter { output, policy: Policy::open(context, args)?, format: args.format })
    }

    /// The rights that writing the report takes.
    pub(crate) fn rights(&self, context: &Context) -> Rights {
        let anywhere = self.output.needs_capabilities() || self.policy.needs_capabilities();
        Rights::for_report(context.user.is_other(), anywhere)
    }

    /// Whether the user relies on the judgement: the exit status then says where there is none.
    pub(crate) fn is_relied_on(&self) -> bool {
        self.policy.is_relied_on()
    }

    /// Judges and reports. Returns whether the findings are within the budget.
    ///
    /// # Errors
    /// When the report or the new baseline cannot be written.
    pub(crate) fn emit(
        self,
        profile: &Profile,
        source: Source,
        top: Option<usize>,
    ) -> Result<bool> {
        let Reporter { output, policy, format } = self;
        let mut verdict = match source {
            Source::Attach(_) | Source::Host => {
                needless_rules::check_by_service(profile, policy.options())
            }
            Source::Run(_) | Source::Log(_) => needless_rules::check(profile, policy.options()),
        };
        let judgement = policy.judge(&mut verdict, profile, &source)?;
        let version = crate::VERSION;
        let report = Report { profile, verdict: &verdict, source, top, proof: None, version };
        judgement.end(emit(&report, output, format))
    }
}

/// Writes a report.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn emit(
    report: &Report<'_>,
    output: Output<'_>,
    format: Option<ReportFormat>,
) -> Result<()> {
    let format = output.format(format);
    output.emit(|out, style| write(out, report, format, style))
}
