//! What the tests of files in YAML share: values that are hard to write, and files to write them into.

use needless_environment::{Edit, HandLine, Place};

/// Values that such files treat specially.
pub(crate) const VALUES: [&str; 10] = [
    "Europe/Athens",
    "5",
    "yes",
    "a: b # c",
    "it's \"q\"",
    "$HOME $$",
    "${X:-y} $$$",
    "$(X) $$(Y)",
    "back\\slash \\t",
    "Ελλάδα",
];

/// A part of a file, the value that TZ got there, and the new text.
pub(crate) type Changed<'a> = (&'a str, &'static str, String);

/// Sets TZ to every value in every part, and then to another, which has to replace the first.
pub(crate) fn changed<'a>(place: &Place, text: &str, parts: &[&'a str]) -> Vec<Changed<'a>> {
    let mut all = Vec::new();
    for &part in parts {
        for value in VALUES {
            let put = |text: &str, value| {
                let edit = Edit { variable: "TZ", value: Some(value), part: Some(part) };
                place.change(text, &edit).unwrap_or_else(|why| panic!("{part} {value}: {why}"))
            };
            let new = put(text, value);
            assert_eq!(put(&new, value), new, "{part} {value}: again");
            let other = put(&new, "UTC");
            all.extend([(part, value, new), (part, "UTC", other)]);
        }
    }
    all
}

/// The new texts, and others behind them.
pub(crate) fn texts<'a>(changed: &'a [Changed], others: &[&'a str]) -> Vec<&'a str> {
    changed.iter().map(|(.., text)| text.as_str()).chain(others.iter().copied()).collect()
}

/// What Kubernetes makes of two dollars before a parenthesis is one.
pub(crate) fn of_kubernetes(value: &str) -> String {
    value.replace("$(", "$$(")
}

pub(crate) const COMPOSE_TEXT: &str = "\
# a comment
services:
  web:
    image: \"x:1\" # pinned
    command: |
      environment:
        TZ: no
    environment: # ours
      A: '1'
      B: two
    ports: [\"80:80\"]
  list:
    image: y
    environment:
    - A=1
    - \"C=x y\"
  bare:
    image: z
volumes: {}
";

pub(crate) const POD: &str = "\
initContainers:
  - image: i
    name: init
containers:
  - name: web
    image: x
    args: [\"--env\", \"a\"]
    env:
      - name: A
        value: \"1\"
      - name: SECRET
        valueFrom:
          secretKeyRef:
            name: s
            key: k
    resources:
      limits:
        cpu: 1
  - name: bare
    image: y
";

/// `text` with more indent.
pub(crate) fn indented(text: &str, by: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
}

/// A manifest of one kind around a pod.
pub(crate) fn manifest(kind: &str, pod: &str) -> String {
    let head =
        |version: &str| format!("apiVersion: {version}\nkind: {kind}\nmetadata:\n  name: n\n");
    let template = |by: usize| {
        let labels = "metadata:\n  labels:\n    app: n\nspec:\n";
        indented(&format!("{labels}{}", indented(pod, 2)), by)
    };
    let select = "  selector:\n    matchLabels:\n      app: n\n  template:\n";
    match kind {
        "Pod" => format!("{}spec:\n{}", head("v1"), indented(pod, 2)),
        "StatefulSet" => {
            format!("{}spec:\n  serviceName: n\n{select}{}", head("apps/v1"), template(4))
        }
        "CronJob" => format!(
            "{}spec:\n  schedule: \"* * * * *\"\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n{}",
            head("batch/v1"),
            indented(pod, 10)
        ),
        "Job" => format!(
            "{}spec:\n  template:\n    spec:\n      restartPolicy: Never\n{}",
            head("batch/v1"),
            indented(pod, 6)
        ),
        _ => format!("{}spec:\n{select}{}", head("apps/v1"), template(4)),
    }
}

/// The text with a line where a person writes it: in the place of one, above one with its blanks, or at the end.
pub(crate) fn written_by_hand(text: &str, line: &HandLine) -> String {
    let mut all: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = line.replaces.or(line.above).map_or(all.len(), |at| at as usize - 1);
    let blanks =
        all.get(at).map_or("", |beside| &beside[..beside.len() - beside.trim_start().len()]);
    let new = format!("{blanks}{}", line.text);
    match line.replaces {
        Some(_) => all[at] = new,
        None => all.insert(at, new),
    }
    all.join("\n") + "\n"
}
