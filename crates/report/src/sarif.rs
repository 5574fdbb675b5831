//! SARIF 2.1.0 (OASIS), the format in which code hosts take findings: what a report and a checked budget share.

use crate::json::print;
use crate::text::escape;
use needless_rules::by_name;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A result: rule, level, text, and where.
pub(crate) struct SarifResult {
    /// The rule's name.
    pub(crate) rule: String,
    /// `error` or `warning`.
    pub(crate) level: &'static str,
    /// What is wrong and what to do.
    pub(crate) text: String,
    /// The file, and the line from 1.
    pub(crate) place: (String, u32),
}

/// A finding as a result, said in the words `what` and `fix`, at `place`.
pub(crate) fn of_finding(
    rule: &str,
    what: String,
    fix: Option<&str>,
    place: (String, u32),
) -> SarifResult {
    let text = match fix {
        Some(fix) => format!("{what}. Fix: {fix}"),
        None => what,
    };
    SarifResult { rule: rule.to_owned(), level: "warning", text, place }
}

/// Writes the results as one run of one tool.
pub(crate) fn write(out: &mut dyn Write, results: &[SarifResult], version: &str) -> io::Result<()> {
    let mut names: Vec<&str> = results.iter().map(|result| &*result.rule).collect();
    names.sort_unstable();
    names.dedup();
    let rules: Vec<Value> = names.iter().map(|name| descriptor(name)).collect();
    let result = |from: &SarifResult| {
        let (file, line) = &from.place;
        json!({
            "ruleId": from.rule,
            "ruleIndex": names.binary_search(&&*from.rule).unwrap_or_default(),
            "level": from.level,
            "message": { "text": from.text },
            "locations": [{
                "physicalLocation": {
                    "artifactLocation": { "uri": uri(file) },
                    "region": { "startLine": (*line).max(1) },
                },
            }],
        })
    };
    let results: Vec<Value> = results.iter().map(result).collect();
    print(
        out,
        &json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": { "name": "needless", "version": version, "rules": rules } },
                "results": results,
            }],
        }),
    )
}

fn descriptor(name: &str) -> Value {
    let summary = match by_name(name) {
        Some(rule) => rule.summary.to_owned(),
        None if name == BUDGET => "A command does more than its budget allows".to_owned(),
        None => format!("The rule {} of needless.toml", escape(name)),
    };
    json!({ "id": name, "shortDescription": { "text": summary } })
}

/// The rule of results about a budget.
pub(crate) const BUDGET: &str = "budget";

/// A file as a URI (RFC 3986): relative to the repository, or `file://`.
fn uri(file: &str) -> String {
    let mut uri = String::from(if file.starts_with('/') { "file://" } else { "" });
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(char::from(byte));
            }
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_uris() {
        assert_eq!(uri("/etc/a b:ä"), "file:///etc/a%20b%3A%C3%A4");
        assert_eq!(uri(".github/workflows/ci.yml"), ".github/workflows/ci.yml");
    }
}
