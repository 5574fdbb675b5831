//! The transitions of a TZif file: which local time type is in force when, looked up by a direct index.

use crate::tzif::Tables;
use crate::yearly_rules::c_string;
use alloc::ffi::CString;
use alloc::vec;
use alloc::vec::Vec;
use core::ffi::CStr;
use core::ops::Range;

/// A local time type record with its own copy of the abbreviation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedType {
    pub(crate) offset: i32,
    pub(crate) isdst: bool,
    pub(crate) abbr: CString,
}

/// The time between two transitions. All fields are indices into the types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Interval {
    kind: u32,
    /// What `tzname` holds after a conversion in this interval.
    names: [u32; 2],
}

/// All transitions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transitions {
    kinds: Vec<NamedType>,
    times: Vec<i64>,
    /// One more than `times`: the first is before all of them.
    intervals: Vec<Interval>,
    index: Index,
    /// From here on the footer's rules apply.
    end: Option<i64>,
    /// See [`Transitions::standard`].
    standard: (i32, bool),
}

impl Transitions {
    pub(crate) fn new(tables: Tables) -> Transitions {
        let kinds: Vec<NamedType> = tables
            .types
            .iter()
            .map(|of| NamedType {
                offset: of.offset,
                isdst: of.isdst,
                abbr: c_string(tables.names.get(usize::from(of.name)..).unwrap_or_default()),
            })
            .collect();
        let last = tables.times.last().copied();
        Transitions {
            intervals: intervals(&kinds, &tables.kinds),
            index: Index::new(&tables.times),
            end: if tables.footer.is_some() { last } else { None },
            standard: standard(&kinds, &tables.kinds),
            times: tables.times,
            kinds,
        }
    }

    /// The type in force at `t`, and what `tzname` then holds; `None` if the footer's rules apply.
    #[inline(always)]
    pub(crate) fn at(&self, t: i64) -> Option<(&NamedType, [&CStr; 2])> {
        if self.end.is_some_and(|end| t >= end) {
            return None;
        }
        let interval = self.intervals.get(self.index.count(&self.times, t))?;
        let [standard, summer] = interval.names;
        let names =
            [&*self.kinds.get(standard as usize)?.abbr, &*self.kinds.get(summer as usize)?.abbr];
        Some((self.kinds.get(interval.kind as usize)?, names))
    }

    /// From the transition before `t` to the next; `None` if the transitions are not sorted.
    pub(crate) fn around(&self, t: i64) -> Option<Range<i64>> {
        if !self.index.sorted {
            return None;
        }
        let after = self.index.count(&self.times, t);
        let start = if after == 0 { i64::MIN } else { self.times[after - 1] };
        Some(start..self.times.get(after).copied().unwrap_or(i64::MAX))
    }

    /// The offsets of all types.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = i32> {
        self.kinds.iter().map(|kind| kind.offset)
    }

    /// The moment from which on the footer's rules apply.
    pub(crate) fn end(&self) -> Option<i64> {
        self.end
    }

    /// The type of the last transition.
    pub(crate) fn last(&self) -> &NamedType {
        let kind = self.intervals.last().map_or(0, |interval| interval.kind);
        &self.kinds[kind as usize]
    }

    /// The offset of the last transition to standard time, and whether any transition is to daylight
    /// saving time.
    pub(crate) fn standard(&self) -> (i32, bool) {
        self.standard
    }
}

/// `sequence` holds the type of each transition.
fn intervals(kinds: &[NamedType], sequence: &[u8]) -> Vec<Interval> {
    let first = kinds.iter().position(|kind| !kind.isdst);
    let skipped = (first != Some(0)).then_some(0);
    let later = first.and_then(|first| (first..kinds.len()).find(|&at| kinds[at].isdst));
    let first = first.unwrap_or(0) as u32;
    let summer = skipped.or(later).map_or(first, |kind| kind as u32);
    let mut result = Vec::with_capacity(sequence.len() + 1);
    result.push(Interval { kind: first, names: [first, summer] });

    // Backwards from the last, keeping the next type of standard time and of daylight saving time.
    let mut next: [Option<u32>; 2] = [None; 2];
    for &kind in sequence.iter().rev() {
        let kind = u32::from(kind);
        next[usize::from(kinds[kind as usize].isdst)] = Some(kind);
        let standard = next[0].unwrap_or(kind);
        let summer = next[1].unwrap_or(standard);
        result.push(Interval { kind, names: [standard, summer] });
    }
    result[1..].reverse();
    result
}

