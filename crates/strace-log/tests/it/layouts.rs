//! Lines of other versions and situations, written by hand after what strace prints, and what is
//! made of them.

use crate::common::{counts, profile, read_options, row};
use needless_model::{Errno, Fact, Loss, Profile, Target};
use needless_strace_log::{LogError, read, read_files};

fn count(profile: &Profile, call: &str) -> u64 {
    counts(profile).get(call).map_or(0, |c| c.0)
}

#[test]
fn one_question_in_every_layout() {
    let call = r#"stat("/etc/localtime", {st_mode=S_IFREG|0644, st_size=114, ...}) = 0"#;
    for before in [
        "",
        "123 ",
        "123  ",
        "[pid 123] ",
        "[pid   123] ",
        "123<comm> ",
        "[pid 123<co mm>] ",
        "01:51:36 ",
        "01:51:36.126758 ",
        "1795225896.154805 ",
        "1795225896 ",
        "01:51:36.773695844 ",
        "     0.000084 ",
        "01:51:36.207139 (+     0.000098) ",
        "[   4] ",
        "[00007f9496b5492a] ",
        "[????????????????] ",
        "123 01:51:36 [   4] [00007f9496b5492a] ",
        "[b7f3] ",
        "123 1795225896.154805 (+ 0.000000) [ 262] [00007f9496b5492a] ",
        "\u{1b}[32m123\u{1b}[0m ",
    ] {
        for after in ["", " <0.000012>", "\r", " \u{1b}[0m"] {
            let profile = profile(format!("{before}{call}{after}\n"));
            let row = row(&profile, "/etc/localtime");
            assert_eq!((row.count, row.ok()), (1, true), "{before}{call}{after}");
            assert_eq!(profile.totals.calls, 1);
            let ns = if after.contains('<') { 12_000 } else { 0 };
            assert_eq!(row.kernel_ns, ns);
            assert!(profile.lost.is_empty(), "{:?}", profile.lost);
        }
    }
}

#[test]
fn unfinished_calls_of_old_and_new_versions() {
    for rest in [
        r#"{st_mode=S_IFREG|0644, st_size=114, ...}, 0) = 0"#,
        r#" {st_mode=S_IFREG|0644, st_size=114, ...}, 0) = 0"#, // 4.x: a blank
        r#" {st_mode=S_IFREG|0644, st_size=114, ...}, 0) = 0 <0.000100>"#,
    ] {
        let profile = profile(format!(
            "1 newfstatat(AT_FDCWD, \"/etc/localtime\",  <unfinished ...>\n\
             2 close(3 <unfinished ...>\n\
             1 <... newfstatat resumed>{rest}\n\
             2 <... close resumed>)                    = 0\n\
             2 read(0,  <unfinished ...>\n"
        ));
        assert_eq!(row(&profile, "/etc/localtime").count, 1);
        assert_eq!(profile.totals.calls, 2);
        assert_eq!(profile.lost[&Loss::Unfinished], 1);
    }
}

#[test]
fn a_call_resumed_without_its_start_is_counted_without_its_path() {
    let profile = profile(
        "1 <... openat resumed>) = 3\n1 <... poll resumed>) = 1 ([{fd=3, revents=POLLIN}])\n1 close(3) = 0\n",
    );
    assert_eq!(profile.totals.calls, 3);
    assert_eq!(profile.lost[&Loss::NoPath], 1);
}

#[test]
fn relative_paths_are_completed_where_the_log_names_the_directory() {
    let profile = profile(
        "1 openat(AT_FDCWD</tmp/a b>, \"x\", O_RDONLY) = 3</tmp/a b/x>\n\
         1 openat(3</tmp/dir>, \"y\", O_RDONLY) = -1 ENOENT (No such file or directory)\n\
         1 openat(3, \"z\", O_RDONLY) = 4\n\
         2 openat(AT_FDCWD, \"w\", O_RDONLY) = 4\n\
         2 chdir(\"/srv\") = 0\n\
         2 openat(AT_FDCWD, \"w\", O_RDONLY) = 4\n\
         2 chdir(\"sub\") = 0\n\
         2 stat(\"w\", {st_mode=S_IFREG|0644, ...}) = 0\n\
         2 fchdir(5) = 0\n\
         2 stat(\"w\", {st_mode=S_IFREG|0644, ...}) = 0\n\
         2 getcwd(\"/home\", 4096) = 6\n\
         2 stat(\"w\", {st_mode=S_IFREG|0644, ...}) = 0\n",
    );
    for path in ["/tmp/a b/x", "/tmp/dir/y", "/srv/w", "/srv/sub/w", "/home/w"] {
        assert_eq!(row(&profile, path).count, 1);
        assert!(matches!(row(&profile, path).target, Target::Path(_)), "{path}");
    }
    assert!(matches!(row(&profile, "z").target, Target::Dir(_)));
    let unknown: Vec<_> = profile.rows.iter().filter(|r| profile.path(r) == "w").collect();
    assert_eq!(unknown.len(), 2);
    assert!(unknown.iter().all(|r| matches!(r.target, Target::Cwd(_)) && r.count == 1));
}

