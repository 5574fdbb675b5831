//! supervisord's configuration: `environment=` of `[program:x]` and `[supervisord]`:
//! <https://supervisord.org/configuration.html>.

use super::{Edit, FoundValue, bare, lines, splice};
use crate::activation::{Activation, WorkerQuery, newest};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::readers::ReadBy;
use crate::sources::Sources;
use crate::started_by::StartedBy;
use needless_host::{Root, read_environment};
use needless_model::{Confidence, Visibility, WatchList};

/// A program of supervisord.
pub static SUPERVISORD: Place = Place {
    name: "supervisord",
    files: "/etc/supervisor/supervisord.conf, /etc/supervisor/conf.d/*.conf",
    reaches: "the program of that section",
    read_by: ReadBy::Parts("program"),
    effect: "supervisorctl reread, then supervisorctl update GROUP (a restart keeps the old environment)",
    find,
    put,
    elsewhere,
    is_file: |path, _| path.below("/supervisor/") || path.name() == "supervisord.conf",
    scan,
    locate: |query| match query.started_by {
        StartedBy::Supervisord => vec![program_location(query)],
        _ => Vec::new(),
    },
    reload: &Activation::Reread,
    worker: Some(newest_process),
    parts: |text| programs(text).into_iter().map(str::to_owned).collect(),
    has_parts: true,
    ..DEFAULT
};

/// A key `environment` with its lines.
struct EnvironmentKey {
    from: usize,
    to: usize,
    pairs: Vec<(String, String)>,
    /// Whether the value was understood to its end.
    whole: bool,
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.split_once(']').map(|(name, _)| name.trim())
}

/// The first line of the section `name` after its head, and the line after its end.
fn range(all: &[&str], name: &str) -> Option<(usize, usize)> {
    let head = all.iter().position(|line| section(line) == Some(name))?;
    let rest = all[head + 1..].iter().position(|line| section(line).is_some());
    Some((head + 1, rest.map_or(all.len(), |rest| head + 1 + rest)))
}

fn entry(all: &[&str], from: usize, to: usize) -> Option<EnvironmentKey> {
    let mut found = None;
    let mut at = from;
    while at < to {
        let line = bare(all[at]);
        let start = at;
        at += 1;
        if line.starts_with([' ', '\t', '#', ';']) {
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else { continue };
        let mut value = cut(value).to_owned();
        while at < to {
            let more = bare(all[at]);
            if !more.starts_with([' ', '\t']) || more.trim().is_empty() {
                break;
            }
            value.push('\n');
            value.push_str(cut(more.trim()));
            at += 1;
        }
        // Python's configparser ignores the case of keys.
        if key.trim().eq_ignore_ascii_case("environment") {
            let (pairs, whole) = pairs(&value);
            found = Some(EnvironmentKey { from: start, to: at, pairs, whole });
        }
    }
    found
}

/// Without a comment: ` ;` and what follows.
fn cut(value: &str) -> &str {
    value.split(" ;").next().unwrap_or(value)
}

/// `K=v,K2="x y"`, and whether nothing was left over.
fn pairs(value: &str) -> (Vec<(String, String)>, bool) {
    let mut pairs = Vec::new();
    let mut rest = value.trim_matches([' ', '\t', '\n', ',']);
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once('=') else { return (pairs, false) };
        let after = after.trim_start();
        let (value, behind) = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => match after[1..].split_once(quote) {
                Some(found) => found,
                None => return (pairs, false),
            },
            _ => after.split_at(after.find([',', '\n']).unwrap_or(after.len())),
        };
        pairs.push((name.trim().to_owned(), value.trim_end_matches('\n').replace("%%", "%")));
        rest = behind.trim_start_matches([' ', '\t', '\n', ',']);
    }
    (pairs, true)
}

/// The names of the programs of a file.
pub(crate) fn programs(text: &str) -> Vec<&str> {
    text.lines().filter_map(section).filter_map(|name| name.strip_prefix("program:")).collect()
}

fn name_of(part: Option<&str>) -> String {
    part.map_or_else(|| "supervisord".to_owned(), |part| format!("program:{part}"))
}

/// Where the program `part` (or supervisord itself) sets `variable`.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let all = lines(text);
    let Some((from, to)) = range(&all, &name_of(part)) else { return Vec::new() };
    let Some(entry) = entry(&all, from, to) else { return Vec::new() };
    let pair = entry.pairs.iter().rfind(|(name, _)| name == variable);
    pair.map(|(_, value)| FoundValue {
        certain: !value.contains("%("),
        ..FoundValue::set(entry.from, value.clone())
    })
    .into_iter()
    .collect()
}

/// The file may include others, and may be included by another one: all programs get what `[supervisord]` sets.
fn elsewhere(text: &str, _part: Option<&str>) -> Option<(u32, &'static str)> {
    let at = |wanted| text.lines().position(|line| section(line) == Some(wanted));
    match (at("include"), at("supervisord")) {
        (Some(line), _) => Some((super::number(line), "include")),
        (None, Some(_)) => None,
        (None, None) => Some((1, "supervisord.conf, which includes this file")),
    }
}

