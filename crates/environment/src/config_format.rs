//! The places an environment comes from: one line each, and what is known of it.

use crate::format::{
    self, Edit, Found, compose, cron, dockerfile, envdir, environment_d, environment_file,
    kubernetes, pam_env, php_fpm, postgresql, shell, sshd, sudoers, supervisord, systemd, wrapper,
};

/// A kind of file that gives processes variables.
pub struct ConfigFormat {
    /// Its name.
    pub name: &'static str,
    /// Where such files lie.
    pub files: &'static str,
    /// Whom it reaches.
    pub reaches: &'static str,
    /// When a change takes effect.
    pub effect: &'static str,
    /// The program that checks such a file, its arguments before the file's name; empty where there is
    /// none.
    pub check: &'static [&'static str],
    pub(crate) find: fn(&str, &str, Option<&str>) -> Vec<Found>,
    put: fn(&str, &Edit<'_>) -> Result<String, String>,
}

impl ConfigFormat {
    /// Whether it is read on another machine, or to make one.
    pub fn is_of_image(&self) -> bool {
        [&DOCKERFILE, &COMPOSE, &KUBERNETES].contains(&self)
    }

    /// Where `text` sets `variable`, in the part `part` of it or in all, as its real reader takes it;
    /// the last one holds.
    pub fn find(&self, text: &str, variable: &str, part: Option<&str>) -> Vec<Found> {
        (self.find)(text, variable, part)
    }

    /// `text` with a change made. Making it again changes nothing; no other variable is touched.
    ///
    /// # Errors
    /// In a sentence: what such a file cannot say, or a text in which the change would not be read.
    pub fn change(&self, text: &str, edit: &Edit<'_>) -> Result<String, String> {
        let new = (self.put)(text, edit)?;
        if self == &SUDOERS {
            return Ok(new);
        }
        let last = self.find(&new, edit.variable, edit.part).pop();
        let is = last.as_ref().and_then(|found| found.value.as_deref());
        if is != edit.value || last.is_some_and(|last| edit.value.is_some() && !last.certain) {
            return Err(format!(
                "a line put into that file would not be read as it is meant: set {} by hand",
                edit.variable
            ));
        }
        Ok(self.with_comment(text, &new, edit).unwrap_or(new))
    }

    /// `new` with the comment that stood behind the one line that it replaces in `old`: behind the new one,
    /// or above where the format's reader would take it for a part of the value.
    fn with_comment(&self, old: &str, new: &str, edit: &Edit<'_>) -> Option<String> {
        let (was, is) = (format::lines(old), format::lines(new));
        let mut differ = was.iter().zip(&is).enumerate().filter(|(_, (was, is))| was != is);
        let (at, (line, other)) = differ.next().filter(|_| was.len() == is.len())?;
        let bare = format::bare(line);
        let marks = |mark| bare.match_indices(mark).map(|(at, _)| at);
        let mut begins: Vec<usize> = [" #", "\t#", " ;"].into_iter().flat_map(marks).collect();
        begins.sort_unstable();
        let read = |text: &str| -> Vec<Option<String>> {
            let all = self.find(text, edit.variable, edit.part).into_iter();
            all.map(|found| found.value.map(|value| value.trim_end().to_owned())).collect()
        };
        // A comment is what the reader finds the same without.
        let without = |begin: usize| format::splice(old, at, at + 1, &[bare[..begin].to_owned()]);
        let is_comment = |begin: &usize| read(&without(*begin)) == read(old);
        let begin = begins.into_iter().find(is_comment).filter(|_| differ.next().is_none())?;
        let comment = &bare[begin..];
        let from = bare[..begin].trim_end().len();
        let behind = format!("{}{}", format::bare(other), &bare[from..]);
        let above = [comment.trim().to_owned(), format::bare(other).to_owned()];
        let texts =
            [format::splice(new, at, at + 1, &[behind]), format::splice(new, at, at + 1, &above)];
        texts.into_iter().find(|text| {
            let last = self.find(text, edit.variable, edit.part).pop();
            last.is_some_and(|last| last.certain && last.value.as_deref() == edit.value)
        })
    }
}

