//! `fix --format dockerfile` and `kustomize`: BuildKit and kustomize take what it prints.

use crate::booted::probe::HARD;
use crate::common::*;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools")
}

fn with_input(program: &Path, words: &[&str], input: &str) -> Output {
    let mut child = command(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

/// As BuildKit parses it, with the escape character of the file.
#[test]
fn buildkit_reads_the_line_of_a_dockerfile() {
    let readers = tools().join("bin/readers");
    let missing =
        || "needs the readers of Docker's files (scripts/install test builds them)".to_owned();
    if needed(readers.exists().then_some(()).ok_or_else(missing)).is_none() {
        return;
    }
    let folder = open_folder();
    let mut texts = Vec::new();
    for begin in ["FROM scratch\n", "# escape=`\nFROM a AS b\nENV X=no\nFROM scratch\n"] {
        let file = folder.path().join("Dockerfile");
        std::fs::write(&file, begin).unwrap();
        for value in HARD {
            let change = format!("X={value}");
            let words = ["fix", "--in", file.to_str().unwrap(), "--set", &change];
            let done =
                needless(&[&words[..], &["--format", "dockerfile", "--show-value"]].concat());
            assert!(done.status.success(), "{}", stderr(&done));
            texts.push(format!("{begin}{}", stdout(&done)));
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), begin);
    }
    texts.push("FROM scratch\nENV\n".to_owned());
    let done = with_input(&readers, &["dockerfile"], &json!(texts).to_string());
    let read: Vec<Value> = serde_json::from_slice(&done.stdout).unwrap();
    // It refuses what is wrong; otherwise this test would show nothing.
    assert!(read.last().unwrap()["refused"].is_string(), "{read:?}");
    let values = HARD.iter().chain(HARD.iter());
    for ((value, text), read) in values.zip(&texts).zip(&read) {
        assert_eq!(read["env"], json!({"X": value}), "{text}");
    }
    // For a process, whatever started it: its image is known to nobody here.
    let me = std::process::id().to_string();
    let done = needless(&["fix", "--pid", &me, "--set", "TZ=Asia/Tokyo", "--format", "dockerfile"]);
    assert!(
        stdout(&done).ends_with("(tzdata), or the time is silently UTC.\nENV TZ=\"Asia/Tokyo\"\n")
    );
    let done = needless(&["fix", "--pid", &me, "--unset", "TZ", "--format", "dockerfile"]);
    assert_eq!(done.status.code(), Some(2));
}

/// kubectl, with kustomize in it: installed, or unpacked from Debian's package.
fn kubectl() -> Option<PathBuf> {
    if let Ok(file) = installed("kubectl") {
        return Some(file);
    }
    let file = tools().join("debs-kubernetes/root/usr/bin/kubectl");
    let missing = || "kubectl is not installed (scripts/install test fetches it)".to_owned();
    needed(file.exists().then_some(file).ok_or_else(missing))
}

/// Without `n`, which is a truth value to old readers of YAML (1.1), Debian 12's kubectl among them.
const MANIFEST: &str = "\
# first
apiVersion: apps/v1
kind: Deployment
metadata:
  labels: {app: web}
  name: front
  namespace: shop
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      initContainers:
      - name: prepare
        image: i
      containers:
      - image: x
        name: web
        env:
        - name: A
          value: \"1\"
        - name: X
          valueFrom:
            fieldRef:
              fieldPath: metadata.name
      - name: side
        image: y
---
apiVersion: batch/v1
kind: CronJob
metadata:
  name: nightly
spec:
  schedule: \"* * * * *\"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: web
            image: x
---
apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: StatefulSet
  metadata:
    name: \"5\"
  spec:
    serviceName: store
    selector:
      matchLabels: {app: web}
    template:
      metadata:
        labels: {app: web}
      spec:
        containers:
        - name: store
          image: z
          env:
          - name: X
            value: old
";

/// The objects that kustomize makes, as JSON, by kind.
fn kustomized(kubectl: &Path, folder: &Path) -> Result<Value, String> {
    const READER: &str = "import json, sys, yaml
print(json.dumps({one['kind']: one for one in yaml.safe_load_all(sys.stdin) if one}))";
    let done = command(kubectl).arg("kustomize").arg(folder).output().unwrap();
    if !done.status.success() {
        return Err(stderr(&done));
    }
    let read = with_input(Path::new("/usr/bin/python3"), &["-c", READER], &stdout(&done));
    serde_json::from_slice(&read.stdout).map_err(|error| format!("{error}: {}", stderr(&read)))
}

#[test]
fn kustomize_reads_the_agents_base() {
    let Some(kubectl) = kubectl() else { return };
    let base = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/kubernetes");
    let agent = &kustomized(&kubectl, &base).unwrap()["DaemonSet"];
    assert_eq!(agent["metadata"]["namespace"], "needless");
    let container = &agent["spec"]["template"]["spec"]["containers"][0];
    let rights = &container["securityContext"];
    assert_eq!(
        (&rights["privileged"], &rights["readOnlyRootFilesystem"]),
        (&json!(false), &json!(true))
    );
    // The program takes its options, up to the last, which is wrong.
    let words = container["command"]
        .as_array()
        .unwrap()
        .iter()
        .chain(container["args"].as_array().unwrap());
    let words = words.skip(1).map(|word| word.as_str().unwrap());
    let words: Vec<&str> = words.filter(|word| !word.starts_with("--host=")).collect();
    let done = needless(&[&words[..], &["--host=a/b"]].concat());
    let said = stderr(&done);
    assert!(done.status.code() == Some(2) && said.contains("--host"), "{said}");
}

/// The environment of a container in an object.
fn env_of<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    fn search<'a>(at: &'a mut Value, name: &str) -> Option<&'a mut Value> {
        match at {
            Value::Array(all) => all.iter_mut().find_map(|one| search(one, name)),
            Value::Object(all) => {
                if all.contains_key("image") {
                    let mine = all["name"] == name;
                    return mine.then(|| all.entry("env").or_insert(json!([])));
                }
                all.iter_mut().find_map(|(_, one)| search(one, name))
            }
            _ => None,
        }
    }
    search(object, name).unwrap()
}

