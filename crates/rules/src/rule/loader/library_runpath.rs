//! ## What it finds
//!
//! Programs built with a prefix for each package (Nix, Guix, Spack, conda, modules): the loader
//! looks for each library in the prefixes of all of them.
//!
//! ## Why it happens
//!
//! DT_RUNPATH is a list of directories, searched in order for each library, and each library has
//! one of its own. With 30 libraries in 30 prefixes that is up to 900 opens at each program start,
//! plus the subdirectories for processor variants in each directory. If the environment is not
//! known (a log), the directories may be those of LD_LIBRARY_PATH.
//!
//! ## Example
//!
//! ```trace
//! execve("/usr/bin/curl", ["curl"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/store/a/lib/libb.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/b/lib/libb.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/store/a/lib/libc.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/b/lib/libc.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/c/lib/libc.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/store/a/lib/libd.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/b/lib/libd.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/c/lib/libd.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/d/lib/libd.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/store/a/lib/libe.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/b/lib/libe.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/c/lib/libe.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/d/lib/libe.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/e/lib/libe.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/store/a/lib/libf.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/b/lib/libf.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/c/lib/libf.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/d/lib/libf.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/e/lib/libf.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/store/f/lib/libf.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! library-runpath: 15 of 19
//! manual
//! ```
//!
//! ## Not a finding
//!
//! One directory beside the program, as bundles have it:
//!
//! ```trace
//! execve("/usr/bin/app", ["app"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/app/lib/libone.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/lib/libtwo.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/app/lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libdl.so.2", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libpthread.so.0", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/librt.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libdl.so.2", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/librt.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! The directories of LD_LIBRARY_PATH, each with a library that is needed:
//!
//! ```trace
//! env LD_LIBRARY_PATH=/opt/a:/opt/b:/opt/c:/opt/d:/opt/e
//! execve("/usr/bin/ld", ["ld"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/libnil.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/libone.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/libone.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/libone.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/libone.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/e/libone.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/libtwo.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/libtwo.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/libtwo.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/libtwo.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/libsix.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/libsix.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/libsix.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/opt/a/libten.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/libten.so.1", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! One directory, which each library in it names relative to itself:
//!
//! ```trace
//! execve("/opt/app/bin/rustc", ["rustc"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/build/deps/libone.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/libone.so", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/build/deps/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/../lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/../lib/../lib/libz.so.1", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/deps/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/../lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/../lib/../lib/libm.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/build/deps/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/app/bin/../lib/libc.so.6", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/etc/ld.so.cache", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libz.so.1", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libm.so.6", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! Ruby's own list of directories, in which it looks for sources and for its extensions:
//!
//! ```trace
//! env -LD_LIBRARY_PATH
//! execve("/usr/bin/ruby", ["ruby"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
//! openat(AT_FDCWD, "/opt/a/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/date_core.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/enc/encdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/a/enc/trans/transdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/date_core.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/enc/encdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/b/enc/trans/transdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/date_core.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/enc/encdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/c/enc/trans/transdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/date_core.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/enc/encdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/d/enc/trans/transdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/e/date.rb", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/e/date_core.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/e/enc/encdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/opt/e/enc/trans/transdb.so", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
//! openat(AT_FDCWD, "/usr/lib/ruby/3.1.0/date_core.so", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/ruby/3.1.0/enc/encdb.so", O_RDONLY|O_CLOEXEC) = 3
//! openat(AT_FDCWD, "/usr/lib/ruby/3.1.0/enc/trans/transdb.so", O_RDONLY|O_CLOEXEC) = 3
//! ```
//! ```finding
//! nothing
//! ```
//!
//! ## Fix and caveat
//!
//! Use absolute names in DT_NEEDED (`patchelf --replace-needed`, Nix's shrinkwrap), one directory
//! of symbolic links, or a cache of the loader for the prefix (Guix). The program's files change,
//! so this is for the people who build the package; a library with an absolute name can no longer
//! be replaced by LD_LIBRARY_PATH. If LD_LIBRARY_PATH is the cause, unset it.
//!
//! ## References
//!
//! * `man 8 ld.so`
//! * glibc, `elf/dl-load.c`
//! * <https://guix.gnu.org/blog/2021/taming-the-stat-storm-with-a-loader-cache/>
//! * <https://github.com/NixOS/nixpkgs/issues/24844>
//! * <https://github.com/NixOS/nixpkgs/issues/367683>

use crate::engine::helpers;
use crate::engine::helpers::of_the_system;
use crate::engine::{Case, PathPattern, merge_shared};
use crate::mechanism::loader::{Loader, base, is_library, parent};
use crate::text::{count, number};
use crate::{Rule, Sink, View};
use needless_model::{Change, Env, Finding, ProcId, Query, Remedy, Row, Safety};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(crate) const RULE: Rule = Rule {
    name: "library-runpath",
    summary: "The loader searches many directories of a RUNPATH, or of an unknown list, for each library",
    ..Rule::PLAIN
};

/// A program with fewer directories is an ordinary bundle.
const FEWEST_DIRS: usize = 4;
/// So is a program in which fewer opens fail.
const FEWEST_MISSES: u64 = 10;

