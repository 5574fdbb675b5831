//! Recent questions by the very bytes of their line: most lines of a log ask what was asked before.

use foldhash::fast::FixedState;
use needless_model::{Ask, Errno, ProcId, QuestionId};
use std::hash::{BuildHasher, Hasher};

/// Who asks, and how it went: what beside the bytes makes two questions and answers the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asker {
    pub process: ProcId,
    /// [`State::cwd_changes`](crate::family::State): a relative path means another file after one.
    pub cwd_changes: u32,
    pub call: u16,
    pub ok: bool,
    /// The question, where the bytes are only those up to the path's end and its flags behind them.
    pub ask: Option<Ask>,
}

/// What the bytes tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub question: QuestionId,
    pub fingerprint: Option<u64>,
}

/// Longer bytes are not cached.
pub(crate) const LONGEST: usize = 235;
const SLOTS: usize = 1 << 13;
const ROWS: usize = 1 << 10;

struct Slot {
    known: Known,
    asker: Asker,
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

    /// What the arguments of a call tell, if they were stored and no other took their place.
    #[inline]
    pub(crate) fn find(&self, asker: Asker, args: &[u8]) -> Option<Known> {
        if args.len() > LONGEST {
            return None;
        }
        let slot = self.slots[self.place(asker, args)].as_ref()?;
        let same = slot.asker == asker && &slot.bytes[..usize::from(slot.len)] == args;
        same.then_some(slot.known)
    }

    /// Remembers what the arguments of a call tell.
    pub(crate) fn store(&mut self, asker: Asker, args: &[u8], known: Known) {
        if args.len() > LONGEST {
            return;
        }
        let mut bytes = [0; LONGEST];
        bytes[..args.len()].copy_from_slice(args);
        let at = self.place(asker, args);
        self.slots[at] = Some(Slot { known, asker, len: args.len() as u8, bytes });
    }

    #[inline]
    fn place(&self, asker: Asker, args: &[u8]) -> usize {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(args);
        hasher.write_u64(u64::from(asker.process.0) << 32 | u64::from(asker.call));
        hasher.finish() as usize % SLOTS
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
