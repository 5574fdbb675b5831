//! Variables that list directories in which programs search for files: CDPATH, LUA_PATH, R_LIBS, any other.
//!
//! Which variables do so cannot be known beforehand, so an observer looks at all of them. What it
//! keeps of an environment until its profile is finished ([`ListsInEnvironments`]) never leaves it.
//! The profile gets the name of a variable and the entries below which processes looked for something that
//! was not there; never the other entries, and never a variable that lists no such directory.
//!
//! A program's environment is therefore never in a profile: only variables that some rule names (the option `watch` is
//! their only way into `Env`), and these entries. The remedy of a list (`Change::WithoutEntries`) becomes a value where
//! the change is made, from the environment there.

use crate::{Errno, ProcId, Profile, Query, Row, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// Longer values are no lists that a person wrote.
const LONGEST: usize = 64 << 10;
/// Bytes of lists that an observer keeps.
const ROOM: usize = 16 << 20;

/// A variable that lists directories, as it is in a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SearchList {
    /// Its name.
    pub variable: String,
    /// The entries below which some process of the profile looked for something that was not there, in their order.
    pub entries: Vec<ListEntry>,
    /// Whether the value has other entries, which are not kept.
    pub others: bool,
    /// Whether the value has an empty entry: the current directory, or the default list.
    pub empty: bool,
}

/// An entry of a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ListEntry {
    /// As written in the value: `/opt/lib`, `/opt/lib//`, `~/lib`, `/opt/lua/?.lua`.
    pub text: String,
    /// The directory, without a slash at its end.
    pub dir: String,
    /// How paths of this entry begin and end, for a pattern.
    pattern: Option<(String, String)>,
}

impl ListEntry {
    /// The entry of this text, if it is a directory or a pattern below one. `home` is what `~` stands for.
    fn parse(text: &str, home: Option<&str>) -> Option<ListEntry> {
        // kpathsea: only files of its database, and what is below.
        let path = text.strip_prefix("!!").unwrap_or(text);
        let path = match path.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                format!("{}{rest}", home?.trim_end_matches('/'))
            }
            _ => path.to_owned(),
        };
        // `https://example.org/x`, split at its colon, has two slashes at its start.
        if !path.starts_with('/') || path.starts_with("//") {
            return None;
        }
        let placeholder = path.find(['?', '%']);
        let (dir, pattern) = match placeholder {
            None => (path.trim_end_matches('/'), None),
            Some(at) => {
                let start = &path[..at];
                let last = path.rfind(['?', '%']).unwrap_or(at);
                // `%N` is a letter after its sign.
                let skip = if path[last..].starts_with('%') { 2 } else { 1 };
                let end = path.get(last + skip..).unwrap_or("");
                let dir = &start[..start.rfind('/')?];
                (dir, Some((start.to_owned(), end.to_owned())))
            }
        };
        (!dir.is_empty()).then(|| ListEntry { text: text.to_owned(), dir: dir.to_owned(), pattern })
    }

    /// Whether `path`, which is below [`dir`](ListEntry::dir), may be asked for because of this entry.
    fn takes(&self, path: &str) -> bool {
        match &self.pattern {
            None => true,
            Some((start, end)) => {
                path.len() >= start.len() + end.len()
                    && path.starts_with(start)
                    && path.ends_with(end)
            }
        }
    }
}

/// Entries, made to find for many paths the entry that each belongs to.
#[derive(Debug)]
pub struct EntryIndex<'e> {
    entries: &'e [ListEntry],
    by_dir: HashMap<&'e str, Vec<usize>>,
    /// The lengths of the directories, longest first.
    lengths: Vec<usize>,
}

impl<'e> EntryIndex<'e> {
    /// Indexes `entries`.
    pub fn new(entries: &'e [ListEntry]) -> EntryIndex<'e> {
        let mut by_dir: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            by_dir.entry(&entry.dir).or_default().push(at);
        }
        let lengths: BTreeSet<usize> = by_dir.keys().map(|dir| dir.len()).collect();
        EntryIndex { entries, by_dir, lengths: lengths.into_iter().rev().collect() }
    }

    /// The entry with the innermost directory that `path` is or lies below, and the rest of the path; "" for the
    /// directory itself.
    pub fn find<'p>(&self, path: &'p str) -> Option<(&'e ListEntry, &'p str)> {
        let path = path.trim_end_matches('/');
        let ends = |at: &&usize| path.as_bytes().get(**at).is_none_or(|byte| *byte == b'/');
        let inside = self.lengths.iter().filter(|at| **at <= path.len()).filter(ends);
        inside.filter_map(|at| Some((at, self.by_dir.get(&path[..*at])?))).find_map(|(at, all)| {
            let rest = match path[*at..].trim_start_matches('/') {
                "." => "",
                rest => rest,
            };
            let takes = |entry: &&ListEntry| rest.is_empty() || entry.takes(path);
            // `?/init.lua` says more of a path than `?.lua`.
            let entries = all.iter().rev().map(|at| &self.entries[*at]).filter(takes);
            let entry = entries.max_by_key(|entry| entry.text.len())?;
            Some((entry, rest))
        })
    }
}

