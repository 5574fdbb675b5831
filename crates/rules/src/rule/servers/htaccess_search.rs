//! ## What it finds
//!
//! Apache with `AllowOverride` on that looks for a file `.htaccess` in every directory of the path
//! of every request, and finds none.
//!
//! ## Why it happens
//!
//! If overrides are allowed, a `.htaccess` may lie in any directory above the file and may change
//! at any time: Apache tries to open it for each request. If only the document root forbids
//! overrides, Apache still looks in the directories above it, until `<Directory />` forbids them,
//! too.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/apache2", ["apache2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 50
//! openat(AT_FDCWD, "/.htaccess", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/.htaccess", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/www/.htaccess", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/www/index.html", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! htaccess-search: 150 of 150
//! setting apache-overrides
//! ```
//!
//! ## Not a finding
//!
//! A directory that has one:
//!
//! ```trace
//! execve("/usr/bin/apache2", ["apache2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 50
//! openat(AT_FDCWD, "/srv/www/.htaccess", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/srv/www/index.html", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set `AllowOverride None` for `<Directory />` and for trees that need no overrides. If an
//! application brings a `.htaccess` (WordPress and others do, also for access rules), move its
//! directives into the server's configuration first.
//!
//! ## References
//!
//! * <https://httpd.apache.org/docs/2.4/howto/htaccess.html#when>

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Remedy, Row, Setting, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "htaccess-search",
    summary: "Apache looks for .htaccess in each directory on the way to each file that it serves",
    mentions: &[".htaccess"],
    setting: Some(|process| match process.name() {
        "apache2" | "httpd" | "?" => Ok(remedy()),
        other => Err(format!("{other} runs there, not Apache")),
    }),
    ..Rule::PLAIN
};

/// A few requests are not worth a change of configuration.
const FEWEST: u64 = 100;

fn remedy() -> Remedy {
    helpers::setting(
        Setting::ApacheOverrides,
        "Set AllowOverride None for <Directory /> and for trees that need no overrides",
        "Applications keep access rules in .htaccess: move them into the server's configuration first.",
    )
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let apache = |id: ProcId| ["apache2", "httpd"].contains(&view.process(id).name());
    let class = |row: &Row, path: &str| match helpers::file_name(path) == ".htaccess" {
        true if helpers::absent(row) => RowClass::Needless,
        true => RowClass::Needed,
        false => RowClass::Unrelated,
    };
    let cases = helpers::cases(view, sink, apache, class);
    for (_, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} failed opens of .htaccess, several per request", number(merged.needless));
        let why =
            "AllowOverride lets any directory have a .htaccess, so Apache looks for one in each \
                   directory of the path of each request."
                .to_owned();
        let remedies = vec![remedy()];
        sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}
