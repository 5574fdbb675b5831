//! /etc/security/pam_env.conf: pam_env.conf(5). A line names a variable, `DEFAULT=` and `OVERRIDE=`.

use super::pam_env::by_pam;
use super::{Edit, FoundValue, bare, lines, put_line};
use crate::config_format::{ConfigFormat, DEFAULT};
use crate::error::EnvironmentError;
use crate::pam::CONFIGURATION;

/// pam_env's own configuration. A change belongs there only where it sets the variable already, which the format of
/// /etc/environment decides.
pub static PAM_ENV_CONF: ConfigFormat = ConfigFormat {
    name: "pam_env.conf",
    files: CONFIGURATION,
    reaches: "what PAM opens a session for with pam_env: login, ssh, su, cron; on Debian stronger than /etc/environment",
    effect: "the next session or job",
    find,
    put,
    is_file: |path, _| path.is(CONFIGURATION),
    scan: |sources| {
        let reaches = by_pam(sources, CONFIGURATION);
        sources.file(CONFIGURATION, find, None, reaches);
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
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.,:/+=-".contains(c);
    if edit.value.is_some_and(|value| value.is_empty() || !value.chars().all(plain)) {
        return Err(
            "pam_env.conf would need quotes or escapes for that value: set it by hand".into()
        );
    }
    let found = find(text, edit.variable, None);
    let found: Vec<_> =
        found.iter().map(|found| (found.line as usize - 1, found.line as usize)).collect();
    let line = edit.value.map(|value| format!("{} DEFAULT={value}", edit.variable));
    Ok(put_line(text, edit, &found, line))
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
        assert_eq!(
            put("A DEFAULT=1\nV DEFAULT=a\n", &edit).unwrap(),
            "A DEFAULT=1\nV DEFAULT=UTC\n"
        );
    }
}
