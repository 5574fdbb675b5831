//! Between the rules and the report: suppressions, the baseline and the budget.

use crate::cli::{FailOn, ReportArgs};
use crate::context::Context;
use crate::output::{self, Output, Stream};
use anyhow::{Context as _, Result, anyhow};
use needless_model::Profile;
use needless_report::{Details, Report, ReportFormat, Source, Style};
use needless_rules::{CheckOptions, Known, Verdict, by_remedy};
use std::path::Path;

/// What the options say, with their files opened before anything runs.
pub(crate) struct Policy<'a> {
    context: &'a Context,
    options: CheckOptions,
    baseline: Option<Vec<Known>>,
    save: Option<Output<'a>>,
    fail_on: Option<FailOn>,
}

impl<'a> Policy<'a> {
    /// # Errors
    /// When the baseline cannot be read, or the new one cannot be written.
    pub(crate) fn open(context: &'a Context, args: &ReportArgs) -> Result<Policy<'a>> {
        let save = args.save_baseline.as_deref();
        // A baseline is a JSON report, whatever its file is called.
        let save = save.map(|path| Output::open(context, Some(path), Stream::Stdout, None));
        Ok(Policy {
            context,
            options: context.settings.check_options(args),
            baseline: args.baseline.as_deref().map(|path| known(context, path)).transpose()?,
            save: save.transpose()?,
            fail_on: args.fail_on,
        })
    }

    /// Whether the user relies on the judgement.
    pub(crate) fn is_relied_on(&self) -> bool {
        self.fail_on.is_some() || self.save.is_some()
    }

    /// Whether only root's capabilities let the new baseline be written.
    pub(crate) fn needs_capabilities(&self) -> bool {
        self.save.as_ref().is_some_and(Output::needs_capabilities)
    }

    /// The options for the rules.
    pub(crate) fn options(&self) -> &CheckOptions {
        &self.options
    }

    /// Takes out of the verdict what is suppressed or known, and judges the rest. Nothing is written yet, so that
    /// a file that cannot be written does not change the judgement.
    ///
    /// # Errors
    /// When the new baseline cannot be formed.
    pub(crate) fn judge(
        self,
        verdict: &mut Verdict,
        profile: &Profile,
        source: &Source,
    ) -> Result<Judgement<'a>> {
        self.context.settings.suppress(verdict, profile, &self.options);
        let mut save = None;
        if let Some(output) = self.save {
            let report = Report {
                profile,
                verdict,
                source: source.clone(),
                top: None,
                details: Details::default(),
                command: &[],
                proof: None,
                version: crate::VERSION,
            };
            let mut text = Vec::new();
            let plain = Style { colour: false, width: 100 };
            needless_report::write(&mut text, &report, ReportFormat::Json, plain)
                .context("cannot form the baseline")?;
            save = Some((output, text));
        }
        if let Some(baseline) = &self.baseline {
            let window = matches!(source, Source::Attach(_) | Source::Host);
            let length = profile.window.length_ns.filter(|_| window);
            let window_s = length.map(|ns| ns as f64 / 1e9);
            needless_rules::leave_out_known(verdict, profile, baseline, window_s);
        }
        let exceeded = self.fail_on.filter(|limit| !limit.holds(verdict, profile, source));
        Ok(Judgement { exceeded, save })
    }
}

/// Whether the findings are within the budget.
pub(crate) struct Judgement<'a> {
    exceeded: Option<FailOn>,
    /// The new baseline, to be written.
    save: Option<(Output<'a>, Vec<u8>)>,
}

impl Judgement<'_> {
    /// To be called after the report: writes the new baseline, and warns where the budget is exceeded. Returns whether
    /// the findings are within it.
    ///
    /// # Errors
    /// When the report (see `reported`) or the baseline could not be written. Both were tried.
    pub(crate) fn end(self, reported: Result<()>) -> Result<bool> {
        let saved = self.save.map_or(Ok(()), |(output, text)| output.write(&text));
        if let Some(limit) = self.exceeded {
            output::warn(format_args!("failed: more is needless than --fail-on {limit} allows"));
        }
        if let (Err(_), Err(error)) = (&reported, &saved) {
            output::warn(format_args!("{error:#}"));
        }
        reported.and(saved).map(|()| self.exceeded.is_none())
    }
}

fn known(context: &Context, path: &Path) -> Result<Vec<Known>> {
    let text = context.user.text_of(path)?;
    let saved = needless_report::read_saved(&text);
    let saved = saved.map_err(|why| anyhow!("{}: {why}", path.display()))?;
    saved.known.with_context(|| {
        format!("{}: a profile has no findings: pass a JSON report as baseline", path.display())
    })
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
