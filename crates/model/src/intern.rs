//! Every text of a profile is stored once and named by a small number.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::sync::Arc;

/// A text stored in the [`Interner`] of one profile. Means nothing in another profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrId(u32);

impl StrId {
    /// The position in the interner, for dense side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts, each stored once.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    ids: HashMap<Arc<str>, StrId, FixedState>,
    texts: Vec<Arc<str>>,
}

impl Interner {
    /// The number of `text`, stored now if it is new.
    pub fn id(&mut self, text: &str) -> StrId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = StrId(u32::try_from(self.texts.len()).expect("fewer than 2^32 distinct texts"));
        let stored: Arc<str> = text.into();
        self.texts.push(stored.clone());
        self.ids.insert(stored, id);
        id
    }

    /// The number of `text` if it is stored.
    pub fn find(&self, text: &str) -> Option<StrId> {
        self.ids.get(text).copied()
    }

    /// The text with number `id`.
    pub fn text(&self, id: StrId) -> &str {
        &self.texts[id.index()]
    }

    /// How many distinct texts are stored.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}