impl std::fmt::Debug for ConfigFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for ConfigFormat {
    fn eq(&self, other: &ConfigFormat) -> bool {
        self.name == other.name
    }
}

const RESTART: &str = "systemctl daemon-reload, then a restart of the unit";
const SH: &[&str] = &["sh", "-n"];

macro_rules! places {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $files:literal, $reaches:expr, $effect:expr, $check:expr, $format:ident;)*) => {
        $($(#[$doc])* pub static $id: ConfigFormat = ConfigFormat {
            name: $name, files: $files, reaches: $reaches, effect: $effect, check: $check,
            find: $format::find, put: $format::put,
        };)*
        /// Every place.
        pub static PLACES: &[&ConfigFormat] = &[$(&$id),*];
    };
}

places! {
    /// A drop-in of a system unit.
    SYSTEMD_UNIT = "systemd unit", "/etc/systemd/system/UNIT.d/zz-needless.conf",
        "the unit's processes, but for what programs in it rebuild their environment", RESTART,
        &["systemd-analyze", "verify"], systemd;
    /// A file that a unit's `EnvironmentFile=` names.
    ENVIRONMENT_FILE = "EnvironmentFile", "what EnvironmentFile= of a unit names",
        "the units that name it; stronger than Environment=", "a restart of the unit", &[], environment_file;
    /// A drop-in of a user's unit.
    USER_UNIT = "systemd user unit", "~/.config/systemd/user/UNIT.d/zz-needless.conf",
        "the unit's processes", "systemctl --user daemon-reload, then a restart of the unit",
        &["systemd-analyze", "--user", "verify"], systemd;
    /// Variables of a user's service manager.
    ENVIRONMENT_D = "environment.d", "~/.config/environment.d/zz-needless.conf, /etc/environment.d/*.conf",
        "units of users (user@UID.service), not of the system", "systemctl --user daemon-reload, then a restart of the unit",
        &[], environment_d;
    /// /etc/environment.
    PAM_ENV = "pam_env", "/etc/environment",
        "what PAM opens a session for: login, ssh, su, cron; not at, not sudo (Debian), not systemd's units",
        "the next session or job", &[], pam_env;
    /// Debian's locale.
    DEFAULT_LOCALE = "default locale", "/etc/default/locale",
        "sessions that PAM opens, and the units of systemd on Debian", "the next session; for units the next boot", &[], pam_env;
    /// systemd's locale.
    LOCALE_CONF = "locale.conf", "/etc/locale.conf",
        "units of systemd, by PID 1", "the next boot, or systemctl daemon-reexec", &[], environment_file;
    /// A file for login shells.
    PROFILE_D = "login shell", "/etc/profile.d/zz-needless.sh",
        "login shells and what is started from them: login, su -, sudo -i, ssh without a command",
        "the next login", SH, shell;
    /// What a service's init script sources.
    DEFAULTS = "init script", "/etc/default/NAME, /etc/sysconfig/NAME, /etc/conf.d/NAME",
        "the daemon of the init script that sources it; only variables that are exported",
        "a restart of the service", SH, shell;
    /// A crontab.
    CRONTAB = "crontab", "/etc/crontab, /etc/cron.d/NAME, /var/spool/cron/crontabs/USER",
        "the jobs below the line; nothing of cron's own unit reaches them", "the next job, within a minute",
        &["crontab", "-n"], cron;
    /// sudo's policy.
    SUDOERS = "sudoers", "/etc/sudoers.d/zz-needless",
        "what the caller of sudo has, let through to the command", "the next sudo", &["visudo", "-cf"], sudoers;
    /// The file that sudo takes variables from.
    SUDO_ENV_FILE = "sudo env_file", "the env_file that sudoers names",
        "commands run by sudo whose caller has not set the variable", "the next sudo", &[], pam_env;
    /// sshd's configuration.
    SSHD = "sshd", "/etc/ssh/sshd_config.d/zz-needless.conf, /etc/ssh/sshd_config",
        "every session of sshd, over what PAM and the client give it", "the next session, after a reload of sshd",
        &["sshd", "-t", "-f"], sshd;
    /// A program of supervisord.
    SUPERVISORD = "supervisord", "/etc/supervisor/supervisord.conf, /etc/supervisor/conf.d/*.conf",
        "the program of that section", "supervisorctl reread, then supervisorctl update (a restart keeps the old environment)",
        &[], supervisord;
    /// An environment directory.
    ENVDIR = "envdir", "a directory of files, for envdir, chpst -e and s6-envdir",
        "what is run through it", "sv restart, s6-svc -r or svc -t", &[], envdir;
    /// A pool of php-fpm.
    PHP_FPM = "php-fpm pool", "/etc/php/VERSION/fpm/pool.d/NAME.conf",
        "the workers of the pool: with clear_env they have nothing else", "a reload of php-fpm", &[], php_fpm;
    /// The environment of a PostgreSQL cluster.
    POSTGRESQL = "PostgreSQL cluster", "/etc/postgresql/VERSION/CLUSTER/environment",
        "the server and what it runs; its starter clears all else (Debian)", "a restart of the cluster", &[], postgresql;
    /// Apache's environment.
    APACHE = "Apache envvars", "/etc/apache2/envvars",
        "the server (Debian), and of its CGI programs TZ only", "a restart of Apache", SH, shell;
    /// An image.
    DOCKERFILE = "Dockerfile", "Dockerfile, Containerfile",
        "containers of the image, unless they are started with another value", "a new image and a new container", &[], dockerfile;
    /// A service of compose.
    COMPOSE = "compose", "compose.yaml, docker-compose.yml",
        "the containers of the service", "docker compose up -d, which makes new containers", &[], compose;
    /// A Kubernetes manifest.
    KUBERNETES = "Kubernetes manifest", "a manifest with containers in it",
        "the container", "kubectl apply, which rolls out new pods", &[], kubernetes;
    /// A script around the program.
    WRAPPER = "wrapper script", "/usr/local/bin/NAME",
        "whoever starts the script instead of the program", "the next start", SH, wrapper;
}

