//! What needless says of its build.

use crate::common::*;

#[test]
fn version_and_verbose_say_what_was_built_wherever_they_are() {
    let short = stdout(&needless(&["--version"]));
    assert_eq!(short, format!("needless {}\n", env!("CARGO_PKG_VERSION")));
    let ways: [&[&str]; 6] = [
        &["--version", "--verbose"],
        &["--verbose", "--version"],
        &["-V", "-v"],
        &["-v", "-V"],
        &["-vV"],
        &["-Vv"],
    ];
    let long = stdout(&needless(ways[0]));
    let mut lines = long.lines();
    assert_eq!(lines.next(), short.lines().next());
    for name in ["commit", "target", "profile", "compiler", "backends", "libbpf"] {
        let line = lines.next().unwrap_or_default();
        let value =
            line.strip_prefix(&format!("{name}:")).unwrap_or_else(|| panic!("{name}: {long}"));
        assert!(!value.trim().is_empty(), "{long}");
    }
    assert_eq!(lines.next(), None, "{long}");
    assert!(long.contains(std::env::consts::ARCH), "{long}");
    for way in ways {
        let done = needless(way);
        assert_eq!((done.status.code(), stdout(&done)), (Some(0), long.clone()), "{way:?}");
    }
}

#[test]
fn the_backends_of_the_build_are_those_that_doctor_finds() {
    let long = stdout(&needless(&["-vV"]));
    let doctor = stdout(&needless(&["doctor"]));
    let without = doctor.contains("built without eBPF");
    assert_eq!(long.contains("backends:  ebpf, "), !without, "{long}{doctor}");
    assert_eq!(long.contains("libbpf:    none"), without, "{long}{doctor}");
}

#[test]
fn verbose_is_for_version_only() {
    let done = needless(&["--verbose", "run", "--", "true"]);
    assert_eq!(done.status.code(), Some(2));
    assert_one_line(&done);
    assert!(stderr(&done).contains("--version"), "{}", stderr(&done));
}
