//! A locale that programs request and do not find: built with localedef(1) in a temporary directory and installed
//! through the journal like any other change; or, where it is installed under another spelling, a link with the
//! requested name.

use crate::disk::{Disk, FileAttributes};
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::journal::FileChange;
use crate::running::program_of_system;
use crate::scratch::Scratch;
use needless_host::Root;
use needless_model::quote;
use std::process::{Command, Stdio};

const LOCALES: &str = "/usr/lib/locale";
const ARCHIVE: &str = "/usr/lib/locale/locale-archive";
const MESSAGES: &str = "/usr/share/locale";
const SOURCES: &str = "/usr/share/i18n/locales";
const CHARMAPS: &str = "/usr/share/i18n/charmaps";
/// The list that Debian's locale-gen(8) builds at each upgrade of glibc, after removing all locales.
const GENERATED: &str = "/etc/locale.gen";
const ALIASES: [&str; 2] = ["/etc/locale.alias", "/usr/share/locale/locale.alias"];

/// A name of a locale in its parts: `el_GR`, `UTF-8`, `euro`.
struct Name<'a> {
    language: &'a str,
    codeset: Option<&'a str>,
    modifier: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn parse(name: &'a str) -> Result<Name<'a>, EnvironmentError> {
        let known = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(known) {
            return Err(format!("{} is not a valid locale name (el_GR.UTF-8)", quote(name)).into());
        }
        let (rest, modifier) = match name.split_once('@') {
            Some((rest, modifier)) => (rest, Some(modifier)),
            None => (name, None),
        };
        let (language, codeset) = match rest.split_once('.') {
            Some((language, codeset)) => (language, Some(codeset)),
            None => (rest, None),
        };
        Ok(Name { language, codeset, modifier })
    }

    /// The name as localedef writes it: the codeset in lower case letters and digits.
    fn normal(&self) -> String {
        let codeset = self.codeset.map_or(String::new(), |codeset| format!(".{}", normal(codeset)));
        let modifier = self.modifier.map_or(String::new(), |modifier| format!("@{modifier}"));
        format!("{}{codeset}{modifier}", self.language)
    }

    /// The file that describes it.
    fn source(&self) -> String {
        match self.modifier {
            Some(modifier) => format!("{}@{modifier}", self.language),
            None => self.language.to_owned(),
        }
    }
}

/// "UTF-8" as "utf8", "ISO-8859-7" as "iso88597", "8859-1" as "iso88591" (The GNU C Library, Locale Names).
fn normal(codeset: &str) -> String {
    let text: String = codeset.chars().filter(char::is_ascii_alphanumeric).collect();
    let text = text.to_ascii_lowercase();
    if text.chars().all(|c| c.is_ascii_digit()) { format!("iso{text}") } else { text }
}

/// How a locale is to be installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocaleHow {
    /// As a directory of its own, even where there is, or may be, an archive.
    pub directory: bool,
    /// Whether the directory of its messages must be found at the first attempt as well.
    pub messages: bool,
}

/// Plans to have the locale `name` found at the first attempt.
///
/// # Errors
/// When the locale is not known, localedef is missing or fails, or files may not be changed.
pub fn plan_locale(
    name: &str,
    how: LocaleHow,
    disk: &Disk,
    root: &Root,
) -> Result<Plan, EnvironmentError> {
    let alias = Name::parse(name)?;
    let meant = alias.codeset.is_none().then(|| alias_of(root, name)).flatten();
    let mut plan = itself(meant.as_deref().unwrap_or(name), how.directory, disk, root)?;
    if let Some(meant) = &meant {
        plan.why = format!("{name} is an alias of {meant} (locale.alias)");
    }
    if how.messages {
        plan.files.extend(messages(root, meant.as_deref().unwrap_or(name))?);
    }
    Ok(plan)
}

