//! The proleptic Gregorian calendar.

/// Seconds of a day.
pub(crate) const DAY: i64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_FROM_MARCH_0: i64 = 719_468;
/// Days of 400 years.
const CYCLE: i64 = 146_097;

/// Year, month (from 1) and day of the month, so many days after 1970-01-01, which may be negative. Any moment of an
/// `i64` of seconds has such a day.
pub fn date(day: i64) -> (i64, u8, u8) {
    let from_march = day.saturating_add(EPOCH_FROM_MARCH_0);
    let (cycle, in_cycle) = (from_march.div_euclid(CYCLE), from_march.rem_euclid(CYCLE));
    let century = (4 * in_cycle + 3) / CYCLE;
    let quarters = (4 * in_cycle + 3) % CYCLE / 4 * 4 + 3;
    let (year, in_year) = (cycle * 400 + century * 100 + quarters / 1461, quarters % 1461 / 4);
    // Years begin in March, so that months have 30.6 days: (31, 30, 31, 30, 31) again and again.
    let month = (5 * in_year + 2) / 153;
    let mday = in_year - (153 * month + 2) / 5 + 1;
    let is_next = month >= 10;
    let month = if is_next { month - 9 } else { month + 3 };
    (year + i64::from(is_next), month as u8, mday as u8)
}

/// Days from 1970-01-01 to the first day of the month (1 to 12) of the year.
pub(crate) fn days_before(year: i64, month: u16) -> i64 {
    let month = i64::from(month);
    let year = if month < 3 { year - 1 } else { year };
    let in_year = (153 * ((month + 9) % 12) + 2) / 5;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + in_year - EPOCH_FROM_MARCH_0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every day of a thousand years against the day before.
    #[test]
    fn each_day_follows_the_one_before() {
        let first = days_before(1501, 1);
        let mut before = date(first - 1);
        assert_eq!(before, (1500, 12, 31));
        for day in first..first + 365_243 {
            let (year, month, mday) = date(day);
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            if mday == 1 {
                let last = match before.1 {
                    2 if before.0 == year && leap => 29,
                    2 => 28,
                    4 | 6 | 9 | 11 => 30,
                    _ => 31,
                };
                assert_eq!((before.2, month), (last, before.1 % 12 + 1), "{year}");
                assert_eq!(year - before.0, i64::from(month == 1));
                assert_eq!(days_before(year, month.into()), day);
            } else {
                assert_eq!((year, month, mday), (before.0, before.1, before.2 + 1));
            }
            before = (year, month, mday);
        }
        assert_eq!(date(i64::MAX / DAY).0, 292_277_026_596);
        assert_eq!(date(0), (1970, 1, 1));
    }
}
