//! Properties of every place: a variable that was put is found, putting it twice changes nothing more, and nothing else changes.

use crate::check_place::check_place;
use crate::common::written_by_hand;
use needless_environment as environment;
use needless_environment::{Edit, PLACES, Place};
use proptest::prelude::*;

/// Texts as such files have them, one for each place, with the part that is edited.
fn sample(place: &Place) -> (&'static str, Option<&'static str>) {
    match place.name {
        "systemd unit" | "systemd user unit" => ("[Service]\nEnvironment=\"A=1\"\n", None),
        "crontab" => {
            ("# jobs\nSHELL=/bin/sh\n* * * * * root run-it a=b\n\n5 0 * * 0 root other\n", None)
        }
        "user's crontab" => {
            ("A=1\nSHELL=/bin/sh\n* * * * * run-it a=b\n\n5 0 * * 0 other\n", Some("job 1"))
        }
        "sudoers" => ("Defaults env_reset\n", None),
        "sshd" => ("Port 22\nSetEnv A=1 \"B=x y\"\nMatch User joe\n  SetEnv TZ=no\n", None),
        "supervisord" => (
            "[supervisord]\nnodaemon=true\n; x\n[program:web]\ncommand=/bin/web\nenvironment=A=\"1\",\n  B=2\n[program:db]\ncommand=x\n",
            Some("web"),
        ),
        "php-fpm pool" => (
            "[global]\npid = x\n[www]\nuser = w\n;env[TZ] = no\nenv[PATH] = /bin\n\n[b]\nuser = x\n",
            Some("www"),
        ),
        "quadlet" => (
            "[Container]\nImage=x\nEnvironment=A=1 TZ=no\n\n[Service]\nEnvironment=TZ=other\n",
            None,
        ),
        "Dockerfile" => ("FROM a AS b\nENV TZ=no\nFROM c\nENV A=1 \\\n  B=2\nCMD [\"x\"]\n", None),
        "compose" => (
            "services:\n  web:\n    image: x\n    environment:\n      A: \"1\"\n  db:\n    image: y\n",
            Some("web"),
        ),
        "GitHub workflow" => (
            "on: push\njobs:\n  build:\n    runs-on: x\n    env:\n      A: \"1\"\n    steps:\n      - run: make\n",
            Some("build"),
        ),
        "GitLab pipeline" => {
            ("build:\n  variables:\n    A: \"1\"\n  script:\n    - make\n", Some("build"))
        }
        "Helm values" => ("image: x\nweb:\n  env:\n    A: \"1\"\n", None),
        "Kubernetes manifest" => (
            "kind: Pod\nspec:\n  containers:\n    - name: web\n      image: x\n      env:\n        - name: A\n          value: \"1\"\n    - name: side\n      image: y\n",
            Some("web"),
        ),
        "authorized_keys" => (
            "environment=\"A=1\",no-pty ssh-ed25519 AAAA joe\n# x\nssh-rsa BBBB ann\n",
            Some("joe"),
        ),
        "execline script" => ("#!/usr/bin/execlineb -P\nexport A \"1\"\nprog x\n", None),
        "wrapper script" => ("#!/bin/sh\nexec /usr/bin/x \"$@\"\n", None),
        "envdir" => ("", None),
        _ => ("# a comment\nA=1\nexport B=2\nC='x y'\n", None),
    }
}

fn last(place: &Place, text: &str, variable: &str, part: Option<&str>) -> Option<Option<String>> {
    place.find(text, variable, part).pop().map(|found| found.value)
}

/// Places whose text holds the value itself.
fn holds_values(place: &Place) -> bool {
    place.name != "sudoers"
}

