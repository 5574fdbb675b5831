//! The list of formats: one line for each, and what is asked of all of them.

use crate::channel::Channel;
use crate::config_format::{ConfigFormat, ConfigLocation, FilePath, LocationQuery};
use crate::format;
use crate::sources::Sources;
use needless_host::Root;

/// Makes the formats public, and lists them.
macro_rules! formats {
    ($($module:ident :: $name:ident),* $(,)?) => {
        pub use format::{$($module::$name),*};

        /// Every format, in the order in which they are asked for a file and for a location.
        pub static CONFIG_FORMATS: &[&ConfigFormat] = &[$(&format::$module::$name),*];
    };
}

formats! {
    systemd_unit::SYSTEMD_UNIT,
    systemd_unit::ENVIRONMENT_FILE,
    systemd_unit::USER_UNIT,
    login_shell::PROFILE_D,
    ssh_user::AUTHORIZED_KEYS,
    ssh_user::SSH_ENVIRONMENT,
    user_shell::USER_SHELL,
    pam_env::PAM_ENV,
    pam_env_conf::PAM_ENV_CONF,
    pam_env::DEFAULT_LOCALE,
    locale_conf::LOCALE_CONF,
    environment_d::ENVIRONMENT_D,
    init_script::DEFAULTS,
    cron::CRONTAB,
    cron::USER_CRONTAB,
    sudoers::SUDOERS,
    sudoers::SUDO_ENV_FILE,
    sshd::SSHD,
    supervisord::SUPERVISORD,
    envdir::ENVDIR,
    execline::EXECLINE,
    php_fpm::PHP_FPM,
    postgresql::POSTGRESQL,
    apache::APACHE,
    quadlet::QUADLET,
    env_file::ENV_FILE,
    dockerfile::DOCKERFILE,
    ci::GITHUB_WORKFLOW,
    ci::GITLAB_CI,
    helm::HELM,
    compose::COMPOSE,
    kubernetes::KUBERNETES,
    wrapper::WRAPPER,
}

/// The format of a file: the first one that recognises its path, or its text.
pub fn format_of_file(path: &str, text: &str) -> Option<&'static ConfigFormat> {
    let path = FilePath(path);
    CONFIG_FORMATS.iter().copied().find(|format| (format.is_file)(&path, text))
}

/// Where a change belongs, best first. The last resort is asked only where no other format has an answer.
pub(crate) fn locations(query: &LocationQuery<'_>) -> Vec<ConfigLocation> {
    let mut found = Vec::new();
    for format in CONFIG_FORMATS {
        if found.is_empty() || !format.last_resort {
            found.extend((format.locate)(query));
        }
    }
    found
}

/// Searches all files that may set the variable, except those of units.
pub(crate) fn search_files<'a>(
    root: &'a Root,
    variable: &'a str,
    channel: &'a Channel,
    uid: u32,
) -> Sources<'a> {
    let mut sources = Sources::new(root, variable, channel, uid);
    for format in CONFIG_FORMATS {
        (format.scan)(&mut sources);
    }
    sources
}
