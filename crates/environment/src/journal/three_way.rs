//! Takes a change out of a text that others have changed since: a three-way merge, line by line.
//!
//! Our change is the difference between the texts before and after it. It is taken out of the present text where that
//! still has all our lines; everything else of the present text stays. Then the reader of the file decides: it must find
//! our variable as it was before, and every other one as it is now.

use crate::checker::check;
use crate::place::Place;
use crate::place_list::place_of_file;
use crate::places::check_name;
use crate::redact::may_show_old;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::BTreeSet;
use std::ops::Range;

/// So many names in lines of others are looked up in the old and the new text: each time the whole text is read.
const NAMES: usize = 32;

/// The three texts.
pub(super) struct Texts<'a> {
    /// From before our change; empty where there was no file.
    pub(super) before: &'a str,
    /// What our change made of it.
    pub(super) after: &'a str,
    /// As it is now.
    pub(super) now: &'a str,
    /// The part of the text that our change was about, where it names one.
    pub(super) part: Option<&'a str>,
}

/// A present text without our change.
pub(super) struct TakenOut {
    pub(super) text: String,
    /// The variables that our change was about, by the reader of the file; none where no reader is known.
    pub(super) variables: Vec<String>,
    /// Their values in the present text and without our change, as far as a screen may show them.
    pub(super) values: Vec<String>,
}

/// The present text of the file `path` without our change; `None` where our lines were touched or are gone, and where the
/// file's reader would not find what it found before our change.
pub(super) fn take_out(path: &str, texts: &Texts<'_>) -> Option<TakenOut> {
    let text = lines_taken_out(texts)?;
    let Some(place) = place_of_file(path, texts.after) else {
        return Some(TakenOut { text, variables: Vec::new(), values: Vec::new() });
    };
    // Its own checker may have refused the present text as well.
    if check(place, path, &text).is_err() && check(place, path, texts.now).is_ok() {
        return None;
    }
    let variables = variables(place, texts, &text)?;
    let mut values = Vec::new();
    for (name, text) in variables.iter().flat_map(|name| [(name, texts.now), (name, text.as_str())])
    {
        let found = place.find(text, name, None).into_iter().filter_map(|found| found.value);
        values.extend(found.filter(|value| may_show_old(name, value)));
    }
    Some(TakenOut { text, variables, values })
}

/// The lines of a text without their ends, so that a text without a last one is no other text.
fn bare_lines(text: &str) -> Vec<&str> {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}

fn lines_taken_out(texts: &Texts<'_>) -> Option<String> {
    let [before, after, now] = [texts.before, texts.after, texts.now].map(bare_lines);
    let (mut removed, mut added) = (BTreeSet::new(), Vec::new());
    let mut reached = 0;
    for op in capture_diff_slices(Algorithm::Myers, &before, &after) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (at, ours) = lines_in(&after, op.new_range(), &now)?;
        if at < reached {
            return None;
        }
        reached = ours.last().map_or(at, |last| last + 1);
        removed.extend(ours);
        added.push((at, &before[op.old_range()]));
    }
    let stays = |at: usize| !removed.contains(&at) || opens_for_others(&now, &removed, at);
    let mut out: Vec<&str> = Vec::new();
    let mut added = added.into_iter().peekable();
    for at in 0..=now.len() {
        while let Some((_, lines)) = added.next_if(|(place, _)| *place == at) {
            out.extend(lines);
        }
        out.extend(now.get(at).filter(|_| stays(at)));
    }
    let mut text = out.join("\n");
    // As the old text ended, where its end is the end again.
    let same_end =
        out.last() == before.last() && texts.now.ends_with('\n') == texts.after.ends_with('\n');
    let ended = if same_end { texts.before } else { texts.now };
    if !out.is_empty() && ended.ends_with('\n') {
        text.push('\n');
    }
    Some(text)
}

/// The line of `now` at which our lines `range` of `after` begin, and which they are; where our change only removed lines,
/// the one above which they stood. `None` where they are not there, or it is not clear which they are.
fn lines_in(after: &[&str], range: Range<usize>, now: &[&str]) -> Option<(usize, Vec<usize>)> {
    let ours = &after[range.clone()];
    // How many lines beside our lines are as they were, if these are at `at`.
    let around = |at: usize| {
        let same = |(a, b): &(&&str, &&str)| a == b;
        let above = now[..at].iter().rev().zip(after[..range.start].iter().rev());
        let below = now[at + ours.len()..].iter().zip(&after[range.end..]);
        above.take_while(same).count() + below.take_while(same).count()
    };
    let last = (now.len() + 1).checked_sub(ours.len())?;
    let all = (0..last).filter(|at| now[*at..].starts_with(ours));
    let mut found: Vec<(usize, usize)> = all.map(|at| (around(at), at)).collect();
    found.sort_unstable();
    match found[..] {
        // Somebody may have written between them.
        [] => apart(after, range, now),
        [.., (second, _), (first, _)] if first == second => None,
        [.., (0, _)] if ours.is_empty() && !now.is_empty() => None,
        [.., (_, at)] => Some((at, (at..at + ours.len()).collect())),
    }
}

