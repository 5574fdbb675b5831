//! Kubernetes manifests: `env` of a container. A value has to be a string.
//! <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/>

use super::yaml::{Id, Kind, NOT_A_BLOCK, PUT_IN, SPANS, Yaml, by_hand, choose, is_yaml, quoted};
use super::yaml_result::{Env, command_leaves, held, kubernetes_schema};
use super::{Edit, FoundValue, number, splice};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Place};
use crate::readers::ReadBy;
use std::collections::BTreeMap;

/// A Kubernetes manifest.
pub static KUBERNETES: Place = Place {
    name: "Kubernetes manifest",
    files: "a manifest with containers in it",
    reaches: "the container",
    read_by: ReadBy::Parts("container"),
    effect: "kubectl apply, which rolls out new pods",
    find,
    put,
    compares_all: true,
    elsewhere,
    is_file: |path, text| is_yaml(path) && text.contains("containers:"),
    of_image: true,
    has_parts: true,
    ..DEFAULT
};

struct Container {
    /// Its name; with the kind and the name of its object where the text has several containers of that name.
    label: String,
    name: String,
    /// Its list, the value of `containers:`.
    list: Id,
    item: Id,
    /// Key and value of `env`.
    env: Option<(Id, Id)>,
}

/// Items of `containers:` and `initContainers:`, in any document of the text.
fn containers(yaml: &Yaml<'_>) -> Vec<Container> {
    let is_list = |key: Id| matches!(yaml.scalar(key), Some("containers" | "initContainers"));
    let pairs = yaml.tops.iter().flat_map(|top| yaml.pairs_below(*top));
    let lists = pairs.filter(|(key, _)| is_list(*key)).map(|(_, list)| list);
    let items = lists.flat_map(|list| yaml.items(list).iter().map(move |item| (list, *item)));
    let of = |(list, item): (Id, Id)| {
        let name = yaml.get(item, "name").and_then(|name| yaml.scalar(name)).unwrap_or_default();
        let name = name.trim_end().to_owned();
        Container { label: name.clone(), name, list, item, env: yaml.key(item, "env") }
    };
    let mut found: Vec<Container> = items.map(of).collect();
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    found.iter().for_each(|one| *times.entry(one.name.clone()).or_default() += 1);
    for container in found.iter_mut().filter(|one| times[&one.name] > 1) {
        if let Some(object) = object(yaml, container.list) {
            container.label = format!("{}/{}/{}", object.kind, object.name, container.name);
        }
    }
    found
}

/// The object that a list of containers belongs to.
pub(crate) struct ManifestObject {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// The keys from the object to the list, the list's own among them: `spec`, `template`, `spec`, `containers`.
    pub(crate) path: Vec<String>,
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
    let yaml = Yaml::read_plain(text)?;
    let containers = containers(&yaml);
    let container = choose("container", &containers, |container| &container.label, part)?;
    of_block(&yaml, container.item)?;
    let object = object(&yaml, container.list)
        .ok_or("the object of that container has no kind, apiVersion or name")?;
    let set = variables(&yaml, container.env.map(|env| env.1));
    let from_elsewhere = set.iter().any(|v| v.name == variable && v.value.is_none());
    let list = containers.iter().filter(|one| one.list == container.list);
    let all = list.map(|one| one.name.clone()).collect();
    Ok(NamedContainer { object, name: container.name.clone(), all, from_elsewhere })
}

/// The object around a list of containers: a document, or an item of a `List`.
fn object(yaml: &Yaml<'_>, list: Id) -> Option<ManifestObject> {
    let (mut path, mut top) = (Vec::new(), list);
    while let Some(above) = yaml.nodes[top].parent {
        if let Kind::List(_) = yaml.nodes[above].kind {
            let map = yaml.nodes[above].parent?;
            yaml.get(map, "items").filter(|items| *items == above)?;
            break;
        }
        let (key, _) = yaml.pairs(above).find(|(_, value)| *value == top)?;
        path.insert(0, yaml.scalar(key)?.to_owned());
        top = above;
    }
    let text = |of: Id, key: &str| Some(yaml.value(yaml.get(of, key)?)?.to_owned());
    let metadata = yaml.get(top, "metadata")?;
    Some(ManifestObject {
        api_version: text(top, "apiVersion")?,
        kind: text(top, "kind")?,
        name: text(metadata, "name")?,
        namespace: text(metadata, "namespace"),
        path,
    })
}

/// A variable of `env`.
struct Variable<'y> {
    name: &'y str,
    item: Id,
    /// Key and value of its value.
    value: Option<(Id, Id)>,
    /// Whether it is a block with a name that is understood.
    understood: bool,
}

/// The variables of a list.
fn variables<'y>(yaml: &'y Yaml<'_>, list: Option<Id>) -> Vec<Variable<'y>> {
    let of = |&item: &Id| {
        let name = yaml.key(item, "name");
        let named = name.is_some_and(|(key, at)| yaml.is_plain(at) && !yaml.spans(key, at));
        Variable {
            name: name.and_then(|(_, name)| yaml.scalar(name)).unwrap_or_default(),
            item,
            value: yaml.key(item, "value"),
            understood: named && of_block(yaml, item).is_ok(),
        }
    };
    list.map_or_else(Vec::new, |list| yaml.items(list).iter().map(of).collect())
}

/// Where the container `part` (or the only one) sets `variable`.
fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let text = Yaml::template(text);
    let Ok(yaml) = Yaml::read_plain(&text) else { return Vec::new() };
    let all = containers(&yaml);
    let Ok(container) = choose("container", &all, |container| &container.label, part) else {
        return Vec::new();
    };
    container.env.map_or_else(Vec::new, |env| found_in(&yaml, env.1, variable))
}

