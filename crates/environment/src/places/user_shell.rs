//! The files that a user's own shells read: ~/.profile and its kin for a login, ~/.bashrc for an interactive bash.

use super::login_shell::PROFILE_D;
use super::shell_stock::{neutral, put_back, sourced};
use super::{Edit, FoundValue, login_shell, shell};
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;
use crate::journal::FileChange;
use crate::place::{DEFAULT, Destination, FilePath, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::sources::{AS_WRITTEN, Sources, home};
use crate::started_by::{Launcher, StartedBy, is_login};
use needless_host::ProcInfo;
use needless_model::{Assignment, Confidence, Visibility};

/// A file of a user's shell.
pub static USER_SHELL: Place = Place {
    name: "user's shell",
    files: "~/.profile, ~/.bash_profile, ~/.bash_login, ~/.bashrc",
    reaches: "what a login shell of the user starts; of ~/.bashrc, what an interactive bash starts",
    read_by: ReadBy::Everybody("session"),
    effect: "the next login, or for ~/.bashrc the next bash",
    check: &["bash", "-n"],
    find: |text, variable, _| find(text, variable),
    put,
    is_file: |path, _| LOGIN.contains(&path.name()) || path.name() == BASHRC,
    locate: |query| set_there(query).or_else(|| read_by(query)).into_iter().collect(),
    companion,
    needs_export: true,
    ..DEFAULT
};

/// Files of zsh and of direnv, which are read with the rules of another shell.
pub static OTHER_SHELL: Place = Place {
    name: "zsh or direnv",
    files: "~/.zshenv, ~/.zprofile, ~/.zshrc, ~/.zlogin, .envrc",
    reaches: "what a zsh of the user starts (of ~/.zshrc an interactive one, of ~/.zprofile and ~/.zlogin a login); of .envrc, shells in its directory",
    effect: "the next zsh, or `direnv allow`",
    find: shell::find,
    by_hand: Some(|text, edit| {
        let value = edit.value.unwrap_or_default();
        let line = format!("export {}={}", edit.variable, shell::word(value));
        let read = shell::find(&line, edit.variable, None).pop();
        match read
            .filter(FoundValue::is_sure)
            .is_some_and(|read| read.value.as_deref() == Some(value))
        {
            true => Ok(HandLine::anywhere(line, &shell::find(text, edit.variable, None))),
            false => Err("it could not be read back there: quote such a value by hand".into()),
        }
    }),
    is_file: |path, _| OTHERS.contains(&path.name()),
    needs_export: true,
    ..DEFAULT
};

const OTHERS: [&str; 5] = [".zshenv", ".zprofile", ".zshrc", ".zlogin", ".envrc"];

/// What a login shell reads in a home directory: bash the first that is there, sh only the last.
pub(crate) const LOGIN: [&str; 3] = [".bash_profile", ".bash_login", ".profile"];
pub(crate) const BASHRC: &str = ".bashrc";

fn find(text: &str, variable: &str) -> Vec<FoundValue> {
    shell::find(&neutral(text), variable, None)
}

fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let set = find(text, edit.variable).pop().map_or(0, |found| found.line as usize);
    let reads = text.lines().enumerate().find_map(|(at, line)| {
        let file = *sourced(line).first()?;
        (set > 0 && at >= set).then_some((at + 1, file))
    });
    if let Some((line, file)) = reads {
        return Err(format!(
            "line {set} sets it, and line {line} reads ~/{file}, which may set it again: set {} by hand, below that",
            edit.variable
        )
        .into());
    }
    let plain = neutral(text);
    shell::put(&plain, edit).map(|new| put_back(text, &new))
}

/// Refuses a file that would take the place of another one, or that perhaps is not read to its end.
fn companion(path: &str, disk: &Disk) -> Result<Option<FileChange>, EnvironmentError> {
    let (dir, name) = path.rsplit_once('/').unwrap_or(("", path));
    let text = |name: &str| {
        let bytes = disk.bytes(&format!("{dir}/{name}"), false).ok().flatten();
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let Some(own) = text(name) else {
        let instead = LOGIN.iter().filter(|other| **other != name && name != BASHRC);
        return match instead.copied().find(|other| text(other).is_some()) {
            Some(other) => Err(format!(
                "{path} does not exist, and bash reads only the first of {}: change {dir}/{other}",
                LOGIN.join(", ")
            )
            .into()),
            None => Ok(None),
        };
    };
    let mut named = sourced(&own);
    named
        .extend(named.clone().iter().filter_map(|name| text(name)).flat_map(|text| sourced(&text)));
    for other in named {
        let ends = text(other).and_then(|text| ends_a_shell(&text));
        if let Some(word) = ends {
            return Err(format!(
                "{path} reads {dir}/{other}, which has `{word}` in it: a line below may not be reached, so set it by hand"
            )
            .into());
        }
    }
    Ok(None)
}

/// A word by which a file may end the shell that sources it, or keep a variable from being set.
fn ends_a_shell(text: &str) -> Option<&'static str> {
    let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let name = |c: char| !c.is_ascii_alphanumeric() && !"_-./".contains(c);
    let words: Vec<&str> = code.flat_map(|line| line.split(name)).collect();
    ["exit", "exec", "logout", "readonly"].into_iter().find(|word| words.contains(word))
}

