//! The proleptic Gregorian calendar on 64-bit seconds, without loops.

/// Broken-down time, like `struct tm` of `localtime(3)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Civil {
    /// Seconds, 0 to 60 (more in a zone whose leap seconds follow one another).
    pub sec: i32,
    /// Minutes, 0 to 59.
    pub min: i32,
    /// Hours, 0 to 23.
    pub hour: i32,
    /// Day of the month, 1 to 31.
    pub mday: i32,
    /// Month, 0 to 11.
    pub mon: i32,
    /// Years since 1900.
    pub year: i32,
    /// Day of the week, 0 (Sunday) to 6.
    pub wday: i32,
    /// Day of the year, 0 to 365.
    pub yday: i32,
}

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_FROM_MARCH_0: i64 = 719_468;
/// Days from 1900-03-01 to 1970-01-01.
const EPOCH_FROM_MARCH_1900: i64 = 25_508;
/// Days from 1900-01-01 to 1970-01-01.
const EPOCH_FROM_1900: i64 = 25_567;
/// Days from 1900-03-01 to 2100-03-01. In that time every fourth year is a leap year.
const SIMPLE_DAYS: u32 = 73_049;
/// Days of 400 years.
const CYCLE: i64 = 146_097;
/// The whole days before 1970 that fit an `i64` of seconds.
const DAYS_BEFORE: i64 = i64::MAX / DAY;
/// The first and the last second whose year fits `tm_year`.
pub(crate) const FIRST: i64 = days_before(i32::MIN as i64 + 1900, 0) * DAY;
pub(crate) const LAST: i64 = days_before(i32::MAX as i64 + 1901, 0) * DAY - 1;

/// `gmtime(3)` without leap seconds: seconds since 1970-01-01 00:00:00 UTC to fields.
///
/// `None`: the year does not fit `tm_year` (EOVERFLOW).
#[inline]
pub fn gmtime(t: i64) -> Option<Civil> {
    if let Some(civil) = gmtime_near(t) {
        return Some(civil);
    }
    let (day, second) = split(t);
    Some(Date::of(day)?.at(second as u32))
}

/// As [`gmtime`], of 1900-03-01 to 2100-02-28; `None` elsewhere.
#[inline(always)]
pub(crate) fn gmtime_near(t: i64) -> Option<Civil> {
    let (date, second) = near(t)?;
    Some(date.at(second))
}

/// The date and the second of the day of `t`, in the same time; `None` elsewhere. Unlike [`Date::of`] it calls nothing, so
/// that its answer stays in registers.
#[inline(always)]
pub(crate) fn near(t: i64) -> Option<(Date, u32)> {
    let from_march = t.wrapping_add(EPOCH_FROM_MARCH_1900 * DAY) as u64;
    if from_march >= SIMPLE_DAYS as u64 * DAY as u64 {
        return None;
    }
    let day = (from_march / DAY as u64) as u32;
    Some((Date::simple(day), (from_march % DAY as u64) as u32))
}

/// The fields that glibc has set when it finds that the year does not fit: `sec`, `min`, `hour`, `wday`, and the
/// low 32 bits of `year`. The others are 0.
pub fn overflow_fields(t: i64, gmtoff: i32) -> Civil {
    let (day, second) = split(t);
    let (carry, second) = split(i64::from(second) + i64::from(gmtoff));
    let day = day + carry;
    let from_march = day + EPOCH_FROM_MARCH_0;
    // Without whole cycles of 400 years, the year fits.
    let (cycle, in_cycle) = (from_march.div_euclid(CYCLE), from_march.rem_euclid(CYCLE));
    let date = Date::of(in_cycle - EPOCH_FROM_MARCH_0).map_or(0, |date| i64::from(date.year));
    Civil {
        year: (date + cycle * 400) as i32,
        wday: (day + 4).rem_euclid(7) as i32,
        mday: 0,
        mon: 0,
        yday: 0,
        ..CLOCKLESS.at(second as u32)
    }
}

/// `timegm(3)` without leap seconds: the inverse of [`gmtime`]. Fields may be out of their ranges; `wday` and
/// `yday` are not read.
///
/// `None`: the year of the answer does not fit `tm_year` (EOVERFLOW).
pub fn timegm(civil: &Civil) -> Option<i64> {
    let (wall, extra) = wall(civil);
    let fits = FIRST..=LAST;
    (fits.contains(&wall) && fits.contains(&(wall + extra))).then_some(wall + extra)
}

/// The fields read as UTC, with the second clamped to 0 to 59, and what the clamp took from the second. Below 2^57
/// in magnitude.
#[inline]
pub(crate) fn wall(civil: &Civil) -> (i64, i64) {
    let day = i64::from(civil.mday) - 1 + first_of_month(civil.year, civil.mon);
    let second = civil.sec.clamp(0, 59);
    let clock = i64::from(civil.hour) * 3600 + i64::from(civil.min) * 60 + i64::from(second);
    (day * DAY + clock, i64::from(civil.sec) - i64::from(second))
}