/// The same for lines that do not stand together any more.
fn apart(after: &[&str], range: Range<usize>, now: &[&str]) -> Option<(usize, Vec<usize>)> {
    let mut found = Vec::new();
    for op in capture_diff_slices(Algorithm::Myers, after, now) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            let ours = range.start.max(old_index)..range.end.min(old_index + len);
            found.extend(ours.map(|at| at - old_index + new_index));
        }
    }
    let at = found.first().copied()?;
    (found.len() == range.len()).then_some((at, found))
}

/// Whether our line `at` begins what lines of others now belong to: the section of a unit, or a block of YAML.
fn opens_for_others(now: &[&str], removed: &BTreeSet<usize>, at: usize) -> bool {
    let line = now[at].trim_end();
    let says = |at: &usize| {
        let text = now[*at].trim();
        !removed.contains(at) && !text.is_empty() && !text.starts_with(['#', ';'])
    };
    let Some(next) = (at + 1..now.len()).find(says).map(|at| now[at]) else { return false };
    let indent = |line: &str| line.len() - line.trim_start().len();
    if line.starts_with('[') && line.ends_with(']') {
        return !next.starts_with('[');
    }
    let item = next.trim_start().starts_with("- ");
    line.ends_with(':') && (indent(next) > indent(line) || item && indent(next) == indent(line))
}

/// The variables that our change was about, if the reader finds them in `new` as they were before it, and all others that
/// are in the changed lines as it does now: in the whole text, and in each part of it.
fn variables(place: &Place, texts: &Texts<'_>, new: &str) -> Option<Vec<String>> {
    let all = (place.parts)(texts.after);
    // A job has another number where others added one.
    let own = texts.part.filter(|_| !place.order_matters);
    let parts = || {
        let all = all.iter().map(|part| Some(part.as_str()));
        std::iter::once(None).chain(own.map(Some)).chain(all)
    };
    let mut ours = Vec::new();
    for name in names_in_difference(texts.before, texts.after, usize::MAX) {
        let mut is_ours = false;
        for part in parts() {
            let [before, after, now, then] = [texts.before, texts.after, texts.now, new]
                .map(|text| place.find(text, &name, part).pop().map(|last| last.value));
            is_ours |= before != after;
            // Without a name it is the only one there is, and others may have added a second one.
            let is_same = before == after || (own.is_some() && part.is_none());
            let is_back = before != after && now == after && then == before;
            (is_back || is_same && now == then).then_some(())?;
        }
        ours.extend(is_ours.then_some(name));
    }
    let all = |text: &str, name: &str| -> Vec<_> {
        parts().flat_map(|part| place.find(text, name, part)).map(|found| found.value).collect()
    };
    let mut others = names_in_difference(texts.after, texts.now, NAMES).into_iter();
    let same = |name: String| ours.contains(&name) || all(texts.now, &name) == all(new, &name);
    others.all(same).then_some(ours)
}

