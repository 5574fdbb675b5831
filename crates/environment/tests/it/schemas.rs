//! Manifests, compose files and Dockerfiles, changed and then checked by a reference: compose's own reader,
//! Kubernetes' own schema, a parser of Dockerfiles. `scripts/install` fetches them.

use crate::common::{self, COMPOSE_TEXT, POD, VALUES, changed, indented, of_kubernetes, texts};
use needless_environment::{COMPOSE, DOCKERFILE, Edit, KUBERNETES};
use needless_fixtures::reference_python;
use serde_json::{Value, json};
use std::path::Path;

/// Runs a script with `input` on its standard input; `None`, and the test counts as skipped, where a module is missing.
fn python(script: &str, input: &Value) -> Option<Value> {
    let text = reference_python(script, &input.to_string())?;
    Some(serde_json::from_str(&text).unwrap())
}

/// The environment of every service, after compose has held the file to its schema and put in what
/// `$` stands for.
const COMPOSE_READER: &str = r#"
import json, os, sys, tempfile
try:
    # Debian packages most of it for itself, into the folder of the rest; Python 3.12 has none.
    import distutils
    distutils.__path__ += [os.path.join(path, "distutils") for path in sys.path]
except ImportError:
    pass
try:
    from compose.config.config import ConfigDetails, ConfigFile, load
    from compose.config.environment import Environment
    from compose.config.errors import ConfigurationError
except ImportError as error:
    sys.exit("needs docker-compose for Python, which Debian has up to 12: " + str(error))
def read(text):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "compose.yaml")
        open(name, "w").write(text)
        try:
            file = ConfigFile.from_filename(name)
            config = load(ConfigDetails(folder, [file], Environment({"HOME": "wrong"})))
        except ConfigurationError as error:
            return {"refused": str(error)}
        def plain(service):
            kept = {key: service[key] for key in service if key != "environment"}
            return {"environment": dict(service.get("environment") or {}), "rest": repr(sorted(kept.items()))}
        return {service["name"]: plain(service) for service in config.services}
print(json.dumps([read(text) for text in json.load(sys.stdin)]))
"#;

#[test]
fn compose_reads_what_was_meant() {
    let map = "  map:\n    environment:\n      TZ: old\n    image: z\nvolumes:";
    let text = COMPOSE_TEXT.replace("volumes:", map);
    let all = changed(&COMPOSE, &text, &["web", "list", "bare", "map"]);
    // The reader must refuse wrong files; otherwise this test would show nothing.
    let wrong = "services:\n  web:\n    image: x\n    environment:\n    - 5\n";
    let texts = texts(&all, &[&text, wrong]);
    let Some(read) = python(COMPOSE_READER, &json!(texts)) else { return };
    let [.., before, wrong] = &read.as_array().unwrap()[..] else { panic!("{read}") };
    assert!(wrong["refused"].is_string(), "{wrong}");
    for ((part, value, text), read) in all.iter().zip(read.as_array().unwrap()) {
        let mut expected = before.clone();
        expected[*part]["environment"]["TZ"] = json!(value);
        assert_eq!(*read, expected, "{part} {value}:\n{text}");
    }
}

/// The errors of every document, by the schema of its kind in the oldest and the newest version that is here,
/// and the variables of each container.
const KUBERNETES_READER: &str = r#"
import glob, json, sys, zipfile
try:
    import jsonschema, yaml
except ImportError as error:
    sys.exit("needs python3-jsonschema and python3-yaml: " + str(error))
wheels = [path for path in sys.path if "kubernetes_validate-" in path]
if not wheels:
    sys.exit("needs the schemas of Kubernetes")
wheel = zipfile.ZipFile(wheels[0])
top = "kubernetes_validate/kubernetes-json-schema/"
names = {name.split("/")[2] for name in wheel.namelist() if name.startswith(top)}
versions = sorted((n for n in names if n.endswith("-strict")), key=lambda n: int(n.split(".")[1]))
def validators(version):
    load = lambda name: json.loads(wheel.read(top + version + "/" + name + ".json"))
    definitions = load("_definitions")
    made = {}
    def of(document):
        group, _, number = document["apiVersion"].rpartition("/")
        name = "-".join(filter(None, [document["kind"].lower(), group.split(".")[0], number]))
        if name not in made:
            schema = load(name)
            store = {definitions["$id"]: definitions}
            resolver = jsonschema.RefResolver(schema["$id"], schema, store=store)
            made[name] = jsonschema.Draft202012Validator(schema, resolver=resolver)
        return made[name]
    return of
checks = [validators(version) for version in (versions[0], versions[-1])]
def containers(at):
    if isinstance(at, dict):
        for key, below in at.items():
            if key in ("containers", "initContainers"):
                yield from below
            else:
                yield from containers(below)
    elif isinstance(at, list):
        for below in at:
            yield from containers(below)
def read(text):
    errors, found = [], {}
    # The schemas have no List of anything: it is what kubectl makes of it.
    documents = []
    for document in yaml.safe_load_all(text):
        documents += document["items"] if document["kind"] == "List" else [document]
    for document in documents:
        for check in checks:
            errors += [str(list(e.path)) + e.message for e in check(document).iter_errors(document)]
        for container in containers(document):
            name = container["name"]
            if name in found:
                name = "/".join([document["kind"], document["metadata"]["name"], name])
            found[name] = {v["name"]: v.get("value") for v in container.get("env", [])}
    return {"errors": errors, "containers": found}
print(json.dumps([read(text) for text in json.load(sys.stdin)]))
"#;