/// Days from 1970-01-01 to the first day of the month; year and month as in [`Civil`].
#[inline]
fn first_of_month(year: i32, month: i32) -> i64 {
    // From 1901 to 2099 no division is needed.
    if let (1..=199, 0..=11) = (year, month) {
        let leap = year & 3 == 0;
        let in_year = first_day(month as u16 + 1, leap);
        return i64::from(year * 365 + (year - 1) / 4 + i32::from(in_year)) - EPOCH_FROM_1900;
    }
    let months = i64::from(month);
    days_before(i64::from(year) + 1900 + months.div_euclid(12), months.rem_euclid(12) as u32)
}

/// Whether the year of the fields fits, with the second clamped to 0 to 59.
pub(crate) fn is_near(civil: &Civil) -> bool {
    (FIRST..=LAST).contains(&wall(civil).0)
}

/// Days from 1970-01-01 to the first day of the month (0 to 11) of the year.
const fn days_before(year: i64, month: u32) -> i64 {
    let year = if month < 2 { year - 1 } else { year };
    let in_year = (153 * ((month + 10) % 12) + 2) / 5;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + in_year as i64 - EPOCH_FROM_MARCH_0
}

/// Whether the year has 366 days.
#[inline]
pub(crate) fn is_leap(year: i64) -> bool {
    year & 3 == 0 && (year & 15 == 0 || year % 25 != 0)
}

/// Days from 1 January to the first day of the month (1 to 13).
#[inline]
pub(crate) fn first_day(month: u16, leap: bool) -> u16 {
    const FIRST: [u16; 13] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365];
    let month = month.clamp(1, 13);
    FIRST[usize::from(month) - 1] + u16::from(leap && month > 2)
}

/// Hour, minute and second of a second of the day, 0 to 86,399.
///
/// It multiplies by rounded-up fractions (2^27 / 3600, 2^20 / 60) that are exact in this range, which the compiler does not
/// know: half the instructions of divisions.
#[inline(always)]
pub const fn clock(second: u32) -> [u32; 3] {
    let hour = (second * 37_283) >> 27;
    let in_hour = second - hour * 3600;
    let min = (in_hour * 17_477) >> 20;
    [hour, min, in_hour - min * 60]
}

/// `day % 7`, likewise, for the days of [`Date::simple`] and fewer: 2^32 / 7 times the day has the remainder's sevenths in its lower
/// half.
#[inline(always)]
pub(crate) const fn remainder_of_7(day: u32) -> u32 {
    ((day.wrapping_mul(613_566_757) as u64 * 7) >> 32) as u32
}

// Each second of a day, and each day.
const _: () = {
    let mut second = 0;
    while second < DAY as u32 {
        let [hour, min, sec] = clock(second);
        assert!(hour == second / 3600 && min == second / 60 % 60 && sec == second % 60);
        second += 1;
    }
    let mut day = 0;
    while day < SIMPLE_DAYS + 4 {
        assert!(remainder_of_7(day) == day % 7);
        day += 1;
    }
};

/// The day since 1970-01-01 and the second of the day.
#[inline(always)]
pub(crate) fn split(t: i64) -> (i64, i32) {
    // Counted from a midnight before all others no value is negative: an unsigned division costs half.
    let whole = t.wrapping_add(DAYS_BEFORE * DAY) as u64;
    if t < -DAYS_BEFORE * DAY {
        return (t.div_euclid(DAY), t.rem_euclid(DAY) as i32);
    }
    ((whole / DAY as u64) as i64 - DAYS_BEFORE, (whole % DAY as u64) as i32)
}

/// The day since 1970-01-01 and the second of the day, from the fields; `None` if hour, minute or second is out of
/// its range.
#[inline]
pub fn day_and_second(civil: &Civil) -> Option<(i64, u32)> {
    let usual = (civil.hour as u32) < 24 && (civil.min as u32) < 60 && (civil.sec as u32) < 60;
    if !usual {
        return None;
    }
    let day = i64::from(civil.mday) - 1 + first_of_month(civil.year, civil.mon);
    Some((day, (civil.hour * 3600 + civil.min * 60 + civil.sec) as u32))
}

/// The day since 1970-01-01, in UTC, of a moment.
#[inline]
pub fn day_of(t: i64) -> i64 {
    split(t).0
}

/// A day: the fields of [`Civil`] that do not depend on the clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Date {
    pub(crate) mday: i32,
    pub(crate) mon: i32,
    pub(crate) year: i32,
    pub(crate) wday: i32,
    pub(crate) yday: i32,
}

const CLOCKLESS: Date = Date { mday: 0, mon: 0, year: 0, wday: 0, yday: 0 };

impl Date {
    /// The day's date; `None` if its year does not fit.
    #[inline(always)]
    pub(crate) fn of(day: i64) -> Option<Date> {
        let simple = day.wrapping_add(EPOCH_FROM_MARCH_1900) as u64;
        if simple < u64::from(SIMPLE_DAYS) {
            Some(Date::simple(simple as u32))
        } else {
            Date::far(day)
        }
    }

