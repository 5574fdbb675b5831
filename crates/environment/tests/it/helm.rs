//! Values of a chart, changed and then rendered by Helm's own engine: the containers have what was meant, and nothing else
//! changes. `tools/helm` has it.

use crate::common::{changed, of_kubernetes, texts};
use needless_environment::{Edit, HELM};
use needless_fixtures::needed;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Each block as charts have it.
const TEXT: &str = "\
image: x # pinned
list:
  env:
    - name: A
      value: \"1\"
    - name: TZ
      value: old
map:
  env: # ours
    A: '1'
    B: two
items:
  extraEnv: []
keys:
  extraEnvVars: {}
";
const PARTS: [&str; 4] = ["list.env", "map.env", "items.extraEnv", "keys.extraEnvVars"];

/// A list as it is, and a mapping whose values are quoted: the two ways of charts.
const TEMPLATE: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
{{- range $name, $block := dict \"list.env\" .Values.list.env \"items.extraEnv\" .Values.items.extraEnv }}
  - name: {{ $name }}
    image: {{ $.Values.image }}
    env:
      {{- toYaml $block | nindent 6 }}
{{- end }}
{{- range $name, $block := dict \"map.env\" .Values.map.env \"keys.extraEnvVars\" .Values.keys.extraEnvVars }}
  - name: {{ $name }}
    image: {{ $.Values.image }}
    env:
    {{- range $variable, $value := $block }}
    - name: {{ $variable }}
      value: {{ $value | quote }}
    {{- end }}
{{- end }}
";

/// The variables of each container, for each text of values.
fn rendered(texts: &[&str]) -> Option<Vec<Value>> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/bin/helm");
    let missing = || "needs Helm's engine (scripts/install test builds it)".to_owned();
    needed(program.exists().then_some(()).ok_or_else(missing))?;
    let folder = tempfile::tempdir().unwrap();
    let mut charts = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let chart = folder.path().join(at.to_string());
        std::fs::create_dir_all(chart.join("templates")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(chart.join(name), text).unwrap();
        write("Chart.yaml", "apiVersion: v2\nname: c\nversion: 1.0.0\n");
        write("values.yaml", text);
        write("templates/pod.yaml", TEMPLATE);
        charts.push(chart);
    }
    let done = Command::new(program).args(charts).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(serde_json::from_slice(&done.stdout).unwrap())
}

#[test]
fn helm_renders_what_was_meant() {
    let all = changed(&HELM, TEXT, &PARTS);
    // A number is no text: the reader must refuse it, or this test would show nothing.
    let wrong = TEXT.replace("value: old", "value: 5");
    let texts = texts(&all, &[TEXT, &wrong]);
    let Some(read) = rendered(&texts) else { return };
    let [.., before, wrong] = &read[..] else { panic!("{read:?}") };
    assert!(wrong["refused"].is_string(), "{wrong}");
    assert_eq!(before["containers"]["list.env"]["TZ"], "old");
    for ((part, value, text), read) in all.iter().zip(&read) {
        let mut expected = before.clone();
        expected["containers"][*part]["TZ"] = json!(of_kubernetes(value));
        assert_eq!(*read, expected, "{part} {value}:\n{text}");
    }
}

#[test]
fn templates_and_other_values_are_refused() {
    let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
    for (text, says) in [
        (
            TEXT,
            "name one of its blocks with --part: list.env, map.env, items.extraEnv, keys.extraEnvVars",
        ),
        ("image: x\n", "it has no block for variables"),
        ("env: production\n", "it has no block for variables"),
        (
            "env:\n  nested:\n    TZ: x\n  TZ:\n    a: b\n",
            "line 4: the value is not a text: edit it by hand",
        ),
    ] {
        let said = HELM.change(text, &edit).unwrap_err().to_string();
        assert!(said.contains(says), "{text}: {said}");
    }
    let template = needless_environment::format_of_file("c/templates/pod.yaml", TEMPLATE).unwrap();
    let said = template.change(TEMPLATE, &edit).unwrap_err().to_string();
    assert!(said.contains("it is a template of Helm: change the chart's values"), "{said}");
}
