//! The check of a change before it is written: a parser reads the new text, finds the one variable changed and nothing
//! else, and the block of variables is what its schema describes.

use super::Edit;
use super::yaml::{Id, Kind, Yaml, by_hand};
use crate::command_words::{text_decides, words_decide};
use crate::error::EnvironmentError;
use std::cell::Cell;

/// The block of variables that a change is about, in the tree of the old text.
#[derive(Clone, Copy)]
pub(super) enum Env<'a> {
    /// It is there.
    Of(Id),
    /// The mapping gets it, as this key.
    New(Id, &'a str),
}

/// Refuses a block of variables that its reader refuses.
pub(super) type Schema = fn(&Yaml<'_>, Id) -> Result<(), EnvironmentError>;

/// A variable in a block of any shape.
struct Entry<'y> {
    name: &'y str,
    value: Option<&'y str>,
    /// What has to stay where it is not the one that changes.
    node: Id,
}

/// `new`, where it is `old` with the variable as it was meant. `value` is the new value as it is written.
///
/// # Errors
/// When it is not, or the block is not what `schema` wants: what is to be changed by hand.
pub(super) fn held(
    old: &Yaml<'_>,
    new: String,
    env: Env<'_>,
    edit: &Edit<'_>,
    value: Option<&str>,
    schema: Schema,
) -> Result<String, EnvironmentError> {
    let after = Yaml::read(&new)?;
    let block = Cell::new(None);
    let check = Check { old, new: &after, env, name: edit.variable, value, block: &block };
    let meant = old.tops.len() == after.tops.len()
        && old.tops.iter().zip(&after.tops).all(|(old, new)| check.same(*old, *new));
    match block.get().filter(|_| meant) {
        Some(block) => schema(&after, block)?,
        None => {
            return Err(format!(
                "a change of {} would change more of that file: make it by hand",
                edit.variable
            )
            .into());
        }
    }
    Ok(new)
}

struct Check<'y, 'a> {
    old: &'y Yaml<'a>,
    new: &'y Yaml<'a>,
    env: Env<'y>,
    name: &'y str,
    value: Option<&'y str>,
    /// The block in the new text, once it is met.
    block: &'y Cell<Option<Id>>,
}

impl Check<'_, '_> {
    fn same(&self, old: Id, new: Id) -> bool {
        match self.env {
            Env::Of(env) if env == old => return self.env(Some(old), new),
            Env::New(map, key) if map == old => {
                let (added, rest): (Vec<_>, Vec<_>) =
                    self.new.pairs(new).partition(|(it, _)| self.new.scalar(*it) == Some(key));
                return matches!(added[..], [(_, env)] if self.env(None, env))
                    && self.all(self.old.pairs(old).collect(), rest);
            }
            _ => {}
        }
        let (a, b) = (&self.old.nodes[old], &self.new.nodes[new]);
        let alike = (a.tagged, &a.anchor) == (b.tagged, &b.anchor);
        alike
            && match (&a.kind, &b.kind) {
                (Kind::Scalar(a, plain), Kind::Scalar(b, bare)) => (a, plain) == (b, bare),
                (Kind::Alias(a), Kind::Alias(b)) => {
                    self.old.nodes[*a].anchor == self.new.nodes[*b].anchor
                }
                (Kind::List(a), Kind::List(b)) | (Kind::Map(a), Kind::Map(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(*a, *b))
                }
                _ => false,
            }
    }

    fn all(&self, old: Vec<(Id, Id)>, new: Vec<(Id, Id)>) -> bool {
        let alike = |((a, b), (c, d)): ((Id, Id), (Id, Id))| self.same(a, c) && self.same(b, d);
        old.len() == new.len() && old.into_iter().zip(new).all(alike)
    }

    /// Whether a block has the variable once as it was meant, and of all others what it had.
    fn env(&self, old: Option<Id>, new: Id) -> bool {
        self.block.set(Some(new));
        let (before, after) =
            (old.map_or(Vec::new(), |old| entries(self.old, old)), entries(self.new, new));
        let (mine, rest): (Vec<_>, Vec<_>) = after.iter().partition(|one| one.name == self.name);
        let others: Vec<_> = before.iter().filter(|one| one.name != self.name).collect();
        let count = before.len() - others.len();
        let is = match self.value {
            Some(_) => mine.len() == count.max(1) && mine.iter().any(|one| one.value == self.value),
            None => mine.len() + 1 == count,
        };
        let stays =
            |(a, b): (&&Entry<'_>, &&Entry<'_>)| a.name == b.name && self.same(a.node, b.node);
        is && others.len() == rest.len() && others.iter().zip(&rest).all(stays)
    }
}

/// The variables of a mapping, of a list of `NAME=value`, or of one of objects with a name.
fn entries<'y>(yaml: &'y Yaml<'_>, env: Id) -> Vec<Entry<'y>> {
    let of_pair = |(key, node)| {
        let name = yaml.scalar(key).unwrap_or_default();
        Entry { name, value: yaml.value(node), node }
    };
    let of_item = |node: &Id| {
        let text = yaml.scalar(*node).unwrap_or_default();
        let (name, value) = text.split_once('=').map_or((text, None), |(a, b)| (a, Some(b)));
        let scalar = |key| yaml.value(yaml.get(*node, key)?);
        match yaml.nodes[*node].kind {
            Kind::Map(_) => {
                let name = scalar("name").unwrap_or_default();
                Entry { name, value: scalar("value"), node: *node }
            }
            _ => Entry { name, value, node: *node },
        }
    };
    yaml.pairs(env).map(of_pair).chain(yaml.items(env).iter().map(of_item)).collect()
}

