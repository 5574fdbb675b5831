//! Recent calls by the bytes of their line: most lines of a log repeat an earlier one.

use crate::fast::tails;
use needless_model::{Errno, ProcId, Query, QuestionId};

/// The caller: two questions are the same if this and their bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub process: ProcId,
    /// [`State::cwd_changes`](crate::processes::State): a relative path means another file after one.
    pub cwd_changes: u32,
    pub call: u16,
    /// The question, if the bytes end with the path, and its flags follow.
    pub query: Option<Query>,
}

/// What the bytes mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CachedCall {
    /// The question, and the row of this outcome. `None`: no path is named.
    pub asked: Option<(QuestionId, u32)>,
    pub fingerprint: Option<u64>,
    pub outcome: Result<(), Errno>,
}

/// Bytes that are read at once: most texts have no more.
const HEAD: usize = 128;
/// Longer texts are not cached.
pub(crate) const LONGEST: usize = 2 * HEAD;
/// Twice as many calls are remembered.
pub(crate) const PAIRS: usize = 1 << 13;
const ROWS: usize = 1 << 12;

/// A call's text in the form for the search.
struct Key<'a> {
    /// The start of the text.
    head: &'a [u8],
    /// The rest of the text.
    more: &'a [u8],
    who: u64,
    /// Number of the call, question, length of the text.
    what: u64,
    hash: u64,
}

impl<'a> Key<'a> {
    /// `text` of `asker`; `ahead` starts with the text and may be longer. `None` for texts
    /// that are not cached.
    #[inline(always)]
    fn of(asker: Asker, text: &'a [u8], ahead: &[u8]) -> Option<Key<'a>> {
        let len = text.len() - tails::digits_of_descriptor(text);
        let text = text.get(..len).filter(|text| text.len() <= LONGEST)?;
        let copy;
        let ahead: &[u8; LONGEST] = match ahead.first_chunk() {
            Some(ahead) => ahead,
            None => {
                copy = padded(text);
                &copy
            }
        };
        let [first, second] = ahead.as_chunks().0 else { return None };
        let who = u64::from(asker.process.0) << 32 | u64::from(asker.cwd_changes);
        let query = asker.query.map_or(0, |query| query as u64 + 1);
        let what = u64::from(asker.call) << 32 | query << 16 | len as u64;
        let start = (who ^ what.rotate_left(24)).wrapping_mul(FACTORS[0] ^ FACTORS[1]);
        let mut hash = sum(first, len).wrapping_add(start);
        if len > HEAD {
            hash = hash.rotate_left(32).wrapping_add(sum(second, len - HEAD));
        }
        let (head, more) = text.split_at(len.min(HEAD));
        Some(Key { head, more, who, what, hash })
    }
}

/// A text with zeros after it.
#[cold]
fn padded(text: &[u8]) -> [u8; LONGEST] {
    let mut all = [0; LONGEST];
    all[..text.len()].copy_from_slice(text);
    all
}

/// The sum of each eight bytes times a separate odd number, over the first `len` bytes of `piece`.
/// All of it is read for any `len`: the length of texts cannot be predicted, and a loop that ends
/// at another place than predicted costs more.
///
/// The writer of a log can make texts that replace each other: that costs time and no accuracy,
/// because the texts themselves are compared.
#[inline(always)]
fn sum(piece: &[u8; HEAD], len: usize) -> u64 {
    static MASKS: [u8; 2 * HEAD] = {
        let mut masks = [0; 2 * HEAD];
        let mut at = 0;
        while at < HEAD {
            masks[at] = u8::MAX;
            at += 1;
        }
        masks
    };
    let Some(mask) = MASKS[HEAD - len.min(HEAD)..].first_chunk::<HEAD>() else { return 0 };
    let (words, _) = piece.as_chunks();
    let (mask, _) = mask.as_chunks();
    let mut sum = 0u64;
    for ((word, mask), by) in words.iter().zip(mask).zip(FACTORS) {
        let word = u64::from_ne_bytes(*word) & u64::from_ne_bytes(*mask);
        sum = sum.wrapping_add(u64::from_le(word).wrapping_mul(by));
    }
    sum
}

/// Digits of the fraction of pi, made odd: any irregular numbers are good.
const FACTORS: [u64; HEAD / 8] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7345,
    0xa409_3822_299f_31d1,
    0x082e_fa98_ec4e_6c89,
    0x4528_21e6_38d0_1377,
    0xbe54_66cf_34e9_0c6d,
    0xc0ac_29b7_c97c_50dd,
    0x3f84_d5b5_b547_0917,
    0x9216_d5d9_8979_fb1b,
    0xd131_0ba6_98df_b5ad,
    0x2ffd_72db_d01a_dfb7,
    0xb8e1_afed_6a26_7e97,
    0xba7c_9045_f12c_7f99,
    0x24a1_9947_b391_6cf7,
    0x0801_f2e2_858e_fc17,
    0x6369_20d8_7157_4e69,
];

