//! Which files of a locale a program opened and which it did not find, in the order of its attempts: the
//! mail's Appendix A.

use super::COMMAND;
use super::setting::{Arm, LocaleSetting};
use crate::report::{Cell, Column, Table};
use needless_model::{Profile, Query, Row};
use std::ffi::OsString;

/// What a file of a locale is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The data of one category (`LC_CTYPE`).
    Category,
    /// The messages of a program or of the C library (`libc.mo`).
    Catalogue,
    /// `locale-archive`, `locale.alias`, tables of character sets.
    Other,
}

/// One open.
#[derive(Clone, Debug)]
struct Open {
    kind: Kind,
    path: String,
    ok: bool,
    count: u64,
}

/// What one start of the command opened.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    opens: Vec<Open>,
    /// All system calls of the run.
    calls: u64,
}

impl Files {
    /// Traces the command.
    pub(crate) fn of(setting: &LocaleSetting, arm: &Arm) -> Result<Files, String> {
        setting.arrange(arm)?;
        let words = COMMAND.map(OsString::from);
        let profile = needless_observe::count_command(
            &setting.program,
            &words,
            arm.environment(),
            Default::default(),
        )
        .map_err(|failure| failure.message)?;
        Ok(Files { opens: opens(&profile), calls: profile.totals.calls })
    }

    fn count(&self, ok: bool, kind: Kind) -> u64 {
        self.opens.iter().filter(|one| one.ok == ok && one.kind == kind).map(|one| one.count).sum()
    }

    /// Whether the program looked for a catalogue again after it had found it under one name.
    pub(crate) fn looks_further(&self) -> bool {
        let catalogues = self.opens.iter().filter(|one| one.kind == Kind::Catalogue);
        let mut found = Vec::new();
        for open in catalogues {
            let (_, name) = split(&open.path);
            if found.contains(&name) {
                return true;
            }
            if open.ok {
                found.push(name);
            }
        }
        false
    }

    /// How many opens failed.
    pub(crate) fn failed(&self) -> u64 {
        self.opens.iter().filter(|one| !one.ok).map(|one| one.count).sum()
    }
}

fn opens(profile: &Profile) -> Vec<Open> {
    let mut rows: Vec<&Row> = profile.rows.iter().filter(|row| row.query == Query::Open).collect();
    rows.sort_by_key(|row| row.first_ns);
    let opens = rows.into_iter().filter_map(|row| {
        let path = profile.path(row);
        let kind = kind(path)?;
        // glibc opens the directory of a category before the file in it.
        let directory = row.ok() && path.ends_with("/LC_MESSAGES");
        (!directory).then(|| Open { kind, path: path.to_owned(), ok: row.ok(), count: row.count })
    });
    opens.collect()
}

fn kind(path: &str) -> Option<Kind> {
    let (folder, file) = path.rsplit_once('/')?;
    if file.ends_with(".mo") {
        return Some(Kind::Catalogue);
    }
    if file.starts_with("LC_") || file == "SYS_LC_MESSAGES" {
        return Some(Kind::Category);
    }
    let other = ["locale-archive", "locale.alias"].contains(&file) || folder.ends_with("/gconv");
    other.then_some(Kind::Other)
}

/// How many files each name needs, and how many attempts.
pub(crate) fn table(arms: &[Arm], files: &[Files]) -> Table {
    let column = Column::new;
    let mut columns = vec![column("", "LANG"), column("", "which is")];
    columns.extend(["locale", ".mo", "other"].map(|name| column("opened", name)));
    columns.extend(["locale", ".mo", "other"].map(|name| column("failed opens", name)));
    columns.extend([column("", "all calls"), column("2001", "failed")]);
    let rows = arms.iter().zip(files).map(|(arm, files)| {
        let mut row = vec![Cell::Text(arm.name()), Cell::Text(arm.is.clone())];
        for ok in [true, false] {
            let kinds = [Kind::Category, Kind::Catalogue, Kind::Other];
            row.extend(kinds.map(|kind| Cell::Count(files.count(ok, kind))));
        }
        row.push(Cell::Count(files.calls));
        row.push(arm.failed_of_2001.map_or(Cell::Missing, Cell::Count));
        row
    });
    Table {
        title: "Files of one run of ls -z (the mail's Appendix A; in 2001 there was no archive, which is among \"other\")"
            .into(),
        columns,
        rows: rows.collect(),
    }
}