#[test]
fn escapes_foreign_bytes_and_pointers() {
    let mut log = Vec::new();
    log.extend_from_slice(
        b"open(\"/tmp/\\303\\244\\n\\\"\", O_RDONLY) = -1 ENOENT (\xc4\xe5\xed \xf5\xf0)\n",
    );
    log.extend_from_slice(b"open(\"\\x2f\\x65\\x74\\x63\", O_RDONLY|O_DIRECTORY) = 3\n");
    log.extend_from_slice(b"access(0x7ffe5c61a4c0, F_OK) = -1 EFAULT (Bad address)\n");
    log.extend_from_slice(b"open(\"/tmp/\xff\", O_RDONLY) = -1 (errno 2)\n");
    log.extend_from_slice(b"utimensat(3, NULL, [UTIME_NOW, UTIME_NOW], 0) = 0\n");
    let profile = profile(log);
    assert!(row(&profile, "/tmp/ä\n\"").failed(Errno::ENOENT));
    assert!(row(&profile, "/etc").ok());
    assert!(row(&profile, "/tmp/\u{fffd}").failed(Errno::ENOENT));
    assert_eq!(profile.lost[&Loss::NoPath], 1);
    assert_eq!(profile.totals.calls, 5);
    assert_eq!(profile.totals.path_calls, 3);
}

#[test]
fn rare_names_and_returns() {
    let profile = profile(
        "getpid#64() = 1\nsyscall_0x1f4(0x1, 0x2) = -1 ENOSYS (Function not implemented)\n\
         SYS_329(0x1) = -1 (errno 38)\n???? ( <unfinished ...>\n<... ???? resumed>) = ?\n\
         read(3, 0x7f, 1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set)\n\
         restart_syscall(<... resuming interrupted read ...>) = 0\n\
         getpriority(PRIO_PROCESS, 0) = -1\n\
         openat(AT_FDCWD, \"/x\", O_RDONLY) = -1 EPERM (Operation not permitted) (INJECTED)\n\
         openat(AT_FDCWD, \"/y\", O_RDONLY) = 3 (DELAYED)\n\
         pause( <detached ...>\n\
         strace: Process 1 detached\n",
    );
    assert_eq!(count(&profile, "getpid"), 1);
    for name in ["syscall_0x1f4", "SYS_329", "read", "restart_syscall", "getpriority"] {
        assert_eq!(count(&profile, name), 1, "{name}");
    }
    assert_eq!(counts(&profile)["read"], (1, 1)); // as strace -c counts it
    assert_eq!(counts(&profile)["getpriority"], (1, 0));
    assert!(row(&profile, "/x").failed(Errno(1)));
    assert!(row(&profile, "/y").ok());
    assert_eq!(profile.lost[&Loss::Unfinished], 2); // ????, pause
}

#[test]
fn output_and_messages_within_a_line() {
    let profile = profile(
        "write(1, \"a\\nfoo (b) = c\\nd\", 3a\nfoo (b) = c\nd)   = 3\n\
         restart_syscall(<... resuming interrupted read ...>strace: Process 17571 detached\n\
         ) = 0\n[ Process PID=17 runs in 32 bit mode. ]\n--- SIGCHLD {si_signo=SIGCHLD} ---\n\
         --- stopped by SIGTSTP ---\nhello\n--- a/file\n+++ b/file\nstrace: [ Process PID=1 runs in x32 mode. ]\n",
    );
    assert_eq!(count(&profile, "write"), 1);
    assert_eq!(count(&profile, "restart_syscall"), 1);
    assert_eq!(profile.totals.calls, 2);
    assert_eq!(profile.lost[&Loss::Unparsed], 4);
    let note = profile.notes.iter().find(|n| n.contains("strace did not write")).unwrap();
    assert!(note.ends_with("the first is line 2: foo (b) = c"), "{note}");
}

#[test]
fn a_cut_last_line_is_said() {
    let profile = profile("1 close(3) = 0\n1 openat(AT_FDCWD, \"/etc/loc");
    assert_eq!(profile.lost[&Loss::Unfinished], 1);
    assert!(profile.notes.iter().any(|n| n.contains("last line is cut")));
    let whole = crate::common::counts(&profile);
    assert_eq!(whole["close"], (1, 0));
}

