//! Calls with two paths: which of them is the question's. As in the ptrace backend, it is the one
//! that is made or mounted on, where the other is only a text or a device; else the first.

use crate::common::read_options;
use needless_model::{Loss, Target};
use needless_strace_log::read;

/// Lines as strace 6 prints them with `-y` and without, and the path of the question.
const LINES: &[(&str, &str)] = &[
    (r#"link("a", "b")                    = 0"#, "(cwd) a"),
    (r#"linkat(3</srv>, "e", 3</srv>, "g", AT_SYMLINK_FOLLOW) = 0"#, "/srv/e"),
    (r#"linkat(AT_FDCWD, "/e", 3, "g", 0) = -1 EEXIST (File exists)"#, "/e"),
    (r#"rename("a", "e")                  = 0"#, "(cwd) a"),
    (r#"renameat(3, "b", 4, "f")          = 0"#, "(dir) b"),
    (r#"renameat2(AT_FDCWD</srv>, "e", AT_FDCWD</srv>, "i", RENAME_NOREPLACE) = 0"#, "/srv/e"),
    (r#"pivot_root("/new", "/old")        = -1 EPERM (Operation not permitted)"#, "/new"),
    (r#"symlink("to", "c")                = 0"#, "(cwd) c"),
    (r#"symlink("/a, \"b", "/c")          = 0"#, "/c"),
    (r#"symlink("a text that -s cut"..., "/c") = 0"#, "/c"),
    (r#"symlinkat("to", 3</srv>, "d")     = 0"#, "/srv/d"),
    (r#"symlinkat("to", 3, "d")           = 0"#, "(dir) d"),
    (r#"symlinkat("to", AT_FDCWD, "d")    = 0"#, "(cwd) d"),
    (r#"mount("none", "/mnt", "tmpfs", 0, "") = 0"#, "/mnt"),
    (r#"mount(NULL, "/mnt", NULL, MS_REMOUNT|MS_BIND, NULL) = 0"#, "/mnt"),
    (r#"mount(0x55d1c0, "mnt", 0x7f, 0, 0) = 0"#, "(cwd) mnt"),
    (r#"creat("h", 0644)                  = 4</srv/h>"#, "(cwd) h"),
    (r#"inotify_add_watch(5<anon_inode:inotify>, "/tmp", IN_ACCESS) = 1"#, "/tmp"),
    (
        r#"fanotify_mark(6<anon_inode:[fanotify]>, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD</srv>, "x") = 0"#,
        "/srv/x",
    ),
    (r#"fanotify_mark(6, FAN_MARK_ADD, FAN_OPEN, 7, "x") = 0"#, "(dir) x"),
    (r#"quotactl(QCMD(Q_GETFMT, GRPQUOTA), "/dev/vda", 0x7ffe) = -1 ESRCH (x)"#, "/dev/vda"),
    (r#"quotactl(Q_GETFMT|GRPQUOTA, "/dev/vda", 0x7ffe) = -1 ESRCH (x)"#, "/dev/vda"),
];

#[test]
fn of_two_paths_it_is_the_one_of_the_ptrace_backend() {
    for (line, want) in LINES {
        let profile = read(format!("7 {line}\n").as_bytes(), "log", &read_options()).unwrap();
        let [row] = profile.rows.as_slice() else { panic!("{line}: {:?}", profile.rows) };
        let path = profile.path(row);
        let got = match row.target {
            Target::Cwd(_) => format!("(cwd) {path}"),
            Target::Dir(_) => format!("(dir) {path}"),
            _ => path.to_owned(),
        };
        assert_eq!(got, *want, "{line}");
        assert_eq!(profile.lost.get(&Loss::NoPath), None, "{line}");
    }
}

/// The other path may be missing or cut: then the question has none, and that is said.
#[test]
fn a_path_that_is_not_there_is_said_to_be_lost() {
    for line in [
        r#"symlink("to", 0x7ffe5c61a4c0) = -1 EFAULT (Bad address)"#,
        r#"symlink(0x7ffe5c61a4c0, 0x7ffe5c61a4c0) = -1 EFAULT (Bad address)"#,
        r#"symlinkat("to", AT_FDCWD, "/very/lo"...) = 0"#,
        r#"mount("none", 0x7ffe5c61a4c0, NULL, 0, NULL) = -1 EFAULT (Bad address)"#,
    ] {
        let profile = read(format!("7 {line}\n").as_bytes(), "log", &read_options()).unwrap();
        assert_eq!(profile.rows.len(), 1, "{line}");
        assert_eq!(profile.rows[0].target, Target::None, "{line}");
        assert_eq!(profile.lost.get(&Loss::NoPath), Some(&1), "{line}");
    }
}
