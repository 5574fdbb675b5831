//! Between the rules and the report: suppressions and the budget.

use crate::cli::{FailOn, ReportArgs};
use crate::context::Context;
use crate::output;
use anyhow::Result;
use needless_model::Profile;
use needless_report::Source;
use needless_rules::{CheckOptions, Verdict, by_remedy};

/// What the options say.
pub(crate) struct Policy<'a> {
    context: &'a Context,
    options: CheckOptions,
    fail_on: Option<FailOn>,
}

impl<'a> Policy<'a> {
    /// As the options of a report say.
    pub(crate) fn new(context: &'a Context, args: &ReportArgs) -> Policy<'a> {
        let options = context.settings.check_options(args);
        Policy { context, options, fail_on: args.fail_on }
    }

    /// Whether the user relies on the judgement.
    pub(crate) fn is_relied_on(&self) -> bool {
        self.fail_on.is_some()
    }

    /// The options for the rules.
    pub(crate) fn options(&self) -> &CheckOptions {
        &self.options
    }

    /// Takes out of the verdict what is suppressed, and judges the rest. Nothing is written yet, so that a file that
    /// cannot be written does not change the judgement.
    pub(crate) fn judge(
        self,
        verdict: &mut Verdict,
        profile: &Profile,
        source: &Source,
    ) -> Judgement {
        self.context.settings.suppress(verdict, profile, &self.options);
        Judgement(self.fail_on.filter(|limit| !limit.holds(verdict, profile, source)))
    }
}

/// The budget that the findings exceed, if they do.
pub(crate) struct Judgement(Option<FailOn>);

impl Judgement {
    /// To be called after the report: warns where the budget is exceeded. Returns whether the findings are within it.
    ///
    /// # Errors
    /// When the report (see `reported`) could not be written.
    pub(crate) fn end(self, reported: Result<()>) -> Result<bool> {
        if let Some(limit) = self.0 {
            output::warn(format_args!("failed: more is needless than --fail-on {limit} allows"));
        }
        reported.map(|()| self.0.is_none())
    }
}

impl FailOn {
    /// Whether the findings are within it.
    fn holds(self, verdict: &Verdict, profile: &Profile, source: &Source) -> bool {
        let calls: u64 = verdict.findings.iter().map(|finding| finding.needless).sum();
        match self {
            FailOn::Any => verdict.findings.is_empty(),
            FailOn::Large => {
                let scale = source.scale(profile);
                by_remedy(&verdict.findings).iter().all(|findings| scale.is_small_remedy(findings))
            }
            FailOn::Calls(most) => calls <= most,
            FailOn::Percent(most) => {
                calls as f64 <= most / 100.0 * profile.totals.path_calls as f64
            }
        }
    }
}
