//! The names to try, and the files that each needs.

use super::COMMAND;
use crate::private;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const LOCALES: &str = "/usr/lib/locale";
const MESSAGES: &str = "/usr/share/locale";
const SOURCES: &str = "/usr/share/i18n/locales";

/// One row: a value of LANG, and how the locales are stored.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// `None`: unset.
    lang: Option<String>,
    /// What it is ("an alias").
    pub(crate) is: String,
    /// The locale that it gives, where that is known: two values that give the same can be compared.
    pub(crate) gives: Option<String>,
    /// Whether links let the program find every file at the first attempt.
    linked: bool,
    /// Failed opens in the mail.
    pub(crate) failed_of_2001: Option<u64>,
    /// User, kernel and clock time in the mail, seconds for 1,000 runs.
    pub(crate) times_of_2001: Option<[f64; 3]>,
}

impl Arm {
    fn new(lang: Option<&str>, is: &str, gives: Option<&str>) -> Arm {
        Arm {
            lang: lang.map(str::to_owned),
            is: is.to_owned(),
            gives: gives.map(str::to_owned),
            linked: false,
            failed_of_2001: None,
            times_of_2001: None,
        }
    }

    pub(crate) fn name(&self) -> String {
        self.lang.clone().unwrap_or_else(|| "unset".into())
    }

    /// For tables: the name alone would stand for two rows.
    pub(crate) fn name_and_what(&self) -> String {
        if self.linked { format!("{}, {}", self.name(), self.is) } else { self.name() }
    }

    pub(crate) fn shown(&self) -> String {
        format!("LANG={}", self.name())
    }

    /// Whether we can advise it: it is a name, and needs no links.
    pub(crate) fn can_be_advised(&self) -> bool {
        self.lang.is_some() && !self.linked
    }

    /// Only PATH and LANG.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let lang = self.lang.as_ref().map(|lang| ("LANG".into(), lang.into()));
        path.into_iter().chain(lang).collect()
    }
}

/// What to measure, and where.
pub(crate) struct LocaleSetting {
    /// Whether it is the setting of the mail, not of this machine.
    pub(crate) of_2001: bool,
    /// Where the command is.
    pub(crate) program: PathBuf,
    pub(crate) arms: Vec<Arm>,
    /// What a reader has to know about it.
    pub(crate) notes: Vec<String>,
    pub(crate) skipped: Vec<String>,
    /// Links to make and to remove: their paths and targets.
    links: Vec<(PathBuf, &'static str)>,
}

impl LocaleSetting {
    /// This machine as it is: `names`, or its own locale and the other spellings of it.
    pub(crate) fn of_host(names: &[String]) -> LocaleSetting {
        let mut setting = LocaleSetting {
            of_2001: false,
            program: program(),
            arms: Vec::new(),
            notes: Vec::new(),
            skipped: Vec::new(),
            links: Vec::new(),
        };
        let own = ["LC_ALL", "LANG"].into_iter().find_map(|name| {
            std::env::var(name).ok().filter(|value| !value.is_empty()).map(|value| (name, value))
        });
        let mut names = names.to_vec();
        let chosen = !names.is_empty();
        if !chosen {
            match own {
                Some((_, name)) if !matches!(name.as_str(), "C" | "POSIX") => names.push(name),
                _ => {
                    setting.notes.push(
                        "No locale is set here (LC_ALL, LANG), so programs look for none at their start; C.UTF-8 is \
                         measured instead."
                            .into(),
                    );
                    names.push("C.UTF-8".into());
                }
            }
        }
        for name in &names {
            setting.spellings(name, !chosen);
        }
        setting.arms.push(Arm::new(None, "no locale", None));
        setting
    }

    /// Adds `name` and, if `all`, its other spellings, each with what the C library makes of it.
    fn spellings(&mut self, name: &str, all: bool) {
        let Some(probe) = needless_observe::probe(name) else {
            self.skipped.push(format!(
                "other spellings of {name}: the program locale is missing (package libc-bin), or cannot be traced"
            ));
            self.arms.push(Arm::new(Some(name), "not known whether it is installed", None));
            return;
        };
        let requested = probe.spellings.iter().find(|one| one.name == name);
        if let Some(false) = requested.map(|one| one.accepted) {
            self.notes.push(format!(
                "{name} is not installed here: programs look for it at each start, do not find it and go on without a locale. {}",
                remedy(name)
            ));
        }
        // An alias does not contain its language; the name that it stands for is tried next.
        let has_language = name.contains('_') || name.starts_with("C.");
        let meaning = probe.spellings.iter().find(|one| has_language || one.name != name);
        let place = meaning.map_or(name, |one| language(&one.name)).to_owned();
        for one in probe.spellings.iter().filter(|one| all || one.name == name) {
            if self.arms.iter().any(|arm| arm.lang.as_ref() == Some(&one.name)) {
                continue;
            }
            let is = if one.accepted {
                format!("installed, {}", one.charmap)
            } else {
                "not installed".to_owned()
            };
            let place = if one.name == name { &place } else { language(&one.name) };
            let gives = one.accepted.then(|| format!("{place} {}", one.charmap));
            self.arms.push(Arm::new(Some(&one.name), &is, gives.as_deref()));
        }
    }