#[test]
fn kustomize_applies_the_patch() {
    let Some(kubectl) = kubectl() else { return };
    let version = stdout(&command(&kubectl).args(["version", "--client"]).output().unwrap());
    if !version.contains("Kustomize") {
        return skipped("Debian 12's kubectl has a kustomize that knows no kind List");
    }
    let folder = open_folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("all.yaml", MANIFEST);
    write("kustomization.yaml", "resources: [all.yaml]\n");
    let before = kustomized(&kubectl, folder.path()).unwrap();
    write("kustomization.yaml", "resources: [all.yaml]\npatches: [path: patch.yaml]\n");
    let file = folder.path().join("all.yaml");
    let fix = |part: &str, more: &[&str]| {
        let words =
            ["fix", "--in", file.to_str().unwrap(), "--part", part, "--format", "kustomize"];
        needless(&[&words, more].concat())
    };
    let parts = [
        ("Deployment", "Deployment/front/web"),
        ("Deployment", "prepare"),
        ("Deployment", "side"),
        ("CronJob", "CronJob/nightly/web"),
        ("StatefulSet", "store"),
    ];
    let values = HARD.into_iter().chain(["5", "yes", "$(A) $$(B)", "a: b"]);
    for (value, (kind, part)) in values.flat_map(|value| parts.map(|part| (value, part))) {
        let done = fix(part, &["--show-value", "--set", &format!("X={value}")]);
        assert!(done.status.success(), "{}", stderr(&done));
        write("patch.yaml", &stdout(&done));
        let mut after = kustomized(&kubectl, folder.path())
            .unwrap_or_else(|why| panic!("{part}: {why}\n{}", stdout(&done)));
        let name = part.rsplit('/').next().unwrap();
        let (mut expected, of) = (before.clone(), |all: &mut Value| {
            let env = env_of(&mut all[kind], name).as_array_mut().unwrap();
            let x = env.iter().position(|one| one["name"] == "X");
            x.map(|x| env.remove(x))
        });
        let x = of(&mut after);
        of(&mut expected);
        assert_eq!(x, Some(json!({"name": "X", "value": value.replace("$(", "$$(")})), "{part}");
        assert_eq!(after, expected, "{part}: {}", stdout(&done));
    }
    let done = fix("store", &["--unset", "X"]);
    write("patch.yaml", &stdout(&done));
    let mut after = kustomized(&kubectl, folder.path()).unwrap();
    assert_eq!(*env_of(&mut after["StatefulSet"], "store"), json!([]), "{}", stdout(&done));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), MANIFEST);
    // Two containers of one name: which is not known.
    let done = fix("web", &["--set", "TZ=UTC"]);
    assert!(stderr(&done).contains("Deployment/front/web, "), "{}", stderr(&done));
}