pub(crate) fn check(view: &View<'_>, sink: &mut Sink) {
    let mut groups: BTreeMap<Option<&str>, (Vec<Case>, BTreeSet<String>)> = BTreeMap::new();
    let mut shared = HashMap::new();
    for id in view.ids() {
        let loader = Loader::of(view, id);
        let mut dirs = dirs(view, id);
        dirs.retain(|dir| !loader.is_current(dir));
        // $ORIGIN/../lib is a different path for each library, but one directory.
        let different: BTreeSet<String> = dirs.iter().map(|dir| folded(dir)).collect();
        if different.len() < FEWEST_DIRS {
            continue;
        }
        let mut case = Case { process: id, needless: 0, of: 0, rows: Vec::new() };
        for (at, row) in view.rows_of(id).filter(|(at, _)| !sink.taken(*at)) {
            let path = view.profile.path(row);
            let dir = if row.query == Query::Open { base(parent(path)) } else { base(path) };
            // An interpreter may ask about the same directories.
            let asked = loader.share(at, row, path);
            if asked == 0 || !dirs.contains(dir) {
                continue;
            }
            case.of += asked;
            if row.query == Query::Stat || helpers::absent(row) {
                case.needless += asked;
                case.rows.push(at);
                shared.extend((asked < row.count).then_some((at, asked)));
            }
        }
        if case.needless >= FEWEST_MISSES {
            let (cases, all) = groups.entry(view.process(id).exe.as_deref()).or_default();
            cases.push(case);
            all.extend(different);
        }
    }
    for (cases, dirs) in groups.into_values() {
        sink.find(finding(view, cases, &shared, dirs.len() as u64));
    }
    let shared: Vec<usize> = shared.into_keys().collect();
    sink.leave(&shared);
}

/// The directories that lack a library which was found in another.
fn dirs<'p>(view: &View<'p>, id: ProcId) -> HashSet<&'p str> {
    let opens = view.rows_of(id).filter(|(_, row)| row.query == Query::Open);
    let opens = opens.map(|(_, row)| (row, view.profile.path(row)));
    let opens: Vec<(&Row, &str)> = opens.collect();
    let ruby: HashSet<&str> = opens
        .iter()
        .filter(|(row, path)| helpers::absent(row) && path.ends_with(".rb"))
        .map(|(_, path)| parent(path))
        .collect();
    let opens: Vec<_> = opens.into_iter().filter(|(_, path)| is_library(path)).collect();
    let found = || opens.iter().filter(|(row, _)| row.ok()).map(|(_, path)| *path);
    let found: HashSet<&str> = found().map(helpers::file_name).collect();
    // Where Ruby does not find sources it also looks for its extensions: that list is Ruby's, not
    // the loader's.
    let rubys = |path: &str| ruby.iter().any(|dir| path.starts_with(dir));
    let listed = view.process(id).env.value("LD_LIBRARY_PATH").unwrap_or_default();
    let listed: HashSet<&str> =
        listed.split([':', ';']).map(|dir| dir.trim_end_matches('/')).collect();
    opens
        .iter()
        .filter(|(row, path)| helpers::absent(row) && found.contains(helpers::file_name(path)))
        .filter(|(_, path)| !rubys(path))
        .map(|(_, path)| base(parent(path)))
        .filter(|dir| !dir.is_empty() && !of_the_system(dir) && !listed.contains(dir))
        .collect()
}

/// The path with `..` resolved.
fn folded(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            ".." => drop(names.pop()),
            "." => {}
            name => names.push(name),
        }
    }
    names.join("/")
}

fn finding(view: &View<'_>, cases: Vec<Case>, shared: &HashMap<usize, u64>, dirs: u64) -> Finding {
    let merged = merge_shared(view.profile, cases, shared, |path| {
        if is_library(path) {
            PathPattern::below(base(parent(path)))
        } else {
            PathPattern::path(base(path))
        }
    });
    let first = view.process(merged.processes[0]);
    let name = first.name();
    let rebuild = "Have the program name its libraries by absolute paths (patchelf \
                   --replace-needed), or put links to them into one directory";
    let (whose, manual) = match first.env {
        Env::Known(_) => (format!("of {name}'s RUNPATH"), rebuild.to_owned()),
        Env::Unknown => (
            format!(
                "of LD_LIBRARY_PATH or of {name}'s RUNPATH (nothing here shows which; readelf -d \
                 shows a RUNPATH)"
            ),
            format!("If LD_LIBRARY_PATH lists these directories, unset it. Else: {rebuild}"),
        ),
    };
    Finding {
        what: format!(
            "{} of {} calls that look for libraries find none: {} to search",
            number(merged.needless),
            number(merged.of),
            count(dirs, "directory", "directories"),
        ),
        why: format!(
            "The loader searches the directories {whose} in order for each library, and each \
             library is in a different one or in none."
        ),
        remedies: vec![Remedy {
            change: Change::Manual(manual),
            safety: Safety::Manual(
                "The program's files change; its package must be built or patched again."
                    .to_owned(),
            ),
        }],
        ..merged.finding(RULE.name)
    }
}
