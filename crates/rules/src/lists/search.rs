//! Lists of directories in which programs search for files. A rule that only says which directories of such a list hold
//! nothing is its page and its [`Search`]es: what is known of each variable, and of who searches. This is what they share.
//!
//! So such a rule is data: its file has no code. What no such rule knows is for `search-list`, which looks up in the
//! environment which variable lists the directories that the calls show. A table of variables would never be complete.
//!
//! What a program does in user mode between two calls of a search is most of what the search costs. To measure it takes
//! a clock at the return of one call and at the entry of the next: two readings for each call and a second hook, which
//! cost more than all other counting. So there is a constant for each runtime ([`Search::user_ns`]): an estimate that
//! is marked as one, and whose error is in the book.

use crate::engine::Threshold;
use crate::engine::helpers::of_the_system;
use crate::lists::advice::finding;
use crate::lists::again::DuplicateEntry;
use crate::lists::searched::{SearchedList, searches};
use crate::{Rule, Sink, View};
use needless_model::ProcId;
use std::collections::HashSet;

/// A variable with a list, and how its directories are searched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search {
    /// The variable with the list, separated by colons.
    pub(crate) variable: &'static str,
    /// Which processes make the search.
    pub(crate) who: fn(&View<'_>, ProcId) -> bool,
    /// Whether a file of this path, missed, may be searched for; `""` is the directory itself.
    pub(crate) file: fn(&str) -> bool,
    /// Who searches: calls of the other are not counted.
    pub(crate) searcher: Searcher,
    /// Directories that every system searches: not reported, even if the variable lists them.
    pub(crate) usual: fn(&str) -> bool,
    /// The directory of the list that a directory belongs to: without what the searcher appends.
    pub(crate) base: fn(&str) -> &str,
    /// How the directories are found where the variable is not known.
    pub(crate) infer: Infer,
    /// What the searcher does with a directory that something else names as well.
    pub(crate) again: DuplicateEntry,
    /// What is searched for: "Python modules".
    pub(crate) things: &'static str,
    /// Why the search is made, after the sentence that names the variable and the directories. It fits
    /// one directory and many.
    pub(crate) why: &'static str,
    /// What to do where the variable is not known, if the directories can be inferred.
    pub(crate) manual: &'static str,
    /// When a shorter list is wrong.
    pub(crate) caveat: &'static str,
    /// Whether a tool may apply it: a person must decide about a path that selects which code runs.
    pub(crate) by_hand: bool,
    /// What the searcher itself works for each of these calls, nanoseconds: it makes the names, and keeps what it
    /// learned. A round figure from `cargo xtask predictions --per-call` and book/src/predictions.md, of one machine;
    /// `None`: little, or not measured.
    pub(crate) user_ns: Option<u64>,
    /// The variable that is read as soon as this one is unset.
    pub(crate) next: Option<Next>,
    /// From when on a list is worth a change; `None`: it is not reported.
    pub(crate) threshold: fn(&SearchedList<'_>) -> Option<Threshold>,
}

/// A variable that is read only where another one is unset.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) variable: &'static str,
    /// What it costs that the first one stays set, to nothing.
    pub(crate) price: &'static str,
}

impl Search {
    /// Whether an empty entry of the list is the working directory. For other programs it means nothing.
    pub(crate) fn empty_is_current(&self) -> bool {
        self.searcher == Searcher::Loader
            || ["PATH", "PYTHONPATH"].contains(&self.variable)
            || matches!(self.again, DuplicateEntry::Compiler { .. })
    }

    /// What most searches share: a program looks for files of any name in directories that are not the
    /// system's own.
    pub(crate) const BY_PROGRAM: Search = Search {
        variable: "",
        who: |_, _| true,
        file: |_| true,
        searcher: Searcher::Program,
        usual: of_the_system,
        base: |dir| dir,
        infer: Infer::No,
        again: DuplicateEntry::Unknown,
        things: "",
        why: "",
        manual: "",
        caveat: "",
        by_hand: false,
        user_ns: None,
        next: None,
        threshold: |_| Some(Threshold::Usual),
    };
}

/// Who makes the calls of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searcher {
    /// The dynamic loader, before the program starts and at each dlopen().
    Loader,
    /// The program: an interpreter, a compiler.
    Program,
}

impl Searcher {
    /// The absolute directories of a list, without a slash at the end.
    pub(crate) fn entries(self, value: &str) -> impl Iterator<Item = &str> {
        self.raw_entries(value).filter(|entry| entry.starts_with('/') && entry.len() > 1)
    }

    /// The entries of a list, each once, without a slash at the end. The loader's end at a semicolon, too.
    pub(crate) fn raw_entries(self, value: &str) -> impl Iterator<Item = &str> {
        let mut seen = HashSet::new();
        let ends = move |c| c == ':' || (c == ';' && self == Searcher::Loader);
        let trimmed = value.split(ends).map(|entry| match entry.trim_end_matches('/') {
            "" if !entry.is_empty() => "/",
            entry => entry,
        });
        trimmed.filter(move |entry| seen.insert(*entry))
    }
}

/// The text that stands for the working directory if the loader searches it.
pub(crate) const CURRENT: &str = "the current directory";

/// Whether this stands for an entry that starts in the working directory: [`CURRENT`], or a
/// relative one as written.
pub(crate) fn is_current(dir: &str) -> bool {
    !dir.starts_with(['/', '$'])
}

/// How directories are read back from calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Infer {
    /// Not at all.
    No,
    /// From files missed in one directory and found in another.
    Chains,
    /// As this function finds them.
    By(for<'p> fn(&View<'p>, ProcId) -> HashSet<&'p str>),
}

/// Checks the lists of a rule, one after the other, and reports each that has directories which hold nothing.
pub(crate) fn check(view: &View<'_>, sink: &mut Sink, rule: &Rule) {
    let mut shared = Vec::new();
    for search in rule.lists {
        for found in searches(view, sink, rule.name, search) {
            let Some(threshold) = (search.threshold)(&found) else { continue };
            let partly = found.shared.clone();
            sink.find_beyond(threshold, finding(view, rule.name, search, found));
            // Of these some calls belong to the next list, or to the RUNPATH of the program.
            sink.leave(&partly);
            if search.searcher == Searcher::Program {
                shared.extend(partly);
            }
        }
    }
    sink.explain(&shared);
}
