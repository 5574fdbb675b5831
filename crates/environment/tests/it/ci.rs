//! needless prints the line that a person adds to a GitHub workflow or a GitLab pipeline. These tests add the line and
//! validate the file against the schema that JSON Schema Store or GitLab publishes; they validate our own action, too.
//! The wheel of check-jsonschema has the schemas. `scripts/install` fetches it.

use crate::common::written_by_hand;
use needless_environment::{Edit, GITHUB_WORKFLOW, GITLAB_CI, Place};
use needless_fixtures::reference_python;
use serde_json::{Value, json};

/// What a schema says of texts, and their variables: at the top, and of each job.
const READER: &str = r#"
import json, sys, zipfile
try:
    import jsonschema, yaml
except ImportError as error:
    sys.exit("needs jsonschema and PyYAML: " + str(error))
wheels = [path for path in sys.path if "check_jsonschema-" in path]
if not wheels:
    sys.exit("needs the schemas of check-jsonschema")
asked = json.load(sys.stdin)
name = "check_jsonschema/builtin_schemas/vendor/" + asked["schema"] + ".json"
schema = json.loads(zipfile.ZipFile(wheels[0]).read(name))
check = jsonschema.Draft7Validator(schema)
def read(text):
    # Every scalar as it is written: `on` is no truth value to GitHub, and a variable is a text.
    is_action = asked["schema"] == "github-actions"
    file = yaml.load(text, yaml.SafeLoader if is_action else yaml.BaseLoader)
    key = asked["key"]
    jobs = file.get("jobs", file)
    of = {name: job[key] for name, job in jobs.items() if isinstance(job, dict) and key in job}
    return {"errors": [error.message[:200] for error in check.iter_errors(file)],
            "top": file.get(key), "jobs": of}
print(json.dumps([read(text) for text in asked["texts"]]))
"#;

fn read(schema: &str, key: &str, texts: &[&str]) -> Option<Vec<Value>> {
    let asked = json!({ "schema": schema, "key": key, "texts": texts }).to_string();
    let said = reference_python(READER, &asked)?;
    Some(serde_json::from_str(&said).unwrap())
}

const WORKFLOW: &str = "\
name: x
on: [push]
jobs:
  bare:
    runs-on: ubuntu-latest
    steps:
      - run: make # here
  has:
    runs-on: ubuntu-latest
    env:
      A: one
    steps:
      - name: two
        env:
          A: ${{ github.sha }}
        run: |
          make
          env: no
";

const PIPELINE: &str = "\
stages:
  - test
default:
  image: debian
bare:
  script:
    - make
has:
  variables:
    A: one
  script: make
";

const VALUES: [&str; 6] =
    ["Europe/Athens", "5", "yes", "a: b # c", "it's \"q\" \\t", "$HOME $$ ${X:-y}"];

/// What is written by hand is what the schema describes and a reader finds; with a list for the variable A, it is not.
fn holds(place: &'static Place, text: &str, schema: &str, key: &str) {
    let mut cases = Vec::new();
    for part in [None, Some("bare"), Some("has")] {
        for value in VALUES {
            let edit = Edit { variable: "TZ", value: Some(value), part };
            let line = place.line_by_hand(text, &edit).unwrap();
            let once = written_by_hand(text, &line);
            // A second value replaces the first.
            let again = place.line_by_hand(&once, &Edit { value: Some("UTC"), ..edit }).unwrap();
            if again.replaces.is_some() {
                cases.push((part, "UTC", written_by_hand(&once, &again)));
            }
            cases.push((part, value, once));
        }
    }
    let wrong = text.replace("A: one\n", "A: [one]\n");
    let texts = cases.iter().map(|(.., text)| text.as_str()).chain([&*wrong, text]);
    let Some(mut all) = read(schema, key, &texts.collect::<Vec<_>>()) else { return };
    let before = all.pop().unwrap();
    assert_eq!(before["errors"], json!([]), "{text}");
    // The schema must refuse what is wrong; otherwise this would show nothing.
    assert_ne!(all.pop().unwrap()["errors"], json!([]), "{wrong}");
    for ((part, value, text), is) in cases.iter().zip(all) {
        // GitLab makes one $ of two.
        let written = match key {
            "variables" => value.replace('$', "$$"),
            _ => (*value).to_owned(),
        };
        let mut expected = before.clone();
        let place = match part {
            Some(part) => &mut expected["jobs"][part],
            None => &mut expected["top"],
        };
        place["TZ"] = json!(written);
        assert_eq!(is, expected, "{part:?} {value}:\n{text}");
    }
}

#[test]
fn workflows_are_what_their_schema_describes() {
    holds(&GITHUB_WORKFLOW, WORKFLOW, "github-workflows", "env");
}

#[test]
fn pipelines_are_what_their_schema_describes() {
    holds(&GITLAB_CI, PIPELINE, "gitlab-ci", "variables");
}

#[test]
fn our_action_is_what_its_schema_describes() {
    let action = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../action.yml"));
    let action = action.unwrap();
    let wrong = action.replace("using: composite", "using: compost");
    let Some(said) = read("github-actions", "env", &[&action, &wrong]) else { return };
    assert_eq!(said[0]["errors"], json!([]));
    assert_ne!(said[1]["errors"], json!([]));
}
