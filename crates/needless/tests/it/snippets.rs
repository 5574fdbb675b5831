//! `fix --format`: what it prints is taken by the programs that it is for, ansible-playbook, BuildKit and kustomize,
//! and does there what `fix` would have done here.

use crate::cell::*;
use crate::common::*;
use crate::machine::Machine;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Once;

/// A machine with ansible-playbook in it.
fn ansible() -> Option<Machine> {
    program("perl")?;
    let machine = Machine::boot_with(&[("probe", PROBE)], "debs debs-ansible")?;
    machine.has("ansible-playbook")?;
    machine.has("supervisord")?;
    Some(machine)
}

/// Runs a play there, and returns its last lines. `options`: `--check`.
fn play(machine: &Machine, file: &str, options: &str) -> String {
    let words = format!(
        "cd /root; LC_ALL=C.UTF-8 ansible-playbook -i localhost, -c local {options} {file} 2>&1"
    );
    machine.ok(&words)
}

#[test]
fn a_drop_in_of_a_unit_by_ansible() {
    let Some(machine) = ansible() else { return };
    let unit = "[Service]\nExecStart=/usr/local/bin/probe web\n";
    machine.write("/etc/systemd/system/web.service", "644", unit);
    machine.ok("systemctl daemon-reload; systemctl start web");
    let before = machine.etc();
    let fix = "needless fix --unit web --set TZ=Asia/Tokyo --format ansible";
    let plain = machine.ok(fix);
    assert!(plain.contains("# Restart: systemctl restart web.service"), "{plain}");
    assert!(!plain.contains("state: restarted"), "{plain}");
    machine.ok(&format!("{fix} --restart >/root/play.yaml"));
    let said = play(&machine, "play.yaml", "--check");
    assert!(said.contains("failed=0") && !said.contains("changed=0"), "{said}");
    same(&before, &machine.etc(), "only printed, and only checked");
    let old = machine.pid_of(&format!("{WORDS} web"), "0");
    let said = play(&machine, "play.yaml", "");
    assert!(said.contains("failed=0"), "{said}");
    let new = machine.pid_of(&format!("{WORDS} web"), &old);
    assert_eq!(machine.stats(&new), 0, "{said}");
    let file = machine.ok("cat /etc/systemd/system/web.service.d/zz-needless.conf");
    assert_eq!(file, "[Service]\nEnvironment=\"TZ=Asia/Tokyo\"\n");
    let again = play(&machine, "play.yaml", "");
    assert!(again.contains("changed=0"), "{again}");
    // The file is there: there is nothing to print.
    let done = machine.run(fix);
    assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(0), ""));
    assert!(stderr(&done).contains("already so: TZ=Asia/Tokyo"), "{}", stderr(&done));
}

/// A file, its text before, the change, and the text after.
const LINES: [(&str, &str, &str, &str); 9] = [
    ("/etc/environment", "A=1\nTZ=UTC\nB=2\n", "--set TZ=Asia/Tokyo", "A=1\nTZ=Asia/Tokyo\nB=2\n"),
    (
        "/etc/default/one",
        "# of one\nA=1\n",
        "--set TZ=Asia/Tokyo",
        "# of one\nA=1\nexport TZ=Asia/Tokyo\n",
    ),
    ("/etc/default/two", "TZ=UTC\nB=2\n", "--set TZ=Asia/Tokyo", "export TZ=Asia/Tokyo\nB=2\n"),
    ("/etc/default/three", "A=1\nexport TZ=UTC\n", "--unset TZ", "A=1\n"),
    (
        "/etc/ssh/sshd_config",
        "Port 22\nMatch User joe\n  X11Forwarding no\nMatch all\n",
        "--set TZ=Asia/Tokyo",
        "Port 22\nSetEnv TZ=Asia/Tokyo\nMatch User joe\n  X11Forwarding no\nMatch all\n",
    ),
    (
        "/etc/supervisor/conf.d/w.conf",
        "[program:web]\ncommand=/bin/true\n[program:db]\ncommand=/bin/true\n",
        "--part db --set TZ=Asia/Tokyo",
        "[program:web]\ncommand=/bin/true\n[program:db]\nenvironment=TZ=\"Asia/Tokyo\"\ncommand=/bin/true\n",
    ),
    (
        "/etc/php/8.2/fpm/pool.d/www.conf",
        "[www]\nuser = www-data\nenv[TZ] = \"UTC\"\nenv[A] = \"1\"\n",
        "--part www --set TZ=Asia/Tokyo",
        "[www]\nuser = www-data\nenv[TZ] = \"Asia/Tokyo\"\nenv[A] = \"1\"\n",
    ),
    ("/etc/profile.d/zz-needless.sh", "", "--set TZ=Asia/Tokyo", "export TZ=Asia/Tokyo\n"),
    (
        "/etc/default/managed",
        "# Ansible managed\nA='{{ x }}'\n",
        "--set TZ=Asia/Tokyo",
        "# Ansible managed\nA='{{ x }}'\nexport TZ=Asia/Tokyo\n",
    ),
];

