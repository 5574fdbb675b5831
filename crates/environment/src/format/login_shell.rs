//! Files that shells source as they start: profile.d and the files of a user.

use super::pam_env::PAM_ENV;
use super::pam_env_conf::PAM_ENV_CONF;
use super::shell;
use crate::channel::Channel;
use crate::config_format::{ConfigFormat, ConfigLocation, DEFAULT, LocationQuery};
use crate::sources::{AS_WRITTEN, Sources};
use needless_model::{Assignment, Confidence, Visibility};

/// A file for login shells.
pub static PROFILE_D: ConfigFormat = ConfigFormat {
    name: "login shell",
    files: "/etc/profile.d/zz-needless.sh",
    reaches: "login shells and what they start: login, su -, sudo -i, ssh without a command",
    effect: "the next login",
    check: shell::CHECK,
    find: shell::find,
    put: shell::put,
    is_file: |path, _| {
        (path.below("/profile.d/") && path.ends(".sh")) || OWN.contains(&path.name())
    },
    scan,
    locate,
    needs_export: true,
    ..DEFAULT
};

fn scan(sources: &mut Sources<'_>) {
    let (login, interactive) = (by_login_shell(sources.channel), by_interactive(sources.channel));
    let mut files: Vec<String> = vec!["/etc/profile".into()];
    files.extend(sources.in_dir("/etc/profile.d", ".sh"));
    // PAM's variables are there before the shell.
    let mut pam = Sources::new(sources.root, sources.variable, sources.channel, u32::MAX);
    (PAM_ENV.scan)(&mut pam);
    (PAM_ENV_CONF.scan)(&mut pam);
    let mut exported = pam.has();
    for file in files {
        exported = sources.sourced_file(&file, login.clone(), exported);
    }
    if let Some(home) = sources.home.clone() {
        for file in OWN {
            sources.sourced_file(&format!("{home}/{file}"), login.clone(), exported);
        }
        sources.sourced_file(&format!("{home}/.bashrc"), interactive.clone(), exported);
    }
    sources.sourced_file("/etc/bash.bashrc", interactive, exported);
}

/// What a login shell reads in a home directory: the first one that is there.
const OWN: [&str; 3] = [".bash_profile", ".bash_login", ".profile"];

/// The file of a login shell that set the value which the process has: it is read after PAM's files.
fn locate(query: &LocationQuery<'_>) -> Vec<ConfigLocation> {
    let login = matches!(
        query.channel,
        Channel::Su { login: true, .. } | Channel::Sudo { login: true } | Channel::Ssh { .. }
    );
    let Some(me) = query.process().filter(|_| login) else { return Vec::new() };
    let Some(value) = me.initial.text() else { return Vec::new() };
    let mut sources = Sources::new(query.root, query.variable, query.channel, me.uid);
    scan(&mut sources);
    let written = format!("{}={value}", query.variable);
    let fits = |one: &&Assignment| {
        one.says.strip_suffix(AS_WRITTEN).unwrap_or(&one.says) == written
            && !matches!(one.reaches, Visibility::No(_))
    };
    let Some(last) = sources.assignments.iter().rfind(|one| fits(one)) else { return Vec::new() };
    let (confidence, why) = match &last.reaches {
        Visibility::Yes(why) => (Confidence::High, why),
        Visibility::Perhaps(why) | Visibility::No(why) => (Confidence::Medium, why),
    };
    let why = format!("it sets the value that the process has, after PAM's files: {why}");
    let location = ConfigLocation::new(&PROFILE_D, last.file.clone(), why, confidence);
    vec![location.caveat("It reaches every login shell that reads that file.")]
}

fn by_login_shell(channel: &Channel) -> Visibility {
    match channel {
        Channel::Su { login: true, .. } => Visibility::Yes("su - starts a login shell".into()),
        Channel::Sudo { login: true } => Visibility::Yes("sudo -i starts a login shell".into()),
        Channel::Su { login: false, .. } => Visibility::Perhaps(
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
