//! `--since`: a time before now, or a date.

use chrono::NaiveDateTime;
use std::time::{SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000_000;
/// In microseconds.
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// Microseconds since 1970 (UTC) of `7d`, `12h`, `30m` (before now), `2026-11-16` (its start, UTC) or `2026-11-16 14:05`.
///
/// # Errors
/// When the text is none of these; the error says which they are.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let wanted =
        || "expected 7d, 12h, 30m or a date such as 2026-11-16 or \"2026-11-16 14:05\"".to_owned();
    let before = || "that is before 1970".to_owned();
    // chrono alone would take years of other lengths.
    if text.as_bytes().get(4) == Some(&b'-') {
        let whole =
            if text.len() == 10 { format!("{text} 00:00") } else { text.replacen('T', " ", 1) };
        let read = |format| NaiveDateTime::parse_from_str(&whole, format);
        let time = read("%Y-%m-%d %H:%M").or_else(|_| read("%Y-%m-%d %H:%M:%S"));
        let time = time.map_err(|_| wanted())?.and_utc().timestamp_micros();
        return if time < 0 { Err(before()) } else { Ok(time) };
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
    now().checked_sub(ago).filter(|time| *time >= 0).ok_or_else(before)
}

/// Microseconds since 1970 (UTC).
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
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
        let minute = 1_794_837_900 * SECOND;
        for same in ["2026-11-16 14:05", "2026-11-16T14:05", "2026-11-16 14:05:00"] {
            assert_eq!(parse(same), Ok(minute), "{same}");
        }
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
            "2026-11-16 25:00",
            "2026-11-16 14",
            "2026-11-16 14:05Z",
            "1969-12-31",
            "9999999999999d",
            "7\u{e4}",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        assert!(parse("99999d").is_err(), "before 1970");
    }
}
