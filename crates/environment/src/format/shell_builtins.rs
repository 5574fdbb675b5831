//! What the words stand for with which a command of a shell begins.

/// Builtin commands that change no variable and end nothing.
const PLAIN: [&str; 14] = [
    ":", "true", "false", "test", "[", "echo", "pwd", "cd", "umask", "ulimit", "hash", "type",
    "times", "wait",
];
/// What may end the shell itself.
const KILLS: [&str; 5] = ["kill", "pkill", "killall", "skill", "suspend"];
/// The other words with which a shell does something itself: sh, bash, ksh and zsh.
const OTHERS: &str = " . alias autoload bg bind break builtin caller chdir command compgen complete compopt continue \
    coproc declare dirs disable disown echotc echoti emulate enable eval exec exit export fc fg float foreach function \
    functions getln getopts hist history integer jobs let limit local logout mapfile nameref nocorrect noglob popd \
    print printf pushd pushln r read readarray readonly rehash repeat return sched select set setopt shift shopt source \
    stop time trap typeset ttyctl unalias unfunction unhash unlimit unset unsetopt vared whence where which zcompile \
    zle zmodload zparseopts zstyle ";

/// What a command's name stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program: it changes nothing in the shell that starts it.
    Program,
    /// A builtin that does not either.
    Plain,
    Kills,
    /// Another builtin, or a word that is known only when the file is read.
    Other(&'static str),
}

pub(super) fn kind(name: &str) -> Kind {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./+-~@".contains(c);
    if PLAIN.contains(&name) {
        return Kind::Plain;
    }
    if KILLS.contains(&name.rsplit('/').next().unwrap_or(name)) {
        return Kind::Kills;
    }
    if name.is_empty() || !name.chars().all(plain) || name == "]]" {
        return Kind::Other("");
    }
    match OTHERS.split_ascii_whitespace().find(|other| *other == name) {
        Some(other) => Kind::Other(other),
        None => Kind::Program,
    }
}

/// Whether options of `set` may end the shell later; `None` for those that change more than that.
pub(super) fn options(arguments: &[String]) -> Option<bool> {
    let mut ends = false;
    let mut arguments = arguments.iter();
    while let Some(word) = arguments.next() {
        let letters = word.strip_prefix(['-', '+'])?;
        if letters.is_empty() || !letters.chars().all(|c| "euxvfCho".contains(c)) {
            return None;
        }
        ends |= word.starts_with('-') && letters.contains(['e', 'u']);
        if letters.contains('o') {
            let known = ["pipefail", "errexit", "nounset", "xtrace", "verbose", "noglob"];
            if !known.contains(&arguments.next()?.as_str()) {
                return None;
            }
            ends = true;
        }
    }
    Some(ends)
}
