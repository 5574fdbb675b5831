//! ## What it finds
//!
//! Programs that search for message catalogues (`.mo` files) under many names and find none, or
//! find one only under a later name.
//!
//! ## Why it happens
//!
//! gettext tries each entry of LANGUAGE, or else the name of the locale, with and without encoding
//! and territory: six names for `en_US.UTF-8`, for each text domain at each program start. Slim
//! images have no catalogues at all, and English ones exist almost nowhere. glibc before 2.39
//! searches for `C.UTF-8`, too.
//!
//! ## Example
//!
//! ```trace
//! env LANG=en_US.UTF-8 LANGUAGE=pt_BR:es:en
//! execve("/usr/bin/ls", ["ls", "-z"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/lib/locale/en_US.UTF-8/LC_MESSAGES", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/locale/en_US.UTF-8/LC_MESSAGES/SYS_LC_MESSAGES", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/share/locale/pt_BR.UTF-8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/pt_BR.utf8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/pt_BR/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/pt/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/es/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/en/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! catalogue-search: 6 of 6
//! besides 7
//! stage explained
//! set LC_MESSAGES=C
//! ```
//!
//! Found, but under the last of its names:
//!
//! ```trace
//! env LANG=el_GR.UTF-8
//! execve("/usr/bin/ls", ["ls", "-z"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/locale/el_GR.UTF-8/LC_MESSAGES/libc.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el_GR.utf8/LC_MESSAGES/libc.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el_GR/LC_MESSAGES/libc.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el.UTF-8/LC_MESSAGES/libc.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el.utf8/LC_MESSAGES/libc.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el/LC_MESSAGES/libc.mo", O_RDONLY) = 3
//! openat(AT_FDCWD, "/usr/share/locale/el_GR.UTF-8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el_GR.utf8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el_GR/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el.UTF-8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el.utf8/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el/LC_MESSAGES/coreutils.mo", O_RDONLY) = 3
//! ```
//! ```finding
//! catalogue-search: 10 of 12
//! set LANGUAGE=el
//! ```
//!
//! ## Not a finding
//!
//! One name tried before the right one, and a catalogue found at once:
//!
//! ```trace
//! env LANG=el_GR
//! execve("/usr/bin/ls", ["ls", "-z"], 0x7ffd5e8b9d58 /* 9 vars */) = 0
//! openat(AT_FDCWD, "/usr/share/locale/el_GR/LC_MESSAGES/coreutils.mo", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/locale/el/LC_MESSAGES/coreutils.mo", O_RDONLY) = 3
//! openat(AT_FDCWD, "/usr/share/locale/el_GR/LC_MESSAGES/libc.mo", O_RDONLY) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! If no catalogue is found, messages are in English now: `LC_MESSAGES=C` keeps them so and ends
//! the search. LC_ALL overrides it; if LC_ALL is set, `LANGUAGE=C` does the same. If a catalogue is
//! found late, LANGUAGE with just its name finds it at once. Catalogues that are installed later,
//! or under other names, are then not used.
//!
//! ## References
//!
//! * `man 3 gettext`
//! * <https://www.gnu.org/software/gettext/manual/html_node/The-LANGUAGE-variable.html>
//! * <https://sourceware.org/bugzilla/show_bug.cgi?id=16621>: glibc no longer searches for C.UTF-8

use crate::engine::{Case, Merged, PathPattern, Threshold, merge_by};
use crate::mechanism::locale;
use crate::text::{count, list, number};
use crate::{Rule, Sink, View};
use needless_model::{Change, Env, Finding, ProcId, Process, Query, Remedy, Row, Safety, Stage};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const RULE: Rule = Rule {
    name: "catalogue-search",
    summary: "Message catalogues are searched for under many names at each program start",
    variables: locale::VARIABLES,
    ..Rule::PLAIN
};

/// What made a program search for these names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause<'p> {
    Languages(&'p str),
    Locale(&'static str, &'p str),
    /// Not known; the first name that was tried.
    Unknown(&'p str),
}

pub(crate) struct Catalogue<'p> {
    domain: &'p str,
    pub(crate) name: &'p str,
}

