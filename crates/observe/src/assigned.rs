//! Which variables the scripts and makefiles assign that ran other programs: one that assigns the value which is
//! there already looks, from the environments alone, as if it handed the value on.

use needless_host::{Root, Roots};
use needless_model::{Env, ProcId, Profile, Query, Target};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read;

/// Files that are read of one program, and of all.
const OF_ONE: usize = 8;
const OF_ALL: usize = 256;

/// Fills in what the scripts assign of the watched variables that they were started with. Their text is not kept.
pub(crate) fn fill(profile: &mut Profile, roots: &Roots) {
    let parents = profile.processes.iter().filter_map(|process| process.parent);
    let ran: BTreeSet<ProcId> = parents.map(|up| profile.image_of(up)).collect();
    let mut files: BTreeMap<ProcId, Vec<&str>> = BTreeMap::new();
    for row in &profile.rows {
        let read = matches!(row.query, Query::Exec | Query::Open) && row.ok();
        if !read || !ran.contains(&row.process) || !matches!(row.target, Target::Path(_)) {
            continue;
        }
        let path = profile.path(row);
        let of = files.entry(row.process).or_default();
        if of.len() < OF_ONE && (row.query == Query::Exec || is_a_users(path)) {
            of.push(path);
        }
    }
    let mut found: Vec<(ProcId, String)> = Vec::new();
    // Many processes run the same script.
    let (mut scripts, mut known) = (HashMap::new(), HashMap::new());
    let files = files.into_iter().flat_map(|(id, of)| of.into_iter().map(move |path| (id, path)));
    for (id, path) in files.take(OF_ALL) {
        let (Env::Known(set), Some((number, root))) =
            (&profile.process(id).env, roots.of(profile, id))
        else {
            continue;
        };
        let text = scripts.entry((number, path)).or_insert_with(|| script(root, path));
        let Some(text) = text else { continue };
        let assigned = set.keys().filter(|name| {
            *known.entry((number, path, *name)).or_insert_with(|| assigns(text, name))
        });
        found.extend(assigned.map(|name| (id, name.clone())));
    }
    for (id, name) in found {
        profile.processes[id.index()].assigns.insert(name);
    }
}

/// The text of the file `path`, if it can be read and is no program of machine code.
fn script(root: &Root, path: &str) -> Option<Vec<u8>> {
    // Most are, and large.
    let mut start = [0; 4];
    let is_code = root.open(path).ok()?.read_exact(&mut start).is_ok() && start == *b"\x7fELF";
    if is_code { None } else { root.read(path).ok() }
}

/// Neither of the system nor a library.
fn is_a_users(path: &str) -> bool {
    let systems = ["/usr/", "/lib", "/etc/", "/proc/", "/sys/", "/dev/", "/run/", "/var/"];
    !systems.iter().any(|dir| path.starts_with(dir)) && !path.contains(".so")
}

/// Whether the text gives `name` a value, as a shell, make, Perl or Python does.
fn assigns(text: &[u8], name: &str) -> bool {
    let word = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
    let starts = (0..text.len().saturating_sub(name.len()))
        .filter(|at| text[*at] == name.as_bytes()[0] && text[*at..].starts_with(name.as_bytes()));
    for at in starts {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        if word(before.last()) || word(after.first()) {
            continue;
        }
        // VAR=x; VAR := x; $ENV{VAR} = x; os.environ["VAR"] = x
        let ends = after.iter().take(6).position(|byte| !b"\"'}]) \t:?+".contains(byte));
        let equals =
            ends.is_some_and(|end| after[end] == b'=' && after.get(end + 1) != Some(&b'='));
        let line = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let comment = line.trim_ascii_start().starts_with(b"#");
        if !comment && (equals || line.trim_ascii_end().ends_with(b"setenv")) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assignment_in_any_language_is_seen() {
        for (text, is) in [
            ("export CPATH=/x\n", true),
            ("a\nCPATH := /x\n", true),
            ("$ENV{CPATH} = '/x';", true),
            ("os.environ[\"CPATH\"] = '/x'\n", true),
            ("setenv CPATH /x\n", true),
            ("echo $CPATH\n", false),
            ("# CPATH=/x\n", false),
            ("[ \"$CPATH\" == x ]\n", false),
            ("MY_CPATH=/x CPATHS=/x\n", false),
            ("CPATH", false),
        ] {
            assert_eq!(assigns(text.as_bytes(), "CPATH"), is, "{text}");
        }
    }
}