/// A link with the locale's full name to its directory of messages: gettext tries each of the shorter names after the
/// full one. Refused where there are several directories, each of which may have messages that the others lack.
fn messages(root: &Root, name: &str) -> Result<Option<FileChange>, EnvironmentError> {
    let parsed = Name::parse(name)?;
    if parsed.modifier.is_some() {
        return Err(format!(
            "{name}: messages of a locale with @ are not linked automatically: do it by hand"
        )
        .into());
    }
    let language = parsed.language.split('_').next().unwrap_or_default();
    let mut names = Vec::new();
    for stem in [parsed.language, language] {
        names.extend(parsed.codeset.map(|codeset| format!("{stem}.{codeset}")));
        names.extend(parsed.codeset.map(|codeset| format!("{stem}.{}", normal(codeset))));
        names.push(stem.to_owned());
    }
    names.dedup();
    names.retain(|name| root.list(&format!("{MESSAGES}/{name}")).is_ok());
    match &names[..] {
        [first, ..] if first == name => Ok(None),
        [one] => Ok(Some(link(MESSAGES, name, one))),
        [] => Err(format!("there are no messages for {name} ({MESSAGES})").into()),
        several => Err(format!(
            "messages for {name} are in several directories ({}), and a link would hide some",
            several.join(", ")
        )
        .into()),
    }
}

/// The locale, without its messages.
fn itself(name: &str, directory: bool, disk: &Disk, root: &Root) -> Result<Plan, EnvironmentError> {
    let parsed = Name::parse(name)?;
    let mut plan = Plan {
        what: format!("locale {name}"),
        reach: "every program of this machine that requests it".into(),
        why: format!("programs that request {name} should find it at the first attempt"),
        caveats: vec![
            "Programs that request it then run in that locale: messages, sorting and formats change \
             from C."
                .into(),
        ],
        effect: "programs that are started from now on",
        new_file_is_showable: true,
        ..Plan::default()
    };
    let installed = |name: &str| root.list(&format!("{LOCALES}/{name}")).is_ok();
    let normal = parsed.normal();
    if installed(name) || (in_archive(&normal) && !directory) {
        plan.place = format!("{LOCALES}: it is installed");
        return Ok(plan);
    }
    if installed(&normal) {
        plan.place = format!("a link in {LOCALES}");
        plan.why = format!("it is installed as {normal}, which programs try after {name}");
        plan.caveats = vec![
            "The locale is the same; it is only found under the requested name at once.".into(),
        ];
        plan.files.push(link(LOCALES, name, &normal));
        return Ok(plan);
    }
    let charmap = charmap(root, &parsed)?;
    let source = parsed.source();
    if root.read(&format!("{SOURCES}/{source}")).is_err() {
        return Err(format!(
            "there is no locale {source} to build ({SOURCES}): install the package locales, or look at `locale -a`"
        ).into());
    }
    let archived = !directory && (root.read(GENERATED).is_ok() || exists(root, ARCHIVE));
    let words = format!("localedef -i {source} -f {charmap} {name}");
    if archived {
        plan.place = format!("the archive {ARCHIVE}, by `{words}`");
        let listed = name_with(&parsed, &charmap);
        plan.showable.push(format!("{listed} {charmap}"));
        plan.files.extend(generated(disk, &listed, &charmap)?);
        plan.files.push(archive(disk, &source, &charmap, name)?);
        plan.caveats.push(format!(
                "Building the archive again (locale-gen, an upgrade of glibc) keeps what {GENERATED} names; \
                 `undo` then refuses, since the archive has changed."
            ));
    } else {
        plan.place = format!("the directory {LOCALES}/{normal}, by `{words}`");
        plan.files.extend(tree(&source, &charmap, &normal)?);
        if normal != name {
            plan.files.push(link(LOCALES, name, &normal));
        }
        plan.caveats.push("After an upgrade of glibc it has to be built again.".into());
    }
    Ok(plan)
}

fn exists(root: &Root, file: &str) -> bool {
    let (dir, name) = file.rsplit_once('/').unwrap_or(("", file));
    root.list(dir).is_ok_and(|all| all.iter().any(|(other, _)| other == name))
}