/// Rewrites the key `environment=` of the program.
///
/// # Errors
/// When there is no such program, the value cannot be quoted, or the existing line is not understood.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if edit.value.is_some_and(|value| value.contains(['"', ';']) || value.contains("%(")) {
        return Err("supervisord cannot hold a value with double quotes, ; or %( in it".into());
    }
    let all = lines(text);
    let name = name_of(edit.part);
    let Some((from, to)) = range(&all, &name) else {
        return Err(format!("the file has no section [{name}]").into());
    };
    let old = entry(&all, from, to);
    if old.as_ref().is_some_and(|old| !old.whole) {
        return Err(
            format!("environment= of [{name}] is not in the form that supervisord expects: look at it by hand").into()
        );
    }
    let (at, until, mut pairs) = match old {
        Some(old) => (old.from, old.to, old.pairs),
        None => (from, from, Vec::new()),
    };
    let indented = |line: &&str| line.starts_with([' ', '\t']) && !line.trim().is_empty();
    if all.get(until).copied().map(bare).as_ref().is_some_and(indented) {
        // Below our line it would continue our value.
        return Err(format!("[{name}] begins with an indented line: edit it by hand").into());
    }
    match (pairs.iter_mut().rfind(|(name, _)| name == edit.variable), edit.value) {
        (Some(pair), Some(value)) => pair.1 = value.to_owned(),
        (None, Some(value)) => pairs.push((edit.variable.to_owned(), value.to_owned())),
        (Some(_), None) => pairs.retain(|(name, _)| name != edit.variable),
        (None, None) => return Ok(text.to_owned()),
    }
    if pairs.iter().any(|(_, value)| value.contains('"')) {
        return Err(
            format!("environment= of [{name}] holds quotes in quotes: edit it by hand").into()
        );
    }
    // supervisord expands `%(ENV_X)s`; a single % has to be doubled.
    let percent = |value: &str| {
        if value.contains("%(") { value.to_owned() } else { value.replace('%', "%%") }
    };
    if let Some(value) = edit.value
        && let Some(new) = over_lines(&all[at..until], edit.variable, &percent(value))
    {
        let new = splice(text, at, until, &new);
        let all = lines(&new);
        let now = range(&all, &name).and_then(|(from, to)| entry(&all, from, to));
        if now.is_some_and(|now| now.whole && now.pairs == pairs) {
            return Ok(new);
        }
    }
    let words: Vec<_> =
        pairs.iter().map(|(name, value)| format!("{name}=\"{}\"", percent(value))).collect();
    let new: &[String] =
        if words.is_empty() { &[] } else { &[format!("environment={}", words.join(","))] };
    Ok(splice(text, at, until, new))
}

/// A key over several lines with the value of one variable changed, or with a line more; the others stay as they are.
fn over_lines(key: &[&str], variable: &str, value: &str) -> Option<Vec<String>> {
    let mut new: Vec<String> = key.iter().map(|line| bare(line).to_owned()).collect();
    let [_, .., last] = &new[..] else { return None };
    let pair = format!("{variable}=\"{value}\"");
    let at = |line: &str| {
        let code = cut(line);
        let mut found = code.match_indices(variable).map(|(at, _)| at);
        found.find_map(|at| {
            let begins =
                code[..at].trim_end().ends_with([',', '=', ':']) || code[..at].trim().is_empty();
            let rest = code[at + variable.len()..].trim_start().strip_prefix('=')?.trim_start();
            let end = match rest.chars().next() {
                Some(quote @ ('"' | '\'')) => rest[1..].find(quote)? + 2,
                _ => rest.find(',').unwrap_or(rest.trim_end().len()),
            };
            begins.then(|| (at, code.len() - rest.len() + end))
        })
    };
    if let Some((n, (from, to))) = (0..new.len()).rev().find_map(|n| Some((n, at(&new[n])?))) {
        new[n].replace_range(from..to, &pair);
        return Some(new);
    }
    let indent: String = last.chars().take_while(|c| c.is_whitespace()).collect();
    let code = cut(last).trim_end().len();
    let n = new.len() - 1;
    if !new[n][..code].ends_with(',') {
        new[n].insert(code, ',');
    }
    new.push(format!("{indent}{pair}"));
    Some(new)
}

/// supervisord's files, as Debian has them; `-c FILE` of a running one is not followed.
fn files(root: &Root) -> Vec<String> {
    let mut files =
        vec!["/etc/supervisor/supervisord.conf".to_owned(), "/etc/supervisord.conf".into()];
    let below = root.list("/etc/supervisor/conf.d").unwrap_or_default();
    let conf = below.into_iter().filter(|(name, _)| name.ends_with(".conf"));
    files.extend(conf.map(|(name, _)| format!("/etc/supervisor/conf.d/{name}")));
    files
}

