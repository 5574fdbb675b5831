//! Locales: who asked for what, and what to write instead.

use super::compare;
use super::profile;
use crate::{CheckOptions, Verdict, check};
use needless_model::{Change, Finding};

/// However little it would save.
fn verdict(trace: &str) -> Verdict {
    check(&profile(trace), &CheckOptions { min_saving_percent: 0.0, ..CheckOptions::default() })
}

fn found(trace: &str) -> Finding {
    verdict(trace).findings.remove(0)
}

/// A program start that searches for these names in three categories; the last is found.
fn start(pid: u32, exe: &str, names: &[&str]) -> String {
    let mut log = format!(
        r#"{pid} execve("{exe}", ["x"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
{pid} openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
{pid} openat(AT_FDCWD, "/usr/share/locale/locale.alias", O_RDONLY|O_CLOEXEC) = 3
"#
    );
    for category in ["LC_IDENTIFICATION", "LC_TIME", "LC_CTYPE"] {
        for (at, name) in names.iter().enumerate() {
            let path = if name.starts_with('/') {
                format!("{name}/{category}")
            } else {
                format!("/usr/lib/locale/{name}/{category}")
            };
            let outcome =
                if at + 1 == names.len() { "3" } else { "-1 ENOENT (No such file or directory)" };
            log += &format!("{pid} openat(AT_FDCWD, \"{path}\", O_RDONLY|O_CLOEXEC) = {outcome}\n");
        }
    }
    log
}

#[test]
fn starts_of_several_programs_are_one_finding() {
    let mut log = "env LANG=C.UTF-8\n".to_owned();
    for pid in 0..10 {
        let exe = if pid < 6 { "/usr/bin/ls" } else { "/usr/bin/perl" };
        log += &start(100 + pid, exe, &["C.UTF-8", "C.utf8"]);
    }
    compare(&verdict(&log), "locale-spelling: 30 of 60\nstage explained\nset LANG=C.utf8", &log);
    let found = found(&log);
    assert_eq!(found.processes.len(), 10);
    assert!(
        found.what.starts_with("3 failed opens at each of 10 program starts"),
        "{}",
        found.what
    );
    // One line of evidence for all categories.
    assert_eq!(found.evidence.len(), 1);
    assert_eq!(found.evidence[0].path, "/usr/lib/locale/C.UTF-8/LC_*");
    assert_eq!(found.evidence[0].count, 30);
}

#[test]
fn the_variable_at_fault_is_the_one_that_decides() {
    let starts = |env: &str| {
        format!(
            "env {env}\n{}{}",
            start(1, "/bin/ls", &["C.UTF-8", "C.utf8"]),
            start(2, "/bin/ls", &["C.UTF-8", "C.utf8"])
        )
    };
    let variable = |env: &str| match found(&starts(env)).remedies.remove(0).change {
        Change::SetEnv { variable, .. } => variable,
        other => other.kind().to_owned(),
    };
    assert_eq!(variable("LANG=C.UTF-8"), "LANG");
    assert_eq!(variable("LANG=C.UTF-8 LC_ALL=C.UTF-8"), "LC_ALL");
    assert_eq!(variable("LANG=C LC_IDENTIFICATION=C.UTF-8"), "LC_IDENTIFICATION");
    assert_eq!(variable("LANG=de_DE LC_ALL="), "manual"); // the program asked for C.UTF-8 itself
}

#[test]
fn without_the_environment_an_alias_looks_like_a_spelling() {
    let log = start(1, "/bin/ls", &["el_GR.ISO-8859-7", "el_GR.iso88597", "el_GR"]);
    let verdict = verdict(&log);
    compare(&verdict, "locale-spelling: 6 of 9\nstage seen\nset LANG=el_GR", &log);
    assert!(verdict.findings[0].why.contains("alias"));
    assert!(verdict.not_checked.iter().any(|rule| rule.rule == "locale-alias"));
}

