//! ## What it finds
//!
//! Directories of RUBYLIB in which Ruby looks for each file that is required and finds none.
//!
//! ## Why it happens
//!
//! Ruby searches them before its own directories and those of gems. For each `require` it tries to
//! open the file in each of them.
//!
//! ## Example
//!
//! ```trace
//! env RUBYLIB=/opt/a:/opt/b
//! execve("/usr/bin/ruby", ["ruby"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/set.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/json.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/set.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/json.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/ruby/3.1.0/set.rb", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! ruby-path: 6 of 6
//! unset RUBYLIB
//! ```
//!
//! Ruby checks and searches a directory for each mention. If `-I` names it as well, half of
//! the calls are saved without the variable:
//!
//! ```trace
//! env RUBYLIB=/opt/a
//! execve("/usr/bin/ruby", ["ruby", "-I/opt/a"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, 0) = 0 x2
//! openat(AT_FDCWD, "/opt/a/set.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x4
//! openat(AT_FDCWD, "/opt/a/json.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x4
//! openat(AT_FDCWD, "/opt/a/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x4
//! ```
//! ```finding
//! ruby-path: 7 of 14
//! unset RUBYLIB
//! ```
//!
//! Ruby 3.3 checks it again at each `require`. A name that is asked for once shows that there is one mention:
//!
//! ```trace
//! env RUBYLIB=/opt/a
//! execve("/usr/bin/ruby", ["ruby"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! newfstatat(AT_FDCWD, "/opt/a", {st_mode=S_IFDIR|0755, st_size=60, ...}, AT_SYMLINK_NOFOLLOW) = 0 x5
//! openat(AT_FDCWD, "/opt/a/set.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/json.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/json/ext.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! ruby-path: 8 of 8
//! unset RUBYLIB
//! ```
//!
//! ## Not a finding
//!
//! A directory that holds what is required; and Ruby's own:
//!
//! ```trace
//! env RUBYLIB=/opt/a
//! execve("/usr/bin/ruby", ["ruby"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/set.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/json.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/tool.rb", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/a.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/b.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/c.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/d.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/e.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/f.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/g.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/lib/site_ruby/h.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Unset RUBYLIB, or leave only the directories that hold something. Do not do this if a program
//! that was not observed requires files from them: use `-I` for that program first.
//!
//! ## References
//!
//! * `man 1 ruby`, RUBYLIB
//! * <https://github.com/ruby/rubygems/issues/933>: 250,000 failed opens over 204 directories

use crate::engine::helpers::named;
use crate::lists::DuplicateEntry;
use crate::lists::Search;
use crate::{Rule, View};
use needless_model::ProcId;

pub(crate) const RULE: Rule = Rule {
    name: "ruby-path",
    summary: "RUBYLIB lists directories that hold none of the files that Ruby programs require",
    variables: &["RUBYLIB"],
    lists: &[LIST],
    mentions: &[".rb"],
    ..Rule::PLAIN
};

const LIST: Search = Search {
    variable: "RUBYLIB",
    who: ruby,
    file: |path| path.ends_with(".rb") || path.ends_with(".so") || !path.contains('.'),
    again: DuplicateEntry::Looks,
    things: "Ruby files",
    why: "Ruby searches the list before its own directories, so each `require` tries all of it first.",
    caveat: "Another run of this program, or another program, may require files from these directories: look into them first.",
    user_ns: Some(2_500),
    ..Search::BY_PROGRAM
};

fn ruby(view: &View<'_>, id: ProcId) -> bool {
    let is_ruby = |path: &str| path.ends_with(".rb");
    named(view, id, &["ruby"]) || view.rows_of(id).any(|(_, row)| is_ruby(view.profile.path(row)))
}
