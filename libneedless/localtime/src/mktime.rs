//! From fields to a moment, `mktime(3)`. POSIX (mktime, clause DESCRIPTION) says which moment is meant
//! where local time shows the fields exactly once, with the flag that `tm_isdst` says. What it leaves open
//! (a gap, a fold, a flag that contradicts the zone) is answered as the C library was seen to answer.
//!
//! Local time is ahead of a moment by its *lead*. Leads change at transitions only, and none is more than
//! about a day: the leads in force around the wanted wall clock are all that can matter.

use crate::civil::{self, Civil, Date};
use crate::regime::Regime;
use crate::zone::{Local, Zone};

/// Local time's lead over a moment in seconds, leap seconds included, and whether it is daylight saving
/// time; `None` where the year does not fit.
pub(crate) type Lead = (i64, bool);

const HOUR: i64 = 3600;
/// Where leads are looked at around the wall clock, read as UTC: no zone is further from it than 26 hours.
const AROUND: [i64; 5] = [-26 * HOUR, -13 * HOUR, 0, 13 * HOUR, 26 * HOUR];
/// How closely, in seconds, and how many steps away a moment with a wanted flag is sought: those of the C
/// library, found by asking it for an hour of summer at every distance. They decide where two summers with
/// different leads are equally near.
const STEP: i64 = 601_200;
const STEPS: i64 = 381;

/// A moment, and what is shown then.
#[derive(Clone, Copy, Debug)]
pub struct Found<'z> {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub t: i64,
    /// Local time.
    pub civil: Civil,
    /// What the zone says of it.
    pub regime: Regime<'z>,
}

impl Zone {
    /// `mktime(3)`: the moment that local time calls by these fields, and what [`Zone::local`] says of
    /// it. Fields may be out of range; `wday` and `yday` are not read. `isdst` as in `tm_isdst`: 0, more
    /// than 0, or less than 0 for not known.
    ///
    /// In a fold, with the flag not known, the C library's answer depends on its previous one: see
    /// [`Zone::mktime_after`]. Here it is the moment whose lead is in force at the wall clock read as UTC.
    ///
    /// `None`: no such moment, or its year does not fit `tm_year` (EOVERFLOW).
    pub fn mktime(&self, civil: &Civil, isdst: i32) -> Option<(i64, Local<'_>)> {
        let wall = civil::wall(civil).0;
        let mut carried = self.lead(wall).map_or(0, |(lead, _)| -lead);
        let t = self.mktime_after(civil, isdst, &mut carried)?;
        Some((t, self.local(t)?))
    }

    /// As [`Zone::mktime`], with what a C library remembers from call to call: how far the last answer
    /// was from the same fields in UTC (seconds, 0 at first). [`Zone::local`] is defined at the moment.
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

    /// As [`Zone::mktime_after`], where the regime holds for days around, so that no other moment shows the
    /// same clock. `None`, and `carried` as it was: the moment is to be looked for.
    #[inline]
    pub fn mktime_far_from_changes(
        &self,
        civil: &Civil,
        isdst: i32,
        carried: &mut i64,
    ) -> Option<Found<'_>> {
        // Seconds out of range are added to the moment that the rest names.
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
        let (regime, around) = self.regime_around_date(wall, &date, second)?;
        if isdst >= 0 && (isdst > 0) != regime.isdst {
            return None;
        }
        let t = wall - i64::from(regime.gmtoff);
        // Two moments that show the same wall clock are no further apart than two offsets.
        let apart = self.offsets_apart();
        let is_far = |t: i64| {
            t.checked_sub(apart).is_some_and(|t| t >= around.start)
                && t.checked_add(apart).is_some_and(|t| t < around.end)
        };
        let far = is_far(t) && (extra == 0 || is_far(t - extra));
        if !far || !(civil::FIRST..=civil::LAST).contains(&(wall - extra)) {
            return None;
        }
        *carried = -i64::from(regime.gmtoff);
        Some(Found { t, civil: date.at(second), regime })
    }

    /// `timegm(3)`: the inverse of [`Zone::gmtime`], so with leap seconds if the zone has them.
    ///
    /// `None`: the year of the answer does not fit `tm_year` (EOVERFLOW).
    pub fn timegm(&self, civil: &Civil) -> Option<i64> {
        let mut carried = self.gmtime_lead(civil::wall(civil).0).map_or(0, |(lead, _)| -lead);
        self.timegm_after(civil, &mut carried)
    }

    /// As [`Zone::timegm`], with what a C library remembers of its previous one, as in
    /// [`Zone::mktime_after`]. It matters only in files whose leap seconds jump by hours.
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

/// `t`, which was sought with the second within 0 to 59, moved to the second that was asked for. Where a
/// leap second shows as 60, asked-for 0 means the minute after it.
fn with_second(t: i64, asked: i32, shown: i32) -> i64 {
    let sought = asked.clamp(0, 59);
    let after_leap = i64::from(sought == 0 && shown == 60);
    t + after_leap + i64::from(asked) - i64::from(sought)
}

/// The moment that is meant by the wall clock `wall`.
fn moment(lead: impl Fn(i64) -> Option<Lead>, wall: i64, isdst: i32, carried: i64) -> Option<i64> {
    let start = wall.saturating_add(carried);
    let at = |distance: i64| lead(wall.saturating_add(distance));
    let mut shown = None;
    // The usual ones first, of them that at the start of a search, and where that leads: where the hour is there
    // twice, it matters which of them is met first. Where the flag is not found with them: a rule's season may
    // last for hours.
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
    // It is shown, but with the other flag: the fields are read with the lead of the flag's own time.
    let other_by_an_hour = if dst { HOUR } else { -HOUR };
    let ahead = nearest(&lead, t, !dst);
    Some(ahead.map_or(t.saturating_add(other_by_an_hour), |ahead| wall.saturating_sub(ahead)))
}

/// In a gap of local time: the fields read with the lead of one of its sides.
///
/// With the flag known, of the side that has it; where both have it the C library gives up. Not known, of
/// the side of standard time, which gives a moment after the gap. Where the sides are alike it depends on
/// where the C library's search starts: it ends there, or else with the lead in force there.
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

/// The lead of the moment nearest to `t`, earlier before later, that has the flag.
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

    /// Summer time of three hours' lead for one hour from `start`.
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
        Zone::from_tzif(&file).expect("a sound file")
    }

    #[test]
    fn issue_4_the_season_that_is_sought_is_the_c_librarys() {
        let summer = 962_409_600;
        let zone = an_hour_of_summer(summer);
        // Whether summer time, asked for so many seconds away from its middle, is found.
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

    /// As in right/Pacific/Kosrae, where the clock went back half a day before a leap second: a search that
    /// starts behind both lands a second beside the later of the two hours, and ends there.
    #[test]
    fn of_an_hour_that_is_there_twice_the_one_is_meant_that_the_search_meets() {
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
