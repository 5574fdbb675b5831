//! Manifests and compose files, changed and read back by a real YAML parser: the one variable has its
//! value, nothing else is different.

use crate::check_place::check_place;
use crate::common::{COMPOSE_TEXT, POD, changed, manifest, of_kubernetes};
use needless_environment::{COMPOSE, Edit, GITHUB_WORKFLOW, GITLAB_CI, HELM, KUBERNETES, Place};
use needless_fixtures::needed;
use proptest::prelude::*;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const READ: &str = r#"
import json, sys, yaml
print(json.dumps([doc for doc in yaml.safe_load_all(sys.stdin)]))
"#;

/// What a parser makes of a text.
fn parsed(text: &str) -> Result<serde_json::Value, String> {
    let missing = || "python3 with yaml (python3-yaml) is not installed".to_owned();
    let mut python = Command::new("/usr/bin/python3")
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|_| missing())?;
    python.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let done = python.wait_with_output().unwrap();
    serde_json::from_slice(&done.stdout).map_err(|_| missing())
}

/// Removes the variable from the parsed document, and returns it.
fn take(value: &mut serde_json::Value, variable: &str) -> Vec<serde_json::Value> {
    let mut taken = Vec::new();
    match value {
        serde_json::Value::Object(map) => {
            for key in ["environment", "env"] {
                let Some(env) = map.get_mut(key) else { continue };
                if let Some(vars) = env.as_object_mut() {
                    taken.extend(vars.remove(variable));
                }
                if let Some(list) = env.as_array_mut() {
                    let start = format!("{variable}=");
                    list.retain(|item| {
                        let text = item.as_str().and_then(|text| text.strip_prefix(&start));
                        let named = item["name"] == variable;
                        taken.extend(text.map(Into::into));
                        taken.extend(named.then(|| item["value"].clone()));
                        text.is_none() && !named
                    });
                }
                if env.as_array().is_some_and(Vec::is_empty)
                    || env.as_object().is_some_and(|m| m.is_empty())
                {
                    map.remove(key);
                }
            }
            map.values_mut().for_each(|below| taken.extend(take(below, variable)));
        }
        serde_json::Value::Array(list) => {
            list.iter_mut().for_each(|below| taken.extend(take(below, variable)));
        }
        _ => {}
    }
    taken
}

fn check(place: &Place, text: &str, parts: &[&str], written: impl Fn(&str) -> String) {
    let Some(before) = needed(parsed(text)) else { return };
    for (part, value, new) in changed(place, text, parts) {
        let mut after = parsed(&new).unwrap_or_else(|_| panic!("no YAML any more: {new}"));
        assert_eq!(take(&mut after, "TZ"), [serde_json::json!(written(value))], "{new}");
        assert_eq!(after, before, "{part}: {new}");
    }
}

#[test]
fn a_parser_reads_what_was_written_into_compose_files() {
    check(&COMPOSE, COMPOSE_TEXT, &["web", "list", "bare"], |value| value.replace('$', "$$"));
}

#[test]
fn a_parser_reads_what_was_written_into_manifests_of_kubernetes() {
    let map = "apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n---\n";
    let text = format!("{map}{}", manifest("Deployment", POD));
    check(&KUBERNETES, &text, &["web", "bare", "init"], of_kubernetes);
}

/// A change is refused with a word of why, or it changes what a parser reads by the one variable.
fn attack(place: &Place, text: &str, refused: Option<&str>) {
    let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
    match (place.change(text, &edit), refused) {
        (Err(why), Some(says)) => {
            assert!(why.to_string().contains(says), "{text}: {why}");
            assert!(why.to_string().contains("by hand"), "{text}: {why}");
        }
        (Ok(new), None) => {
            if needed(parsed("a: b")).is_none() {
                return;
            }
            let mut before = parsed(text).unwrap_or_else(|_| panic!("no YAML: {text}"));
            let mut after = parsed(&new).unwrap_or_else(|_| panic!("no YAML any more: {new}"));
            take(&mut before, "TZ");
            assert_eq!(take(&mut after, "TZ"), [serde_json::json!("UTC")], "{new}");
            assert_eq!(after, before, "{new}");
        }
        (done, _) => panic!("{}: {text}{done:?}", place.files),
    }
}

