//! Dockerfiles: `ENV` of the last stage is what a container starts with.
//! <https://docs.docker.com/reference/dockerfile/>

use super::{Edit, FoundValue, NOTE, bare, lines, splice};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Place};
use crate::readers::ReadBy;

/// An image.
pub static DOCKERFILE: Place = Place {
    name: "Dockerfile",
    files: "Dockerfile, Containerfile",
    reaches: "containers of the image, unless they are started with another value",
    read_by: ReadBy::Parts("container"),
    effect: "a new image and a new container",
    find,
    put,
    elsewhere,
    is_file: |path, _| {
        let name = path.name().to_ascii_lowercase();
        name.starts_with("dockerfile")
            || name.starts_with("containerfile")
            || name.ends_with(".dockerfile")
    },
    of_image: true,
    ..DEFAULT
};

struct EnvInstruction {
    line: usize,
    name: String,
    value: String,
    certain: bool,
    /// Whether it is the only variable of an instruction of one line.
    alone: bool,
}

/// The `ENV` instructions of the last stage.
fn last_stage(text: &str) -> Vec<EnvInstruction> {
    let mut found: Vec<EnvInstruction> = Vec::new();
    let all = lines(text);
    let escape = escape(text);
    let mut at = 0;
    while at < all.len() {
        let from = at;
        let mut line = bare(all[at]).trim().to_owned();
        at += 1;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        while line.ends_with(escape) && at < all.len() {
            line.pop();
            let more = bare(all[at]).trim();
            if !more.starts_with('#') {
                line.push_str(more);
            } else {
                line.push(escape);
            }
            at += 1;
        }
        // The text of a here-document is not part of the Dockerfile.
        for end in heredocs(&line) {
            while at < all.len() && bare(all[at]).trim_start_matches('\t') != end {
                at += 1;
            }
            at += 1;
        }
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((&line, ""));
        match word.to_ascii_uppercase().as_str() {
            "FROM" => found.clear(),
            "ENV" => {
                let pairs = pairs(rest.trim(), escape);
                let alone = pairs.len() == 1 && at == from + 1;
                found.extend(pairs.into_iter().map(|(name, value, certain)| EnvInstruction {
                    line: from,
                    name,
                    value,
                    certain,
                    alone,
                }));
            }
            _ => {}
        }
    }
    found
}

/// The image on which the last stage is built has variables, too.
fn elsewhere(text: &str, _part: Option<&str>) -> Option<(u32, &'static str)> {
    let from = |line: &str| {
        line.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("from "))
    };
    let (at, line) = text.lines().enumerate().filter(|(_, line)| from(line)).last()?;
    (line.split_whitespace().nth(1) != Some("scratch")).then(|| (super::number(at), "FROM"))
}

/// The escape character: a backslash, or the one that a directive in the first lines sets.
pub(crate) fn escape(text: &str) -> char {
    for line in text.lines() {
        // The first other line ends the directives.
        let Some((name, value)) = line.strip_prefix('#').and_then(|line| line.split_once('='))
        else {
            break;
        };
        if name.trim().eq_ignore_ascii_case("escape") {
            return value.trim().chars().next().unwrap_or('\\');
        }
    }
    '\\'
}

fn heredocs(line: &str) -> Vec<String> {
    let instruction = line.split([' ', '\t']).next().unwrap_or_default().to_ascii_uppercase();
    if !matches!(instruction.as_str(), "RUN" | "COPY" | "ADD") {
        return Vec::new();
    }
    let words = line.split("<<").skip(1).filter_map(|rest| {
        let word = rest.trim_start_matches('-').split([' ', '\t', ';', '>']).next()?;
        let word = word.trim_matches(['"', '\'']);
        (!word.is_empty() && !word.starts_with(['<', '$', '('])).then(|| word.to_owned())
    });
    words.collect()
}

