//! Recent questions by the very bytes of their line: most lines of a log ask what was asked before.

use foldhash::fast::FixedState;
use needless_model::{Ask, Errno, ProcId, QuestionId};
use std::hash::{BuildHasher, Hasher};

/// Who asks: what beside the bytes makes two questions the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub process: ProcId,
    pub call: u16,
    pub ask: Ask,
    /// [`State::cwd_changes`](crate::family::State): a relative path means another file after one.
    pub cwd_changes: u32,
}

/// A question and what else its bytes tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub question: QuestionId,
    /// The file's name is that of a C library.
    pub is_libc: bool,
}

/// Longer bytes are not cached.
const LONGEST: usize = 112;
const SLOTS: usize = 1 << 13;
const ROWS: usize = 1 << 10;

struct Slot {
    asker: Asker,
    known: Known,
    len: u8,
    bytes: [u8; LONGEST],
}

/// A cache of fixed size: a newer question takes the place of an older one.
pub(crate) struct Cache {
    slots: Vec<Option<Slot>>,
    hasher: FixedState,
}

impl Cache {
    pub(crate) fn new() -> Cache {
        let mut slots = Vec::new();
        slots.resize_with(SLOTS, || None);
        Cache { slots, hasher: FixedState::default() }
    }

    /// The question that `head` puts, and where to [`store`](Cache::store) it if it is not here.
    pub(crate) fn find(&self, asker: Asker, head: &[u8]) -> (usize, Option<Known>) {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(head);
        hasher.write_u64(u64::from(asker.process.0) << 32 | u64::from(asker.call));
        let at = hasher.finish() as usize % SLOTS;
        let known = self.slots[at]
            .as_ref()
            .filter(|slot| slot.asker == asker && &slot.bytes[..usize::from(slot.len)] == head);
        (at, known.map(|slot| slot.known))
    }

    /// Remembers a question at the place that [`find`](Cache::find) told.
    pub(crate) fn store(&mut self, at: usize, asker: Asker, head: &[u8], known: Known) {
        if head.len() > LONGEST {
            return;
        }
        let mut bytes = [0; LONGEST];
        bytes[..head.len()].copy_from_slice(head);
        self.slots[at] = Some(Slot { asker, known, len: head.len() as u8, bytes });
    }
}

/// A row of calls that name no path: process, number of the call, outcome.
type Counted = (ProcId, u16, Result<(), Errno>);

/// Recent rows of calls that name no path.
pub(crate) struct Rows {
    slots: Vec<Option<(Counted, usize)>>,
}

impl Rows {
    pub(crate) fn new() -> Rows {
        Rows { slots: vec![None; ROWS] }
    }

    /// The row of `counted`, and where to [`store`](Rows::store) it if it is not here.
    #[inline]
    pub(crate) fn find(&self, counted: Counted) -> (usize, Option<usize>) {
        let (process, call, outcome) = counted;
        let errno = outcome.map_or_else(|errno| u32::from(errno.0), |()| 0);
        let mixed = (process.0.wrapping_mul(31) ^ u32::from(call)).wrapping_mul(61) ^ errno;
        let at = mixed as usize % ROWS;
        (at, self.slots[at].filter(|(known, _)| *known == counted).map(|(_, row)| row))
    }

    /// Remembers a row at the place that [`find`](Rows::find) told.
    pub(crate) fn store(&mut self, at: usize, counted: Counted, row: usize) {
        self.slots[at] = Some((counted, row));
    }
}
