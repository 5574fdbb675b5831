//! How glibc searches for a locale, read back from the opens it makes.
//!
//! For each category, `setlocale()` opens `DIRECTORY/NAME/LC_…` under the spellings of the name in
//! a fixed order: as written, with the encoding normalised (`UTF-8` becomes `utf8`), without the
//! encoding, then all that without the territory. The first that exists ends the search.

use crate::View;
use crate::engine::helpers::of_the_system;
use crate::mechanism::zone::sum;
use needless_model::{Env, ProcId, Process, Row};
use std::collections::BTreeSet;

const CATEGORIES: [&str; 12] = [
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_TELEPHONE",
    "LC_ADDRESS",
    "LC_NAME",
    "LC_PAPER",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_COLLATE",
    "LC_TIME",
    "LC_NUMERIC",
    "LC_CTYPE",
];

/// The variables that the locale rules read: the request, and where locales are looked for.
pub(crate) const VARIABLES: &[&str] = &[
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    "LOCPATH",
];

/// A locale's name in parts: `language[_territory][.codeset][@modifier]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    language: &'a str,
    territory: Option<&'a str>,
    pub(crate) codeset: Option<&'a str>,
    modifier: Option<&'a str>,
}

impl<'a> Name<'a> {
    pub(crate) fn parse(text: &'a str) -> Name<'a> {
        let split = |text: &'a str, by| match text.split_once(by) {
            Some((before, after)) => (before, Some(after)),
            None => (text, None),
        };
        let (text, modifier) = split(text, '@');
        let (text, codeset) = split(text, '.');
        let (language, territory) = split(text, '_');
        Name { language, territory, codeset, modifier }
    }

    /// Whether there may be a source of this name to make the locale from: `language[_TERRITORY][@modifier]`.
    pub(crate) fn may_have_source(&self) -> bool {
        let plain =
            |text: &str, test: fn(&u8) -> bool| !text.is_empty() && text.bytes().all(|b| test(&b));
        (2..=3).contains(&self.language.len())
            && plain(self.language, u8::is_ascii_lowercase)
            && self.territory.is_none_or(|text| plain(text, u8::is_ascii_uppercase))
            && self.modifier.is_none_or(|text| plain(text, u8::is_ascii_alphanumeric))
    }

    /// Whether it names a territory, as most sources do.
    pub(crate) fn has_territory(&self) -> bool {
        self.territory.is_some()
    }

    /// Whether a search for `self` tries `other`.
    pub(crate) fn tries(&self, other: &Name<'_>) -> bool {
        let same = |own: Option<&str>, others: Option<&str>| others.is_none() || own == others;
        self.language == other.language
            && same(self.territory, other.territory)
            && same(self.modifier, other.modifier)
            && match (self.codeset, other.codeset) {
                (_, None) => true,
                (Some(own), Some(other)) => normal_codeset(own) == normal_codeset(other),
                (None, Some(_)) => false,
            }
    }
}

/// Whether a locale of this name has texts in English: the ordinary ones of images and servers.
pub(crate) fn is_english(name: &str) -> bool {
    ["C", "POSIX", "en"].contains(&Name::parse(name).language)
}

/// glibc's normal form of an encoding's name: letters and digits only, in lower case, `iso` before
/// what is only digits.
pub(crate) fn normal_codeset(codeset: &str) -> String {
    let kept: String =
        codeset.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
    let digits = kept.bytes().all(|b| b.is_ascii_digit());
    if digits { format!("iso{kept}") } else { kept }
}

/// `DIRECTORY/NAME/LC_CTYPE` in parts.
pub(crate) fn locale_file(path: &str) -> Option<(&str, &str, &str)> {
    let (rest, category) = path.rsplit_once('/')?;
    let (directory, name) = rest.rsplit_once('/')?;
    let directory = directory.trim_end_matches('/');
    (CATEGORIES.contains(&category) && !name.is_empty()).then_some((directory, name, category))
}

/// Whether this is a file of glibc's search for locales.
pub(crate) fn is_locale_path(path: &str) -> bool {
    locale_file(path).is_some()
        || path.ends_with("/locale-archive")
        || path.ends_with("/locale.alias")
}

