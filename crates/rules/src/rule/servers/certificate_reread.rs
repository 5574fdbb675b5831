//! ## What it finds
//!
//! Programs that open the bundle of trusted certificates again and again in one process.
//!
//! ## Why it happens
//!
//! The list is about 200 KiB long, and each certificate in it is parsed: 15 to 40 ms of CPU time
//! with OpenSSL 3, less with other versions. A TLS context holds the result. A program that makes a
//! new context for each connection (by `ssl.create_default_context()` in a loop, or by a library
//! that does it) reads the list each time.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/python3", ["python3"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! openat(AT_FDCWD, "/etc/ssl/certs/ca-certificates.crt", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! certificate-reread: 19 of 20
//! manual
//! ```
//!
//! ## Not a finding
//!
//! Once for each of a few libraries:
//!
//! ```trace
//! execve("/usr/bin/curl", ["curl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/etc/ssl/certs/ca-certificates.crt", O_RDONLY|O_CLOEXEC) = 3 x3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Keep one context (in Python one `ssl.SSLContext`, or one session of the HTTP library) and use it
//! for all connections. Certificates that are added or withdrawn later are seen only by a new
//! context: a program that runs for months has to make one now and then.
//!
//! ## References
//!
//! * <https://docs.python.org/3/library/ssl.html#ssl.create_default_context>
//! * <https://github.com/python/cpython/issues/95031>: why OpenSSL 3 is slower
//! * <https://github.com/psf/requests/pull/6667>

use crate::engine::helpers;
use crate::{Rule, Sink, View};
use needless_model::Stage;

pub(crate) const RULE: Rule = Rule {
    name: "certificate-reread",
    summary: "The list of trusted certificates is read again for each connection",
    mentions: &[".crt", ".pem"],
    ..Rule::PLAIN
};

/// Each of a few libraries may read it once.
const FEWEST: u64 = 6;

/// open, fstat, 54 reads and close (distributions ship some 220 KB, read in blocks of 4 KiB); then
/// stat, open, fstat, read and close of the directory of single certificates; and OpenSSL asks for
/// its own pid four times.
const CALLS: u64 = 66;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let bundle = |path: &str| {
        ["ca-certificates.crt", "ca-bundle.crt", "cacert.pem", "tls-ca-bundle.pem"]
            .contains(&helpers::file_name(path))
            || path == "/usr/lib/ssl/cert.pem"
            || path == "/etc/ssl/cert.pem"
    };
    let mut cases = helpers::rereads(view, sink, |_| true, bundle);
    cases.retain(|case| case.needless >= FEWEST);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} reads of the list of certificates repeat an earlier one", merged.counts());
        let why = format!(
            "{program} makes a new TLS context for each connection; each reads and parses all \
             trusted certificates."
        );
        let remedies = vec![helpers::by_hand(
            "Make one TLS context, or one session of the HTTP library, and use it for all connections",
            "A change of code; certificates that are added later are seen only by a new context.",
        )];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
