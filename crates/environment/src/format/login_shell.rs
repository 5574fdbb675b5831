//! Files that shells source as they start: profile.d and the files of a user.

use super::shell;
use crate::channel::Channel;
use crate::config_format::{ConfigFormat, DEFAULT, LineKind};
use crate::sources::Sources;
use needless_model::Visibility;

/// A file for login shells.
pub static PROFILE_D: ConfigFormat = ConfigFormat {
    name: "login shell",
    files: "/etc/profile.d/zz-needless.sh",
    reaches: "login shells and what they start: login, su -, sudo -i, ssh without a command",
    effect: "the next login",
    check: shell::CHECK,
    find: shell::find,
    put: shell::put,
    is_file: |path, _| path.below("/profile.d/") && path.ends(".sh"),
    scan,
    lines: LineKind::Script,
    needs_export: true,
    ..DEFAULT
};

fn scan(sources: &mut Sources<'_>) {
    let (login, interactive) = (by_login_shell(sources.channel), by_interactive(sources.channel));
    let mut files: Vec<String> = vec!["/etc/profile".into()];
    files.extend(sources.in_dir("/etc/profile.d", ".sh"));
    if let Some(home) = sources.home.clone() {
        sources.sourced_file(&format!("{home}/.bashrc"), interactive.clone());
        files.extend([".bash_profile", ".bash_login", ".profile"].map(|f| format!("{home}/{f}")));
    }
    for file in files {
        sources.sourced_file(&file, login.clone());
    }
    sources.sourced_file("/etc/bash.bashrc", interactive);
}

fn by_login_shell(channel: &Channel) -> Visibility {
    match channel {
        Channel::Su { login: true } => Visibility::Yes("su - starts a login shell".into()),
        Channel::Sudo { login: true } => Visibility::Yes("sudo -i starts a login shell".into()),
        Channel::Su { login: false } => Visibility::Perhaps(
            "if su was called from a login shell: su without - starts none".into(),
        ),
        Channel::Ssh { .. } => Visibility::Perhaps("if a login shell was in between".into()),
        Channel::Program { .. } => {
            Visibility::Perhaps("if it was started from a login shell".into())
        }
        Channel::Orphan => Visibility::Perhaps("if a login shell started it".into()),
        other => {
            Visibility::No(format!("only login shells read it; {} starts none", other.subject()))
        }
    }
}

fn by_interactive(channel: &Channel) -> Visibility {
    match channel {
        Channel::Program { .. } => {
            Visibility::Perhaps("if it was started from an interactive bash".into())
        }
        // bash can be built to read it for commands of sshd too; Debian's is.
        Channel::Ssh { .. } | Channel::Su { .. } | Channel::Sudo { .. } => {
            Visibility::Perhaps("if an interactive bash was in between, or sshd's own".into())
        }
        _ => Visibility::No("only interactive shells read it".into()),
    }
}
