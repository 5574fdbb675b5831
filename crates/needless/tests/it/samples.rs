//! The main task on real programs: what is found, how many calls, and which advice.

mod locales;

use crate::common::*;
use serde_json::Value;
use std::path::Path;

/// A zone that exists here.
fn is_zone(name: &str) -> bool {
    name == "UTC" || Path::new("/usr/share/zoneinfo").join(name).is_file()
}

/// The one zone that `tz-unset` advises.
fn advised_zone(report: &Value) -> String {
    let values = advised(finding(report, "tz-unset"), "TZ");
    assert_eq!(values.len(), 1, "{values:?}");
    assert!(is_zone(values[0]), "{values:?}");
    values[0].to_owned()
}

#[test]
fn the_sample_of_the_article_asks_for_the_zone_in_each_conversion() {
    let Some(sample) = testee("packagecloud") else { return };
    for backend in backends_also_unpatched() {
        let report = run(backend, &[&sample, "10"]);
        assert_eq!(found(&report), [("tz-unset", 9, 10)]);
        let one = finding(&report, "tz-unset");
        assert_eq!(one["stage"], "explained");
        let sites = one["sites"].as_array().unwrap();
        let named = |s: &Value| s.as_str().unwrap().contains("call localtime@plt");
        assert!(!sites.is_empty() && sites.iter().all(named), "{sites:?}");
        let zone = advised_zone(&report);

        let fixed = [backend, &[("TZ", zone.as_str())]].concat();
        assert_eq!(found(&run_with(&["--min-saving", "0"], &fixed, &[&sample, "10"])), []);
        let done = needless_in(&fixed, &["run", "--", &sample, "10"]);
        assert!(assert_one_line(&done).contains("nothing needless found"));
    }
}

/// As in most containers: what is mapped is a file of a layer, which the process does not see under that name.
#[test]
fn call_sites_are_found_in_an_overlay() {
    let (Some(sample), Some(unshare)) = (testee("packagecloud"), own_mounts()) else { return };
    // OVERLAYFS_SUPER_MAGIC. The files of an overlay of an overlay have numbers that no file has.
    if rustix::fs::statfs("/").is_ok_and(|of| of.f_type == 0x794c_7630) {
        return skipped("an overlay of an overlay has no call sites");
    }
    let enter = "set -e; mount -t tmpfs none /mnt; cd /mnt; mkdir upper work root; \
                 mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root; \
                 cp \"$1\" root/needless; cp \"$2\" root/sample; \
                 for dir in proc sys dev; do mount --rbind /$dir root/$dir; done; \
                 chroot root /needless --no-config run --format json -o /report.json -- /sample 10 >&2; \
                 cat root/report.json";
    for backend in backends_also_unpatched() {
        let mut inside = command_of(&unshare);
        inside.envs(backend.iter().copied());
        let done = inside.args(["sh", "-c", enter, "sh", NEEDLESS, &sample]).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        let report = json(&done.stdout);
        assert_eq!(found(&report), [("tz-unset", 9, 10)]);
        assert_eq!(finding(&report, "tz-unset")["stage"], "explained");
    }
}

#[test]
fn counting_every_call_finds_the_same() {
    let Some(sample) = testee("packagecloud") else { return };
    let ptrace = ["--backend", "ptrace"];
    let [some, stopped, all] = [&[][..], &["--no-patch"], &["--all"]]
        .map(|options| run_with(&[&ptrace, options].concat(), &[], &[&sample, "10"]));
    assert_eq!((found(&some), found(&stopped)), (found(&all), found(&all)));
    assert_eq!((&some["complete"], &all["complete"]), (&false.into(), &true.into()));
    let calls = |of: &Value| of["totals"]["calls"].as_u64().unwrap();
    assert!(calls(&all) > calls(&some));
}

#[test]
fn variants_of_the_sample_have_the_same_finding() {
    for name in ["packagecloud-i386", "packagecloud-static", "packagecloud-stripped"] {
        let Some(sample) = testee(name) else { continue };
        for backend in backends_also_unpatched() {
            let report = run(backend, &[&sample, "10"]);
            assert_eq!(found(&report), [("tz-unset", 9, 10)], "{name}");
            advised_zone(&report);
        }
    }
}

const BASH: &str = r#"for i in {1..100}; do printf '%(%F)T\n' -1; done"#;
const GAWK: &str = r#"BEGIN { for (i = 0; i < 100; i++) print strftime("%F", i) }"#;
const PERL: &str = "@x = localtime for 1..100";
const MKTIME: &str = "import time
for i in range(100): time.mktime((2020, 1, 1, 0, 0, 0, 0, 0, 0))";

/// How often strace sees the program ask for the status of /etc/localtime by its name.
fn strace_stats(words: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    strace(&["-f"], &log, &[], words);
    let log = String::from_utf8_lossy(&std::fs::read(log).unwrap()).into_owned();
    let stats = |line: &&str| line.contains("\"/etc/localtime\"") && !line.contains("open");
    log.lines().filter(stats).count() as u64
}

