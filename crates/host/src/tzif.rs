//! Compiled time zone files (RFC 9636, "TZif"): whether a file is one, and whether two give the same local times.
//! `needless-localtime` reads them, as glibc does.

use needless_localtime::Zone;

/// 1843-01-01 and 2200-01-01, seconds: before the first transition of any zone (Greenwich time on
/// British railways, 1847), and after every rule of the database has shown each of its cases.
const FROM: i64 = -4_007_750_400;
const TO: i64 = 7_258_118_400;

/// A time zone read from a file.
#[derive(Clone, Debug)]
pub(crate) struct Tzif {
    bytes: Vec<u8>,
    zone: Zone,
}

/// What a file that is no zone is to the C library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NotTzif {
    /// It is empty: taken for UTC.
    Empty,
    /// It has other contents: taken for UTC.
    Other,
    /// It begins as a zone. C libraries differ in what they then do.
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
    /// Reads a zone from the bytes of a file.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Tzif, NotTzif> {
        if bytes.is_empty() {
            return Err(NotTzif::Empty);
        }
        if !bytes.starts_with(b"TZif") {
            return Err(NotTzif::Other);
        }
        let zone = Zone::from_tzif(&bytes).map_err(|error| NotTzif::Damaged(error.to_string()))?;
        Ok(Tzif { bytes, zone })
    }

    /// The file as read.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it is one of the `right/` files, which count leap seconds and so differ from POSIX time by some
    /// 27 seconds. Their times cannot be compared to those of other files.
    pub(crate) fn leap_seconds(&self) -> bool {
        self.zone.has_leaps()
    }

    /// Whether it is UTC at all times, under that name.
    pub(crate) fn is_utc(&self) -> bool {
        same_times(&self.zone, &Zone::utc())
    }

    /// Whether both give the same local times.
    pub(crate) fn same_times(&self, other: &Tzif) -> bool {
        self.bytes == other.bytes || same_times(&self.zone, &other.zone)
    }
}

/// Whether both zones have the same offset, daylight saving and abbreviation from 1843 to 2200. It goes from
/// each change of either to the next; between them both are constant, so this is a proof. `false` for zones with
/// leap seconds.
fn same_times(one: &Zone, other: &Zone) -> bool {
    let mut at = FROM;
    while at < TO {
        let both = (one.type_around(at), other.type_around(at));
        let (Some((one, around)), Some((other, around_other))) = both else { return false };
        if (one.gmtoff, one.isdst, one.abbr) != (other.gmtoff, other.isdst, other.abbr) {
            return false;
        }
        at = around.end.min(around_other.end);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_zone_is_reported() {
        assert_eq!(Tzif::parse(Vec::new()).unwrap_err(), NotTzif::Empty);
        assert_eq!(Tzif::parse(b"hello".to_vec()).unwrap_err(), NotTzif::Other);
        assert!(matches!(Tzif::parse(b"TZif2".to_vec()), Err(NotTzif::Damaged(_))));
    }

    #[test]
    fn a_header_that_claims_too_much_does_not_overflow() {
        let mut bytes = b"TZif2".to_vec();
        bytes.resize(20, 0);
        bytes.extend([0xff; 24]);
        assert!(Tzif::parse(bytes).is_err());
    }
}
