//! Kubernetes manifests: `env` of a container. A value has to be a string.
//! <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/>

mod object;

use super::yaml::{
    NOT_A_BLOCK, SPANS, YamlLine, by_hand, children, choose, has_plain_key, is_plain_scalar,
    is_yaml, pair, plain_lines, quoted, scalar, spans,
};
use super::{Edit, FoundValue, splice};
use crate::config_format::{ConfigFormat, DEFAULT};
use crate::error::EnvironmentError;
pub(crate) use object::ManifestObject;
use object::object;

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
    has_parts: true,
    ..DEFAULT
};

struct ContainerItem<'a> {
    /// Its name; with the kind and the name of its object where the text has several containers of that name.
    label: String,
    name: String,
    /// The line of its list: `containers:`.
    list: usize,
    /// The first line of its item.
    head: YamlLine<'a>,
    own: Vec<YamlLine<'a>>,
    env: Option<usize>,
}

/// Items of `containers:` and `initContainers:`, in any document of the text.
fn containers<'a>(all: &[YamlLine<'a>]) -> Vec<ContainerItem<'a>> {
    let mut found = Vec::new();
    let lists = all.iter().enumerate();
    let lists = lists.filter(|(_, l)| matches!(l.text, "containers:" | "initContainers:"));
    for (list, _) in lists {
        let inside = children(all, list);
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
            let label = name.clone();
            found.push(ContainerItem { label, name, list, head: item.clone(), own, env });
        }
    }
    let names: Vec<String> = found.iter().map(|container| container.name.clone()).collect();
    for container in &mut found {
        let same = names.iter().filter(|name| **name == container.name).count();
        if let Some(object) = object(all, container.list).filter(|_| same > 1) {
            container.label = format!("{}/{}/{}", object.kind, object.name, container.name);
        }
    }
    found
}

/// A container as a patch names it.
pub(crate) struct NamedContainer {
    pub(crate) object: ManifestObject,
    pub(crate) name: String,
    /// All containers of its list, in order.
    pub(crate) all: Vec<String>,
    /// Whether it takes the variable from elsewhere (`valueFrom`).
    pub(crate) from_elsewhere: bool,
}

/// The container `part` of a manifest, or its only one.
///
/// # Errors
/// When there is no such container, or its object has no name.
pub(crate) fn named(
    text: &str,
    variable: &str,
    part: Option<&str>,
) -> Result<NamedContainer, EnvironmentError> {
    no_template(text)?;
    let all = plain_lines(text)?;
    let containers = containers(&all);
    let container = choose("container", &containers, |container| &container.label, part)?;
    of_blocks(container)?;
    let object = object(&all, container.list)
        .ok_or("the object of that container has no kind, apiVersion or name")?;
    let set = variables(&container.own, container.env);
    let from_elsewhere = set.iter().any(|v| v.name == variable && v.value.is_none());
    let list = containers.iter().filter(|one| one.list == container.list);
    let all = list.map(|one| one.name.clone()).collect();
    Ok(NamedContainer { object, name: container.name.clone(), all, from_elsewhere })
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
    /// Whether its value is not on one line.
    spans: bool,
    /// Whether it is a block with a name that is understood.
    understood: bool,
    column: usize,
}

/// The name in an item in flow style: `{name: A, value: b}`.
fn flow_name(text: &str) -> Option<String> {
    let inside = text.strip_prefix('{')?.trim_end_matches('}');
    let mut pairs = inside.split(',').filter_map(|one| pair(one.trim()));
    pairs.find_map(|(key, value)| (key == "name").then(|| scalar(value)))
}

