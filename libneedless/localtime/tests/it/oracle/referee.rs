//! Compares both answers, and counts and prints the differences.

use super::glibc::{self, Answer, Variables};
use super::inputs::{Random, transitions};
use needless_localtime::{Civil, Globals, Local, Zone};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

/// Distances from a transition in seconds, where errors by one second or hour would show.
const AROUND: [i64; 13] = [0, 1, -1, 2, -2, 3599, -3599, 3600, -3600, 3601, -3601, 86_400, -86_400];
/// Answers of mktime that POSIX does not specify.
const UNSPECIFIED: &str = "mktime where it is unspecified";
/// How many differences are printed: one of each kind per zone.
const SHOWN: usize = 60;

#[derive(Default)]
pub(crate) struct Referee {
    pub(crate) comparisons: u64,
    /// Inputs for which glibc reads memory outside the zone: its answer is then undefined.
    pub(crate) left_out: u64,
    /// Whether the C library lacks the fix of its bug 29951 (in 2.37, and later patches of 2.36). Without it `daylight`
    /// is 0 in zones that have abolished daylight saving time, and `posixrules` is read differently.
    pub(crate) is_before_29951: bool,
    /// What the C library's `mktime` carries from call to call.
    carried: i64,
    /// Whether `carried` is not known, since the last answers differed.
    lost: bool,
    /// What its `timegm` carries from call to call.
    carried_utc: i64,
    mktimes: u64,
    tz: String,
    differences: BTreeMap<&'static str, u64>,
    shown: BTreeSet<(&'static str, String)>,
}

/// A moment far from all changes of tzdata's zones.
const ONCE: i64 = 1_000_000_000;

impl Referee {
    pub(crate) fn new() -> Referee {
        glibc::set_tz(b"America/Whitehorse");
        let summer = glibc::variables();
        let is_before_29951 = summer.names[0] == b"MST" && summer.daylight == 0;
        if is_before_29951 {
            println!("the C library lacks the fix of its bug 29951: daylight is not compared");
        }
        Referee { is_before_29951, ..Referee::default() }
    }

    /// The C library's `tzname`, `timezone` and `daylight`; a value that is not to be compared is replaced by ours.
    fn variables(&self, ours: &Variables) -> Variables {
        let theirs = glibc::variables();
        let daylight = if self.is_before_29951 { ours.daylight } else { theirs.daylight };
        Variables { daylight, ..theirs }
    }

    pub(crate) fn enter(&mut self, tz: &[u8], zone: &Zone) {
        self.tz = tz.escape_ascii().to_string();
        glibc::set_tz(tz);
        let ours = variables(&zone.globals_at(None));
        self.compare("tzset", "", &self.variables(&ours), &ours);
        // A local time that happens once: what mktime carries afterwards does not depend on what it carried before.
        if self.lost
            && !tz.starts_with(b":")
            && let Some(local) = zone.local(ONCE)
        {
            self.fields(zone, &local.civil, -1);
        }
    }

    pub(crate) fn differences(&self) -> u64 {
        self.differences.values().sum()
    }

    fn compare<T: PartialEq + Debug>(
        &mut self,
        what: &'static str,
        of: impl Debug,
        theirs: &T,
        ours: &T,
    ) {
        self.comparisons += 1;
        if theirs == ours {
            return;
        }
        let count = self.differences.entry(what).or_default();
        *count += 1;
        let first = what != UNSPECIFIED && self.shown.insert((what, self.tz.clone()));
        if first && self.shown.len() <= SHOWN {
            println!("TZ={} {what} {of:?}\n  glibc {theirs:?}\n  ours  {ours:?}", self.tz);
        }
    }

    pub(crate) fn moment(&mut self, zone: &Zone, t: i64) {
        let theirs = glibc::localtime(t);
        let ours = zone.local(t);
        self.compare("localtime", t, &theirs, &ours.as_ref().map(answer));
        let globals = variables(&zone.globals_at(Some(t)));
        self.compare("globals", t, &self.variables(&globals), &globals);
        self.compare("gmtime", t, &glibc::gmtime(t), &zone.gmtime(t));
    }

