//! Who searched, if several lists name the same directories.

use super::profile;
use crate::{CheckOptions, Verdict, check};
use needless_model::{Change, Costs};

fn verdict(trace: &str) -> Verdict {
    check(&profile(trace), &CheckOptions::default())
}

/// A log without the environment shows the same calls for both.
#[test]
fn the_list_the_loader_searched_is_not_named_without_evidence() {
    let open = |dir: char, name: usize, answer: &str| {
        format!("openat(AT_FDCWD, \"/opt/{dir}/lib{name}.so.1\", O_RDONLY|O_CLOEXEC) = {answer}\n")
    };
    let mut opens = String::new();
    for (name, found) in ['b', 'c', 'd', 'e', 'f'].into_iter().enumerate() {
        for dir in 'a'..found {
            opens += &open(dir, name, "-1 ENOENT (No such file or directory)");
        }
        opens += &open(found, name, "3");
    }
    for (env, may_be_the_variable) in [("", true), ("env -LD_LIBRARY_PATH\n", false)] {
        let verdict =
            verdict(&format!("{env}execve(\"/usr/bin/curl\", [\"curl\"], 0x7) = 0\n{opens}"));
        let [finding] = verdict.findings.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(finding.rule, "library-runpath");
        assert_eq!(finding.why.contains("LD_LIBRARY_PATH or"), may_be_the_variable, "{finding:?}");
    }
}

/// Rows are of a call and a path: where two lists name one directory, some calls of a row are the loader's.
#[test]
fn each_of_two_lists_with_the_same_directories_has_its_own_calls() {
    let lists = "env LD_LIBRARY_PATH=/opt/a:/opt/b PYTHONPATH=/opt/a:/opt/b RUBYLIB=/opt/a:/opt/b \
                 PERL5LIB=/opt/a:/opt/b NODE_PATH=/opt/a:/opt/b CPATH=/opt/a:/opt/b";
    let gone = "-1 ENOENT (No such file or directory)";
    let of = |program: &str, asks: &str| {
        let mut log = format!("{lists}\nexecve(\"/usr/bin/{program}\", [\"x\"], 0x7ffd) = 0\n");
        for dir in ["/opt/a", "/opt/b"] {
            for lib in ["libm.so.6", "libc.so.6"] {
                log += &format!("openat(AT_FDCWD, \"{dir}/{lib}\", O_RDONLY|O_CLOEXEC) = {gone}\n");
            }
            log +=
                &format!("newfstatat(AT_FDCWD, \"{dir}\", {{st_mode=S_IFDIR|0755, ...}}, 0) = 0\n");
            log += &asks.replace("DIR", dir).replace("GONE", gone);
        }
        let all = CheckOptions { min_saving_percent: 0.0, ..CheckOptions::default() };
        let mut found: Vec<_> = check(&profile(&log), &all).findings;
        found.sort_by_key(|finding| finding.rule.clone());
        found
            .iter()
            .map(|f| (crate::by_name(&f.rule).unwrap().name, f.needless))
            .collect::<Vec<_>>()
    };
    let own = ("library-search", 6);
    let stat = "newfstatat(AT_FDCWD, \"DIR\", {st_mode=S_IFDIR|0755, ...}, 0) = 0 x30\n";
    assert_eq!(of("python3.11", stat), [own, ("python-path", 60)]);
    // Ruby looks for a library of the same name as its file: that is not the loader's.
    let ruby = "openat(AT_FDCWD, \"DIR/set.rb\", O_RDONLY|O_CLOEXEC) = GONE\n\
                openat(AT_FDCWD, \"DIR/set.so\", O_RDONLY|O_CLOEXEC) = GONE\n";
    assert_eq!(of("ruby3.1", ruby), [own, ("ruby-path", 4)]);
    let perl = "newfstatat(AT_FDCWD, \"DIR/POSIX.pmc\", 0x7ffc, 0) = GONE\n\
                newfstatat(AT_FDCWD, \"DIR/auto/POSIX/POSIX.so\", 0x7ffc, 0) = GONE\n";
    assert_eq!(of("perl", perl), [own, ("perl-path", 4)]);
    let node = "statx(AT_FDCWD, \"DIR\", AT_STATX_SYNC_AS_STAT, STATX_ALL, {stx_mask=STATX_ALL}) = 0 x5\n\
                statx(AT_FDCWD, \"DIR/left-pad\", AT_STATX_SYNC_AS_STAT, STATX_ALL, 0x7ffc) = GONE\n";
    assert_eq!(of("node", node), [("library-search", 6), ("node-path", 12)]);
    let cc1 = "openat(AT_FDCWD, \"DIR/stdio.h\", O_RDONLY|O_NOCTTY) = GONE\n\
               newfstatat(AT_FDCWD, \"DIR\", {st_mode=S_IFDIR|0755, ...}, 0) = 0\n";
    assert_eq!(of("cc1", cc1), [("header-search", 4), own]);
    // A linker that looks for -lm.
    let ld = "openat(AT_FDCWD, \"DIR/libm.so\", O_RDONLY) = GONE\n\
              openat(AT_FDCWD, \"DIR/libm.a\", O_RDONLY) = GONE\n";
    assert_eq!(of("ld.bfd", ld), [own]);
    // A call site in the program that names the file itself is not dlopen().
    let own_open = "openat(AT_FDCWD, \"DIR/libx.so.1\", O_RDONLY) = GONE\n\
                    site find+0x12: call open64@plt\n";
    assert_eq!(of("app", own_open), [own]);
}

