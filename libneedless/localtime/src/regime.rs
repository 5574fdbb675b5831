//! What a zone says of the time around a moment: its offset, flag and names, and for how long.

use crate::civil::{self, DAY, Date};
use crate::spans::{Kind, Spans};
use crate::tail::Tail;
use crate::zone::{Globals, Zone};
use core::ffi::CStr;
use core::ops::Range;

/// What a zone says of a moment, but for the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Regime<'z> {
    /// Seconds east of UTC, `tm_gmtoff`.
    pub gmtoff: i32,
    /// Whether it is daylight saving time, `tm_isdst`.
    pub isdst: bool,
    /// The abbreviation, `tm_zone`.
    pub abbr: &'z CStr,
    /// What a conversion leaves in `tzname`, `timezone` and `daylight`.
    pub globals: Globals<'z>,
}

impl Zone {
    /// The regime at `t` seconds after 1970-01-01 00:00:00 UTC.
    ///
    /// `None`: the zone is a POSIX text and the year in UTC does not fit `tm_year`, so its rules say nothing.
    #[inline(always)]
    pub fn regime(&self, t: i64) -> Option<Regime<'_>> {
        if let Some(spans) = &self.spans
            && let Some((kind, names)) = spans.at(t)
        {
            return Some(self.of_kind(kind, names));
        }
        self.regime_by_rules(t)
    }

    /// Whether the rules of a POSIX text, or of a file's footer, say what holds at `t`, if its year in UTC fits.
    pub fn is_by_rules(&self, t: i64) -> bool {
        let after_file = |spans: &Spans| spans.end().is_some_and(|end| t >= end);
        self.spans.as_ref().is_none_or(after_file)
    }

    #[inline(always)]
    fn of_kind<'z>(&'z self, kind: &'z Kind, names: [&'z CStr; 2]) -> Regime<'z> {
        Regime {
            gmtoff: kind.offset,
            isdst: kind.isdst,
            abbr: &kind.abbr,
            globals: Globals { names, ..self.fresh() },
        }
    }

    #[inline(always)]
    fn regime_by_rules(&self, t: i64) -> Option<Regime<'_>> {
        let tail = self.tail.as_ref()?;
        if !(civil::FIRST..=civil::LAST).contains(&t) {
            return self.regime_far_away(tail);
        }
        let isdst = tail.always().is_none() && {
            let (day, second) = civil::split(t);
            tail.is_dst(t, &Date::of(day)?, second)
        };
        Some(of_rules(tail, isdst))
    }

    /// The rules are for years that fit; a file's last offset may bring this one back.
    #[cold]
    fn regime_far_away<'z>(&'z self, tail: &'z Tail) -> Option<Regime<'z>> {
        let kind = self.spans.as_ref()?.last();
        let mut names = [&*tail.names[0], &*tail.names[1]];
        names[usize::from(kind.isdst)] = &kind.abbr;
        Some(self.of_kind(kind, names))
    }

    /// The regime at `t`, and seconds around `t` throughout which it holds: those between two changes, or
    /// between a change and a new year.
    ///
    /// `None` where that is not known: in zones with leap seconds, in files whose transitions are out
    /// of order, and in years far away.
    pub fn regime_around(&self, t: i64) -> Option<(Regime<'_>, Range<i64>)> {
        let (day, second) = civil::split(t);
        self.regime_around_date(t, &Date::of(day)?, second)
    }

    /// The same; `date` and `second` are those of `t` in UTC.
    #[inline]
    pub(crate) fn regime_around_date(
        &self,
        t: i64,
        date: &Date,
        second: i32,
    ) -> Option<(Regime<'_>, Range<i64>)> {
        if self.has_leaps() {
            return None;
        }
        let Some(spans) = &self.spans else { return self.rules_around(t, date, second) };
        if let Some((kind, names)) = spans.at(t) {
            return Some((self.of_kind(kind, names), spans.around(t)?));
        }
        let (regime, range) = self.rules_around(t, date, second)?;
        Some((regime, range.start.max(spans.end()?)..range.end))
    }

    #[inline]
    fn rules_around(&self, t: i64, date: &Date, second: i32) -> Option<(Regime<'_>, Range<i64>)> {
        let tail = self.tail.as_ref()?;
        if tail.always().is_some() {
            return Some((of_rules(tail, false), civil::FIRST..civil::LAST + 1));
        }
        let moment = i64::from(date.yday) * DAY + i64::from(second);
        let (isdst, around) = tail.unchanged_in_year(date, moment)?;
        let start = t - moment;
        Some((of_rules(tail, isdst), start + around.start..start + around.end))
    }
}

/// The regime by the rules: daylight saving time, or not.
#[inline(always)]
fn of_rules(tail: &Tail, isdst: bool) -> Regime<'_> {
    let [standard, summer] = tail.offsets;
    Regime {
        gmtoff: if isdst { summer } else { standard },
        isdst,
        abbr: &tail.names[usize::from(isdst)],
        globals: Globals {
            names: [&*tail.names[0], &*tail.names[1]],
            timezone: -i64::from(standard),
            daylight: i32::from(standard != summer),
        },
    }
}
