//! Lists of directories in any variable: what is found, what is proven, and what stays out of every report.

use crate::common::*;
use serde_json::Value;
use std::path::Path;

/// A shell that changes to a directory which the fourth entry holds, twenty times, and its CDPATH.
fn changing(folder: &Path) -> (String, String) {
    let here = folder.to_str().unwrap();
    std::fs::create_dir(folder.join("a")).unwrap();
    std::fs::write(folder.join("go.sh"), "for n in 1 2 3 4 5 6 7 8 9 10; do (cd a); done\n")
        .unwrap();
    let dead = "/nonexistent/1:/nonexistent/2:/nonexistent/3";
    (format!("{dead}:{here}:/srv/s3cret/entry"), dead.to_owned())
}

#[test]
fn no_other_entry_and_no_other_variable_is_in_a_report() {
    let Some(bash) = needed(installed("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (list, _) = changing(folder.path());
    for backend in backends() {
        for format in ["json", "full", "concise", "profile"] {
            let mut run = command(NEEDLESS);
            run.current_dir(folder.path()).envs(backend.iter().copied()).env("CDPATH", &list);
            run.env("TOKEN", "s3cret:/nonexistent/1:/nonexistent/2");
            run.env("DATABASE_PATH", "/nonexistent/s3cret:/nonexistent/1/s3cret");
            run.args(["run", "--format", format, "-o", "report", "--"]);
            let done = run.arg(&bash).arg("go.sh").output().unwrap();
            assert!(done.status.success(), "{}", stderr(&done));
            let text = std::fs::read_to_string(folder.path().join("report")).unwrap();
            assert!(!text.contains("s3cret"), "{format}: {text}");
            assert!(text.contains("/nonexistent/3"), "{format}: {text}");
            if format != "profile" {
                assert!(
                    text.contains("search-list") && text.contains("CDPATH"),
                    "{format}: {text}"
                );
            }
        }
    }
}

#[test]
fn the_report_is_enough_to_prove_it() {
    let Some(bash) = needed(installed("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (list, dead) = changing(folder.path());
    let needless = |words: &[&str]| {
        let mut run = command(NEEDLESS);
        run.current_dir(folder.path()).env("CDPATH", &list).args(words).arg("--");
        run.arg(&bash).arg("go.sh").output().unwrap()
    };
    assert!(needless(&["run", "-o", "report.json"]).status.success());
    let without = format!("CDPATH={dead}");
    for words in [
        &["prove", "report.json", "--count-only"][..],
        &["prove", "--without", &without, "--count-only"],
    ] {
        let done = needless(&[words, &["-o", "proof.json"]].concat());
        assert!(done.status.success(), "{}", stderr(&done));
        let text = std::fs::read_to_string(folder.path().join("proof.json")).unwrap();
        assert!(!text.contains("s3cret"), "{text}");
        let proof: Value = serde_json::from_str(&text).unwrap();
        let one = &proof["predictions"][0];
        assert_eq!(one["rule"], "search-list", "{proof:#}");
        assert_eq!(one["predicted"], one["went"], "{proof:#}");
        assert!(one["went"].as_i64().unwrap() >= 60, "{proof:#}");
    }
    let refused = needless(&["prove", "--without", "CDPATH=/other", "--count-only"]);
    assert!(stderr(&refused).contains("CDPATH lists none of these entries here"), "{refused:?}");
}

#[test]
fn a_script_that_sets_the_list_is_named() {
    let Some(bash) = needed(installed("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (list, _) = changing(folder.path());
    let script = format!("#!/bin/sh\nexport CDPATH={list}\n{} go.sh\n:\n", bash.display());
    std::fs::write(folder.path().join("wrapper"), script).unwrap();
    let both = [&[][..], &["--here"]];
    for (backend, report) in observed_by_each_backend(folder.path(), both, &[], &["sh", "wrapper"])
    {
        let found = finding(&report, "search-list");
        let remedy = &found["remedies"][0];
        assert_eq!(remedy["kind"], "manual", "{backend}: {remedy}");
        let said = remedy["text"].as_str().unwrap();
        assert!(said.contains("which sets CDPATH") && said.contains("sh"), "{backend}: {said}");
    }
}

/// What people have set, and programs that search.
#[test]
fn ordinary_lists_are_not_reported() {
    let path = std::env::var("PATH").unwrap();
    for words in [&["git", "--version"][..], &["man", "-w", "man"], &["perl", "-MPOSIX", "-e", "1"]]
    {
        if program(words[0]).is_none() {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut run = command(NEEDLESS);
        run.current_dir(folder.path()).env("PATH", format!("/usr/local/bin:{path}"));
        run.env("XDG_DATA_DIRS", "/usr/local/share:/usr/share").env_remove("MANPATH");
        run.env("XDG_CONFIG_DIRS", "/etc/xdg")
            .env("INFOPATH", "/usr/local/share/info:/usr/share/info:");
        run.args(["run", "--min-saving", "0", "-o", "report.json", "--"]).args(words);
        assert!(run.output().is_ok());
        let text = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
        assert!(!text.contains("\"search-list\""), "{words:?}: {text}");
    }
}
