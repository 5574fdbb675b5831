//! What systemd itself says of a unit and of the variables that it gives to all of them. It knows more than the files
//! that are named after the unit: other names of it, generators, `systemctl set-environment`.

use crate::places::systemd::words;
use crate::running::{run_as, systemd_runs};
use needless_host::Root;

/// Where generators of variables are (systemd.environment-generator(7)), the first directory that has a name counts.
const GENERATORS: [&str; 4] =
    ["/run/systemd", "/etc/systemd", "/usr/local/lib/systemd", "/usr/lib/systemd"];

/// Which systemd is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manager {
    System,
    /// The systemd of this user.
    User(u32),
}

/// A unit as systemd has loaded it.
#[derive(Debug, Default)]
pub(crate) struct LoadedUnit {
    /// The file that begins it.
    pub fragment: String,
    /// Its drop-ins, in the order in which they are applied.
    pub drop_ins: Vec<String>,
    /// The files of `EnvironmentFile=`, specifiers expanded, patterns not.
    pub env_files: Vec<String>,
    /// `Environment=` of all of them, as `NAME=VALUE`, specifiers expanded.
    pub environment: Vec<String>,
    /// The script of which a generator made the unit.
    pub source: Option<String>,
    /// Whether a file was changed since systemd read it.
    pub stale: bool,
}

/// A service that systemd has loaded.
#[derive(Debug)]
pub(crate) struct LoadedService {
    pub name: String,
    /// Whether it runs, or is on its way.
    pub active: bool,
    /// The files of `EnvironmentFile=`, specifiers expanded, patterns not.
    pub env_files: Vec<String>,
}

impl Manager {
    fn systemctl(self, words: &[&str]) -> Option<String> {
        let (whose, uid) = match self {
            Manager::System => ("--system", rustix::process::geteuid().as_raw()),
            Manager::User(uid) => ("--user", uid),
        };
        let me = rustix::process::geteuid();
        // Only root may ask another user's.
        if !me.is_root() && me.as_raw() != uid {
            return None;
        }
        run_as(&[&["systemctl", whose], words].concat(), uid).ok()
    }

    /// The unit `name`; `None` where systemd cannot be asked about what `root` has, or does not know the unit.
    pub(crate) fn unit(self, root: &Root, name: &str) -> Option<LoadedUnit> {
        if !root.is_ours() || !systemd_runs() {
            return None;
        }
        let fields =
            "FragmentPath,DropInPaths,Environment,EnvironmentFiles,SourcePath,NeedDaemonReload";
        let unit = loaded(&self.systemctl(&["show", "-p", fields, "--", name])?);
        (!unit.fragment.is_empty()).then_some(unit)
    }

    /// The value of `variable` among those that systemd gives to all its units: `Some(None)` where there is none,
    /// `None` where it cannot be asked.
    pub(crate) fn gives_all(self, root: &Root, variable: &str) -> Option<Option<String>> {
        if !root.is_ours() || !systemd_runs() {
            return None;
        }
        let all = self.systemctl(&["show-environment"])?;
        let of = |line: &str| line.strip_prefix(variable)?.strip_prefix('=').map(unquoted);
        Some(all.lines().find_map(of))
    }

    /// The services that it has loaded: all that run, and others that some unit names.
    pub(crate) fn services(self, root: &Root) -> Vec<LoadedService> {
        if !root.is_ours() || !systemd_runs() {
            return Vec::new();
        }
        let fields = "Id,LoadState,ActiveState,EnvironmentFiles";
        let all = self.systemctl(&["show", "-p", fields, "*.service"]).unwrap_or_default();
        all.split("\n\n").filter_map(service).collect()
    }

    /// The systemd of each user that has one now, as far as the caller may ask it.
    pub(crate) fn of_users() -> Vec<Manager> {
        let me = rustix::process::geteuid();
        let all = std::fs::read_dir("/run/user").into_iter().flatten().flatten();
        let uids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let ours = uids.filter(|uid| me.is_root() || *uid == me.as_raw());
        ours.map(Manager::User).collect()
    }