#[derive(Clone)]
#[repr(align(64))] // whole lines of the processor's cache
struct Slot {
    head: [u8; HEAD],
    who: u64,
    /// [`UNUSED`] if there is no text.
    what: u64,
    known: CachedCall,
}

/// No text is as long.
const UNUSED: u64 = u64::MAX;

/// A cache of fixed size: a newer call replaces an older one. A text has two places, so
/// that two texts that are both in use do not replace each other.
pub(crate) struct Cache {
    slots: Vec<[Slot; 2]>,
    /// The texts after the heads in `slots`.
    more: Vec<[[u8; HEAD]; 2]>,
}

impl Cache {
    /// A cache of so many pairs of slots: 1 to 2^32.
    pub(crate) fn new(pairs: usize) -> Cache {
        let known = CachedCall { asked: None, fingerprint: None, outcome: Ok(()) };
        let slot = Slot { head: [0; HEAD], who: 0, what: UNUSED, known };
        Cache { slots: vec![[slot.clone(), slot]; pairs], more: vec![[[0; HEAD]; 2]; pairs] }
    }

    /// The meaning of `text` for `asker`, if it was stored and not replaced. `ahead` starts with
    /// the text and may be longer.
    #[inline(never)]
    pub(crate) fn find(&self, asker: Asker, text: &[u8], ahead: &[u8]) -> Option<CachedCall> {
        let key = &Key::of(asker, text, ahead)?;
        let at = self.place(key);
        let [first, second] = &self.slots[at];
        let (slot, more) = if is(first, key) { (first, 0) } else { (second, 1) };
        if more == 1 && !is(second, key) {
            return None;
        }
        // An empty comparison would be slow: it would read memory that was never written.
        (key.more.is_empty() || self.more[at][more].starts_with(key.more)).then_some(slot.known)
    }

    /// Remembers what a call's text means.
    #[inline(never)]
    pub(crate) fn store(&mut self, asker: Asker, text: &[u8], known: CachedCall) {
        let Some(key) = &Key::of(asker, text, text) else { return };
        let at = self.place(key);
        let pair = &mut self.slots[at];
        // The older one is replaced.
        pair.swap(0, 1);
        let newer = &mut pair[0];
        newer.head[..key.head.len()].copy_from_slice(key.head);
        (newer.who, newer.what, newer.known) = (key.who, key.what, known);
        let more = &mut self.more[at];
        more.swap(0, 1);
        more[0][..key.more.len()].copy_from_slice(key.more);
    }

    #[inline]
    fn place(&self, key: &Key<'_>) -> usize {
        // The upper bits depend on all bytes.
        (((key.hash >> 32) * self.slots.len() as u64) >> 32) as usize
    }
}

/// Whether a slot has this key, without the text after its head.
#[inline(always)]
fn is(slot: &Slot, key: &Key<'_>) -> bool {
    (slot.who ^ key.who) | (slot.what ^ key.what) == 0 && slot.head.starts_with(key.head)
}

/// A row of calls that name no path: process, number of the call, outcome.
pub(crate) type RowKey = (ProcId, u16, Result<(), Errno>);

/// Recent rows of calls that name no path.
pub(crate) struct RecentRows {
    slots: Box<[(u64, u32); ROWS]>,
}

/// No call has this [`key`]: an outcome has fewer bits.
const NO_KEY: u64 = u64::MAX;

impl RecentRows {
    pub(crate) fn new() -> RecentRows {
        RecentRows { slots: Box::new([(NO_KEY, 0); ROWS]) }
    }

    /// The row of `counted`, if it was stored and not replaced.
    #[inline]
    pub(crate) fn find(&self, counted: RowKey) -> Option<usize> {
        let key = key(counted);
        let (known, row) = self.slots[place(key)];
        (known == key).then_some(row as usize)
    }

    /// Remembers a row.
    pub(crate) fn store(&mut self, counted: RowKey, row: usize) {
        let key = key(counted);
        if let Ok(row) = u32::try_from(row) {
            self.slots[place(key)] = (key, row);
        }
    }
}

#[inline]
fn place(key: u64) -> usize {
    (key.wrapping_mul(FACTORS[0]) >> 40) as usize % ROWS
}

/// All three in one number: 32 bits, 15 ([`CallNames`](crate::call_names::CallNames) has fewer than 2^13), 17.
#[inline]
fn key((process, call, outcome): RowKey) -> u64 {
    let errno = outcome.map_or_else(|errno| u64::from(errno.0) + 1, |()| 0);
    u64::from(process.0) << 32 | u64::from(call) << 17 | errno
}