#[test]
fn conversions_in_interpreters_ask_as_often_as_strace_says() {
    let Some(_) = program("strace") else { return };
    // Two looks per time in bash; the first of all reads the zone. How often Python looks when it
    // loads `time` depends on its version.
    for (name, words, needless, says) in [
        ("bash", ["-c", BASH], Some(199), "bash"),
        ("gawk", ["--", GAWK], Some(99), "conversions"),
        ("perl", ["-e", PERL], Some(99), "Perl"),
        ("python3", ["-c", MKTIME], None, "conversions"),
    ] {
        let Some(program) = program(name) else { continue };
        let words = [program.to_str().unwrap(), words[0], words[1]];
        let stats = strace_stats(&words);
        assert!(stats >= 99 && needless.is_none_or(|known| known == stats), "{name}: {stats}");
        for backend in backends_also_unpatched() {
            let report = run(backend, &words);
            assert_eq!(found(&report), [("tz-unset", stats, stats + 1)], "{name}");
            let what = finding(&report, "tz-unset")["what"].as_str().unwrap();
            assert!(what.contains(says), "{name}: {what}");
            let zone = advised_zone(&report);
            assert_eq!(found(&run(&[backend, &[("TZ", &zone)]].concat(), &words)), [], "{name}");
        }
    }
}

/// A streak of calls from a patched site that the scheduler interrupts is two short ones.
#[test]
fn the_place_of_two_short_streaks_is_known() {
    let Some(sample) = testee("streak") else { return };
    for backend in backends_also_unpatched() {
        let report = run(backend, &[&sample]);
        let one = finding(&report, "tz-unset");
        assert_eq!((one["needless"].as_u64(), one["of"].as_u64()), (Some(99), Some(100)));
        let site = one["sites"][0].as_str().unwrap_or_default();
        assert!(site.contains("call localtime@plt"), "{one:#}");
    }
}

#[test]
fn a_zone_with_summer_time_but_no_rule_is_reported() {
    let Some(sample) = testee("packagecloud") else { return };
    let posixrules = Path::new("/usr/share/zoneinfo/posixrules");
    if !posixrules.exists() {
        return skipped(format!("no {}", posixrules.display()));
    }
    for backend in backends_also_unpatched() {
        let report = run(&[backend, &[("TZ", "CET-1CEST")]].concat(), &[&sample, "10"]);
        assert_eq!(found(&report), [("tz-rule-missing", 27, 29)]);
        let one = finding(&report, "tz-rule-missing");
        // Three calls with a path and six others in each of nine conversions.
        assert_eq!(one["besides"], 54);
        assert!(one["why"].as_str().unwrap().contains("wrong"), "{one:#}");
        for remedy in one["remedies"].as_array().unwrap() {
            assert!(!remedy["caveat"].as_str().unwrap().is_empty());
        }
    }
}

#[test]
fn a_zone_that_does_not_exist_is_reported_as_utc() {
    let Some(sample) = testee("packagecloud") else { return };
    let report = run(&[("TZ", "Foo/Bar")], &[&sample, "10"]);
    assert_eq!(found(&report).iter().map(|f| f.0).collect::<Vec<_>>(), ["tz-not-found"]);
    assert!(finding(&report, "tz-not-found")["what"].as_str().unwrap().contains("UTC"));
}

#[test]
fn utc_without_tzdata_is_not_reported() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let zones = folder.path().join("zoneinfo");
    std::fs::create_dir(&zones).unwrap();
    let zones = zones.to_str().unwrap();
    for backend in backends_also_unpatched() {
        let with = |zone| [backend, &[("TZDIR", zones), ("TZ", zone)]].concat();
        // What shows that TZDIR hides the zones from the sample, whichever are installed.
        for zone in ["Europe/Nowhere", "Europe/Athens"] {
            let report = run(&with(zone), &[&sample, "10"]);
            assert_eq!(found(&report), [("tz-not-found", 1, 1)], "{zone}");
            let looked_for = &finding(&report, "tz-not-found")["evidence"][0]["path"];
            assert_eq!(looked_for, &format!("{zones}/{zone}"));
        }
        for zone in ["UTC", "Etc/UTC", ":UTC"] {
            let report = run_with(&["--min-saving", "0"], &with(zone), &[&sample, "10"]);
            assert_eq!(found(&report), [], "{zone}");
        }
    }
}

