//! The needless calls of a unit's processes, counted before changes and after them.

use crate::context::Context;
use crate::output;
use anyhow::{Result, bail};
use needless_environment::{Calls, Expected};
use needless_model::Fact;
use needless_observe::{ObserveOptions, Who};
use needless_report::{number, per_second};
use needless_rules::{CheckOptions, NotChecked, RULES};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

/// A longer window is announced.
const SOON: Duration = Duration::from_secs(2);

/// Counts calls in windows of one length.
pub(super) struct Counter<'a> {
    pub(super) context: &'a Context,
    pub(super) length: Duration,
}

impl Counter<'_> {
    /// Counts before the change, and remembers it. Where that is not possible, `report` says why.
    ///
    /// # Errors
    /// When the user interrupts it.
    pub(super) fn before(&self, expected: &mut [Expected]) -> Result<()> {
        // Two sessions, or two runs of a job, need not do the same.
        if expected.first().is_none_or(|first| first.next.is_some()) {
            return Ok(());
        }
        let counted = self.count(expected).ok();
        let short = |calls: &Calls| u128::from(calls.length_ns) < self.length.as_nanos() * 9 / 10;
        if counted.as_ref().is_some_and(|(calls, _)| short(calls)) && expected[0].runs() {
            bail!("interrupted: nothing was changed");
        }
        if let Some((calls, callers)) = counted {
            // All that are made together are counted together.
            expected[0].calls = Some(calls);
            expected.iter_mut().for_each(|one| one.callers(&callers));
        }
        Ok(())
    }

    /// Counts after the change, and says what it saved. Returns whether nothing speaks against it: not where the calls
    /// did not become fewer.
    pub(super) fn report(&self, out: &mut impl Write, expected: &[Expected]) -> Result<bool> {
        let before = expected.first().and_then(|first| first.calls);
        let (line, helps) = match (&before, self.count(expected)) {
            (Some(before), Ok((after, _))) => compared(before, &after),
            (None, Ok((after, _))) => (
                format!(
                    "{} calls per second now ({}); before the change they were not counted",
                    rate(&after),
                    length(&after)
                ),
                true,
            ),
            (Some(before), Err(why)) => {
                (format!("{} calls per second before; not counted now: {why}", rate(before)), true)
            }
            (None, Err(why)) => (format!("calls not counted: {why}"), true),
        };
        writeln!(out, "{line}")?;
        Ok(helps)
    }

    /// The calls of the unit's processes that the rules of the changes find needless: the rule of the finding, or all
    /// rules that name the variable; and the processes that make them. All of the changes are about one unit.
    fn count(&self, all: &[Expected]) -> Result<(Calls, Vec<u32>), String> {
        let expected = all.first().ok_or("it is not about one unit")?;
        let settings = &self.context.settings;
        let rules = all.iter().flat_map(|one| match &one.rules[..] {
            [] => self.rules_about(&one.variable),
            rules => rules.to_vec(),
        });
        let only: BTreeSet<String> = rules.collect();
        if only.is_empty() {
            let variables: Vec<&str> = all.iter().map(|one| one.variable.as_str()).collect();
            return Err(format!("no rule is about {}", variables.join(" or ")));
        }
        let options =
            ObserveOptions { watch: settings.watched.clone(), ..ObserveOptions::default() };
        let who = match expected.only() {
            Some(pid) => Who::Processes(vec![pid]),
            None if expected.is_unit() => Who::Unit(expected.unit.clone()),
            None => return Err("it does not run now".into()),
        };
        if self.length > SOON {
            let seconds = self.length.as_secs_f64();
            output::warn(format_args!("counting the calls of {} for {seconds} s", expected.unit));
        }
        let observed = needless_observe::window(&who, self.length, &options, &mut |_| ())
            .map_err(|failure| failure.message)?;
        let profile = observed.profile;
        let length_ns = profile.window.length_ns.filter(|ns| *ns > 0).ok_or("it ended at once")?;
        let options = CheckOptions {
            min_saving_percent: 0.0,
            only: only.into_iter().collect(),
            pedantic: true,
            declared: settings.rules.clone(),
            ..CheckOptions::default()
        };
        let verdict = needless_rules::check(&profile, &options);
        let found = || verdict.findings.iter().chain(&verdict.below);
        let needless = found().map(|finding| finding.needless).sum();
        let callers = found().flat_map(|finding| &finding.processes);
        let callers = callers.map(|process| profile.process(*process).pid).collect();
        match verdict.not_checked.first() {
            Some(NotChecked { rule, missing }) if needless == 0 => {
                let missing: Vec<&str> = missing.iter().copied().map(Fact::words).collect();
                Err(format!("{rule} lacks {}", missing.join(", ")))
            }
            _ => {
                let others = profile.totals.calls.saturating_sub(needless);
                Ok((Calls { needless, others, length_ns }, callers))
            }
        }
    }

    /// The rules that read this variable, or advise to change it.
    fn rules_about(&self, variable: &str) -> Vec<String> {
        let known = RULES.iter().filter(|rule| rule.variables.contains(&variable));
        let declared = self.context.settings.rules.iter().filter(|rule| {
            rule.env.iter().any(|(name, _)| name == variable)
                || rule.remedy.change.variable() == Some(variable)
        });
        known
            .map(|rule| rule.name.to_owned())
            .chain(declared.map(|rule| rule.name.to_string()))
            .collect()
    }
}