#[derive(Default)]
struct CatalogueGroup<'p> {
    cases: Vec<Case>,
    /// The names under which catalogues were found.
    found: BTreeSet<&'p str>,
    /// Domains without any catalogue.
    missing: BTreeSet<&'p str>,
    /// Whether LC_ALL is set in some process.
    lc_all: bool,
    /// Whether the program searched for texts in another language than English.
    foreign: bool,
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<Cause<'_>, CatalogueGroup<'_>> = BTreeMap::new();
    let opens = view.opens_where(|path| catalogue(path).is_some(), |row| row.outcome.is_some());
    for (id, opens) in opens {
        let parts = |row| catalogue(view.profile.path(row));
        let rows: Vec<(usize, &Row, Catalogue<'_>)> =
            opens.into_iter().filter_map(|(at, row)| Some((at, row, parts(row)?))).collect();
        let misses = || rows.iter().filter(|(_, row, _)| !row.ok());
        let missed: u64 = misses().map(|(_, row, _)| row.count).sum();
        if missed == 0 {
            continue;
        }
        let process = view.process(id);
        let group = groups.entry(cause(process, rows[0].2.name)).or_default();
        let hits = || rows.iter().filter(|(_, row, _)| row.ok());
        let found: BTreeSet<&str> = hits().map(|(_, _, parts)| parts.domain).collect();
        group.found.extend(hits().map(|(_, _, parts)| parts.name));
        let domains = rows.iter().map(|(_, _, parts)| parts.domain);
        group.missing.extend(domains.filter(|domain| !found.contains(domain)));
        group.foreign |= rows.iter().any(|(_, _, parts)| !locale::is_english(parts.name));
        group.lc_all |= process.env.value("LC_ALL").is_some_and(|value| !value.is_empty());
        group.cases.push(Case {
            process: id,
            needless: missed,
            of: rows.iter().map(|(_, row, _)| row.count).sum(),
            rows: misses().map(|(at, _, _)| *at).collect(),
        });
    }
    for (cause, group) in groups {
        let few = group.cases.iter().all(|case| case.needless < FEWEST_ENGLISH);
        let ordinary = few && group.found.is_empty() && !group.foreign;
        let threshold = if ordinary { Threshold::OnDemand } else { Threshold::Usual };
        sink.find_beyond(threshold, finding(view, &cause, group));
    }
}

/// English texts are built into programs: it is normal that no catalogue is found, and a few failed
/// names at a start do not matter. A start that tries more names does so for each of many texts.
const FEWEST_ENGLISH: u64 = 100;

/// `DIRECTORY/NAME/LC_MESSAGES/DOMAIN.mo` in parts.
pub(crate) fn catalogue(path: &str) -> Option<Catalogue<'_>> {
    let (rest, file) = path.rsplit_once('/')?;
    let (rest, category) = rest.rsplit_once('/')?;
    let (_, name) = rest.rsplit_once('/')?;
    let domain = file.strip_suffix(".mo")?;
    category.starts_with("LC_").then_some(Catalogue { domain, name })
}

fn cause<'p>(process: &'p Process, first: &'p str) -> Cause<'p> {
    let languages = process.env.value("LANGUAGE").filter(|value| !value.is_empty());
    match (languages, locale::requested(process, "LC_MESSAGES")) {
        (Some(languages), _) => Cause::Languages(languages),
        (None, Some((variable, value))) => Cause::Locale(variable, value),
        (None, None) => Cause::Unknown(first),
    }
}

/// One line of evidence per domain, not per name.
fn pattern(path: &str) -> PathPattern<'_> {
    let parts = || {
        let (rest, _) = path.rsplit_once('/')?;
        let (rest, _) = rest.rsplit_once('/')?;
        let (directory, _) = rest.rsplit_once('/')?;
        Some(PathPattern(directory, "/*", &path[rest.len()..]))
    };
    parts().unwrap_or(PathPattern::path(path))
}

