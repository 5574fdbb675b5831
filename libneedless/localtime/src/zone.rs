//! A time zone and its conversions from moments to local time.

use crate::civil::{self, Civil};
use crate::local_time_type::LocalTimeType;
use crate::mktime::{Lead, LocalMoment};
use crate::posix::{PosixTz, TzString};
use crate::transitions::{Transitions, fresh_names};
use crate::tzif::{LeapRecord, Malformed, Tables};
use crate::yearly_rules::{YearlyRules, c_string};
use alloc::ffi::CString;
use alloc::vec::Vec;
use core::ffi::CStr;

/// One moment in local time.
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

/// A time zone, immutable once made. Equal zones give equal answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The transitions of a file; a TZ string has none.
    pub(crate) transitions: Option<Transitions>,
    /// The rules of a TZ string, or those of a file's footer, which apply after its last transition.
    pub(crate) rules: Option<YearlyRules>,
    leaps: Vec<LeapRecord>,
    /// `tzname` after `tzset`; the next two are the other variables then.
    names_after_tzset: [CString; 2],
    timezone: i64,
    daylight: i32,
    max_offset_difference: i64,
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
    /// [`Malformed`] where glibc refuses the file; it then reads `TZ` as a TZ string.
    pub fn from_tzif(bytes: &[u8]) -> Result<Zone, Malformed> {
        let tables = Tables::parse(bytes)?;
        let rules =
            tables.footer.as_deref().map(|footer| YearlyRules::new(&TzString::parse(footer)));
        Ok(Zone::of_tables(tables, rules))
    }

    /// An upper bound of the bytes that [`Zone::from_tzif`] and [`Zone::with_posixrules`] allocate for a file and
    /// a TZ string of `text` bytes, where freed memory is not reused. It can be much more than the file's size,
    /// since each type gets a copy of its name.
    pub fn max_allocation(bytes: &[u8], text: usize) -> usize {
        crate::tzif::max_allocation(bytes).saturating_add(Zone::max_allocation_of_text(text))
    }

    /// As [`Zone::max_allocation`], for [`Zone::from_posix`].
    pub fn max_allocation_of_text(text: usize) -> usize {
        2048 + 16 * text
    }

    fn of_tables(mut tables: Tables, rules: Option<YearlyRules>) -> Zone {
        let leaps = core::mem::take(&mut tables.leaps);
        let names_after_tzset = fresh_names(&tables);
        let transitions = Transitions::new(tables);
        let (standard, has_summer) = transitions.standard();
        let of_rules = rules.iter().flat_map(|rules| rules.offsets);
        Zone {
            max_offset_difference: max_difference(transitions.offsets().chain(of_rules)),
            names_after_tzset,
            timezone: -i64::from(standard),
            daylight: i32::from(has_summer),
            leaps,
            transitions: Some(transitions),
            rules,
        }
    }

    /// The zone that glibc 2.36 makes of a `TZ` that names no file, without a leading colon (POSIX.1-2024
    /// base definitions clause 8.3). A malformed string is mostly UTC, under the name that glibc gives it. A
    /// string without rules (`CET-1CEST`) gets the rules of the United States, as where no file `posixrules`
    /// exists; where one does, see [`Zone::with_posixrules`].
    pub fn from_posix(text: &[u8]) -> Zone {
        let text = if text.first().is_none_or(|&first| first == 0) { b"UTC0" } else { text };
        let rules = YearlyRules::new(&TzString::parse(text));
        let [standard, summer] = rules.offsets;
        Zone {
            max_offset_difference: max_difference(rules.offsets.into_iter()),
            names_after_tzset: rules.names.clone(),
            timezone: -i64::from(standard),
            daylight: i32::from(standard != summer),
            transitions: None,
            rules: Some(rules),
            leaps: Vec::new(),
        }
    }

    /// The zone that glibc makes of a TZ string with daylight saving time but no rules (`CET-1CEST`) where
    /// the file `posixrules` exists: that file's transitions, moved to the string's offsets.
    ///
    /// `None` where glibc does not use `posixrules`: the string has rules or names no daylight saving time, or
    /// the file is malformed or has only one type. Then [`Zone::from_posix`] is right.
    pub fn with_posixrules(text: &[u8], posixrules: &[u8]) -> Option<Zone> {
        let posix = TzString::parse(text);
        let mut tables = Tables::parse(posixrules).ok()?;
        if posix.kind != Some(PosixTz::NoRule) || tables.types.len() < 2 {
            return None;
        }
        crate::posixrules::apply(&mut tables, &posix);
        // After the last transition glibc uses the file's own footer, names included.
        let rules =
            tables.footer.as_deref().map(|footer| YearlyRules::new(&TzString::parse(footer)));
        // The variables are the string's, even if no transition leads to standard time or none to daylight saving time.
        let [standard, summer] = &posix.names;
        Some(Zone {
            names_after_tzset: [c_string(standard), c_string(summer)],
            timezone: -i64::from(posix.offsets[0]),
            ..Zone::of_tables(tables, rules)
        })
    }

    /// `localtime(3)`: local time at `t` seconds after 1970-01-01 00:00:00 UTC.
    ///
    /// `None`: the year does not fit `tm_year` (EOVERFLOW).
    #[inline]
    pub fn local(&self, t: i64) -> Option<Local<'_>> {
        let LocalTimeType { gmtoff, isdst, abbr, .. } = self.local_time_type(t)?;
        Some(Local { civil: self.clock(t, gmtoff)?, isdst, gmtoff, abbr })
    }

    /// The local time at `t` where it is simple to work out, which it nearly always is: from 1900 to 2100, without leap
    /// seconds. Elsewhere `None`: see [`Zone::local`].
    #[inline(always)]
    pub fn local_near(&self, t: i64) -> Option<LocalMoment<'_>> {
        if self.has_leaps() {
            return None;
        }
        let local_type = self.type_near(t)?;
        // The sum of a moment near the end of an `i64` wraps to the other end, which is as far away.
        let civil = civil::gmtime_near(t.wrapping_add(i64::from(local_type.gmtoff)))?;
        Some(LocalMoment { t, civil, local_type })
    }

    /// As [`Zone::gmtime`], under the conditions of [`Zone::local_near`].
    #[inline(always)]
    pub fn gmtime_near(&self, t: i64) -> Option<Civil> {
        if self.has_leaps() { None } else { civil::gmtime_near(t) }
    }

    /// What a clock that is `gmtoff` seconds ahead of UTC shows at `t`.
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
        t.and_then(|t| self.local_time_type(t))
            .map_or(self.globals_after_tzset(), |kind| kind.globals)
    }

    #[inline]
    pub(crate) fn globals_after_tzset(&self) -> Globals<'_> {
        Globals {
            names: [&*self.names_after_tzset[0], &*self.names_after_tzset[1]],
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
        self.transitions.is_some()
    }

    /// No two offsets of the zone differ by more than this many seconds.
    pub fn max_offset_difference(&self) -> i64 {
        self.max_offset_difference
    }

    /// Whether the zone counts leap seconds.
    pub fn has_leaps(&self) -> bool {
        !self.leaps.is_empty()
    }

    /// For [`Zone::mktime`]: the lead of local time at `t`, defined in `mktime.rs`.
    #[inline]
    pub(crate) fn lead(&self, t: i64) -> Option<Lead> {
        let LocalTimeType { gmtoff: offset, isdst, .. } = self.local_time_type(t)?;
        let (correction, hit) = self.leap(t);
        let lead = i64::from(offset) - i64::from(correction) + i64::from(hit);
        let wall = shifted(t, offset, correction);
        (civil::FIRST..=civil::LAST).contains(&wall).then_some((lead, isdst))
    }

    /// For [`Zone::timegm`]: as [`Zone::lead`], for UTC.
    pub(crate) fn gmtime_lead(&self, t: i64) -> Option<Lead> {
        let (correction, hit) = self.leap(t);
        let wall = shifted(t, 0, correction);
        let lead = i64::from(hit) - i64::from(correction);
        (civil::FIRST..=civil::LAST).contains(&wall).then_some((lead, false))
    }

    /// How many leap seconds are counted up to `t`, and how many of them have just been inserted at `t`, so that
    /// its minute has more than 60 seconds.
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

/// An upper bound of the difference of two of the offsets.
fn max_difference(offsets: impl Iterator<Item = i32>) -> i64 {
    2 * offsets.map(|offset| i64::from(offset).abs()).max().unwrap_or(0)
}

/// Local time as seconds. It saturates, at values whose years do not fit `tm_year` anyway.
#[inline]
fn shifted(t: i64, offset: i32, correction: i32) -> i64 {
    t.saturating_add(i64::from(offset) - i64::from(correction))
}

fn with_hit(civil: Civil, hit: i32) -> Civil {
    Civil { sec: civil.sec + hit, ..civil }
}
