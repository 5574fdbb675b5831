//! ## What it finds
//!
//! PHP programs that include files by a relative name, and directories before the right one that
//! hold none of them.
//!
//! ## Why it happens
//!
//! PHP tries each directory of `include_path` in turn, for each such file, in each request. Older
//! frameworks and package managers put their own in front.
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
//! `include_path`. A file of the same name in another directory may be meant: look before changing
//! the order.
//!
//! ## References
//!
//! * <https://www.php.net/manual/en/ini.core.php#ini.include-path>

use crate::again::Again;
use crate::search::{self, Asker, Infer, Search, Words, named, of_the_system};
use crate::{Rule, Sink, View};
use needless_model::Fact;

pub(crate) const RULE: Rule = Rule {
    name: "php-include-path",
    summary: "PHP looks for included files in directories of its include_path that do not hold them",
    needs: &[Fact::Paths, Fact::Outcomes],
    variables: &[],
    correctness: false,
    pedantic: false,
    page: include_str!("php_include_path.rs"),
    check,
};

const SEARCH: Search = Search {
    rule: RULE.name,
    variable: "",
    who: |view, id| named(view, id, &["php", "apache2", "httpd"]),
    file: |path| path.ends_with(".php") || path.ends_with(".inc"),
    asker: Asker::Program,
    usual: of_the_system,
    base: |dir| dir,
    infer: Infer::Chains,
    again: Again::Unknown,
};

const WORDS: Words = Words {
    things: "PHP files",
    why: "PHP tries the directories of include_path in turn for each file that is included by a relative name.",
    manual: "Put the directory that holds the files first in include_path, or include by absolute path (__DIR__)",
    caveat: "Files of one name may lie in several directories: the order decides which is run.",
    by_hand: true,
};

fn check(view: &View<'_>, sink: &mut Sink) {
    if !view.may_mention(".php") {
        return;
    }
    search::check(view, sink, &SEARCH, &WORDS);
}