const LINES: &str = "several lines";
const BLOCK: &str = "not written as a block";

/// Values of `TZ:` that go on below.
const OVER_LINES: [&str; 9] = [
    ">-\n        Asia/\n        Tokyo",
    "|\n        # Asia\n\n        Tokyo",
    "!!str |\n        Asia",
    "Asia\n        Tokyo",
    "\"Asia/\\\n        Tokyo\"",
    "'it''s\n    TZ: fake'",
    "[a,\n        b]",
    "{a: b, # }\n        c: d}",
    "\n        Asia/Tokyo",
];

#[test]
fn values_over_lines_are_refused() {
    for value in OVER_LINES {
        for last in ["", "      B: two\n"] {
            let text = format!("services:\n  web:\n    environment:\n      TZ: {value}\n{last}");
            attack(&COMPOSE, &text, Some(LINES));
        }
        let item = format!("    - name: TZ\n      value: {value}\n    - name: B\n      value: c\n");
        attack(&KUBERNETES, &format!("containers:\n- name: c\n  env:\n{item}"), Some(LINES));
    }
    let list = |item: &str| format!("services:\n  w:\n    environment:\n      - A=1\n{item}");
    for item in ["      - \"TZ=Asia/\\\n        Tokyo\"\n", "      - TZ=Asia/\n       Tokyo\n"] {
        attack(&COMPOSE, &list(item), Some(BLOCK));
    }
    attack(&COMPOSE, &list("      - >-\n       TZ=Asia\n"), Some(BLOCK));
}

#[test]
fn values_in_braces_are_refused() {
    for text in [
        "containers:\n- {name: c, image: i}\n",
        "containers:\n- {name: c,\n   image: i}\n",
        "containers:\n- name: c\n  env:\n  - {name: TZ, value: UTC}\n",
        "containers:\n- name: c\n  env:\n  - {name: A, value: b}\n  - name: B\n    value: c\n",
        "containers:\n- name: c\n  env:\n    [{name: TZ, value: a}]\n",
        "containers:\n- name: c\n  env:\n  - name:\n      TZ\n    value: a\n",
    ] {
        attack(&KUBERNETES, text, Some(BLOCK));
    }
    // A parser reads these keys.
    for key in ["name: !!str TZ", "\"n\\x61me\": TZ"] {
        let text = format!("containers:\n- name: c\n  env:\n  - {key}\n    value: a\n");
        attack(&KUBERNETES, &text, None);
    }
    attack(&COMPOSE, "services:\n  web:\n    {image: i}\n", Some(BLOCK));
    attack(&COMPOSE, "services:\n  w:\n    environment:\n      {TZ: UTC}\n", Some(BLOCK));
    let found =
        KUBERNETES.find("containers:\n- name: c\n  env:\n  - {name: TZ, value: a}\n", "TZ", None);
    assert!(found.len() == 1 && !found[0].certain, "{found:?}");
}

#[test]
fn neighbours_over_lines_stay() {
    for value in OVER_LINES {
        let text = format!("services:\n  web:\n    environment:\n      A: {value}\n      B: c\n");
        // No list and no mapping is a value to Compose or Kubernetes.
        let is_value = !value.starts_with(['[', '{']);
        attack(&COMPOSE, &text, (!is_value).then_some("Compose takes no list"));
        for tail in ["", "  # a comment\n  args: [\n  a]\n"] {
            let first = format!("containers:\n- name: c\n  command: {value}\n{tail}");
            attack(&KUBERNETES, &first, None);
            let last = format!(
                "containers:\n- name: c\n  env:\n    - name: A\n      value: {value}\n{tail}"
            );
            attack(&KUBERNETES, &last, (!is_value).then_some("Kubernetes refuses it"));
        }
    }
    attack(
        &COMPOSE,
        "services:\n  w:\n    environment:\n      \"TZ\": Asia # it's\n      A: 'x # y'\n",
        None,
    );
    attack(
        &KUBERNETES,
        "containers:\n- name: c\n  env:\n  - valueFrom:\n      secretKeyRef:\n        name: TZ\n        key: k\n    name: A\n",
        None,
    );
    attack(
        &KUBERNETES,
        "containers:\n- name: |\n    c\n  env:\n  - name: TZ\n    value: a\n",
        None,
    );
}