    fn fields(&mut self, zone: &Zone, civil: &Civil, isdst: i32) {
        let before = self.carried;
        let theirs = glibc::mktime(civil, isdst);
        let ours = zone.mktime_after(civil, isdst, &mut self.carried);
        let ours = ours.and_then(|t| Some((t, answer(&zone.local(t)?))));
        // See the book, "The time engine": seasons of hours, which only TZ strings and corrupted files have (their TZ
        // begins with a colon), and times at a leap second whose flag contradicts the zone.
        let at_the_minute = civil.sec <= 1 || civil.sec >= 59;
        let leap = self.tz.contains("right/") && at_the_minute && isdst >= 0;
        let ordinary = !self.tz.starts_with(':') && !leap;
        let what = if ordinary { "mktime" } else { UNSPECIFIED };
        self.mktimes += 1;
        self.compare(what, (civil, isdst, before), &theirs, &ours);
        self.lost = theirs != ours;
        let ours = zone.timegm_after(civil, &mut self.carried_utc);
        self.compare("timegm", civil, &glibc::timegm(civil), &ours);
    }

    /// Compares a moment, and now and then its fields, which may be changed a little.
    fn both(&mut self, zone: &Zone, t: i64, random: &mut Random) {
        self.moment(zone, t);
        let Some(local) = zone.local(t) else { return };
        if random.below(4) != 0 {
            return;
        }
        let mut civil = local.civil;
        if random.below(4) == 0 {
            let bits = random.below(31);
            let far = random.signed(1 << bits) as i32;
            let [sec, min, hour, mday, mon] =
                [&mut civil.sec, &mut civil.min, &mut civil.hour, &mut civil.mday, &mut civil.mon];
            let field = [sec, min, hour, mday, mon].into_iter().nth(random.below(5) as usize);
            let field = field.expect("one of five");
            *field = field.wrapping_add(far);
        }
        // A flag that contradicts the zone takes glibc a tenth of a millisecond.
        let isdst = match random.below(64) {
            0 => i32::from(!local.isdst),
            1..16 => i32::from(local.isdst),
            _ => -1,
        };
        self.fields(zone, &civil, isdst);
    }

    pub(crate) fn around_transitions(&mut self, zone: &Zone, bytes: &[u8], random: &mut Random) {
        for (at, t) in transitions(bytes).into_iter().enumerate() {
            // A corrupted header may count a million.
            if at > 3000 {
                break;
            }
            for near in AROUND {
                self.both(zone, t.wrapping_add(near), random);
            }
        }
    }

    /// Around each transition by rule of some years.
    pub(crate) fn around_years(&mut self, zone: &Zone, random: &mut Random) {
        for _ in 0..6 {
            let year = 1960 + random.below(200) as i32;
            let start = Civil { year: year - 1900, mday: 1, ..Civil::default() };
            let Some(start) = needless_localtime::timegm(&start) else { continue };
            let mut last = None;
            for hour in -30..366 * 4 {
                let t = start + hour * 21_600;
                let now = zone.local(t).map(|local| local.gmtoff);
                if last.replace(now).is_some_and(|last| last != now) {
                    let (mut low, mut high) = (t - 21_600, t);
                    while high - low > 1 {
                        let middle = (low + high) / 2;
                        let same = zone.local(middle).map(|local| local.gmtoff) == now;
                        if same { high = middle } else { low = middle }
                    }
                    for near in AROUND {
                        self.both(zone, high + near, random);
                    }
                }
                if hour % 16 == 0 {
                    self.moment(zone, t);
                }
            }
        }
    }

    pub(crate) fn at_random(&mut self, zone: &Zone, random: &mut Random, count: u32) {
        for _ in 0..count {
            let t = match random.below(4) {
                0 => random.signed(1 << 55),
                1 => random.signed(1 << 33),
                2 => 946_684_800 + random.signed(1 << 31),
                _ => random.next() as i64 >> random.below(63),
            };
            self.both(zone, t, random);
        }
    }

    pub(crate) fn check(&self) {
        let Referee { comparisons, left_out, differences, .. } = self;
        println!("{comparisons} comparisons, {left_out} inputs left out, {differences:?}");
        assert!(*comparisons > 1_000_000, "only {comparisons} comparisons");
        let mut differences = differences.clone();
        let unspecified = differences.remove(UNSPECIFIED).unwrap_or(0);
        assert!(differences.is_empty(), "the C library answers differently: {differences:?}");
        println!(
            "{unspecified} of {} answers of mktime differ where POSIX does not specify them",
            self.mktimes
        );
        assert!(unspecified * 300 < self.mktimes, "{unspecified} of {}", self.mktimes);
    }
}

fn answer(local: &Local<'_>) -> Answer {
    Answer {
        civil: local.civil,
        isdst: i32::from(local.isdst),
        gmtoff: i64::from(local.gmtoff),
        abbr: local.abbr.to_bytes().to_vec(),
    }
}

fn variables(globals: &Globals<'_>) -> Variables {
    Variables {
        names: globals.names.map(|name| name.to_bytes().to_vec()),
        timezone: globals.timezone,
        daylight: globals.daylight,
    }
}