/// The search of one process for one locale, in all categories.
#[derive(Debug)]
pub(crate) struct LocaleSearch<'p> {
    pub(crate) process: ProcId,
    /// The name that was tried first: as requested, or what an alias stands for.
    pub(crate) first: &'p str,
    /// The name it was found under.
    pub(crate) found: Option<&'p str>,
    /// A category for which it was searched.
    pub(crate) category: &'p str,
    pub(crate) misses: Vec<(usize, &'p Row)>,
    /// Opens that found a file.
    pub(crate) hits: u64,
    /// Failed opens of the archive, if nothing was found in directories either.
    pub(crate) archive: Vec<(usize, &'p Row)>,
    /// Whether the process read the list of aliases.
    pub(crate) aliases: bool,
    /// A directory of LOCPATH that lacks the locale. In a log without the environment: one that is not
    /// the system's, if the locale was found in another.
    pub(crate) locpath: Option<&'p str>,
    /// Failed opens in such directories. They end with LOCPATH, and are not in `misses`.
    pub(crate) by_locpath: Vec<(usize, &'p Row)>,
    /// Whether another directory of LOCPATH holds a locale of the process.
    pub(crate) keeps_locpath: bool,
}

impl<'p> LocaleSearch<'p> {
    fn new(process: ProcId, first: &'p str, category: &'p str) -> LocaleSearch<'p> {
        LocaleSearch {
            process,
            first,
            found: None,
            category,
            misses: Vec::new(),
            hits: 0,
            archive: Vec::new(),
            aliases: false,
            locpath: None,
            by_locpath: Vec::new(),
            keeps_locpath: false,
        }
    }

    /// Separates the misses that LOCPATH is the reason of. `hits`: first names of the process's searches, and the
    /// directories in which each was found.
    fn judge_locpath(&mut self, view: &View<'p>, hits: &BTreeSet<(&str, &str)>) {
        let process = view.process(self.process);
        let known = process.env != Env::Unknown;
        if !known && self.found.is_none() {
            return;
        }
        let named = |directory: &str| match &process.env {
            Env::Unknown => !of_the_system(directory),
            Env::Known(_) => entries_of_locpath(process).any(|entry| entry == directory),
        };
        let directory = |row: &'p Row| locale_file(view.profile.path(row)).map(|file| file.0);
        let lacks = |directory| !hits.contains(&(self.first, directory)) && named(directory);
        let all = std::mem::take(&mut self.misses).into_iter();
        (self.by_locpath, self.misses) =
            all.partition(|(_, row)| directory(row).is_some_and(lacks));
        // A directory that holds another locale has to be searched for this one as well.
        let holds = |directory| hits.iter().any(|(_, held)| *held == directory);
        self.by_locpath.retain(|(_, row)| !directory(row).is_some_and(holds));
        self.locpath = self.by_locpath.first().and_then(|(_, row)| directory(row));
        self.keeps_locpath = known && hits.iter().any(|(_, held)| named(held));
    }

    /// Whether the locale was found, but not under the first name.
    pub(crate) fn found_late(&self) -> bool {
        self.found.is_some() && !self.misses.is_empty()
    }

    /// Failed opens that another name would end.
    pub(crate) fn missed(&self) -> Vec<(usize, &'p Row)> {
        self.misses.iter().chain(&self.archive).copied().collect()
    }

    /// All opens of the search.
    pub(crate) fn opens(&self) -> u64 {
        self.hits + sum(&self.missed()) + sum(&self.by_locpath)
    }
}

/// Every search that some process of the profile made in directories.
pub(crate) fn searches<'p>(view: &View<'p>) -> Vec<LocaleSearch<'p>> {
    let opens = view.opens_where(is_locale_path, |row| row.outcome.is_some());
    opens.iter().flat_map(|(process, rows)| searches_of(view, *process, rows)).collect()
}

/// `rows` are in the order of first calls, so the first name of a search is the requested one.
fn searches_of<'p>(
    view: &View<'p>,
    process: ProcId,
    rows: &[(usize, &'p Row)],
) -> Vec<LocaleSearch<'p>> {
    let mut found: Vec<LocaleSearch<'p>> = Vec::new();
    // The directories in which each of them was found.
    let mut hits: BTreeSet<(&str, &str)> = BTreeSet::new();
    let (mut archive, mut aliases) = (Vec::new(), false);
    for &(at, row) in rows {
        let path = view.profile.path(row);
        let Some((directory, name, category)) = locale_file(path) else {
            if path.ends_with("/locale.alias") {
                aliases |= row.ok();
            } else if !row.ok() {
                archive.push((at, row));
            }
            continue;
        };
        let parsed = Name::parse(name);
        let known = found.iter().position(|s| Name::parse(s.first).tries(&parsed));
        let known = known.unwrap_or_else(|| {
            found.push(LocaleSearch::new(process, name, category));
            found.len() - 1
        });
        let search = &mut found[known];
        if row.ok() {
            search.found.get_or_insert(name);
            search.hits += row.count;
            hits.insert((search.first, directory));
        } else {
            search.misses.push((at, row));
        }
    }
    for search in &mut found {
        search.aliases = aliases;
        search.judge_locpath(view, &hits);
    }
    if let Some(missing) = found.iter_mut().find(|search| search.found.is_none()) {
        missing.archive = archive;
    }
    found
}

