//! ## What it finds
//!
//! nginx that opens, or looks for, the same static files at each request.
//!
//! ## Why it happens
//!
//! Without `open_file_cache` nginx keeps nothing of a file from one request to the next: each
//! request costs an open, an fstat and a close, and a stat for each entry of `try_files` that does
//! not exist.
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
//! setting nginx-open-file-cache
//! ```
//!
//! Many files, each of them seldom:
//!
//! ```trace
//! execve("/usr/bin/nginx", ["nginx"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/srv/www/a.html", O_RDONLY|O_CLOEXEC) = 3 x44
//! openat(AT_FDCWD, "/srv/www/b.html", O_RDONLY|O_CLOEXEC) = 3 x44
//! openat(AT_FDCWD, "/srv/www/c.html", O_RDONLY|O_CLOEXEC) = 3 x44
//! ```
//! ```finding
//! nginx-open-files: 129 of 132
//! setting nginx-open-file-cache
//! ```
//!
//! ## Not a finding
//!
//! Its log, which it opens again on a signal; and few requests:
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
//! `needless fix` does this in a file of its own, /etc/nginx/conf.d/zz-needless.conf, where nginx.conf includes that
//! directory: a reload is enough. By hand: set `open_file_cache max=1000 inactive=60s; open_file_cache_errors on;`, and
//! `open_file_cache_valid` to the time for which an old file may be served: a file that was
//! replaced or deleted is served until then. Do not do this if that must never happen.
//!
//! ## References
//!
//! * <https://nginx.org/en/docs/http/ngx_http_core_module.html#open_file_cache>

use crate::engine::helpers::{self, RowClass};
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Remedy, Row, Setting, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "nginx-open-files",
    summary: "nginx opens the same file again for each request",
    setting: Some(|process| match process.name() {
        "nginx" | "?" => Ok(remedy()),
        other => Err(format!("{other} runs there, not nginx")),
    }),
    ..Rule::PLAIN
};

/// How often one file is asked for, at least.
const FEWEST_EACH: u64 = 10;
/// Fewer calls for files that were asked for before cost no noticeable time.
const FEWEST: u64 = 100;

/// open, fstat and close.
const CALLS: u64 = 3;

fn remedy() -> Remedy {
    helpers::setting(
        Setting::NginxOpenFileCache,
        "Set open_file_cache, with open_file_cache_errors on for what try_files does not find",
        "A file that was replaced or deleted is served for as long as open_file_cache_valid says.",
    )
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let nginx = |id: ProcId| view.process(id).name() == "nginx";
    let class = |row: &Row, path: &str| match row.query {
        // Its calls about the time zone belong to other rules.
        _ if ["/proc/", "/sys/", "/etc/"].iter().any(|dir| path.starts_with(dir)) => {
            RowClass::Unrelated
        }
        Query::Open | Query::Stat if row.count >= FEWEST_EACH => RowClass::AllButOne,
        _ => RowClass::Unrelated,
    };
    let cases = helpers::cases(view, sink, nginx, class);
    for (_, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what = format!("{} opens and stats of files served before", merged.counts());
        let why =
            "nginx has no open_file_cache, so each request opens its file again, and looks again \
             for those of try_files."
                .to_owned();
        let remedies = vec![remedy()];
        let besides = helpers::accompanying(view, &merged, helpers::per_open(CALLS));
        let finding = helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies);
        sink.find(helpers::beside(finding, besides));
    }
}
