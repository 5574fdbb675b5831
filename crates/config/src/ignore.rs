//! Builds a suppression from its entry in the file.

use crate::ConfigError;
use crate::file::{IgnoreIn, Text};
use needless_rules::{Glob, Ignore, LastDay};
use toml::Spanned;
use toml::value::Datetime;

pub(crate) fn ignore(ignore: Spanned<IgnoreIn>, text: &Text<'_>) -> Result<Ignore, ConfigError> {
    let (span, ignore) = (ignore.span(), ignore.into_inner());
    let glob = |word: Option<Spanned<String>>| {
        let understood = word
            .map(|word| Glob::new(word.get_ref()).map_err(|what| text.wrong(&word.span(), what)));
        understood.transpose()
    };
    let reason = ignore.reason.get_ref().split_whitespace().collect::<Vec<_>>().join(" ");
    if reason.is_empty() {
        let what = "the reason is empty: say why the finding is ignored, for people who read this next year";
        return Err(text.wrong(&ignore.reason.span(), what));
    }
    let until = ignore.until.map(|until| {
        date(until.get_ref()).ok_or_else(|| {
            text.wrong(&until.span(), "`until` is a day, the last on which it holds: 2027-06-30")
        })
    });
    Ok(Ignore {
        place: text.line(&span),
        rule: ignore.rule.into_inner(),
        program: glob(ignore.program)?,
        path: glob(ignore.path)?,
        unit: glob(ignore.unit)?,
        reason,
        until: until.transpose()?,
    })
}

fn date(until: &Datetime) -> Option<LastDay> {
    match (until.date, until.time) {
        (Some(date), None) => {
            Some(LastDay { year: date.year.into(), month: date.month, day: date.day })
        }
        _ => None,
    }
}