/// `K=V K2="x y"`, or the old `K all the rest`.
fn pairs(rest: &str, escape: char) -> Vec<(String, String, bool)> {
    let first = rest.split([' ', '\t']).next().unwrap_or_default();
    if !first.contains('=') {
        let Some((name, value)) = rest.split_once([' ', '\t']) else { return Vec::new() };
        let value = value.trim();
        return vec![(
            name.to_owned(),
            value.to_owned(),
            !value.contains(['$', '"', '\'', escape]),
        )];
    }
    let mut pairs = Vec::new();
    let (mut word, mut quote, mut sure) = (String::new(), None, true);
    let mut chars = rest.chars();
    let mut finish = |word: &mut String, sure: &mut bool| {
        if let Some((name, value)) = word.split_once('=') {
            pairs.push((name.to_owned(), value.to_owned(), *sure));
        }
        word.clear();
        *sure = true;
    };
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_ascii_whitespace() => finish(&mut word, &mut sure),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if c == q => quote = None,
            (None, c) if c == escape => word.extend(chars.next()),
            (Some('"'), c) if c == escape => match chars.next() {
                Some(next) if next == escape || matches!(next, '"' | '$') => word.push(next),
                next => word.extend(std::iter::once(c).chain(next)),
            },
            (quote, c) => {
                sure &= c != '$' || quote == Some('\'');
                word.push(c);
            }
        }
    }
    finish(&mut word, &mut sure);
    pairs
}

/// Where the last stage sets `variable`; the last counts. What earlier stages or the base image set is not in this
/// text.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = last_stage(text).into_iter().filter(|env| env.name == variable);
    all.map(|env| FoundValue { certain: env.certain, ..FoundValue::set(env.line, env.value) })
        .collect()
}

/// # Errors
/// When a variable cannot be removed because it is set together with others, or the file is not a Dockerfile.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let all = lines(text);
    let is_from = |line: &&str| -> bool {
        let word = line.trim_start().split([' ', '\t']).next().unwrap_or_default();
        word.eq_ignore_ascii_case("from")
    };
    if !all.iter().any(is_from) {
        return Err("there is no FROM in it: is it a Dockerfile?".into());
    }
    let stage = last_stage(text);
    let mine: Vec<_> = stage.iter().filter(|env| env.name == edit.variable).collect();
    let Some(value) = edit.value else {
        if mine.iter().any(|env| !env.alone) {
            return Err("it is set together with others: edit that ENV by hand".into());
        }
        return Ok(mine
            .iter()
            .rev()
            .fold(text.to_owned(), |out, env| splice(&out, env.line, env.line + 1, &[])));
    };
    let escape = escape(text);
    let line = instruction(edit.variable, value, escape);
    if let Some(last) = mine.last()
        && last.alone
    {
        return Ok(splice(text, last.line, last.line + 1, &[line]));
    }
    if all.last().is_some_and(|line| bare(line).trim_end().ends_with(escape)) {
        return Err("its last line is not complete: it ends with an escape".into());
    }
    Ok(splice(text, all.len(), all.len(), &[NOTE.into(), line]))
}

/// `ENV` with a value as it is: nothing in it is expanded.
pub(crate) fn instruction(variable: &str, value: &str, escape: char) -> String {
    let before = |c: char| (c == escape || matches!(c, '"' | '$')).then_some(escape);
    let quoted: String = value.chars().flat_map(|c| before(c).into_iter().chain([c])).collect();
    format!("ENV {variable}=\"{quoted}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_stage_counts() {
        let text = "FROM a AS b\nENV TZ=x\nRUN <<EOF\nENV TZ=no\nEOF\nfrom c\nENV A=1 \\\n  TZ=\"Asia/Tokyo\" B=2\nENV OLD all the rest\n";
        assert_eq!(find(text, "TZ", None), [FoundValue::set(6, "Asia/Tokyo")]);
        assert_eq!(find(text, "OLD", None), [FoundValue::set(8, "all the rest")]);
        assert!(!find("FROM a\nENV TZ=$X\n", "TZ", None)[0].certain);
        assert_eq!(find("FROM a\nENV TZ=\"a\\d\"\n", "TZ", None), [FoundValue::set(1, "a\\d")]);
    }

    #[test]
    fn another_escape() {
        let text = "# syntax=docker/dockerfile:1\n# escape=`\nFROM a\nENV A=1 `\n  B=c:\\d\n";
        assert_eq!(find(text, "B", None), [FoundValue::set(3, "c:\\d")]);
        let edit = Edit { variable: "TZ", value: Some("a\"$`\\"), part: None };
        let new = put(text, &edit).unwrap();
        assert!(new.ends_with("ENV TZ=\"a`\"`$``\\\"\n"), "{new}");
        assert_eq!(find(&new, "TZ", None)[0].value.as_deref(), Some("a\"$`\\"));
    }
}
