//! Advice about zones that would be wrong: a value of TZ that some program misreads, a zone that is there.

use super::traps::{LOAD, START, expect, storm, verdict};
use needless_model::{Change, Remedy, Safety};

fn first(trace: &str) -> (Change, bool) {
    let Remedy { change, safety } = verdict(trace).findings.remove(0).remedies.remove(0);
    (change, matches!(safety, Safety::Manual(_)))
}

fn set_tz(value: Option<&str>) -> Change {
    Change::SetEnv { variable: "TZ".to_owned(), value: value.map(str::to_owned) }
}

#[test]
fn the_value_of_tz_is_right_for_every_program_that_inherits_it() {
    let named = storm(99, "env -TZ\nlibc glibc 2.36\nruntime java\nzone link Europe/Athens");
    assert_eq!(first(&named), (set_tz(Some("Europe/Athens")), false));
    // A zone of one's own: no name. The path is right for glibc only.
    let own = "env -TZ\nzone file -\nlibc glibc 2.36";
    assert_eq!(first(&storm(99, own)), (set_tz(Some(":/etc/localtime")), false));
    for other in ["runtime java", "runtime node", "libc static"] {
        let (change, manual) = first(&storm(99, &format!("{own}\n{other}")));
        assert!(matches!(change, Change::Manual(_)) && manual, "{other}: {change:?}");
    }
    // A log from anywhere.
    assert_eq!(first(&storm(99, "")), (set_tz(None), false));
}

#[test]
fn a_schedulers_zone_is_not_a_tools_to_set() {
    let cron = storm(99, "env -TZ\nzone link UTC").replace("/usr/bin/app", "/usr/sbin/cron");
    assert_eq!(first(&cron), (set_tz(Some("UTC")), true));
}

#[test]
fn glib_where_localtime_is_no_link() {
    let log = format!(
        r#"env -TZ
{START}{LOAD}
readlink("/etc/localtime", 0x25797be0, 256) = -1 EINVAL (Invalid argument) x10
openat(AT_FDCWD, "/var/db/zoneinfo", O_RDONLY) = -1 ENOENT (No such file or directory) x10
openat(AT_FDCWD, "/etc/timezone", O_RDONLY) = 3 x10
newfstatat(AT_FDCWD, "/usr/share/zoneinfo", {{st_mode=S_IFDIR|0755, st_size=4096, ...}}, 0) = 0 x11
"#
    );
    // The directory is looked at twice the first time.
    expect(&log, "tz-unset: 36 of 41");
}

#[test]
fn an_absolute_path_in_tz_that_is_not_there() {
    let log = |errno: &str| {
        format!("env TZ=:/srv/zone\n{START}openat(AT_FDCWD, \"/srv/zone\", O_RDONLY) = {errno}\n")
    };
    expect(&log("-1 ENOENT (No such file or directory)"), "tz-not-found: 1 of 1");
    expect(&log("3"), "nothing");
}

#[test]
fn wrong_times_are_shown_however_little_they_cost() {
    let mut log = format!(
        r#"env TZ=GMT0BST
{START}
openat(AT_FDCWD, "/usr/share/zoneinfo/GMT0BST", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
openat(AT_FDCWD, "/usr/share/zoneinfo/posixrules", O_RDONLY|O_CLOEXEC) = 3
"#
    );
    for file in 0..2000 {
        log += &format!("access(\"/src/{file}\", R_OK) = 0\n");
    }
    expect(&log, "tz-rule-missing: 0 of 2");
    let found = verdict(&log).findings.remove(0);
    assert!(found.remedies[0].safety.sentence().contains("Europe/London"));
}

#[test]
fn an_empty_zone_file_is_known_by_the_host_or_by_many_reads_without_a_seek() {
    let reads = |n: u32, seek: &str| {
        format!(
            "facts +allcalls\n{START}repeat {n}\n{LOAD}newfstatat(3, \"\", \
             {{st_mode=S_IFREG|0644, st_size=0, ...}}, AT_EMPTY_PATH) = 0\n{seek}\nend\n"
        )
    };
    expect(&reads(100, ""), "zone-file-missing: 99 of 100");
    // Few; with a seek to the end of a good file; by an interpreter's library.
    expect(&reads(9, ""), "nothing");
    expect(&reads(100, "lseek(3, -60, SEEK_CUR) = 54"), "nothing");
    expect(&reads(100, "").replace("bin/app", "bin/python3"), "nothing");
}

/// TZDIR is blamed only where it decides: not where it names the usual directory, and not for a path.
#[test]
fn tzdir_is_blamed_only_where_it_decides() {
    let advised = |env: &str, path: &str| {
        let log = format!(
            "env {env}\n{START}\nopenat(AT_FDCWD, \"{path}\", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)\n"
        );
        match verdict(&log).findings.remove(0).remedies.remove(0).change {
            Change::SetEnv { variable, .. } | Change::UnsetEnv { variable } => variable,
            other => panic!("{other:?}"),
        }
    };
    let usual = "/usr/share/zoneinfo/Europe/Athen";
    assert_eq!(advised("TZ=Europe/Athen TZDIR=/opt/tz/", "/opt/tz//Europe/Athen"), "TZDIR");
    assert_eq!(
        advised("TZ=:Europe/Athen TZDIR=/opt/zoneinfo", "/opt/zoneinfo/Europe/Athen"),
        "TZDIR"
    );
    assert_eq!(advised("TZ=Europe/Athen TZDIR=/usr/share/zoneinfo/", usual), "TZ");
    assert_eq!(advised(&format!("TZ={usual} TZDIR=/opt/tz"), usual), "TZ");
    assert_eq!(advised("TZ=/etc/gone TZDIR=/opt/tz", "/etc/gone"), "TZ");
}