/// Relative entries are below the working directory, whose path a backend knows or not.
#[test]
fn relative_entries_are_counted_and_named_as_they_are_written() {
    let gone = "-1 ENOENT (No such file or directory)";
    let log = |value: &str, dirs: &[&str]| {
        let mut log = format!(
            "env LD_LIBRARY_PATH={value}\nexecve(\"/usr/bin/git\", [\"git\"], 0x7ffd) = 0\n"
        );
        for lib in ["libpcre2-8.so.0", "libz.so.1", "libc.so.6"] {
            for dir in dirs {
                for below in ["glibc-hwcaps/x86-64-v3/", ""] {
                    let path = format!("{dir}{below}{lib}");
                    log += &format!("openat(AT_FDCWD, \"{path}\", O_RDONLY|O_CLOEXEC) = {gone}\n");
                }
            }
        }
        log
    };
    for (value, dirs, named) in [
        ("lib:../x", ["lib/", "../x/"], "../x, lib"),
        ("lib/:../x//", ["/home/me/lib/", "/home/me/../x/"], "../x, lib"),
        ("./:lib", ["/home/me/./", "/home/me/lib/"], "., lib"),
        // The working directory is called as the entry is.
        (":lib", ["/srv/lib/", "/srv/lib/lib/"], "lib, the current directory"),
        ("/home/me/lib:lib", ["/home/me/lib/", "/home/you/lib/"], "/home/me/lib, lib"),
    ] {
        let verdict = verdict(&log(value, &dirs));
        let [finding] = verdict.findings.as_slice() else { panic!("{value} {verdict:?}") };
        assert_eq!((&*finding.rule, finding.needless), ("library-search", 12), "{value}");
        assert!(finding.why.contains(&named.replace(", ", " and ")), "{named}: {}", finding.why);
        assert!(finding.why.contains(SECURITY), "{}", finding.why);
        let unset = Change::UnsetEnv { variable: "LD_LIBRARY_PATH".to_owned() };
        assert_eq!(finding.remedies[0].change, unset, "{value}");
    }
    // Where the entries that stay are absolute, nothing of the kind is left.
    let absolute = verdict(&log("/opt/a:/opt/b", &["/opt/a/", "/opt/b/"]));
    assert!(!absolute.findings[0].why.contains(SECURITY), "{}", absolute.findings[0].why);
}

const SECURITY: &str = "anybody who may write there decides which library a program loads";

