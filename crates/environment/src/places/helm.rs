//! Values of a Helm chart: the blocks in which charts take variables for their containers. Which names a chart reads, and
//! whether a block is a list or a mapping, its templates decide: a person changes a block that is there.
//! <https://helm.sh/docs/chart_template_guide/values_files/>

use super::kubernetes::{found_in, written};
use super::yaml::{Id, Kind, NOT_A_BLOCK, Yaml, by_hand, choose, is_yaml};
use super::{Edit, FoundValue, number};
use crate::error::EnvironmentError;
use crate::hand_line::{HandLine, last_set};
use crate::place::{DEFAULT, Place};

/// Values of a Helm chart.
pub static HELM: Place = Place {
    name: "Helm values",
    files: "values.yaml, values-NAME.yaml: env:, extraEnv:, extraEnvVars: and the like, a list or a mapping",
    reaches: "the containers for which the chart's templates use that block",
    effect: "helm upgrade, which rolls out new pods",
    find,
    by_hand: Some(line_by_hand),
    is_file: |path, _| is_yaml(path) && path.name().starts_with("values"),
    of_image: true,
    has_parts: true,
    ..DEFAULT
};

/// What charts call these blocks.
const NAMES: [&str; 7] =
    ["env", "envs", "envVars", "environment", "extraEnv", "extraEnvs", "extraEnvVars"];

/// The longest path to a block, bytes: below it nothing is looked for.
const LONGEST: usize = 200;

struct Block {
    /// The keys that lead to it: "web.env".
    path: String,
    key: Id,
    value: Id,
}

/// The blocks of a text. What is below an item of a list is no value of its own.
fn blocks(yaml: &Yaml<'_>) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Vec<(Id, String)> = yaml.tops.iter().map(|top| (*top, String::new())).collect();
    while let Some((map, above)) = open.pop() {
        for (key, value) in yaml.pairs(map) {
            let path = format!("{above}{}", yaml.scalar(key).unwrap_or_default());
            let known = yaml.scalar(key).is_some_and(|key| NAMES.contains(&key));
            if known && matches!(yaml.nodes[value].kind, Kind::List(_) | Kind::Map(_)) {
                found.push(Block { path: path.clone(), key, value });
            }
            if path.len() < LONGEST {
                open.push((value, path + "."));
            }
        }
    }
    found.sort_by_key(|block| block.key);
    found
}

/// Where the block `part` (or the only one) sets `variable`.
fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(yaml) = Yaml::read_plain(text) else { return Vec::new() };
    let blocks = blocks(&yaml);
    let Ok(block) = choose("block", &blocks, |block| &block.path, part) else { return Vec::new() };
    if let Kind::List(_) = yaml.nodes[block.value].kind {
        return found_in(&yaml, block.value, variable);
    }
    let mine = yaml.pairs(block.value).filter(|(key, _)| yaml.scalar(*key) == Some(variable));
    mine.map(|(key, at)| {
        let text = yaml.value(at).unwrap_or_default();
        let replaced = text.replace("$$(", "").contains("$(") || text.contains("{{");
        let certain = yaml.is_plain(at) && !yaml.is_null(at) && !replaced;
        FoundValue { certain, ..FoundValue::set(yaml.nodes[key].line, text.replace("$$(", "$(")) }
    })
    .collect()
}

/// The line that a person adds to the block `part`, or to the only one.
///
/// # Errors
/// When there is no such block, or the chart may take the value for a template.
fn line_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    let yaml = Yaml::read_plain(text)?;
    let blocks = blocks(&yaml);
    let names = NAMES.join(", ");
    if blocks.is_empty() {
        return Err(format!(
            "it has no block for variables ({names}): look in the chart which one its templates read"
        )
        .into());
    }
    let block = choose("block", &blocks, |block| &block.path, edit.part)?;
    let value = edit.value.unwrap_or_default();
    if value.contains("{{") {
        return Err("a chart may take that value for a template".into());
    }
    let (name, value) = (edit.variable, written(value));
    let item = format!("{{name: {name}, value: {value}}}");
    let (line, of) = (number(yaml.nodes[block.key].line), &yaml.nodes[block.value]);
    let key = yaml.scalar(block.key).unwrap_or_default();
    let is_list = matches!(of.kind, Kind::List(_));
    let own = find(text, name, edit.part);
    // What else stands in braces may be a secret, and is not shown.
    if of.flow && yaml.pairs(block.value).count() + yaml.items(block.value).len() > own.len() {
        return Err(by_hand(of.line, NOT_A_BLOCK));
    }
    let replaces = last_set(&own);
    let text = match (is_list, of.flow, replaces) {
        (true, true, _) => format!("{key}: [{item}]"),
        (false, true, _) => format!("{key}: {{{name}: {value}}}"),
        (true, _, Some(_)) => format!("value: {value}"),
        (true, ..) => format!("- {item}"),
        (false, ..) => format!("{name}: {value}"),
    };
    Ok(HandLine {
        text,
        place: format!("below `{}:` in line {line}", block.path),
        above: (!of.flow).then_some(line + 1),
        replaces: if of.flow { Some(line) } else { replaces },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "image: x\nenvironment: production\nweb:\n  env:\n    A: \"1\"\n    TZ: UTC\n  extraEnv: []\ndb:\n  env:\n  - name: A\n    value: \"1\"\nsidecars:\n- name: s\n  env:\n  - name: TZ\n    value: no\n";

    #[test]
    fn blocks_by_their_path() {
        assert_eq!(find(TEXT, "TZ", Some("web.env")), [FoundValue::set(5, "UTC")]);
        let edit = |part, value| Edit { variable: "TZ", value: Some(value), part };
        let said = line_by_hand(TEXT, &edit(None, "a")).unwrap_err().to_string();
        assert!(said.ends_with("--part: web.env, web.extraEnv, db.env"), "{said}");
        for (part, text, above, replaces) in [
            ("web.env", "TZ: \"$$(X)\"", Some(5), Some(6)),
            ("web.extraEnv", "extraEnv: [{name: TZ, value: \"$$(X)\"}]", None, Some(7)),
            ("db.env", "- {name: TZ, value: \"$$(X)\"}", Some(10), None),
        ] {
            let line = line_by_hand(TEXT, &edit(Some(part), "$(X)")).unwrap();
            assert_eq!((line.text.as_str(), line.above, line.replaces), (text, above, replaces));
        }
        let listed = TEXT.replace("name: A\n    value", "name: TZ\n    value");
        let line = line_by_hand(&listed, &edit(Some("db.env"), "a")).unwrap();
        assert_eq!((line.text.as_str(), line.replaces), ("value: \"a\"", Some(11)));
        let said = line_by_hand("image: x\n", &edit(None, "a")).unwrap_err().to_string();
        assert!(said.contains("no block for variables"), "{said}");
        assert!(line_by_hand(TEXT, &edit(Some("web.env"), "{{ x }}")).is_err());
    }
}