/// The variables of the list under line `head` of `own`.
fn variables(own: &[YamlLine<'_>], head: Option<usize>) -> Vec<Variable> {
    let Some(head) = head else { return Vec::new() };
    let inside = children(own, head);
    let mut found = Vec::new();
    for (at, item) in items(inside) {
        let rest: Vec<_> = inside[at + 1..].iter().take_while(|l| l.indent > item.indent).collect();
        let below = (at + 1..).zip(rest.iter().copied());
        let below = below.filter(|(_, line)| line.indent == item.column && !line.item);
        let own: Vec<_> = std::iter::once((at, item)).chain(below).collect();
        let key = |wanted: &str| {
            let mut keys = own.iter().filter_map(|(at, line)| Some((*at, *line, pair(line.text)?)));
            keys.find(|(_, _, (key, _))| key == wanted)
                .map(|(at, line, (_, value))| (at, line, value))
        };
        let (name, value) = (key("name"), key("value"));
        let named = name.is_some_and(|(at, _, name)| is_plain_scalar(name) && !spans(inside, at));
        let over_lines = value.is_some_and(|(at, ..)| spans(inside, at));
        let plain = value.is_some_and(|(.., v)| !v.replace("$$(", "").contains("$("));
        found.push(Variable {
            name: name
                .map(|(.., name)| scalar(name))
                .or_else(|| flow_name(item.text))
                .unwrap_or_default(),
            from: item.at,
            to: rest.last().map_or(item.to, |line| line.to),
            certain: plain && !over_lines,
            spans: over_lines,
            understood: named && own.iter().all(|(_, line)| has_plain_key(line.text)),
            value: value
                .map(|(_, line, value)| (line.at, line.column, scalar(value).replace("$$(", "$("))),
            column: item.column,
        });
    }
    found
}

/// Where the container `part` (or the only one) sets `variable`.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(all) = plain_lines(text) else { return Vec::new() };
    let all = containers(&all);
    let Ok(container) = choose("container", &all, |container| &container.label, part) else {
        return Vec::new();
    };
    found_in(&container.own, container.env, variable)
}

/// Where the list under line `head` of `own` sets `variable`.
pub(super) fn found_in(
    own: &[YamlLine<'_>],
    head: Option<usize>,
    variable: &str,
) -> Vec<FoundValue> {
    let mine = variables(own, head).into_iter().filter(|v| v.name == variable);
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
    let all = plain_lines(text).ok()?;
    let all = containers(&all);
    let container = choose("container", &all, |container| &container.label, part).ok()?;
    let column = container.head.column;
    let line = container.own.iter().find(|line| {
        let key = pair(line.text).map(|(key, _)| key);
        line.indent == column && key.as_deref() == Some("envFrom")
    });
    line.map(|line| (super::number(line.at), "envFrom"))
}

/// # Errors
/// When the container does not exist, its `env` is not understood, the variable comes from elsewhere (`valueFrom`), or
/// the text is a template.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    no_template(text)?;
    let all = plain_lines(text)?;
    let all = containers(&all);
    let container = choose("container", &all, |container| &container.label, edit.part)?;
    of_blocks(container)?;
    if let Some(head) = container.env {
        if container.own[head].at == container.head.at && edit.value.is_some() {
            let set = variables(&container.own, container.env);
            if set.iter().all(|v| v.name != edit.variable) {
                return Err("`env` is the container's first key: edit it by hand".into());
            }
        }
        return put_in(text, &container.own, head, edit);
    }
    let Some(value) = edit.value else { return Ok(text.to_owned()) };
    let end = container.own.last().map_or(container.head.to, |line| line.to);
    // After the first line of the item, which may have a block of its own.
    let next = container.own.iter().skip(1).find(|line| line.indent == container.head.column);
    let at = next.map_or(end, |line| line.at);
    let pad = " ".repeat(container.head.column);
    let [name, value] = item(&pad, edit.variable, value);
    Ok(splice(text, at, at, &[format!("{pad}env:"), name, value]))
}

/// Refuses a container that is not a block of keys: nothing can be added below it, and not all of its keys are known.
fn of_blocks(container: &ContainerItem<'_>) -> Result<(), EnvironmentError> {
    let own =
        container.own.iter().filter(|line| line.indent == container.head.column && !line.item);
    match own.clone().find(|line| !has_plain_key(line.text)) {
        Some(line) => Err(by_hand(line.at, NOT_A_BLOCK)),
        None => Ok(()),
    }
}

