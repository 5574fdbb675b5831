//! Kubernetes manifests: `env` of a container. A value has to be a string.
//! <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/>

use super::yaml::{YamlLine, children, choose, is_yaml, lines, pair, quoted, scalar};
use super::{Edit, FoundValue, splice};
use crate::config_format::{ConfigFormat, DEFAULT};
use crate::error::EnvironmentError;

/// A Kubernetes manifest.
pub static KUBERNETES: ConfigFormat = ConfigFormat {
    name: "Kubernetes manifest",
    files: "a manifest with containers in it",
    reaches: "the container",
    effect: "kubectl apply, which rolls out new pods",
    find,
    put,
    elsewhere,
    is_file: |path, text| is_yaml(path) && text.contains("containers:"),
    of_image: true,
    ..DEFAULT
};

struct ContainerItem<'a> {
    name: String,
    /// The first line of its item.
    head: YamlLine<'a>,
    own: Vec<YamlLine<'a>>,
    env: Option<usize>,
}

/// Items of `containers:` and `initContainers:`, in any document of the text.
fn containers<'a>(all: &[YamlLine<'a>]) -> Vec<ContainerItem<'a>> {
    let mut found = Vec::new();
    for (at, line) in all.iter().enumerate() {
        if !matches!(line.text, "containers:" | "initContainers:") {
            continue;
        }
        let inside = children(all, at);
        for (at, item) in items(inside) {
            // The item's first line and those below it, as one mapping.
            let mut own = vec![YamlLine { item: false, indent: item.column, ..item.clone() }];
            own.extend(inside[at + 1..].iter().take_while(|l| l.indent > item.indent).cloned());
            let key = |wanted: &str| {
                own.iter().position(|l| {
                    l.indent == item.column
                        && !l.item
                        && pair(l.text).is_some_and(|(key, _)| key == wanted)
                })
            };
            let name = key("name").and_then(|at| pair(own[at].text));
            let name = name.map(|(_, value)| scalar(value)).unwrap_or_default();
            let env = key("env");
            found.push(ContainerItem { name, head: item.clone(), own, env });
        }
    }
    found
}

fn items<'a, 'b>(inside: &'b [YamlLine<'a>]) -> impl Iterator<Item = (usize, &'b YamlLine<'a>)> {
    let column = inside.first().map_or(0, |line| line.indent);
    inside.iter().enumerate().filter(move |(_, line)| line.item && line.indent == column)
}

/// A variable of `env:`.
struct Variable {
    name: String,
    from: usize,
    to: usize,
    /// The line of its value, with column and value.
    value: Option<(usize, usize, String)>,
    /// Whether it refers to no other variable.
    certain: bool,
    column: usize,
}

fn variables(container: &ContainerItem<'_>) -> Vec<Variable> {
    let Some(head) = container.env else { return Vec::new() };
    let inside = children(&container.own, head);
    let mut found = Vec::new();
    for (at, item) in items(inside) {
        let rest: Vec<_> = inside[at + 1..].iter().take_while(|l| l.indent > item.indent).collect();
        let own = std::iter::once(item).chain(rest.iter().copied());
        let keys: Vec<_> =
            own.filter_map(|line| pair(line.text).map(|(key, value)| (line, key, value))).collect();
        let name = keys.iter().find(|(_, key, _)| key == "name");
        let value = keys.iter().find(|(_, key, _)| key == "value");
        found.push(Variable {
            name: name.map(|(.., value)| scalar(value)).unwrap_or_default(),
            from: item.at,
            to: rest.last().map_or(item.at, |line| line.at) + 1,
            certain: value.is_some_and(|(.., v)| !v.replace("$$(", "").contains("$(")),
            value: value
                .map(|(line, _, value)| (line.at, line.column, scalar(value).replace("$$(", "$("))),
            column: item.column,
        });
    }
    found
}

/// Where the container `part` (or the only one) sets `variable`.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(all) = lines(text) else { return Vec::new() };
    let all = containers(&all);
    let Ok(container) = choose("container", &all, |container| &container.name, part) else {
        return Vec::new();
    };
    let mine = variables(container).into_iter().filter(|v| v.name == variable);
    mine.map(|variable| match variable.value {
        Some((at, _, value)) => {
            FoundValue { certain: variable.certain, ..FoundValue::set(at, value) }
        }
        None => FoundValue { certain: false, ..FoundValue::set(variable.from, "") },
    })
    .collect()
}

