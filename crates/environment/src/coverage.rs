//! Which kinds of sources may set a variable of a process and are not searched: said, so that an empty answer is not
//! taken for a complete one.

use crate::started_by::{Started, StartedBy};
use crate::unit::Unit;
use needless_host::Root;

const PAM: &str = "PAM modules other than pam_env that set variables (pam_systemd, pam_krb5 …)";
const SHELLS: &str = "what zsh, fish and csh read at their start, and files that a profile sources";

/// The kinds, for a process that was started by `channel`; `unit`: whose variables systemd gives it.
pub(crate) fn not_looked_at(
    started_by: &StartedBy,
    unit: Option<&Unit>,
    root: &Root,
) -> Vec<String> {
    let mut kinds: Vec<&str> = Vec::new();
    if unit.is_some_and(|unit| !unit.asked) {
        kinds.push("systemd's own environment (systemctl show-environment) and generators: it could not be asked");
    }
    if unit.is_some_and(|unit| unit.pam.is_some()) {
        kinds.push(PAM);
    }
    match started_by {
        StartedBy::Unit { how: Started::Directly, .. } => {}
        StartedBy::Unit { .. } => {
            kinds.push("programs of the unit that are not shell scripts, and what they read");
        }
        StartedBy::UserUnit { .. } => kinds.push("what a desktop's session gives the user's systemd"),
        StartedBy::Cron => kinds.extend([PAM, "the files of the job's own shell (BASH_ENV, ENV)"]),
        StartedBy::At => {}
        StartedBy::Ssh { .. } => kinds.extend([
            PAM,
            "~/.ssh/rc, ForceCommand, and keys that a command or a certificate gives sshd",
            SHELLS,
        ]),
        StartedBy::Sudo { .. } => kinds.extend([PAM, "plugins and Defaults of sudo for single users, hosts and commands", SHELLS]),
        StartedBy::Su { .. } => kinds.extend([PAM, SHELLS]),
        StartedBy::Supervisord => kinds.push("files that supervisord.conf includes, other than conf.d"),
        StartedBy::RunScript { .. } => kinds.push("files that the run script sources"),
        StartedBy::PhpFpm { .. } => {}
        StartedBy::Postgresql { .. } => {}
        StartedBy::Apache { .. } => kinds.push("Apache's modules"),
        StartedBy::OpenRc { .. } => kinds.push("what OpenRC's own scripts source"),
        StartedBy::Container { podman: Some(_), .. } => {
            kinds.push("containers.conf (env=), secrets of podman, and programs of the container that start others");
        }
        StartedBy::Container { .. } => kinds.push(
            "the container's configuration: the image's ENV, -e, --env-file, a compose file, a manifest",
        ),
        StartedBy::Program { .. } | StartedBy::Orphan => {
            kinds.push("what the program that started it reads, and what a person typed there");
        }
    }
    if !root.is_ours() && !matches!(started_by, StartedBy::Container { .. }) {
        kinds.push("files outside of the process's own root");
    }
    kinds.into_iter().map(str::to_owned).collect()
}
