//! Where a change of a process's variable belongs, and how sure that is.

use crate::apache;
use crate::channel::{Channel, Launcher, Started};
use crate::config_format::{self, ConfigFormat};
use crate::format::{php_fpm, sudoers, supervisord};
use crate::pam::pam_spot;
use crate::run_script;
use crate::sources::{crontab_of, home, supervisor_files};
use crate::sshd::ssh_spots;
use crate::unit::{self, Kind};
use needless_host::{ProcInfo, Root};
use needless_model::{Confidence, Location};

/// A place for a change.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigLocation {
    /// What kind.
    pub place: &'static ConfigFormat,
    /// The file, where it is known.
    pub file: Option<String>,
    /// The part of the file.
    pub part: Option<String>,
    /// What it is called.
    pub called: String,
    /// Why there.
    pub why: String,
    /// How sure.
    pub confidence: Confidence,
    /// What must be run for the change to take effect; empty where that is not known.
    pub restart: Vec<String>,
    /// What else the change reaches, to be told with it.
    pub caveat: Option<String>,
    /// The user who may own the file although root changes it: the one the daemon runs as, where its
    /// configuration is that user's.
    pub owner: Option<u32>,
}

impl ConfigLocation {
    pub(crate) fn new(
        place: &'static ConfigFormat,
        file: impl Into<Option<String>>,
        why: impl Into<String>,
        confidence: Confidence,
    ) -> ConfigLocation {
        let file = file.into();
        let called = match &file {
            Some(file) => format!("{}, {file}", place.name),
            None => place.name.to_owned(),
        };
        let (part, restart, caveat, owner) = (None, Vec::new(), None, None);
        ConfigLocation {
            place,
            file,
            part,
            called,
            why: why.into(),
            confidence,
            restart,
            caveat,
            owner,
        }
    }

