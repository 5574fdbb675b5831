//! What the host's C library does with the name of a locale: the program `locale` is run under our own
//! tracer, once for each spelling.

use needless_launch::{Launch, Stdio};
use needless_model::{LocaleProbe, Spelling};
use needless_model::{Profile, Row};
use needless_ptrace::{TraceOptions, trace};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// At most this many spellings of a name are tried.
const SPELLINGS: usize = 8;

/// No further spelling is tried after this time; one takes some 20 ms.
const PATIENCE: Duration = Duration::from_secs(2);

const LOCALES: &str = "/usr/lib/locale";
const ALIASES: &str = "/usr/share/locale/locale.alias";

/// What `locale charmap` prints for the C locale, to which it also falls back.
const ASCII: &str = "ANSI_X3.4-1968";

/// Tries `requested` and its other spellings on this host, each in a run of `locale charmap` with
/// only `LC_ALL` in its environment. `None` where that program is missing or cannot be
/// traced.
///
/// [`Spelling::failed_opens`] counts the failed opens of `setlocale(LC_ALL, "")`. For a name that is not
/// accepted these are the opens for the first category, where it stops;
/// [`Spelling::total_calls`] then includes the warnings that `locale` writes.
pub fn probe(requested: &str) -> Option<LocaleProbe> {
    let program = program()?;
    let started = Instant::now();
    let first = measure(&program, requested)?;
    let c_too = !first.accepted || normal_codeset(&first.charmap) == "utf8";
    let names = candidates(requested, c_too, &Installed::on_this_host());
    let mut spellings = vec![first];
    for name in names.into_iter().skip(1) {
        if started.elapsed() > PATIENCE {
            break;
        }
        spellings.extend(measure(&program, &name));
    }
    Some(LocaleProbe { requested: requested.to_owned(), spellings })
}

/// Where the program `locale` is.
pub(crate) fn program() -> Option<PathBuf> {
    let places = ["/usr/bin/locale", "/bin/locale", "/run/current-system/sw/bin/locale"];
    places.into_iter().map(PathBuf::from).find(|path| path.is_file())
}

fn measure(program: &Path, name: &str) -> Option<Spelling> {
    let launch = Launch {
        program: program.to_owned(),
        argv: vec![OsString::from("locale"), OsString::from("charmap")],
        env: Some(vec![("LC_ALL".into(), name.into())]),
        stdio: Stdio::Capture,
        caller: None,
    };
    let traced = trace(launch, &TraceOptions { all: true, ..TraceOptions::default() }).ok()?;
    let charmap = String::from_utf8_lossy(&traced.stdout).trim().to_owned();
    let profile = &traced.profile;
    let opened = |row: &&Row| category(profile, row).is_some() && row.ok();
    let accepted = matches!(name, "C" | "POSIX")
        || charmap != ASCII && !charmap.is_empty()
        || profile.rows.iter().any(|row| opened(&row));
    let failed = profile.rows.iter().filter(|row| matches!(row.outcome, Some(Err(_))));
    let counts = failed.filter(|row| match category(profile, row) {
        Some(Category::Archive) => true,
        // setlocale goes through the categories from this one down and stops at the first that
        // fails; `locale` also requests two of the others one by one.
        Some(Category::File(name)) => accepted || name == "LC_IDENTIFICATION",
        None => false,
    });
    Some(Spelling {
        name: name.to_owned(),
        failed_opens: counts.map(|row| row.count).sum(),
        total_calls: profile.totals.calls,
        accepted,
        charmap: if accepted { charmap } else { String::new() },
    })
}

enum Category<'a> {
    Archive,
    File(&'a str),
}

/// Which file of a locale a row is about.
fn category<'a>(profile: &'a Profile, row: &Row) -> Option<Category<'a>> {
    let path = profile.path(row);
    let (directory, file) = path.rsplit_once('/')?;
    if file == "locale-archive" {
        return Some(Category::Archive);
    }
    let is_file = row.query == needless_model::Query::Open && directory.contains("/locale/");
    // LC_MESSAGES is a directory with the file in it.
    (is_file && file.starts_with("LC_")).then_some(Category::File(file))
}

/// The locales that are installed on the host, from the names of its files.
#[derive(Default)]
struct Installed {
    directories: Vec<String>,
    archive: bool,
    aliases: String,
}

impl Installed {
    fn on_this_host() -> Installed {
        let entries = std::fs::read_dir(LOCALES).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.path().is_dir());
        let mut directories: Vec<String> =
            directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        directories.sort();
        Installed {
            directories,
            archive: Path::new(LOCALES).join("locale-archive").exists(),
            aliases: std::fs::read(ALIASES)
                .map(|text| String::from_utf8_lossy(&text).into_owned())
                .unwrap_or_default(),
        }
    }

    /// The meaning of an alias (locale.alias: a name, blanks, its meaning).
    fn alias(&self, name: &str) -> Option<&str> {
        let lines = self.aliases.lines().filter(|line| !line.starts_with('#'));
        let mut pairs = lines.filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?, words.next()?))
        });
        pairs.find(|(alias, _)| *alias == name).map(|(_, meaning)| meaning)
    }
}