/// The file of a shell that set the value which the process has: it is read after PAM's files.
fn set_there(query: &LocationQuery<'_>) -> Option<Destination> {
    let me = query.process()?;
    let shell = own_shell(query.chain);
    let login = matches!(
        query.started_by,
        StartedBy::Su { login: true, .. } | StartedBy::Sudo { login: true } | StartedBy::Ssh { .. }
    );
    let value = me.initial.text().filter(|_| login || shell.is_some())?;
    let mut sources = Sources::new(query.root, query.variable, query.started_by, me.uid);
    login_shell::scan(&mut sources);
    let written = format!("{}={value}", query.variable);
    let fits = |one: &&Assignment| {
        one.says.strip_suffix(AS_WRITTEN).unwrap_or(&one.says) == written
            && !matches!(one.reaches, Visibility::No(_))
    };
    let last = sources.assignments.iter().rfind(|one| fits(one))?;
    // The shell was not given the value, and what it started has it.
    let read_it = shell.is_some_and(|(shell, kind)| {
        shell.initial.is_known()
            && shell.initial.text() != Some(value)
            && (last.file.ends_with(BASHRC) == (kind == OwnShell::Interactive))
    });
    let (confidence, why) = match &last.reaches {
        Visibility::Yes(why) => (Confidence::High, why.clone()),
        Visibility::Perhaps(_) if read_it => (
            Confidence::High,
            format!("{} has read it", shell.map_or("a shell", |(s, _)| s.name())),
        ),
        Visibility::Perhaps(why) | Visibility::No(why) => (Confidence::Medium, why.clone()),
    };
    let why = format!("it sets the value that the process has, after PAM's files: {why}");
    let kind =
        if (USER_SHELL.is_file)(&FilePath(&last.file), "") { &USER_SHELL } else { &PROFILE_D };
    let location = Destination::new(kind, last.file.clone(), why, confidence);
    Some(location.caveat("It reaches every shell that reads that file."))
}

/// How a shell of the user was started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnShell {
    Login,
    Interactive,
}

/// The nearest shell above the process that has read files of the process's user.
fn own_shell(chain: &[ProcInfo]) -> Option<(&ProcInfo, OwnShell)> {
    let (me, above) = chain.split_last()?;
    let mine = above.iter().rev().take_while(|info| info.uid == me.uid);
    mine.filter(|info| Launcher::of(info) == Some(Launcher::Shell)).find_map(|info| {
        let known = matches!(info.name(), "sh" | "dash" | "bash");
        let bare = info.argv.iter().skip(1).all(|word| word == "-i");
        match (is_login(info), info.name()) {
            (true, _) if known => Some((info, OwnShell::Login)),
            (false, "bash") if bare => Some((info, OwnShell::Interactive)),
            _ => None,
        }
    })
}

/// The file that the user's own shell reads on the way to the process: for ordinary users, who cannot change what PAM
/// reads. It is read after that, and stronger.
fn read_by(query: &LocationQuery<'_>) -> Option<Destination> {
    let me = query.process()?;
    let asks = rustix::process::geteuid();
    if asks.is_root() || me.uid != asks.as_raw() {
        return None;
    }
    let home = home(query.root, me.uid)?;
    let shell = own_shell(query.chain);
    let login = matches!(
        query.started_by,
        StartedBy::Su { login: true, runuser: _ } | StartedBy::Sudo { login: true }
    );
    let of_login = crate::sources::login_shell(query.root, me.uid).unwrap_or_default();
    let (file, why) = match shell {
        Some((shell, OwnShell::Interactive)) => (
            BASHRC,
            format!("{}[{}] is an interactive bash, which reads it", shell.name(), shell.pid),
        ),
        Some((shell, OwnShell::Login)) => {
            let why = format!("{}[{}] is a login shell, which reads it", shell.name(), shell.pid);
            (login_file(query, &home, shell.name()), why)
        }
        None if login => {
            let name = of_login.rsplit('/').next().unwrap_or_default();
            if !["sh", "dash", "bash"].contains(&name) {
                return None;
            }
            let why =
                format!("{} starts a login shell, which reads it", query.started_by.subject());
            (login_file(query, &home, name), why)
        }
        None => return None,
    };
    let why = format!("{why} after PAM's files");
    let location = Destination::new(&USER_SHELL, format!("{home}/{file}"), why, Confidence::High);
    Some(location.caveat("It reaches every shell that reads that file."))
}

/// The file that a login shell of this name reads.
fn login_file(query: &LocationQuery<'_>, home: &str, shell: &str) -> &'static str {
    let mut there = LOGIN.into_iter().filter(|_| shell == "bash");
    there.find(|name| query.root.read(&format!("{home}/{name}")).is_ok()).unwrap_or(".profile")
}
