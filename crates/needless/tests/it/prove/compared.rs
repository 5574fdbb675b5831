//! Two captures that are there already, compared: `diff`.

use super::*;

#[test]
fn two_captures_are_compared() {
    let Some(program) = testee("localtime") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let words = [program.as_str(), "localtime", "30"];
    let has_strace = self::program("strace").is_some();
    let arms = [(&[][..], "a"), (&[("TZ", "UTC")], "b")];
    let compared = |a: &str, b: &str| -> Value {
        let done = needless(&["diff", &path(a), &path(b), "--format", "json"]);
        assert!(done.status.success(), "{}", stderr(&done));
        json(&done.stdout)
    };
    for (env, name) in arms.into_iter().filter(|_| has_strace) {
        strace(&["-f"], Path::new(&path(&format!("{name}.log"))), env, &words);
    }
    for backend in backends() {
        for (env, name) in arms {
            let options = ["run", "--all", "--format", "profile", "-o", &path(name), "--"];
            let args = [&options[..], &words].concat();
            assert!(needless_in(&[backend, env].concat(), &args).status.success());
        }
        let by_needless = compared("a", "b");
        assert_row(&by_needless["rows"][0], 29);
        if has_strace {
            assert_row(&compared("a.log", "b.log")["rows"][0], 29);
            assert_eq!(compared("a", "a.log")["before"]["calls"], by_needless["before"]["calls"]);
        }
        let text = stdout(&needless(&["diff", &path("a"), &path("b")]));
        assert!(text.contains("went: ") && text.contains("came: "), "{text}");
        assert!(compared("a", "a")["rows"].as_array().unwrap().is_empty());
    }
}

#[test]
fn a_service_before_and_after() {
    if !observes_others() {
        return;
    }
    let Some(ticks) = testee("clock_ticks") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("before.json");
    let file = file.to_str().unwrap();
    let window = |env: &[(&str, &str)], options: &[&str]| -> Output {
        let mut service = command(&ticks);
        service.arg("10000").envs(env.iter().copied()).stdout(Stdio::null());
        let mut child = service.spawn().unwrap();
        let id = child.id().to_string();
        // It sleeps once for each of its rounds, however busy the machine is.
        let per = format!("sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' /proc/{id}/status");
        let counted = options.contains(&"--per");
        let per: &[&str] = if counted { &[] } else { &["--per", &per] };
        let words = [&["prove", "--pid", &id, "--for", "1s"], per, options].concat();
        let done = needless(&words);
        let _ = child.kill();
        let _ = child.wait();
        done
    };
    let saved = window(&[], &["--save-before", file]);
    assert_eq!(saved.status.code(), Some(0), "{}", stderr(&saved));
    let after = window(&[("TZ", "UTC")], &["--before", file, "--format", "json"]);
    assert_eq!(after.status.code(), Some(0), "{}{}", stdout(&after), stderr(&after));
    let reported = json(&after.stdout);
    assert_eq!(reported["proven"], true);
    let per: Vec<&str> =
        reported["rates"].as_array().unwrap().iter().map(|r| r["per"].as_str().unwrap()).collect();
    assert!(per.contains(&"second") && per.contains(&"request"), "{reported:#}");
    let idle = window(&[], &["--before", file, "--per", "echo 7"]);
    assert_eq!(idle.status.code(), Some(2), "{}", stdout(&idle));
    assert!(assert_one_line(&idle).contains("the counter went from 7 to 7"), "{}", stderr(&idle));
    // A second equal window proves nothing. On a busy machine two may differ by a tenth, but not each time.
    let same = (0..4).find_map(|_| {
        assert!(window(&[], &["--save-before", file]).status.success());
        let done = window(&[], &["--before", file]);
        (done.status.code() == Some(1)).then_some(done)
    });
    let same = same.expect("windows of which one proves nothing");
    assert!(stdout(&same).starts_with("needless prove: not proven"), "{}", stdout(&same));
}