    /// Greek and Spanish as the mail had them, in mounts that only this process and its children see.
    pub(crate) fn of_2001() -> Result<LocaleSetting, String> {
        for source in ["el_GR", "es_ES"] {
            if !Path::new(SOURCES).join(source).exists() {
                return Err(format!(
                    "{SOURCES}/{source} is not there: --as-in-2001 compiles locales from it; install the package locales"
                ));
            }
        }
        private::enter().map_err(|why| format!("--as-in-2001 needs private mounts: {why}"))?;
        let messages = catalogues();
        for folder in [LOCALES, MESSAGES] {
            private::cover(Path::new(folder))?;
        }
        compile("el_GR", "ISO-8859-7")?;
        compile("es_ES", "ISO-8859-1")?;
        let missing = put(messages)?;
        let with =
            |arm: Arm, failed, times| Arm { failed_of_2001: failed, times_of_2001: times, ..arm };
        let greek = Arm::new(Some("greek"), "an alias", Some("Greek"));
        let linked = Arm { linked: true, is: "with links".into(), ..greek.clone() };
        let mut setting = LocaleSetting {
            of_2001: true,
            program: program(),
            arms: vec![
                with(greek, Some(34), Some([8.15, 2.43, 10.80])),
                with(Arm::new(Some("el_GR"), "the directory", Some("Greek")), Some(2), None),
                with(linked, None, Some([8.39, 2.35, 10.95])),
                with(Arm::new(Some("spanish"), "an alias", None), None, Some([8.18, 2.54, 10.94])),
                with(Arm::new(None, "no locale", None), None, Some([1.48, 1.30, 2.83])),
            ],
            notes: Vec::new(),
            skipped: Vec::new(),
            links: vec![
                (Path::new(LOCALES).join("el_GR.ISO-8859-7"), "el_GR"),
                (Path::new(MESSAGES).join("el_GR.ISO-8859-7"), "el"),
            ],
        };
        if !missing.is_empty() {
            setting.notes.push(format!(
                "Not on this machine, so the program does not find them: {}. The mail's counts include them.",
                missing.join(", ")
            ));
        }
        Ok(setting)
    }

    /// Makes or removes the links, as `arm` needs it.
    pub(crate) fn arrange(&self, arm: &Arm) -> Result<(), String> {
        for (link, text) in &self.links {
            let done = match (arm.linked, link.is_symlink()) {
                (true, false) => symlink(text, link),
                (false, true) => fs::remove_file(link),
                _ => continue,
            };
            done.map_err(|error| format!("cannot change {}: {error}", link.display()))?;
        }
        Ok(())
    }
}

/// The path of `ls`; only its name if it is in none of the usual directories: to run it then fails and says
/// so.
fn program() -> PathBuf {
    let places = ["/bin/ls", "/usr/bin/ls", "/run/current-system/sw/bin/ls"];
    let found = places.into_iter().map(PathBuf::from).find(|place| place.is_file());
    found.unwrap_or_else(|| COMMAND[0].into())
}

/// How to make a missing locale, if its name is well formed.
fn remedy(name: &str) -> String {
    let language = language(name);
    let letters = |part: &str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_alphabetic());
    match language.split_once('_') {
        Some((of, place)) if letters(of) && letters(place) => format!(
            "The package locales makes it: localedef -i {language} -f UTF-8 {name}, or a line in /etc/locale.gen and \
             locale-gen."
        ),
        _ => "`locale -a` lists the installed ones.".into(),
    }
}

/// Language and territory of a name.
fn language(name: &str) -> &str {
    name.split(['.', '@']).next().unwrap_or(name)
}

fn compile(name: &str, charset: &str) -> Result<(), String> {
    let target = Path::new(LOCALES).join(name);
    let done = Command::new("localedef")
        .args(["--no-archive", "-i", name, "-f", charset])
        .arg(&target)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot run localedef: {error}; the package libc-bin has it"))?;
    // Its exit status is 1 also for warnings.
    if target.join("LC_CTYPE").exists() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!(
        "localedef could not compile {name}: {}; the package locales has what it reads",
        said.lines().next_back().unwrap_or("no message")
    ))
}

/// The path of a catalogue below `MESSAGES`, and its contents if it is there.
type Catalogue = (String, Option<Vec<u8>>);

fn catalogues() -> Vec<Catalogue> {
    let mut all = Vec::new();
    for language in ["el", "es"] {
        for domain in ["libc", "coreutils"] {
            let place = format!("{language}/LC_MESSAGES/{domain}.mo");
            let text = fs::read(Path::new(MESSAGES).join(&place)).ok();
            all.push((place, text));
        }
    }
    all.push(("locale.alias".into(), fs::read(Path::new(MESSAGES).join("locale.alias")).ok()));
    all
}

/// Writes them again, and gives the names of the missing ones. The aliases of the mail are always written.
fn put(all: Vec<Catalogue>) -> Result<Vec<String>, String> {
    let mut missing = Vec::new();
    for (place, text) in all {
        let file = Path::new(MESSAGES).join(&place);
        let aliases = || b"greek el_GR.ISO-8859-7\nspanish es_ES.ISO-8859-1\n".to_vec();
        let text = match text {
            Some(text)
                if place != "locale.alias" || has(&text, "greek") && has(&text, "spanish") =>
            {
                text
            }
            _ if place == "locale.alias" => aliases(),
            _ => {
                missing.push(place);
                continue;
            }
        };
        let made =
            file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, text));
        made.map_err(|error| format!("cannot write a private {}: {error}", file.display()))?;
    }
    Ok(missing)
}

fn has(aliases: &[u8], name: &str) -> bool {
    String::from_utf8_lossy(aliases)
        .lines()
        .any(|line| line.split_whitespace().next() == Some(name))
}
