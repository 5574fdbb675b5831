//! `--since`: a time before now, or a date.

use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000_000;
/// In microseconds.
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// Microseconds since 1970 (UTC) of `7d`, `12h`, `30m` (before now) or `2026-11-16` (its start, UTC).
///
/// # Errors
/// When the text is none of these; the error says which they are.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let wanted = || "expected 7d, 12h, 30m or a date such as 2026-11-16".to_owned();
    if let Some(day) = date(text) {
        return Ok(day * DAY);
    }
    let unit = match text.chars().last() {
        Some('d') => DAY,
        Some('h') => 3_600 * SECOND,
        Some('m') => 60 * SECOND,
        _ => return Err(wanted()),
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wanted());
    }
    let ago = digits.parse::<i64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(wanted)?;
    now().checked_sub(ago).filter(|time| *time >= 0).ok_or_else(|| "that is before 1970".to_owned())
}

/// Microseconds since 1970 (UTC).
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Days since 1970 of `YYYY-MM-DD` in the Gregorian calendar.
fn date(text: &str) -> Option<i64> {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return None };
    if [year.len(), month.len(), day.len()] != [4, 2, 2]
        || !text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    {
        return None;
    }
    let [year, month, day]: [i64; 3] = [year.parse().ok()?, month.parse().ok()?, day.parse().ok()?];
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let long = |month: i64| match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if year < 1970 || !(1..=12).contains(&month) || !(1..=long(month)).contains(&day) {
        return None;
    }
    let before = year - 1;
    let years = 365 * (year - 1970) + (before / 4 - before / 100 + before / 400) - 477;
    Some(years + (1..month).map(long).sum::<i64>() + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The days are those of date(1): `date -u -d 2026-11-16 +%s`.
    #[test]
    fn dates_and_times_before_now() {
        assert_eq!(parse("1970-01-01"), Ok(0));
        assert_eq!(parse("2000-02-29"), Ok(951_782_400 * SECOND));
        assert_eq!(parse("2026-11-16"), Ok(1_794_787_200 * SECOND));
        assert_eq!(parse("2100-03-01"), Ok(4_107_542_400 * SECOND));
        let week = parse("7d").unwrap();
        assert!((now() - week - 7 * DAY).abs() < 60 * SECOND);
        for wrong in [
            "",
            "d",
            "7",
            "-7d",
            "+7d",
            "7w",
            "2026-11",
            "2026-02-29",
            "2026-13-01",
            "9999999999999d",
            "7\u{e4}",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("99999d").is_err(), "before 1970");
    }
}