/// The place that a file is by its path; `text` tells manifests of Kubernetes from other YAML.
pub fn of_file(path: &str, text: &str) -> Option<&'static ConfigFormat> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let below = |dir: &str| path.contains(dir);
    let ends = |ending: &str| name.ends_with(ending);
    let lower = name.to_ascii_lowercase();
    Some(match () {
        () if path == "/etc/environment" || ends(".pam_environment") => &PAM_ENV,
        () if path == "/etc/default/locale" => &DEFAULT_LOCALE,
        () if path == "/etc/locale.conf" => &LOCALE_CONF,
        () if below("/environment.d/") && ends(".conf") => &ENVIRONMENT_D,
        () if below("/systemd/user/") && below(".d/") && ends(".conf") => &USER_UNIT,
        // Not system.conf or journald.conf, which have no [Service].
        () if below("/systemd/system/") && below(".d/") && ends(".conf") => &SYSTEMD_UNIT,
        () if below("/profile.d/") && ends(".sh") => &PROFILE_D,
        () if path == "/etc/crontab" || below("/cron.d/") || below("/spool/cron/") => &CRONTAB,
        () if below("/sudoers.d/") => &SUDOERS,
        () if name == "sshd_config" || (below("/sshd_config.d/") && ends(".conf")) => &SSHD,
        () if below("/supervisor/") || name == "supervisord.conf" => &SUPERVISORD,
        () if below("/pool.d/") && ends(".conf") => &PHP_FPM,
        () if below("/postgresql/") && name == "environment" => &POSTGRESQL,
        () if name == "envvars" => &APACHE,
        () if below("/etc/default/") || below("/etc/conf.d/") || below("/etc/sysconfig/") => {
            &DEFAULTS
        }
        () if lower.starts_with("dockerfile") || lower.starts_with("containerfile") => &DOCKERFILE,
        () if lower.ends_with(".dockerfile") => &DOCKERFILE,
        () if ends(".yaml") || ends(".yml") => match text.contains("services:") {
            true if !text.contains("containers:") => &COMPOSE,
            _ if text.contains("containers:") => &KUBERNETES,
            _ => return None,
        },
        () if text.starts_with("#!/bin/sh\n") && text.contains("\nexec ") => &WRAPPER,
        () => return None,
    })
}