    /// The generators of its variables whose text has `name` in it, with the line, from 1; programs that are not text
    /// with the line 0.
    pub(crate) fn generators(self, root: &Root, name: &str) -> Vec<(String, u32)> {
        let kind = match self {
            Manager::System => "system-environment-generators",
            Manager::User(_) => "user-environment-generators",
        };
        let mut found = Vec::new();
        for dir in GENERATORS.map(|dir| format!("{dir}/{kind}")) {
            for (file, _) in root.list(&dir).unwrap_or_default() {
                let path = format!("{dir}/{file}");
                let Ok(text) = root.read(&path) else { continue };
                let text = String::from_utf8_lossy(&text);
                let at = text.lines().position(|line| line.contains(&format!("{name}=")));
                if text.starts_with("#!") {
                    found.extend(at.map(|at| (path, u32::try_from(at + 1).unwrap_or(u32::MAX))));
                }
            }
        }
        found
    }
}

/// The answer of `systemctl show`.
fn loaded(text: &str) -> LoadedUnit {
    let mut unit = LoadedUnit::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once('=')) {
        match key {
            "FragmentPath" => unit.fragment = value.to_owned(),
            "DropInPaths" => unit.drop_ins = value.split(' ').map(str::to_owned).collect(),
            "Environment" => unit.environment = words(value).unwrap_or_default(),
            "EnvironmentFiles" => {
                let path = value.rsplit_once(" (ignore_errors=").map_or(value, |(path, _)| path);
                unit.env_files.push(path.to_owned());
            }
            "SourcePath" => unit.source = Some(value.to_owned()),
            "NeedDaemonReload" => unit.stale = value == "yes",
            _ => {}
        }
    }
    unit.drop_ins.retain(|file| !file.is_empty());
    unit.env_files.retain(|file| !file.is_empty());
    unit.source = unit.source.filter(|file| !file.is_empty());
    unit
}

/// A service in the answer of `systemctl show`; `None` where systemd has no file of it.
fn service(block: &str) -> Option<LoadedService> {
    let of = |key: &str| block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let name = of("Id").filter(|_| of("LoadState") == Some("loaded"))?.to_owned();
    let active = !matches!(of("ActiveState"), Some("inactive" | "failed" | "deactivating"));
    Some(LoadedService { name, active, env_files: loaded(block).env_files })
}

/// A value as `systemctl show-environment` prints it: as it is, or `$'…'` with the escapes of a shell.
fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\'')) else {
        return value.to_owned();
    };
    let mut out = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(next)) => out.push(next),
            (c, _) => {
                out.push(c);
                continue;
            }
        }
        chars.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As systemd 252 prints them.
    #[test]
    fn answers_of_systemctl() {
        let text = "EnvironmentFiles=/etc/a b (ignore_errors=no)\nEnvironmentFiles=/etc/x/*.env (ignore_errors=yes)\n\
                    FragmentPath=/lib/systemd/system/ssh.service\nEnvironment=TZ=a%b \"C=d e\"\nSourcePath=\nNeedDaemonReload=no\n\
                    DropInPaths=/etc/systemd/system/sshd.service.d/x.conf /run/y.conf\n";
        let unit = loaded(text);
        assert_eq!(unit.env_files, ["/etc/a b", "/etc/x/*.env"]);
        assert_eq!(unit.environment, ["TZ=a%b", "C=d e"]);
        assert_eq!(unit.drop_ins, ["/etc/systemd/system/sshd.service.d/x.conf", "/run/y.conf"]);
        assert_eq!(
            (unit.fragment.as_str(), unit.source),
            ("/lib/systemd/system/ssh.service", None)
        );
        assert!(loaded("DropInPaths=\nFragmentPath=\n").drop_ins.is_empty());
        assert_eq!(unquoted("$'a b\\'c\\\\d'"), "a b'c\\d");
        assert_eq!(unquoted("Asia/Tokyo"), "Asia/Tokyo");
    }
}
