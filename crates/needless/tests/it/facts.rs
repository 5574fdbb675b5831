//! Every backend gives the rules the same facts about a process, on the same programs.

use crate::common::*;
use serde_json::Value;
use std::path::Path;

/// The reports of `script`, run by a shell in a folder of its own: by each backend, and from strace's log.
fn reports(script: &str) -> Vec<(&'static str, Value)> {
    let folder = tempfile::tempdir().unwrap();
    observed_by_each_backend(folder.path(), [&[], &[]], &[], &["sh", "-c", script])
}

/// The findings of `rule`.
fn of<'a>(report: &'a Value, rule: &str) -> Vec<&'a Value> {
    let all = report["findings"].as_array().unwrap();
    all.iter().filter(|finding| finding["rule"] == rule).collect()
}

/// A line of a shell script that makes `name` a Perl script with this text.
fn perl_script(name: &str, text: &str) -> String {
    format!("printf '#!/usr/bin/perl\\n{text}\\n' >{name}; chmod +x {name}\n")
}

fn has(file: &str) -> bool {
    let there = Path::new(file).is_file().then_some(()).ok_or(format!("{file} is missing"));
    needed(there).is_some()
}

#[test]
fn a_script_that_flushes_each_line_is_named_if_something_reads_its_output() {
    if !has("/usr/bin/perl") {
        return;
    }
    let script = perl_script("each-line-by-itself", r#"$|=1; print "line" for 1..2000;"#)
        + &perl_script("another", r#"$|=1; print "line" for 1..1000;"#)
        + &perl_script("ts", r#"$|=1; print "line" for 1..4000;"#)
        + "ulimit -Sn 400
           ./each-line-by-itself >file; ./each-line-by-itself | wc -c >number; ./another >file
           ./each-line-by-itself >/dev/null; ./another >/dev/null; ./ts >file";
    for (backend, report) in reports(&script) {
        let found = of(&report, "unbuffered-output");
        let reported: Vec<_> = found
            .iter()
            .map(|f| (f["process"]["command"].as_str().unwrap(), f["of"].as_u64().unwrap()))
            .collect();
        assert_eq!(reported, [("each-line-by-it", 2 * 2000), ("another", 1000)], "{backend}");
        for finding in found {
            assert_eq!(finding["process"]["open_files"], 400, "{backend}");
            let [program] = &finding["exes"].as_array().unwrap()[..] else { panic!("{finding}") };
            let (exe, name) = (program["exe"].as_str().unwrap(), &finding["process"]["command"]);
            match backend {
                // As given to exec.
                "log" => assert_eq!(program["script"], Value::Null),
                _ => assert_eq!((exe, &program["script"]), ("/usr/bin/perl", name)),
            }
            assert_eq!(finding["evidence"][0]["path"], "standard output, a few bytes");
        }
    }
}

#[test]
fn pythonunbuffered_is_reported_even_if_the_output_goes_to_dev_null() {
    if !has("/usr/bin/python3") {
        return;
    }
    let script =
        "PYTHONUNBUFFERED=1 /usr/bin/python3 -c 'for i in range(1000): print(i)' >/dev/null";
    for (backend, report) in reports(script) {
        let [finding] = of(&report, "unbuffered-output")[..] else { panic!("{backend}: {report}") };
        let there = "which sets PYTHONUNBUFFERED: unset it there";
        assert!(finding["remedies"][0]["text"].as_str().unwrap().ends_with(there), "{finding}");
        let path = "standard output, which is /dev/null, a few bytes";
        assert_eq!(finding["evidence"][0]["path"], path, "{backend}");
        assert_eq!(finding["of"], 2000, "{backend}");
    }
}

#[test]
fn a_lower_limit_of_open_files_is_advised_only_where_the_limit_is_the_cause() {
    if !has("/usr/bin/python3") {
        return;
    }
    let closes = "import os, resource as r
def close(n):
    try: os.close(n)
    except OSError: pass
";
    let up_to_the_limit = "for n in range(3, r.getrlimit(r.RLIMIT_NOFILE)[0]): close(n)";
    let raise = "r.setrlimit(r.RLIMIT_NOFILE, (4096, r.getrlimit(r.RLIMIT_NOFILE)[1]));";
    for (limit, code, wanted, stage, lower) in [
        (
            4096,
            up_to_the_limit.to_owned(),
            "which was 4,096 when it was started",
            "explained",
            true,
        ),
        (
            1024,
            format!("{raise}\n{up_to_the_limit}"),
            "was 1,024 when it was started",
            "explained",
            false,
        ),
        (8192, "for n in range(3, 4096): close(n)".to_owned(), "which was 8,192", "seen", false),
    ] {
        let script = format!(
            "cat >close.py <<'END'\n{closes}{code}\nEND\nulimit -Sn {limit}; /usr/bin/python3 -S close.py"
        );
        for (backend, report) in reports(&script) {
            let [finding] = of(&report, "close-storm")[..] else { panic!("{backend}: {report}") };
            assert_eq!(finding["needless"], 4096 - 256 - 768, "{backend}");
            assert_eq!(finding["process"]["open_files"], limit, "{backend}");
            assert_eq!(finding["stage"], stage, "{backend}");
            let why = finding["why"].as_str().unwrap();
            assert!(why.contains(wanted), "{backend}: {why}");
            let advice = finding["remedies"].to_string();
            assert_eq!(advice.contains("LimitNOFILE"), lower, "{backend}: {advice}");
            assert!(advice.contains("close_range()"));
        }
    }
}
