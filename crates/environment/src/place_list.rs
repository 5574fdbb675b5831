//! The list of formats: one line for each, and what is asked of all of them.

use crate::place::{Destination, FilePath, LocationQuery, Place};
use crate::places;
use crate::sources::Sources;
use crate::started_by::StartedBy;
use needless_host::Root;

/// Makes the formats public, and lists them.
macro_rules! formats {
    ($($module:ident :: $name:ident),* $(,)?) => {
        pub use places::{$($module::$name),*};

        /// Every format, in the order in which they are asked for a file and for a location.
        pub static PLACES: &[&Place] = &[$(&places::$module::$name),*];
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
    user_shell::OTHER_SHELL,
    pam_env::PAM_ENV,
    pam_env_conf::PAM_ENV_CONF,
    pam_env::DEFAULT_LOCALE,
    locale_conf::LOCALE_CONF,
    environment_d::ENVIRONMENT_D,
    init_script::DEFAULTS,
    shared_file::SHARED_FILE,
    cron::CRONTAB,
    cron::USER_CRONTAB,
    cron::ANACRONTAB,
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
pub fn place_of_file(path: &str, text: &str) -> Option<&'static Place> {
    let path = FilePath(path);
    PLACES.iter().copied().find(|place| (place.is_file)(&path, text))
}

/// Where a change belongs, best first. The last resort is asked only where no other format has an answer.
pub(crate) fn locations(query: &LocationQuery<'_>) -> Vec<Destination> {
    let mut found = Vec::new();
    for place in PLACES {
        if found.is_empty() || !place.last_resort {
            found.extend((place.locate)(query));
        }
    }
    found
}

/// Searches all files that may set the variable, except those of units.
pub(crate) fn search_files<'a>(
    root: &'a Root,
    variable: &'a str,
    started_by: &'a StartedBy,
    uid: u32,
) -> Sources<'a> {
    let mut sources = Sources::new(root, variable, started_by, uid);
    for place in PLACES {
        (place.scan)(&mut sources);
    }
    sources
}