/// Entries that stay may be a security problem, too, though they cost no needless call.
#[test]
fn an_empty_or_relative_entry_that_stays_is_a_matter_of_security() {
    let gone = "-1 ENOENT (No such file or directory)";
    for (value, dir) in [(":/opt/a", ""), ("lib:/opt/a", "lib/"), ("/opt/a:.", "./")] {
        let mut log = format!(
            "env LD_LIBRARY_PATH={value}\nexecve(\"/usr/bin/git\", [\"git\"], 0x7ffd) = 0\n"
        );
        for lib in ["liba.so.1", "libb.so.1", "libc.so.6"] {
            log += &format!("openat(AT_FDCWD, \"/opt/a/{lib}\", O_RDONLY|O_CLOEXEC) = {gone}\n");
            log +=
                &format!("openat(AT_FDCWD, \"/opt/a/tls/{lib}\", O_RDONLY|O_CLOEXEC) = {gone}\n");
            log += &format!("openat(AT_FDCWD, \"{dir}{lib}\", O_RDONLY|O_CLOEXEC) = 3\n");
        }
        let verdict = verdict(&log);
        let [finding] = verdict.findings.as_slice() else { panic!("{value} {verdict:?}") };
        assert_eq!((&*finding.rule, finding.needless), ("library-search", 6), "{value}");
        assert!(finding.why.contains(SECURITY), "{value}: {}", finding.why);
        let Change::SetEnv { value: Some(stays), .. } = &finding.remedies[0].change else {
            panic!("{finding:?}")
        };
        let expected = if dir.is_empty() { "." } else { dir.trim_end_matches('/') };
        assert_eq!(stays, expected);
    }
}

/// For these an empty entry is the working directory: a list of nothing else must not become no list.
#[test]
fn an_empty_entry_stays_where_it_is_the_working_directory() {
    let gone = "-1 ENOENT (No such file or directory)";
    let one = |exe: &str, list: &str, call: &str, names: [&str; 4]| {
        let mut log = format!("env {list}\nexecve(\"/usr/bin/{exe}\", [\"x\"], 0x7ffd) = 0\n");
        for name in names {
            log += &format!("{call}\"/opt/a/{name}\", 0) = {gone} x40\n");
        }
        let mut found = verdict(&log).findings;
        found.remove(0).remedies.remove(0).change
    };
    let set =
        |variable: &str| Change::SetEnv { variable: variable.into(), value: Some(".".into()) };
    let headers = ["stdio.h", "stdlib.h", "string.h", "errno.h"];
    assert_eq!(one("cc1", "CPATH=/opt/a:", "openat(AT_FDCWD, ", headers), set("CPATH"));
    let stat = "newfstatat(AT_FDCWD, ";
    let modules = ["a.py", "b.py", "c.py", "d.py"];
    assert_eq!(one("python3", "PYTHONPATH=/opt/a:", stat, modules), set("PYTHONPATH"));
    let Change::SetEnv { .. } = one("env", "PATH=:/opt/a:", stat, ["ls", "cat", "id", "true"])
    else {
        panic!("PATH is taken away");
    };
    let perl = one("perl", "PERL5LIB=/opt/a:", stat, ["A.pm", "B.pm", "C.pm", "D.pm"]);
    assert_eq!(perl, Change::UnsetEnv { variable: "PERL5LIB".into() });
}

/// Issue 14: GCC resolves each part of a path in the system's chain, for each header.
#[test]
fn links_above_a_directory_of_headers_are_predicted() {
    let mut log =
        "env C_INCLUDE_PATH=/opt/a/include\nexecve(\"/usr/bin/cc1\", [\"x\"], 0x7ffd) = 0\n"
            .to_owned();
    log += "newfstatat(AT_FDCWD, \"/opt/a/include\", {st_mode=S_IFDIR|0755, ...}, 0) = 0\n";
    for part in ["/opt", "/opt/a", "/opt/a/include"] {
        log += &format!("readlink(\"{part}\", 0x7ffe, 1023) = -1 EINVAL (Invalid argument) x50\n");
    }
    log +=
        "openat(AT_FDCWD, \"/opt/a/include/stdio.h\", O_RDONLY) = -1 ENOENT (No such file) x50\n";
    let found = verdict(&log).findings.remove(0);
    assert_eq!((found.needless, found.besides), (101, 100));
}

