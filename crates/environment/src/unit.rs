//! The variables that systemd gives a unit: systemd.unit(5), systemd.exec(5). Which files it has, systemd is asked; where
//! none runs, or it is not the process's own, they are searched for.

use crate::manager::{LoadedUnit, Manager};
use crate::places::environment_file;
use crate::places::systemd::{LIMIT, UnitDirective, directives};
use crate::sources::User;
use crate::sshd_config::accepts;
use needless_host::Root;
use std::collections::{BTreeMap, BTreeSet};

/// Directories of system units; the first that has a file counts (`systemctl --system` of 252 and 257).
const SYSTEM: [&str; 10] = [
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
];

/// Directories of user units, after `~/.config/systemd/user`, which comes first.
const USER: [&str; 7] = [
    "/etc/systemd/user",
    "/run/systemd/user",
    "~/.local/share/systemd/user",
    "/usr/local/share/systemd/user",
    "/usr/share/systemd/user",
    "/usr/local/lib/systemd/user",
    "/usr/lib/systemd/user",
];

/// A unit as its files describe it.
#[derive(Debug, Default)]
pub(crate) struct Unit {
    /// Every setting of the variable, in the order in which systemd applies them; the last counts.
    pub settings: Vec<UnitSetting>,
    /// Its files with a line `Environment=` that drops what those before it set.
    pub resets: Vec<String>,
    /// The file that begins it.
    pub fragment: Option<String>,
    /// Files named by `EnvironmentFile=`, the strongest last.
    pub files: Vec<String>,
    /// `PAMName=`
    pub pam: Option<String>,
    /// `ExecStart=`, of the last file that has one.
    pub exec: Option<Exec>,
    /// The script of which a generator of systemd made the unit: /etc/init.d/NAME.
    pub source: Option<String>,
    /// Lines that look as if they set the variable and that systemd does not read, each with the reason.
    pub dropped: Vec<(String, u32, &'static str)>,
    /// Whether systemd was asked.
    pub asked: bool,
    /// Whether a file was changed since systemd read it.
    pub stale: bool,
    /// What could not be read.
    pub unread: Vec<String>,
}

/// The command line of a unit, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exec {
    pub file: String,
    pub line: u32,
    pub words: String,
}

/// A setting of the variable in one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnitSetting {
    pub file: String,
    pub line: u32,
    pub kind: SettingKind,
    /// `None` where it is removed, or passed on with an unknown value.
    pub value: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SettingKind {
    /// systemd gives it to all its units.
    Manager,
    Default,
    Pass,
    Environment,
    File,
    Unset,
}

/// Reads the unit `name` and its settings of `variable`. `user`: the one whose systemd runs it.
pub(crate) fn read(root: &Root, name: &str, variable: &str, user: Option<&User>) -> Unit {
    let manager = user.map_or(Manager::System, |user| Manager::User(user.uid));
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, "service"));
    let loaded = manager.unit(root, name);
    let mut unit = Unit { asked: loaded.is_some(), ..Unit::default() };
    let files = match &loaded {
        Some(loaded) => {
            unit.fragment = Some(loaded.fragment.clone());
            unit.source.clone_from(&loaded.source);
            unit.stale = loaded.stale;
            std::iter::once(loaded.fragment.clone()).chain(loaded.drop_ins.clone()).collect()
        }
        None => search(root, stem, kind, user, &mut unit),
    };
    if user.is_none() {
        defaults(root, variable, &mut unit);
    }
    given_to_all(manager, root, variable, &mut unit);
    let mut said = ServiceSays::default();
    for file in files {
        let text = match root.read(&file) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(_) if is_masked(root, &file) => continue,
            Err(error) => {
                unit.unread.push(format!("{file}: {error}"));
                continue;
            }
        };
        said.read(&file, &text, variable, &mut unit);
    }
    // What it says of a line that has specifiers in it (`%I`) is what a process gets.
    let expanded =
        loaded.iter().filter(|loaded| !loaded.stale).flat_map(|loaded| &loaded.environment);
    let mut expanded = expanded.filter_map(|pair| pair.strip_prefix(variable)?.strip_prefix('='));
    if let (Some(last), Some(value)) = (said.set.last_mut(), expanded.next_back()) {
        last.value = Some(value.to_owned());
    }
    unit.settings.extend(said.passed.into_iter().chain(said.set));
    let env_files: Vec<String> = match loaded {
        Some(LoadedUnit { env_files, .. }) => env_files,
        None => said.env_files.iter().map(|path| specified(path, stem, kind)).collect(),
    };
    for path in env_files.into_iter().flat_map(|path| matching(root, path)) {
        read_env_file(root, &path, variable, &mut unit);
    }
    // `UnsetEnvironment=TZ=UTC` removes that value only.
    let last = unit.settings.last().and_then(|setting| setting.value.clone());
    let holds = said.unset.into_iter().filter(|(only, _)| only.is_none() || *only == last);
    unit.settings.extend(holds.map(|(_, setting)| setting).collect::<Vec<_>>());
    unit
}