/// The spellings worth trying, the requested one first.
fn candidates(requested: &str, c_too: bool, host: &Installed) -> Vec<String> {
    let mut names = vec![requested.to_owned()];
    for name in [Some(requested), host.alias(requested)].into_iter().flatten() {
        let parts = Name::of(name);
        names.push(name.to_owned());
        if let Some(codeset) = parts.codeset {
            names.push(parts.with_codeset(&format!(".{}", normal_codeset(codeset))));
        }
        let plain = parts.with_codeset("");
        if host.archive || host.directories.contains(&plain) {
            names.push(plain);
        }
        let same = |other: &&String| {
            let other = Name::of(other);
            (other.place, other.modifier) == (parts.place, parts.modifier)
        };
        names.extend(host.directories.iter().filter(same).cloned());
    }
    let mut seen = Vec::new();
    let mut unique = |names: Vec<String>, most: usize| {
        for name in names {
            if seen.len() < most && !name.is_empty() && !seen.contains(&name) {
                seen.push(name);
            }
        }
    };
    // Two entries are kept for the locales that glibc has without being installed.
    unique(names, SPELLINGS - 2);
    if c_too {
        unique(vec!["C.utf8".into(), "C.UTF-8".into()], SPELLINGS);
    }
    seen
}

/// `language_TERRITORY.codeset@modifier` (setlocale(3)).
struct Name<'a> {
    place: &'a str,
    codeset: Option<&'a str>,
    modifier: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn of(name: &'a str) -> Name<'a> {
        let (name, modifier) = match name.split_once('@') {
            Some((name, modifier)) => (name, Some(modifier)),
            None => (name, None),
        };
        match name.split_once('.') {
            Some((place, codeset)) => Name { place, codeset: Some(codeset), modifier },
            None => Name { place: name, codeset: None, modifier },
        }
    }

    fn with_codeset(&self, codeset: &str) -> String {
        let modifier = self.modifier.map_or(String::new(), |modifier| format!("@{modifier}"));
        format!("{}{codeset}{modifier}", self.place)
    }
}

/// A codeset as glibc writes it in a directory's name: letters and digits, lower case, `iso` before
/// a name of digits only.
fn normal_codeset(codeset: &str) -> String {
    let kept = codeset.chars().filter(char::is_ascii_alphanumeric);
    let kept: String = kept.map(|c| c.to_ascii_lowercase()).collect();
    let digits = !kept.is_empty() && kept.bytes().all(|b| b.is_ascii_digit());
    if digits { format!("iso{kept}") } else { kept }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(directories: &[&str], archive: bool) -> Installed {
        Installed {
            directories: directories.iter().map(|d| (*d).to_owned()).collect(),
            archive,
            aliases: "# names\ngreek           el_GR.ISO-8859-7\n\n".into(),
        }
    }

    #[test]
    fn spellings_are_tried_in_a_fixed_order() {
        let debian = host(&["C.utf8", "el_GR", "el_GR.utf8", "en_US.utf8"], false);
        assert_eq!(candidates("C.UTF-8", true, &debian), ["C.UTF-8", "C.utf8"]);
        assert_eq!(
            candidates("greek", false, &debian),
            ["greek", "el_GR.ISO-8859-7", "el_GR.iso88597", "el_GR", "el_GR.utf8"]
        );
        assert_eq!(
            candidates("de_DE.UTF-8@euro", true, &debian),
            ["de_DE.UTF-8@euro", "de_DE.utf8@euro", "C.utf8", "C.UTF-8"]
        );
        assert_eq!(candidates("fr_FR", false, &host(&[], false)), ["fr_FR"]);
        let archive = candidates("el_GR.ISO-8859-7", false, &host(&[], true));
        assert_eq!(archive, ["el_GR.ISO-8859-7", "el_GR.iso88597", "el_GR"]);
    }

    #[test]
    fn there_are_never_more_than_eight() {
        let many: Vec<String> = (0..20).map(|n| format!("xx_YY.cs{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let names = candidates("xx_YY.UTF-8", true, &host(&many, true));
        assert_eq!(names.len(), SPELLINGS);
        assert_eq!(names[SPELLINGS - 2..], ["C.utf8", "C.UTF-8"]);
    }

    #[test]
    fn codesets_are_written_as_glibc_does() {
        for (codeset, normal) in
            [("UTF-8", "utf8"), ("ISO-8859-7", "iso88597"), ("8859-1", "iso88591"), ("", "")]
        {
            assert_eq!(normal_codeset(codeset), normal);
        }
    }
}
