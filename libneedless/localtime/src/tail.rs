//! What a POSIX text says of a moment: the rules applied to the year in UTC, as glibc does it.

use crate::civil::{self, Date};
use crate::posix::{On, Posix, Rule};
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ops::Range;

/// In a year: daylight saving time from `from` until `until`, or outside of it, in seconds after the
/// year began in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Summer {
    from: i64,
    until: i64,
    inverted: bool,
}

impl Summer {
    fn new([from, until]: [i64; 2]) -> Summer {
        if from > until {
            return Summer { from: until, until: from, inverted: true };
        }
        Summer { from, until, inverted: false }
    }

    fn holds(self, moment: i64) -> bool {
        (moment >= self.from && moment < self.until) != self.inverted
    }
}

/// A POSIX text ready to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    pub(crate) names: [CString; 2],
    pub(crate) offsets: [i32; 2],
    rules: [Rule; 2],
    /// By leap year and weekday of 1 January; empty if the rules never change the clock.
    years: Vec<Summer>,
}

/// The years whose rules are in the table. Before, glibc lays every year's rules over 1970; far later,
/// its count of days exceeds 32 bits.
const TABLED: core::ops::RangeInclusive<i64> = 1970..=5_000_000;

impl Tail {
    pub(crate) fn new(posix: &Posix) -> Tail {
        let [standard, summer] = &posix.names;
        let never = posix.rules[0] == posix.rules[1] && posix.offsets[0] == posix.offsets[1];
        let mut tail = Tail {
            names: [c_string(standard), c_string(summer)],
            offsets: posix.offsets,
            rules: posix.rules,
            years: Vec::new(),
        };
        if !never {
            tail.years = (0..14).map(|class| tail.of_class(class)).collect();
        }
        tail
    }

    /// Whether `t` is in daylight saving time; `date` is its day in UTC.
    #[inline]
    pub(crate) fn is_dst(&self, t: i64, date: &Date, second: i32) -> bool {
        let Some(summer) = self.summer(date) else {
            return self.is_dst_slow(t, date.year.wrapping_add(1900));
        };
        summer.holds(i64::from(date.yday) * civil::DAY + i64::from(second))
    }

    /// The date's year, if it is in the table.
    #[inline]
    fn summer(&self, date: &Date) -> Option<Summer> {
        let year = i64::from(date.year) + 1900;
        if !TABLED.contains(&year) {
            return None;
        }
        let first_weekday = (date.wday - date.yday + 371) % 7;
        let class = first_weekday as usize + if civil::is_leap(year) { 7 } else { 0 };
        self.years.get(class).copied()
    }

    /// Whether it is daylight saving time, and from the change, or the new year, before `moment` to the next,
    /// all in seconds after the year began in UTC; `date` is a day of that year. `None` where the year is not
    /// in the table.
    #[inline]
    pub(crate) fn unchanged_in_year(&self, date: &Date, moment: i64) -> Option<(bool, Range<i64>)> {
        let summer = self.summer(date)?;
        let days = if civil::is_leap(i64::from(date.year) + 1900) { 366 } else { 365 };
        // In order: see `Summer::new`.
        let around = match () {
            _ if moment < summer.from => i64::MIN..summer.from,
            _ if moment < summer.until => summer.from..summer.until,
            _ => summer.until..i64::MAX,
        };
        let within_year = around.start.max(0)..around.end.min(days * civil::DAY);
        Some((summer.holds(moment), within_year))
    }

    /// The one offset, if the rules never change the clock.
    #[inline]
    pub(crate) fn always(&self) -> Option<i32> {
        if self.years.is_empty() { Some(self.offsets[0]) } else { None }
    }

    fn of_class(&self, class: u32) -> Summer {
        let leap = class >= 7;
        let weekday = i64::from(class % 7);
        let change = |which: usize| {
            let rule = &self.rules[which];
            let day = day_of(rule.on, leap, |month| {
                (weekday + i64::from(civil::first_day(month, leap))).rem_euclid(7)
            });
            day * civil::DAY + i64::from(rule.seconds) - i64::from(self.offsets[which])
        };
        Summer::new([change(0), change(1)])
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
        Summer::new([change(0), change(1)]).holds(t)
    }
}

/// When glibc lets a year begin: every year before 1970 when 1970 does, and with the days counted in 32
/// bits.
fn year_start(year: i32) -> i64 {
    if year <= 1970 {
        return 0;
    }
    let before = year - 1;
    let leaps = (before / 4 - 492) - (before / 100 - 19) + (before / 400 - 4);
    i64::from((year - 1970).wrapping_mul(365).wrapping_add(leaps)) * civil::DAY
}

/// The weekday of a month's first day (month 1 to 12) by Zeller's congruence with divisions that round
/// to zero: wrong before the year 1, and glibc is wrong alike.
fn weekday_of_first(year: i32, month: u16) -> i64 {
    let from_march = i32::from((month + 9) % 12 + 1);
    let year = if month <= 2 { year.wrapping_sub(1) } else { year };
    let (century, rest) = (year / 100, year % 100);
    let sum = (26 * from_march - 2) / 10 + 1 + rest + rest / 4 + century / 4 - 2 * century;
    let weekday = i64::from(sum % 7);
    if weekday < 0 { weekday + 7 } else { weekday }
}

/// Days after 1 January on which a rule's change falls. `first` tells a month's first weekday.
fn day_of(on: On, leap: bool, first: impl Fn(u16) -> i64) -> i64 {
    match on {
        On::Julian(day) => i64::from(day) - 1 + i64::from(leap && day >= 60),
        On::Zero(day) => i64::from(day),
        On::Month { month, week, weekday } => {
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
