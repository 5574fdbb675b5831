//! Any JSON document that needless wrote, to be written again in any format.

use crate::check::json::{CHECK_SCHEMA, CheckDocument};
use crate::diff::json::{DIFF_SCHEMA, DiffDocument};
use crate::document::{ReportDocument, SCHEMA};
use crate::origin::json::{ORIGIN_SCHEMA, OriginDocument};
use crate::proof::json::{PROOF_SCHEMA, ProofBody, ProofDocument};
use crate::report::profile::{PROFILE_SCHEMA, ProfileDocument};
use crate::text::list;
use needless_model::{Snapshot, parser_message, quote};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A document, with the version of needless that wrote it.
pub enum Document {
    /// A report of `run`, `attach`, `host` or `read`.
    Report(Box<ReportDocument>),
    /// Every row of one, or a window that `prove --save-before` wrote.
    Profile(Box<Snapshot>, String),
    /// A proof.
    Proof(Box<ProofDocument>),
    /// A comparison.
    Diff(Box<DiffDocument>),
    /// A checked budget.
    Check(Box<CheckDocument>),
    /// Where a variable comes from.
    Origin(Box<OriginDocument>),
}

/// Reads what a command wrote as JSON.
///
/// # Errors
/// When `text` is no such document: why not, in one line.
pub fn read_document(text: &str) -> Result<Document, String> {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let head: Head = parsed(text)?;
    let known = [SCHEMA, PROFILE_SCHEMA, PROOF_SCHEMA, DIFF_SCHEMA, ORIGIN_SCHEMA, CHECK_SCHEMA];
    if !known.contains(&head.schema.as_str()) {
        return Err(format!(
            "its schema is {}; {} can be shown",
            quote(&head.schema),
            list(&known)
        ));
    }
    let sum = sum(&parsed(text)?, "");
    if !(0.0..MOST).contains(&sum) {
        return Err("not a report of needless: its numbers are too large".into());
    }
    Ok(match head.schema.as_str() {
        SCHEMA => {
            let mut document: Box<ReportDocument> = parsed(text)?;
            document.check().map_err(|why| format!("not a report: {why}"))?;
            document.proof.iter_mut().for_each(ProofBody::keep_known);
            Document::Report(document)
        }
        PROFILE_SCHEMA => {
            let document: ProfileDocument = parsed(text)?;
            let version = document.needless_version.clone();
            Document::Profile(Box::new(document.into()), version)
        }
        PROOF_SCHEMA => {
            let mut document: Box<ProofDocument> = parsed(text)?;
            document.proof.keep_known();
            Document::Proof(document)
        }
        DIFF_SCHEMA => Document::Diff(parsed(text)?),
        CHECK_SCHEMA => Document::Check(parsed(text)?),
        _ => Document::Origin(parsed(text)?),
    })
}

fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| {
        let error = error.to_string();
        let why = parser_message(&error);
        format!("not a JSON document of needless: {why}; -o FILE.json writes one")
    })
}

/// No document has numbers whose sum is as large, so that formats can add them.
const MOST: f64 = (1_u64 << 62) as f64;

/// The sum of all numbers, times as nanoseconds.
fn sum(value: &Value, name: &str) -> f64 {
    match value {
        Value::Number(number) => {
            let unit = match name {
                _ if name.ends_with("_s") => 1e9,
                _ if name.ends_with("_us") => 1e3,
                _ => 1.0,
            };
            number.as_f64().unwrap_or(f64::INFINITY).abs() * unit
        }
        Value::Array(all) => all.iter().map(|one| sum(one, name)).sum(),
        Value::Object(all) => all.iter().map(|(name, one)| sum(one, name)).sum(),
        Value::Null | Value::Bool(_) | Value::String(_) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_document_is_refused_in_one_line() {
        let huge = format!(r#"{{"schema":"needless.report/1","x":[{0},{0}]}}"#, u64::MAX);
        for text in [
            "",
            "[]",
            "{",
            "needless: nothing",
            r#"{"schema":"needless.rules/1"}"#,
            r#"{"schema":"needless.report/1"}"#,
            r#"{"schema":"needless.diff/1"}"#,
            r#"{"schema":"needless.check/1"}"#,
            r#"{"schema":7}"#,
            r#"{"schema":"\u001b[31m\n"}"#,
            &huge,
        ] {
            let error = read_document(text).err().unwrap();
            assert!(!error.contains(['\n', '\u{1b}']) && !error.is_empty(), "{text}: {error}");
        }
    }
}