fn finding(view: &View<'_>, cause: &Cause<'_>, group: CatalogueGroup<'_>) -> Finding {
    let CatalogueGroup { cases, found, missing, lc_all, .. } = group;
    let merged: Merged = merge_by(view.profile, cases, pattern);
    let starts = merged.processes.len() as u64;
    let known = view.process(merged.processes[0]).env != Env::Unknown;
    let request = match cause {
        Cause::Languages(value) => format!("LANGUAGE={value}"),
        Cause::Locale(variable, value) => format!("{variable}={value}"),
        Cause::Unknown(first) => (*first).to_owned(),
    };
    let opens = count(merged.needless, "failed open", "failed opens");
    let at_starts = match starts {
        1 => String::new(),
        n => format!(" in {} program starts", number(n)),
    };
    let ended = if found.is_empty() { "none is installed" } else { "the right name comes late" };
    let missing: Vec<&str> = missing.into_iter().take(5).collect();
    let none = if missing.is_empty() {
        String::new()
    } else {
        format!(" No catalogue exists for {}.", list(&missing))
    };
    Finding {
        stage: match cause {
            Cause::Unknown(_) => Stage::Seen,
            _ => Stage::Explained,
        },
        what: format!("{opens} of message catalogues{at_starts}: {ended}"),
        why: format!(
            "{request} makes gettext try each language with and without encoding and territory, \
             for each text domain of each program.{none}"
        ),
        besides: if found.is_empty() && !lc_all { own_texts(view, &merged.processes) } else { 0 },
        remedies: vec![remedy(&found, lc_all, known)],
        ..merged.finding(RULE.name)
    }
}

/// Calls with which these processes load the category LC_MESSAGES of their locale, which they do not for C.
fn own_texts(view: &View<'_>, processes: &[ProcId]) -> i64 {
    // Its directory: open, fstat and close. The file in it: open, fstat, mmap and close.
    let calls = |path: &str| match path {
        path if path.ends_with("/LC_MESSAGES") => 3,
        path if path.ends_with("/LC_MESSAGES/SYS_LC_MESSAGES") => 4,
        _ => 0,
    };
    let rows = processes.iter().flat_map(|id| view.rows_of(*id));
    let loads = rows.filter(|(_, row)| row.query == Query::Open && row.ok());
    loads.map(|(_, row)| row.count as i64 * calls(view.profile.path(row))).sum()
}

pub(crate) fn remedy(found: &BTreeSet<&str>, lc_all: bool, known: bool) -> Remedy {
    let set = |variable: &str, value: &str| Change::SetEnv {
        variable: variable.to_owned(),
        value: Some(value.to_owned()),
    };
    let mut names = found.iter();
    match (names.next(), names.next()) {
        (None, _) if lc_all => Remedy {
            change: set("LANGUAGE", "C"),
            safety: Safety::Caveat(
                "Messages stay as they are: no catalogue was found, so they are in English now. \
                 Catalogues that are installed later are not used."
                    .to_owned(),
            ),
        },
        (None, _) => Remedy {
            change: set("LC_MESSAGES", "C"),
            safety: Safety::Caveat(format!(
                "Messages stay as they are: no catalogue was found, so they are in English now. \
                 Catalogues that are installed later are not used.{}",
                if known {
                    ""
                } else {
                    " If LC_ALL is set, this has no effect: use LANGUAGE=C instead."
                }
            )),
        },
        (Some(name), None) => Remedy {
            change: set("LANGUAGE", name),
            safety: Safety::Caveat(
                "The catalogues found here are then found at once. Catalogues under another name, \
                 or in another language of the list, are no longer used."
                    .to_owned(),
            ),
        },
        (Some(_), Some(_)) => Remedy {
            change: Change::Manual(format!(
                "Set LANGUAGE to only those languages that have catalogues here: {}",
                found.iter().copied().collect::<Vec<_>>().join(":")
            )),
            safety: Safety::Manual("Their order decides the language of messages.".to_owned()),
        },
    }
}
