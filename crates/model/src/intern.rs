//! Every text of a profile is stored once and named by a small number.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

/// A text stored in the [`Interner`] of one profile. Means nothing in another profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrId(u32);

impl StrId {
    /// The position in the interner, for dense side tables.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Texts, each stored once: one after the other, because a profile may have a hundred thousand.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    all: String,
    /// Where each text ends in `all`; it starts where the one before ends.
    ends: Vec<usize>,
    index: HashTable<StrId>,
    hasher: FixedState,
}

impl Interner {
    /// The number of `text`, stored now if it is new.
    pub fn id(&mut self, text: &str) -> StrId {
        if let Some(id) = self.find(text) {
            return id;
        }
        let id = StrId(u32::try_from(self.ends.len()).expect("fewer than 2^32 distinct texts"));
        self.all.push_str(text);
        self.ends.push(self.all.len());
        let Interner { all, ends, index, hasher } = self;
        index.insert_unique(hasher.hash_one(text), id, |id| hasher.hash_one(slice(all, ends, *id)));
        id
    }

    /// The number of `text` if it is stored.
    pub fn find(&self, text: &str) -> Option<StrId> {
        let hash = self.hasher.hash_one(text);
        self.index.find(hash, |id| self.text(*id) == text).copied()
    }

    /// The text with number `id`.
    pub fn text(&self, id: StrId) -> &str {
        slice(&self.all, &self.ends, id)
    }

    /// Whether `part` may occur in some text: one search through all of them, as they lie. A part
    /// that only occurs where one text ends and the next begins counts, too.
    pub fn may_mention(&self, part: &str) -> bool {
        self.all.contains(part)
    }

    /// How many distinct texts are stored.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether nothing is stored.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

fn slice<'a>(all: &'a str, ends: &[usize], id: StrId) -> &'a str {
    let at = id.index();
    let start = if at == 0 { 0 } else { ends[at - 1] };
    &all[start..ends[at]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_one_number_and_keeps_it() {
        let mut texts = Interner::default();
        assert!(texts.is_empty() && texts.find("").is_none());
        let words: Vec<String> = (0..5000).map(|n| "é/".repeat(n % 7) + &n.to_string()).collect();
        let ids: Vec<StrId> = words.iter().map(|word| texts.id(word)).collect();
        let empty = texts.id("");
        assert_eq!(texts.len(), 5001);
        let copy = texts.clone();
        for (word, id) in words.iter().zip(ids) {
            assert_eq!((texts.id(word), copy.find(word), copy.text(id)), (id, Some(id), &**word));
        }
        assert_eq!((texts.id(""), texts.text(empty), texts.len()), (empty, "", 5001));
        assert_eq!(texts.find("no"), None);
        assert!(texts.may_mention("é/4999") && !texts.may_mention("5000"));
    }
}
