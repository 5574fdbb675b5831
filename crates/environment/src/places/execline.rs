//! Scripts of execlineb, as s6 runs them: a chain of programs, of which `export NAME VALUE` sets a variable for the rest.
//! <https://skarnet.org/software/execline/execlineb.html>

use super::envdir::{env_dir, restart_of_run_script};
use super::{Edit, FoundValue, lines};
use crate::error::EnvironmentError;
use crate::hand_line::{HandLine, last_set};
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::started_by::StartedBy;
use needless_model::Confidence;

/// A script of execlineb.
pub static EXECLINE: Place = Place {
    name: "execline script",
    files: "a script whose first line names execlineb: run scripts of s6",
    reaches: "the program that the script becomes",
    effect: "s6-svc -r DIRECTORY",
    find,
    by_hand: Some(line_by_hand),
    is_file: |_, text| is_execline(text),
    locate: |query| location(query).into_iter().collect(),
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

/// The line `export NAME VALUE`, above the program and below all lines that change the environment, so that it counts.
///
/// # Errors
/// When the script is not understood, the value has `${` in it, or is a brace.
fn line_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    if !is_execline(text) {
        return Err("its first line does not name execlineb".into());
    }
    let words = words(text).ok_or("a quote or a brace in it is not closed")?;
    let value = edit.value.unwrap_or_default();
    if value.contains("${") {
        return Err("execline may put something else in the place of `${`".into());
    }
    if matches!(value, "{" | "}") {
        return Err("execline may take a brace for that of a block".into());
    }
    let text_of = value.replace('\\', "\\\\").replace('"', "\\\"");
    let mut begins = words.iter().filter(|word| word.begins);
    let changes = |word: &&Word| CHANGE.contains(&word.text.rsplit('/').next().unwrap_or_default());
    let below = begins.rfind(changes).map(|word| word.line + 1);
    let first = words.first().ok_or("it starts no program")?.line;
    let above = super::number(below.unwrap_or(first));
    Ok(HandLine {
        text: format!("export {} \"{text_of}\"", edit.variable),
        place: format!("above line {above}"),
        above: Some(above),
        replaces: last_set(&find(text, edit.variable, None)),
    })
}

fn location(query: &LocationQuery<'_>) -> Option<Destination> {
    let StartedBy::RunScript { dir: Some(dir) } = query.started_by else { return None };
    let run = format!("{dir}/run");
    let text = String::from_utf8_lossy(&query.root.read(&run).ok()?).into_owned();
    if !is_execline(&text) || env_dir(&text).is_some() {
        return None;
    }
    let why = format!("its supervisor runs {run}, which becomes the program");
    let location = Destination::new(&EXECLINE, run, why, Confidence::High);
    Some(location.activation(restart_of_run_script(query.chain, dir)))
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
        let line = line_by_hand(TEXT, &edit).unwrap();
        let expected = ("export TZ \"a \\\"b\\\\\"", "above line 7");
        assert_eq!((line.text.as_str(), line.place.as_str()), expected);
        let new = TEXT.replace("prog", &format!("{}\nprog", line.text));
        assert_eq!(find(&new, "TZ", None), [FoundValue::set(6, "a \"b\\")]);
        assert_eq!(line_by_hand(&new, &edit).unwrap().replaces, Some(7));
        let said = line_by_hand("#!/usr/bin/execlineb\nif { prog\n", &edit).unwrap_err();
        assert!(said.to_string().contains("not closed"), "{said}");
    }
}