/// The locale of an alias (`greek el_GR.ISO-8859-7`).
fn alias_of(root: &Root, name: &str) -> Option<String> {
    ALIASES.iter().find_map(|file| {
        let text = String::from_utf8_lossy(&root.read(file).ok()?).into_owned();
        text.lines().find_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let is = words.next() == Some(name) && !line.starts_with('#');
            words.next().filter(|_| is).map(str::to_owned)
        })
    })
}

/// Whether the C library finds the locale `name` below `root`; `None` where an archive may have it that cannot be listed.
pub(crate) fn is_installed(root: &Root, name: &str) -> Option<bool> {
    let meant = alias_of(root, name);
    let name = meant.as_deref().unwrap_or(name);
    let Ok(parsed) = Name::parse(name) else { return Some(name.starts_with('/')) };
    let normal = parsed.normal();
    if matches!(&*normal, "C" | "POSIX" | "C.utf8")
        || [name, &normal].iter().any(|dir| root.is_dir(&format!("{LOCALES}/{dir}")))
    {
        return Some(true);
    }
    match exists(root, ARCHIVE) {
        false => Some(false),
        true if root.is_ours() => {
            Some(localedef(&["--list-archive"]).ok()?.lines().any(|line| line == normal))
        }
        true => None,
    }
}

fn in_archive(normal: &str) -> bool {
    let listed = localedef(&["--list-archive"]).unwrap_or_default();
    listed.lines().any(|line| line == normal)
}

/// The name for locale-gen: with its codeset, if it was requested with one.
fn name_with(name: &Name<'_>, charmap: &str) -> String {
    let codeset = name.codeset.map_or(String::new(), |_| format!(".{charmap}"));
    let modifier = name.modifier.map_or(String::new(), |modifier| format!("@{modifier}"));
    format!("{}{codeset}{modifier}", name.language)
}

/// The charmap file for a codeset in any spelling; without a codeset, the one in SUPPORTED, else UTF-8.
fn charmap(root: &Root, name: &Name<'_>) -> Result<String, EnvironmentError> {
    let Some(codeset) = name.codeset else {
        let supported = root.read("/usr/share/i18n/SUPPORTED").unwrap_or_default();
        let supported = String::from_utf8_lossy(&supported).into_owned();
        let source = name.source();
        let line = supported.lines().find_map(|line| line.strip_prefix(&format!("{source} ")));
        return Ok(line.map_or("UTF-8", str::trim).to_owned());
    };
    let all = root.list(CHARMAPS).map_err(|error| {
        format!(
            "{CHARMAPS}: {error}: install the package locales (charmaps), or use another locale"
        )
    })?;
    let mut names = all.into_iter().map(|(file, _)| file.trim_end_matches(".gz").to_owned());
    let found = names.find(|file| normal(file) == normal(codeset));
    found.ok_or_else(|| format!("no charmap {codeset} in {CHARMAPS}").into())
}

/// The line of /etc/locale.gen, uncommented or added; nothing where there is no such file.
fn generated(
    disk: &Disk,
    name: &str,
    charmap: &str,
) -> Result<Option<FileChange>, EnvironmentError> {
    let Some(before) = disk.read_for_change(GENERATED)? else { return Ok(None) };
    let text = std::str::from_utf8(&before.bytes).map_err(|_| format!("{GENERATED}: not UTF-8"))?;
    let wanted = format!("{name} {charmap}");
    if text.lines().any(|line| line.trim() == wanted) {
        return Ok(None);
    }
    let is = |line: &str| line.strip_prefix('#').is_some_and(|rest| rest.trim() == wanted);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let out = match lines.iter().position(|line| is(line)) {
        Some(at) => format!("{}{wanted}\n{}", lines[..at].concat(), lines[at + 1..].concat()),
        None if text.is_empty() || text.ends_with('\n') => format!("{text}{wanted}\n"),
        None => format!("{text}\n{wanted}\n"),
    };
    Ok(Some(FileChange {
        path: GENERATED.into(),
        before: Some(before.bytes),
        after: Some(out.into_bytes()),
        about: before.about,
    }))
}