/// A value that a neighbour has without quotes is refused only where Kubernetes refuses it too.
#[test]
fn words_that_are_no_text_are_known() {
    let of = |value: &str| {
        let env = format!("  env:\n  - name: A\n    value: {value}\n");
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        KUBERNETES.change(&format!("containers:\n- name: c\n{env}"), &edit)
    };
    for value in ["10.0.0.1", "2024-01-01", "3f2a9b", "-y", "a5", "1.2.3", "\"5\"", "1:20", "~"] {
        assert!(of(value).is_ok(), "{value}: {:?}", of(value));
    }
    for value in ["5", "-1.5", "0x1F", "010", "1_000", "yes", "Off", "true", "[a]", "{a: b}"] {
        let why = of(value).unwrap_err().to_string();
        assert!(why.starts_with("line 5: Kubernetes refuses it"), "{value}: {why}");
    }
}

/// What a text in braces has besides the variable may be a secret: it is not repeated, and nothing is lost.
#[test]
fn blocks_in_braces_are_written_anew_only_where_they_hold_nothing_else() {
    let workflow = "on: push\njobs:\n  a:\n    env: {X}\n    steps: []\n";
    let values = "image: x\nenv: {X}\n";
    for (place, text, part) in [(&GITHUB_WORKFLOW, workflow, Some("a")), (&HELM, values, None)] {
        let line = |inside: &str| {
            let edit = Edit { variable: "TZ", value: Some("UTC"), part };
            let line = place.line_by_hand(&text.replace("{X}", inside), &edit)?;
            Some((line.text, line.replaces.is_some()))
        };
        let whole = Some(("env: {TZ: \"UTC\"}".to_owned(), true));
        assert_eq!((line("{}"), line("{TZ: a}")), (whole.clone(), whole), "{place:?}");
        assert_eq!(line("{TZ: a, KEY: Zq8hunter}"), None, "{place:?}");
    }
}

/// Texts of 128 KiB that are made to be expensive, or are no YAML.
fn hostile() -> Vec<String> {
    const SIZE: usize = 1 << 17;
    let many = |start: &str, each: &dyn Fn(usize) -> String| {
        let mut text = start.to_owned();
        (0..).map(each).find(|next| {
            text += next;
            text.len() + 2 * next.len() > SIZE
        });
        text
    };
    let service = "services:\n  web:\n    environment:\n";
    let aliases = |at: usize| format!("a{}: &a{} [*a{at}, *a{at}]\n", at + 1, at + 1);
    let merges = |at: usize| format!("a{}: &a{} {{<<: [*a{at}, *a{at}]}}\n", at + 1, at + 1);
    let long_key = "k".repeat(1000);
    let deep_keys: String = (0..100).map(|at| format!("{}{long_key}:\n", " ".repeat(at))).collect();
    vec![
        "services:\r  web:\r    environment:\r      A: b\r".to_owned(),
        "services:\n  web: {environment: [\n".to_owned(),
        "containers:\n- name: c\n  env: *nothing\n".to_owned(),
        "services:\n  web: &w\n    environment: *w\n".to_owned(),
        "\u{feff}services:\n\tweb: \u{0}\n".to_owned(),
        many("", &|_| "[".into()),
        many("services:\n  web:\n    x: ", &|_| "{a: ".into()),
        many("containers:\n- ", &|_| "- ".into()),
        many("", &|at| format!("{}a:\n", " ".repeat(at))),
        many("a0: &a0 [x]\n", &aliases) + service + "      A: *a9\n",
        many("a0: &a0 {TZ: a}\n", &merges) + service + "      <<: *a999\n",
        many(service, &|_| "      TZ: a\n".into()),
        many(service, &|at| format!("      A{at}: a\n")),
        many(&format!("{service}      TZ: \"a"), &|_| " #".into()) + "\"\n",
        many("services:\n", &|at| format!("  s{at}: {{}}\n")),
        many("containers:\n", &|_| "- name: c\n".into()),
        many("containers: [", &|_| "{name: c},".into()) + "]\n",
        many("containers:\n- name: c\n  env:\n", &|_| "  - {name: TZ}\n".into()),
        many("jobs:\n", &|at| format!("  a{at}:\n    env:\n      TZ: a\n")),
        many("", &|at| format!("a{at}:\n  script: a\n")),
        many(&deep_keys, &|at| format!("{}e{at}: {{env: {{}}}}\n", " ".repeat(101))),
    ]
}