fn check(place: &Place, text: &str, part: Option<&str>, value: &str) -> Result<(), TestCaseError> {
    let edit = Edit { variable: "TZ", value: Some(value), part };
    // A key's option stands in the middle of a line.
    if let Some(line) = place.line_by_hand(text, &edit).filter(|_| place.name != "authorized_keys")
    {
        let new = written_by_hand(text, &line);
        let found = last(place, &new, "TZ", part);
        prop_assert_eq!(found, Some(Some(value.to_owned())), "{:?}: {:?}", place, new);
        let again = place.change(&new, &edit);
        prop_assert_eq!(again.as_ref(), Ok(&new), "{:?}", place);
        let said = place.change(text, &edit).unwrap_err().to_string();
        prop_assert!(said.contains(" by hand") && !said.contains('\n'), "{:?}: {}", place, said);
        return Ok(());
    }
    // A refusal is allowed: the format cannot express the value.
    let Ok(once) = place.change(text, &edit) else {
        let by_hand = place.line_by_hand(text, &edit).is_some();
        prop_assert!(
            by_hand || value != "Europe/Athens",
            "{:?}: an ordinary value is refused",
            place
        );
        return Ok(());
    };
    if holds_values(place) {
        let found = last(place, &once, "TZ", part);
        prop_assert_eq!(found, Some(Some(value.to_owned())), "{:?}: {:?}", place, once);
    }
    let twice = place.change(&once, &edit);
    prop_assert_eq!(twice.as_ref(), Ok(&once), "{:?}", place);
    // A file of an environment directory holds one variable, whatever name is searched for.
    let others: &[&str] =
        if place.name == "envdir" { &[] } else { &["A", "B", "C", "PATH", "SHELL"] };
    for other in others.iter().copied() {
        prop_assert_eq!(
            last(place, &once, other, part),
            last(place, text, other, part),
            "{:?}",
            place
        );
    }
    Ok(())
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("Europe/Athens".to_owned()),
        Just(":/etc/localtime".to_owned()),
        Just("<+0330>-3:30".to_owned()),
        Just("100%".to_owned()),
        Just("a\"b'c\\d$e `f` #g".to_owned()),
        "[ -~]{0,24}",
        "\\PC{0,12}",
    ]
}

/// Lines that have a meaning in some place.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("TZ=UTC".to_owned()),
        Just("export TZ='Asia/Tokyo' # x".to_owned()),
        Just("  TZ = \"x y\"".to_owned()),
        Just("if true; then export TZ=a; fi".to_owned()),
        Just("unset TZ".to_owned()),
        Just("TZ=a\\".to_owned()),
        Just("A=1".to_owned()),
        Just("".to_owned()),
        Just("# c \\".to_owned()),
        Just("* * * * * root x".to_owned()),
        Just("ENV TZ=a B=2".to_owned()),
        Just("ENV TZ a b".to_owned()),
        Just("FROM x".to_owned()),
        Just("[program:web]".to_owned()),
        Just("environment=TZ=\"a\",A=1".to_owned()),
        Just("[www]".to_owned()),
        Just("env[TZ] = a".to_owned()),
        Just("Environment=TZ=a \"B=1\"".to_owned()),
        Just("[Service]".to_owned()),
        Just("[Container]".to_owned()),
        Just("SetEnv TZ=a \"A=1 2\" # x".to_owned()),
        Just("Match all".to_owned()),
        "[ -~]{0,16}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_put_is_found_and_once_is_enough(value in value()) {
        for place in PLACES {
            let (text, part) = sample(place);
            check(place, text, part, &value)?;
        }
    }

    /// For any text: the formats do not panic, and find the value that was put.
    #[test]
    fn any_text(all in proptest::collection::vec(line(), 0..12), value in value(), ends in any::<bool>()) {
        let mut text = all.join("\n");
        if ends {
            text.push('\n');
        }
        for place in PLACES {
            let part = sample(place).1;
            let edit = Edit { variable: "TZ", value: Some(&value), part };
            if let Ok(once) = place.change(&text, &edit) {
                if holds_values(place) {
                    let found = last(place, &once, "TZ", part);
                    prop_assert_eq!(found, Some(Some(value.clone())), "{:?}: {:?}", place, once);
                }
                let twice = place.change(&once, &edit);
                prop_assert_eq!(twice.as_ref(), Ok(&once), "{:?}", place);
            }
            let removed = place.change(&text, &Edit { value: None, ..edit });
            if let Ok(removed) = removed {
                let found = last(place, &removed, "TZ", part);
                prop_assert!(matches!(found, None | Some(None)), "{:?}: {:?}", place, removed);
            }
        }
    }
}