    pub(crate) fn restart(mut self, words: &[&str]) -> ConfigLocation {
        self.restart = words.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    fn part(mut self, part: impl Into<String>) -> ConfigLocation {
        self.part = Some(part.into());
        self
    }

    pub(crate) fn caveat(mut self, caveat: &str) -> ConfigLocation {
        self.caveat = Some(caveat.to_owned());
        self
    }

    pub(crate) fn told(&self) -> Location {
        Location {
            place: self.called.clone(),
            file: self.file.clone(),
            why: self.why.clone(),
            confidence: self.confidence,
        }
    }
}

const EVERY_SUDO: &str =
    "It reaches every command run by sudo whose caller has not set the variable.";

/// The places, best first.
pub(crate) fn spots(
    root: &Root,
    chain: &[ProcInfo],
    variable: &str,
    channel: &Channel,
) -> Vec<ConfigLocation> {
    use Confidence::{High, Low};
    let me = chain.last();
    match channel {
        Channel::Unit { name, how } => vec![unit_spot(root, name, *how, variable, me)],
        Channel::UserUnit { name, uid } => {
            user_unit_spot(root, me, name, *uid, variable).into_iter().collect()
        }
        Channel::Cron => vec![cron_spot(root, chain)],
        Channel::At => {
            let why =
                "at gives a job what its submitter had: submit it again with the variable set";
            vec![ConfigLocation {
                called: "the job".into(),
                ..ConfigLocation::new(&config_format::WRAPPER, None, why, Low)
            }]
        }
        Channel::Ssh { config } => ssh_spots(root, variable, config.as_deref()),
        Channel::Su { login } => {
            let service = if *login { "su-l" } else { "su" };
            vec![pam_spot(root, service, variable, &channel.says())]
        }
        Channel::Sudo { .. } => vec![sudo_spot(root)],
        Channel::Supervisord => vec![supervisord_spot(root, me)],
        Channel::RunScript { dir } => vec![run_script::spot(root, dir.as_deref(), variable)],
        Channel::PhpFpm { pool } => vec![php_fpm_spot(root, pool.as_deref().unwrap_or("www"))],
        Channel::Postgresql { version, cluster } => {
            let file = format!("/etc/postgresql/{version}/{cluster}/environment");
            let why = "pg_ctlcluster replaces the environment by this file: a drop-in of the unit has no effect";
            let unit = format!("postgresql@{version}-{cluster}.service");
            let confidence = if root.read(&file).is_ok() { High } else { Low };
            let spot = ConfigLocation::new(&config_format::POSTGRESQL, file, why, confidence);
            let owner = me.map(|me| me.uid);
            vec![ConfigLocation { owner, ..spot }.restart(&["systemctl", "restart", &unit])]
        }
        Channel::Apache { cgi } => vec![apache::spot(root, variable, *cgi)],
        Channel::OpenRc { service } => {
            let file = format!("/etc/conf.d/{service}");
            let why =
                format!("OpenRC starts {service} with what this file exports, and clears all else");
            let known = root.read(&format!("/etc/init.d/{service}")).is_ok();
            let confidence = if known { High } else { Low };
            vec![ConfigLocation::new(&config_format::DEFAULTS, file, why, confidence).restart(&[
                "rc-service",
                service,
                "restart",
            ])]
        }
        Channel::Container(what) => vec![ConfigLocation::new(
            &config_format::COMPOSE,
            None,
            format!(
                "{what} has the environment of its configuration: set it in the compose file, manifest or image (needless fix --in FILE) and make the container anew"
            ),
            Low,
        )],
        Channel::Program { name, pid } => {
            let why = format!(
                "it was started by {name}[{pid}]: set the variable there, or start it as `env {variable}=… COMMAND`"
            );
            vec![ConfigLocation::new(&config_format::WRAPPER, None, why, Low)]
        }
        Channel::Orphan => vec![init_script_spot(root, me).unwrap_or_else(|| {
            let why = "who started it has ended: change what starts it (needless fix --in FILE)";
            ConfigLocation::new(&config_format::WRAPPER, None, why, Low)
        })],
    }
}

fn unit_spot(
    root: &Root,
    name: &str,
    how: Started,
    variable: &str,
    me: Option<&ProcInfo>,
) -> ConfigLocation {
    use Confidence::{High, Low, Medium};
    let unit = unit::read(root, name, variable, None);
    let restart = ["systemctl", "restart", name];
    let (confidence, why) = match how {
        Started::Directly => (High, format!("systemd itself starts it, as {name}")),
        Started::ByAnother => (
            Medium,
            format!(
                "it belongs to {name}, but something in that unit started it, which may not hand the variable on"
            ),
        ),
        Started::Unknown => {
            (Medium, format!("it belongs to {name}; how it was started could not be read"))
        }
        Started::Rebuilt => (
            Low,
            format!(
                "it belongs to {name}, but its environment does not come from systemd: something rebuilt it"
            ),
        ),
    };
    if let Some(holds) = unit.holds() {
        if holds.kind == Kind::File {
            // What reaches the process is as doubtful as what the unit itself sets.
            let why = match confidence {
                High => format!(
                    "{name} reads it (EnvironmentFile=), and it is stronger than Environment="
                ),
                _ => why,
            };
            return ConfigLocation::new(
                &config_format::ENVIRONMENT_FILE,
                holds.file.clone(),
                why,
                confidence,
            )
            .restart(&restart)
            .caveat("It reaches every unit that names that file.");
        }
        if holds.kind == Kind::Unset && !holds.file.ends_with("/zz-needless.conf") {
            let why = format!(
                "{}:{} removes it (UnsetEnvironment=), whatever is set: change it there",
                holds.file, holds.line
            );
            return ConfigLocation::new(&config_format::SYSTEMD_UNIT, None, why, Low);
        }
    }
    let file = format!("/etc/systemd/system/{name}.d/zz-needless.conf");
    let spot =
        ConfigLocation::new(&config_format::SYSTEMD_UNIT, file, why, confidence).restart(&restart);
    let started_with = me.and_then(|me| me.initial.text());
    let of_its_files = |value| unit.settings.iter().any(|s| s.value.as_deref() == Some(value));
    match started_with.is_some_and(|value| !of_its_files(value)) {
        true => spot.caveat(
            "It was started with a value that none of its files says: if its command sets it, that is stronger.",
        ),
        false => spot,
    }
}

fn user_unit_spot(
    root: &Root,
    me: Option<&ProcInfo>,
    name: &str,
    uid: u32,
    variable: &str,
) -> Option<ConfigLocation> {
    use Confidence::{High, Low, Medium};
    let home = home(root, uid)?;
    let unit = unit::read(root, name, variable, Some(&home));
    let restart = ["systemctl", "--user", "restart", name];
    let direct =
        me.is_some_and(|me| me.marks.get("SYSTEMD_EXEC_PID") == Some(&me.own_pid.to_string()));
    let (confidence, why) = match direct {
        true => (High, format!("the user's systemd starts {name}")),
        false => (Medium, format!("it belongs to {name}, but something in that unit started it")),
    };
    match unit.holds() {
        Some(holds) if holds.kind == Kind::File => {
            let why =
                format!("{name} reads it (EnvironmentFile=), and it is stronger than Environment=");
            let file = holds.file.clone();
            let spot = ConfigLocation::new(&config_format::ENVIRONMENT_FILE, file, why, confidence);
            return Some(spot.restart(&restart));
        }
        Some(holds) if holds.kind == Kind::Unset && !holds.file.ends_with("/zz-needless.conf") => {
            let why = format!(
                "{}:{} removes it (UnsetEnvironment=), whatever is set: change it there",
                holds.file, holds.line
            );
            return Some(ConfigLocation::new(&config_format::USER_UNIT, None, why, Low));
        }
        _ => {}
    }
    let file = format!("{home}/.config/systemd/user/{name}.d/zz-needless.conf");
    Some(ConfigLocation::new(&config_format::USER_UNIT, file, why, confidence).restart(&restart))
}

fn cron_spot(root: &Root, chain: &[ProcInfo]) -> ConfigLocation {
    // cron's child is a shell, `/bin/sh -c COMMAND`, unless that has become the command: then its
    // words tell, for a script without the interpreter.
    let below = chain.iter().rev().take_while(|kin| Launcher::of(kin) != Some(Launcher::Cron));
    let commands = below.flat_map(|kin| match &kin.argv[..] {
        [_, flag, command] if flag == "-c" => vec![command.clone()],
        [_] => vec![kin.argv.join(" ")],
        [_, rest @ ..] => vec![kin.argv.join(" "), rest.join(" ")],
        [] => Vec::new(),
    });
    let mut tables = commands.filter_map(|command| crontab_of(root, &command));
    match tables.next() {
        Some((file, _)) => {
            let why = "cron gives a job what its table says, and nothing of its own unit";
            ConfigLocation::new(&config_format::CRONTAB, file, why, Confidence::High)
                .caveat("It reaches every job of that table.")
        }
        None => ConfigLocation::new(
            &config_format::CRONTAB,
            None,
            "cron started it, but which table its job is in could not be told: needless fix --in TABLE",
            Confidence::Medium,
        ),
    }
}

fn sudo_spot(root: &Root) -> ConfigLocation {
    let mut files: Vec<String> = vec!["/etc/sudoers".into()];
    let below = root.list("/etc/sudoers.d").unwrap_or_default();
    files.extend(below.into_iter().map(|(name, _)| format!("/etc/sudoers.d/{name}")));
    let named = files.iter().rev().find_map(|file| {
        let text = root.read(file).ok()?;
        sudoers::says(&String::from_utf8_lossy(&text)).into_iter().rev().find_map(|(_, said)| {
            match said {
                sudoers::Says::File(path) => Some(path),
                _ => None,
            }
        })
    });
    let (file, why) = match named {
        Some(file) => {
            (file, "sudo resets the environment, and takes variables from this file (env_file)")
        }
        None => (
            SUDO_ENV.to_owned(),
            "sudo resets the environment; env_file gives it variables, which env_keep would not: that lets through only what the caller has",
        ),
    };
    ConfigLocation::new(&config_format::SUDO_ENV_FILE, file, why, Confidence::High)
        .caveat(EVERY_SUDO)
}

/// The env_file that we make where sudoers names none.
pub(crate) const SUDO_ENV: &str = "/etc/needless/sudo.env";
/// The drop-in that names it.
pub(crate) const SUDO_DROP_IN: &str = "/etc/sudoers.d/zz-needless";

fn supervisord_spot(root: &Root, me: Option<&ProcInfo>) -> ConfigLocation {
    let marks = me.map(|me| &me.marks);
    let group = marks.and_then(|marks| marks.get("SUPERVISOR_GROUP_NAME"));
    let name = group.or_else(|| marks.and_then(|marks| marks.get("SUPERVISOR_PROCESS_NAME")));
    let has = |file: &&String| {
        let Ok(text) = root.read(file) else { return false };
        let text = String::from_utf8_lossy(&text);
        name.is_some_and(|name| supervisord::programs(&text).contains(&name.as_str()))
    };
    match (name, supervisor_files(root).iter().find(has)) {
        (Some(name), Some(file)) => ConfigLocation::new(
            &config_format::SUPERVISORD,
            file.clone(),
            format!("supervisord starts it as its program {name}"),
            Confidence::High,
        )
        .part(name.clone())
        .restart(&["supervisorctl", "update"]),
        _ => ConfigLocation::new(
            &config_format::SUPERVISORD,
            None,
            "supervisord starts it, but which file describes it could not be told: needless fix --in FILE --part PROGRAM",
            Confidence::Medium,
        ),
    }
}

fn php_fpm_spot(root: &Root, pool: &str) -> ConfigLocation {
    for (version, _) in root.list("/etc/php").unwrap_or_default() {
        let dir = format!("/etc/php/{version}/fpm/pool.d");
        for (name, _) in root.list(&dir).unwrap_or_default() {
            let file = format!("{dir}/{name}");
            let Ok(text) = root.read(&file) else { continue };
            if php_fpm::pools(&String::from_utf8_lossy(&text)).contains(&pool) {
                let unit = format!("php{version}-fpm.service");
                return ConfigLocation::new(
                    &config_format::PHP_FPM,
                    file,
                    "php-fpm clears the environment of its workers (clear_env): only the pool's own lines reach them",
                    Confidence::High,
                )
                .part(pool)
                .restart(&["systemctl", "reload", &unit]);
            }
        }
    }
    let why =
        format!("the file of the pool {pool} was not found: needless fix --in FILE --part {pool}");
    ConfigLocation::new(&config_format::PHP_FPM, None, why, Confidence::Medium)
}

/// The init script whose daemon it is: it names the program, and a file that holds its pid.
fn init_script_spot(root: &Root, me: Option<&ProcInfo>) -> Option<ConfigLocation> {
    let me = me?;
    let exe = me.exe.as_deref()?;
    let mut fits = Vec::new();
    for (name, _) in root.list("/etc/init.d").unwrap_or_default() {
        let script = format!("/etc/init.d/{name}");
        let Ok(text) = root.read(&script) else { continue };
        let text = String::from_utf8_lossy(&text).into_owned();
        let pid_files = text.split(['"', '\'', '=', ' ', '\n', '\t']).filter(|word| {
            word.ends_with(".pid") && (word.starts_with("/run/") || word.starts_with("/var/run/"))
        });
        // $NAME is what such scripts mostly call themselves.
        let holds = |file: &str| {
            let file = file.replace("${NAME}", &name).replace("$NAME", &name);
            let pid = root.read(&file).ok().and_then(|t| String::from_utf8(t).ok());
            pid.is_some_and(|pid| pid.trim() == me.own_pid.to_string())
        };
        let holds = pid_files.into_iter().any(holds);
        if holds || text.contains(exe) {
            fits.push((name, text, holds));
        }
    }
    fits.sort_by_key(|(.., holds)| !holds);
    let (name, text, holds) = match &fits[..] {
        [one] => one,
        [first, second, ..] if first.2 && !second.2 => first,
        _ => return None,
    };
    let confidence = if *holds { Confidence::High } else { Confidence::Medium };
    for dir in ["/etc/default", "/etc/sysconfig", "/etc/conf.d"] {
        let file = format!("{dir}/{name}");
        let sourced = text.contains(&file) || text.contains(&format!("{dir}/$NAME"));
        if sourced {
            let why = format!(
                "/etc/init.d/{name} starts it and sources this file; what starts that (service, PID 1) clears all else"
            );
            return Some(
                ConfigLocation::new(&config_format::DEFAULTS, file, why, confidence)
                    .restart(&["service", name, "restart"]),
            );
        }
    }
    let why = format!(
        "/etc/init.d/{name} starts it and sources no file: add a line `export VAR=VALUE` there by hand"
    );
    Some(ConfigLocation::new(&config_format::DEFAULTS, None, why, Confidence::Medium))
}
