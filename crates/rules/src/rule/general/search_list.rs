//! ## What it finds
//!
//! Directories of any variable that lists directories (CDPATH, MANPATH, LUA_PATH, PKG_CONFIG_PATH, LIBRARY_PATH,
//! R_LIBS, GUILE_LOAD_PATH, …) in which a program looks for files and never finds one, and files of a variable that
//! lists files (KUBECONFIG, KRB5_CONFIG) that are not there. Lists for which there is a rule of their own (PATH,
//! LD_LIBRARY_PATH, PYTHONPATH, …) are checked there.
//!
//! ## Why it happens
//!
//! A program looks for each name in each entry of the list, up to the entry that holds it. An entry that holds
//! nothing is asked for each name: a directory that was removed, one of another machine, or one that a script adds
//! for each of many packages. Which variable lists the directories is seen from the environment of the process: the
//! calls say where the program looked, and the variable's entries are these directories or lead to them (`~`,
//! `dir//`, `dir/?.lua`). A directory counts only if the same names are looked for in another place as well: a
//! directory that is simply an optional file's is no list.
//!
//! If no variable lists the directories, or the environment is not known, three directories and hundreds of calls
//! are reported as *seen*, if the program often finds the names elsewhere. The list is then an option, a
//! configuration or the program's own. For Ruby that is the load path, to which every gem adds a directory.
//!
//! ## Example
//!
//! ```trace
//! env CDPATH=/srv/old:/srv/older:/srv/gone:/srv
//! execve("/usr/bin/bash", ["bash"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 20
//! newfstatat(AT_FDCWD, "/srv/old/app", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/older/app", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/gone/app", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/app", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! end
//! ```
//! ```finding
//! search-list: 60 of 60
//! stage explained
//! without CDPATH /srv/old /srv/older /srv/gone
//! ```
//!
//! Patterns, of which one directory has two:
//!
//! ```trace
//! env LUA_PATH=/opt/a/?.lua;/opt/a/?/init.lua;/opt/b/?.lua;/usr/share/lua/5.4/?.lua;;
//! execve("/usr/bin/lua5.4", ["lua"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 4
//! openat(AT_FDCWD, "/opt/a/socket.lua", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/socket/init.lua", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/socket.lua", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/lua/5.4/socket.lua", O_RDONLY) = 3
//! end
//! ```
//! ```finding
//! search-list: 12 of 12
//! stage explained
//! without LUA_PATH /opt/a/?.lua /opt/a/?/init.lua /opt/b/?.lua
//! ```
//!
//! A list of files, of which one is there and is kept:
//!
//! ```trace
//! env KUBECONFIG=/opt/a/config:/opt/b/config:/opt/c/config:/home/me/config
//! execve("/usr/bin/kubectl", ["kubectl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 30
//! newfstatat(AT_FDCWD, "/opt/a/config", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/config", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c/config", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/config", {st_mode=S_IFREG|0600, st_size=5, ...}, 0) = 0
//! openat(AT_FDCWD, "/home/me/config", O_RDONLY|O_CLOEXEC) = 3
//! end
//! ```
//! ```finding
//! search-list: 90 of 90
//! stage explained
//! without KUBECONFIG /opt/a/config /opt/b/config /opt/c/config
//! ```
//!
//! A log does not show the environment:
//!
//! ```trace
//! execve("/usr/bin/guile", ["guile"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 40
//! newfstatat(AT_FDCWD, "/opt/a/srfi/srfi-1.scm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/b/srfi/srfi-1.scm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/opt/c/srfi/srfi-1.scm", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/usr/share/guile/3.0/srfi/srfi-1.scm", {st_mode=S_IFREG|0644, st_size=9, ...}, 0) = 0
//! end
//! ```
//! ```finding
//! search-list: 120 of 120
//! stage seen
//! manual
//! ```
//!
//! So does one of a shell, which asks for each directory itself, too:
//!
//! ```trace
//! execve("/usr/bin/bash", ["bash"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 40
//! newfstatat(AT_FDCWD, "/srv/a", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/srv/a/app", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/b", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/srv/b/app", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/c", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/srv/c/app", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/home/me/app", {st_mode=S_IFDIR|0755, st_size=4096, ...}, 0) = 0
//! end
//! ```
//! ```finding
//! search-list: 120 of 120
//! stage seen
//! manual
//! ```
//!
//! ## Not a finding
//!
//! Directories that are listed, and may be wanted for what is in them:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 40
//! openat(AT_FDCWD, "/srv/a", O_RDONLY|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/srv/a/.skip", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/b", O_RDONLY|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/srv/b/.skip", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/srv/c", O_RDONLY|O_DIRECTORY) = 3
//! newfstatat(AT_FDCWD, "/srv/c/.skip", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! An entry that holds something; the directories of the system, in any order:
//!
//! ```trace
//! env XDG_CONFIG_DIRS=/srv/xdg:/usr/local/etc/xdg:/usr/share/xdg
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 50
//! openat(AT_FDCWD, "/srv/xdg/a.conf", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/local/etc/xdg/a.conf", O_RDONLY) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/share/xdg/a.conf", O_RDONLY) = 3
//! end
//! openat(AT_FDCWD, "/srv/xdg/b.conf", O_RDONLY) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Files that are there later. An entry that was found is what the list is for, unless something shows that it is a
//! directory: a name that was looked for below it, `O_DIRECTORY`, or the machine.
//!
//! ```trace
//! env RESULT_FILES=/tmp/a.done:/tmp/b.done:/tmp/c.done
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 100
//! newfstatat(AT_FDCWD, "/tmp/a.done", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/tmp/b.done", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/tmp/c.done", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! newfstatat(AT_FDCWD, "/tmp/a.done", {st_mode=S_IFREG|0600, st_size=5, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/tmp/b.done", {st_mode=S_IFREG|0600, st_size=5, ...}, 0) = 0
//! newfstatat(AT_FDCWD, "/tmp/c.done", {st_mode=S_IFREG|0600, st_size=5, ...}, 0) = 0
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A file that is asked for in one place only, below a directory that some variable happens to list:
//!
//! ```trace
//! env WORK_DIRS=/srv/work:/srv/other
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 500
//! newfstatat(AT_FDCWD, "/srv/work/stop", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Directories of a tree, each of which may have a file of settings:
//!
//! ```trace
//! execve("/usr/bin/git", ["git"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 60
//! openat(AT_FDCWD, "/src/.gitattributes", O_RDONLY|O_NOFOLLOW) = 3
//! openat(AT_FDCWD, "/src/a/.gitattributes", O_RDONLY|O_NOFOLLOW) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/b/.gitattributes", O_RDONLY|O_NOFOLLOW) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/src/c/.gitattributes", O_RDONLY|O_NOFOLLOW) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! A name that is found nowhere: the directories may be the program's data.
//!
//! ```trace
//! execve("/usr/bin/sh", ["sh"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! repeat 60
//! newfstatat(AT_FDCWD, "/srv/many/1/done", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/many/2/done", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! newfstatat(AT_FDCWD, "/srv/many/3/done", 0x7ffc0c0a3ee0, 0) = -1 ENOENT (No such file or directory)
//! end
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Take the entries out of the variable where the program is started. The value itself is not in a report, because
//! its other entries may be nobody else's business: `needless prove` and `needless fix` make the new value from the
//! environment that they find. If no entry is left the variable is to be unset; for some programs that brings back
//! the default list, which the caveat says where it is known. The program may look for other names there at other
//! times, and a directory that does not exist now may be made later.
//!
//! If no variable lists the directories, the program's own list has to change. For Ruby with Bundler the gem bootsnap
//! keeps an index of the load path: in one measurement 352 opens failed instead of 42,823. It has to be set up right
//! after `bundler/setup`: before it, or without it, the same program made more calls than without bootsnap.
//!
//! ## References
//!
//! * `man 1 bash` (CDPATH), `man 1 man` (MANPATH), `man 1 gcc` (LIBRARY_PATH), `man 1 pkg-config`
//! * <https://www.lua.org/manual/5.4/manual.html#pdf-package.path>
//! * <https://github.com/rails/bootsnap>

use crate::rule::RULES;
use crate::{Rule, Sink, View, lists};

pub(crate) const RULE: Rule = Rule {
    name: "search-list",
    summary: "some variable lists directories that hold nothing of what a program looks for in them",
    ..Rule::PLAIN
};

/// Whether a rule of its own judges the lists of this variable.
pub(crate) fn has_own_rule(variable: &str) -> bool {
    RULES.iter().any(|rule| rule.variables.contains(&variable))
}

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    lists::check_any(view, sink);
}