/// Issue 14: misses that are too few for a finding are counted among the small things.
#[test]
fn a_short_search_of_commands_is_left_out_with_a_word() {
    let of = |path: &str, misses: u32| {
        let log = format!(
            "env PATH={path}\nexecve(\"/usr/bin/xargs\", [\"x\"], 0x7ffd) = 0\n\
             execve(\"/opt/a/bin/true\", [\"true\"], 0x7ffd) = -1 ENOENT (No such file) x{misses}\n"
        );
        let Verdict { findings, below, .. } = verdict(&log);
        let needless =
            |found: &[needless_model::Finding]| found.iter().map(|f| f.needless).sum::<u64>();
        assert!(findings.iter().chain(&below).all(|finding| finding.rule == "command-search"));
        (needless(&findings), needless(&below))
    };
    assert_eq!(of("/opt/a/bin:/usr/bin", 99), (0, 99));
    assert_eq!(of("/opt/a/bin:/usr/bin", 100), (100, 0));
    // Only what exists nowhere is looked for there.
    assert_eq!(of("/usr/bin:/opt/a/bin", 100), (0, 0));
}

/// What a search costs the program itself is estimated where the machine is known, by its kind of program.
#[test]
fn a_search_costs_more_than_its_calls() {
    let gone = "-1 ENOENT (No such file or directory)";
    let log = format!(
        "env NODE_PATH=/opt/a\nexecve(\"/usr/bin/node\", [\"node\"], 0x7ffd) = 0\n\
         newfstatat(AT_FDCWD, \"/opt/a/x\", 0x7ffd, 0) = {gone} x10\n"
    );
    let mut profile = profile(&log);
    let priced = |profile: &_| {
        let found = check(profile, &CheckOptions::default()).findings;
        assert_eq!((&*found[0].rule, found[0].needless), ("node-path", 10));
        (found[0].kernel_ns, found[0].user_ns, found[0].time_ns())
    };
    assert_eq!(priced(&profile), (None, None, None), "a log may be from another machine");
    profile.host.costs = Some(Costs { stat_ns: 500, ..Costs::each(1) });
    assert_eq!(priced(&profile), (Some(5_000), Some(20_000), Some(25_000)));
    profile.processes[0].cpu_ns = Some(9_000);
    assert_eq!(priced(&profile), (Some(5_000), Some(4_000), Some(9_000)), "no more than was spent");
}

/// A relative entry is below a directory that nobody knows: the same entry may hold something in another one.
#[test]
fn relative_entries_are_not_judged() {
    let gone = "-1 ENOENT (No such file or directory)";
    let mut log = "env CPATH=inc\nexecve(\"/usr/bin/cc1\", [\"cc1\"], 0x7ffd) = 0\n".to_owned();
    for header in ["stdio.h", "stdlib.h", "string.h", "math.h", "time.h", "errno.h"] {
        log += &format!("openat(AT_FDCWD, \"/src/a/inc/{header}\", O_RDONLY) = {gone}\n");
        log += &format!("openat(AT_FDCWD, \"/usr/include/{header}\", O_RDONLY) = 3\n");
    }
    assert_eq!(verdict(&log).findings, []);
}

/// bash asks for each directory on the way to an entry, also to one that does not exist.
#[test]
fn the_way_to_a_missing_entry_goes_with_it() {
    let gone = "-1 ENOENT (No such file or directory)";
    let some = "{st_mode=S_IFDIR|0755, st_size=4096, ...}";
    let log = |above: &[&str]| {
        let mut log = "env CDPATH=/src/a/old:/src/a/gone\n\
            execve(\"/usr/bin/bash\", [\"bash\"], 0x7ffd) = 0\n"
            .to_owned();
        for dir in above {
            log += &format!("newfstatat(AT_FDCWD, \"{dir}\", {some}, 0) = 0 x150\n");
        }
        for dir in ["old", "gone"] {
            log += &format!("newfstatat(AT_FDCWD, \"/src/a/{dir}\", 0x7ffd, 0) = {gone} x50\n");
            log += &format!("chdir(\"/src/a/{dir}/x\") = {gone} x50\n");
        }
        log
    };
    let needless = |above: &[&str]| verdict(&log(above)).findings[0].needless;
    assert_eq!(needless(&[]), 200);
    assert_eq!(needless(&["/src", "/src/a"]), 400);
    // Nobody walks who leaves one out.
    assert_eq!(needless(&["/src/a"]), 200);
}
