//! The same answers as the C library, byte for byte.

use crate::common::{have, program, run, same};
use std::path::{Path, PathBuf};
use std::process::Command;

const ZONES: [&str; 26] = [
    "",
    ":",
    "UTC",
    "UTC0",
    "Europe/Athens",
    ":Europe/Athens",
    "America/New_York",
    "Asia/Tokyo",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "America/St_Johns",
    "Africa/Monrovia",
    "JST-9",
    ":JST-9",
    "EST5EDT,M3.2.0,M11.1.0",
    "CET-1CEST,M3.5.0,M10.5.0/3",
    "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
    "CET-1CEST",
    "Foo/Bar",
    "Bogus",
    "/etc/localtime",
    "/usr/share/zoneinfo/Europe/London",
    "right/Europe/Berlin",
    "posix/Asia/Gaza",
];

#[test]
fn every_function_in_many_zones() {
    let sweep = program("sweep", &[]);
    for (seed, tz) in ZONES.iter().enumerate() {
        same(
            || {
                let mut c = Command::new(&sweep);
                c.args(["3000", &(seed + 1).to_string()]);
                c
            },
            Some(tz),
        );
    }
}

#[test]
fn every_function_with_tz_unset() {
    // Also position-dependent: there the program's copies of tzname, timezone and daylight must be written.
    for options in [&[][..], &["-no-pie"], &["-fPIE", "-pie"]] {
        let sweep = program("sweep", options);
        same(
            || {
                let mut c = Command::new(&sweep);
                c.args(["3000", "77"]);
                c
            },
            None,
        );
    }
}

#[test]
fn with_a_locale() {
    let sweep = program("sweep", &[]);
    same(
        || {
            let mut c = Command::new(&sweep);
            c.args(["500", "5"]).env("LC_ALL", "C.UTF-8");
            c
        },
        Some("Europe/Athens"),
    );
}

/// In locales with other alphabets, eras and orders, built if localedef is installed.
#[test]
fn random_formats() {
    let formats = program("formats", &[]);
    let locales = Path::new(env!("CARGO_TARGET_TMPDIR")).join("locales");
    std::fs::create_dir_all(&locales).expect("a folder");
    let mut names = vec!["C".to_owned()];
    if have("localedef") {
        for language in ["en_US", "el_GR", "ja_JP", "fa_IR", "th_TH", "my_MM", "tr_TR"] {
            let name = format!("{language}.UTF-8");
            // Its exit status also reports warnings; whether the locale exists is seen below.
            Command::new("localedef")
                .args(["-i", language, "-f", "UTF-8"])
                .arg(locales.join(&name))
                .output()
                .expect("localedef");
            names.push(name);
        }
    }
    for name in names {
        let mut c = Command::new(&formats);
        let out =
            run(c.args([&name, "100000"]).env("LOCPATH", &locales), Some("Europe/Athens"), true);
        assert_eq!(String::from_utf8_lossy(&out.stdout), "0 differences\n", "{name}");
    }
}

#[test]
fn years_that_do_not_fit() {
    let overflow = program("overflow", &[]);
    same(|| Command::new(&overflow), None);
}

#[test]
fn strptime_and_syslog_use_the_same_zone() {
    // As they are called with and without _FORTIFY_SOURCE.
    for options in [&[][..], &["-O2", "-D_FORTIFY_SOURCE=2"]] {
        let sync = program("libc_sync", options);
        let [plain, preloaded] = [false, true].map(|on| run(&mut Command::new(&sync), None, on));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(
            plain.status.success() && plain.stderr.starts_with(b"step: 0 two 3.5"),
            "{plain:?}"
        );
        assert_eq!(text(&plain.stdout), text(&preloaded.stdout));
        assert_eq!(text(&plain.stderr), text(&preloaded.stderr));
    }
}

