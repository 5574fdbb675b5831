//! Compiled time zone files (RFC 9636, "TZif"): is it one, and do two give the same local times.

use jiff::Timestamp;
use jiff::tz::{Dst, Offset, TimeZone, TimeZoneOffsetInfo};

/// 1843-01-01 and 2200-01-01, seconds: before the first transition of any zone (Greenwich time on
/// British railways, 1847), and after every rule of the database has shown each of its cases.
const FROM: i64 = -4_007_750_400;
const TO: i64 = 7_258_118_400;

/// Length of a TZif header, bytes.
const HEADER: usize = 44;

/// A time zone read from a file.
#[derive(Clone, Debug)]
pub(crate) struct Tzif {
    bytes: Vec<u8>,
    zone: TimeZone,
    leap_seconds: bool,
}

/// What a file is that is no zone, as the C library sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotTzif {
    /// Nothing in it: taken for UTC.
    Empty,
    /// Text, garbage: taken for UTC.
    Other,
    /// It begins as one. C libraries differ in how much they mind.
    Damaged(String),
}

impl std::fmt::Display for NotTzif {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotTzif::Empty => f.write_str("is empty"),
            NotTzif::Other => f.write_str("is not a compiled time zone (no \"TZif\" at its start)"),
            NotTzif::Damaged(why) => write!(f, "is a damaged time zone file ({why})"),
        }
    }
}

impl Tzif {
    /// Reads a zone from the bytes of a file, or says what the bytes are instead.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Tzif, NotTzif> {
        if bytes.is_empty() {
            return Err(NotTzif::Empty);
        }
        if !bytes.starts_with(b"TZif") {
            return Err(NotTzif::Other);
        }
        let zone = TimeZone::tzif("/etc/localtime", &bytes)
            .map_err(|error| NotTzif::Damaged(error.to_string()))?;
        let leap_seconds = counts_leap_seconds(&bytes);
        Ok(Tzif { bytes, zone, leap_seconds })
    }

    /// The file as read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it is one of the `right/` files, which count leap seconds and so are some 27
    /// seconds off POSIX time. What it says cannot be compared to the others.
    pub(crate) fn leap_seconds(&self) -> bool {
        self.leap_seconds
    }

    /// Whether it is UTC at all times and calls itself so.
    pub(crate) fn is_utc(&self) -> bool {
        !self.leap_seconds
            && changes(&self.zone).next().is_none()
            && self.zone.to_offset_info(start()).abbreviation() == "UTC"
            && self.zone.to_offset_info(start()).offset() == Offset::UTC
    }

    /// Whether both give the same local times: offset, daylight saving and abbreviation are equal
    /// at every transition of either, the second before and the second after, from 1843 to 2200.
    /// Both are constant in between, so this is a proof.
    pub(crate) fn same_times(&self, other: &Tzif) -> bool {
        if self.bytes == other.bytes {
            return true;
        }
        if self.leap_seconds || other.leap_seconds {
            return false;
        }
        let equal = |at: Timestamp| {
            told(&self.zone.to_offset_info(at)) == told(&other.zone.to_offset_info(at))
        };
        let around = |at: Timestamp| {
            [-1, 0, 1]
                .into_iter()
                .filter_map(|step| Timestamp::from_second(at.as_second() + step).ok())
                .all(equal)
        };
        equal(start()) && changes(&self.zone).all(around) && changes(&other.zone).all(around)
    }
}

/// What a zone file stores of the times to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its last transition, seconds since 1970; `None`: it has none.
    pub last: Option<i64>,
    /// The rule for all times after it ("JST-9"), "" where there is none.
    pub footer: String,
}

/// What the zone file `bytes` stores, as RFC 9636, section 3, lays it out. `None` where it is no zone file
/// of version 2 or newer.
pub fn stored(bytes: &[u8]) -> Option<Stored> {
    // Six counts end the header: isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt.
    let counts = |header: &[u8]| -> Option<[usize; 6]> {
        let mut counts = [0; 6];
        for (count, bytes) in counts.iter_mut().zip(header.get(20..HEADER)?.chunks_exact(4)) {
            *count = usize::try_from(u32::from_be_bytes(bytes.try_into().ok()?)).ok()?;
        }
        (header.starts_with(b"TZif") && header[4] >= b'2').then_some(counts)
    };
    let length = |[isut, isstd, leap, times, types, chars]: [usize; 6], width: usize| {
        let transitions = times.checked_mul(width + 1)?;
        let leaps = leap.checked_mul(width + 4)?;
        let rest =
            types.checked_mul(6)?.checked_add(chars)?.checked_add(isstd)?.checked_add(isut)?;
        transitions.checked_add(leaps)?.checked_add(rest)
    };
    // The first block has times of 32 bits, for readers of old; the second has them all.
    let second = bytes.get(HEADER.checked_add(length(counts(bytes)?, 4)?)?..)?;
    let of = counts(second)?;
    let body = &second[HEADER..];
    let last = match of[3] {
        0 => None,
        times => Some(i64::from_be_bytes(body.get((times - 1) * 8..times * 8)?.try_into().ok()?)),
    };
    let footer = body.get(length(of, 8)?..)?.strip_prefix(b"\n")?;
    let footer = footer.split(|byte| *byte == b'\n').next()?;
    Some(Stored { last, footer: String::from_utf8_lossy(footer).into_owned() })
}

