//! /etc/ld.so.preload, without the libraries that do not exist: ld.so(8). White space and colons separate entries, and
//! `#` begins a comment.

use super::caches::OF_MACHINE;
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::journal::FileChange;
use crate::place::{DEFAULT, Destination, Place};
use std::path::Path;

const FILE: &str = "/etc/ld.so.preload";

pub(super) static PRELOAD_FILE: Place = Place {
    name: "preloaded libraries",
    files: FILE,
    effect: "every program that is started from now on",
    make: Some(make),
    ..DEFAULT
};

/// # Errors
/// When the file cannot be changed.
fn make(location: &Destination, disk: &Disk) -> Result<Plan, EnvironmentError> {
    let Some(before) = disk.read_for_change(FILE)? else {
        return Ok(Plan { what: format!("there is no {FILE}"), ..Plan::default() });
    };
    let text = std::str::from_utf8(&before.bytes).map_err(|_| format!("{FILE}: not UTF-8"))?;
    let missing = |entry: &str| Path::new(entry).try_exists().is_ok_and(|is| !is);
    // A name, or $LIB in a path, is looked for in directories that only the loader knows.
    let gone = |entry: &str| entry.starts_with('/') && !entry.contains('$') && missing(entry);
    let (after, removed) = without(text, &gone);
    let mut plan = Plan {
        what: format!("{} out of {FILE}", removed.join(", ")),
        place: location.label.clone(),
        why: "the loader looks for it at the start of every program, and it does not exist".into(),
        reach: OF_MACHINE.to_owned(),
        effect: location.place.effect,
        showable: text.lines().map(str::to_owned).collect(),
        ..Plan::default()
    };
    if removed.is_empty() {
        plan.what = format!("no library in {FILE} that is named by its path is missing");
        return Ok(plan);
    }
    // An empty file costs each start three calls.
    let after = Some(after).filter(|after| !after.trim().is_empty());
    plan.files.push(FileChange {
        path: FILE.to_owned(),
        after: after.map(String::into_bytes),
        about: before.about,
        before: Some(before.bytes),
    });
    Ok(plan)
}

/// The text without the entries that are `gone`, and these.
fn without(text: &str, gone: &dyn Fn(&str) -> bool) -> (String, Vec<String>) {
    let (mut out, mut removed) = (String::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        let (list, comment) = line.split_at(line.find('#').unwrap_or(line.len()));
        let mut kept = String::new();
        let mut any = false;
        for piece in list.split_inclusive(|c: char| c.is_whitespace() || c == ':') {
            let entry = piece.trim_end_matches(|c: char| c.is_whitespace() || c == ':');
            if !entry.is_empty() && gone(entry) {
                removed.push(entry.to_owned());
                any = true;
            } else {
                kept.push_str(piece);
            }
        }
        if any && kept.trim().is_empty() && comment.is_empty() {
            continue;
        }
        // The end of the line may have gone with its last entry.
        let end = any && comment.is_empty() && line.ends_with('\n') && !kept.ends_with('\n');
        let kept =
            if end { kept.trim_end_matches([':', ' ', '\t']).to_owned() + "\n" } else { kept };
        out += &(kept + comment);
    }
    (out, removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_gone_goes() {
        let gone = |entry: &str| entry.contains("gone");
        for (text, after) in [
            ("/a/gone.so\n", ""),
            ("/a/gone.so", ""),
            ("/a/x.so:/a/gone.so /a/y.so\n", "/a/x.so:/a/y.so\n"),
            ("/a/x.so /a/gone.so\n/a/y.so", "/a/x.so\n/a/y.so"),
            ("# ours\n/a/gone.so # an agent\n", "# ours\n# an agent\n"),
        ] {
            let (is, removed) = without(text, &gone);
            assert_eq!((&*is, removed.len()), (after, 1), "{text:?}");
        }
        assert_eq!(without("# /a/gone.so\n/a/x.so\n", &gone).1.len(), 0);
    }
}