/// Where each file was found, and where the program looked before.
pub(crate) fn locations(arms: &[Arm], files: &[Files]) -> Table {
    let mut rows = Vec::new();
    for (arm, files) in arms.iter().zip(files) {
        for search in searches(&files.opens) {
            rows.push(vec![
                Cell::Text(arm.name_and_what()),
                Cell::Text(search.files()),
                Cell::Text(search.not_in()),
                Cell::Text(search.found.unwrap_or_else(|| "nowhere".into())),
            ]);
        }
    }
    Table {
        title: "Where each file was found, and where it was not".into(),
        columns: ["LANG", "files", "not in", "found in"].map(|name| Column::new("", name)).into(),
        rows,
    }
}

/// Files that the program looked for in the same directories.
#[derive(Debug, PartialEq, Eq)]
struct Search {
    names: Vec<String>,
    not_in: Vec<String>,
    found: Option<String>,
}

impl Search {
    /// The directories that do not have the file; of those beside the one that has it only the last name.
    fn not_in(&self) -> String {
        let parent = |path: &str| path.rsplit_once('/').map(|(parent, _)| format!("{parent}/"));
        let known = self.found.as_deref().and_then(parent).unwrap_or_default();
        let names = self.not_in.iter().map(|path| path.strip_prefix(&known).unwrap_or(path));
        match names.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "-".into(),
            names => names,
        }
    }

    fn files(&self) -> String {
        match self.names.as_slice() {
            [first, .., last] if self.names.len() > 3 => {
                format!("{first} … {last} ({})", self.names.len())
            }
            few => few.join(", "),
        }
    }
}

fn searches(opens: &[Open]) -> Vec<Search> {
    let mut by_name: Vec<(String, Search)> = Vec::new();
    for open in opens {
        let (place, name) = split(&open.path);
        let at =
            by_name.iter().position(|(known, search)| *known == name && search.found.is_none());
        let at = at.unwrap_or_else(|| {
            by_name.push((name, Search { names: Vec::new(), not_in: Vec::new(), found: None }));
            by_name.len() - 1
        });
        let search = &mut by_name[at].1;
        if open.ok {
            search.found = Some(place);
        } else {
            search.not_in.push(place);
        }
    }
    let mut all: Vec<Search> = Vec::new();
    for (name, search) in by_name {
        let alike =
            |other: &&mut Search| (&other.not_in, &other.found) == (&search.not_in, &search.found);
        match all.iter_mut().find(alike) {
            Some(other) => other.names.push(name),
            None => all.push(Search { names: vec![name], ..search }),
        }
    }
    all
}

/// The directory of the locale, and the file below it. The messages of a category are in a directory of that
/// name, which the C library opens first.
fn split(path: &str) -> (String, String) {
    let path = path.replace("/LC_MESSAGES/SYS_LC_MESSAGES", "/LC_MESSAGES");
    let (place, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let place = place.strip_suffix("/LC_MESSAGES").unwrap_or(place);
    (place.to_owned(), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &str, ok: bool) -> Open {
        Open { kind: kind(path).unwrap(), path: path.into(), ok, count: 1 }
    }

    #[test]
    fn files_that_were_looked_for_alike_share_a_row() {
        let mut opens = vec![open("/usr/lib/locale/locale-archive", false)];
        for file in ["LC_TIME", "LC_MESSAGES", "LC_CTYPE"] {
            opens.push(open(&format!("/usr/lib/locale/C.UTF-8/{file}"), false));
            let found = if file == "LC_MESSAGES" { "LC_MESSAGES/SYS_LC_MESSAGES" } else { file };
            opens.push(open(&format!("/usr/lib/locale/C.utf8/{found}"), true));
        }
        opens.push(open("/usr/share/locale/C.UTF-8/LC_MESSAGES/libc.mo", false));
        let found = searches(&opens);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!(found[0].found, None);
        assert_eq!(found[1].names, ["LC_TIME", "LC_MESSAGES", "LC_CTYPE"]);
        assert_eq!(found[1].not_in, ["/usr/lib/locale/C.UTF-8"]);
        assert_eq!(found[1].found.as_deref(), Some("/usr/lib/locale/C.utf8"));
        assert_eq!(found[2].not_in, ["/usr/share/locale/C.UTF-8"]);
    }

    #[test]
    fn only_files_of_locales_count() {
        assert_eq!(kind("/usr/lib/x86_64-linux-gnu/libc.so.6"), None);
        assert_eq!(kind("/usr/lib/x86_64-linux-gnu/gconv/gconv-modules.cache"), Some(Kind::Other));
        assert_eq!(kind("/usr/share/locale/locale.alias"), Some(Kind::Other));
        assert_eq!(kind("/etc/locale.conf"), None);
    }
}