/// The words that may be names of variables in the lines that differ, no more than `most`.
fn names_in_difference(old: &str, new: &str, most: usize) -> BTreeSet<String> {
    let (old, new) = (bare_lines(old), bare_lines(new));
    let mut names = BTreeSet::new();
    for op in capture_diff_slices(Algorithm::Myers, &old, &new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let lines = old[op.old_range()].iter().chain(&new[op.new_range()]);
        let words =
            lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
        let words = words.filter(|word| check_name(word).is_ok()).map(str::to_owned);
        words.take(most - names.len()).for_each(|word| _ = names.insert(word));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(path: &str, before: &str, after: &str, now: &str) -> Option<String> {
        take_out(path, &Texts { before, after, now, part: None }).map(|out| out.text)
    }

    /// What `fix` writes into a text, and what is left of it once others have written, too.
    #[test]
    fn our_lines_go_and_those_of_others_stay() {
        const DROP_IN: &str = "/etc/systemd/system/a.service.d/zz-needless.conf";
        let note = crate::places::NOTE;
        let ours = format!("{note}\nTZ=UTC\n");
        let env = "/etc/environment";
        for (path, before, after, now, then) in [
            // Below, above, and beside, also where the last line had no end.
            (env, "A=1\n", format!("A=1\n{ours}"), format!("A=1\n{ours}B=2\n"), "A=1\nB=2\n"),
            (env, "A=1", format!("A=1\n{ours}"), format!("B=2\nA=1\n{ours}"), "B=2\nA=1"),
            (env, "A=1", format!("A=1\n{ours}"), format!("A=1\n{ours}B=2\n"), "A=1\nB=2\n"),
            (env, "A=1", format!("A=1\n{ours}"), format!("A=1\n{ours}B=2"), "A=1\nB=2"),
            (env, "TZ=Asia/Tokyo\n", "TZ=UTC\n".into(), "A=1\nTZ=UTC\nB=2\n".into(), "A=1\nTZ=Asia/Tokyo\nB=2\n"),
            // A later change has the same note.
            (env, "", ours.clone(), format!("{note}\nLANG=C\n{ours}"), &format!("{note}\nLANG=C\n")),
            // Lines that we removed come back where they were.
            (env, "A=1\nTZ=x\nB=2\n", "A=1\nB=2\n".into(), "C=3\nA=1\nB=2\n".into(), "C=3\nA=1\nTZ=x\nB=2\n"),
            (env, "A=1\nTZ=x\n", "A=1\n".into(), "A=1\nC=3\n".into(), "A=1\nTZ=x\nC=3\n"),
            // What belongs to our section or block keeps it.
            (DROP_IN, "", "[Service]\nEnvironment=\"TZ=UTC\"\n".into(), "[Service]\nEnvironment=\"TZ=UTC\"\nNice=5\n".into(), "[Service]\nNice=5\n"),
            (DROP_IN, "", "[Service]\nEnvironment=\"TZ=UTC\"\n".into(), "[Service]\nNice=5\nEnvironment=\"TZ=UTC\"\n".into(), "[Service]\nNice=5\n"),
            (DROP_IN, "", "[Service]\nEnvironment=\"TZ=UTC\"\n".into(), "[Service]\nEnvironment=\"TZ=UTC\"\n[Unit]\nAfter=b.service\n".into(), "[Unit]\nAfter=b.service\n"),
            (
                "/srv/compose.yaml",
                "services:\n  a:\n    image: x\n  b:\n    image: x\n",
                "services:\n  a:\n    environment:\n      TZ: UTC\n    image: x\n  b:\n    image: x\n".into(),
                "services:\n  a:\n    environment:\n      TZ: UTC\n      A: 1\n    image: x\n  b:\n    image: y\n".into(),
                "services:\n  a:\n    environment:\n      A: 1\n    image: x\n  b:\n    image: y\n",
            ),
            ("/var/spool/cron/crontabs/bob", "5 0 * * * a\n", format!("{ours}5 0 * * * a\n"), format!("{ours}5 0 * * * a\n6 0 * * * b\n"), "5 0 * * * a\n6 0 * * * b\n"),
        ] {
            assert_eq!(taken(path, before, &after, &now).as_deref(), Some(then), "{now}");
        }
    }

    /// The only service of a file is named, and somebody adds a second one.
    #[test]
    fn a_part_is_found_by_its_name_where_there_are_more_now() {
        let before = "services:\n  a:\n    image: x\n";
        let after = "services:\n  a:\n    environment:\n      TZ: UTC\n    image: x\n";
        let more = "  b:\n    image: y\n";
        let now = format!("{after}{more}");
        let texts = Texts { before, after, now: &now, part: Some("a") };
        let out = take_out("/srv/compose.yaml", &texts).map(|out| out.text);
        assert_eq!(out, Some(format!("{before}{more}")));
    }

    #[test]
    fn lines_that_others_touched_are_a_conflict() {
        let compose = |a: &str, b: &str| {
            let env = |zone: &str| match zone {
                "" => String::new(),
                zone => format!("    environment:\n      TZ: {zone}\n"),
            };
            format!("services:\n  a:\n    image: x\n{}  b:\n    image: x\n{}", env(a), env(b))
        };
        let compose = (
            "/srv/compose.yaml",
            compose("", "UTC"),
            compose("UTC", "UTC"),
            compose("Asia/Tokyo", "UTC"),
        );
        let env = |before: &str, after: &str, now: &str| {
            ("/etc/environment", before.to_owned(), after.to_owned(), now.to_owned())
        };
        for (path, before, after, now) in [
            env("A=1\n", "A=1\nTZ=UTC\n", "A=1\nTZ=Asia/Tokyo\n"),
            env("A=1\n", "A=1\nTZ=UTC\n", "A=1\n"),
            env("A=1\n", "A=1\nTZ=UTC\n", ""),
            // Still there, and not what counts any more.
            env("A=1\n", "A=1\nTZ=UTC\n", "A=1\nTZ=UTC\nTZ=Asia/Tokyo\n"),
            env("TZ=x\nA=1\n", "A=1\n", "TZ=y\nA=1\n"),
            // Which of the two is ours?
            env("A=1\n", "A=1\nTZ=UTC\n", "TZ=UTC\nB=2\nTZ=UTC\n"),
            compose,
        ] {
            assert_eq!(taken(path, &before, &after, &now), None, "{now}");
        }
    }
}
