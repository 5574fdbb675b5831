//! Values of TZ as POSIX defines them (XBD 8.3): `std offset [dst [offset] [,start[/time],end[/time]]]`.

/// The kind of a TZ value, by its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PosixTz {
    /// `JST-9`, `<+03>-3`: a fixed offset.
    Fixed,
    /// `CET-1CEST`: daylight saving without its dates.
    NoRule,
    /// `CET-1CEST,M3.5.0,M10.5.0/3`.
    WithRule,
}

/// Parses `value`; `None` where it is not a POSIX string, and so means the name of a file.
pub fn posix_tz(value: &str) -> Option<PosixTz> {
    let rest = offset(name(value)?, DAY)?;
    if rest.is_empty() {
        return Some(PosixTz::Fixed);
    }
    let rest = name(rest)?;
    let rest = match rest.chars().next() {
        None => return Some(PosixTz::NoRule),
        Some(',') => rest,
        Some(_) => offset(rest, DAY)?,
    };
    let Some(rest) = rest.strip_prefix(',') else {
        return rest.is_empty().then_some(PosixTz::NoRule);
    };
    let (start, end) = rest.split_once(',')?;
    (date(start)? && date(end)?).then_some(PosixTz::WithRule)
}

/// At least three letters, or `<…>` with letters, digits and signs. Returns the rest.
fn name(text: &str) -> Option<&str> {
    if let Some(quoted) = text.strip_prefix('<') {
        let (inside, rest) = quoted.split_once('>')?;
        let legal = inside.len() >= 3
            && inside.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'-');
        return legal.then_some(rest);
    }
    let end = text.bytes().position(|b| !b.is_ascii_alphabetic()).unwrap_or(text.len());
    (end >= 3).then(|| &text[end..])
}

/// Most hours of an offset.
const DAY: u32 = 24;
/// Most hours of the time of a change, in the extension of RFC 9636.
const WEEK: u32 = 167;

/// `[+|-]hh[:mm[:ss]]`, at most `hours`. Returns the rest.
fn offset(text: &str, hours: u32) -> Option<&str> {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut rest = digits(text, 3, hours)?;
    for _ in 0..2 {
        let Some(part) = rest.strip_prefix(':') else { break };
        rest = digits(part, 2, 59)?;
    }
    Some(rest)
}

/// A number of at most `length` digits and at most `most`. Returns the rest.
fn digits(text: &str, length: usize, most: u32) -> Option<&str> {
    let end = text.bytes().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    let value: u32 = text.get(..end.min(length + 1))?.parse().ok()?;
    (end <= length && value <= most).then(|| &text[end..])
}

/// `Jn`, `n` or `Mm.w.d`, each with an optional `/time`.
fn date(text: &str) -> Option<bool> {
    let (day, time) = match text.split_once('/') {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    if let Some(time) = time
        && !offset(time, WEEK)?.is_empty()
    {
        return Some(false);
    }
    if let Some(parts) = day.strip_prefix('M') {
        let parts: Vec<u32> = parts.split('.').map(|p| p.parse().ok()).collect::<Option<_>>()?;
        let [month, week, weekday] = parts[..] else { return Some(false) };
        return Some((1..=12).contains(&month) && (1..=5).contains(&week) && weekday <= 6);
    }
    match day.strip_prefix('J') {
        Some(number) => Some((1..=365).contains(&number.parse::<u32>().ok()?)),
        None => Some(day.parse::<u32>().ok()? <= 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posix_strings() {
        for fixed in ["JST-9", "UTC0", "GMT+0", "<+03>-3", "<-0330>+3:30", "AAA+12:34:56"] {
            assert_eq!(posix_tz(fixed), Some(PosixTz::Fixed), "{fixed}");
        }
        for no_rule in ["CET-1CEST", "GMT0BST", "EST5EDT", "<+02>-2<+03>", "AAA3BBB2:30"] {
            assert_eq!(posix_tz(no_rule), Some(PosixTz::NoRule), "{no_rule}");
        }
        let rules = [
            "CET-1CEST,M3.5.0,M10.5.0/3",
            "AEST-10AEDT,J274,J90/2",
            "XXX3YYY,0/0,364/24:30",
            "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
            "AAA3BBB4,M1.1.1,M2.2.2",
        ];
        for rule in rules {
            assert_eq!(posix_tz(rule), Some(PosixTz::WithRule), "{rule}");
        }
    }

    #[test]
    fn names_and_nonsense_are_not_posix_strings() {
        let names = [
            "",
            "UTC",
            "Foo/Bar",
            "Europe/Athens",
            "Bogus",
            "EU1",
            "JST-",
            "JST-999",
            "JST-25",
            "Etc/GMT+25",
            "x1;rm -rf /",
            "JST-9x",
            "<+03-3",
            "<+>-3",
            "CET-1CEST,",
            "CET-1CEST,M3.5.0",
            "CET-1CEST,M13.5.0,M10.5.0",
            "Etc/GMT+5",
            "/etc/localtime",
            "CET-1CEST,M3.5,M10.5.0",
            "JST-9:60",
            "Ä-1",
            "JST-٣",
        ];
        for name in names {
            assert_eq!(posix_tz(name), None, "{name}");
        }
    }
}