#[test]
fn scripts_print_the_same() {
    let loops: [(&str, &[&str]); 6] = [
        (
            "perl",
            &[
                "-MPOSIX",
                "-e",
                r#"for (0..999) { $t = $_*86399*7; print scalar(localtime $t), "\n", strftime("%c %Z %s", localtime $t), "\n", mktime(localtime $t), "\n" }"#,
            ],
        ),
        (
            "perl",
            &[
                "-e",
                r#"for $z ("JST-9","Europe/Athens","",":Asia/Tokyo") { $ENV{TZ}=$z; print scalar(localtime 1e9), "\n" } delete $ENV{TZ}; print scalar(localtime 1e9), "\n""#,
            ],
        ),
        (
            "mawk",
            &[
                r#"BEGIN { for (i = 0; i < 2000; i++) print strftime("%Y-%m-%d %H:%M:%S %Z", i * 98765), mktime("2024 07 01 02 03 " i % 60) }"#,
            ],
        ),
        (
            "gawk",
            &[
                r#"BEGIN { for (i = 0; i < 2000; i++) print strftime("%c %Z", i * 98765), mktime("2024 07 01 02 03 " i % 60) }"#,
            ],
        ),
        (
            "bash",
            &[
                "-c",
                r#"for i in {1..500}; do printf '%(%c %Z)T\n' $((i * 1234567)); done; for z in JST-9 Europe/Athens; do TZ=$z; printf '%(%c %Z)T\n' 1000000000; done"#,
            ],
        ),
        (
            "python3",
            &[
                "-c",
                "import time, datetime\nfor i in range(900):\n t = i * 1234567\n print(time.ctime(t), time.mktime(time.localtime(t)), time.strftime('%c %Z %z', time.localtime(t)), datetime.datetime.fromtimestamp(t).astimezone())",
            ],
        ),
    ];
    for (name, args) in loops {
        if !have(name) {
            continue;
        }
        for tz in [None, Some("Europe/Athens"), Some("EST5EDT,M3.2.0,M11.1.0")] {
            same(
                || {
                    let mut c = Command::new(name);
                    c.args(args);
                    c
                },
                tz,
            );
        }
    }
}

#[test]
fn with_once_children_run_without_the_library() {
    let script = r#"env | grep -E '^(LD_PRELOAD|NEEDLESS)' | sed 's|=/.*/|=|'"#;
    let out = |once: &str, more: &str| {
        let library = crate::common::library().display().to_string();
        let mut c = Command::new("sh");
        c.args(["-c", script])
            .env_remove(needless_fixtures::SKIPPED_FILE)
            .env("NEEDLESS_PRELOAD_ONCE", once)
            .env("LD_PRELOAD", format!("{library}{more}"));
        String::from_utf8(c.output().expect("sh").stdout).expect("text")
    };
    assert_eq!(out("1", ""), "");
    assert_eq!(out("0", ""), "LD_PRELOAD=libneedless_localtime.so\nNEEDLESS_PRELOAD_ONCE=0\n");
    let kept = out("1", ":libnothing.so");
    assert_eq!(kept, "LD_PRELOAD=libnothing.so\n");
}

#[test]
fn a_static_program_and_a_musl_one_still_run() {
    let sweep = program("sweep", &["-static"]);
    same(
        || {
            let mut c = Command::new(&sweep);
            c.args(["10", "1"]);
            c
        },
        Some("JST-9"),
    );
    let Some(storm) = musl_program("storm") else { return };
    let made = || {
        let mut c = Command::new(&storm);
        c.arg("1000");
        c
    };
    same(made, Some("JST-9"));
}

/// musl has no `strptime_l`.
#[test]
fn a_function_that_the_c_library_lacks_fails_with_enosys() {
    let Some(absent) = musl_program("absent") else { return };
    let out = run(&mut Command::new(absent), None, true);
    let said = String::from_utf8_lossy(&out.stdout);
    assert_eq!(said, "nothing: Function not implemented\n", "{out:?}");
}

/// The program `tests/c/NAME.c` with musl; `None` if musl-gcc is not installed.
fn musl_program(name: &str) -> Option<PathBuf> {
    if !have("musl-gcc") {
        return None;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-musl"));
    let cc = Command::new("musl-gcc")
        .args(["-w", "-D_GNU_SOURCE", "-o"])
        .arg(&target)
        .arg(source)
        .status()
        .expect("musl-gcc");
    assert!(cc.success());
    Some(target)
}
