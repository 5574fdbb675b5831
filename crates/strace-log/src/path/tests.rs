use super::*;

fn found(path_at: PathAt, args: &str) -> (Option<String>, String, String) {
    match find(path_at, args.as_bytes()) {
        Path::Found(f) => {
            let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
            (f.dir.map(text), text(f.raw), text(f.rest))
        }
        other => panic!("{args}: {other:?}"),
    }
}

#[test]
fn paths_stand_where_the_manual_says() {
    for (path_at, args, dir, path, rest) in [
        (PathAt::First, r#""/etc/a\"b", R_OK"#, None, r#"/etc/a\"b"#, "R_OK"),
        (PathAt::AfterDir(0), r#"AT_FDCWD, "x", O_RDONLY"#, Some("AT_FDCWD"), "x", "O_RDONLY"),
        (
            PathAt::AfterDir(0),
            r#"AT_FDCWD</tmp/a, "q>, "x", 0"#,
            Some("AT_FDCWD</tmp/a, \"q>"),
            "x",
            "0",
        ),
        (PathAt::AfterDir(0), r#"3</a, b>, "x", 0"#, Some("3</a, b>"), "x", "0"),
        (PathAt::AfterDir(1), r#""to", 3, "from""#, Some("3"), "from", ""),
        (PathAt::AfterDir(1), r#""a, \"b"..., 3</x>, "from""#, Some("3</x>"), "from", ""),
        (PathAt::AfterDir(3), r#"5</a, b>, 0x2, IN_X, 0, "/x""#, Some("0"), "/x", ""),
        (PathAt::Second, r#""to, \"here", "from""#, None, "from", ""),
        (PathAt::Second, r#""cut"..., "from""#, None, "from", ""),
        (
            PathAt::Second,
            r#"NULL, "/mnt", NULL, MS_REMOUNT, NULL"#,
            None,
            "/mnt",
            "NULL, MS_REMOUNT, NULL",
        ),
        (PathAt::Second, r#"0x55d0c0, "/mnt", 0x7f, 0, 0"#, None, "/mnt", "0x7f, 0, 0"),
        (
            PathAt::Second,
            r#"QCMD(Q_SYNC, USRQUOTA), "/dev/vda", 0, NULL"#,
            None,
            "/dev/vda",
            "0, NULL",
        ),
        (PathAt::Second, r#"3<anon_inode:inotify>, "/x", IN_OPEN"#, None, "/x", "IN_OPEN"),
    ] {
        assert_eq!(found(path_at, args), (dir.map(Into::into), path.into(), rest.into()), "{args}");
    }
    assert_eq!(find(PathAt::AfterDir(0), b"3, NULL, 0x7ff, 0"), Path::Null);
    assert_eq!(find(PathAt::First, b"NULL"), Path::Null);
    assert_eq!(find(PathAt::Second, b"QCMD(Q_SYNC, USRQUOTA), NULL, 0, NULL"), Path::Null);
    assert_eq!(find(PathAt::Second, b"\"none\", 0x7ffe5c61a4c0, NULL, 0"), Path::Unreadable);
    assert_eq!(find(PathAt::Second, b"\"none"), Path::Unreadable);
    assert_eq!(find(PathAt::Second, b"\"none\""), Path::Unreadable);
    assert_eq!(find(PathAt::AfterDir(3), b"5, FAN_MARK_ADD, FAN_OPEN"), Path::Unreadable);
    assert_eq!(find(PathAt::First, b"0x7ffe5c61a4c0, 0x4"), Path::Unreadable);
    assert_eq!(find(PathAt::AfterDir(0), b"0xffffff9c, 0x7f1, 0x80000"), Path::Unreadable);
    assert_eq!(find(PathAt::First, b"\"/very/lo\"..., 1"), Path::Unreadable);
    assert_eq!(find(PathAt::First, b"\"/cut"), Path::Unreadable);
}

#[test]
fn flags_make_the_question() {
    let of = |role, start, args: &str| match find(PathAt::AfterDir(0), args.as_bytes()) {
        Path::Found(f) => ask(role, start, &f),
        other => panic!("{args}: {other:?}"),
    };
    for (role, args, want) in [
        (Role::Open, r#"AT_FDCWD, "x", O_RDONLY|O_CLOEXEC"#, Query::Open),
        (Role::Open, r#"AT_FDCWD, "x", O_WRONLY|O_CREAT, 0666"#, Query::OpenWrite),
        (Role::Open, r#"AT_FDCWD, "x", O_RDONLY|O_TRUNC"#, Query::OpenWrite),
        (Role::Open, r#"-100, "x", 0x80000"#, Query::Open),
        (
            Role::Open,
            r#"-100, "x", 0x80041 /* O_WRONLY|O_CREAT|O_CLOEXEC */, 0666"#,
            Query::OpenWrite,
        ),
        (Role::Open, r#"AT_FDCWD, "x", {flags=O_RDWR, resolve=0}, 24"#, Query::OpenWrite),
        (Role::Open, r#"AT_FDCWD, "O_RDWR", {flags=O_PATH, resolve=0}, 24"#, Query::Open),
        (Role::Status, r#"AT_FDCWD, "x", {st_mode=S_IFREG|0644, ...}, 0"#, Query::Stat),
        (
            Role::Status,
            r#"AT_FDCWD, "x", 0x7ffe, AT_SYMLINK_NOFOLLOW|AT_NO_AUTOMOUNT"#,
            Query::Lstat,
        ),
        (Role::Status, r#"-100, "x", 0x7ffe, 0x100"#, Query::Lstat),
        (Role::Status, r#"-100, "x", 0x7ffe, 0x100 /* AT_SYMLINK_NOFOLLOW */"#, Query::Lstat),
        (Role::Status, r#"3, "", {st_mode=0}, AT_EMPTY_PATH"#, Query::NoPath),
        (Role::Status, r#"3, "", {st_mode=0}, 0x1000"#, Query::NoPath),
        (Role::Status, r#"AT_FDCWD, "", 0x7ffe, 0"#, Query::Stat),
        (
            Role::Statx,
            r#"AT_FDCWD, "x", AT_STATX_SYNC_AS_STAT|AT_SYMLINK_NOFOLLOW, STATX_ALL, 0x7"#,
            Query::Lstat,
        ),
        (Role::Statx, r#"AT_FDCWD, "x", 0, STATX_ALL, {stx_mode=0}"#, Query::Stat),
        (
            Role::Statx,
            r#"3, "", AT_STATX_SYNC_AS_STAT|AT_EMPTY_PATH, STATX_ALL, {}"#,
            Query::NoPath,
        ),
        (Role::Plain, r#"3, "", {f_handle=x}, 0, AT_EMPTY_PATH"#, Query::NoPath),
        (Role::Plain, r#"AT_FDCWD, "x", R_OK"#, Query::Access),
    ] {
        assert_eq!(of(role, Query::Access, args), want, "{args}");
    }
}

#[test]
fn the_access_time_is_no_answer() {
    let long = |atime: &str, mtime: &str| {
        format!(
            "{{st_dev=makedev(0xfe, 0), st_ino=409623, st_mode=S_IFREG|0644, st_nlink=1, st_size=3, \
             st_blksize=4096, st_blocks=80, st_atime={atime}, st_atime_nsec=7, st_mtime={mtime}}}, 0"
        )
    };
    let parts = |s: &str| {
        let (a, b) = answer(Role::Status, Query::Stat, s.as_bytes()).unwrap();
        (a.to_vec(), b.to_vec())
    };
    assert_eq!(parts(&long("1", "2")), parts(&long("9", "2")));
    assert_ne!(parts(&long("1", "2")), parts(&long("1", "3")));
    assert_eq!(answer(Role::Status, Query::Stat, b"0x7ffe, 0"), None);
    assert!(answer(Role::Readlink, Query::Readlink, b"\"../x\", 99").is_some());
    assert_eq!(answer(Role::Open, Query::Open, b"O_RDONLY"), None);
}

#[test]
fn directories_of_descriptors() {
    for (dir, want, text) in [
        ("AT_FDCWD", Base::Cwd, ""),
        ("-100 /* AT_FDCWD */", Base::Cwd, ""),
        ("AT_FDCWD</tmp/a b>", Base::CachedCall, "/tmp/a b"),
        (r"3</tmp/\303\244>", Base::CachedCall, "/tmp/ä"),
        ("3</dev/null<char 1:3>>", Base::CachedCall, "/dev/null"),
        ("3</gone (deleted)>", Base::Fd, ""),
        ("3<socket:[1]>", Base::Fd, ""),
        ("3", Base::Fd, ""),
    ] {
        let mut out = Vec::new();
        assert_eq!(base(Some(dir.as_bytes()), &mut out), want, "{dir}");
        assert_eq!(String::from_utf8(out).unwrap(), text, "{dir}");
    }
}

#[test]
fn only_watched_variables_are_read() {
    let vars = |rest: &str| {
        environment(rest.as_bytes(), &["TZ", "LANG"].into()).map(|(list, _)| {
            list.iter()
                .map(|v| format!("{}={}{}", v.name, v.value, if v.cut { "…" } else { "" }))
                .collect::<Vec<_>>()
        })
    };
    let rest = r#"["ls", "a]\"", "LANG=no"...], ["SECRET=x", "TZ=Europe/Athens", "LANGUAGE=de", "LANG="...]"#;
    assert_eq!(vars(rest), Some(vec!["TZ=Europe/Athens".into(), "LANG=…".into()]));
    assert_eq!(vars(r#"["ls"], []"#), Some(vec![]));
    let hex = r#"["\x6c\x73"], ["\x54\x5a\x3d\x55\x54\x43", "\x41\x3d\x31", "\x4c\x41\x4e\x47\x3d\x64"...]"#;
    assert_eq!(vars(hex), Some(vec!["TZ=UTC".into(), "LANG=d…".into()]), "strace -xx");
    assert_eq!(vars(r#"["ls"], 0x7ff /* 35 vars */"#), None);
    assert_eq!(vars(r#"["ls"], [/* 35 vars */]"#), None);
    assert_eq!(vars(r#"["ls", ...], ["TZ=x"]"#), None);
    assert_eq!(vars(r#"["ls"], ["TZ=x", ..."#), None);
}

#[test]
fn a_call_may_show_that_its_path_is_a_directory() {
    let shows = |query, rest: &str| is_directory(query, rest.as_bytes());
    assert!(shows(Query::Open, "O_RDONLY|O_NONBLOCK|O_DIRECTORY"));
    assert!(!shows(Query::Open, "O_RDONLY|O_CLOEXEC"));
    assert!(shows(Query::Stat, "{st_mode=S_IFDIR|0755, st_size=60, ...}, 0"));
    assert!(shows(Query::Stat, "0, STATX_ALL, {stx_mask=STATX_ALL, stx_mode=S_IFDIR|0755, ...}"));
    assert!(!shows(Query::Stat, "{st_mode=S_IFREG|0644, st_size=60, ...}, 0"));
}
