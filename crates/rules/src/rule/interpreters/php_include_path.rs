//! ## What it finds
//!
//! PHP programs that include files by a relative name, while directories that hold none of them
//! come before the right one.
//!
//! ## Why it happens
//!
//! PHP tries each directory of `include_path` in turn, for each such file, in each request. Older
//! frameworks and package managers put their own directories first.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/php8.2", ["php8.2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/one.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/one.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/one.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/lib/one.php", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/lib/two.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/two.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/lib/two.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/lib/two.php", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! php-include-path: 6 of 6
//! manual
//! ```
//!
//! ## Not a finding
//!
//! An autoloader with two roots:
//!
//! ```trace
//! execve("/usr/bin/php8.2", ["php8.2"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/lib/one.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/one.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/lib/one.php", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/lib/two.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/two.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/lib/two.php", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/lib/three.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/three.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/lib/three.php", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/lib/four.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/lib/four.php", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/lib/four.php", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Include by absolute path (`__DIR__`), or put the directory that holds the files first in
//! `include_path`. A file of the same name in another directory may be meant: check before you
//! change the order.
//!
//! ## References
//!
//! * <https://www.php.net/manual/en/ini.core.php#ini.include-path>

use crate::Rule;
use crate::engine::helpers::named;
use crate::lists::{Infer, Search};

pub(crate) const RULE: Rule = Rule {
    name: "php-include-path",
    summary: "PHP looks for included files in directories of its include_path that do not hold them",
    lists: &[LIST],
    mentions: &[".php"],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    who: |view, id| named(view, id, &["php", "apache2", "httpd"]),
    file: |path| path.ends_with(".php") || path.ends_with(".inc"),
    infer: Infer::Chains,
    things: "PHP files",
    why: "PHP tries the directories of include_path in turn for each file that is included by a relative name.",
    manual: "Put the directory that holds the files first in include_path, or include by absolute path (__DIR__)",
    caveat: "Files of one name may lie in several directories: the order decides which is run.",
    by_hand: true,
    ..Search::BY_PROGRAM
};
