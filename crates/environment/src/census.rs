//! The services of a machine and scripts of others, with the files that each of them reads and starts.

use crate::activation::Activation;
use crate::manager::{LoadedService, Manager};
use crate::places::shell::{self, ShellCommand};
use crate::readers::{Reader, Readers, Way};
use crate::running::{systemd_runs, template_of_connections};
use crate::sources::user_name;
use crate::sshd_config::accepts;
use crate::start_path::StartPath;
use crate::unit;
use needless_host::Root;
use std::collections::BTreeSet;

/// Where distributions have scripts that no unit starts and that source files of variables.
const SCRIPTS: [&str; 6] = [
    "/etc/init.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/etc/profile.d",
];

/// The services of a machine, with the files that each reads and starts, and scripts of others.
#[derive(Debug, Default)]
pub(crate) struct Census {
    services: Vec<Service>,
    /// Other scripts, with the files that each sources.
    scripts: Vec<(String, Vec<String>)>,
}

#[derive(Clone, Debug, Default)]
struct Service {
    name: String,
    /// Of whose systemd; `None`: the system's.
    user: Option<u32>,
    active: bool,
    /// What is known of `EnvironmentFile=`: paths, whose parts may be patterns.
    env_files: Vec<String>,
    /// What its command line runs.
    starts: Vec<String>,
    /// What these read, and whether a shell does.
    reads: Vec<(String, bool)>,
}

impl Service {
    /// From its files. Scripts are followed for no variable: which files they read does not depend on it.
    fn described(root: &Root, name: &str) -> Service {
        let unit = unit::described(root, name);
        let way = StartPath::of_unit(root, "", &unit);
        let name = name.to_owned();
        Service {
            name,
            env_files: unit.files,
            starts: way.programs,
            reads: way.reads,
            ..Service::default()
        }
    }

    /// With what systemd says of it.
    fn loaded(self, loaded: LoadedService, user: Option<u32>) -> Service {
        let LoadedService { name, active, env_files } = loaded;
        Service { name, active, env_files, user, ..self }
    }

    /// How it reads the file, or starts it.
    fn way(&self, file: &str) -> Option<Way> {
        let reads =
            |by_shell| self.reads.iter().any(|(one, shell)| *shell == by_shell && is(one, file));
        if self.env_files.iter().any(|one| is(one, file)) {
            return Some(Way::Systemd);
        }
        let started = || self.starts.iter().any(|one| is(one, file));
        let other =
            [(reads(true), Way::Shell), (reads(false), Way::Engine), (started(), Way::Started)];
        other.into_iter().find_map(|(does, way)| does.then_some(way))
    }

    fn reader(&self, way: Way) -> Reader {
        let me = rustix::process::geteuid().as_raw();
        let unit = self.name.clone();
        let restart = match self.user {
            // What a connection started ends with it.
            _ if unit.contains("@.") || template_of_connections(&unit).is_some() => None,
            Some(uid) if uid != me => None,
            user => Some((Activation::Restart { unit, user: user.is_some() }, self.active)),
        };
        let user = self.user.and_then(|uid| user_name(&Root::own().ok()?, uid));
        let name = match (self.user, user) {
            (None, _) => self.name.clone(),
            (Some(uid), None) => format!("{} of user {uid}", self.name),
            (Some(_), Some(user)) => format!("{} of user {user}", self.name),
        };
        Reader { name, way, restart }
    }
}

/// Whether a path, with patterns in its parts as in glob(7), is that of the file.
fn is(pattern: &str, file: &str) -> bool {
    if !pattern.contains(['*', '?', '[']) {
        let real = || std::fs::canonicalize(pattern).ok().filter(|_| pattern.starts_with('/'));
        return pattern == file || real().is_some_and(|real| real.to_str() == Some(file));
    }
    let (these, those) = (pattern.split('/'), file.split('/'));
    let mut pairs = these.clone().zip(those.clone());
    these.count() == those.count()
        && pairs.all(|(one, name)| {
            // A set of characters counts for any one.
            let begin = one.split('[').next().unwrap_or_default();
            let hidden = name.starts_with('.') && !one.starts_with('.');
            !hidden
                && (accepts(one, name)
                    || one.contains('[') && name.starts_with(begin.trim_end_matches(['*', '?'])))
        })
}

