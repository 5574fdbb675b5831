//! The rules of a TZ string applied to a moment: they are laid over its year in UTC, as glibc does it.

use crate::civil::{self, Date};
use crate::posix::{RuleDay, TransitionRule, TzString};
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ops::Range;

/// Daylight saving time in one year: from `from` until `until`, or outside of that if `inverted`, in seconds
/// after the start of the year in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DstPeriod {
    from: i64,
    until: i64,
    inverted: bool,
}

impl DstPeriod {
    fn new([from, until]: [i64; 2]) -> DstPeriod {
        if from > until {
            return DstPeriod { from: until, until: from, inverted: true };
        }
        DstPeriod { from, until, inverted: false }
    }

    #[inline(always)]
    fn contains(self, moment: i64) -> bool {
        ((moment >= self.from) & (moment < self.until)) != self.inverted
    }
}

/// A TZ string, prepared for conversions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YearlyRules {
    pub(crate) names: [CString; 2],
    pub(crate) offsets: [i32; 2],
    rules: [TransitionRule; 2],
    /// One per weekday of 1 January in a common year, then one per weekday in a leap year; empty if the rules
    /// never change the clock.
    years: Vec<DstPeriod>,
}

/// The years that the table covers. To earlier years glibc applies the rules as if they were 1970; in much
/// later ones its count of days exceeds 32 bits.
const YEARS: core::ops::RangeInclusive<i64> = 1970..=5_000_000;

impl YearlyRules {
    pub(crate) fn new(posix: &TzString) -> YearlyRules {
        let [standard, summer] = &posix.names;
        let never = posix.rules[0] == posix.rules[1] && posix.offsets[0] == posix.offsets[1];
        let mut rules = YearlyRules {
            names: [c_string(standard), c_string(summer)],
            offsets: posix.offsets,
            rules: posix.rules,
            years: Vec::new(),
        };
        if !never {
            rules.years = (0..14).map(|class| rules.of_class(class)).collect();
        }
        rules
    }

    /// Whether `t` is in daylight saving time; `date` is its day in UTC.
    #[inline]
    pub(crate) fn is_dst(&self, t: i64, date: &Date, second: i32) -> bool {
        let Some(period) = self.dst_period(date) else {
            return self.is_dst_slow(t, date.year.wrapping_add(1900));
        };
        period.contains(i64::from(date.yday) * civil::DAY + i64::from(second))
    }

    /// As [`YearlyRules::is_dst`], for dates of [`civil::near`]; `None` before 1970 and from 2100 on, which is not a
    /// leap year: the order of two rules may depend on that, and with it the time in January.
    #[inline(always)]
    pub(crate) fn is_dst_near(&self, date: &Date, second: u32) -> Option<bool> {
        if !(70..200).contains(&date.year) {
            return None;
        }
        let first_weekday = civil::remainder_of_7((date.wday - date.yday + 371) as u32);
        let class = first_weekday as usize + if date.year & 3 == 0 { 7 } else { 0 };
        let moment = i64::from(date.yday as u32 * civil::DAY as u32 + second);
        Some(self.years.get(class)?.contains(moment))
    }

    /// Daylight saving time in the date's year, if the table covers it.
    #[inline(always)]
    fn dst_period(&self, date: &Date) -> Option<DstPeriod> {
        let year = i64::from(date.year) + 1900;
        if !YEARS.contains(&year) {
            return None;
        }
        let first_weekday = (date.wday - date.yday + 371) % 7;
        let class = first_weekday as usize + if civil::is_leap(year) { 7 } else { 0 };
        self.years.get(class).copied()
    }