/// The loader and Python ask about the same directories.
#[test]
fn two_lists_of_the_same_directories_are_counted_apart() {
    let Some(python) = needed(installed("python3")) else { return };
    let python = python.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let dirs: Vec<String> =
        (0..20).map(|n| folder.path().join(n.to_string()).display().to_string()).collect();
    for dir in &dirs {
        std::fs::create_dir(dir).unwrap();
    }
    let (list, words) = (dirs.join(":"), [python, "-c", "import json, http.server"]);
    let (loader, own) = (("LD_LIBRARY_PATH", &*list), ("PYTHONPATH", &*list));
    for backend in backends() {
        let [both, alone, other] = [&[loader, own][..], &[loader], &[own]].map(|lists| {
            let report = run(&[backend, lists].concat(), &words);
            ["library-search", "python-path"].map(|rule| needless_of(&report, rule))
        });
        assert!(both[0] > 100 && both[1] > 100, "{both:?}");
        assert_eq!((alone, other), ([both[0], 0], [0, both[1]]));
    }
}

#[test]
fn programs_that_need_what_they_ask_have_no_findings() {
    for (name, arguments) in [
        ("packagecloud-musl", &["1000"][..]),
        ("watcher", &["100"]),
        ("watcher", &["10000"]),
        ("set_tz", &["1000"]),
        ("poller", &["100"]),
        ("localtime", &["localtime_r", "1000"]),
    ] {
        let Some(testee) = testee(name) else { continue };
        for backend in backends_also_unpatched() {
            let report = run(backend, &[&[&*testee], arguments].concat());
            assert_eq!(found(&report), [], "{name} {arguments:?}");
        }
    }
}

#[test]
fn a_zone_that_changed_is_not_read_again_needlessly() {
    let Some(switch) = testee("zone_switch") else { return };
    let words = [switch.as_str(), "/usr/share/zoneinfo/Europe/Athens"];
    if command(words[0]).arg(words[1]).output().unwrap().status.code() == Some(77) {
        return skipped("mounts of our own are not allowed");
    }
    for backend in backends_also_unpatched() {
        let report = run_with(&["--min-saving", "0"], backend, &words);
        // Four conversions: the first read, a needless look, the look that saw the change and the
        // second read, a needless look.
        assert_eq!(found(&report), [("tz-unset", 2, 4)]);
    }
}

#[test]
fn tools_that_work_on_files_have_no_findings() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("src")).unwrap();
    let mut makefile = String::from("all:");
    for i in 0..100 {
        std::fs::write(at(&format!("src/f{i}.c")), "x").unwrap();
        makefile += &format!(" src/f{i}.o");
    }
    makefile += "\n%.o: %.c\n\t@cp $< $@\n";
    std::fs::write(at("Makefile"), makefile).unwrap();
    let place = folder.path().to_str().unwrap();
    for (name, words) in [
        ("git", format!("git init -q {place} && git -C {place} add src && git -C {place} status")),
        ("make", format!("make -s -C {place} && make -s -C {place}")),
        ("python3", format!("cd {place} && python3 -c '{SQLITE}'")),
        ("find", format!("find {place} -newer {place}/Makefile")),
        ("tar", format!("tar cf {place}/x.tar -C {place} src")),
    ] {
        if program(name).is_none() {
            continue;
        }
        for backend in backends_also_unpatched() {
            let made = format!("cd {place} && rm -rf .git x.db src/*.o");
            assert!(command("sh").args(["-c", &made]).status().unwrap().success());
            let report = run(&[backend, &[("TZ", "UTC")]].concat(), &["sh", "-c", &words]);
            assert_eq!(found(&report), [], "{name}: {report:#}");
        }
    }
}

const SQLITE: &str = "import sqlite3
base = sqlite3.connect(\"x.db\", isolation_level=None)
base.execute(\"pragma synchronous=off\")
base.execute(\"create table t (x)\")
for i in range(1000): base.execute(\"insert into t values (1)\")";

#[test]
fn options_choose_the_rules() {
    let Some(sample) = testee("packagecloud") else { return };
    let words = [sample.as_str(), "10"];
    assert_eq!(found(&run_with(&["--ignore", "tz-unset"], &[], &words)), []);
    assert_eq!(found(&run_with(&["--rule", "locale-alias"], &[], &words)), []);
    assert_eq!(found(&run_with(&["--rule", "tz-unset"], &[], &words)), [("tz-unset", 9, 10)]);
    let below = run_with(&["--min-saving", "100"], &[], &words);
    assert_eq!((found(&below), &below["below_threshold"]["calls"]), (vec![], &9.into()));
}

#[test]
fn needless_finds_nothing_needless_in_itself() {
    let (Some(sample), Some(_)) = (testee("packagecloud"), program("strace")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    strace(&["-f", "-tt", "-T"], &log, &[], &[&sample, "1000"]);
    let json = folder.path().join("x.json");
    let (log, json) = (log.to_str().unwrap(), json.to_str().unwrap());
    // With --here the cost of a call is measured, by the same call many times over: not here.
    for words in [
        &["read", log][..],
        &["read", "--format", "json", "-o", json, log],
        &["explain"],
        &["explain", "--all"],
        &["doctor"],
    ] {
        for backend in backends() {
            let report = run(backend, &[&[NEEDLESS], words].concat());
            assert_eq!(found(&report), [], "{words:?}: {report:#}");
        }
    }
}
