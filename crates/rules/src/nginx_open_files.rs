//! ## What it finds
//!
//! nginx that opens, or looks for, the same static files at each request.
//!
//! ## Why it happens
//!
//! Without `open_file_cache` nginx keeps nothing of a file from one request to the next: each costs
//! an open, an fstat and a close, and each entry of `try_files` that is not there a stat.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/nginx", ["nginx"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 300
//! newfstatat(AT_FDCWD, "/srv/www/x.html", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/www/index.html", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nginx-open-files: 598 of 600
//! manual
//! ```
//!
//! ## Not a finding
//!
//! Its log, which it opens again when it is told to; and few requests:
//!
//! ```trace
//! execve("/usr/bin/nginx", ["nginx"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/var/log/access.log", O_WRONLY|O_CREAT|O_APPEND, 0644) = 4 x500
//! openat(AT_FDCWD, "/srv/www/index.html", O_RDONLY|O_CLOEXEC) = 3 x20
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! `open_file_cache max=1000 inactive=60s; open_file_cache_errors on;` with `open_file_cache_valid`
//! as long as an old file may be served: one that was replaced or deleted is served on until then.
//! Not where that may never happen.
//!
//! ## References
//!
//! * <https://nginx.org/en/docs/http/ngx_http_core_module.html#open_file_cache>

use crate::helpers::{self, Part};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{Fact, ProcId, Query, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "nginx-open-files",
    summary: "nginx opens the same file anew for each request",
    needs: &[Fact::Paths, Fact::Outcomes],
    variables: &[],
    correctness: false,
    pedantic: false,
    page: include_str!("nginx_open_files.rs"),
    check,
};

/// How often one file is asked for, at least.
const FEWEST_EACH: u64 = 100;

/// open, a look and close.
const CALLS: u64 = 3;

fn check(view: &View<'_>, sink: &mut Sink) {
    let nginx = |id: ProcId| view.process(id).name() == "nginx";
    let part = |row: &Row, path: &str| match row.query {
        _ if path.starts_with("/proc/") || path.starts_with("/sys/") => Part::Not,
        Query::Open | Query::Stat if row.count >= FEWEST_EACH => Part::Again,
        _ => Part::Not,
    };
    let mut cases = helpers::cases(view, sink, nginx, part);
    // What it asks about the time zone is another matter.
    cases.retain(|case| case.needless >= FEWEST_EACH);
    for (_, cases) in helpers::by_program(view, cases, FEWEST_EACH) {
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} of {} opens and stats of files served before",
            number(merged.needless),
            number(merged.of)
        );
        let why =
            "nginx has no open_file_cache, so each request opens its file, and looks for those \
                   of try_files, anew."
                .to_owned();
        let remedies = vec![helpers::by_hand(
            "Set open_file_cache, with open_file_cache_errors on for what try_files does not find",
            "A file that was replaced or deleted is served on for as long as open_file_cache_valid says.",
        )];
        let besides = helpers::train(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
