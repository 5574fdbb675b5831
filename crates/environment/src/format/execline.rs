//! Scripts of execlineb, as s6 runs them: a chain of programs, of which `export NAME VALUE` sets a variable for the rest.
//! <https://skarnet.org/software/execline/execlineb.html>

use super::envdir::env_dir;
use super::{Edit, FoundValue, NOTE, lines, splice};
use crate::channel::Channel;
use crate::config_format::{ConfigFormat, ConfigLocation, DEFAULT, LocationQuery};
use crate::error::EnvironmentError;
use needless_model::Confidence;

/// A script of execlineb.
pub static EXECLINE: ConfigFormat = ConfigFormat {
    name: "execline script",
    files: "a script whose first line names execlineb: run scripts of s6",
    reaches: "the program that the script becomes",
    effect: "s6-svc -r DIRECTORY",
    find,
    put,
    is_file: |_, text| is_execline(text),
    locate: |query| location(query).into_iter().collect(),
    mode: 0o755,
    ..DEFAULT
};

/// Programs after which the environment is another one.
const CHANGE: [&str; 8] = [
    "export",
    "unexport",
    "emptyenv",
    "envfile",
    "s6-envdir",
    "envdir",
    "with-contenv",
    "s6-applyuidgid",
];

fn is_execline(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("#!") && line.contains("execlineb"))
}

/// A word of a script, with its line, from 0.
struct Word {
    line: usize,
    text: String,
    /// Whether it is the first of its line, outside of braces.
    begins: bool,
}

/// The words outside of braces; `None` where a quote or a brace is not closed.
fn words(text: &str) -> Option<Vec<Word>> {
    let mut found: Vec<Word> = Vec::new();
    let mut depth = 0_u32;
    let mut quoted = false;
    let mut word: Option<String> = None;
    for (line, one) in lines(text).into_iter().enumerate() {
        let mut first = true;
        let mut chars = one.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => word.get_or_insert_default().extend(chars.next()),
                '"' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                '#' if !quoted && word.is_none() => break,
                c if !quoted && c.is_ascii_whitespace() => {
                    let Some(text) = word.take() else { continue };
                    match text.as_str() {
                        "{" => depth += 1,
                        "}" => depth = depth.checked_sub(1)?,
                        _ if depth == 0 => found.push(Word { line, text, begins: first }),
                        _ => {}
                    }
                    first = false;
                }
                c => word.get_or_insert_default().push(c),
            }
        }
    }
    // The last line may lack its end.
    let last = lines(text).len().saturating_sub(1);
    found.extend(word.map(|text| Word { line: last, text, begins: false }));
    (depth == 0 && !quoted).then_some(found)
}

/// Where the script sets `variable`, by a line that begins with `export`. `${…}` may stand for something else.
fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let Some(words) = words(text) else { return Vec::new() };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate().filter(|(_, word)| word.begins) {
        let next = |n: usize| words.get(at + n).map(|word| word.text.as_str());
        match (word.text.as_str(), next(1), next(2)) {
            ("export", Some(name), Some(value)) if name == variable => {
                let certain = !value.contains("${");
                found.push(FoundValue { certain, ..FoundValue::set(word.line, value) });
            }
            ("unexport", Some(name), _) if name == variable => {
                found.push(FoundValue::removed(word.line));
            }
            ("emptyenv", ..) => found.push(FoundValue::removed(word.line)),
            _ => {}
        }
    }
    found
}

