//! Where in the repository of a directory a variable is set wrongly, or should be set: a line of a Dockerfile, a compose
//! file, a workflow of GitHub, a pipeline of GitLab. For reports that point at files; nothing is written.

use crate::others_write::open_regular;
use crate::place::Place;
use crate::place_list::place_of_file;
use crate::places::shell::NAMES as SHELLS;
use crate::places::{self, Edit};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// So many files are read, and so many bytes of each: a repository is somebody else's text.
const FILES: usize = 64;
const BYTES: u64 = 1 << 20;
/// So many bytes of a file are read again for its parts: for each the whole text.
const AGAIN: usize = 8 << 20;

/// A variable that a remedy changes.
#[derive(Clone, Copy, Debug)]
pub struct WrongVariable<'a> {
    /// Its name.
    pub variable: &'a str,
    /// What the process had; `None` where it had none.
    pub had: Option<&'a str>,
    /// The entries that are to go, of a list whose value is not known.
    pub entries: &'a [String],
    /// Whether the remedy gives it a value, and it had none.
    pub is_set: bool,
    /// What the remedy makes of it: a value, or nothing; `None` where that is not known here.
    pub to: Option<Option<&'a str>>,
    /// The programs that have it: names of files, without directories.
    pub programs: &'a [&'a str],
}

/// The repository that a directory belongs to: the nearest directory with `.git` in it.
pub fn repository_of(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|above| above.join(".git").exists())
}

/// Where a variable is changed in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryPlace {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// What a person writes there, as an order with the line; `None` where a tool writes it, or the value is not known.
    pub by_hand: Option<String>,
}

/// The line that gives the variable the value that the process had; or, where it had none, the one
/// at which the only file that names one of its programs would be changed. `None` where that is not certain.
pub fn place_in_repository(
    directory: &Path,
    wanted: &WrongVariable<'_>,
) -> Option<RepositoryPlace> {
    let files = files(directory, repository_of(directory)?);
    let sets = files.iter().find_map(|file| {
        let (line, part) = file.wrong_line(wanted)?;
        Some(file.place(line, part.as_deref(), wanted))
    });
    if sets.is_some() || wanted.had.is_some() || !wanted.is_set {
        return sets;
    }
    let mut naming = files.iter().filter(|file| file.names(wanted.programs));
    let (only, None) = (naming.next()?, naming.next()) else { return None };
    let (line, part) = only.line_for(wanted.variable)?;
    Some(only.place(line, part.as_deref(), wanted))
}

/// A file of the repository.
struct RepositoryFile {
    path: PathBuf,
    text: String,
    place: &'static Place,
}

/// The files of the directory, and of those above it up to the repository's own.
fn files(directory: &Path, repository: &Path) -> Vec<RepositoryFile> {
    let above = directory.ancestors().take_while(|above| above.starts_with(repository));
    let folders = above.map(Path::to_owned).chain([repository.join(".github/workflows")]);
    let mut paths = BTreeSet::new();
    for entry in folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten() {
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        let compose = ["compose.", "docker-compose."].iter().any(|of| name.starts_with(of));
        let image = ["dockerfile", "containerfile"].iter().any(|of| name.contains(of));
        let workflow = entry.path().starts_with(repository.join(".github/workflows"));
        if compose || image || workflow || name == ".gitlab-ci.yml" {
            paths.insert(entry.path());
        }
    }
    paths.into_iter().take(FILES).filter_map(RepositoryFile::read).collect()
}

impl RepositoryFile {
    fn read(path: PathBuf) -> Option<RepositoryFile> {
        let mut text = String::new();
        open_regular(&path).ok()?.take(BYTES).read_to_string(&mut text).ok()?;
        let place = place_of_file(path.to_str()?, &text).filter(|place| place.is_of_image())?;
        Some(RepositoryFile { path, text, place })
    }

    /// Its parts, or the whole where it has none.
    fn parts(&self) -> Vec<Option<String>> {
        let parts = (self.place.parts)(&self.text);
        let whole = parts.is_empty().then_some(None);
        parts.into_iter().take(AGAIN / self.text.len().max(1)).map(Some).chain(whole).collect()
    }

    /// Its line, with what a person writes there for the part.
    fn place(&self, line: u32, part: Option<&str>, wanted: &WrongVariable<'_>) -> RepositoryPlace {
        let edit = |value| Edit { variable: wanted.variable, value, part };
        let order = |value| self.place.by_hand(&self.text, &edit(value)).ok().flatten();
        RepositoryPlace { path: self.path.clone(), line, by_hand: wanted.to.and_then(order) }
    }

    /// The first line that sets the variable to what the process had, and in which part.
    fn wrong_line(&self, wanted: &WrongVariable<'_>) -> Option<(u32, Option<String>)> {
        let is_wrong = |value: &str| {
            let listed = |entry: &String| value.split([':', ';', ' ']).any(|one| one == entry);
            wanted.had == Some(value) || wanted.entries.iter().any(listed)
        };
        let found = self.parts().into_iter().flat_map(|part| {
            let found = self.place.find(&self.text, wanted.variable, part.as_deref());
            found.into_iter().map(move |one| (one, part.clone()))
        });
        let wrong = found.filter(|(one, _)| one.value.as_deref().is_some_and(is_wrong));
        let (line, part) = wrong.map(|(one, part)| (one.line, part)).min()?;
        // What the whole sets is changed for the whole.
        let whole = self.place.find(&self.text, wanted.variable, None);
        Some((line, part.filter(|_| whole.iter().all(|one| one.line != line))))
    }

    /// Whether it names one of the programs, outside of comments and keys. Every such file names a shell.
    fn names(&self, programs: &[&str]) -> bool {
        let wanted = |name: &str| !SHELLS.contains(&name) && programs.contains(&name);
        let of_name = |c: char| c.is_ascii_alphanumeric() || "._+-/".contains(c);
        let mut lines = self.text.lines().filter(|line| !line.trim_start().starts_with('#'));
        lines.any(|line| {
            let mut words = line.split_inclusive(|c: char| !of_name(c));
            words.any(|word| {
                let name = word.trim_end_matches(|c: char| !of_name(c));
                !word.ends_with(':') && wanted(name.rsplit('/').next().unwrap_or(name))
            })
        })
    }

    /// The line at which a change for the variable would be made, and in which part. None where it is set already.
    fn line_for(&self, variable: &str) -> Option<(u32, Option<String>)> {
        let parts = self.parts();
        let find = |part: &Option<String>| self.place.find(&self.text, variable, part.as_deref());
        if parts.iter().any(|part| !find(part).is_empty()) {
            return None;
        }
        let only = parts.first().filter(|_| parts.len() == 1).and_then(Option::as_deref);
        // Any value: only the line is looked at.
        let edit = |part| Edit { variable, value: Some("x"), part };
        if self.place.is_by_hand() {
            let line = |part: Option<&str>| {
                let edit = Edit { variable, value: Some("x"), part };
                let line = self.place.line_by_hand(&self.text, &edit)?.above?;
                Some((line, part.map(str::to_owned)))
            };
            return line(None).or_else(|| line(Some(only?)));
        }
        let change = |part| self.place.change(&self.text, &edit(part)).ok();
        let new = change(None).or_else(|| change(Some(only?)))?;
        let (was, is) = (places::lines(&self.text), places::lines(&new));
        let same = was.iter().zip(&is).take_while(|(was, is)| was == is).count();
        // What is added at the end has no line yet.
        Some((u32::try_from((same + 1).min(was.len())).ok()?, None))
    }
}
