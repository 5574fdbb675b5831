//! The same answers as the C library, byte for byte.

use crate::common::{have, program, same};
use std::process::Command;

#[test]
fn every_function_prints_the_same() {
    // Also position-dependent: there tzname, timezone and daylight are the program's copies.
    for options in [&[][..], &["-no-pie"], &["-fPIE", "-pie"]] {
        let sweep = program("sweep", options);
        for tz in [None, Some("Europe/Athens"), Some("EST5EDT,M3.2.0,M11.1.0")] {
            let made = || {
                let mut c = Command::new(&sweep);
                c.args(["3000", "77"]);
                c
            };
            same(made, tz);
        }
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
