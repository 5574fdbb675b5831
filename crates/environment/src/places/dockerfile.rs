//! Dockerfiles: `ENV` of the last stage is what a container starts with, or of the stage that is built (`--target`, which a
//! compose file names).
//! <https://docs.docker.com/reference/dockerfile/>

use super::{Edit, FoundValue, NOTE, bare, lines, splice};
use crate::command_words::{text_decides, words_decide};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Place};
use crate::readers::ReadBy;
use std::ops::Range;

/// An image.
pub static DOCKERFILE: Place = Place {
    name: "Dockerfile",
    files: "Dockerfile, Containerfile",
    reaches: "containers of the image, or with --part of the stage of that name, unless they are started with another value",
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
    has_parts: true,
    ..DEFAULT
};

/// An instruction.
struct Instruction {
    /// Its lines, from 0, with a here-document of it.
    lines: Range<usize>,
    /// Its first word, in capitals.
    word: String,
    /// What follows, without the escapes of lines that go on.
    rest: String,
}

/// A variable of an instruction `ENV`.
struct EnvInstruction {
    line: usize,
    name: String,
    value: String,
    certain: bool,
    /// Whether it is the only variable of an instruction of one line.
    alone: bool,
}

fn instructions(text: &str) -> Vec<Instruction> {
    let mut found = Vec::new();
    let all = lines(text);
    let escape = escape(text);
    let mut at = 0;
    while at < all.len() {
        let from = at;
        let mut line = bare(all[at]).trim_start_matches('\u{feff}').trim().to_owned();
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
        let (word, rest) = (word.to_ascii_uppercase(), rest.trim().to_owned());
        found.push(Instruction { lines: from..at.min(all.len()), word, rest });
    }
    found
}

/// The instructions of the stage with this name or number, from its FROM; without one those of the last.
fn stage<'i>(all: &'i [Instruction], part: Option<&str>) -> Option<&'i [Instruction]> {
    let begins: Vec<usize> =
        (0..all.len()).filter(|at| all[*at].word == "FROM").chain([all.len()]).collect();
    let stages: Vec<&[Instruction]> =
        begins.windows(2).map(|pair| &all[pair[0]..pair[1]]).collect();
    let Some(part) = part else { return stages.last().copied() };
    let is_named = |stage: &&&[Instruction]| {
        let words: Vec<&str> = stage[0].rest.split_ascii_whitespace().collect();
        matches!(words[..], [.., word, name] if word.eq_ignore_ascii_case("as") && name.eq_ignore_ascii_case(part))
    };
    let number = || part.parse().ok().and_then(|at: usize| stages.get(at));
    stages.iter().rfind(is_named).or_else(number).copied()
}

/// The variables that the instructions of a stage set.
fn variables(stage: &[Instruction], escape: char) -> Vec<EnvInstruction> {
    let env = stage.iter().filter(|one| one.word == "ENV");
    env.flat_map(|one| {
        let pairs = pairs(&one.rest, escape);
        let (line, alone) = (one.lines.start, pairs.len() == 1 && one.lines.len() == 1);
        pairs.into_iter().map(move |(name, value, certain)| EnvInstruction {
            line,
            name,
            value,
            certain,
            alone,
        })
    })
    .collect()
}

/// Refuses a stage whose command sets or removes the variable itself.
fn command_leaves(stage: &[Instruction], variable: &str) -> Result<(), EnvironmentError> {
    let last = |word: &str| stage.iter().rfind(|one| one.word == word);
    let [entry, cmd] = [last("ENTRYPOINT"), last("CMD")];
    // A command in brackets is no shell's text.
    let words = |one: &Instruction| serde_json::from_str::<Vec<String>>(&one.rest).ok();
    let decides = match (entry.map(words), cmd.map(words)) {
        (Some(None), _) => entry.is_some_and(|one| text_decides(&one.rest, variable)),
        (None, Some(None)) => cmd.is_some_and(|one| text_decides(&one.rest, variable)),
        (entry, cmd) => {
            let all = entry.into_iter().chain(cmd).flatten().flatten();
            words_decide(&all.collect::<Vec<_>>(), variable)
        }
    };
    match entry.or(cmd).filter(|_| decides) {
        Some(one) => Err(format!(
            "line {}: the command of the image has the last word about {variable}: change it there by hand",
            one.lines.start + 1
        )
        .into()),
        None => Ok(()),
    }
}