/// A list of ConfigMaps and Secrets whose entries become variables.
fn elsewhere(text: &str, part: Option<&str>) -> Option<(u32, &'static str)> {
    let all = lines(text).ok()?;
    let all = containers(&all);
    let container = choose("container", &all, |container| &container.name, part).ok()?;
    let column = container.head.column;
    let line = container.own.iter().find(|line| {
        let key = pair(line.text).map(|(key, _)| key);
        line.indent == column && key.as_deref() == Some("envFrom")
    });
    line.map(|line| (super::number(line.at), "envFrom"))
}

/// # Errors
/// When the container does not exist, its `env` is not understood, or the variable comes from elsewhere
/// (`valueFrom`).
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let all = lines(text)?;
    let all = containers(&all);
    let container = choose("container", &all, |container| &container.name, edit.part)?;
    let found = variables(container);
    let old = found.iter().rfind(|v| v.name == edit.variable);
    let Some(value) = edit.value else {
        let Some(old) = old else { return Ok(text.to_owned()) };
        if found.len() == 1 {
            return Err("it is the only variable there: remove `env` by hand".into());
        }
        return Ok(splice(text, old.from, old.to, &[]));
    };
    let value = quoted(&value.replace("$(", "$$("));
    match old {
        Some(Variable { value: Some((at, column, _)), from, .. }) if at > from => {
            return Ok(splice(
                text,
                *at,
                at + 1,
                &[format!("{}value: {value}", " ".repeat(*column))],
            ));
        }
        Some(Variable { value: Some(_), from, to, column, .. }) if to - from == 2 => {
            let pad = " ".repeat(*column);
            let dash = format!("{}- ", " ".repeat(column - 2));
            let new = [format!("{dash}name: {}", edit.variable), format!("{pad}value: {value}")];
            return Ok(splice(text, *from, *to, &new));
        }
        Some(_) => return Err("the variable is set there in a way that is not understood".into()),
        None => {}
    }
    let pair_of =
        |pad: &str| [format!("{pad}- name: {}", edit.variable), format!("{pad}  value: {value}")];
    let Some(head) = container.env else {
        let last = container.own.last().map_or(container.head.at, |line| line.at);
        // After the first line of the item, which may have a block of its own.
        let next = container.own.iter().skip(1).find(|line| line.indent == container.head.column);
        let at = next.map_or(last + 1, |line| line.at);
        let pad = " ".repeat(container.head.column);
        let [name, value] = pair_of(&pad);
        return Ok(splice(text, at, at, &[format!("{pad}env:"), name, value]));
    };
    let head = &container.own[head];
    if pair(head.text).is_some_and(|(_, value)| !value.is_empty()) {
        return Err(format!(
            "line {}: `env` in one line is not changed automatically: edit it by hand",
            head.at + 1
        )
        .into());
    }
    if head.at == container.head.at {
        return Err("`env` is the container's first key: edit it by hand".into());
    }
    let inside = children(&container.own, container.env.unwrap_or(0));
    let column = inside.first().map_or(head.column, |line| line.indent);
    let at = inside.last().map_or(head.at, |line| line.at) + 1;
    Ok(splice(text, at, at, &pair_of(&" ".repeat(column))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "apiVersion: apps/v1\nkind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        image: x\n        env:\n        - name: A\n          value: \"1\"\n      - name: side\n        image: y\n      volumes: []\n";

    #[test]
    fn added_changed_and_found() {
        for part in ["web", "side"] {
            let edit = |value| Edit { variable: "TZ", value: Some(value), part: Some(part) };
            let new = put(TEXT, &edit("UTC")).unwrap();
            assert_eq!(find(&new, "TZ", Some(part))[0].value.as_deref(), Some("UTC"), "{new}");
            let again = put(&new, &edit("$(X)")).unwrap();
            assert_eq!(again.lines().count(), new.lines().count());
            assert!(again.contains("value: \"$$(X)\""), "{again}");
        }
        assert_eq!(find(TEXT, "A", Some("web")), [FoundValue::set(10, "1")]);
    }
}