/// A manifest with one container more, which has the variable.
fn manifest(kind: &str) -> String {
    let last = "  - env:\n    - name: TZ\n      value: old\n    image: z\n    name: last\n";
    common::manifest(kind, &format!("{POD}{last}"))
}

/// Several objects in one text: each has containers of the same names, and only the last is changed.
#[test]
fn several_objects_in_one_manifest() {
    let (pod, job, daemons) = (manifest("Pod"), manifest("Job"), manifest("DaemonSet"));
    let item = |text: &str| {
        let rest = indented(text, 2);
        format!("- {}", rest.trim_start())
    };
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n{}{}{}",
        item(&pod),
        item(&daemons),
        item(&job)
    );
    for text in [format!("# first\n---\n{pod}---\n{daemons}---\n{job}"), list] {
        let all = changed(&KUBERNETES, &text, &["Job/n/web", "Job/n/bare"]);
        let texts = texts(&all, &[&text]);
        let Some(read) = python(KUBERNETES_READER, &json!(texts)) else { return };
        let before = read.as_array().unwrap().last().unwrap();
        assert_eq!(before["errors"], json!([]), "{text}");
        for ((part, value, text), read) in all.iter().zip(read.as_array().unwrap()) {
            let mut expected = before.clone();
            expected["containers"][*part]["TZ"] = json!(of_kubernetes(value));
            assert_eq!(*read, expected, "{part} {value}:\n{text}");
        }
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some("web") };
        let said = KUBERNETES.change(&text, &edit).unwrap_err().to_string();
        assert!(said.contains("Pod/n/web, ") && said.contains("Job/n/bare"), "{said}");
    }
}

#[test]
fn manifests_are_what_kubernetes_describes() {
    for kind in ["Pod", "Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob"] {
        let text = manifest(kind);
        let all = changed(&KUBERNETES, &text, &["web", "bare", "init", "last"]);
        let number = text.replace("value: \"1\"", "value: 1");
        let misspelt = text.replace("value: \"1\"", "valu: \"1\"");
        let texts = texts(&all, &[&text, &number, &misspelt]);
        let Some(read) = python(KUBERNETES_READER, &json!(texts)) else { return };
        let [.., before, number, misspelt] = &read.as_array().unwrap()[..] else {
            panic!("{read}")
        };
        assert_eq!(before["errors"], json!([]), "{kind}");
        // Both versions see both mistakes.
        for wrong in [number, misspelt] {
            assert_eq!(wrong["errors"].as_array().map(Vec::len), Some(2), "{kind}: {wrong}");
        }
        for ((part, value, text), read) in all.iter().zip(read.as_array().unwrap()) {
            let mut expected = before.clone();
            expected["containers"][*part]["TZ"] = json!(of_kubernetes(value));
            assert_eq!(*read, expected, "{kind}, {part} {value}:\n{text}");
        }
    }
}

#[test]
fn the_agents_manifests_are_what_kubernetes_describes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/kubernetes");
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let agent = text("daemonset.yaml");
    let misspelt = agent.replace("readOnlyRootFilesystem", "readonlyRootFilesystem");
    let texts = [agent, text("namespace.yaml"), misspelt];
    let Some(read) = python(KUBERNETES_READER, &json!(texts)) else { return };
    assert_eq!((&read[0]["errors"], &read[1]["errors"]), (&json!([]), &json!([])), "{read}");
    assert_ne!(read[2]["errors"], json!([]));
}

/// The variables of the last stage.
const DOCKERFILE_READER: &str = r#"
import io, json, sys
try:
    from dockerfile_parse import DockerfileParser
except ImportError as error:
    sys.exit("needs dockerfile-parse: " + str(error))
def read(text):
    parser = DockerfileParser(fileobj=io.BytesIO())
    parser.content = text
    return {"envs": parser.envs, "instructions": [part["instruction"] for part in parser.structure]}
print(json.dumps([read(text) for text in json.load(sys.stdin)]))
"#;

const DOCKERFILES: [&str; 3] = [
    "FROM a AS b\nENV TZ=first\nFROM c\nENV B=2\n",
    "# x\nFROM a\nENV TZ=old\nRUN true",
    "FROM a\nENV A=1 \\\n  TZ=old C=3\nRUN x \\\n  && y\n",
];

#[test]
fn dockerfiles_are_parsed_back() {
    // That parser leaves escaped dollars and backslashes as they are written.
    let values = VALUES.iter().filter(|value| !value.contains(['$', '\\']));
    let cases: Vec<_> = values.flat_map(|value| DOCKERFILES.map(|text| (*value, text))).collect();
    let change = |(value, text): &(&str, &str)| {
        let edit = Edit { variable: "TZ", value: Some(value), part: None };
        DOCKERFILE.change(text, &edit).unwrap()
    };
    let texts: Vec<String> = cases.iter().map(change).collect();
    let Some(before) = python(DOCKERFILE_READER, &json!(DOCKERFILES)) else { return };
    let Some(read) = python(DOCKERFILE_READER, &json!(texts)) else { return };
    for (((value, old), new), read) in cases.iter().zip(&texts).zip(read.as_array().unwrap()) {
        let at = DOCKERFILES.iter().position(|text| text == old).unwrap();
        let mut expected = before[at]["envs"].clone();
        expected["TZ"] = json!(value);
        assert_eq!(read["envs"], expected, "{new}");
        let known = |of: &Value| {
            let all = of["instructions"].as_array().unwrap();
            all.iter()
                .filter(|word| *word != "ENV" && *word != "COMMENT")
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(known(read), known(&before[at]), "{new}");
    }
}
