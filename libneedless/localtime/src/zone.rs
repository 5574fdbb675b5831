//! A zone: what it says of any moment.

use crate::civil::{self, Civil};
use crate::mktime::Lead;
use crate::posix::Posix;
use crate::regime::Regime;
use crate::spans::Spans;
use crate::tail::Tail;
use crate::tzif::{Leap, Malformed, Tables};
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;

/// What a zone says of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Local<'z> {
    /// Local time.
    pub civil: Civil,
    /// Whether it is daylight saving time, `tm_isdst`.
    pub isdst: bool,
    /// Seconds east of UTC, `tm_gmtoff`.
    pub gmtoff: i32,
    /// The abbreviation, `tm_zone`.
    pub abbr: &'z CStr,
}

/// What glibc leaves in `tzname`, `timezone` and `daylight` of `tzset(3)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Globals<'z> {
    /// `tzname`: of standard time, then of daylight saving time.
    pub names: [&'z CStr; 2],
    /// `timezone`: seconds west of UTC of standard time.
    pub timezone: i64,
    /// `daylight`: 1 if the zone has daylight saving time, else 0.
    pub daylight: i32,
}

/// A time zone, immutable once made. Equal zones answer alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The transitions of a file; a POSIX text has none.
    pub(crate) spans: Option<Spans>,
    /// The rules of a POSIX text, or those after a file's last transition.
    pub(crate) tail: Option<Tail>,
    leaps: Vec<Leap>,
    /// `tzname`, and the other two, after `tzset`.
    fresh: [CString; 2],
    timezone: i64,
    daylight: i32,
    offsets_apart: i64,
}

impl Zone {
    /// UTC under the name `UTC`, as with an empty `TZ` where there are no zone files.
    pub fn utc() -> Zone {
        Zone::from_posix(b"")
    }

    /// The zone of a TZif file's bytes (RFC 9636, `tzfile(5)`), version 1 to 4, fat or slim, with leap
    /// seconds or without.
    ///
    /// # Errors
    ///
    /// [`Malformed`] where glibc refuses the file; it then reads the `TZ` as a POSIX text.
    pub fn from_tzif(bytes: &[u8]) -> Result<Zone, Malformed> {
        let tables = Tables::parse(bytes)?;
        let tail = tables.footer.as_deref().map(|footer| Tail::new(&Posix::parse(footer)));
        Ok(Zone::of_tables(tables, tail))
    }

    /// How many bytes [`Zone::from_tzif`] and [`Zone::with_posixrules`] allocate at most for a file's bytes
    /// and a text of `text` bytes, if nothing that they free is used again. A hostile file can ask for much
    /// more than its own size, since each of its types has a copy of its name.
    pub fn largest(bytes: &[u8], text: usize) -> usize {
        crate::tzif::largest(bytes).saturating_add(Zone::largest_of_text(text))
    }

    /// As [`Zone::largest`], for [`Zone::from_posix`].
    pub fn largest_of_text(text: usize) -> usize {
        2048 + 16 * text
    }

    fn of_tables(mut tables: Tables, tail: Option<Tail>) -> Zone {
        let leaps = core::mem::take(&mut tables.leaps);
        let spans = Spans::new(tables);
        let (standard, has_summer) = spans.standard();
        let ruled = tail.iter().flat_map(|tail| tail.offsets);
        Zone {
            offsets_apart: apart(spans.offsets().chain(ruled)),
            fresh: spans.fresh_names(),
            timezone: -i64::from(standard),
            daylight: i32::from(has_summer),
            leaps,
            spans: Some(spans),
            tail,
        }
    }

    /// The zone that glibc 2.36 makes of a `TZ` that names no file, without a leading colon (POSIX.1-2024
    /// base definitions clause 8.3). What is malformed is UTC, mostly, under the name that glibc gives
    /// it. A text without rules (`CET-1CEST`) follows the United States, as where no file `posixrules`
    /// exists; else see [`Zone::with_posixrules`].
    pub fn from_posix(text: &[u8]) -> Zone {
        let text = if text.first().is_none_or(|&first| first == 0) { b"UTC0" } else { text };
        let tail = Tail::new(&Posix::parse(text));
        let [standard, summer] = tail.offsets;
        Zone {
            offsets_apart: apart(tail.offsets.into_iter()),
            fresh: tail.names.clone(),
            timezone: -i64::from(standard),
            daylight: i32::from(standard != summer),
            spans: None,
            tail: Some(tail),
            leaps: Vec::new(),
        }
    }

    /// The zone that glibc makes of a text with daylight saving time but no rules (`CET-1CEST`) where
    /// the file `posixrules` exists: that file's transitions, moved to the text's offsets.
    ///
    /// `None` where glibc does not look at `posixrules`: the text has rules or names no daylight saving
    /// time, or the file is malformed or has only one type. Then it is [`Zone::from_posix`].
    pub fn with_posixrules(text: &[u8], posixrules: &[u8]) -> Option<Zone> {
        let posix = Posix::parse(text);
        let mut tables = Tables::parse(posixrules).ok()?;
        if !posix.bare || tables.types.len() < 2 {
            return None;
        }
        crate::posixrules::impose(&mut tables, &posix);
        // After the last transition glibc is in the file's own zone, names and all.
        let tail = tables.footer.as_deref().map(|footer| Tail::new(&Posix::parse(footer)));
        Some(Zone::of_tables(tables, tail))
    }