/// Such texts are refused with one line of why, or changed; and soon.
#[test]
fn a_hostile_text_is_one_line_of_why() {
    for text in hostile() {
        let begin = text.get(..60).unwrap_or(&text);
        for place in [&COMPOSE, &KUBERNETES, &HELM, &GITHUB_WORKFLOW, &GITLAB_CI] {
            for (value, part) in [(Some("UTC"), None), (None, Some("web"))] {
                let started = Instant::now();
                let edit = Edit { variable: "TZ", value, part };
                if let Err(why) = place.change(&text, &edit) {
                    let why = why.to_string();
                    assert!(!why.contains(['\n', '\r']) && why.len() < 2000, "{begin:?}: {why}");
                }
                let took = started.elapsed();
                assert!(took < Duration::from_secs(10), "{begin:?} {place:?}: {took:?}");
            }
        }
    }
}

/// Lines that mean something to one of the readers, alone or behind another.
const ANY: [&str; 46] = [
    "services:",
    "  web:",
    "  db: &d",
    "    environment:",
    "    environment: &e",
    "    environment: *e",
    "      TZ: a",
    "      TZ: 'x' # é",
    "      - TZ=a",
    "      - A=1",
    "    - \"TZ=é\"",
    "      <<: *e",
    "      A: |+",
    "        é",
    "",
    "    image: x",
    "containers:",
    "- name: web",
    "  env:",
    "  - name: TZ",
    "    value: a",
    "    value: \"é\"",
    "  - name: B",
    "    valueFrom:",
    "      x: y",
    "---",
    "...",
    "  - {name: TZ, value: a}",
    "    env: [",
    "  ]",
    "  env: {}",
    "# TZ",
    "      TZ: >-",
    "      TZ: !!str é",
    "      ? TZ",
    "      : a",
    "\tx",
    "      \"T\\x5a\": a",
    "  -",
    "    value: {{ .Values.é }}",
    "    <<: *d",
    "  web: {environment: {TZ: a}}",
    "x: &e {TZ: \u{feff}a}",
    "      TZ: *t",
    "jobs:",
    "    script: x",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any lines: no reader panics, what was put is found, and once is enough.
    #[test]
    fn any_lines(
        lines in proptest::collection::vec(prop::sample::select(&ANY[..]), 0..12),
        begin in prop::sample::select(&["", "services:\n  web:\n", "containers:\n- name: web\n"][..]),
        end in prop::sample::select(&["\n", "\r\n", "\r"][..]),
        part in prop::sample::select(&["", "web"][..]),
    ) {
        let text = begin.to_owned() + &lines.join(end);
        for place in ["compose", "Kubernetes manifest", "Helm values", "GitHub workflow", "GitLab pipeline"] {
            check_place(format!("{place}\na\"b'c\\d$e `f` #g: $(x)\n{part}\n{text}").as_bytes());
        }
    }
}
