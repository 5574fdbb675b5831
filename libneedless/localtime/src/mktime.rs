//! From fields to a moment, `mktime(3)`. POSIX (mktime, DESCRIPTION) specifies the answer where local time shows
//! the fields exactly once, with the flag of `tm_isdst`. The cases that it leaves open (a gap, a fold, a flag that
//! contradicts the zone) are answered as the C library was seen to answer.
//!
//! The *lead* of a moment is by how many seconds local time is ahead of it. Leads change at transitions only, and
//! none exceeds about a day: only the leads in force around the wanted wall clock matter.

use crate::civil::{self, Civil, Date};
use crate::local_time_type::LocalTimeType;
use crate::zone::{Local, Zone};

/// The lead of a moment in seconds, leap seconds included, and whether it is daylight saving time.
pub(crate) type Lead = (i64, bool);

const HOUR: i64 = 3600;
/// Distances from the wall clock, read as UTC, at which leads are looked up: no zone is further from UTC than 26
/// hours.
const AROUND: [i64; 5] = [-26 * HOUR, -13 * HOUR, 0, 13 * HOUR, 26 * HOUR];
/// The step in seconds, and the number of steps, of the search for a moment with the wanted flag. They are the C
/// library's, found by trying an hour of daylight saving time at every distance, and decide where two such
/// seasons with different leads are equally near.
const STEP: i64 = 601_200;
const STEPS: i64 = 381;

/// A moment and its local time.
#[derive(Clone, Copy, Debug)]
pub struct LocalMoment<'z> {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub t: i64,
    /// Local time.
    pub civil: Civil,
    /// The local time type in force.
    pub local_type: LocalTimeType<'z>,
}

impl Zone {
    /// `mktime(3)`: the moment at which local time shows these fields, and [`Zone::local`] of it. Fields may be
    /// out of range; `wday` and `yday` are not read. `isdst` is as in `tm_isdst`: 0, positive, or negative for
    /// not known.
    ///
    /// In a fold, with the flag not known, the C library's answer depends on its previous one: see
    /// [`Zone::mktime_after`]. This function answers with the lead in force at the wall clock read as UTC.
    ///
    /// `None`: no such moment, or its year does not fit `tm_year` (EOVERFLOW).
    pub fn mktime(&self, civil: &Civil, isdst: i32) -> Option<(i64, Local<'_>)> {
        let wall = civil::wall(civil).0;
        let mut carried = self.lead(wall).map_or(0, |(lead, _)| -lead);
        let t = self.mktime_after(civil, isdst, &mut carried)?;
        Some((t, self.local(t)?))
    }

    /// As [`Zone::mktime`], with what the C library carries from call to call: the last answer less the same
    /// fields read as UTC (seconds, 0 at first). [`Zone::local`] of the answer is not `None`.
    pub fn mktime_after(&self, civil: &Civil, isdst: i32, carried: &mut i64) -> Option<i64> {
        if let Some(found) = self.mktime_far_from_changes(civil, isdst, carried) {
            return Some(found.t);
        }
        let wall = civil::wall(civil).0;
        let t = moment(|t| self.lead(t), wall, isdst, *carried)?;
        *carried = t.wrapping_sub(wall);
        let t = with_second(t, civil.sec, self.local(t)?.civil.sec);
        self.lead(t).map(|_| t)
    }

