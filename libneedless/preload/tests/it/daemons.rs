//! A program that has used a zone may change its root directory, forbid itself system calls or lose the file: it
//! behaves as with the C library alone.

use crate::common::{may_mount, program, with_a_link};

/// `how`: what the program does; `looks`: how it used the zone before. See c/daemon.c.
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
fn after_chroot_the_zone_stays() {
    same(0, &[0, 1, 2, 3]);
}

#[test]
fn a_seccomp_filter_without_file_calls_kills_no_program() {
    same(1, &[0, 1, 2, 3]);
}

#[test]
fn a_seccomp_filter_with_the_c_librarys_calls_suffices() {
    same(2, &[0, 2]);
    // No look before the filter.
    same(4, &[5, 6]);
}

#[test]
fn functions_that_check_the_file_see_it_change_or_go() {
    same(3, &[0, 1, 2, 3]);
}
