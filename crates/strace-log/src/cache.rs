//! Recent calls by the very bytes of their line: most lines of a log say what was said before.

use crate::tails;
use needless_model::{Ask, Errno, ProcId, QuestionId};

/// Who asks: what beside the bytes makes two questions the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub process: ProcId,
    /// [`State::cwd_changes`](crate::family::State): a relative path means another file after one.
    pub cwd_changes: u32,
    pub call: u16,
    /// The question, where the bytes are only those up to the path's end and its flags behind them.
    pub ask: Option<Ask>,
}

/// What the bytes tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The question, and the row of this outcome. `None`: no path is named.
    pub asked: Option<(QuestionId, u32)>,
    pub fingerprint: Option<u64>,
    pub outcome: Result<(), Errno>,
}

/// Longer bytes are not cached.
pub(crate) const LONGEST: usize = 235;
/// Nor are shorter ones.
const SHORTEST: usize = 8;
/// Calls that are remembered.
pub(crate) const SLOTS: usize = 1 << 13;
const ROWS: usize = 1 << 10;

#[derive(Clone)]
struct Slot {
    known: Known,
    asker: Asker,
    len: u8,
    bytes: [u8; LONGEST],
}

/// A cache of fixed size: a newer call takes the place of an older one.
pub(crate) struct Cache {
    slots: Vec<Slot>,
}

impl Cache {
    /// A cache of so many slots.
    pub(crate) fn new(slots: usize) -> Cache {
        let asker = Asker { process: ProcId(0), cwd_changes: 0, call: 0, ask: None };
        let known = Known { asked: None, fingerprint: None, outcome: Ok(()) };
        Cache { slots: vec![Slot { known, asker, len: 0, bytes: [0; LONGEST] }; slots] }
    }

    /// What a call's text tells, if it was stored and no other took its place.
    #[inline]
    pub(crate) fn find(&self, asker: Asker, text: &[u8]) -> Option<Known> {
        let text = tails::but_for_descriptor(text);
        let slot = &self.slots[self.place(asker, text)?];
        // The text of an unused slot is shorter than any that has a place.
        let same = slot.asker == asker && &slot.bytes[..usize::from(slot.len)] == text;
        same.then_some(slot.known)
    }

    /// Remembers what a call's text tells.
    pub(crate) fn store(&mut self, asker: Asker, text: &[u8], known: Known) {
        let text = tails::but_for_descriptor(text);
        let Some(at) = self.place(asker, text) else { return };
        let slot = &mut self.slots[at];
        (slot.known, slot.asker, slot.len) = (known, asker, text.len() as u8);
        slot.bytes[..text.len()].copy_from_slice(text);
    }

    /// The slot of a text; `None` for those that are not cached.
    #[inline]
    fn place(&self, asker: Asker, text: &[u8]) -> Option<usize> {
        if !(SHORTEST..=LONGEST).contains(&text.len()) {
            return None;
        }
        let who = u64::from(asker.process.0) << 32 | u64::from(asker.call);
        Some(hash(who, text) as usize % self.slots.len())
    }
}

/// A hash of at least eight bytes and what they stand behind. The order of reading is always the
/// same, so whoever writes a log can make texts that push each other out: that costs time, never
/// truth, since the texts themselves are compared.
#[inline]
fn hash(who: u64, text: &[u8]) -> u64 {
    /// Digits of pi's fraction: any odd, irregular numbers do.
    const A: u64 = 0x2436_A888_5A30_8D31;
    const B: u64 = 0x3198_A2E0_3707_3445;
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
    let mut sum = mix(who ^ A, text.len() as u64 ^ B);
    let (words, _) = text.as_chunks::<8>();
    let (pairs, _) = words.as_chunks::<2>();
    for [first, second] in pairs {
        sum = mix(sum ^ word(first), word(second) ^ A);
    }
    // The rest, together with bytes that were read before.
    if let (Some(first), Some(last)) = (words.last(), text.last_chunk()) {
        sum = mix(sum ^ word(first), word(last) ^ B);
    }
    sum
}

/// A row of calls that name no path: process, number of the call, outcome.
type Counted = (ProcId, u16, Result<(), Errno>);

/// Recent rows of calls that name no path.
pub(crate) struct Rows {
    slots: Box<[Option<(u64, u32)>; ROWS]>,
}

impl Rows {
    pub(crate) fn new() -> Rows {
        Rows { slots: Box::new([None; ROWS]) }
    }

    /// The row of `counted`, and where to [`store`](Rows::store) it if it is not here.
    #[inline]
    pub(crate) fn find(&self, counted: Counted) -> (usize, Option<usize>) {
        let key = key(counted);
        let at = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % ROWS;
        let row = self.slots[at].filter(|(known, _)| *known == key).map(|(_, row)| row as usize);
        (at, row)
    }

    /// Remembers a row at the place that [`find`](Rows::find) told.
    pub(crate) fn store(&mut self, at: usize, counted: Counted, row: usize) {
        self.slots[at] = u32::try_from(row).ok().map(|row| (key(counted), row));
    }
}

/// All three in one number: 32 bits, 15 ([`Calls`](crate::calls::Calls) has fewer than 2^13), 17.
#[inline]
fn key((process, call, outcome): Counted) -> u64 {
    let errno = outcome.map_or_else(|errno| u64::from(errno.0) + 1, |()| 0);
    u64::from(process.0) << 32 | u64::from(call) << 17 | errno
}