fn scan(sources: &mut Sources<'_>) {
    for file in files(sources.root) {
        let Some(text) = sources.text(&file) else { continue };
        for part in std::iter::once(None).chain(programs(&text).into_iter().map(Some)) {
            let reaches = match (sources.started_by, part) {
                (StartedBy::Supervisord, None) => {
                    Visibility::Yes("supervisord gives it to all programs".into())
                }
                (StartedBy::Supervisord, Some(part)) => {
                    Visibility::Perhaps(format!("if it is the program {part}"))
                }
                _ => Visibility::No("only for what supervisord starts".into()),
            };
            sources.file(&file, find, part, reaches);
        }
    }
}

/// The process of the program `part` that supervisord started last. `supervisorctl update` starts the programs anew whose
/// section has changed.
fn newest_process(of: &WorkerQuery<'_>) -> Option<u32> {
    let part = of.part?;
    let is_its = |pid: u32| {
        let marks =
            read_environment(pid, &WatchList::default()).map(|(info, _)| (info.parent, info.marks));
        marks.filter(|(_, marks)| {
            ["SUPERVISOR_GROUP_NAME", "SUPERVISOR_PROCESS_NAME"]
                .iter()
                .any(|mark| marks.get(*mark).is_some_and(|name| name == part))
        })
    };
    // What the program itself started has its variables.
    newest(|pid| is_its(pid).is_some_and(|(parent, _)| is_its(parent).is_none()))
}

/// What `supervisorctl update GROUP` does beside: it removes the group and adds it again, which starts what has
/// `autostart` (https://supervisord.org/subprocess.html).
fn update_caveat(group: &str) -> String {
    format!(
        "A restart is one of every program of the group {group} of supervisord, and of each of its processes (numprocs): \
         it also starts those that were stopped, but for autostart=false."
    )
}

fn program_location(query: &LocationQuery<'_>) -> Destination {
    let marks = query.process().map(|process| &process.marks);
    let of = |mark: &str| marks.and_then(|marks| marks.get(mark)).map(String::as_str);
    // A program that is in no [group:x] is its own group (https://supervisord.org/subprocess.html).
    let (group, process) = (of("SUPERVISOR_GROUP_NAME"), of("SUPERVISOR_PROCESS_NAME"));
    let found = [group, process].into_iter().flatten().find_map(|name| {
        let has = |file: &String| {
            let text = query.root.read(file).unwrap_or_default();
            programs(&String::from_utf8_lossy(&text)).contains(&name)
        };
        Some((name, files(query.root).into_iter().find(has)?))
    });
    match (group, found) {
        (Some(group), Some((name, file))) => {
            let why = format!("supervisord starts it as its program {name}");
            // Without the group, it would also apply what others have changed.
            Destination::new(&SUPERVISORD, file, why, Confidence::High)
                .part(name)
                .activation(Activation::Update(group.to_owned()))
                .caveat(&update_caveat(group))
        }
        _ => Destination::new(
            &SUPERVISORD,
            None,
            "supervisord starts it, but the file that describes it was not found: needless fix --in FILE --part PROGRAM",
            Confidence::Medium,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program that is its own group may have several processes (numprocs), and some of them may be stopped.
    #[test]
    fn an_update_says_what_it_starts() {
        for group in ["web", "both"] {
            let said = update_caveat(group);
            assert!(
                said.contains("numprocs") && said.contains("those that were stopped"),
                "{said}"
            );
        }
    }

    #[test]
    fn the_key_in_any_case() {
        for key in ["Environment:", "ENVIRONMENT =", "environment :", "Environment="] {
            let text = format!("[program:web]\n{key} A=1,TZ=\"UTC\"\ncommand=x\n");
            let value = find(&text, "TZ", Some("web")).pop().and_then(|found| found.value);
            assert_eq!(value.as_deref(), Some("UTC"), "{key}");
            let edit = Edit { variable: "TZ", value: Some("Asia/Tokyo"), part: Some("web") };
            let new = put(&text, &edit).unwrap();
            let only = "[program:web]\nenvironment=A=\"1\",TZ=\"Asia/Tokyo\"\ncommand=x\n";
            assert_eq!(new, only, "{key}");
        }
    }

    #[test]
    fn pairs_over_lines_with_comments() {
        let text = "[supervisord]\nenvironment=A=1\n[program:web]\ncommand=x\nenvironment=B=\"x, y\",\n  TZ='Asia/Tokyo',P=50%% ; note\n[program:db]\n";
        let value = |part| find(text, "TZ", Some(part)).pop().and_then(|f| f.value);
        assert_eq!(value("web").as_deref(), Some("Asia/Tokyo"));
        assert_eq!(value("db"), None);
        assert_eq!(programs(text), ["web", "db"]);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some("web") };
        let new = put(text, &edit).unwrap();
        assert_eq!(new, text.replace("'Asia/Tokyo'", "\"UTC\""));
        let edit = Edit { variable: "X", ..edit };
        let new = put(text, &edit).unwrap();
        assert_eq!(new, text.replace("P=50%% ; note\n", "P=50%%, ; note\n  X=\"UTC\"\n"));
        let edit = Edit { value: None, variable: "TZ", ..edit };
        let new = put(text, &edit).unwrap();
        assert!(new.contains("environment=B=\"x, y\",P=\"50%%\"\n[program:db]"), "{new}");
    }
}