#[test]
fn a_line_of_megabytes_is_counted() {
    let mut log = b"1 write(4, \"".to_vec();
    log.resize(5 << 20, b'x');
    log.extend_from_slice(b"\", 5242880) = 5242880\n1 close(4) = 0\n");
    let profile = profile(log);
    assert_eq!(counts(&profile)["write"], (1, 0));
    assert_eq!(counts(&profile)["close"], (1, 0));
    assert!(profile.notes.iter().any(|n| n.contains("1 MiB")));
}

#[test]
fn clocks_are_relative_to_the_first_line() {
    for (first, second) in [
        ("1795225896.000000", "1795225896.000500"),
        ("23:59:59.999800", "00:00:00.000300"),
        ("     0.000000", "     0.000500"),
        ("10:00:00.000000000", "10:00:00.000500000"),
    ] {
        let call = "access(\"/x\", F_OK) = -1 ENOENT (x)";
        let profile = profile(format!("1 {first} {call}\n2 {second} {call}\n"));
        let times: Vec<u64> = profile.rows.iter().map(|r| r.first_ns).collect();
        assert_eq!(times, [0, 500_000], "{first}");
        assert_eq!(profile.window.length_ns, Some(500_000));
        assert!(profile.facts.has(Fact::Clock));
    }
}

#[test]
fn different_answers_are_no_repetition() {
    let stat =
        |size: u32| format!("stat(\"/x\", {{st_mode=S_IFREG|0644, st_size={size}, ...}}) = 0\n");
    let link = |to: &str| format!("readlink(\"/l\", \"{to}\", 99) = 1\n");
    let same =
        [stat(1), stat(1), stat(1), stat(2), stat(2), link("a"), link("a"), link("b")].concat();
    let profile = profile(same);
    assert_eq!(row(&profile, "/x").repeated, 3);
    assert_eq!(row(&profile, "/l").repeated, 1);
    assert!(profile.facts.has(Fact::Answers));
}

#[test]
fn a_change_or_a_wait_between_makes_a_question_new() {
    for (between, repeated) in [
        ("getpid() = 1\n", 1),
        ("write(1, \"x\", 1) = 1\n", 1),
        ("write(2, \"x\", 1) = 1\n", 1),
        ("poll([{fd=3, events=POLLIN}], 1, 0) = 0 (Timeout)\n", 1),
        ("wait4(-1, NULL, WNOHANG, NULL) = 0\n", 1),
        ("clone(flags=CLONE_VM|CLONE_THREAD) = 9\n", 1),
        ("open(\"/y\", O_RDONLY) = 3\n", 1),
        ("open(\"/y\", O_WRONLY|O_CREAT, 0666) = -1 EACCES (x)\n", 1),
        ("write(3, \"x\", 1) = 1\n", 0),
        ("write(3</x>, \"x\", 1) = 1\n", 0),
        ("ftruncate(5, 0) = 0\n", 0),
        ("poll([{fd=3, events=POLLIN}], 1, 5) = 0 (Timeout)\n", 0),
        ("nanosleep({tv_sec=0, tv_nsec=1}, NULL) = 0\n", 0),
        ("wait4(-1, NULL, 0, NULL) = 9\n", 0),
        ("accept4(3, NULL, NULL, 0) = 4\n", 0),
        ("fork() = 9\n", 0),
        ("rename(\"/y\", \"/x\") = 0\n", 0),
        ("open(\"/y\", O_WRONLY|O_CREAT, 0666) = 3\n", 0),
    ] {
        let ask = "access(\"/x\", F_OK) = 0\n";
        let profile = profile(format!("{ask}{between}{ask}"));
        assert_eq!(row(&profile, "/x").repeated, repeated, "{between}");
    }
}

#[test]
fn places_are_the_first_outside_the_runtime() {
    let stack = " > /usr/lib/libc.so.6(__xstat+0x15) [0xf1]\n > /usr/bin/app(main+0x2f) [0x11c3]\n \
                 > /usr/bin/app(_start+0x2a) [0x10a0]\n";
    let call = "stat(\"/x\", 0x7) = -1 ENOENT (x)\n";
    let profile = profile(format!("{call}{stack}{call}{stack}getpid() = 1\n"));
    let sites = &row(&profile, "/x").sites;
    assert_eq!(sites.len(), 1);
    assert_eq!((sites[0].0.to_string(), sites[0].1), ("main+0x2f: call __xstat@plt".into(), 2));
    assert!(profile.facts.has(Fact::CallSites));
}

