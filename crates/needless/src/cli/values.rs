//! The values of options.

use super::nearest;
use clap::ValueEnum;
use needless_model::Change;
use needless_observe::BackendChoice;
use regex::bytes::Regex;
use std::str::FromStr;
use std::time::Duration;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorMode {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BackendArg {
    /// The best one that is allowed.
    Auto,
    /// eBPF, which counts in the kernel; needs CAP_BPF and CAP_PERFMON, or root.
    Ebpf,
    /// ptrace, which needs no privilege.
    Ptrace,
}

impl From<BackendArg> for BackendChoice {
    fn from(backend: BackendArg) -> BackendChoice {
        match backend {
            BackendArg::Auto => BackendChoice::Auto,
            BackendArg::Ebpf => BackendChoice::Ebpf,
            BackendArg::Ptrace => BackendChoice::Ptrace,
        }
    }
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("expected a time such as 30s, 2m or 500ms".to_owned()),
    };
    match number.parse::<f64>().map(|number| number * scale) {
        Ok(seconds) if (0.001..=86_400.0).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err("expected a time from 1ms to 24h, such as 30s, 2m or 500ms".to_owned()),
    }
}

pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text);
    match number.parse::<f64>() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("expected a percentage from 0 to 100".to_owned()),
    }
}

pub(super) fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| "expected a whole number".to_owned())
}

/// A number of pairs of runs.
pub(super) fn pairs(text: &str) -> Result<u32, String> {
    let wrong = || "expected a number of pairs from 1 to 2000".to_owned();
    text.parse().ok().filter(|pairs| (1..=2000).contains(pairs)).ok_or_else(wrong)
}

pub(super) fn pid(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        "expected a process id, such as $(pidof NAME); for a service use --unit".to_owned()
    })
}

pub(super) fn rule_name(text: &str) -> Result<String, String> {
    if let Some(rule) = needless_rules::by_name(text) {
        return Ok(rule.name.to_owned());
    }
    // needless.toml is read later.
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if text.contains('-') && text.bytes().all(legal) {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = needless_rules::RULES.iter().map(|rule| rule.name).collect();
    Err(no_such_rule(text, &names))
}

/// The error for a rule that is not among `names`, with the names that the user may have meant.
pub(crate) fn no_such_rule(text: &str, names: &[&str]) -> String {
    // "TZ_UNSET", a part of a name ("locale"), or a typing mistake.
    let meant = text.to_ascii_lowercase().replace(['_', ' '], "-");
    let part = |name: &&&str| !meant.is_empty() && name.contains(&meant);
    let mut like: Vec<&str> = names.iter().filter(part).copied().collect();
    if like.is_empty() {
        like = nearest(&meant, names);
    }
    let perhaps =
        if like.is_empty() { String::new() } else { format!(" (perhaps {})", like.join(", ")) };
    format!("no such rule{perhaps}; `needless explain` lists them")
}

pub(super) fn assignment(text: &str) -> Result<Change, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected VAR=VALUE, such as TZ=UTC; --unset VAR removes a variable")?;
    named(name)?;
    Ok(Change::SetEnv { variable: name.to_owned(), value: Some(value.to_owned()) })
}

pub(super) fn variable(text: &str) -> Result<Change, String> {
    named(text)?;
    Ok(Change::UnsetEnv { variable: text.to_owned() })
}

pub(super) fn entries(text: &str) -> Result<Change, String> {
    let (name, entries) =
        text.split_once('=').ok_or("expected VAR=ENTRY:ENTRY, such as CDPATH=/old:/gone")?;
    named(name)?;
    let separator = match name {
        "TCLLIBPATH" => ' ',
        _ if entries.contains(';') => ';',
        _ => ':',
    };
    let entries = entries.split(separator).filter(|entry| !entry.is_empty());
    Ok(Change::WithoutEntries {
        variable: name.to_owned(),
        entries: entries.map(str::to_owned).collect(),
    })
}

fn named(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains('=') {
        Err("expected the name of a variable".to_owned())
    } else {
        Ok(())
    }
}

pub(super) fn regex(text: &str) -> Result<Regex, String> {
    // The last line of the crate's message says what is wrong.
    Regex::new(text).map_err(|e| e.to_string().lines().last().unwrap_or("not a regex").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2"), Ok(Duration::from_secs(2)));
        for wrong in ["", "s", "0", "-1s", "1d", "1e9s", "30 s", "nan", "99h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn percentages() {
        assert_eq!(percent("0.5%"), Ok(0.5));
        assert!(percent("-1").is_err() && percent("NaN").is_err() && percent("x").is_err());
    }
}