/// Changes the line `export NAME VALUE`, or adds one below all lines that change the environment, so that it counts.
///
/// # Errors
/// When the script is not understood, sets the variable among other words of a line, or the value has `${` in it.
fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    if !is_execline(text) {
        return Err("its first line does not name execlineb".into());
    }
    let words = words(text).ok_or("a quote or a brace in it is not closed")?;
    let last = find(text, edit.variable, None).pop();
    let old = last.filter(|last| {
        words.iter().any(|w| w.begins && number(w.line) == last.line && w.text == "export")
    });
    let in_line = |line: u32| words.iter().filter(move |word| number(word.line) == line).count();
    if let Some(old) = old.as_ref().filter(|old| in_line(old.line) != 3) {
        return Err(format!(
            "line {} has more than `export NAME VALUE`: edit it by hand",
            old.line
        )
        .into());
    }
    let Some(value) = edit.value else {
        let all = find(text, edit.variable, None);
        return match (old, all.len()) {
            (Some(old), 1) => {
                let at = old.line as usize - 1;
                Ok(splice(text, at, at + 1, &[]))
            }
            (_, 0) => Ok(text.to_owned()),
            _ => Err("several lines set or remove it: edit them by hand".into()),
        };
    };
    if value.contains("${") {
        return Err("execline may put something else in the place of `${`".into());
    }
    let line = format!(
        "export {} \"{}\"",
        edit.variable,
        value.replace('\\', "\\\\").replace('"', "\\\"")
    );
    if let Some(old) = old {
        let at = old.line as usize - 1;
        return Ok(splice(text, at, at + 1, &[line]));
    }
    let mut begins = words.iter().filter(|word| word.begins);
    let changes = |word: &&Word| CHANGE.contains(&word.text.rsplit('/').next().unwrap_or_default());
    let below = begins.rfind(changes).map(|word| word.line);
    let first = words.first().ok_or("it starts no program")?.line;
    // A line that changes the environment and starts the program in one has the last word.
    let at = below.map_or(first, |line| line + 1);
    if !words.iter().any(|word| word.line >= at) {
        return Err(format!(
            "line {at} changes the environment and starts the program: edit it by hand"
        )
        .into());
    }
    Ok(splice(text, at, at, &[NOTE.to_owned(), line]))
}

fn number(line: usize) -> u32 {
    super::number(line)
}

fn location(query: &LocationQuery<'_>) -> Option<ConfigLocation> {
    let Channel::RunScript { dir: Some(dir) } = query.channel else { return None };
    let run = format!("{dir}/run");
    let text = String::from_utf8_lossy(&query.root.read(&run).ok()?).into_owned();
    if !is_execline(&text) || env_dir(&text).is_some() {
        return None;
    }
    let why = format!("its supervisor runs {run}, which becomes the program");
    let location = ConfigLocation::new(&EXECLINE, run, why, Confidence::High);
    Some(location.restart(&["s6-svc", "-r", dir]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "#!/usr/bin/execlineb -P\n# a\nforeground { export TZ no\n echo }\nfdmove -c 2 1\nexport A 1\nprog export TZ no\n";

    #[test]
    fn a_line_of_the_chain() {
        assert_eq!(find(TEXT, "TZ", None), []);
        assert_eq!(find(TEXT, "A", None), [FoundValue::set(5, "1")]);
        let edit = Edit { variable: "TZ", value: Some("a \"b\\"), part: None };
        let new = put(TEXT, &edit).unwrap();
        let line = format!("export A 1\n{NOTE}\nexport TZ \"a \\\"b\\\\\"\nprog");
        assert!(new.contains(&line), "{new}");
        assert_eq!(find(&new, "TZ", None), [FoundValue::set(7, "a \"b\\")]);
        assert_eq!(
            put(&new, &Edit { value: None, ..edit }).unwrap(),
            TEXT.replace("1\nprog", &format!("1\n{NOTE}\nprog"))
        );
        let short = "#!/usr/bin/execlineb -P\nprog\n";
        assert!(put(short, &edit).unwrap().ends_with("\\\\\"\nprog\n"));
        for (text, why) in [
            ("#!/usr/bin/execlineb\nexport A 1 prog\n", "line 2 changes the environment"),
            ("#!/usr/bin/execlineb\nexport TZ 1 prog\n", "line 2 has more than"),
            ("#!/usr/bin/execlineb\nif { prog\n", "not closed"),
        ] {
            let said = put(text, &edit).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
    }
}
