//! ## What it finds
//!
//! Apache asking of each part of the path of each request whether it is a symbolic link.
//!
//! ## Why it happens
//!
//! Without `Options FollowSymLinks`, or with `SymLinksIfOwnerMatch` in its place, Apache may not serve
//! what a link leads to. So it calls lstat for each directory from the root down to the file, at each
//! request, and keeps no answer: another request may come after a change.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/sbin/apache2", ["apache2"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/var/www/html/f.html", O_RDONLY|O_CLOEXEC) = 9 x40
//! newfstatat(AT_FDCWD, "/var", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0 x40
//! newfstatat(AT_FDCWD, "/var/www", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0 x40
//! newfstatat(AT_FDCWD, "/var/www/html", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0 x40
//! newfstatat(AT_FDCWD, "/var/www/html/f.html", {st_mode=S_IFREG|0644, st_size=5, ...}, AT_SYMLINK_NOFOLLOW) = 0 x40
//! ```
//! ```finding
//! apache-links: 160 of 160
//! stage explained
//! manual
//! ```
//!
//! ## Not a finding
//!
//! PHP in Apache, which resolves the paths of its files itself; another program:
//!
//! ```trace
//! execve("/usr/sbin/apache2", ["apache2"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! openat(AT_FDCWD, "/var/www/html/f.php", O_RDONLY) = 9 x40
//! newfstatat(AT_FDCWD, "/var", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/var/www", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/var/www/html/f.php", {st_mode=S_IFREG|0644, st_size=5, ...}, AT_SYMLINK_NOFOLLOW) = 0 x200
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ```trace
//! execve("/usr/bin/rsync", ["rsync"], 0x7ffd5e8b9d58 /* 21 vars */) = 0
//! newfstatat(AT_FDCWD, "/var", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/var/www", {st_mode=S_IFDIR|0755, st_size=4096, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Set `Options FollowSymLinks` for `<Directory />` and the trees that are served. Do not do this where
//! users who are not trusted can make links in a tree: the option is a security control, and
//! `SymLinksIfOwnerMatch` costs these calls on purpose (it can be raced, as Apache's manual says). A
//! directory that nobody but root can write to needs neither.
//!
//! ## References
//!
//! * <https://httpd.apache.org/docs/2.4/misc/perf-tuning.html#symlinks>
//! * Apache, `server/request.c`, `ap_directory_walk()`

use crate::engine::helpers::{self, RowClass};
use crate::text::number;
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Row, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "apache-links",
    summary: "Apache asks of each part of each path whether it is a link",
    mentions: &["apache2", "httpd"],
    ..Rule::PLAIN
};

/// A few requests are not worth a change of configuration.
const FEWEST: u64 = 100;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let apache = |id: ProcId| ["apache2", "httpd"].contains(&view.process(id).name());
    // PHP resolves paths by lstat as well.
    let php =
        |id: ProcId| view.rows_of(id).any(|(_, row)| view.profile.path(row).ends_with(".php"));
    // A directory of the root is asked about only as a part of a path.
    let from_root = |id: ProcId| {
        view.rows_of(id).any(|(_, row)| {
            row.query == Query::Lstat && view.profile.path(row).matches('/').count() == 1
        })
    };
    let class = |row: &Row, _: &str| RowClass::Needless.when(row.query == Query::Lstat && row.ok());
    let cases = helpers::cases(view, sink, |id| apache(id) && !php(id) && from_root(id), class);
    for (_, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what = format!(
            "{} lstats ask whether a part of a path is a symbolic link",
            number(merged.needless)
        );
        let why = "Apache may not follow links here (Options without FollowSymLinks, or with \
                   SymLinksIfOwnerMatch), so it checks each part of the path of each request."
            .to_owned();
        let remedies = vec![helpers::by_hand(
            "Set Options FollowSymLinks for <Directory /> and the trees that are served",
            "A security control: keep it where users who are not trusted can make links.",
        )];
        sink.find(helpers::finding(merged, RULE.name, Stage::Explained, what, why, remedies));
    }
}
