//! The local time type of a moment (RFC 9636 section 3.2): its offset, flag and abbreviation, and how long it
//! stays in force.

use crate::civil::{self, DAY, Date};
use crate::transitions::{NamedType, Transitions};
use crate::yearly_rules::YearlyRules;
use crate::zone::{Globals, Zone};
use core::ffi::CStr;
use core::ops::Range;

/// A local time type, and the variables of `tzset(3)` while it is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTimeType<'z> {
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
    /// The local time type at `t` seconds after 1970-01-01 00:00:00 UTC.
    ///
    /// `None`: the zone is a TZ string and the year in UTC does not fit `tm_year`, so its rules do not apply.
    #[inline(always)]
    pub fn local_time_type(&self, t: i64) -> Option<LocalTimeType<'_>> {
        if let Some(transitions) = &self.transitions
            && let Some((kind, names)) = transitions.at(t)
        {
            return Some(self.of_type(kind, names));
        }
        self.by_rules(t)
    }

    /// As [`Zone::local_time_type`], in the years of [`civil::near`]; `None` also elsewhere.
    #[inline(always)]
    pub(crate) fn type_near(&self, t: i64) -> Option<LocalTimeType<'_>> {
        if let Some(transitions) = &self.transitions
            && let Some((kind, names)) = transitions.at(t)
        {
            return Some(self.of_type(kind, names));
        }
        let rules = self.rules.as_ref()?;
        let (date, second) = civil::near(t)?;
        let isdst = rules.always().is_none() && rules.is_dst_near(&date, second)?;
        Some(of_rules(rules, isdst))
    }

    /// Whether the rules of a TZ string, or of a file's footer, apply at `t`, if its year in UTC fits.
    pub fn is_by_rules(&self, t: i64) -> bool {
        let after_file = |file: &Transitions| file.end().is_some_and(|end| t >= end);
        self.transitions.as_ref().is_none_or(after_file)
    }

    #[inline(always)]
    fn of_type<'z>(&'z self, kind: &'z NamedType, names: [&'z CStr; 2]) -> LocalTimeType<'z> {
        LocalTimeType {
            gmtoff: kind.offset,
            isdst: kind.isdst,
            abbr: &kind.abbr,
            globals: Globals { names, ..self.globals_after_tzset() },
        }
    }

    #[inline(always)]
    fn by_rules(&self, t: i64) -> Option<LocalTimeType<'_>> {
        let rules = self.rules.as_ref()?;
        if !(civil::FIRST..=civil::LAST).contains(&t) {
            return self.by_last_type(rules);
        }
        let isdst = rules.always().is_none() && {
            let (day, second) = civil::split(t);
            rules.is_dst(t, &Date::of(day)?, second)
        };
        Some(of_rules(rules, isdst))
    }

    /// Where the year in UTC does not fit, the rules do not apply; the offset of a file's last type may still
    /// lead to a local year that fits.
    #[cold]
    fn by_last_type<'z>(&'z self, rules: &'z YearlyRules) -> Option<LocalTimeType<'z>> {
        let kind = self.transitions.as_ref()?.last();
        let mut names = [&*rules.names[0], &*rules.names[1]];
        names[usize::from(kind.isdst)] = &kind.abbr;
        Some(self.of_type(kind, names))
    }

    /// The local time type at `t`, and a range of seconds around `t` in which it stays in force: from one
    /// transition, or new year, to the next.
    ///
    /// `None` where the range is not known: in zones with leap seconds, in files whose transitions are not
    /// sorted, and in years for which there is no table.
    pub fn type_around(&self, t: i64) -> Option<(LocalTimeType<'_>, Range<i64>)> {
        let (day, second) = civil::split(t);
        self.type_around_date(t, &Date::of(day)?, second)
    }

    /// The same, where the caller knows the date and the second of `t` in UTC.
    #[inline]
    pub(crate) fn type_around_date(
        &self,
        t: i64,
        date: &Date,
        second: i32,
    ) -> Option<(LocalTimeType<'_>, Range<i64>)> {
        if self.has_leaps() {
            return None;
        }
        let Some(file) = &self.transitions else { return self.rules_around(t, date, second) };
        if let Some((kind, names)) = file.at(t) {
            return Some((self.of_type(kind, names), file.around(t)?));
        }
        let (kind, range) = self.rules_around(t, date, second)?;
        Some((kind, range.start.max(file.end()?)..range.end))
    }

    #[inline]
    fn rules_around(
        &self,
        t: i64,
        date: &Date,
        second: i32,
    ) -> Option<(LocalTimeType<'_>, Range<i64>)> {
        let rules = self.rules.as_ref()?;
        if rules.always().is_some() {
            return Some((of_rules(rules, false), civil::FIRST..civil::LAST + 1));
        }
        let moment = i64::from(date.yday) * DAY + i64::from(second);
        let (isdst, around) = rules.unchanged_in_year(date, moment)?;
        let start = t - moment;
        Some((of_rules(rules, isdst), start + around.start..start + around.end))
    }
}

/// One of the two types that rules know: daylight saving time or standard time.
#[inline(always)]
fn of_rules(rules: &YearlyRules, isdst: bool) -> LocalTimeType<'_> {
    let [standard, summer] = rules.offsets;
    LocalTimeType {
        // An index, not a branch, which would be a guess.
        gmtoff: rules.offsets[usize::from(isdst)],
        isdst,
        abbr: &rules.names[usize::from(isdst)],
        globals: Globals {
            names: [&*rules.names[0], &*rules.names[1]],
            timezone: -i64::from(standard),
            daylight: i32::from(standard != summer),
        },
    }
}
