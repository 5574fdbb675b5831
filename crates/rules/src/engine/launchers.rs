//! The programs between the command and a process, in words.

use crate::text::list;
use needless_model::{LastChange, Link, Profile, Query, command_of};

/// At most this many programs are named.
const NAMED: usize = 3;
/// For this many processes, those with the most calls, the programs above are looked up: each
/// look-up reads all rows.
pub(crate) const LOOKED_UP: usize = 16;

/// Programs that run scripts, without the version in their names.
const INTERPRETERS: [&str; 20] = [
    "sh", "ash", "dash", "bash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "perl", "python",
    "ruby", "node", "php", "lua", "awk", "gawk", "mawk", "tclsh",
];

/// A program that runs scripts, with any version in its name.
pub(crate) fn is_interpreter(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    INTERPRETERS.contains(&name)
}

/// The programs that made the changes, each once, in words.
pub(crate) fn programs(profile: &Profile, turns: &[LastChange<'_>]) -> String {
    names(profile, turns.iter().map(|turn| turn.by))
}

/// These programs, each once, in words.
pub(crate) fn names<'p>(profile: &'p Profile, links: impl Iterator<Item = Link<'p>>) -> String {
    let mut names: Vec<String> = Vec::new();
    for link in links.take(LOOKED_UP) {
        let name = program(profile, link);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    names.extend((more > 0).then(|| "others".to_owned()));
    list(&names)
}

/// The program in words, and where it got the change from: the caller of env(1), make's makefile,
/// or a command line.
pub(crate) fn program(profile: &Profile, link: Link<'_>) -> String {
    let name = name(profile, link);
    match link.process.name() {
        "env" => {
            let up = link.process.parent.map(|up| profile.image_of(up));
            match up.map(|up| Link { process: profile.process(up), id: Some(up) }) {
                Some(up) => format!("{} (by {name})", program(profile, up)),
                None => format!("the command line of {name}"),
            }
        }
        "make" | "gmake" => match makefile(profile, link) {
            Some(file) => format!("{file} or the command line of {name}"),
            None => format!("a makefile or the command line of {name}"),
        },
        "stdbuf" => format!("the command line of {name}"),
        shell if SHELLS.contains(&shell) && link.process.script().is_none_or(is_a_shell) => {
            format!("a command line of {name}")
        }
        _ => name,
    }
}

/// Shells that run `-c`, or a script without a name of its own.
const SHELLS: [&str; 6] = ["sh", "dash", "bash", "zsh", "ksh", "ash"];

fn is_a_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// The first makefile that make opened.
fn makefile<'p>(profile: &'p Profile, link: Link<'p>) -> Option<&'p str> {
    let of = |row: &&needless_model::Row| {
        Some(row.process) == link.id && row.query == Query::Open && row.ok()
    };
    let mut opened = profile.rows.iter().filter(of).map(|row| profile.path(row));
    opened.find(|path| {
        let name = command_of(path.as_bytes());
        name.to_ascii_lowercase().ends_with("makefile") || name.ends_with(".mk")
    })
}

/// "/usr/bin/valgrind, a script"; "/root/.cargo/bin/cargo (/root/.cargo/bin/rustup)"; "/usr/bin/env".
fn name(profile: &Profile, link: Link<'_>) -> String {
    let process = link.process;
    let (Some(command), Some(exe)) = (process.script(), &process.exe) else {
        return process.exe.clone().unwrap_or_else(|| process.title());
    };
    let executed = link.id.and_then(|id| {
        let mut rows =
            profile.rows.iter().filter(|row| row.process == id && row.query == Query::Exec);
        rows.find(|row| row.ok()).map(|row| profile.path(row))
    });
    let path = executed.filter(|path| command_of(path.as_bytes()) == command).unwrap_or(command);
    // Of what was started as ./name, in the words of people.
    let path = path.replace("/./", "/");
    match (is_interpreter(process.name()), is_interpreter(command)) {
        // `sh`: the name of the shell that it is.
        (true, true) => exe.clone(),
        (true, false) if path.starts_with('/') => path + ", a script",
        (true, false) => format!("{path}, a script of {exe}"),
        (false, _) => format!("{path} ({exe})"),
    }
}