    /// `localtime(3)`: local time at `t` seconds after 1970-01-01 00:00:00 UTC.
    ///
    /// `None`: the year does not fit `tm_year` (EOVERFLOW).
    #[inline]
    pub fn local(&self, t: i64) -> Option<Local<'_>> {
        let Regime { gmtoff, isdst, abbr, .. } = self.regime(t)?;
        Some(Local { civil: self.clock(t, gmtoff)?, isdst, gmtoff, abbr })
    }

    /// What a clock shows at `t` that is so many seconds ahead of UTC.
    ///
    /// `None`: the year does not fit `tm_year` (EOVERFLOW).
    #[inline(always)]
    pub fn clock(&self, t: i64, gmtoff: i32) -> Option<Civil> {
        if self.leaps.is_empty() {
            return civil::gmtime(shifted(t, gmtoff, 0));
        }
        self.clock_with_leaps(t, gmtoff)
    }

    #[cold]
    fn clock_with_leaps(&self, t: i64, gmtoff: i32) -> Option<Civil> {
        let (correction, hit) = self.leap(t);
        Some(with_hit(civil::gmtime(shifted(t, gmtoff, correction))?, hit))
    }

    /// `gmtime(3)` of a process in this zone: UTC, but counted with leap seconds if the zone has them.
    ///
    /// `None`: the year does not fit `tm_year` (EOVERFLOW).
    #[inline]
    pub fn gmtime(&self, t: i64) -> Option<Civil> {
        self.clock(t, 0)
    }

    /// What `tzname`, `timezone` and `daylight` are after `tzset()` has read this zone (`None`), or
    /// after a conversion of `t` to local time, successful or not.
    pub fn globals_at(&self, t: Option<i64>) -> Globals<'_> {
        t.and_then(|t| self.regime(t)).map_or(self.fresh(), |regime| regime.globals)
    }

    #[inline]
    pub(crate) fn fresh(&self) -> Globals<'_> {
        Globals {
            names: [&*self.fresh[0], &*self.fresh[1]],
            timezone: self.timezone,
            daylight: self.daylight,
        }
    }

    /// How many leap seconds the zone counts up to `t`.
    pub fn leap_correction(&self, t: i64) -> i32 {
        self.leap(t).0
    }

    /// Whether the zone was made of a file.
    pub fn is_of_file(&self) -> bool {
        self.spans.is_some()
    }

    /// Seconds that no two of its offsets are further apart.
    pub fn offsets_apart(&self) -> i64 {
        self.offsets_apart
    }

    /// Whether the zone counts leap seconds.
    pub fn has_leaps(&self) -> bool {
        !self.leaps.is_empty()
    }

    /// For [`Zone::mktime`]: local time's lead at `t`.
    #[inline]
    pub(crate) fn lead(&self, t: i64) -> Option<Lead> {
        let Regime { gmtoff: offset, isdst, .. } = self.regime(t)?;
        let (correction, hit) = self.leap(t);
        let lead = i64::from(offset) - i64::from(correction) + i64::from(hit);
        let wall = shifted(t, offset, correction);
        (civil::FIRST..=civil::LAST).contains(&wall).then_some((lead, isdst))
    }

    /// For [`Zone::timegm`]: as [`Zone::lead`] for UTC.
    pub(crate) fn gmtime_lead(&self, t: i64) -> Option<Lead> {
        let (correction, hit) = self.leap(t);
        let wall = shifted(t, 0, correction);
        let lead = i64::from(hit) - i64::from(correction);
        (civil::FIRST..=civil::LAST).contains(&wall).then_some((lead, false))
    }

    /// How far the clock is ahead of one without leap seconds, and how many leap seconds `t` is into a
    /// minute of more than 60.
    #[inline]
    fn leap(&self, t: i64) -> (i32, i32) {
        if self.leaps.is_empty() {
            return (0, 0);
        }
        let Some(mut at) = self.leaps.iter().rposition(|leap| leap.at <= t) else {
            return (0, 0);
        };
        let here = self.leaps[at];
        let before = |at: usize| if at == 0 { 0 } else { self.leaps[at - 1].total };
        if here.at != t || here.total <= before(at) {
            return (here.total, 0);
        }
        let mut hit = 1;
        while at > 0 {
            let (this, previous) = (self.leaps[at], self.leaps[at - 1]);
            let follows = Some(this.at) == previous.at.checked_add(1)
                && Some(this.total) == previous.total.checked_add(1);
            if !follows {
                break;
            }
            hit += 1;
            at -= 1;
        }
        (here.total, hit)
    }
}

fn apart(offsets: impl Iterator<Item = i32>) -> i64 {
    2 * offsets.map(|offset| i64::from(offset).abs()).max().unwrap_or(0)
}

/// Local time as seconds; beyond what fits far from any year that does.
#[inline]
fn shifted(t: i64, offset: i32, correction: i32) -> i64 {
    t.saturating_add(i64::from(offset) - i64::from(correction))
}

fn with_hit(civil: Civil, hit: i32) -> Civil {
    Civil { sec: civil.sec + hit, ..civil }
}