/// Refuses a block of a compose file that Compose refuses.
/// <https://github.com/compose-spec/compose-spec/blob/main/schema/compose-spec.json>, `list_or_dict`
///
/// # Errors
/// With the line that is wrong.
pub(super) fn compose_schema(yaml: &Yaml<'_>, env: Id) -> Result<(), EnvironmentError> {
    let wrong = |of: Id, why: &str| Err(by_hand(yaml.nodes[of].line, why));
    if let Some((key, _)) = yaml
        .pairs(env)
        .find(|(key, value)| yaml.scalar(*key) != Some("<<") && yaml.scalar(*value).is_none())
    {
        return wrong(key, "Compose takes no list or mapping for a value");
    }
    match yaml.items(env).iter().find(|item| yaml.scalar(**item).is_none()) {
        Some(item) => wrong(*item, "Compose takes only NAME=value there"),
        None => Ok(()),
    }
}

/// Refuses a container whose own command, of the mappings with these two keys, sets or removes the variable: what is set
/// around it has no effect.
///
/// # Errors
/// With its line.
pub(super) fn command_leaves(
    yaml: &Yaml<'_>,
    maps: &[Id],
    keys: [&str; 2],
    variable: &str,
) -> Result<(), EnvironmentError> {
    let of = |key: &str| maps.iter().find_map(|map| yaml.key(*map, key));
    let found: Vec<(Id, Id)> = keys.iter().filter_map(|key| of(key)).collect();
    let words = found.iter().flat_map(|(_, value)| match yaml.scalar(*value) {
        // Compose splits it.
        Some(text) => text.split_ascii_whitespace().map(str::to_owned).collect(),
        None => yaml
            .items(*value)
            .iter()
            .filter_map(|item| Some(yaml.scalar(*item)?.to_owned()))
            .collect::<Vec<_>>(),
    });
    let words: Vec<String> = words.collect();
    let texts = found
        .iter()
        .find(|(_, value)| yaml.scalar(*value).is_some_and(|text| text_decides(text, variable)));
    let words = found.first().filter(|_| words_decide(&words, variable));
    match texts.or(words) {
        Some((key, _)) => {
            let why = format!("the container's own command has the last word about {variable}");
            Err(by_hand(yaml.nodes[*key].line, &why))
        }
        None => Ok(()),
    }
}

/// Refuses a list of variables that Kubernetes refuses: `EnvVar` of
/// <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/>.
///
/// # Errors
/// With the line that is wrong.
pub(super) fn kubernetes_schema(yaml: &Yaml<'_>, env: Id) -> Result<(), EnvironmentError> {
    let wrong = |of: Id, why: &str| Err(by_hand(yaml.nodes[of].line, why));
    for &item in yaml.items(env) {
        if yaml.get(item, "name").is_none() {
            return wrong(item, "Kubernetes wants a name there");
        }
        for (key, value) in yaml.pairs(item) {
            match yaml.scalar(key).unwrap_or_default() {
                "name" | "value" if yaml.is_text(value) => {}
                "value" if yaml.is_null(value) => {}
                "valueFrom" if matches!(yaml.nodes[value].kind, Kind::Map(_)) => {}
                "name" | "value" | "valueFrom" => {
                    return wrong(value, "Kubernetes refuses it: it has to be a text in quotes");
                }
                _ => return wrong(key, "Kubernetes knows no such key there"),
            }
        }
        if let (Some(value), Some(_)) = (yaml.get(item, "value"), yaml.get(item, "valueFrom")) {
            return wrong(value, "Kubernetes takes `value` or `valueFrom`, not both");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "x: &x 1\nenvironment: # of it\n  A: '1'\n  TZ: a\ny: [a, b]\n";

    /// Whether `new` holds as TEXT with another value for TZ.
    fn holds(new: &str, value: Option<&str>) -> bool {
        let old = Yaml::read(TEXT).unwrap();
        let env = Env::Of(old.get(old.tops[0], "environment").unwrap());
        let edit = Edit { variable: "TZ", value, part: None };
        held(&old, new.to_owned(), env, &edit, value, compose_schema).is_ok()
    }

    #[test]
    fn a_change_of_anything_else_is_refused() {
        let new = TEXT.replace("TZ: a", "TZ: \"b\"");
        assert!(holds(&new, Some("b")) && holds(&TEXT.replace("  TZ: a\n", ""), None));
        // What is no value may differ: comments, blank lines, quotes of the variable.
        assert!(holds(&new.replace(" # of it", "\n"), Some("b")));
        for (old, other) in [
            ("\"b\"", "\"c\""),
            ("\"b\"", "[b]"),
            ("\"b\"", "b\n  TZ: b"),
            ("A: '1'", "A: 1"),
            ("A: '1'", "A: '2'"),
            ("A: '1'\n", "A: '1'\n  B: c\n"),
            ("  A: '1'\n", ""),
            ("x: &x 1", "x: 1"),
            ("x: &x 1", "x: &x !!int 1"),
            ("[a, b]", "[a]"),
            ("[a, b]", "{a: b}"),
            ("y:", "z:"),
            ("environment:", "environments:"),
            ("y: [a, b]\n", "y: [a, b]\n---\na: b\n"),
            ("y: [a, b]\n", "y: [a, b\n"),
        ] {
            assert!(!holds(&new.replacen(old, other, 1), Some("b")), "{old} {other}");
        }
    }
}
