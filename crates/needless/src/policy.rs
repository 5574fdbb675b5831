//! Between the rules and the report: suppressions, the baseline, and whether all is within the budget.

use crate::cli::{self, ColorMode, FailOn};
use crate::output::{self, Output, Stream};
use crate::{settings, whose};
use anyhow::{Context, Result, anyhow};
use needless_localtime::gmtime;
use needless_model::Profile;
use needless_report::{Format, Report, Source};
use needless_rules::{CheckOptions, Date, Known, Verdict};
use std::path::Path;
use std::time::SystemTime;

/// What was asked for, its files looked at before anything runs.
pub(crate) struct Policy {
    options: CheckOptions,
    baseline: Option<Vec<Known>>,
    pub(crate) save: Option<Output>,
    fail_on: Option<FailOn>,
}

impl Policy {
    /// # Errors
    /// When the baseline cannot be read, or the new one could not be written.
    pub(crate) fn open(asked: &cli::Report) -> Result<Policy> {
        let save = asked.save_baseline.as_deref();
        Ok(Policy {
            options: crate::rules(asked),
            baseline: asked.baseline.as_deref().map(known).transpose()?,
            // A baseline is a JSON report, whatever its file is called.
            save: save.map(|path| Output::open(Some(path), Stream::Stdout, None)).transpose()?,
            fail_on: asked.fail_on,
        })
    }

    /// Whether somebody relies on the outcome: it is to fail, then, where it cannot be had.
    pub(crate) fn is_asked(&self) -> bool {
        self.fail_on.is_some() || self.save.is_some()
    }

    /// What the rules are to be asked with.
    pub(crate) fn options(&self) -> &CheckOptions {
        &self.options
    }

    /// Takes out of the verdict what is suppressed or known, and judges the rest. Nothing is written yet:
    /// a file that cannot be does not change the judgement.
    ///
    /// # Errors
    /// When the new baseline cannot be formed.
    pub(crate) fn judge(
        self,
        verdict: &mut Verdict,
        profile: &Profile,
        source: &Source,
    ) -> Result<Judgement> {
        suppress(verdict, profile, &self.options);
        let mut save = None;
        if let Some(output) = self.save {
            let report = Report {
                profile,
                verdict,
                source: source.clone(),
                top: None,
                proof: None,
                version: env!("CARGO_PKG_VERSION"),
            };
            let mut text = Vec::new();
            let style = output.style(ColorMode::Never);
            needless_report::write(&mut text, &report, Format::Json, style)
                .context("cannot form the baseline")?;
            save = Some((output, text));
        }
        if let Some(baseline) = &self.baseline {
            let window = matches!(source, Source::Attach(_) | Source::Host);
            let length = profile.window.length_ns.filter(|_| window);
            let window_s = length.map(|ns| ns as f64 / 1e9);
            needless_rules::leave_out_known(verdict, profile, baseline, window_s);
        }
        let exceeded = self.fail_on.filter(|limit| !limit.holds(verdict, profile));
        Ok(Judgement { exceeded, save })
    }
}

/// What came of it.
pub(crate) struct Judgement {
    exceeded: Option<FailOn>,
    /// The new baseline, to be written.
    save: Option<(Output, Vec<u8>)>,
}

impl Judgement {
    /// Writes the new baseline, and says after the report that the budget is exceeded. Whether it is not.
    ///
    /// # Errors
    /// When the report, as `reported` says, or the baseline could not be written. Both were tried.
    pub(crate) fn end(self, reported: Result<()>) -> Result<bool> {
        let saved = self.save.map_or(Ok(()), |(output, text)| output.write(&text));
        if let Some(limit) = self.exceeded {
            output::say(format_args!("failed: more is needless than --fail-on {limit} allows"));
        }
        if let (Err(_), Err(error)) = (&reported, &saved) {
            output::say(format_args!("{error:#}"));
        }
        reported.and(saved).map(|()| self.exceeded.is_none())
    }
}

/// Takes out of the verdict what needless.toml says.
pub(crate) fn suppress(verdict: &mut Verdict, profile: &Profile, options: &CheckOptions) {
    let ignores = &settings::get().ignores;
    needless_rules::suppress(verdict, profile, ignores, options, today());
}

/// The day in UTC.
fn today() -> Date {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(since.as_secs()).ok().and_then(gmtime);
    // `tm_year` counts from 1900, `tm_mon` from 0.
    now.map_or(Date { year: 1970, month: 1, day: 1 }, |now| Date {
        year: now.year + 1900,
        month: now.mon as u8 + 1,
        day: now.mday as u8,
    })
}

fn known(path: &Path) -> Result<Vec<Known>> {
    let text = whose::text_of(path)?;
    let saved = needless_report::read_saved(&text);
    let saved = saved.map_err(|why| anyhow!("{}: {why}", path.display()))?;
    saved.known.with_context(|| {
        format!("{}: a profile holds no findings: a baseline is a JSON report", path.display())
    })
}

impl FailOn {
    /// Whether the findings are within it.
    fn holds(self, verdict: &Verdict, profile: &Profile) -> bool {
        let calls: u64 = verdict.findings.iter().map(|finding| finding.needless).sum();
        match self {
            FailOn::Any => verdict.findings.is_empty(),
            FailOn::Calls(most) => calls <= most,
            FailOn::Percent(most) => {
                calls as f64 <= most / 100.0 * profile.totals.path_calls as f64
            }
        }
    }
}