#[test]
fn a_function_of_libc_between_is_who_asks() {
    let app = " > /usr/bin/app(main+0x2f) [0x11c3]\n";
    let libc = |name: &str| format!(" > /usr/lib/libc.so.6({name}+0x15) [0xf1]\n");
    let site = |stack: String| {
        // A stack that ended early says nothing about the next.
        let early = format!("stat(\"/y\", 0x7) = -1 ENOENT (x)\n{}", libc("tzset"));
        let log = format!("{early}stat(\"/x\", 0x7) = -1 ENOENT (x)\n{stack}getpid() = 1\n");
        row(&profile(log), "/x").sites[0].0.to_string()
    };
    assert_eq!(site(libc("fstatat") + app), "main+0x2f: call fstatat@plt");
    assert_eq!(site(libc("fstatat") + &libc("tzset") + app), "main+0x2f");
    // Code without a file in between, made by a compiler at run time.
    assert_eq!(
        site(libc("fstatat") + " > unexpected_backtracing_error [0x0]\n" + app),
        "main+0x2f"
    );
    assert_eq!(site(app.to_owned()), "main+0x2f");
}

#[test]
fn what_is_no_log_is_refused_in_one_line() {
    let refused = |bytes: &[u8]| read(bytes, "some", &read_options()).unwrap_err();
    assert!(matches!(refused(b""), LogError::Empty { .. }));
    assert!(matches!(refused(b"\n\n"), LogError::NotStrace { .. }));
    assert!(matches!(refused(b"hello\nworld\n"), LogError::NotStrace { .. }));
    assert!(matches!(refused(b"int f(int x) = 3\nf(x) = 3\n"), LogError::NotStrace { .. }));
    assert!(matches!(refused(b"\x7fELF\x02\x01\0\0\0\0\n\0\0\n"), LogError::Binary { .. }));
    assert!(matches!(refused(b"\x1f\x8b\x08 not gzip"), LogError::Damaged { .. }));
    assert!(matches!(refused(b"\x28\xb5\x2f\xfd not zstd"), LogError::Damaged { .. }));
    let report = refused(b"{\"schema\":\"needless.report/1\"}\n").to_string();
    assert_eq!(
        report,
        "some: is JSON, not a strace log; a report of needless is shown by: needless show some"
    );
    let long = refused("ä\u{7}".repeat(100).as_bytes()).to_string();
    assert!(long.contains("some: is not a strace log, it starts \"ä?ä?"), "{long}");
    for bytes in [&b""[..], b"hello\n", b"\0\n", b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfdx", b"\x1f\x8b"]
    {
        let text = refused(bytes).to_string();
        assert!(text.starts_with("some: ") && text.lines().count() == 1, "{text}");
    }
    // What the log starts with does not matter if calls follow.
    let mixed = read(&b"hello\n\0\nclose(3) = 0\n"[..], "some", &read_options()).unwrap();
    assert_eq!(mixed.totals.calls, 1);
    assert_eq!(mixed.lost[&Loss::Unparsed], 2);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |name: &str| read_files(&[dir.path().join(name)], &read_options()).unwrap_err();
    std::fs::create_dir(dir.path().join("d")).unwrap();
    std::fs::write(dir.path().join("empty.12"), "").unwrap();
    assert!(matches!(refused("d"), LogError::Directory { .. }));
    assert!(matches!(refused("missing"), LogError::Unreadable { .. }));
    assert!(matches!(refused("empty.12"), LogError::Empty { .. }));
    assert!(matches!(read_files(&[], &read_options()).unwrap_err(), LogError::NoFiles));
    // An empty file of a set is a process that did nothing.
    std::fs::write(dir.path().join("x.13"), "close(3) = 0\n").unwrap();
    let set = ["empty.12", "x.13"].map(|name| dir.path().join(name));
    let profile = read_files(&set, &read_options()).unwrap();
    assert_eq!((profile.totals.calls, profile.processes[0].pid), (1, 13));
}

#[test]
fn a_set_with_times_is_read_in_their_order() {
    let dir = tempfile::tempdir().unwrap();
    let ask = "access(\"/x\", F_OK) = 0";
    let rename = "rename(\"/y\", \"/x\") = 0";
    for (name, text) in [
        ("l.5", format!("23:59:59.1 {ask}\n23:59:59.9 {ask}\n00:00:01.0 {ask}\n")),
        ("l.6", format!("00:00:00.5 {rename}\n")),
    ] {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    let set = ["l.6", "l.5"].map(|name| dir.path().join(name));
    let options = needless_strace_log::ReadOptions {
        limits: needless_model::Limits { repeat_within_ns: u64::MAX, ..read_options().limits },
        ..read_options()
    };
    let profile = read_files(&set, &options).unwrap();
    // The rename of the other process stands between the second question and the third.
    let row = profile.rows.iter().find(|r| profile.call(r) == "access").unwrap();
    assert_eq!((row.count, row.repeated), (3, 1));
    assert_eq!(profile.window.length_ns, Some(1_900_000_000));
}