/// What `tzname` holds after the file was read: the names of the last types of either kind that a transition leads to.
/// If none leads to standard time, glibc takes the name at the start of the table, which need not be that of any type.
pub(crate) fn fresh_names(tables: &Tables) -> [CString; 2] {
    let mut starts = [None; 2];
    for &kind in tables.kinds.iter().rev() {
        let kind = &tables.types[usize::from(kind)];
        starts[usize::from(kind.isdst)].get_or_insert(usize::from(kind.name));
    }
    let standard = starts[0].unwrap_or(0);
    let summer = starts[1].unwrap_or(standard);
    [standard, summer].map(|start| c_string(tables.names.get(start..).unwrap_or_default()))
}

fn standard(kinds: &[NamedType], sequence: &[u8]) -> (i32, bool) {
    if sequence.is_empty() {
        return (kinds[0].offset, false);
    }
    let mut used = sequence.iter().rev().map(|&kind| &kinds[usize::from(kind)]);
    let offset = used.clone().find(|kind| !kind.isdst).map_or(0, |kind| kind.offset);
    (offset, used.any(|kind| kind.isdst))
}

/// Where in the transitions to look: time is cut into stretches of equal length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Index {
    base: i64,
    shift: u32,
    /// For each stretch, how many transitions are before it, and how many before the next one.
    before: Vec<[u16; 2]>,
    /// Whether the transitions are sorted.
    sorted: bool,
}

/// Stretches of 97 days hold one transition at most in most zones.
const SHIFT: u32 = 23;
const STRETCHES: u64 = 1024;
/// A transition before 1800 only means "since always".
const OLDEST: i64 = -5_364_662_400;

impl Index {
    fn new(times: &[i64]) -> Index {
        let sorted = times.is_sorted();
        if times.is_empty() {
            // Two stretches, which are all of time.
            return Index { base: i64::MIN, shift: 63, before: vec![[0; 2]; 2], sorted };
        }
        let mut index = Index { base: 0, shift: SHIFT, before: Vec::new(), sorted };
        let old = times.iter().position(|&t| t >= OLDEST);
        let (Some(old), Some(&last)) = (old, times.last()) else { return index };
        if !sorted || times.len() > usize::from(u16::MAX) {
            return index;
        }
        index.base = times[old];
        let length = index.base.abs_diff(last);
        while length >> index.shift >= STRETCHES {
            index.shift += 1;
        }
        let stretches = (length >> index.shift) + 1;
        index.before.reserve_exact(stretches as usize);
        let mut before = old;
        for stretch in 0..stretches {
            let from = before;
            // At most one stretch behind the last transition: no overflow.
            let end = u128::from(stretch + 1) << index.shift;
            while times.get(before).is_some_and(|&t| u128::from(t.abs_diff(index.base)) < end) {
                before += 1;
            }
            index.before.push([from as u16, before as u16]);
        }
        index
    }

    /// How many of the times are not after `t`.
    #[inline(always)]
    fn count(&self, times: &[i64], t: i64) -> usize {
        let stretch = (t.wrapping_sub(self.base) as u64 >> self.shift) as usize;
        let (Some(&[from, until]), true) = (self.before.get(stretch), t >= self.base) else {
            return Index::search(times, 0, times.len(), t);
        };
        let (from, until) = (usize::from(from), usize::from(until));
        if until - from > 1 {
            return Index::search(times, from, until, t);
        }
        // If the stretch has no transition, `times[from]` is behind it, hence after `t`: one comparison answers
        // both cases.
        from + usize::from(times.get(from).is_some_and(|&time| time <= t))
    }

    /// As `count`, among `times[from..until]`.
    #[inline(never)]
    fn search(times: &[i64], from: usize, until: usize, t: i64) -> usize {
        from + times[from..until].partition_point(|&time| time <= t)
    }
}
