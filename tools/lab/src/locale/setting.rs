//! The names to try, and the machine as they need it.

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

/// One row: a value of LANG, and how the locales lie.
#[derive(Clone, Debug)]
pub(crate) struct Arm {
    /// `None`: unset.
    lang: Option<String>,
    /// What it is ("an alias").
    pub(crate) is: String,
    /// The locale that it gives, where it is known: of equal ones the cheaper is better.
    pub(crate) gives: Option<String>,
    /// Whether links make every file be found at the first attempt.
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

    /// Where the name alone would stand for two rows.
    pub(crate) fn name_and_what(&self) -> String {
        if self.linked { format!("{}, {}", self.name(), self.is) } else { self.name() }
    }

    pub(crate) fn shown(&self) -> String {
        format!("LANG={}", self.name())
    }

    /// Whether it can be advised: a name, on a machine as it is.
    pub(crate) fn asked(&self) -> bool {
        self.lang.is_some() && !self.linked
    }

    /// Nothing but PATH and LANG.
    pub(crate) fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").map(|path| ("PATH".into(), path));
        let lang = self.lang.as_ref().map(|lang| ("LANG".into(), lang.into()));
        path.into_iter().chain(lang).collect()
    }
}

/// What to measure, and where.
pub(crate) struct Setting {
    /// Whether it is the mail's, not this machine's.
    pub(crate) of_2001: bool,
    /// Where the command is.
    pub(crate) program: PathBuf,
    pub(crate) arms: Vec<Arm>,
    /// What to know of it.
    pub(crate) says: Vec<String>,
    pub(crate) skipped: Vec<String>,
    /// Links to make and to remove: link, text.
    links: Vec<(PathBuf, &'static str)>,
}

impl Setting {
    /// This machine as it is: `names`, or its own locale and the spellings of it that may do.
    pub(crate) fn of_host(names: &[String]) -> Setting {
        let mut setting = Setting {
            of_2001: false,
            program: program(),
            arms: Vec::new(),
            says: Vec::new(),
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
                    setting.says.push(
                        "No locale is set here (LC_ALL, LANG), so nothing is searched for at the start of a program; \
                         C.UTF-8 is tried instead."
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

    /// A name and, if `all`, its other spellings, each with what the C library makes of it.
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
            self.says.push(format!(
                "{name} is not installed here: programs look for it in vain at each start and go on without a locale. {}",
                remedy(name)
            ));
        }
        // Not every name tells its language: an alias does not, what it stands for is tried next.
        let tells = name.contains('_') || name.starts_with("C.");
        let meaning = probe.spellings.iter().find(|one| tells || one.name != name);
        let place = meaning.map_or(name, |one| language(&one.name)).to_owned();
        for one in probe.spellings.iter().filter(|one| all || one.name == name) {
            if self.arms.iter().any(|arm| arm.lang.as_ref() == Some(&one.name)) {
                continue;
            }
            let is = match one.accepted {
                true => format!("installed, {}", one.charmap),
                false => "not installed".into(),
            };
            let place = if one.name == name { &place } else { language(&one.name) };
            let gives = one.accepted.then(|| format!("{place} {}", one.charmap));
            self.arms.push(Arm::new(Some(&one.name), &is, gives.as_deref()));
        }
    }

    /// Greek and Spanish as the mail had them, in mounts that only we and our children see.
    pub(crate) fn of_2001() -> Result<Setting, String> {
        for source in ["el_GR", "es_ES"] {
            if !Path::new(SOURCES).join(source).exists() {
                return Err(format!(
                    "{SOURCES}/{source} is not there: --as-in-2001 compiles locales from it; install the package locales"
                ));
            }
        }
        private::enter().map_err(|why| format!("--as-in-2001 needs mounts of its own: {why}"))?;
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
        let mut setting = Setting {
            of_2001: true,
            program: program(),
            arms: vec![
                with(greek, Some(34), Some([8.15, 2.43, 10.80])),
                with(Arm::new(Some("el_GR"), "the directory", Some("Greek")), Some(2), None),
                with(linked, None, Some([8.39, 2.35, 10.95])),
                with(Arm::new(Some("spanish"), "an alias", None), None, Some([8.18, 2.54, 10.94])),
                with(Arm::new(None, "no locale", None), None, Some([1.48, 1.30, 2.83])),
            ],
            says: Vec::new(),
            skipped: Vec::new(),
            links: vec![
                (Path::new(LOCALES).join("el_GR.ISO-8859-7"), "el_GR"),
                (Path::new(MESSAGES).join("el_GR.ISO-8859-7"), "el"),
            ],
        };
        if !missing.is_empty() {
            setting.says.push(format!(
                "Not on this machine, hence searched for in vain: {}. The mail's counts are with them.",
                missing.join(", ")
            ));
        }
        Ok(setting)
    }

    /// Makes the files lie as `arm` has them.
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

/// `ls`, or its name where it is not where it always is: what runs it will say so.
fn program() -> PathBuf {
    let places = ["/bin/ls", "/usr/bin/ls", "/run/current-system/sw/bin/ls"];
    let found = places.into_iter().map(PathBuf::from).find(|place| place.is_file());
    found.unwrap_or_else(|| COMMAND[0].into())
}

/// How a locale that is missing is made, where its name can be one's.
fn remedy(name: &str) -> String {
    let language = language(name);
    let letters = |part: &str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_alphabetic());
    match language.split_once('_') {
        Some((of, place)) if letters(of) && letters(place) => format!(
            "The package locales makes it: localedef -i {language} -f UTF-8 {name}, or a line in /etc/locale.gen and \
             locale-gen."
        ),
        _ => "`locale -a` lists those that are.".into(),
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
    // Its status is 1 for mere warnings.
    if target.join("LC_CTYPE").exists() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(format!(
        "localedef could not compile {name}: {}; the package locales has what it reads",
        said.lines().next_back().unwrap_or("it said nothing")
    ))
}

/// Where a catalogue is below `MESSAGES`, and what is in it if it is there.
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

/// Puts them back, and says which there were not. The aliases of the mail are in any case.
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