/// Where a list sets `variable`.
pub(super) fn found_in(yaml: &Yaml<'_>, list: Id, variable: &str) -> Vec<FoundValue> {
    let mine = variables(yaml, Some(list)).into_iter().filter(|v| v.name == variable);
    mine.map(|variable| match variable.value {
        Some((key, at)) => {
            let text = yaml.value(at).unwrap_or_default();
            let certain = variable.understood
                && yaml.is_plain(at)
                && !text.contains(PUT_IN)
                && !text.replace("$$(", "").contains("$(");
            let line = yaml.nodes[key].line;
            FoundValue { certain, ..FoundValue::set(line, text.replace("$$(", "$(")) }
        }
        None => {
            FoundValue { certain: false, ..FoundValue::set(yaml.nodes[variable.item].line, "") }
        }
    })
    .collect()
}

/// A list of ConfigMaps and Secrets whose entries become variables.
fn elsewhere(text: &str, part: Option<&str>) -> Option<(u32, &'static str)> {
    let yaml = Yaml::read_plain(text).ok()?;
    let all = containers(&yaml);
    let container = choose("container", &all, |container| &container.label, part).ok()?;
    let (key, _) = yaml.key(container.item, "envFrom")?;
    Some((number(yaml.nodes[key].line), "envFrom"))
}

/// # Errors
/// When the container does not exist, its `env` is not understood, the variable comes from elsewhere (`valueFrom`), or
/// the text is a template.
fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    no_template(text)?;
    let yaml = Yaml::read_plain(text)?;
    let all = containers(&yaml);
    let container = choose("container", &all, |container| &container.label, edit.part)?;
    of_block(&yaml, container.item)?;
    command_leaves(&yaml, &[container.item], ["command", "args"], edit.variable)?;
    if let Some((key, list)) = container.env {
        return put_in(&yaml, key, list, edit);
    }
    let Some(value) = edit.value else { return Ok(text.to_owned()) };
    // After the first line of the item, which may have a block of its own.
    let mut keys = yaml.pairs(container.item).map(|(key, _)| &yaml.nodes[key]);
    let column = keys.next().map_or(0, |first| first.column);
    let at = keys.next().map_or(yaml.last_line(container.item) + 1, |next| next.line);
    let pad = " ".repeat(column);
    let [name, item] = item(&pad, edit.variable, value);
    let new = splice(text, at, at, &[format!("{pad}env:"), name, item]);
    let (block, value) = (Env::New(container.item, "env"), dollars(value));
    held(&yaml, new, block, edit, Some(&value), kubernetes_schema)
}

/// Refuses what is not a block of keys.
fn of_block(yaml: &Yaml<'_>, map: Id) -> Result<(), EnvironmentError> {
    let node = &yaml.nodes[map];
    match matches!(node.kind, Kind::Map(_)) && !node.flow && !node.tagged {
        true => Ok(()),
        false => Err(by_hand(node.line, NOT_A_BLOCK)),
    }
}

/// A value as Kubernetes reads it back: `$(X)` would be another variable.
pub(super) fn written(value: &str) -> String {
    quoted(&dollars(value))
}

fn dollars(value: &str) -> String {
    value.replace("$(", "$$(")
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

/// The change in a list, which stands under `key`.
fn put_in(yaml: &Yaml<'_>, key: Id, list: Id, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let line = |of: Id| yaml.nodes[of].line;
    let found = variables(yaml, Some(list));
    let old = found.iter().rfind(|v| v.name == edit.variable);
    if edit.value.is_none() && old.is_none() {
        return Ok(yaml.text.to_owned());
    }
    if yaml.in_line(key, list) {
        return Err(by_hand(line(key), "`env` in one line is not changed automatically"));
    }
    let is_list = matches!(yaml.nodes[list].kind, Kind::List(_)) && !yaml.nodes[list].flow;
    let odd = found.iter().find(|v| !v.understood).map(|v| v.item);
    if let Some(odd) = odd.or(Some(list).filter(|_| !is_list && !yaml.is_null(list))) {
        return Err(by_hand(line(odd), NOT_A_BLOCK));
    }
    let at = old.and_then(|old| old.value);
    if let Some((key, _)) = at.filter(|(key, at)| yaml.spans(*key, *at)) {
        return Err(by_hand(line(key), SPANS));
    }
    let new = match (edit.value, old, at) {
        (None, Some(_), _) if found.len() == 1 => {
            return Err("it is the only variable there: remove `env` by hand".into());
        }
        (None, Some(old), _) => yaml.without(line(old.item), old.item),
        (Some(value), _, Some((key, at))) => yaml.with_value(key, at, &written(value))?,
        (Some(_), Some(_), None) => {
            return Err("the variable is set there in a way that is not understood".into());
        }
        (value, ..) => {
            let pad = " ".repeat(yaml.dash(list).unwrap_or(yaml.nodes[key].column));
            let end = if is_list { yaml.last_line(list) } else { line(key) } + 1;
            splice(yaml.text, end, end, &item(&pad, edit.variable, value.unwrap_or_default()))
        }
    };
    let value = edit.value.map(dollars);
    held(yaml, new, Env::Of(list), edit, value.as_deref(), kubernetes_schema)
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
    fn a_command_that_sets_it_itself_is_named() {
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: Some("side") };
        let text = TEXT.replace("image: y", "image: y\n        command: [env, TZ=a, prog]");
        let said = put(&text, &edit).unwrap_err().to_string();
        assert!(
            said.starts_with("line 14: the container's own command has the last word"),
            "{said}"
        );
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