/// Where a request came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause<'p> {
    /// This variable has this value, and that is the name.
    Variable(&'static str, &'p str),
    /// This variable has this value, which the list of aliases turns into the name.
    Alias(&'static str, &'p str),
    /// The environment asks for something else: the program chose the name.
    Program,
    /// The environment is not known.
    Unknown,
}

/// Why a process searched for the locale `first` for `category`.
pub(crate) fn cause<'p>(process: &'p Process, search: &LocaleSearch<'p>) -> Cause<'p> {
    if process.env == Env::Unknown {
        return Cause::Unknown;
    }
    let Some((variable, value)) = requested(process, search.category) else {
        return Cause::Program;
    };
    if Name::parse(value).tries(&Name::parse(search.first)) {
        return Cause::Variable(variable, value);
    }
    // An alias is one word; it is looked up only in the list.
    let word = Name::parse(value);
    let may_be_alias = word.territory.is_none() && word.codeset.is_none();
    if may_be_alias && search.aliases && !is_c(value) {
        Cause::Alias(variable, value)
    } else {
        Cause::Program
    }
}

/// The variable that decides a category, and its value: LC_ALL, the category's own, LANG.
pub(crate) fn requested<'p>(
    process: &'p Process,
    category: &str,
) -> Option<(&'static str, &'p str)> {
    let own = VARIABLES.iter().copied().find(|name| *name == category);
    [Some("LC_ALL"), own, Some("LANG")].into_iter().flatten().find_map(|name| {
        process.env.value(name).filter(|value| !value.is_empty()).map(|value| (name, value))
    })
}

/// A variable that still asks for a locale if `variable` asks for none, and its value.
pub(crate) fn besides<'p>(process: &'p Process, variable: &str) -> Option<(&'static str, &'p str)> {
    if variable == "LC_ALL" {
        return None;
    }
    let value = |name: &str| process.env.value(name).filter(|value| !value.is_empty());
    let decides = |category: &'static str| {
        let decider = match (value("LC_ALL"), value(category)) {
            (Some(_), _) => "LC_ALL",
            (None, Some(_)) => category,
            // A category that is set to C overrides LANG.
            (None, None) => "LANG",
        };
        let asked = value(decider).filter(|asked| decider != variable && !is_c(asked))?;
        Some((decider, asked))
    };
    CATEGORIES.iter().copied().find_map(decides)
}

/// Whether the variable decides the encoding.
pub(crate) fn has_encoding(variable: &str) -> bool {
    ["LANG", "LC_ALL", "LC_CTYPE"].contains(&variable)
}

/// Whether this is the name of an encoding where one of a locale should be.
pub(crate) fn is_encoding(name: &str) -> bool {
    normal_codeset(name) == "utf8"
}

/// The LOCPATH that a process uses. Set-user-ID programs ignore it.
pub(crate) fn locpath(process: &Process) -> Option<&str> {
    let value = process.env.value("LOCPATH").filter(|value| !value.is_empty())?;
    (process.secure != Some(true)).then_some(value)
}

/// The directories of LOCPATH, without a slash at the end.
fn entries_of_locpath(process: &Process) -> impl Iterator<Item = &str> {
    let entries = locpath(process).into_iter().flat_map(|path| path.split(':'));
    entries.map(|entry| entry.trim_end_matches('/')).filter(|entry| !entry.is_empty())
}

/// The locale that is built in.
pub(crate) fn is_c(name: &str) -> bool {
    name == "C" || name == "POSIX"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_a_search_tries() {
        let tries = |wanted: &str, name: &str| Name::parse(wanted).tries(&Name::parse(name));
        for name in ["el_GR.ISO-8859-7", "el_GR.iso88597", "el_GR", "el.iso88597", "el"] {
            assert!(tries("el_GR.ISO-8859-7", name), "{name}");
        }
        for other in ["el_CY", "el_GR.utf8", "el@euro", "en_GR.ISO-8859-7", "C"] {
            assert!(!tries("el_GR.ISO-8859-7", other), "{other}");
        }
        assert!(tries("de_DE.UTF-8@euro", "de@euro") && tries("de_DE.UTF-8@euro", "de_DE.utf8"));
        assert!(!tries("el_GR", "el_GR.utf8"));
        assert_eq!(normal_codeset("8859-7"), "iso88597");
    }

    #[test]
    fn files_of_a_locale() {
        let file = locale_file("/usr/lib/locale/C.utf8/LC_CTYPE");
        assert_eq!(file, Some(("/usr/lib/locale", "C.utf8", "LC_CTYPE")));
        assert_eq!(locale_file("/usr/share/locale/el/LC_MESSAGES/ls.mo"), None);
        assert_eq!(locale_file("/usr/lib/locale/C.utf8/LC_MESSAGES/SYS_LC_MESSAGES"), None);
        assert_eq!(locale_file("LC_CTYPE"), None);
    }
}