/// What a change saved, in one line, and whether it may have helped.
fn compared(before: &Calls, after: &Calls) -> (String, bool) {
    let (was, is) = (length(before), length(after));
    let lengths =
        if was == is { format!("{was} each") } else { format!("{was} before, {is} after") };
    let figures =
        format!("{} calls per second before, {} after ({lengths})", rate(before), rate(after));
    // Both as calls in the product of both lengths.
    let scaled = |n: u64, other: &Calls| u128::from(n) * u128::from(other.length_ns);
    let (had, has) = (scaled(before.needless, after), scaled(after.needless, before));
    let (others, others_now) = (scaled(before.others, after), scaled(after.others, before));
    if had == 0 {
        let line = format!("{figures}: nothing to save was seen before; --for counts longer");
        (line, true)
    } else if has * 2 >= had {
        // A second says no more about a program whose work changes.
        (format!("{figures}: it saved little or nothing"), false)
    } else if before.others >= 10 && others_now * 10 < others {
        let line = format!(
            "{figures}; its other calls became as rare ({} before, {} after), so it may be idle: --for counts longer",
            number(before.others),
            number(after.others)
        );
        (line, true)
    } else {
        (figures, true)
    }
}

fn rate(calls: &Calls) -> String {
    per_second(calls.needless, calls.length_ns)
}

/// `1 s`, `0.5 s`, `2.3 s`.
fn length(calls: &Calls) -> String {
    let tenths = (calls.length_ns + 50_000_000) / 100_000_000;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} s"),
        (whole, tenths) => format!("{whole}.{tenths} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(needless: u64, others: u64, tenths: u64) -> Calls {
        Calls { needless, others, length_ns: tenths * 100_000_000 + 3_000_000 }
    }

    #[test]
    fn what_was_saved_and_what_was_not() {
        let both = |before, after| compared(&before, &after);
        let line = |before, after| both(before, after).0;
        let saved = line(calls(401, 5, 10), calls(0, 5, 10));
        assert_eq!(saved, "399 calls per second before, 0 after (1 s each)");
        let longer = line(calls(401, 5, 10), calls(3, 5, 30));
        assert!(longer.ends_with("before, 0.9 after (1 s before, 3 s after)"), "{longer}");
        let (nothing, helps) = both(calls(400, 5, 10), calls(399, 5, 10));
        assert!(nothing.ends_with("(1 s each): it saved little or nothing") && !helps);
        // Twice as long, and twice as many.
        assert!(line(calls(400, 5, 10), calls(800, 5, 20)).contains("saved little or nothing"));
        for after in [0, 3] {
            let (line, helps) = both(calls(0, 5, 10), calls(after, 5, 10));
            assert!(line.contains("nothing to save was seen before") && helps, "{line}");
        }
        let idle = line(calls(400, 900, 10), calls(0, 2, 10));
        assert!(idle.contains("(900 before, 2 after), so it may be idle"), "{idle}");
    }
}
