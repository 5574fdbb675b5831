//! /etc/security/pam_env.conf, and ~/.pam_environment with the same grammar: pam_env.conf(5). A line names a variable, `DEFAULT=` and `OVERRIDE=`.

use super::pam_env::by_pam;
use super::{Edit, FoundValue, bare, lines};
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;
use crate::pam::{CONFIGURATION, OF_USER};
use crate::place::{DEFAULT, Place};
use crate::readers::ReadBy;

/// pam_env's own configuration, in which a person makes a change. It belongs there only where it sets the variable already, which the format of
/// /etc/environment decides.
pub static PAM_ENV_CONF: Place = Place {
    name: "pam_env.conf",
    files: "/etc/security/pam_env.conf, ~/.pam_environment (user_readenv=1)",
    reaches: "what PAM opens a session for with pam_env: login, ssh, su, cron; on Debian stronger than /etc/environment",
    read_by: ReadBy::Everybody("session"),
    effect: "the next session or job",
    find,
    by_hand: Some(line_by_hand),
    is_file: |path, _| path.is(CONFIGURATION) || path.name() == OF_USER,
    scan: |sources| {
        let reaches = by_pam(sources, CONFIGURATION);
        sources.file(CONFIGURATION, find, None, reaches);
        if let Some(home) = sources.home.clone() {
            let reaches = by_pam(sources, OF_USER);
            sources.file(&format!("{home}/{OF_USER}"), find, None, reaches);
        }
    },
    ..DEFAULT
};

/// The value of `KEY=` in a line: a word, or what is between double quotes.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.split_once(key)?.1;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split_ascii_whitespace().next().or(Some("")),
    }
}

/// Where `text` sets `variable`; the last counts. What is in `${…}` or `@{…}` is not known here.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let mut found = Vec::new();
    for (at, line) in lines(text).into_iter().enumerate() {
        let line = bare(line).trim();
        if line.split_ascii_whitespace().next() != Some(variable) {
            continue;
        }
        let over = value(line, "OVERRIDE=").filter(|value| !value.is_empty());
        match over.or_else(|| value(line, "DEFAULT=")).filter(|value| !value.is_empty()) {
            Some(value) => {
                let certain = !value.contains(['$', '@', '\\']);
                found.push(FoundValue { certain, ..FoundValue::set(at, value) });
            }
            None => found.push(FoundValue::removed(at)),
        }
    }
    found
}

/// # Errors
/// When the value would have to be quoted or escaped.
fn line_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    let value = edit.value.unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:/+=-".contains(c);
    if value.is_empty() || !value.chars().all(plain) {
        return Err(
            "pam_env.conf needs quotes or escapes for that value: see pam_env.conf(5)".into()
        );
    }
    let line = format!("{} DEFAULT={value}", edit.variable);
    Ok(HandLine::anywhere(line, &find(text, edit.variable, None)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_pam_env_reads_them() {
        let one = |line: &str| find(line, "V", None).pop().and_then(|found| found.value);
        for (text, expected) in [
            ("V DEFAULT=a OVERRIDE=b\n", Some("b")),
            ("V  DEFAULT=\"a b\" OVERRIDE=\n", Some("a b")),
            ("V DEFAULT=\n", None),
            ("#V DEFAULT=a\nVV DEFAULT=b\n", None),
        ] {
            assert_eq!(one(text).as_deref(), expected, "{text:?}");
        }
        assert!(!find("V DEFAULT=${HOME}x\n", "V", None)[0].certain);
        let edit = Edit { variable: "V", value: Some("UTC"), part: None };
        let line = line_by_hand("A DEFAULT=1\nV DEFAULT=a\n", &edit).unwrap();
        assert_eq!((line.text.as_str(), line.replaces), ("V DEFAULT=UTC", Some(2)));
        assert!(line_by_hand("", &Edit { value: Some("a b"), ..edit }).is_err());
    }
}