impl Census {
    /// Of the machine that we see. Nobody where its files cannot be read.
    pub(crate) fn of_this_machine() -> Census {
        Root::own().map(|root| Census::of(&root)).unwrap_or_default()
    }

    fn of(root: &Root) -> Census {
        let names = unit::service_names(root);
        let described: Vec<Service> =
            names.iter().map(|name| Service::described(root, name)).collect();
        let mut services: Vec<Service> = Vec::new();
        for loaded in Manager::System.services(root) {
            let named = |name: &str| described.iter().find(|one| one.name == name);
            let own = named(&loaded.name).or_else(|| named(&template(&loaded.name)?));
            services.push(own.cloned().unwrap_or_default().loaded(loaded, None));
        }
        // One of which instances are known is read through these.
        let known: BTreeSet<String> = services
            .iter()
            .flat_map(|one| [Some(one.name.clone()), template(&one.name)])
            .flatten()
            .collect();
        services.extend(described.into_iter().filter(|one| !known.contains(&one.name)));
        for manager in Manager::of_users() {
            let Manager::User(uid) = manager else { continue };
            let all = manager.services(root).into_iter();
            services.extend(all.map(|loaded| Service::default().loaded(loaded, Some(uid))));
        }
        services.sort_by(|a, b| (a.user, &a.name).cmp(&(b.user, &b.name)));
        Census { services, scripts: scripts(root, &names) }
    }

    /// Who reads the file, or starts it.
    pub(crate) fn readers(&self, file: &str) -> Readers {
        let services = self.services.iter();
        let mut all: Vec<Reader> =
            services.filter_map(|one| Some(one.reader(one.way(file)?))).collect();
        let sourcing =
            self.scripts.iter().filter(|(_, files)| files.iter().any(|one| is(one, file)));
        all.extend(sourcing.map(|(script, _)| Reader {
            name: script.clone(),
            way: Way::Shell,
            restart: None,
        }));
        Readers(all)
    }

    /// The services of the system whose names begin so; of a template those of which systemd knows.
    pub(crate) fn beginning(&self, with: &str) -> Readers {
        let all =
            self.services.iter().filter(|one| one.user.is_none() && one.name.starts_with(with));
        Readers(
            all.map(|one| one.reader(Way::Systemd))
                .filter(|one| !one.name.contains("@."))
                .collect(),
        )
    }
}

/// The template of an instance.
fn template(name: &str) -> Option<String> {
    let (prefix, rest) = name.split_once('@')?;
    let kind = rest.rsplit_once('.')?.1;
    (!rest.starts_with('.')).then(|| format!("{prefix}@.{kind}"))
}

/// Scripts that no service is known to start, and what they source. systemd starts no init script for which there is a
/// service of that name.
fn scripts(root: &Root, services: &BTreeSet<String>) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for dir in SCRIPTS {
        for (name, _) in root.list(dir).unwrap_or_default() {
            let path = format!("{dir}/{name}");
            let replaced = || services.contains(&format!("{name}.service")) && systemd_runs();
            if dir == SCRIPTS[0] && replaced() {
                continue;
            }
            let Ok(text) = root.read(&path) else { continue };
            let commands =
                shell::commands_of(&String::from_utf8_lossy(&text), "", None).into_iter();
            let sourced = commands.filter_map(|(_, command)| match command {
                ShellCommand::Source(file) => Some(file),
                _ => None,
            });
            found.push((path, sourced.collect()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_those_of_files() {
        for (pattern, file, fits) in [
            ("/etc/x/*.env", "/etc/x/a.env", true),
            ("/etc/x/*.env", "/etc/x/.a.env", false),
            ("/etc/x/*.env", "/etc/x/y/a.env", false),
            ("/etc/*/a.env", "/etc/x/a.env", true),
            ("/etc/x/[ab].env", "/etc/x/a.env", true),
            ("/etc/x/*[ab].env", "/etc/x/za.env", true),
            ("/etc/x/[ab].env", "/etc/y/a.env", false),
            ("/nowhere/a", "/nowhere/a", true),
            ("a", "/nowhere/a", false),
        ] {
            assert_eq!(is(pattern, file), fits, "{pattern} {file}");
        }
        assert_eq!(template("web@a.b.service").as_deref(), Some("web@.service"));
        assert_eq!((template("web@.service"), template("web.service")), (None, None));
    }
}