    /// Whether it is daylight saving time at `moment`, and from the transition, or new year, before it to the
    /// next: all in seconds after the start of the year in UTC. `date` is any day of that year. `None` if the
    /// table does not cover the year.
    #[inline]
    pub(crate) fn unchanged_in_year(&self, date: &Date, moment: i64) -> Option<(bool, Range<i64>)> {
        let period = self.dst_period(date)?;
        let days = if civil::is_leap(i64::from(date.year) + 1900) { 366 } else { 365 };
        // `from <= until`, by `DstPeriod::new`.
        let around = if moment < period.from {
            i64::MIN..period.from
        } else if moment < period.until {
            period.from..period.until
        } else {
            period.until..i64::MAX
        };
        let within_year = around.start.max(0)..around.end.min(days * civil::DAY);
        Some((period.contains(moment), within_year))
    }

    /// The only offset, if the rules never change the clock.
    #[inline]
    pub(crate) fn always(&self) -> Option<i32> {
        if self.years.is_empty() { Some(self.offsets[0]) } else { None }
    }

    fn of_class(&self, class: u32) -> DstPeriod {
        let leap = class >= 7;
        let weekday = i64::from(class % 7);
        let change = |which: usize| {
            let rule = &self.rules[which];
            let day = day_of(rule.on, leap, |month| {
                (weekday + i64::from(civil::first_day(month, leap))).rem_euclid(7)
            });
            day * civil::DAY + i64::from(rule.seconds) - i64::from(self.offsets[which])
        };
        DstPeriod::new([change(0), change(1)])
    }

    #[cold]
    fn is_dst_slow(&self, t: i64, year: i32) -> bool {
        let start = year_start(year);
        let leap = civil::is_leap(i64::from(year));
        let change = |which: usize| {
            let rule = &self.rules[which];
            let day = day_of(rule.on, leap, |month| weekday_of_first(year, month));
            start + day * civil::DAY + i64::from(rule.seconds) - i64::from(self.offsets[which])
        };
        DstPeriod::new([change(0), change(1)]).contains(t)
    }
}

/// Where glibc puts the start of a year: of each year before 1970 at the start of 1970, and of later ones by a
/// count of days in 32 bits.
fn year_start(year: i32) -> i64 {
    if year <= 1970 {
        return 0;
    }
    let before = year - 1;
    let leaps = (before / 4 - 492) - (before / 100 - 19) + (before / 400 - 4);
    i64::from((year - 1970).wrapping_mul(365).wrapping_add(leaps)) * civil::DAY
}

/// The weekday of a month's first day (month 1 to 12) by Zeller's congruence. Its divisions round towards zero,
/// so that it is wrong before the year 1, as glibc is.
fn weekday_of_first(year: i32, month: u16) -> i64 {
    let from_march = i32::from((month + 9) % 12 + 1);
    let year = if month <= 2 { year.wrapping_sub(1) } else { year };
    let (century, rest) = (year / 100, year % 100);
    let sum = (26 * from_march - 2) / 10 + 1 + rest + rest / 4 + century / 4 - 2 * century;
    let weekday = i64::from(sum % 7);
    if weekday < 0 { weekday + 7 } else { weekday }
}

/// The day on which a rule's transition falls, counted from 1 January. `first` returns the weekday of a month's
/// first day.
fn day_of(on: RuleDay, leap: bool, first: impl Fn(u16) -> i64) -> i64 {
    match on {
        RuleDay::Julian(day) => i64::from(day) - 1 + i64::from(leap && day >= 60),
        RuleDay::ZeroBased(day) => i64::from(day),
        RuleDay::Month { month, week, weekday } => {
            let month = month.clamp(1, 12);
            let start = i64::from(civil::first_day(month, leap));
            let length = i64::from(civil::first_day(month + 1, leap)) - start;
            let mut day = i64::from(weekday) - first(month);
            if day < 0 {
                day += 7;
            }
            let room = (length - 1 - day).div_euclid(7).max(0);
            start + day + 7 * (i64::from(week) - 1).clamp(0, room)
        }
    }
}

/// The bytes up to the first NUL.
pub(crate) fn c_string(bytes: &[u8]) -> CString {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    CString::new(&bytes[..end]).unwrap_or_default()
}
