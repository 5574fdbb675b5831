//! Advice that would break the program is not given: by each backend, and from a log.

use crate::common::*;
use serde_json::Value;

/// The first remedy of a rule's finding that unsets a variable, as its safety; "none" where there is none.
fn unset<'a>(report: &'a Value, rule: &str) -> &'a str {
    let remedies = finding(report, rule)["remedies"].as_array().unwrap();
    let unset = remedies.iter().find(|remedy| remedy["kind"] == "unset_env");
    unset.map_or("none", |remedy| remedy["safety"].as_str().unwrap())
}

#[test]
fn issue_39_a_file_that_is_read_stays_in_its_list() {
    let Some(bash) = needed(installed("bash")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().join("config");
    std::fs::write(&here, "real\n").unwrap();
    let here = here.to_str().unwrap();
    let script = "for n in {1..40}; do for f in ${KUBECONFIG//:/ }; do [ -f $f ] && read a <$f; done; done; :";
    let list = format!("/nonexistent/1:/nonexistent/2:/nonexistent/3:{here}");
    let words = [bash.to_str().unwrap(), "-c", script];
    let options: [&[&str]; 2] = [&[], &[]];
    for (backend, report) in
        observed_by_each_backend(folder.path(), options, &[("KUBECONFIG", &list)], &words)
    {
        let found = finding(&report, "search-list");
        let what = found["what"].as_str().unwrap();
        assert_eq!(
            what, "120 calls ask for 3 entries of KUBECONFIG that are not there",
            "{backend}"
        );
        let missing = ["/nonexistent/1", "/nonexistent/2", "/nonexistent/3"];
        assert_eq!(found["remedies"][0]["entries"], Value::from(missing.to_vec()), "{backend}");
        assert!(!report["findings"].to_string().contains(here), "{backend}");
    }
}

/// The shell waits for each answer, of which every line is four writes.
#[test]
fn issue_39_a_program_that_answers_keeps_its_output_unbuffered() {
    let (Some(bash), Some(python)) = (needed(installed("bash")), program("python3")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for lines in [1, 3] {
        let answer = "print('got', line.strip()); ".repeat(lines);
        let script = format!(
            "coproc P {{ {} -c \"import sys\nfor line in sys.stdin: {answer}\"; }}
            for i in {{1..300}}; do echo $i >&${{P[1]}}; for n in {{1..{lines}}}; do read a <&${{P[0]}}; done; done
            p=$P_PID; exec {{P[1]}}>&-; wait $p; :",
            python.display()
        );
        let words = [bash.to_str().unwrap(), "-c", &script];
        let options: [&[&str]; 2] = [&[], &[]];
        for (backend, report) in
            observed_by_each_backend(folder.path(), options, &[("PYTHONUNBUFFERED", "1")], &words)
        {
            let all = report["findings"].as_array().unwrap();
            let said = all.iter().find(|one| one["rule"] == "unbuffered-output");
            assert_eq!(said, None, "{backend}, {lines} lines");
        }
    }
}

#[test]
fn issue_39_bytecode_is_written_only_where_the_user_may() {
    let (Some(()), Some(setpriv)) = (root(), program("setpriv")) else { return };
    let Some(python) = needed(installed("python3")) else { return };
    let folder = open_folder();
    for number in 0..40 {
        std::fs::write(folder.path().join(format!("m{number}.py")), "x = 1\n").unwrap();
    }
    let import = "for n in range(40): __import__(f'm{n}')";
    let path = folder.path().to_str().unwrap();
    let env = [("PYTHONPATH", path), ("PYTHONDONTWRITEBYTECODE", "1")];
    let (setpriv, python) = (setpriv.to_str().unwrap(), python.to_str().unwrap());
    let as_root = [python, "-c", import];
    let user = ["--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let as_nobody = [&[setpriv], &user[..], &as_root].concat();
    let options: [&[&str]; 2] = [&[], &[]];
    for (words, safety) in [(&as_root[..], "caveat"), (&as_nobody, "none")] {
        for (backend, report) in observed_by_each_backend(folder.path(), options, &env, words) {
            let safety = if backend == "log" { "manual" } else { safety };
            assert_eq!(unset(&report, "python-bytecode"), safety, "{backend} {words:?}");
        }
    }
}
