//! The environment of a user's command, from that of sudo.

use nix::unistd::User;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Variables of an environment, in its order.
pub(super) type Variables = Vec<(OsString, OsString)>;

/// The environment that process `pid` was executed with; empty if it cannot be read.
pub(super) fn environ(pid: i32) -> Variables {
    parse(&fs::read(format!("/proc/{pid}/environ")).unwrap_or_default())
}

fn parse(environ: &[u8]) -> Variables {
    let pairs = environ.split(|byte| *byte == 0).filter_map(|variable| {
        let equals = variable.iter().position(|byte| *byte == b'=')?;
        let own = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        Some((own(&variable[..equals]), own(&variable[equals + 1..])))
    });
    variables(pairs)
}

/// Without the variables of needless.
pub(super) fn variables(all: impl Iterator<Item = (OsString, OsString)>) -> Variables {
    all.filter(|(name, _)| !name.as_bytes().starts_with(b"NEEDLESS_")).collect()
}

/// The differences in `after`: the new value of each variable, `None` if it was removed.
pub(super) fn changes(before: &Variables, after: &Variables) -> Vec<(OsString, Option<OsString>)> {
    let (was, is): (BTreeMap<_, _>, BTreeMap<_, _>) =
        (before.iter().cloned().collect(), after.iter().cloned().collect());
    let set = is.iter().filter(|(name, value)| was.get(*name) != Some(value));
    let set = set.map(|(name, value)| (name.clone(), Some(value.clone())));
    let removed = was.keys().filter(|name| !is.contains_key(*name));
    // Each program between sudo and this one sets `_`.
    set.chain(removed.map(|name| (name.clone(), None))).filter(|(name, _)| name != "_").collect()
}

pub(super) fn changed(mut all: Variables, changes: Vec<(OsString, Option<OsString>)>) -> Variables {
    for (name, value) in changes {
        let at = all.iter().position(|(known, _)| *known == name);
        match (at, value) {
            (Some(at), Some(value)) => all[at].1 = value,
            (None, Some(value)) => all.push((name, value)),
            (Some(at), None) => drop(all.remove(at)),
            (None, None) => {}
        }
    }
    all
}

/// `all` with another user's name and home, and without the variables of sudo about its caller.
pub(super) fn renamed(all: Variables, user: &User) -> Variables {
    let name = OsString::from(&user.name);
    let theirs = [
        ("HOME", user.dir.clone().into_os_string()),
        ("SHELL", user.shell.clone().into_os_string()),
        ("USER", name.clone()),
        ("LOGNAME", name),
    ];
    let sudos = ["SUDO_COMMAND", "SUDO_USER", "SUDO_UID", "SUDO_GID", "SUDO_HOME", "MAIL"];
    let set = theirs.into_iter().map(|(name, value)| (name.into(), Some(value)));
    let unset = sudos.into_iter().map(|name| (name.into(), None));
    changed(all, set.chain(unset).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(of: &[(&str, &str)]) -> Variables {
        of.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn our_own_variables_are_not_the_commands() {
        let found = parse(b"A=1\0NEEDLESS_ALL=1\0B=x=y\0broken\0");
        assert_eq!(found, pairs(&[("A", "1"), ("B", "x=y")]));
    }

    #[test]
    fn what_was_set_between_sudo_and_us_counts() {
        let sudos = pairs(&[("HOME", "/root"), ("A", "1"), ("B", "2"), ("_", "/bin/sh")]);
        let ours = pairs(&[("HOME", "/root"), ("A", "9"), ("TZ", "UTC"), ("_", "needless")]);
        let theirs = pairs(&[("HOME", "/home/u"), ("B", "2")]);
        let found = changed(theirs, changes(&sudos, &ours));
        assert_eq!(found, pairs(&[("HOME", "/home/u"), ("A", "9"), ("TZ", "UTC")]));
    }
}
