//! A time zone, and its local time type at a moment.

use crate::civil::{self, DAY};
use crate::posix::{RuleDay, TzString};
use crate::tzif::{Malformed, Tables};
use std::ops::{Range, RangeInclusive};

/// A local time type (RFC 9636 section 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTimeType<'z> {
    /// Seconds east of UTC, `tm_gmtoff`.
    pub gmtoff: i32,
    /// Whether it is daylight saving time, `tm_isdst`.
    pub isdst: bool,
    /// The abbreviation, `tm_zone`.
    pub abbr: &'z [u8],
}

/// A time zone, immutable once made.
#[derive(Clone, Debug)]
pub struct Zone {
    /// The transitions of a file; a TZ string has none.
    file: Option<Tables>,
    /// The rules of a TZ string, or those of a file's footer, which apply after its last transition.
    rules: Option<TzString>,
}

/// The years to which rules that change the clocks are applied. glibc takes each earlier year for 1970.
const YEARS: RangeInclusive<i64> = 1970..=9999;

impl Zone {
    /// UTC under the name `UTC`.
    pub fn utc() -> Zone {
        Zone::from_posix(b"")
    }

    /// The zone of a TZif file's bytes (RFC 9636, `tzfile(5)`), version 1 to 4, fat or slim, with leap seconds or without.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where glibc refuses the file; it then reads `TZ` as a TZ string.
    pub fn from_tzif(bytes: &[u8]) -> Result<Zone, Malformed> {
        let file = Tables::parse(bytes)?;
        let rules = file.footer.as_deref().map(TzString::parse);
        Ok(Zone { file: Some(file), rules })
    }

    /// The zone that glibc 2.36 makes of a `TZ` that names no file, without a leading colon (POSIX.1-2024 base definitions
    /// clause 8.3). A malformed string is mostly UTC, under the name that glibc gives it. A string without rules
    /// (`CET-1CEST`) gets the rules of the United States, as where no file `posixrules` exists.
    pub fn from_posix(text: &[u8]) -> Zone {
        let text = if text.first().is_none_or(|&first| first == 0) { b"UTC0" } else { text };
        Zone { file: None, rules: Some(TzString::parse(text)) }
    }

    /// Whether the zone counts leap seconds.
    pub fn has_leaps(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.has_leaps)
    }

    /// Whether the rules of a TZ string, or of a file's footer, apply at `t`.
    pub fn is_by_rules(&self, t: i64) -> bool {
        self.file.as_ref().is_none_or(|file| self.end(file).is_some_and(|end| t >= end))
    }

    /// The local time type at `t` seconds after 1970-01-01 00:00:00 UTC.
    ///
    /// `None` where rules that change the clocks would apply before 1970 or after 9999.
    pub fn type_at(&self, t: i64) -> Option<LocalTimeType<'_>> {
        match &self.file {
            Some(file) if !self.is_by_rules(t) => Some(file.type_after(file.count(t))),
            _ => by_rules(self.rules.as_ref()?, t).map(|(kind, _)| kind),
        }
    }

    /// The local time type at `t`, and a range of seconds around `t` in which it stays in force: from one transition, or
    /// new year, to the next.
    ///
    /// `None` where the range is not known: in zones with leap seconds, in files whose transitions are not sorted, and
    /// where [`Zone::type_at`] is `None`.
    pub fn type_around(&self, t: i64) -> Option<(LocalTimeType<'_>, Range<i64>)> {
        if self.has_leaps() || self.file.as_ref().is_some_and(|file| !file.times.is_sorted()) {
            return None;
        }
        let Some(file) = &self.file else { return by_rules(self.rules.as_ref()?, t) };
        if self.is_by_rules(t) {
            let (kind, range) = by_rules(self.rules.as_ref()?, t)?;
            return Some((kind, range.start.max(self.end(file)?)..range.end));
        }
        let after = file.count(t);
        let start = after.checked_sub(1).map_or(i64::MIN, |at| file.times[at]);
        let end = file.times.get(after).copied().unwrap_or(i64::MAX);
        Some((file.type_after(after), start..end))
    }

    /// The moment from which on the footer's rules apply. In a file without transitions they never do.
    fn end(&self, file: &Tables) -> Option<i64> {
        self.rules.as_ref().and(file.times.last().copied())
    }
}

impl Tables {
    /// How many transitions are not after `t`.
    fn count(&self, t: i64) -> usize {
        self.times.partition_point(|&time| time <= t)
    }

    /// The type in force after so many transitions; before all of them it is the first of standard time.
    fn type_after(&self, count: usize) -> LocalTimeType<'_> {
        let first = || self.types.iter().position(|kind| !kind.isdst).unwrap_or(0);
        let at = count.checked_sub(1).map_or_else(first, |at| usize::from(self.kinds[at]));
        let kind = &self.types[at];
        let name = self.names.get(usize::from(kind.name)..).unwrap_or_default();
        let abbr = name.split(|&byte| byte == 0).next().unwrap_or_default();
        LocalTimeType { gmtoff: kind.offset, isdst: kind.isdst, abbr }
    }
}

/// What the rules of a TZ string say of `t`. They are laid over the year that it is in UTC, as glibc does it, and may
/// begin or end outside of it.
fn by_rules(rules: &TzString, t: i64) -> Option<(LocalTimeType<'_>, Range<i64>)> {
    let of = |isdst: bool| LocalTimeType {
        gmtoff: rules.offsets[usize::from(isdst)],
        isdst,
        abbr: &rules.names[usize::from(isdst)],
    };
    if rules.rules[0] == rules.rules[1] && rules.offsets[0] == rules.offsets[1] {
        return Some((of(false), i64::MIN..i64::MAX));
    }
    let (year, ..) = civil::date(t.div_euclid(DAY));
    if !YEARS.contains(&year) {
        return None;
    }
    let [start, end] = [year, year + 1].map(|year| civil::days_before(year, 1) * DAY);
    let [to_summer, to_standard] = [0, 1].map(|which| {
        let rule = &rules.rules[which];
        start + day_of(rule.on, year) * DAY + i64::from(rule.seconds)
            - i64::from(rules.offsets[which])
    });
    let (from, until) = (to_summer.min(to_standard), to_summer.max(to_standard));
    let is_between = (from..until).contains(&t);
    let around = if t < from {
        start..from.min(end)
    } else if is_between {
        from.max(start)..until.min(end)
    } else {
        until.max(start)..end
    };
    // South of the equator summer is outside of the two.
    Some((of(is_between == (to_summer <= to_standard)), around))
}

/// The day on which a rule's transition falls, counted from 1 January.
fn day_of(on: RuleDay, year: i64) -> i64 {
    let start = civil::days_before(year, 1);
    let of_month = |month: u16| civil::days_before(year, month) - start;
    match on {
        RuleDay::Julian(day) => i64::from(day) - 1 + i64::from(of_month(3) == 60 && day >= 60),
        RuleDay::ZeroBased(day) => i64::from(day),
        RuleDay::Month { month, week, weekday } => {
            let month = month.clamp(1, 12);
            let first = of_month(month);
            let length = if month == 12 { 31 } else { of_month(month + 1) - first };
            // 1970-01-01 was a Thursday.
            let mut day = i64::from(weekday) - (start + first + 4).rem_euclid(7);
            if day < 0 {
                day += 7;
            }
            let room = (length - 1 - day).div_euclid(7).max(0);
            first + day + 7 * (i64::from(week) - 1).clamp(0, room)
        }
    }
}