    /// The date so many days, less than `SIMPLE_DAYS`, after 1 March 1900.
    #[inline(always)]
    fn simple(day: u32) -> Date {
        let quarters = 4 * day + 3;
        let year = quarters / 1461;
        let leap = year & 3 == 0 && year != 0;
        // 1 March 1900 was a Thursday.
        Date::new(year as i32, quarters % 1461 / 4, remainder_of_7(day + 4), leap)
    }

    /// As [`Date::of`], for any day.
    #[cold]
    fn far(day: i64) -> Option<Date> {
        if !(FIRST / DAY..=LAST / DAY).contains(&day) {
            return None;
        }
        let from_march = day + EPOCH_FROM_MARCH_0;
        let cycle = from_march.div_euclid(CYCLE);
        let in_cycle = from_march.rem_euclid(CYCLE) as u32;
        let century = (4 * in_cycle + 3) / 146_097;
        let quarters = (4 * in_cycle + 3) % 146_097 / 4 * 4 + 3;
        let year = cycle * 400 + i64::from(century * 100 + quarters / 1461);
        let wday = (day + 4).rem_euclid(7) as u32;
        // The first year begins in the March before it, whose year does not fit: it wraps here and back in `new`.
        Some(Date::new((year - 1900) as i32, quarters % 1461 / 4, wday, is_leap(year)))
    }

    /// The date `in_year` days after 1 March of `year` (since 1900); `leap`: whether that year is a leap year.
    #[inline(always)]
    fn new(year: i32, in_year: u32, wday: u32, leap: bool) -> Date {
        // Months of 30.6 days, in units of 1/65536 month: exact for a year that begins in March.
        let months = 2141 * in_year + 197_913;
        let month = months >> 16;
        let mday = (months & 0xffff) / 2141 + 1;
        let wrapped = in_year >= 306;
        let yday = if wrapped { in_year - 306 } else { in_year + 59 + u32::from(leap) };
        Date {
            mday: mday as i32,
            mon: month as i32 - if wrapped { 13 } else { 1 },
            year: year.wrapping_add(i32::from(wrapped)),
            wday: wday as i32,
            yday: yday as i32,
        }
    }

    /// This date at a second (0 to 86,399) of the day.
    #[inline(always)]
    pub(crate) fn at(self, second: u32) -> Civil {
        let [hour, min, sec] = clock(second);
        Civil {
            sec: sec as i32,
            min: min as i32,
            hour: hour as i32,
            mday: self.mday,
            mon: self.mon,
            year: self.year,
            wday: self.wday,
            yday: self.yday,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utc(year: i32, mon: i32, mday: i32) -> Civil {
        Civil { year: year - 1900, mon, mday, ..Civil::default() }
    }

    /// Every day of a thousand years against the day before.
    #[test]
    fn each_day_follows_the_one_before() {
        let mut before = gmtime(timegm(&utc(1500, 11, 31)).unwrap()).unwrap();
        let start = timegm(&utc(1501, 0, 1)).unwrap();
        for day in 0..365_243 {
            let now = gmtime(start + day * DAY).unwrap();
            let new_month = now.mday == 1;
            let new_year = new_month && now.mon == 0;
            assert_eq!(now.wday, (before.wday + 1) % 7, "{now:?}");
            assert_eq!(now.yday, if new_year { 0 } else { before.yday + 1 }, "{now:?}");
            assert_eq!(now.year - before.year, i32::from(new_year), "{now:?}");
            if new_month {
                let leap = is_leap(i64::from(before.year) + 1900);
                let from = first_day(before.mon as u16 + 1, leap);
                let length = first_day(before.mon as u16 + 2, leap) - from;
                assert_eq!((before.mday, now.mon), (i32::from(length), (before.mon + 1) % 12));
            } else {
                assert_eq!((now.mday, now.mon), (before.mday + 1, before.mon), "{now:?}");
            }
            assert_eq!(timegm(&now), Some(start + day * DAY));
            before = now;
        }
    }

    #[test]
    fn the_first_and_the_last_second_fit_and_their_neighbours_do_not() {
        let first = gmtime(FIRST).unwrap();
        assert_eq!((first.year, first.mon, first.mday, first.sec), (i32::MIN, 0, 1, 0));
        let last = gmtime(LAST).unwrap();
        assert_eq!((last.year, last.mon, last.mday, last.sec), (i32::MAX, 11, 31, 59));
        assert_eq!((gmtime(FIRST - 1), gmtime(LAST + 1)), (None, None));
        assert_eq!((timegm(&first), timegm(&last)), (Some(FIRST), Some(LAST)));
        assert_eq!(timegm(&Civil { sec: 60, ..last }), None);
    }

    #[test]
    fn fields_out_of_range_are_carried() {
        let wild = Civil { mon: -13, mday: 400, hour: -25, min: 61, sec: -1, ..utc(2001, 0, 0) };
        // 1999-12-01 and 399 days, less 25 hours, more 61 minutes, less a second.
        let expected = timegm(&utc(1999, 11, 1)).unwrap() + 399 * DAY - 25 * 3600 + 61 * 60 - 1;
        assert_eq!(timegm(&wild), Some(expected));
    }
}