/// The image on which a stage is built has variables, too.
fn elsewhere(text: &str, part: Option<&str>) -> Option<(u32, &'static str)> {
    let all = instructions(text);
    let from = stage(&all, part)?.first()?;
    let image = from.rest.split_ascii_whitespace().find(|word| !word.starts_with("--"));
    (image != Some("scratch")).then(|| (super::number(from.lines.start), "FROM"))
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

/// Where the stage `part`, or the last one, sets `variable`; the last counts. What earlier stages or the base image set is
/// not in this text.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let all = instructions(text);
    let Some(stage) = stage(&all, part) else { return Vec::new() };
    let mine = variables(stage, escape(text)).into_iter().filter(|env| env.name == variable);
    mine.map(|env| FoundValue { certain: env.certain, ..FoundValue::set(env.line, env.value) })
        .collect()
}

/// # Errors
/// When a variable cannot be removed because it is set together with others, the stage's own command sets it, or the file
/// is not a Dockerfile or has no such stage.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let (all, instructions) = (lines(text), instructions(text));
    if !instructions.iter().any(|one| one.word == "FROM") {
        return Err("there is no FROM in it: is it a Dockerfile?".into());
    }
    let Some(stage) = stage(&instructions, edit.part) else {
        let part = edit.part.unwrap_or_default();
        return Err(format!("there is no stage {part} (FROM … AS {part})").into());
    };
    command_leaves(stage, edit.variable)?;
    let escape = escape(text);
    let stage_variables = variables(stage, escape);
    let mine: Vec<_> = stage_variables.iter().filter(|env| env.name == edit.variable).collect();
    let Some(value) = edit.value else {
        if mine.iter().any(|env| !env.alone) {
            return Err("it is set together with others: edit that ENV by hand".into());
        }
        return Ok(mine
            .iter()
            .rev()
            .fold(text.to_owned(), |out, env| splice(&out, env.line, env.line + 1, &[])));
    };
    let line = instruction(edit.variable, value, escape);
    if let Some(last) = mine.last()
        && last.alone
    {
        return Ok(splice(text, last.line, last.line + 1, &[line]));
    }
    if all.last().is_some_and(|line| bare(line).trim_end().ends_with(escape)) {
        return Err("its last line is not complete: it ends with an escape".into());
    }
    let end = stage.last().filter(|_| edit.part.is_some()).map_or(all.len(), |one| one.lines.end);
    Ok(splice(text, end, end, &[NOTE.into(), line]))
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
    fn a_stage_by_its_name_or_number() {
        let text = "\u{feff}FROM a AS base\nENV TZ=x\n\n# the next\nfrom base as Dev\nRUN <<EOF\nENV TZ=no\nEOF\nFROM c\n";
        let edit = |part| Edit { variable: "TZ", value: Some("UTC"), part };
        assert_eq!(
            put(text, &edit(Some("base"))).unwrap(),
            text.replace("ENV TZ=x", "ENV TZ=\"UTC\"")
        );
        let ours = format!("EOF\n{NOTE}\nENV TZ=\"UTC\"\nFROM c");
        for part in ["dev", "1"] {
            assert_eq!(put(text, &edit(Some(part))).unwrap(), text.replace("EOF\nFROM c", &ours));
            assert_eq!(find(&text.replace("EOF\nFROM c", &ours), "TZ", Some(part)).len(), 1);
        }
        assert!(
            put(text, &edit(None))
                .unwrap()
                .ends_with("FROM c\n# Set by `needless fix`.\nENV TZ=\"UTC\"\n")
        );
        let said = put(text, &edit(Some("test"))).unwrap_err().to_string();
        assert!(said.starts_with("there is no stage test"), "{said}");
        assert_eq!(find("\u{feff}FROM a\nENV TZ=x\n", "TZ", None), [FoundValue::set(1, "x")]);
    }

    #[test]
    fn a_command_that_sets_it_itself_is_named() {
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        for (command, refused) in [
            ("ENTRYPOINT [\"env\",\"TZ=UTC\",\"prog\"]", true),
            ("CMD TZ=UTC exec prog", true),
            ("ENTRYPOINT [\"env\"]\nCMD [\"TZ=UTC\", \"prog\"]", true),
            ("CMD env TZ=UTC x\nCMD prog TZ=UTC", false),
            ("ENTRYPOINT [\"prog\"]\nCMD [\"TZ=UTC\"]", false),
        ] {
            let said = put(&format!("FROM a\n{command}\n"), &edit);
            assert_eq!(said.is_err(), refused, "{command}");
            let said = said.map_or_else(|why| why.to_string(), |_| String::new());
            assert!(!refused || said.starts_with("line 2: the command of the image"), "{said}");
        }
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