    /// As [`Zone::mktime_after`], where the same local time type is in force for days around, so that no other
    /// moment shows the same clock. Elsewhere `None`, and `carried` is unchanged: the caller has to search.
    #[inline]
    pub fn mktime_far_from_changes(
        &self,
        civil: &Civil,
        isdst: i32,
        carried: &mut i64,
    ) -> Option<LocalMoment<'_>> {
        // A second that is out of range is added to the moment of the other fields.
        let (day, second, extra) = match civil::day_and_second(civil) {
            Some((day, second)) => (day, second as i32, 0),
            None => {
                let (wall, extra) = civil::wall(civil);
                let (day, second) = civil::split(wall + extra);
                (day, second, extra)
            }
        };
        let date = Date::of(day)?;
        let wall = day * civil::DAY + i64::from(second);
        let (local_type, around) = self.type_around_date(wall, &date, second)?;
        if isdst >= 0 && (isdst > 0) != local_type.isdst {
            return None;
        }
        let t = wall - i64::from(local_type.gmtoff);
        // Two moments that show the same wall clock are no further apart than two offsets differ.
        let apart = self.max_offset_difference();
        let is_far = |t: i64| {
            t.checked_sub(apart).is_some_and(|t| t >= around.start)
                && t.checked_add(apart).is_some_and(|t| t < around.end)
        };
        let far = is_far(t) && (extra == 0 || is_far(t - extra));
        if !far || !(civil::FIRST..=civil::LAST).contains(&(wall - extra)) {
            return None;
        }
        *carried = -i64::from(local_type.gmtoff);
        Some(LocalMoment { t, civil: date.at(second as u32), local_type })
    }

    /// `timegm(3)`: the inverse of [`Zone::gmtime`], so with leap seconds if the zone has them.
    ///
    /// `None`: the year of the answer does not fit `tm_year` (EOVERFLOW).
    pub fn timegm(&self, civil: &Civil) -> Option<i64> {
        let mut carried = self.gmtime_lead(civil::wall(civil).0).map_or(0, |(lead, _)| -lead);
        self.timegm_after(civil, &mut carried)
    }

    /// As [`Zone::timegm`], with what the C library carries from call to call, as in [`Zone::mktime_after`]. It
    /// matters only in files whose leap seconds jump by hours.
    pub fn timegm_after(&self, civil: &Civil, carried: &mut i64) -> Option<i64> {
        if !self.has_leaps() {
            let t = civil::timegm(civil);
            if civil::is_near(civil) {
                *carried = 0;
            }
            return t;
        }
        let wall = civil::wall(civil).0;
        let t = moment(|t| self.gmtime_lead(t), wall, 0, *carried)?;
        *carried = t.wrapping_sub(wall);
        let t = with_second(t, civil.sec, self.gmtime(t)?.sec);
        self.gmtime(t).map(|_| t)
    }
}

/// `t`, which was found for the second clamped to 0 to 59, moved to the second that was asked for. Where `t` is a
/// leap second, shown as 60, and the second asked for is 0, the minute after it is meant.
fn with_second(t: i64, asked: i32, shown: i32) -> i64 {
    // In 64 bits: of an i32, the code that rustc 1.95 makes for ppc64le takes a negative second for a positive one.
    let asked = i64::from(asked);
    let sought = asked.clamp(0, 59);
    let after_leap = i64::from(sought == 0 && shown == 60);
    t + after_leap + asked - sought
}

/// The moment that the wall clock `wall` means.
fn moment(lead: impl Fn(i64) -> Option<Lead>, wall: i64, isdst: i32, carried: i64) -> Option<i64> {
    let start = wall.saturating_add(carried);
    let at = |distance: i64| lead(wall.saturating_add(distance));
    let mut shown = None;
    // First the lead at the start of the C library's search, then the one where that leads: their order decides
    // which one is found of an hour that happens twice. Last every hour, since a season by rule may last only hours.
    let first = lead(start);
    let second = first.and_then(|(ahead, _)| lead(wall.saturating_sub(ahead)));
    let usual = [first, second].into_iter().chain(AROUND.map(at));
    let others = (-26..=26).map(|hours| at(hours * HOUR));
    for (ahead, _) in usual.chain(others).flatten() {
        let t = wall.saturating_sub(ahead);
        let Some((here, dst)) = lead(t) else { continue };
        if here != ahead {
            continue;
        }
        if isdst < 0 || (isdst > 0) == dst {
            return Some(t);
        }
        shown = shown.or(Some((t, dst)));
    }
    let Some((t, dst)) = shown else { return in_gap(&lead, wall, isdst, start) };
    // The clock is shown, but with the other flag: the fields are read with a lead that has the wanted flag.
    let other_by_an_hour = if dst { HOUR } else { -HOUR };
    let ahead = nearest(&lead, t, !dst);
    Some(ahead.map_or(t.saturating_add(other_by_an_hour), |ahead| wall.saturating_sub(ahead)))
}

