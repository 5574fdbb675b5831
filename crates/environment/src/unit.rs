//! The variables that systemd gives a unit, from its files: systemd.unit(5), systemd.exec(5).

use crate::format::environment_file;
use crate::format::systemd::{UnitDirective, directives};
use needless_host::Root;
use std::collections::BTreeMap;

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
    /// The file that begins it.
    pub fragment: Option<String>,
    /// Files named by `EnvironmentFile=`, the strongest last.
    pub files: Vec<String>,
    /// `PAMName=`
    pub pam: Option<String>,
    /// `ExecStart=`, of the last file that has one.
    pub exec: Option<String>,
    /// What could not be read.
    pub unread: Vec<String>,
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
    Default,
    Pass,
    Environment,
    File,
    Unset,
}

/// Reads the unit `name` and its settings of `variable`. `home`: of the user whose manager runs it.
pub(crate) fn read(root: &Root, name: &str, variable: &str, home: Option<&str>) -> Unit {
    let dirs: Vec<String> = match home {
        None => SYSTEM.iter().map(|dir| (*dir).to_owned()).collect(),
        Some(home) => std::iter::once(format!("{home}/.config/systemd/user"))
            .chain(USER.iter().map(|dir| dir.replace('~', home)))
            .collect(),
    };
    let mut unit = Unit::default();
    let (stem, kind) = name.rsplit_once('.').unwrap_or((name, "service"));
    let template = stem.split_once('@').map(|(before, _)| format!("{before}@.{kind}"));
    let names = [Some(name.to_owned()), template.clone()];
    let fragment = names.iter().flatten().find_map(|name| {
        dirs.iter().map(|dir| format!("{dir}/{name}")).find(|file| root.read(file).is_ok())
    });
    let mut files: Vec<String> = fragment.iter().cloned().collect();
    files.extend(drop_ins(root, &dirs, stem, kind, template.as_deref()));
    unit.fragment = fragment;
    if home.is_none() {
        defaults(root, variable, &mut unit);
    }
    let (mut passed, mut set, mut unset) = (Vec::new(), Vec::new(), Vec::new());
    let mut env_files: Vec<(String, u32)> = Vec::new();
    for file in files {
        let text = match root.read(&file) {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(error) => {
                unit.unread.push(format!("{file}: {error}"));
                continue;
            }
        };
        for (at, said) in directives(&text, "Service", "Environment") {
            let line = at as u32 + 1;
            let setting = |kind, value| UnitSetting { file: file.clone(), line, kind, value };
            match said {
                UnitDirective::Reset => set.clear(),
                UnitDirective::Set(name, value, _) if name == variable => {
                    set.push(setting(SettingKind::Environment, Some(value)));
                }
                UnitDirective::ResetPass => passed.clear(),
                UnitDirective::Pass(name) if name == variable => {
                    passed.push(setting(SettingKind::Pass, None))
                }
                UnitDirective::ResetUnset => unset.clear(),
                UnitDirective::Unset(name, only) if name == variable => {
                    unset.push((only, setting(SettingKind::Unset, None)));
                }
                UnitDirective::ResetFiles => env_files.clear(),
                UnitDirective::File(path, _) => env_files.push((path, line)),
                UnitDirective::Pam(service) => unit.pam = Some(service),
                UnitDirective::Exec(words) => unit.exec = Some(words),
                _ => {}
            }
        }
    }
    unit.settings.extend(passed);
    unit.settings.extend(set);
    for (path, _) in env_files {
        read_env_file(root, &specified(&path, stem, kind), variable, &mut unit);
    }
    // `UnsetEnvironment=TZ=UTC` removes that value only.
    let last = unit.settings.last().and_then(|setting| setting.value.clone());
    let holds = unset.into_iter().filter(|(only, _)| only.is_none() || *only == last);
    unit.settings.extend(holds.map(|(_, setting)| setting).collect::<Vec<_>>());
    unit
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
    let masked = |file: &String| root.read_link(file).is_ok_and(|to| to == "/dev/null");
    found.into_values().filter(|file| !masked(file)).collect()
}

impl Unit {
    /// The setting that counts.
    pub(crate) fn effective(&self) -> Option<&UnitSetting> {
        self.settings.last()
    }
}
