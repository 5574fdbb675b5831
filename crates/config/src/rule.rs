//! From the form of a rule to the rule.

use crate::ConfigError;
use crate::file::{EnvIn, ExampleIn, RemedyIn, RuleIn, Text, Words};
use needless_model::{Change, Errno, Query, Remedy, Safety};
use needless_rules::{Calls, Declared, Example, Glob, Needless, Outcome, Variable};
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;

/// Fewer calls are worth nobody's time; as of the built-in rules.
const AT_LEAST: u64 = 6;
/// A line of a report.
const LONGEST_MESSAGE: usize = 120;

pub(crate) fn declared(
    rule: Spanned<RuleIn>,
    text: &Text<'_>,
    known: &HashMap<&'static str, String>,
) -> Result<Declared, ConfigError> {
    let (span, rule) = (rule.span(), rule.into_inner());
    let name = name(&rule.name, text, known)?;
    let calls = each(Some(rule.calls), text, calls)?;
    let paths = each(rule.path, text, path)?;
    let pathless = calls.iter().find(|calls| !calls.names_path());
    if let (Some(Calls::Named(call)), false) = (pathless, paths.is_empty()) {
        let what = format!("{call} names no path: leave `path` out, or make two rules of it");
        return Err(text.wrong(&span, what));
    }
    let examples = rule.example.into_iter().map(|one| example(one, text));
    let examples = examples.collect::<Result<Vec<_>, _>>()?;
    for (wanted, what) in [(false, "one that is found"), (true, "one with `finding = \"nothing\"`")]
    {
        if !examples.iter().any(|one| (one.finding.trim() == "nothing") == wanted) {
            let what = format!("{name} lacks an example: add a [[rule.example]], {what}");
            return Err(text.wrong(&span, what));
        }
    }
    let env = rule.env.into_iter().map(|(name, wanted)| variable(name, wanted, text));
    Ok(Declared {
        name: String::leak(name),
        place: text.line(&span),
        calls,
        paths,
        except: each(rule.except, text, path)?,
        outcomes: each(rule.outcome, text, outcome)?,
        programs: each(rule.program, text, Glob::new)?,
        env: env.collect::<Result<_, _>>()?,
        needless: rule.needless.map_or(Ok(Needless::All), |word| needless(&word, text))?,
        at_least: rule.at_least.map_or(Ok(AT_LEAST), |least| positive(&least, text))?,
        per_second: rule.per_second.map(|rate| self::rate(&rate, text)).transpose()?,
        message: sentence(&rule.message, text, true)?,
        why: sentence(&rule.why, text, false)?,
        remedy: remedy(rule.remedy, text)?,
        examples,
    })
}

fn name(
    name: &Spanned<String>,
    text: &Text<'_>,
    known: &HashMap<&'static str, String>,
) -> Result<String, ConfigError> {
    let wrong = |what: &str| Err(text.wrong(&name.span(), format!("{:?} {what}", name.get_ref())));
    let word = name.get_ref();
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !word.contains('-') || word.starts_with('-') || !word.bytes().all(legal) {
        return wrong("is no name of a rule: small letters and hyphens, two words at least");
    }
    if needless_rules::by_name(word).is_some() {
        return wrong("is the name of a built-in rule: take another");
    }
    match known.get(word.as_str()) {
        Some(place) => wrong(&format!("is declared in {place} already: take another")),
        None => Ok(word.clone()),
    }
}