/// A value as Kubernetes reads it back: `$(X)` would be another variable.
pub(super) fn written(value: &str) -> String {
    quoted(&value.replace("$(", "$$("))
}

/// The lines of a variable in a list.
fn item(pad: &str, variable: &str, value: &str) -> [String; 2] {
    [format!("{pad}- name: {variable}"), format!("{pad}  value: {}", written(value))]
}

/// Refuses the templates of a chart, whose text is no YAML yet.
///
/// # Errors
/// With what to change instead.
fn no_template(text: &str) -> Result<(), EnvironmentError> {
    let marks = [".Values", ".Release.", ".Chart.", "include ", "template "];
    let of_helm = |line: &str| line.contains("{{") && marks.iter().any(|mark| line.contains(mark));
    match text.lines().position(of_helm) {
        Some(at) => Err(format!(
            "line {}: it is a template of Helm: change the chart's values, where it reads them (--in values.yaml prints the line)",
            at + 1
        )
        .into()),
        None => Ok(()),
    }
}

/// The change in the list under line `head` of `own`.
fn put_in(
    text: &str,
    own: &[YamlLine<'_>],
    head: usize,
    edit: &Edit<'_>,
) -> Result<String, EnvironmentError> {
    let found = variables(own, Some(head));
    let odd = found.iter().find(|v| !v.understood).map(|v| v.from);
    let no_item = children(own, head).first().filter(|line| !line.item).map(|line| line.at);
    if let Some(at) = odd.or(no_item) {
        return Err(by_hand(at, NOT_A_BLOCK));
    }
    let old = found.iter().rfind(|v| v.name == edit.variable);
    if let Some(old) = old.filter(|old| old.spans) {
        return Err(by_hand(old.value.as_ref().map_or(old.from, |(at, ..)| *at), SPANS));
    }
    let Some(value) = edit.value else {
        let Some(old) = old else { return Ok(text.to_owned()) };
        if found.len() == 1 {
            return Err("it is the only variable there: remove `env` by hand".into());
        }
        return Ok(splice(text, old.from, old.to, &[]));
    };
    let new = written(value);
    match old {
        Some(Variable { value: Some((at, column, _)), from, .. }) if at > from => {
            let line = format!("{}value: {new}", " ".repeat(*column));
            return Ok(splice(text, *at, at + 1, &[line]));
        }
        Some(Variable { value: Some(_), from, to, column, .. }) if to - from == 2 => {
            let pad = " ".repeat(*column);
            let dash = format!("{}- ", " ".repeat(column - 2));
            let new = [format!("{dash}name: {}", edit.variable), format!("{pad}value: {new}")];
            return Ok(splice(text, *from, *to, &new));
        }
        Some(_) => return Err("the variable is set there in a way that is not understood".into()),
        None => {}
    }
    let line = &own[head];
    if pair(line.text).is_some_and(|(_, value)| !value.is_empty()) {
        return Err(format!(
            "line {}: `env` in one line is not changed automatically: edit it by hand",
            line.at + 1
        )
        .into());
    }
    let inside = children(own, head);
    let column = inside.first().map_or(line.column, |line| line.indent);
    let at = inside.last().map_or(line.to, |line| line.to);
    Ok(splice(text, at, at, &item(&" ".repeat(column), edit.variable, value)))
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

    #[test]
    fn a_template_of_helm_is_refused() {
        let text = TEXT.replace("image: x", "image: {{ .Values.image }}");
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some("web") };
        let said = put(&text, &edit).unwrap_err().to_string();
        assert!(
            said.starts_with("line 8: it is a template of Helm: change the chart's values"),
            "{said}"
        );
        // What Kubernetes does not read as a template is none.
        let text = TEXT.replace("image: x", "args: [\"{{ $labels.pod }}\"]\n        image: x");
        assert!(put(&text, &edit).is_ok());
    }
}
