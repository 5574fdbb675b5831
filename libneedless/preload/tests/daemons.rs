//! A program that has looked at the zone may leave its root directory, forbid itself system calls or lose the file: all
//! is as with the C library alone.

mod common;

use common::{may_mount, program, with_a_link};

/// What the program does, and how it looked before: see c/daemon.c.
fn same(how: u8, looks: &[u8]) {
    if !may_mount() {
        return;
    }
    let daemon = program("daemon", &[]);
    for look in looks {
        let [plain, preloaded] = [false, true].map(|preloaded| {
            let out = with_a_link(|at| format!("{} {how}{look} {at}", daemon.display()), preloaded);
            assert!(out.stderr.is_empty(), "{out:?}");
            assert!(out.status.success(), "preloaded: {preloaded}, {how}{look}: {out:?}");
            String::from_utf8_lossy(&out.stdout).into_owned()
        });
        assert!(plain.contains("strptime"), "{plain}");
        assert_eq!(plain, preloaded, "{how}{look}");
    }
}

#[test]
fn another_root_has_the_zone_of_before() {
    same(0, &[0, 1, 2, 3]);
}

#[test]
fn a_sandbox_without_files_kills_nobody() {
    same(1, &[0, 1, 2, 3]);
}

#[test]
fn a_sandbox_with_the_c_librarys_calls_is_enough() {
    same(2, &[0, 2]);
}

#[test]
fn a_file_that_changes_or_goes_is_seen_by_those_who_look() {
    same(3, &[0, 1, 2, 3]);
}