#[test]
fn the_spelling_advised_is_of_the_same_encoding() {
    let log = format!(
        "env LANG=greek\nlocales greek greek=25/89/ISO-8859-7 el_GR.utf8=0/50/UTF-8 \
         el_GR=1/60/ISO-8859-7\n{}",
        start(1, "/bin/ls", &["el_GR.ISO-8859-7", "el_GR.iso88597", "el_GR"])
    );
    compare(&verdict(&log), "locale-alias: 6 of 9\nstage explained\nset LANG=el_GR", &log);
    let sentence = found(&log).remedies[0].safety.sentence().to_owned();
    assert!(sentence.contains("60 calls in all, instead of 25 and 89"), "{sentence}");
}

#[test]
fn a_higher_total_is_never_sold_as_a_saving() {
    let log = format!(
        "env LC_ALL=en_US.UTF-8\nlocales en_US.UTF-8 en_US.UTF-8=7/79/- C.utf8=1/129/UTF-8\n{}",
        r#"execve("/bin/ls", ["x"], 0x7ffd5e8b9d58 /* 20 vars */) = 0
openat(AT_FDCWD, "/usr/lib/locale/locale-archive", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory)
openat(AT_FDCWD, "/usr/lib/locale/en_US.UTF-8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
openat(AT_FDCWD, "/usr/lib/locale/en_US.utf8/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
openat(AT_FDCWD, "/usr/lib/locale/en/LC_CTYPE", O_RDONLY|O_CLOEXEC) = -1 ENOENT (No such file or directory) x2
"#
    );
    let wanted = "locale-not-installed: 7 of 7\nstage explained\nset LC_ALL=C";
    compare(&verdict(&log), wanted, &log);
    let encoded = Change::Manual("LC_ALL=C.utf8, for its encoding".into());
    // What saves calls is named first.
    assert_eq!(found(&log).remedies[1].change, encoded);
    let sentence = found(&log).remedies[1].safety.sentence().to_owned();
    assert!(sentence.contains("129 calls in all, instead of 7 and 79, so more calls in all"));
}

/// Issue 14: each failed open belongs to one cause. Those in a directory of LOCPATH end with LOCPATH, and
/// only those; then each process asks for the archive.
#[test]
fn locpath_is_named_where_it_is_the_cause_and_not_where_it_is_ignored() {
    let search = start(1, "/bin/ls", &["/opt/loc/C.UTF-8", "C.UTF-8", "/opt/loc/C.utf8", "C.utf8"]);
    let found = |head: &str| verdict(&format!("{head}\n{search}"));
    let both = "locale-spelling: 3 of 12\nstage explained\nset LANG=C.utf8\n\
                locale-spelling: 6 of 12\nstage explained\nunset LOCPATH";
    let locpath = found("env LANG=C.UTF-8 LOCPATH=/opt/loc/");
    compare(&sorted(locpath), both, "LOCPATH");
    let unknown = both.replace("explained", "seen");
    compare(&sorted(found("")), &unknown, "a log");
    let spelling = "locale-spelling: 9 of 12\nstage explained\nset LANG=C.utf8";
    compare(&found("env LANG=C.UTF-8 LOCPATH=/opt/loc\nsecure"), spelling, "secure");
    compare(&found("env LANG=C.UTF-8"), spelling, "another cause");
    let besides = |env: &str| sorted(found(env)).findings.pop().unwrap().besides;
    assert_eq!(besides("env LANG=C.UTF-8 LOCPATH=/opt/loc"), -1);
}

/// The smallest first.
fn sorted(mut verdict: Verdict) -> Verdict {
    verdict.findings.sort_by_key(|finding| finding.needless);
    verdict
}

#[test]
fn a_directory_of_locpath_that_holds_something_stays() {
    let search = start(1, "/bin/ls", &["/opt/a/C.utf8", "/opt/b/C.utf8"]);
    let both = verdict(&format!("env LANG=C.utf8 LOCPATH=/opt/a:/opt/b\n{search}"));
    compare(&both, "locale-spelling: 3 of 6\nstage explained\nmanual", "two directories");
    // It lacks this locale, but another one comes from it.
    let search = start(1, "/bin/ls", &["/opt/a/C.utf8", "C.utf8"]);
    let german = "openat(AT_FDCWD, \"/opt/a/de_DE.utf8/LC_TIME\", O_RDONLY|O_CLOEXEC) = 3\n";
    let used =
        verdict(&format!("env LANG=C.utf8 LC_TIME=de_DE.utf8 LOCPATH=/opt/a\n{search}1 {german}"));
    compare(&used, "nothing", "a directory that is used");
}

#[test]
fn locpath_without_the_locale_anywhere() {
    let names =
        ["/opt/a/xx_YY", "/usr/lib/locale/xx_YY", "/opt/a/xx", "/usr/lib/locale/xx", "/x/y"];
    let search = start(1, "/bin/ls", &names).replace("/x/y/LC_", "/x/y/");
    let found = verdict(&format!("env LANG=xx_YY LOCPATH=/opt/a\n{search}"));
    let both = "locale-not-installed: 6 of 13\nstage explained\nunset LOCPATH\n\
                locale-not-installed: 7 of 13\nstage explained\nset LANG";
    compare(&sorted(found), both, "missing");
}

#[test]
fn catalogues_with_lc_all_set_are_ended_by_language() {
    let mo = |name: &str| {
        format!(
            "openat(AT_FDCWD, \"/usr/share/locale/{name}/LC_MESSAGES/ls.mo\", O_RDONLY) = -1 \
             ENOENT (No such file or directory)\n"
        )
    };
    let names = ["en_US.UTF-8", "en_US.utf8", "en_US", "en.UTF-8", "en.utf8", "en"];
    let log = |env: &str| format!("{env}\n{}", names.map(mo).concat());
    let all = "catalogue-search: 6 of 6\nstage explained\nset LANGUAGE=C";
    compare(&verdict(&log("env LC_ALL=en_US.UTF-8")), all, "LC_ALL");
    let lang = "catalogue-search: 6 of 6\nstage explained\nset LC_MESSAGES=C";
    compare(&verdict(&log("env LANG=en_US.UTF-8")), lang, "LANG");
    let unknown = "catalogue-search: 6 of 6\nstage seen\nset LC_MESSAGES=C";
    compare(&verdict(&log("")), unknown, "unknown");
}

/// What is shown of so many starts of a program, each in the same environment.
fn shown(env: &str, starts: u32, opens: &str) -> Vec<(&'static str, u64)> {
    let start = "execve(\"/usr/bin/ls\", [\"ls\"], 0x7ffd5e8b9d58 /* 20 vars */) = 0\n";
    let trace = format!("{env}\nrepeat {starts}\n{start}{opens}end\n");
    let found = check(&profile(&trace), &CheckOptions::default()).findings;
    found
        .iter()
        .map(|finding| (crate::by_name(&finding.rule).unwrap().name, finding.needless))
        .collect()
}

fn failed(path: &str) -> String {
    format!("openat(AT_FDCWD, \"{path}\", O_RDONLY) = -1 ENOENT (No such file or directory)\n")
}

#[test]
fn ordinary_environments_are_no_finding_at_an_ordinary_start() {
    let catalogues = |names: &[&str]| -> String {
        let of = |name| failed(&format!("/usr/share/locale/{name}/LC_MESSAGES/gcc.mo"));
        names.iter().map(of).collect()
    };
    let c = catalogues(&["C.utf8", "C"]).repeat(6);
    assert_eq!(shown("env LANG=C.utf8", 1, &c), []);
    // The advice for C.UTF-8 is C.utf8: it must not be followed by another.
    assert_eq!(shown("env LANG=C.utf8", 34, &c), []);
    let en = catalogues(&["en_US.UTF-8", "en_US.utf8", "en_US", "en.UTF-8", "en.utf8", "en"]);
    assert_eq!(shown("env LANG=en_US.UTF-8", 50, &en), []);
    // A start that repeats it hundreds of times, and another language.
    assert_eq!(shown("env LANG=en_US.UTF-8", 1, &en.repeat(30)), [("catalogue-search", 180)]);
    let es = catalogues(&["es_ES.UTF-8", "es_ES.utf8", "es_ES", "es.UTF-8", "es.utf8", "es"]);
    assert_eq!(shown("env LANG=es_ES.UTF-8", 1, &es), [("catalogue-search", 6)]);
    let locale = |name: &str| failed(&format!("/usr/lib/locale/{name}/LC_CTYPE"));
    // tmux asks for a locale by itself.
    let tmux = locale("en_US.UTF-8") + &locale("en_US.utf8") + &locale("en_US");
    assert_eq!(shown("env LANG=C.utf8", 7, &tmux), []);
    let late = locale("C.UTF-8").repeat(12)
        + "openat(AT_FDCWD, \"/usr/lib/locale/C.utf8/LC_CTYPE\", O_RDONLY) = 3\n";
    assert_eq!(shown("env LANG=C.UTF-8", 1, &late), []);
    assert_eq!(shown("env LANG=C.UTF-8", 34, &late), [("locale-spelling", 408)]);
    let busy = "cpu 2s\ncosts 1000\nenv LANG=C.UTF-8";
    assert_eq!(shown(busy, 34, &late), []);
}

/// The remedies of a start that finds none of `names`, and why.
fn missing(env: &str, names: &[&str]) -> (Vec<Change>, Finding) {
    let opens: String = names
        .iter()
        .map(|name| failed(&format!("/usr/lib/locale/{name}/LC_TIME")).repeat(2))
        .collect();
    let finding = found(&format!("env {env}\nexecve(\"/bin/ls\", [\"x\"], 0x7ff) = 0\n{opens}"));
    assert_eq!(finding.rule, "locale-not-installed");
    (finding.remedies.iter().map(|remedy| remedy.change.clone()).collect(), finding)
}

#[test]
fn a_category_over_another_locale_saves_nothing() {
    let names = ["de_DE.UTF-8", "de_DE.utf8", "de_DE", "de.UTF-8", "de.utf8", "de"];
    let (changes, finding) = missing("LANG=C.UTF-8 LC_TIME=de_DE.UTF-8", &names);
    assert!(changes.iter().all(|change| matches!(change, Change::Manual(_))), "{changes:?}");
    assert_eq!(finding.besides, -(finding.needless as i64));
    let last = finding.remedies.last().unwrap();
    assert!(last.safety.sentence().contains("calls do not fall"), "{last:?}");
    // It has no encoding, for any value of LANG.
    let c = Change::SetEnv { variable: "LC_TIME".into(), value: Some("C".into()) };
    for env in ["LC_TIME=de_DE.UTF-8", "LANG=C LC_TIME=de_DE.UTF-8"] {
        let (changes, finding) = missing(env, &names);
        assert_eq!((changes.len(), changes.first()), (2, Some(&c)), "{env}: {changes:?}");
        assert_eq!(finding.besides, 0);
    }
}

#[test]
fn what_cannot_be_a_locale_is_not_to_be_installed() {
    let installs = |changes: &[Change]| {
        let by_hand = |c: &Change| matches!(c, Change::Manual(text) if text.contains("localedef"));
        changes.iter().any(by_hand)
    };
    let (changes, finding) = missing("LC_CTYPE=UTF-8 LC_TIME=UTF-8", &["UTF-8", "utf8"]);
    assert!(!installs(&changes), "{changes:?}");
    assert!(finding.why.contains("an encoding and not the name of a locale"), "{}", finding.why);
    let (changes, _) = missing("LANG=xx", &["xx"]);
    assert!(!installs(&changes), "{changes:?}");
    let (changes, _) = missing("LANG=sr_RS@latin", &["sr_RS@latin", "sr_RS", "sr@latin", "sr"]);
    assert!(installs(&changes), "{changes:?}");
}
