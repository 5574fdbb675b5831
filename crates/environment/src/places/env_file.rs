//! Files of variables for containers: `--env-file` of podman-run(1) and docker-run(1), `EnvironmentFile=` of a quadlet,
//! `env_file:` of a compose file.
//!
//! These readers differ: one keeps quotes, another expands `$`. Only values that all read alike are written.

use super::{Edit, FoundValue, bare, is_plain, lines, put_line, splice};
use crate::container::{Given, given};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::places::unit_command::location_of_container;
use crate::readers::ReadBy;
use crate::started_by::StartedBy;
use needless_host::Root;
use needless_model::Confidence;

/// A file of variables for containers.
pub static ENV_FILE: Place = Place {
    name: "env file",
    files: "NAME.env: what --env-file, env_file: or EnvironmentFile= of a container names",
    reaches: "the containers that are started with it; what -e or environment: sets is stronger",
    read_by: ReadBy::Anyone(|_| Ok(&ENV_FILE)),
    effect: "a new container",
    find,
    put,
    is_file: |path, _| path.ends(".env"),
    locate,
    outside_of_container: true,
    ..DEFAULT
};

/// `NAME=VALUE` up to the end of the line, `#` at the start of a line for a comment. The value is certain if all
/// readers have it as it is written.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let open = open_quote(text);
    let all = lines(text).into_iter().map(|line| bare(line).trim_start()).enumerate();
    let set = all.filter_map(|(at, line)| {
        let (name, value) = line.split_once('=')?;
        let certain = is_plain(value) && open.is_none_or(|open| at < open);
        (name == variable).then(|| FoundValue { certain, ..FoundValue::set(at, value) })
    });
    set.collect()
}

/// The first line, from 0, with a quoted value that does not end there.
fn open_quote(text: &str) -> Option<usize> {
    let is_open = |line: &&str| {
        let Some((name, value)) = bare(line).split_once(['=', ':']) else { return false };
        let value = value.trim_start();
        let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return false;
        };
        let inside = value[1..].replace("\\\"", "").replace("\\'", "");
        !name.trim_start().starts_with('#') && !inside.contains(quote)
    };
    lines(text).iter().position(is_open)
}

/// # Errors
/// When not all readers of such a file would read the value alike.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if edit.value.is_some_and(|value| value.is_empty() || !is_plain(value)) {
        return Err("podman, docker and compose read such a value differently there: set it by \
                    hand, or elsewhere"
            .into());
    }
    if let Some(at) = open_quote(text) {
        return Err(format!(
            "line {}: a quote is not closed there, so that some readers take the lines below for a part of its value: \
             edit it by hand",
            at + 1
        )
        .into());
    }
    let found = find(text, edit.variable, None).into_iter().map(|found| found.line as usize);
    let found: Vec<_> = found.map(|line| (line - 1, line)).collect();
    let line = edit.value.map(|value| format!("{}={value}", edit.variable));
    if let (Some(line), Some((from, to))) = (&line, found.last())
        && let Some(comment) = comment(bare(lines(text)[*from]))
    {
        // To some readers it is a part of the value: above, it is none to any.
        return Ok(splice(text, *from, *to, &[comment.to_owned(), line.clone()]));
    }
    Ok(put_line(text, edit, &found, line))
}

/// The comment behind a value, as compose and a shell read it.
fn comment(line: &str) -> Option<&str> {
    let (_, value) = line.split_once('=')?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let rest = quote.map_or(Some(value), |quote| Some(value[1..].split_once(quote)?.1))?;
    Some(&rest[rest.find(" #")? + 1..])
}

/// For a container of which the command that started it is known: from its unit, or from podman.
fn locate(query: &LocationQuery<'_>) -> Vec<Destination> {
    let StartedBy::Container { label, unit, .. } = query.started_by else { return Vec::new() };
    let Ok(root) = Root::own() else { return Vec::new() };
    if let Some(unit) = unit
        && let Some(location) = location_of_container(&root, query, unit)
    {
        return vec![location];
    }
    let variable = query.variable;
    let why = match given(&root, query.started_by, variable) {
        None => return Vec::new(),
        Some(Given::File(file, _)) => {
            let why = format!("{label} was made with it (--env-file)");
            return vec![Destination::new(&ENV_FILE, file, why, Confidence::High)];
        }
        Some(Given::Option(_)) => {
            format!(
                "the command that made {label} sets it: make it again with another -e {variable}=…"
            )
        }
        Some(Given::Image(name, _)) => format!(
            "image {name} sets it (ENV): make {label} again with -e {variable}=…, or change the Dockerfile (--in \
             Dockerfile) and build the image again"
        ),
        Some(Given::Nothing) => format!("make {label} again with -e {variable}=…"),
    };
    let location = Destination::new(&ENV_FILE, None, why, Confidence::Low);
    vec![Destination { label: "the container's command".into(), ..location }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_readers_read_alike() {
        let text = "# TZ=no\nA=1\nTZ=\"Asia/Tokyo\"\n";
        let found = find(text, "TZ", None);
        assert_eq!((found[0].line, found[0].certain), (3, false));
        let edit = |value| Edit { variable: "TZ", value, part: None };
        let new = put(text, &edit(Some("UTC"))).unwrap();
        assert_eq!(new, "# TZ=no\nA=1\nTZ=UTC\n");
        assert_eq!(put(&new, &edit(None)).unwrap(), "# TZ=no\nA=1\n");
        for (old, kept) in
            [("TZ=a # by me", "# by me\n"), ("TZ='a # b' # c", "# c\n"), ("TZ='a # b'", "")]
        {
            let new = put(&format!("A=1\n{old}\nB=2\n"), &edit(Some("UTC"))).unwrap();
            assert_eq!(new, format!("A=1\n{kept}TZ=UTC\nB=2\n"));
        }
        for value in ["a b", "$X", "'q'", "a#b", ""] {
            assert!(put(text, &edit(Some(value))).is_err(), "{value}");
        }
        for text in [
            "A=\"x\nTZ=a\n\"\n",
            "A= 'x\nTZ=a\n'\n",
            "A=\"x\\\"\nTZ=a\n\"\n",
            "A='x\\'\nTZ=a\n'\n",
            "A: \"x\nTZ=a\n\"\n",
        ] {
            assert!(!find(text, "TZ", None)[0].certain, "{text}");
            let said = put(text, &edit(Some("UTC"))).unwrap_err().to_string();
            assert!(said.starts_with("line 1: a quote is not closed"), "{said}");
        }
        assert!(put("A=\"x\"\nB='y' # it's\n# C='\n", &edit(Some("UTC"))).is_ok());
    }
}
