//! What the fuzz target `document` and an ordinary test call on every text: what a command wrote as JSON is read, or
//! refused in one line; a report that is read can be written in each format.

use needless_report::{
    CheckFormat, Details, Document, OriginFormat, ProfileFormat, ProofFormat, Report, ReportFormat,
    Style,
};
use needless_report::{
    read_document, read_saved, write, write_check, write_diff, write_origin, write_profile,
    write_proof,
};

const STYLE: Style = Style { colour: true, width: 100 };

/// Returns whether it was read.
pub(crate) fn check_document(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    if let Err(error) = read_saved(text) {
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    match read_document(text) {
        Ok(document) => {
            show(&document);
            true
        }
        Err(error) => {
            assert_eq!(error.lines().count(), 1, "{error}");
            false
        }
    }
}

fn show(document: &Document) {
    let mut out = Vec::new();
    let out: &mut dyn std::io::Write = &mut out;
    match document {
        Document::Report(document) => {
            for name in "full concise markdown html json folded speedscope pprof sarif".split(' ') {
                let format: ReportFormat = name.parse().expect(name);
                let details = Details { full: true, unexplained: true, end_first: false };
                let report = Report { document, rows: None, top: Some(3), details, command: &[] };
                // Older reports lack what stacks are made of.
                let _ = write(out, &report, format, STYLE);
            }
        }
        Document::Profile(snapshot, version) => {
            for format in [ProfileFormat::Full, ProfileFormat::Json] {
                write_profile(out, snapshot, version, format, STYLE).expect("written");
            }
        }
        Document::Proof(proof) => {
            for format in [ProofFormat::Full, ProofFormat::Markdown, ProofFormat::Html] {
                write_proof(out, proof, format, STYLE).expect("written");
            }
        }
        Document::Diff(difference) => {
            for format in [ProofFormat::Full, ProofFormat::Markdown, ProofFormat::Html] {
                write_diff(out, difference, format, STYLE).expect("written");
            }
        }
        Document::Check(check) => {
            for name in "full markdown json sarif junit github".split(' ') {
                let format: CheckFormat = name.parse().expect(name);
                write_check(out, check, format, STYLE).expect("written");
            }
        }
        Document::Origin(origin) => {
            for format in [OriginFormat::Full, OriginFormat::Concise, OriginFormat::Json] {
                write_origin(out, origin, format, STYLE).expect("written");
            }
        }
    }
}
