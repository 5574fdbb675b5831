//! Manifests and compose files, changed and read back by a real YAML parser: the one variable has its
//! value, nothing else is different.

use crate::common::{COMPOSE_TEXT, POD, changed, manifest, of_kubernetes};
use needless_environment::{COMPOSE, ConfigFormat, Edit, KUBERNETES};
use needless_fixtures::needed;
use std::io::Write;
use std::process::{Command, Stdio};

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

fn check(place: &ConfigFormat, text: &str, parts: &[&str], written: impl Fn(&str) -> String) {
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
fn attack(place: &ConfigFormat, text: &str, refused: Option<&str>) {
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
        "containers:\n- name: c\n  env:\n  - name: !!str TZ\n    value: a\n",
        "containers:\n- name: c\n  env:\n  - \"n\\x61me\": TZ\n    value: a\n",
    ] {
        attack(&KUBERNETES, text, Some(BLOCK));
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
        attack(&COMPOSE, &text, None);
        for tail in ["", "  # a comment\n  args: [\n  a]\n"] {
            let first = format!("containers:\n- name: c\n  command: {value}\n{tail}");
            attack(&KUBERNETES, &first, None);
            let last = format!(
                "containers:\n- name: c\n  env:\n    - name: A\n      value: {value}\n{tail}"
            );
            attack(&KUBERNETES, &last, None);
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
