//! Files that login shells source as they start.

use super::pam_env::PAM_ENV;
use super::pam_env_conf::PAM_ENV_CONF;
use super::shell;
use super::user_shell::{BASHRC, LOGIN};
use crate::place::{DEFAULT, Place};
use crate::readers::ReadBy;
use crate::sources::Sources;
use crate::started_by::StartedBy;
use needless_model::Visibility;

/// A file for login shells.
pub static PROFILE_D: Place = Place {
    name: "login shell",
    files: "/etc/profile.d/zz-needless.sh",
    reaches: "login shells and what they start: login, su -, sudo -i, ssh without a command",
    read_by: ReadBy::Everybody("session"),
    effect: "the next login",
    check: shell::CHECK,
    find: shell::find,
    put: shell::put,
    is_file: |path, _| path.below("/profile.d/") && path.ends(".sh"),
    scan,
    needs_export: true,
    ..DEFAULT
};

pub(super) fn scan(sources: &mut Sources<'_>) {
    let (login, interactive) =
        (by_login_shell(sources.started_by), by_interactive(sources.started_by));
    let mut files: Vec<String> = vec!["/etc/profile".into()];
    files.extend(sources.in_dir("/etc/profile.d", ".sh"));
    // PAM's variables are there before the shell.
    let mut pam = Sources::new(sources.root, sources.variable, sources.started_by, u32::MAX);
    (PAM_ENV.scan)(&mut pam);
    (PAM_ENV_CONF.scan)(&mut pam);
    let mut exported = pam.has();
    for file in files {
        exported = sources.sourced_file(&file, login.clone(), exported);
    }
    if let Some(home) = sources.home.clone() {
        for file in LOGIN {
            sources.sourced_file(&format!("{home}/{file}"), login.clone(), exported);
        }
        sources.sourced_file(&format!("{home}/{BASHRC}"), interactive.clone(), exported);
    }
    sources.sourced_file("/etc/bash.bashrc", interactive, exported);
}

fn by_login_shell(started_by: &StartedBy) -> Visibility {
    match started_by {
        StartedBy::Su { login: true, .. } => Visibility::Yes("su - starts a login shell".into()),
        StartedBy::Sudo { login: true } => Visibility::Yes("sudo -i starts a login shell".into()),
        StartedBy::Su { login: false, .. } => Visibility::Perhaps(
            "if su was called from a login shell: su without - starts none".into(),
        ),
        StartedBy::Ssh { .. } => Visibility::Perhaps("if a login shell was in between".into()),
        StartedBy::Program { .. } => {
            Visibility::Perhaps("if it was started from a login shell".into())
        }
        StartedBy::Orphan => Visibility::Perhaps("if a login shell started it".into()),
        other => {
            Visibility::No(format!("only login shells read it; {} starts none", other.subject()))
        }
    }
}

fn by_interactive(started_by: &StartedBy) -> Visibility {
    match started_by {
        StartedBy::Program { .. } => {
            Visibility::Perhaps("if it was started from an interactive bash".into())
        }
        // bash can be built to read it for commands of sshd too; Debian's is.
        StartedBy::Ssh { .. } | StartedBy::Su { .. } | StartedBy::Sudo { .. } => {
            Visibility::Perhaps("if an interactive bash was in between, or sshd's own".into())
        }
        _ => Visibility::No("only interactive shells read it".into()),
    }
}