/// What separates the entries of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Separator {
    Colon,
    Semicolon,
    Blank,
}

impl Separator {
    fn of(variable: &str, value: &str) -> Separator {
        match variable {
            "TCLLIBPATH" => Separator::Blank,
            _ if value.contains(';') => Separator::Semicolon,
            _ => Separator::Colon,
        }
    }

    fn split(self, value: &str) -> Vec<&str> {
        match self {
            Separator::Colon => value.split(':').collect(),
            Separator::Semicolon => value.split(';').collect(),
            Separator::Blank => value.split_ascii_whitespace().collect(),
        }
    }

    fn join(self, entries: &[&str]) -> String {
        match self {
            Separator::Colon => entries.join(":"),
            Separator::Semicolon => entries.join(";"),
            Separator::Blank => entries.join(" "),
        }
    }
}

/// Whether the name is one of a list even if its value has one entry: `R_LIBS`, `MANPATH`, but not `HOME`.
fn names_a_list(variable: &str) -> bool {
    let ends = ["PATH", "PATHS", "DIRS", "LIBS", "INPUTS"];
    ends.iter().any(|end| variable.ends_with(end)) || variable == "SSL_CERT_DIR"
}

/// The list that a value is, with all its directories; `None` if it is no list of directories.
fn parse(variable: &str, value: &str, home: Option<&str>) -> Option<SearchList> {
    if !value.contains(['/', '~']) || value.len() > LONGEST || value.contains(char::is_control) {
        return None;
    }
    let separator = Separator::of(variable, value);
    let pieces = separator.split(value);
    if pieces.len() < 2 && separator != Separator::Blank && !names_a_list(variable) {
        return None;
    }
    let mut entries: Vec<ListEntry> = Vec::new();
    let (mut named, mut others) = (0, false);
    for piece in &pieces {
        match ListEntry::parse(piece, home) {
            Some(entry) if entries.contains(&entry) => named += 1,
            Some(entry) => {
                named += 1;
                entries.push(entry);
            }
            None => others |= !piece.is_empty(),
        }
    }
    // Options, an address, a text with a path in it.
    let filled = pieces.iter().filter(|piece| !piece.is_empty()).count();
    (named > 0 && named * 2 >= filled).then(|| SearchList {
        variable: variable.to_owned(),
        entries,
        others,
        empty: filled < pieces.len(),
    })
}