/// Lines that run into the next one, or that a reader may take for another number of lines.
fn hostile_line() -> impl Strategy<Value = String> {
    prop_oneof![
        line(),
        Just("A=b\\".to_owned()),
        Just("B=\"x".to_owned()),
        Just("C='y\\".to_owned()),
        Just("export A=1 B=2 \\".to_owned()),
        Just("A=1\r".to_owned()),
        Just("B=2\rTZ=a\rC=3".to_owned()),
        Just("# c \\".to_owned()),
        Just("ENV A=1 \\".to_owned()),
        Just("environment=A=\"1\",".to_owned()),
        Just("  B=\"2\"".to_owned()),
        Just("Environment=A=1 \\".to_owned()),
        Just("SetEnv A=1 B=2".to_owned()),
        Just("env[A] = \"b".to_owned()),
        Just("* * * * * A=1 TZ=a x".to_owned()),
        Just("Defaults env_keep += \"A B\" \\".to_owned()),
        Just(format!("A={}", "x".repeat(9000))),
    ]
}

/// What the reader of such a text has for each of these variables, in the part that is changed and in all.
fn others(place: &Place, text: &str, part: Option<&str>) -> Vec<Option<Option<String>>> {
    let names = ["A", "B", "C", "D", "PATH", "SHELL", "LANG"];
    let all = names.iter().flat_map(|name| [part, None].map(|part| last(place, text, name, part)));
    all.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any text of any place: an error of one line, or a new text in which no other variable is another.
    #[test]
    fn no_other_variable_changes(
        all in proptest::collection::vec(hostile_line(), 0..8),
        set in any::<bool>(),
        (crlf, ends) in (any::<bool>(), any::<bool>()),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let text = all.join(end) + if ends { end } else { "" };
        for place in PLACES {
            let part = sample(place).1;
            for text in [text.clone(), format!("{}{text}", sample(place).0)] {
                let edit = Edit { variable: "TZ", value: set.then_some("Etc/UTC"), part };
                match place.change(&text, &edit) {
                    Ok(new) => prop_assert_eq!(
                        others(place, &text, part), others(place, &new, part), "{:?}: {:?}: {:?}", place, text, new
                    ),
                    Err(why) => prop_assert!(!why.to_string().contains('\n'), "{:?}: {}", place, why),
                }
            }
        }
    }
}

#[test]
fn a_variable_set_and_removed_leaves_none() {
    for place in PLACES.iter().filter(|place| holds_values(place)) {
        let (text, part) = sample(place);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part };
        if place.line_by_hand(text, &edit).is_some() {
            continue;
        }
        let set = place.change(text, &edit).unwrap_or_else(|why| panic!("{place:?}: {why}"));
        let Ok(removed) = place.change(&set, &Edit { value: None, ..edit }) else { continue };
        let found = last(place, &removed, "TZ", part);
        assert!(matches!(found, None | Some(None)), "{place:?}: {removed:?}");
    }
}

/// What the reader does not know would stay in force: no removal is reported as done.
#[test]
fn a_form_that_is_not_known_is_not_taken_for_removed() {
    let texts = [
        (&environment::PROFILE_D, "export \"TZ=B\"\n"),
        (&environment::PROFILE_D, "declare -x TZ=B\n"),
        (&environment::PROFILE_D, "eval \"export TZ=B\"\n"),
        (&environment::COMPOSE, "services:\n  web:\n    environment: {A: 1, TZ: B}\n"),
        (&environment::DOCKERFILE, "FROM a AS x\nENV TZ=B\nFROM x\n"),
    ];
    for (place, text) in texts {
        let edit = Edit { variable: "TZ", value: None, part: None };
        let done = place.change(text, &edit);
        assert!(done.is_err(), "{place:?} {text:?}: {done:?}");
    }
    let reads = "# TZ\necho \"$TZ ${TZ:-x}\"\nexport MYTZ=1\n";
    let edit = Edit { variable: "TZ", value: None, part: None };
    assert_eq!(environment::PROFILE_D.change(reads, &edit).as_deref(), Ok(reads));
}

