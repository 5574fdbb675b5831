//! Which kinds of sources may set a variable of a process and are not searched: said, so that an empty answer is not
//! taken for a complete one.

use crate::channel::{Channel, Started};
use crate::unit::Unit;
use needless_host::Root;

const PAM: &str = "PAM modules other than pam_env that set variables (pam_systemd, pam_krb5 …)";
const SHELLS: &str = "what zsh, fish and csh read at their start, and files that a profile sources";

/// The kinds, for a process that was started by `channel`; `unit`: whose variables systemd gives it.
pub(crate) fn not_looked_at(channel: &Channel, unit: Option<&Unit>, root: &Root) -> Vec<String> {
    let mut kinds: Vec<&str> = Vec::new();
    if unit.is_some_and(|unit| !unit.asked) {
        kinds.push("systemd's own environment (systemctl show-environment) and generators: it could not be asked");
    }
    if unit.is_some_and(|unit| unit.pam.is_some()) {
        kinds.push(PAM);
    }
    match channel {
        Channel::Unit { how: Started::Directly, .. } => {}
        Channel::Unit { .. } => {
            kinds.push("programs of the unit that are not shell scripts, and what they read");
        }
        Channel::UserUnit { .. } => kinds.push("what a desktop's session gives the user's systemd"),
        Channel::Cron => kinds.extend([PAM, "the files of the job's own shell (BASH_ENV, ENV)"]),
        Channel::At => {}
        Channel::Ssh { .. } => kinds.extend([
            PAM,
            "~/.ssh/rc, ForceCommand, and keys that a command or a certificate gives sshd",
            SHELLS,
        ]),
        Channel::Sudo { .. } => kinds.extend([PAM, "plugins and Defaults of sudo for single users, hosts and commands", SHELLS]),
        Channel::Su { .. } => kinds.extend([PAM, SHELLS]),
        Channel::Supervisord => kinds.push("files that supervisord.conf includes, other than conf.d"),
        Channel::RunScript { .. } => kinds.push("files that the run script sources"),
        Channel::PhpFpm { .. } => {}
        Channel::Postgresql { .. } => {}
        Channel::Apache { .. } => kinds.push("Apache's modules"),
        Channel::OpenRc { .. } => kinds.push("what OpenRC's own scripts source"),
        Channel::Container { podman: Some(_), .. } => {
            kinds.push("containers.conf (env=), secrets of podman, and programs of the container that start others");
        }
        Channel::Container { .. } => kinds.push(
            "the container's configuration: the image's ENV, -e, --env-file, a compose file, a manifest",
        ),
        Channel::Program { .. } | Channel::Orphan => {
            kinds.push("what the program that started it reads, and what a person typed there");
        }
    }
    if !root.is_ours() && !matches!(channel, Channel::Container { .. }) {
        kinds.push("files outside of the process's own root");
    }
    kinds.into_iter().map(str::to_owned).collect()
}