/// The names of the services of the system of which there are files: templates too, other names of a service not.
pub(crate) fn service_names(root: &Root) -> BTreeSet<String> {
    let all = SYSTEM.iter().flat_map(|dir| {
        let names = root.list(dir).unwrap_or_default().into_iter().map(|(name, _)| name);
        names.map(move |name| (format!("{dir}/{name}"), name))
    });
    let services = all.filter(|(path, name)| {
        let other = |to: String| to.rsplit('/').next() != Some(name.as_str());
        name.ends_with(".service") && !root.read_link(path).is_ok_and(other)
    });
    services.map(|(_, name)| name).collect()
}

/// The unit `name` of the system as its files describe it, without its settings of variables: systemd is not asked. Of a
/// template each instance counts: `*` in names of files stands for it.
pub(crate) fn described(root: &Root, name: &str) -> Unit {
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, "service"));
    let (mut unit, mut said) = (Unit::default(), ServiceSays::default());
    for file in search(root, stem, kind, None, &mut unit) {
        if let Ok(text) = root.read(&file) {
            said.read(&file, &String::from_utf8_lossy(&text), "", &mut unit);
        }
    }
    let any = if stem.ends_with('@') { format!("{stem}*") } else { stem.to_owned() };
    unit.files = said.env_files.iter().map(|path| specified(path, &any, kind)).collect();
    unit
}

/// What the files of a unit say so far: a later one may take it back.
#[derive(Default)]
struct ServiceSays {
    passed: Vec<UnitSetting>,
    set: Vec<UnitSetting>,
    /// Each with the only value that it removes, if it names one.
    unset: Vec<(Option<String>, UnitSetting)>,
    env_files: Vec<String>,
}

impl ServiceSays {
    /// Reads one file of the unit.
    fn read(&mut self, file: &str, text: &str, variable: &str, unit: &mut Unit) {
        for (at, said) in directives(text, "Service", "Environment") {
            let line = at as u32 + 1;
            let setting = |kind, value| UnitSetting { file: file.to_owned(), line, kind, value };
            match said {
                UnitDirective::Limit(value) if variable == LIMIT => {
                    self.set.retain(|_| !value.is_empty());
                    let value = Some(value).filter(|value| !value.is_empty());
                    self.set
                        .extend(value.map(|value| setting(SettingKind::Environment, Some(value))));
                }
                UnitDirective::Reset if variable != LIMIT => {
                    self.set.clear();
                    unit.resets.push(file.to_owned());
                }
                UnitDirective::Set(name, value, _) if name == variable => {
                    self.set.push(setting(SettingKind::Environment, Some(value)));
                }
                UnitDirective::ResetPass => self.passed.clear(),
                UnitDirective::Pass(name) if name == variable => {
                    self.passed.push(setting(SettingKind::Pass, None))
                }
                UnitDirective::ResetUnset => self.unset.clear(),
                UnitDirective::Unset(name, only) if name == variable => {
                    self.unset.push((only, setting(SettingKind::Unset, None)));
                }
                UnitDirective::ResetFiles => self.env_files.clear(),
                UnitDirective::File(path, _) => self.env_files.push(path),
                UnitDirective::Pam(service) => unit.pam = Some(service),
                UnitDirective::Exec(words) => {
                    unit.exec = Some(Exec { file: file.to_owned(), line, words })
                }
                _ => {}
            }
        }
    }
}

/// The fragment and the drop-ins of a unit, where systemd cannot be asked.
fn search(
    root: &Root,
    stem: &str,
    kind: &str,
    user: Option<&User>,
    unit: &mut Unit,
) -> Vec<String> {
    let dirs: Vec<String> = match user {
        None => SYSTEM.iter().map(|dir| (*dir).to_owned()).collect(),
        Some(user) => std::iter::once(format!("{}/.config/systemd/user", user.home))
            .chain(USER.iter().map(|dir| dir.replace('~', &user.home)))
            .collect(),
    };
    let template = stem.split_once('@').map(|(before, _)| format!("{before}@.{kind}"));
    let names = [Some(format!("{stem}.{kind}")), template.clone()];
    unit.fragment = names.iter().flatten().find_map(|name| {
        dirs.iter().map(|dir| format!("{dir}/{name}")).find(|file| root.read(file).is_ok())
    });
    let mut files: Vec<String> = unit.fragment.iter().cloned().collect();
    files.extend(drop_ins(root, &dirs, stem, kind, template.as_deref()));
    files
}

/// What systemd gives to all its units and what `DefaultEnvironment=` does not explain: variables of its generators, and
/// those of `systemctl set-environment`.
fn given_to_all(manager: Manager, root: &Root, variable: &str, unit: &mut Unit) {
    let Some(Some(value)) = manager.gives_all(root, variable) else { return };
    if unit.effective().is_some_and(|setting| setting.value.as_ref() == Some(&value)) {
        return;
    }
    let mut from = manager.generators(root, variable);
    if from.is_empty() {
        let user = if manager == Manager::System { "" } else { " --user" };
        from.push((format!("systemctl{user} show-environment"), 0));
    }
    let setting = |(file, line)| UnitSetting {
        file,
        line,
        kind: SettingKind::Manager,
        value: Some(value.clone()),
    };
    unit.settings.extend(from.into_iter().map(setting));
}