fn start() -> Timestamp {
    Timestamp::from_second(FROM).unwrap_or(Timestamp::MIN)
}

/// The transitions of a zone from 1843 to 2200.
fn changes(zone: &TimeZone) -> impl Iterator<Item = Timestamp> {
    let mut last = start();
    zone.following(start()).map(|change| change.timestamp()).take_while(move |at| {
        // Without a footer, jiff 0.2.43 gives the last transition again and again.
        let later = *at > last;
        last = *at;
        later && at.as_second() < TO
    })
}

/// What a program is told of an instant by `localtime`.
fn told<'a>(info: &'a TimeZoneOffsetInfo<'_>) -> (Offset, Dst, &'a str) {
    (info.offset(), info.dst(), info.abbreviation())
}

/// Whether the data that a 64-bit program reads has leap second records. Bytes that end too early
/// count as none: such a file does not parse.
fn counts_leap_seconds(bytes: &[u8]) -> bool {
    let number = |at: usize| {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four) as usize)
    };
    // isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt follow the first 20 bytes.
    let count = |header: usize, i: usize| number(header + 20 + 4 * i);
    let v1_block = || {
        let [ut, std, leap, time, kind, chars] = [0, 1, 2, 3, 4, 5].map(|i| count(0, i));
        Some(time? * 5 + kind? * 6 + chars? + leap? * 8 + std? + ut?)
    };
    let header = match bytes.get(4) {
        // Version 1 has the only block; later ones repeat it with 64-bit times.
        Some(0) | None => Some(0),
        Some(_) => v1_block().map(|length| HEADER + length),
    };
    header.and_then(|at| count(at, 2)).is_some_and(|leap| leap > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_zone_is_said() {
        assert_eq!(Tzif::parse(Vec::new()).unwrap_err(), NotTzif::Empty);
        assert_eq!(Tzif::parse(b"hello".to_vec()).unwrap_err(), NotTzif::Other);
        assert!(matches!(Tzif::parse(b"TZif2".to_vec()), Err(NotTzif::Damaged(_))));
    }

    #[test]
    fn what_a_file_stores_of_the_times_to_come() {
        let header = |times: u8| {
            let mut bytes = b"TZif2".to_vec();
            bytes.resize(20, 0);
            bytes.extend([0; 12]);
            bytes.extend([0, 0, 0, times, 0, 0, 0, 1, 0, 0, 0, 4]);
            bytes
        };
        let kind = [0, 0, 0x7e, 0x90, 0, 0, b'J', b'S', b'T', 0];
        let mut file = [header(0), kind.to_vec(), header(2)].concat();
        file.extend((-5i64).to_be_bytes());
        file.extend((-600i64).to_be_bytes());
        file.extend([0, 0]);
        file.extend(kind);
        let whole = [&file[..], b"\nJST-9\n"].concat();
        assert_eq!(stored(&whole), Some(Stored { last: Some(-600), footer: "JST-9".into() }));
        for length in 0..file.len() + 1 {
            assert_eq!(stored(&whole[..length]), None, "{length} bytes");
        }
        let mut first_version = whole.clone();
        first_version[4] = 0;
        assert_eq!(stored(&first_version), None);
        let mut greedy = whole;
        greedy[20..HEADER].fill(0xff);
        assert_eq!(stored(&greedy), None);
    }

    #[test]
    fn a_header_that_claims_too_much_does_not_overflow() {
        let mut bytes = b"TZif2".to_vec();
        bytes.resize(20, 0);
        bytes.extend([0xff; 24]);
        assert!(!counts_leap_seconds(&bytes));
        assert!(Tzif::parse(bytes).is_err());
    }
}