/// What is printed leads to the text that `fix` itself writes, but for its comment; a second run changes nothing.
#[test]
fn a_line_of_a_file_by_ansible() {
    let Some(machine) = ansible() else { return };
    // It is asked to read its files again.
    machine.ok("supervisord -c /etc/supervisor/supervisord.conf; until supervisorctl pid; do sleep 0.1; done");
    for (file, before, change, _) in LINES {
        if !before.is_empty() {
            machine.write(file, "644", before);
        }
        machine
            .ok(&format!("needless fix --in {file} {change} --format ansible >>/root/play.yaml"));
        if before.contains("managed") {
            let refused = machine.run(&format!("needless fix --in {file} {change} --yes"));
            assert!(
                stderr(&refused).contains("--format ansible prints it"),
                "{}",
                stderr(&refused)
            );
            assert!(machine.ok("cat /root/play.yaml").contains("into its template instead"));
            continue;
        }
        // As `fix` does it, and back.
        machine.ok(&format!(
            "needless fix --in {file} {change} --yes && grep -v '^# Set by needless' {file} >{file}.fixed; \
             needless undo; true"
        ));
    }
    play(&machine, "play.yaml", "--syntax-check");
    let said = play(&machine, "play.yaml", "");
    assert!(said.contains("failed=0"), "{said}");
    for (file, before, _, after) in LINES {
        assert_eq!(machine.ok(&format!("cat {file}")), after, "{file}");
        if !before.contains("managed") {
            assert_eq!(
                machine.ok(&format!("cat {file}.fixed")),
                after,
                "{file}: fix does another thing"
            );
        }
    }
    let again = play(&machine, "play.yaml", "");
    assert!(again.contains("changed=0"), "{again}");
}

/// Values that YAML, Jinja and Ansible treat specially arrive as they are.
#[test]
fn values_by_ansible() {
    let Some(machine) = ansible() else { return };
    let values: Vec<&str> =
        HARD.into_iter().chain(["{{ lookup('pipe', 'id') }}", "{% raw %}", "yes"]).collect();
    for (at, value) in values.iter().enumerate() {
        let value = value.replace('\'', "'\\''");
        machine.write(&format!("/etc/default/v{at}"), "644", "A=1\n");
        for file in [format!("/etc/default/v{at}"), format!("/etc/default/n{at}")] {
            machine.ok(&format!(
                "needless fix --in {file} --set 'X={value}' --format ansible --show-value >>/root/play.yaml"
            ));
        }
    }
    let said = play(&machine, "play.yaml", "");
    assert!(said.contains("failed=0"), "{said}");
    for (at, value) in values.iter().enumerate() {
        for kind in ["v", "n"] {
            let is = machine.ok(&format!("sh -c '. /etc/default/{kind}{at}; exec env' | grep ^X="));
            assert_eq!(is, format!("X={value}\n"), "{kind}{at}");
        }
    }
}

/// What may be a secret is not printed: neither the value nor what else is in its line.
#[test]
fn secrets_are_not_printed() {
    let folder = open_folder();
    let file = folder.path().join("sshd_config");
    std::fs::write(&file, "SetEnv SECRET=hunter2 TZ=UTC\n").unwrap();
    let fix = |change: &str, more: &[&str]| {
        let file = file.to_str().unwrap();
        let words = ["fix", "--in", file, "--set", change, "--format", "ansible"];
        needless(&[&words, more].concat())
    };
    for change in ["API_TOKEN=swordfish", "DATABASE=pg://me:swordfish@h", "TZ=Asia/Tokyo"] {
        let done = fix(change, &[]);
        let said = stderr(&done);
        assert_eq!((done.status.code(), stdout(&done).as_str()), (Some(2), ""), "{change}: {said}");
        assert!(said.contains("--show-value"), "{change}: {said}");
        assert!(!said.contains("hunter2") && !said.contains("swordfish"), "{change}: {said}");
    }
    let done = fix("TZ=Asia/Tokyo", &["--show-value"]);
    assert!(stdout(&done).contains("SECRET=hunter2 TZ=Asia/Tokyo"), "{}", stdout(&done));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "SetEnv SECRET=hunter2 TZ=UTC\n");
}

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
fn a_line_of_a_dockerfile() {
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
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("debs-kubernetes");
    // Once: a second unpacking would replace the program while another test starts it.
    static UNPACKED: Once = Once::new();
    UNPACKED.call_once(|| {
        let debs =
            std::fs::read_dir(tools().join("debs-kubernetes")).into_iter().flatten().flatten();
        for deb in debs.filter(|deb| deb.path().extension().is_some_and(|ending| ending == "deb")) {
            let words = [Path::new("-x"), &deb.path(), &folder];
            assert!(command("dpkg-deb").args(words).status().unwrap().success(), "{deb:?}");
        }
    });
    let file = folder.join("usr/bin/kubectl");
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
fn a_patch_for_kustomize() {
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