#[test]
fn files_are_known_by_their_paths() {
    let cases = [
        ("/etc/environment", "", &environment::PAM_ENV),
        ("/etc/systemd/system/a.service.d/zz-needless.conf", "", &environment::SYSTEMD_UNIT),
        ("/root/.config/systemd/user/a.service.d/x.conf", "", &environment::USER_UNIT),
        ("/etc/cron.d/x", "", &environment::CRONTAB),
        ("/home/x/.ssh/authorized_keys", "", &environment::AUTHORIZED_KEYS),
        ("/home/x/.ssh/environment", "", &environment::SSH_ENVIRONMENT),
        ("/var/spool/cron/crontabs/x", "", &environment::USER_CRONTAB),
        ("/home/x/.profile", "", &environment::USER_SHELL),
        ("/home/x/.bashrc", "", &environment::USER_SHELL),
        ("/etc/containers/systemd/web.container", "", &environment::QUADLET),
        ("chart/values-prod.yaml", "extra:\n  containers:\n", &environment::HELM),
        ("/srv/web.env", "", &environment::ENV_FILE),
        ("/home/x/Dockerfile", "", &environment::DOCKERFILE),
        (".github/workflows/ci.yml", "services:\n", &environment::GITHUB_WORKFLOW),
        ("/srv/x/.github/workflows/ci.yaml", "", &environment::GITHUB_WORKFLOW),
        ("x/.gitlab-ci.yml", "services:\n", &environment::GITLAB_CI),
        ("x/compose.yaml", "services:\n", &environment::COMPOSE),
        ("x/deploy.yaml", "kind: Pod\nspec:\n  containers:\n", &environment::KUBERNETES),
        ("/etc/php/8.2/fpm/pool.d/www.conf", "", &environment::PHP_FPM),
        ("/etc/postgresql/15/main/environment", "", &environment::POSTGRESQL),
    ];
    for (path, text, place) in cases {
        assert_eq!(environment::place_of_file(path, text), Some(place), "{path}");
    }
    assert_eq!(environment::place_of_file("/etc/passwd", ""), None);
}

/// A comment behind the setting is kept: behind the new one, or above it where the reader of the file
/// would take it for a part of the value.
#[test]
fn a_comment_on_the_line_is_kept() {
    for (name, part, before, after) in [
        (
            "init script",
            None,
            "export TZ=UTC   # keep this\n",
            "export TZ=Asia/Tokyo   # keep this\n",
        ),
        ("login shell", None, "A=1\nexport TZ=UTC # a\n", "A=1\nexport TZ=Asia/Tokyo # a\n"),
        ("pam_env", None, "TZ=UTC # keep\n", "# keep\nTZ=Asia/Tokyo\n"),
        ("sshd", None, "SetEnv TZ=UTC # keep\n", "SetEnv TZ=Asia/Tokyo # keep\n"),
        (
            "php-fpm pool",
            Some("www"),
            "[www]\nenv[TZ] = UTC ; keep\n",
            "[www]\nenv[TZ] = \"Asia/Tokyo\" ; keep\n",
        ),
        (
            "supervisord",
            Some("web"),
            "[program:web]\nenvironment=TZ=\"UTC\" ; keep\n",
            "[program:web]\nenvironment=TZ=\"Asia/Tokyo\" ; keep\n",
        ),
        (
            "supervisord",
            Some("web"),
            "[program:web]\nenvironment=A=\"1\", ; one\n  TZ=UTC, ; keep\n  B=2\ncommand=x\n",
            "[program:web]\nenvironment=A=\"1\", ; one\n  TZ=\"Asia/Tokyo\", ; keep\n  B=2\ncommand=x\n",
        ),
        ("user's shell", None, "export TZ='UTC'\t# keep\n\n", "export TZ=Asia/Tokyo\t# keep\n\n"),
        (
            "user's crontab",
            Some("job 1"),
            "* * * * * TZ=UTC a # keep\n\n",
            "* * * * * TZ=Asia/Tokyo a # keep\n\n",
        ),
        // Not a comment, but a part of the value.
        ("EnvironmentFile", None, "TZ=UTC # x\n", "TZ=Asia/Tokyo\n"),
    ] {
        let place = PLACES.iter().find(|place| place.name == name).unwrap();
        let edit = Edit { variable: "TZ", value: Some("Asia/Tokyo"), part };
        assert_eq!(place.change(before, &edit).as_deref(), Ok(after), "{name}");
        assert_eq!(place.change(after, &edit).as_deref(), Ok(after), "{name}, again");
    }
}

/// What fuzzing starts from, and what it found.
#[test]
fn the_fuzz_corpus_is_changed_as_promised() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/place");
    let files = std::fs::read_dir(folder).unwrap();
    let files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
    let changed = files.filter(|bytes| check_place(bytes)).count();
    assert!(changed >= 25, "{changed}");
}