/// Each word of a list, understood.
fn each<T>(
    words: Option<Spanned<Words>>,
    text: &Text<'_>,
    of: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, ConfigError> {
    let Some(words) = words else { return Ok(Vec::new()) };
    let span = words.span();
    let Words(words) = words.into_inner();
    if words.is_empty() {
        return Err(text.wrong(&span, "the list is empty: leave it out, or put something in"));
    }
    words.iter().map(|word| of(word).map_err(|what| text.wrong(&span, what))).collect()
}

fn calls(word: &str) -> Result<Calls, String> {
    let query = match word {
        "stat" => Query::Stat,
        "lstat" => Query::Lstat,
        "open" => Query::Open,
        "open-write" => Query::OpenWrite,
        "access" => Query::Access,
        "readlink" => Query::Readlink,
        "exec" => Query::Exec,
        "change" => Query::Change,
        _ => {
            let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            return match !word.is_empty() && word.bytes().all(legal) {
                true => Ok(Calls::Named(word.to_owned())),
                false => Err(format!(
                    "{word:?} is no system call: stat, lstat, open, open-write, access, readlink, exec, change, or a name such as strace prints it"
                )),
            };
        }
    };
    Ok(Calls::Query(query))
}

fn path(word: &str) -> Result<Glob, String> {
    match word.starts_with(['/', '*', '?']) {
        true => Glob::new(word),
        false => {
            Err(format!("{word:?} fits no path: calls name absolute ones, begin with / or **/"))
        }
    }
}

fn outcome(word: &str) -> Result<Outcome, String> {
    match word {
        "ok" => Ok(Outcome::Ok),
        "failed" => Ok(Outcome::Failed),
        "missing" => Ok(Outcome::Missing),
        _ => match Errno::of_name(word) {
            Errno::UNKNOWN => Err(format!(
                "{word:?} is no outcome: ok, failed, missing (ENOENT or ENOTDIR), or an error's name"
            )),
            errno => Ok(Outcome::Errno(errno)),
        },
    }
}

fn needless(word: &Spanned<String>, text: &Text<'_>) -> Result<Needless, ConfigError> {
    match word.get_ref().as_str() {
        "all" => Ok(Needless::All),
        "again" => Ok(Needless::Again),
        "repeated" => Ok(Needless::Repeated),
        other => Err(text.wrong(
            &word.span(),
            format!("{other:?}: which calls are needless is \"all\", \"again\" or \"repeated\""),
        )),
    }
}

fn positive(number: &Spanned<u64>, text: &Text<'_>) -> Result<u64, ConfigError> {
    match *number.get_ref() {
        0 => Err(text.wrong(&number.span(), "at-least is 1 or more")),
        n => Ok(n),
    }
}

fn rate(number: &Spanned<f64>, text: &Text<'_>) -> Result<f64, ConfigError> {
    match *number.get_ref() {
        rate if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err(text.wrong(&number.span(), "per-second is a number above 0")),
    }
}

fn variable(
    name: String,
    wanted: Spanned<EnvIn>,
    text: &Text<'_>,
) -> Result<(&'static str, Variable), ConfigError> {
    let span = wanted.span();
    variable_name(&name, &span, text)?;
    let wanted = match wanted.into_inner() {
        EnvIn::Is(true) => Variable::Set,
        EnvIn::Is(false) => Variable::Unset,
        EnvIn::Fits(value) => {
            Variable::Fits(Glob::new(&value).map_err(|what| text.wrong(&span, what))?)
        }
    };
    Ok((String::leak(name), wanted))
}

fn variable_name(name: &str, span: &Range<usize>, text: &Text<'_>) -> Result<(), ConfigError> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    match !name.is_empty() && name.bytes().all(legal) {
        true => Ok(()),
        false => Err(text.wrong(span, format!("{name:?} is no name of a variable"))),
    }
}

/// A text for people. `line`: one line of a report, which goes on after it.
fn sentence(of: &Spanned<String>, text: &Text<'_>, line: bool) -> Result<String, ConfigError> {
    let said = of.get_ref().split_whitespace().collect::<Vec<_>>().join(" ");
    let what = match said.as_str() {
        "" => "it says nothing",
        said if line && said.chars().count() > LONGEST_MESSAGE => {
            "it is longer than 120 characters"
        }
        said if line && said.ends_with('.') => "the report goes on after it: no full stop",
        said if !line && !said.ends_with('.') => "it is made of sentences: end it with a full stop",
        _ => return Ok(said),
    };
    Err(text.wrong(&of.span(), what))
}

fn remedy(remedy: Spanned<RemedyIn>, text: &Text<'_>) -> Result<Remedy, ConfigError> {
    let (span, remedy) = (remedy.span(), remedy.into_inner());
    let caveat = sentence(&remedy.caveat, text, false)?;
    let RemedyIn { set, unset, text: told, fix, .. } = remedy;
    let change = match (set, unset, told) {
        (Some(set), None, None) => {
            let Some((variable, value)) = set.get_ref().split_once('=') else {
                return Err(text.wrong(&set.span(), "`set` wants VARIABLE=VALUE"));
            };
            variable_name(variable, &set.span(), text)?;
            Change::SetEnv { variable: variable.to_owned(), value: Some(value.to_owned()) }
        }
        (None, Some(unset), None) => {
            variable_name(unset.get_ref(), &unset.span(), text)?;
            Change::UnsetEnv { variable: unset.into_inner() }
        }
        (None, None, Some(told)) => {
            let span = told.span();
            match told.into_inner().split_whitespace().collect::<Vec<_>>().join(" ") {
                said if said.is_empty() => return Err(text.wrong(&span, "it says nothing")),
                said => Change::Manual(said),
            }
        }
        _ => return Err(text.wrong(&span, "a remedy has one of `set`, `unset` and `text`")),
    };
    let by_tool = fix.as_ref().is_some_and(|fix| *fix.get_ref());
    if let (true, Change::Manual(_), Some(fix)) = (by_tool, &change, &fix) {
        let what = "`fix` makes only a variable hold: say `set` or `unset`, or leave `fix` out";
        return Err(text.wrong(&fix.span(), what));
    }
    let safety = if by_tool { Safety::Caveat(caveat) } else { Safety::Manual(caveat) };
    Ok(Remedy { change, safety })
}

fn example(example: Spanned<ExampleIn>, text: &Text<'_>) -> Result<Example, ConfigError> {
    let place = text.line(&example.span());
    let ExampleIn { trace, finding } = example.into_inner();
    let span = finding.span();
    let finding = finding.into_inner();
    match finding.trim() {
        "" => Err(text.wrong(&span, "what has to be found? RULE: N of M, or nothing")),
        _ => Ok(Example { trace, finding, place }),
    }
}
