//! ## What it finds
//!
//! PHP programs that check, again and again, every directory in the path of each file they include.
//!
//! ## Why it happens
//!
//! PHP resolves the path of an included file part by part, and remembers the result in its realpath
//! cache. With `open_basedir` set the cache is off, and each include costs a call for each part of
//! the path: 1,504 calls for 100 includes instead of 10. A cache that is too small
//! (`realpath_cache_size`) does the same; with none at all it was 504.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/php8.2", ["php8.2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 200
//! newfstatat(AT_FDCWD, "/srv/www/app/a.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/srv/www/app", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/srv/www", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/srv", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! end
//! ```
//! ```finding
//! php-realpath: 796 of 800
//! manual
//! ```
//!
//! In php-fpm, whose settings `needless fix` can change:
//!
//! ```trace
//! execve("/usr/sbin/php-fpm8.2", ["php-fpm8.2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 200
//! newfstatat(AT_FDCWD, "/srv/www/app/a.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/srv/www/app", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! newfstatat(AT_FDCWD, "/srv/www", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0
//! end
//! ```
//! ```finding
//! php-realpath: 597 of 600
//! setting php-realpath-cache
//! ```
//!
//! ## Not a finding
//!
//! The cache works:
//!
//! ```trace
//! execve("/usr/bin/php8.2", ["php8.2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/srv/www/app/f0.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f1.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f2.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f3.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f4.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f5.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f6.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f7.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www/app/f8.php", {st_mode=S_IFREG|0644, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! newfstatat(AT_FDCWD, "/srv/www", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x20
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! `open_basedir` is a security control: if the server or its users rely on it, leave it. If each
//! site runs as a user of its own, or in a container, these confine it better, and PHP's setting
//! can go. Otherwise make `realpath_cache_size` and `realpath_cache_ttl` larger; PHP then notices a
//! changed link later: for php-fpm `needless fix` does that, where `open_basedir` is not set.
//!
//! ## References
//!
//! * <https://www.php.net/manual/en/ini.core.php#ini.open-basedir>
//! * <https://bugs.php.net/bug.php?id=48677>

use crate::engine::helpers::{self, RowClass};
use crate::{Rule, Sink, View};
use needless_model::{ProcId, Query, Remedy, Row, Setting, Stage};

pub(crate) const RULE: Rule = Rule {
    name: "php-realpath",
    summary: "PHP checks each part of the path of each file that it includes",
    mentions: &[".php"],
    setting: Some(|process| match process.name() {
        name if name.starts_with("php-fpm") || name == "?" => Ok(remedy()),
        other => Err(format!("{other} runs there, not php-fpm")),
    }),
    ..Rule::PLAIN
};

const RAISE: &str = "Raise realpath_cache_size and realpath_cache_ttl in php.ini";
const COSTS: &str = "Helps only where open_basedir is not set; a changed link is then seen later.";
/// Any start costs fewer than this.
const FEWEST: u64 = 500;
/// If nothing is remembered, a path is checked at least this often.
const FEWEST_EACH: u64 = 10;

fn remedy() -> Remedy {
    helpers::setting(Setting::PhpRealpathCache, RAISE, COSTS)
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let php = |id: ProcId| {
        let name = view.process(id).name();
        name.starts_with("php") || name.starts_with("apache2") || name == "httpd"
    };
    let script =
        |id: ProcId| view.rows_of(id).any(|(_, row)| view.profile.path(row).ends_with(".php"));
    let class = |row: &Row, _: &str| match row.query {
        Query::Lstat if row.ok() && row.count >= FEWEST_EACH => RowClass::AllButOne,
        Query::Lstat if row.ok() => RowClass::Needed,
        _ => RowClass::Unrelated,
    };
    let cases = helpers::cases(view, sink, |id| php(id) && script(id), class);
    for (program, cases) in helpers::by_program(view, cases, FEWEST) {
        let merged = helpers::merged(view, cases);
        let what =
            format!("{} lstats check a part of a path that was checked before", merged.counts());
        let why = format!(
            "{program} resolves the paths of included files again each time: open_basedir is set, \
             which turns the realpath cache off, or that cache is too small."
        );
        let remedies = vec![
            if program.starts_with("php-fpm") { remedy() } else { helpers::by_hand(RAISE, COSTS) },
            helpers::by_hand(
                "Drop open_basedir where users, permissions or a container confine PHP",
                "It is a security control: never to be dropped for speed alone.",
            ),
        ];
        sink.find(helpers::finding(merged, RULE.name, Stage::Seen, what, why, remedies));
    }
}