/// The files of a path whose last part may be a pattern (glob(7)), in order.
fn matching(root: &Root, path: String) -> Vec<String> {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", &path));
    if !name.contains(['*', '?']) || path.contains('[') || dir.contains(['*', '?']) {
        return vec![path];
    }
    let mut names: Vec<String> =
        root.list(dir).unwrap_or_default().into_iter().map(|(n, _)| n).collect();
    names.retain(|one| !one.starts_with('.') && accepts(name, one));
    names.into_iter().map(|one| format!("{dir}/{one}")).collect()
}

fn read_env_file(root: &Root, path: &str, variable: &str, unit: &mut Unit) {
    if path.contains(['*', '?', '[', '%']) {
        unit.unread.push(format!("EnvironmentFile={path}: a pattern or specifier, not expanded"));
        return;
    }
    unit.files.push(path.to_owned());
    match root.read(path) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            let found = environment_file::find(&text, variable, None).into_iter();
            unit.settings.extend(found.map(|found| UnitSetting {
                file: path.to_owned(),
                line: found.line,
                kind: SettingKind::File,
                value: found.value,
            }));
            let dropped = environment_file::dropped(&text, variable).into_iter();
            let why = "systemd drops a line that begins with `export` in an EnvironmentFile";
            unit.dropped.extend(dropped.map(|line| (path.to_owned(), line, why)));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => unit.unread.push(format!("{path}: {error}")),
    }
}

/// Expands the specifiers of a unit's name (systemd.unit(5)); the others stay, since only systemd knows them.
fn specified(path: &str, stem: &str, kind: &str) -> String {
    let (prefix, instance) = stem.split_once('@').unwrap_or((stem, ""));
    let name = format!("{stem}.{kind}");
    let known = [("%i", instance), ("%p", prefix), ("%N", stem), ("%n", &name)];
    known.iter().fold(path.to_owned(), |path, (specifier, text)| path.replace(specifier, text))
}

/// `DefaultEnvironment=` of the manager.
fn defaults(root: &Root, variable: &str, unit: &mut Unit) {
    let dirs = ["/etc/systemd", "/run/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"];
    let main = dirs.iter().map(|dir| format!("{dir}/system.conf"));
    let mut files: Vec<String> = main.filter(|file| root.read(file).is_ok()).take(1).collect();
    files.extend(by_name(root, dirs.iter().map(|dir| format!("{dir}/system.conf.d")).collect()));
    for file in files {
        let Ok(text) = root.read(&file) else { continue };
        let text = String::from_utf8_lossy(&text);
        for (at, said) in directives(&text, "Manager", "DefaultEnvironment") {
            match said {
                UnitDirective::Reset => {
                    unit.settings.retain(|setting| setting.kind != SettingKind::Default)
                }
                UnitDirective::Set(name, value, _) if name == variable => {
                    unit.settings.push(UnitSetting {
                        file: file.clone(),
                        line: at as u32 + 1,
                        kind: SettingKind::Default,
                        value: Some(value),
                    })
                }
                _ => {}
            }
        }
    }
}

/// Drop-ins, sorted by file name, whatever directory they are in: of two with one name the one in /etc counts, and in
/// one directory the one that is more specific to this unit.
fn drop_ins(
    root: &Root,
    dirs: &[String],
    stem: &str,
    kind: &str,
    template: Option<&str>,
) -> Vec<String> {
    let mut names = vec![format!("{stem}.{kind}.d")];
    names.extend(template.map(|template| format!("{template}.d")));
    // "a-b-c.service": also "a-b-.service.d" and "a-.service.d".
    let dashes = stem.match_indices('-').map(|(at, _)| at).collect::<Vec<_>>();
    names.extend(dashes.iter().rev().map(|at| format!("{}.{kind}.d", &stem[..=*at])));
    names.push(format!("{kind}.d"));
    let all = dirs.iter().flat_map(|dir| names.iter().map(move |name| format!("{dir}/{name}")));
    by_name(root, all.collect())
}

/// The `.conf` files of directories, each name once, sorted by name; masked ones left out.
fn by_name(root: &Root, dirs: Vec<String>) -> Vec<String> {
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    for dir in dirs {
        for (name, _) in root.list(&dir).unwrap_or_default() {
            if name.ends_with(".conf") && !name.starts_with('.') {
                let file = format!("{dir}/{name}");
                found.entry(name).or_insert(file);
            }
        }
    }
    found.into_values().filter(|file| !is_masked(root, file)).collect()
}

fn is_masked(root: &Root, file: &str) -> bool {
    root.read_link(file).is_ok_and(|to| to == "/dev/null")
}

impl Unit {
    /// Whether it was made by a command (systemd-run(1)) and ends with its process: a drop-in of it would be of no use.
    pub(crate) fn is_transient(&self) -> bool {
        self.fragment.as_ref().is_some_and(|file| file.contains("/systemd/transient/"))
    }

    /// The setting that counts.
    pub(crate) fn effective(&self) -> Option<&UnitSetting> {
        self.settings.last()
    }
}