/// The archive with the locale added, built in a copy.
fn archive(
    disk: &Disk,
    source: &str,
    charmap: &str,
    name: &str,
) -> Result<FileChange, EnvironmentError> {
    let before = disk.read_for_change(ARCHIVE)?;
    let failed = |error: std::io::Error| format!("cannot build the locale: {error}");
    let folder = Scratch::new().map_err(failed)?;
    let file = folder.make(&LOCALES[1..]).map_err(failed)?.join("locale-archive");
    if let Some(before) = &before {
        folder.put(&file, &before.bytes).map_err(failed)?;
    }
    let prefix = format!("--prefix={}", folder.path().display());
    let complaint = localedef(&[&prefix, "-c", "-i", source, "-f", charmap, name]).err();
    let after = std::fs::read(&file).ok();
    match after.filter(|after| before.as_ref().is_none_or(|before| before.bytes != *after)) {
        Some(after) => Ok(FileChange {
            path: ARCHIVE.into(),
            about: before
                .as_ref()
                .map_or_else(|| FileAttributes::new(0o644), |before| before.about.clone()),
            before: before.map(|before| before.bytes),
            after: Some(after),
        }),
        None => Err(complaint.unwrap_or_else(|| "localedef built nothing".into())),
    }
}

/// The files of a locale's directory.
fn tree(source: &str, charmap: &str, normal: &str) -> Result<Vec<FileChange>, EnvironmentError> {
    let failed = |error: std::io::Error| format!("cannot build the locale: {error}");
    let folder = Scratch::new().map_err(failed)?;
    let out = folder.path().join(normal);
    let to = out.to_string_lossy().into_owned();
    let complaint = localedef(&["--no-archive", "-c", "-i", source, "-f", charmap, &to]).err();
    let mut files = Vec::new();
    let mut dirs = vec![(out, format!("{LOCALES}/{normal}"))];
    while let Some((dir, path)) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
            let path = format!("{path}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                dirs.push((entry.path(), path))
            } else {
                files.push(FileChange {
                    path,
                    before: None,
                    after: Some(std::fs::read(entry.path()).map_err(failed)?),
                    about: FileAttributes::new(0o644),
                })
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if files.is_empty() {
        Err(complaint.unwrap_or_else(|| "localedef built nothing".into()))
    } else {
        Ok(files)
    }
}

fn link(dir: &str, name: &str, to: &str) -> FileChange {
    FileChange {
        path: format!("{dir}/{name}"),
        before: None,
        after: Some(to.as_bytes().to_vec()),
        about: FileAttributes::link(),
    }
}

fn localedef(words: &[&str]) -> Result<String, EnvironmentError> {
    let program = program_of_system("localedef").ok_or("localedef is not installed (libc-bin)")?;
    let mut command = Command::new(program);
    command.args(words).env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin");
    let done =
        command.stdin(Stdio::null()).output().map_err(|error| format!("localedef: {error}"))?;
    if done.status.success() {
        Ok(String::from_utf8_lossy(&done.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        Err(format!("localedef: {}", said.lines().next().unwrap_or("failed")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_localedef_writes_them() {
        for (name, is) in [
            ("el_GR.UTF-8", "el_GR.utf8"),
            ("el_GR.ISO-8859-7", "el_GR.iso88597"),
            ("de_DE@euro", "de_DE@euro"),
            ("de_DE.ISO-8859-15@euro", "de_DE.iso885915@euro"),
            ("C.UTF-8", "C.utf8"),
            ("de_DE.8859-1", "de_DE.iso88591"),
            ("ja_JP.eucJP", "ja_JP.eucjp"),
        ] {
            assert_eq!(Name::parse(name).unwrap().normal(), is);
        }
        for bad in ["", "../x", "-x", "a b", "a/b", ".x"] {
            assert!(Name::parse(bad).is_err(), "{bad}");
        }
    }
}
