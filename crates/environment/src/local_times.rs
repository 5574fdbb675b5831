//! What local time is with a value of `TZ` in the file system of the program that has it, and what a change of the value
//! does to it.

use needless_host::Root;
use needless_localtime::{Zone, date};

/// Where glibc looks names of zones up, where TZDIR does not say another directory.
pub(crate) const ZONEINFO: &str = "/usr/share/zoneinfo";
/// The zone of a program without TZ (`TZDEFAULT`).
const LOCALTIME: &str = "/etc/localtime";

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// So far into the future two zones are compared: rules that are in force for some years only have ended by then.
const AHEAD: i64 = 10 * 366 * DAY;

/// The zone that glibc uses with this value of TZ (`None`: unset) in the file system `root`, with names of zones in the
/// directory `tzdir`. `None` where a file of it cannot be read. A value that names no zone file is read as a TZ string,
/// which mostly makes it UTC.
pub(crate) fn zone(root: &Root, tzdir: &str, value: Option<&str>) -> Option<Zone> {
    let name = value.map(|value| value.strip_prefix(':').unwrap_or(value));
    let path = match name {
        None => LOCALTIME.to_owned(),
        Some("") => return Some(Zone::utc()),
        Some(name) if name.starts_with('/') => name.to_owned(),
        Some(name) => format!("{tzdir}/{name}"),
    };
    let file = match root.read(&path) {
        Ok(bytes) => Zone::from_tzif(&bytes).ok(),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return None,
        Err(_) => None,
    };
    let text = name.filter(|name| *name != LOCALTIME);
    Some(
        file.unwrap_or_else(|| {
            text.map_or_else(Zone::utc, |text| Zone::from_posix(text.as_bytes()))
        }),
    )
}

/// A change of local times: from when on, in seconds since 1970, and by how many seconds first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift {
    from: i64,
    by: i64,
    /// When it was looked for.
    now: i64,
}

impl Shift {
    /// The first moment from `now` on, within ten years, at which two zones differ. It goes from each change of the clocks
    /// of either zone to the next; between them both are constant.
    pub(crate) fn between(old: &Zone, new: &Zone, now: i64) -> Option<Shift> {
        if old.has_leaps() != new.has_leaps() {
            return Some(Shift { from: now, by: 0, now });
        }
        let mut at = now;
        while at < now + AHEAD {
            let offset = |zone: &Zone| zone.type_at(at).map_or(0, |kind| i64::from(kind.gmtoff));
            let by = offset(new) - offset(old);
            if by != 0 {
                return Some(Shift { from: at, by, now });
            }
            // Not known for zones with leap seconds; clocks change at full quarters of an hour.
            let end =
                |zone: &Zone| zone.type_around(at).map_or(at + HOUR / 4, |(_, around)| around.end);
            at = end(old).min(end(new));
        }
        None
    }
}

/// "by +6 h from now", "by -1 h from 2027-03-28 on".
impl std::fmt::Display for Shift {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Shift { from, by, now } = *self;
        match by {
            0 => f.write_str("by the leap seconds of a \"right\" zone")?,
            _ => write!(f, "by {}", amount(by))?,
        }
        if from == now {
            return f.write_str(" from now");
        }
        let (year, month, day) = date(from.div_euclid(DAY));
        write!(f, " from {year}-{month:02}-{day:02} on")
    }
}

/// "+6 h", "-5 h 30 min", "+20 min 8 s".
fn amount(seconds: i64) -> String {
    let sign = if seconds < 0 { '-' } else { '+' };
    let all = seconds.abs();
    let units = [(all / HOUR, "h"), (all % HOUR / MINUTE, "min"), (all % MINUTE, "s")];
    let parts = units.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n} {unit}"));
    format!("{sign}{}", parts.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shift(old: &str, new: &str, now: i64) -> Option<String> {
        let root = Root::own().unwrap();
        let of = |value| zone(&root, ZONEINFO, Some(value)).unwrap();
        Shift::between(&of(old), &of(new), now).map(|shift| shift.to_string())
    }

    /// 2026-11-27 and 2026-07-01.
    const WINTER: i64 = 1_795_780_800;
    const SUMMER: i64 = 1_782_864_000;

    #[test]
    fn the_first_difference_is_named() {
        let new_york = "EST5EDT,M3.2.0,M11.1.0";
        for (old, new, now, says) in [
            (new_york, "CET-1CEST,M3.5.0,M10.5.0/3", WINTER, Some("by +6 h from now")),
            ("UTC", "<+0545>-5:45", WINTER, Some("by +5 h 45 min from now")),
            ("<+0530>-5:30", "", WINTER, Some("by -5 h 30 min from now")),
            ("UTC", "GMT0BST,M3.5.0/1,M10.5.0", WINTER, Some("by +1 h from 2027-03-28 on")),
            ("UTC", "GMT0BST,M3.5.0/1,M10.5.0", SUMMER, Some("by +1 h from now")),
            (new_york, new_york, WINTER, None),
            ("", "UTC", WINTER, None),
            ("UTC0", ":UTC", WINTER, None),
        ] {
            assert_eq!(shift(old, new, now).as_deref(), says, "{old} {new}");
        }
        assert_eq!(amount(-28), "-28 s");
    }

    /// A root with one zone in it, and with none.
    #[test]
    fn a_zone_that_is_missing_is_utc() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::of(std::fs::File::open(folder.path()).unwrap().into());
        let utc_in = |value| {
            let zone = zone(&root, ZONEINFO, value).unwrap();
            zone.type_at(WINTER).map(|kind| (kind.gmtoff, kind.abbr.to_owned()))
        };
        assert_eq!(utc_in(None), Some((0, b"UTC".to_vec())));
        assert_eq!(utc_in(Some("Europe/Madrid")), Some((0, b"Europe".to_vec())));
        assert_eq!(utc_in(Some("America/New_York\r")), Some((0, b"America".to_vec())));
        assert_eq!(utc_in(Some(":/etc/localtime")), Some((0, b"UTC".to_vec())));
        assert_eq!(utc_in(Some("JST-9")), Some((32_400, b"JST".to_vec())));
    }
}
