//! Builds a declared rule from its entry in the file.

use crate::ConfigError;
use crate::file::{EnvIn, ExampleIn, RemedyIn, RuleIn, Text, TextList};
use needless_model::{Change, Errno, Query, Remedy, RuleName, Safety, quote};
use needless_rules::{
    CallPattern, Declared, Example, Glob, Needless, OutcomePattern, VariablePattern,
};
use std::collections::HashMap;
use std::ops::Range;
use toml::Spanned;

/// Fewer calls are not worth a change; the same as for built-in rules.
const AT_LEAST: u64 = 6;
/// The longest message that fits a line of a report.
const LONGEST_MESSAGE: usize = 120;

pub(crate) fn declared(
    rule: Spanned<RuleIn>,
    text: &Text<'_>,
    known: &HashMap<RuleName, String>,
) -> Result<Declared, ConfigError> {
    let (span, rule) = (rule.span(), rule.into_inner());
    let name = name(&rule.name, text, known)?;
    let calls = each(Some(rule.calls), text, calls)?;
    let paths = each(rule.path, text, path)?;
    let pathless = calls.iter().find(|calls| !calls.names_path());
    if let (Some(CallPattern::Named(call)), false) = (pathless, paths.is_empty()) {
        let what = format!("{call} names no path: leave `path` out, or split the rule in two");
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
        name: name.into(),
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
    known: &HashMap<RuleName, String>,
) -> Result<String, ConfigError> {
    let wrong =
        |what: &str| Err(text.wrong(&name.span(), format!("{} {what}", quote(name.get_ref()))));
    let word = name.get_ref();
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if !word.contains('-') || word.starts_with('-') || !word.bytes().all(legal) {
        return wrong(
            "is not a rule name: use lower-case letters, digits and hyphens, two words at least",
        );
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
    words: Option<Spanned<TextList>>,
    text: &Text<'_>,
    of: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, ConfigError> {
    let Some(words) = words else { return Ok(Vec::new()) };
    let span = words.span();
    let TextList(words) = words.into_inner();
    if words.is_empty() {
        return Err(text.wrong(&span, "the list is empty: leave it out, or put something in"));
    }
    words.iter().map(|word| of(word).map_err(|what| text.wrong(&span, what))).collect()
}

fn calls(word: &str) -> Result<CallPattern, String> {
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
            return if !word.is_empty() && word.bytes().all(legal) {
                Ok(CallPattern::Named(word.to_owned()))
            } else {
                Err(format!(
                    "{} is not a system call: use stat, lstat, open, open-write, access, \
                     readlink, exec, change, or a name as strace prints it",
                    quote(word)
                ))
            };
        }
    };
    Ok(CallPattern::Query(query))
}

fn path(word: &str) -> Result<Glob, String> {
    if word.starts_with(['/', '*', '?']) {
        Glob::new(word)
    } else {
        Err(format!(
            "{} fits no path: calls name absolute paths, so begin with / or **/",
            quote(word)
        ))
    }
}

fn outcome(word: &str) -> Result<OutcomePattern, String> {
    match word {
        "ok" => Ok(OutcomePattern::Ok),
        "failed" => Ok(OutcomePattern::Failed),
        "missing" => Ok(OutcomePattern::Missing),
        _ => match Errno::of_name(word) {
            Errno::UNKNOWN => Err(format!(
                "{} is not an outcome: use ok, failed, missing (ENOENT or ENOTDIR), or an error's name",
                quote(word)
            )),
            errno => Ok(OutcomePattern::Errno(errno)),
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
            format!(
                "{}: which calls are needless is \"all\", \"again\" or \"repeated\"",
                quote(other)
            ),
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
) -> Result<(String, VariablePattern), ConfigError> {
    let span = wanted.span();
    variable_name(&name, &span, text)?;
    let wanted = match wanted.into_inner() {
        EnvIn::Is(true) => VariablePattern::Set,
        EnvIn::Is(false) => VariablePattern::Unset,
        EnvIn::Fits(value) => {
            VariablePattern::Fits(Glob::new(&value).map_err(|what| text.wrong(&span, what))?)
        }
    };
    Ok((name, wanted))
}

fn variable_name(name: &str, span: &Range<usize>, text: &Text<'_>) -> Result<(), ConfigError> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !name.is_empty() && name.bytes().all(legal) {
        Ok(())
    } else {
        Err(text.wrong(span, format!("{} is not a variable name", quote(name))))
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
        said if line && said.ends_with('.') => "the report goes on after it: drop the full stop",
        said if !line && !said.ends_with('.') => "it is made of sentences: end it with a full stop",
        _ => return Ok(said),
    };
    Err(text.wrong(&of.span(), what))
}

fn remedy(remedy: Spanned<RemedyIn>, text: &Text<'_>) -> Result<Remedy, ConfigError> {
    let (span, remedy) = (remedy.span(), remedy.into_inner());
    let caveat = sentence(&remedy.caveat, text, false)?;
    let RemedyIn { set, unset, text: advice, fix, .. } = remedy;
    let change = match (set, unset, advice) {
        (Some(set), None, None) => {
            let Some((variable, value)) = set.get_ref().split_once('=') else {
                return Err(text.wrong(&set.span(), "`set` needs VARIABLE=VALUE"));
            };
            variable_name(variable, &set.span(), text)?;
            Change::SetEnv { variable: variable.to_owned(), value: Some(value.to_owned()) }
        }
        (None, Some(unset), None) => {
            variable_name(unset.get_ref(), &unset.span(), text)?;
            Change::UnsetEnv { variable: unset.into_inner() }
        }
        (None, None, Some(advice)) => {
            let span = advice.span();
            match advice.into_inner().split_whitespace().collect::<Vec<_>>().join(" ") {
                said if said.is_empty() => return Err(text.wrong(&span, "it says nothing")),
                said => Change::Manual(said),
            }
        }
        _ => return Err(text.wrong(&span, "a remedy has one of `set`, `unset` and `text`")),
    };
    let by_tool = fix.as_ref().is_some_and(|fix| *fix.get_ref());
    if let (true, Change::Manual(_), Some(fix)) = (by_tool, &change, &fix) {
        let what =
            "`fix` can only set or unset a variable: add `set` or `unset`, or leave `fix` out";
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
        "" => {
            Err(text
                .wrong(&span, "it is empty: say what has to be found, RULE: N of M, or nothing"))
        }
        _ => Ok(Example { trace, finding, place }),
    }
}