/// The moment of a wall clock in a gap of local time: the clock read with the lead of one side of the gap.
///
/// If the flag is known, it is the side that has it; where both have it, the C library fails. If it is not known,
/// it is the side of standard time, which gives a moment after the gap. Where both sides have the same flag, the
/// start of the C library's search decides: the answer is that start, or uses the lead in force there.
fn in_gap(lead: &impl Fn(i64) -> Option<Lead>, wall: i64, isdst: i32, start: i64) -> Option<i64> {
    let read = |ahead: i64| wall.saturating_sub(ahead);
    let leads = AROUND.into_iter().filter_map(|distance| lead(wall.saturating_add(distance)));
    let moments = leads.map(|(ahead, _)| read(ahead));
    let before = lead(moments.clone().min()?)?;
    let after = lead(moments.max()?)?;
    if before.1 == after.1 {
        if isdst >= 0 && before.1 == (isdst > 0) {
            return None;
        }
        let ends_there = [before, after].iter().any(|(ahead, _)| read(*ahead) == start);
        return if ends_there { Some(start) } else { lead(start).map(|(ahead, _)| read(ahead)) };
    }
    let (ahead, _) = if before.1 == (isdst > 0) { before } else { after };
    lead(read(ahead)).map(|_| read(ahead))
}

/// The lead of the moment nearest to `t` that has the flag; of two equally near ones, the earlier one's.
fn nearest(lead: &impl Fn(i64) -> Option<Lead>, t: i64, dst: bool) -> Option<i64> {
    let distances = (1..=STEPS).flat_map(|steps| [-steps * STEP, steps * STEP]);
    distances
        .filter_map(|distance| lead(t.saturating_add(distance)))
        .find_map(|(ahead, flag)| (flag == dst).then_some(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// One hour of daylight saving time from `start` on, three hours ahead of UTC.
    fn an_hour_of_summer(start: i64) -> Zone {
        let mut file = Vec::new();
        for width in [4, 8] {
            file.extend(b"TZif2");
            file.extend([0; 15]);
            for count in [0u32, 0, 0, 2, 2, 8] {
                file.extend(count.to_be_bytes());
            }
            for t in [start, start + HOUR] {
                file.extend(&t.to_be_bytes()[8 - width..]);
            }
            file.extend([1, 0]);
            file.extend([0, 0, 0, 0, 0, 0, 0, 0, 0x2a, 0x30, 1, 4]);
            file.extend(b"XXX\0YYY\0");
        }
        file.extend(b"\nXXX0\n");
        Zone::from_tzif(&file).expect("a valid file")
    }

    #[test]
    fn a_season_is_found_as_far_away_as_the_c_library_finds_it() {
        let summer = 962_409_600;
        let zone = an_hour_of_summer(summer);
        // Whether the season is found from fields that are so many seconds away from its middle.
        let found = |away: i64| {
            let t = summer + HOUR / 2 + away;
            let fields = civil::gmtime(t).expect("a year that fits");
            zone.mktime(&fields, 1).map(|(answer, _)| answer) == Some(t - 3 * HOUR)
        };
        for steps in [1, 2, 300, STEPS] {
            assert!(found(steps * STEP) && found(-steps * STEP), "{steps}");
            assert!(!found(steps * STEP + HOUR) && !found(-steps * STEP - HOUR), "{steps}");
        }
        assert!(!found((STEPS + 1) * STEP) && !found(-(STEPS + 1) * STEP));
    }

    /// As in right/Pacific/Kosrae, where the clock went back half a day before a leap second: a search that starts
    /// after both ends at the later one of the two hours.
    #[test]
    fn the_start_of_the_search_decides_between_two_equal_hours() {
        let (back, leap) = (1_000_000_000, 1_000_000_000 + 12 * HOUR);
        let lead = |t: i64| {
            let offset = if t < back { 12 * HOUR } else { 11 * HOUR };
            Some((offset - if t < leap { 21 } else { 22 }, false))
        };
        let wall = back + 11 * HOUR + 600;
        assert_eq!(moment(lead, wall, -1, 13 * HOUR), Some(back + 621));
        assert_eq!(moment(lead, wall, -1, -12 * HOUR), Some(back + 621 - HOUR));
    }
}