/// `value`, the value of `variable`, without `entries`, with or without a slash at their end, wherever they occur. `None` if no
/// entry is left, and the variable is to be unset.
pub fn without_entries(variable: &str, value: &str, entries: &[String]) -> Option<String> {
    let separator = Separator::of(variable, value);
    let rest = |value: &str| -> Vec<String> {
        let same =
            |one: &str, other: &str| one.trim_end_matches('/') == other.trim_end_matches('/');
        let dead = |piece: &&str| entries.iter().any(|entry| same(entry, piece));
        separator.split(value).into_iter().filter(|p| !dead(p)).map(str::to_owned).collect()
    };
    let text = |value: &str| {
        let kept = rest(value);
        separator.join(&kept.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let kept = match value.split_once(";;") {
        // In Lua's lists it is one word, the default.
        Some((before, after)) if separator == Separator::Semicolon => {
            format!("{};;{}", text(before), text(after))
        }
        _ => text(value),
    };
    kept.contains(|c| !matches!(c, ':' | ';' | ' ')).then_some(kept)
}

/// The lists of directories in the environments of processes, kept while they are observed.
#[derive(Debug, Default)]
pub struct ListsInEnvironments {
    sets: Vec<Arc<[SearchList]>>,
    known: HashMap<Arc<[SearchList]>, u32>,
    of: BTreeMap<ProcId, u32>,
    bytes: usize,
    /// Environments for which there was no room.
    left_out: u64,
}

impl ListsInEnvironments {
    /// Takes the environment with which process `id` was started: names and values.
    pub fn add<'a>(
        &mut self,
        id: ProcId,
        variables: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) {
        let home = variables.clone().find(|(name, _)| *name == "HOME").map(|(_, value)| value);
        let mut set: Vec<SearchList> = Vec::new();
        for (variable, value) in variables {
            // getenv(3) returns the first of several.
            if set.iter().any(|known| known.variable == variable) {
                continue;
            }
            set.extend(parse(variable, value, home));
        }
        set.sort_by(|one, other| one.variable.cmp(&other.variable));
        self.keep(id, set.into());
    }

    fn keep(&mut self, id: ProcId, set: Arc<[SearchList]>) {
        let number = match self.known.get(&set) {
            Some(known) => *known,
            None => {
                let bytes: usize = set.iter().map(SearchList::bytes).sum();
                if self.bytes + bytes > ROOM {
                    self.left_out += 1;
                    return;
                }
                self.bytes += bytes;
                let number = self.sets.len() as u32;
                self.sets.push(set.clone());
                self.known.insert(set, number);
                number
            }
        };
        self.of.insert(id, number);
    }

    /// Process `id` was started with the same environment as `like`.
    pub(crate) fn add_same(&mut self, id: ProcId, like: ProcId) {
        match self.of.get(&like).copied() {
            Some(number) => {
                self.of.insert(id, number);
            }
            None => self.left_out += 1,
        }
    }

    /// Takes for process `id` what `other` has for its process `from`.
    pub(crate) fn copy(&mut self, id: ProcId, other: &ListsInEnvironments, from: ProcId) {
        if let Some(number) = other.of.get(&from) {
            self.keep(id, other.sets[*number as usize].clone());
        }
    }

    /// Gives each process of `profile` the lists with entries in which something was not found, and drops everything
    /// else. An entry is given to each process that lists it: this shows which program set the variable.
    pub fn fill(self, profile: &mut Profile) {
        let images = profile.images();
        let image = |id: ProcId| self.of.get(&images[id.index()]).copied();
        let mut missed: BTreeSet<(&str, &ListEntry)> = BTreeSet::new();
        let indexes: Vec<Vec<(&str, EntryIndex<'_>)>> =
            self.sets.iter().map(|set| set.iter().map(SearchList::index).collect()).collect();
        let mut last = None;
        for row in profile.rows.iter().filter(|row| is_search(row)) {
            let set = match last {
                Some((id, set)) if id == row.process => set,
                _ => image(row.process),
            };
            last = Some((row.process, set));
            let Some(set) = set else { continue };
            let path = profile.path(row);
            for (variable, index) in &indexes[set as usize] {
                if let Some((entry, rest)) = index.find(path)
                    && (rest.is_empty() || row.is_missed())
                {
                    missed.insert((*variable, entry));
                }
            }
        }
        let keep = |whole: &SearchList| {
            let is_missed =
                |entry: &&ListEntry| missed.contains(&(whole.variable.as_str(), *entry));
            let entries: Vec<ListEntry> = whole.entries.iter().filter(is_missed).cloned().collect();
            let others = whole.others || entries.len() < whole.entries.len();
            let variable = whole.variable.clone();
            (!entries.is_empty()).then_some(SearchList {
                variable,
                entries,
                others,
                empty: whole.empty,
            })
        };
        let lists: Vec<Arc<[SearchList]>> =
            self.sets.iter().map(|set| set.iter().filter_map(keep).collect()).collect();
        let ids = (0..profile.processes.len() as u32).map(ProcId);
        let of: Vec<Option<u32>> = ids.map(image).collect();
        for (process, set) in profile.processes.iter_mut().zip(of) {
            process.lists = set.map(|set| lists[set as usize].clone());
        }
        if self.left_out > 0 {
            profile.notes.push(format!(
                "The environments of {} programs were too many to look for lists of directories in them.",
                self.left_out
            ));
        }
    }
}

impl SearchList {
    fn bytes(&self) -> usize {
        let entries = self.entries.iter().map(|entry| 2 * entry.text.len() + 64);
        self.variable.len() + 64 + entries.sum::<usize>()
    }

    fn index(&self) -> (&str, EntryIndex<'_>) {
        (&self.variable, EntryIndex::new(&self.entries))
    }
}

/// Whether the calls looked for something that was not there, or may have listed a directory: an empty one holds
/// nothing either.
fn is_search(row: &Row) -> bool {
    matches!(row.target, Target::Path(_))
        && row.query.asks()
        && (row.is_missed() || (row.ok() && row.query == Query::Open))
}

impl Row {
    /// Whether nothing was there, or nothing that the process may use.
    pub fn is_missed(&self) -> bool {
        let absent = |errno| matches!(errno, Errno::ENOENT | Errno::ENOTDIR | Errno::EACCES);
        matches!(self.outcome, Some(Err(errno)) if absent(errno))
    }
}

impl Query {
    /// Whether the call asks for a file or goes to a directory, and changes no file.
    pub fn asks(self) -> bool {
        matches!(
            self,
            Query::Stat
                | Query::Lstat
                | Query::Open
                | Query::Access
                | Query::Readlink
                | Query::Exec
                | Query::OtherPath
        )
    }
}

#[cfg(test)]
mod tests;
