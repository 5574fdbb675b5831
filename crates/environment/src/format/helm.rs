//! Values of a Helm chart: the blocks in which charts take variables for their containers. Which names a chart reads, and
//! whether a block is a list or a mapping, its templates decide: a person changes a block that is there.
//! <https://helm.sh/docs/chart_template_guide/values_files/>

use super::kubernetes::{found_in, written};
use super::yaml::{YamlLine, children, choose, is_yaml, pair, plain_lines, scalar};
use super::{Edit, FoundValue, number};
use crate::config_format::{ConfigFormat, DEFAULT};
use crate::error::EnvironmentError;
use crate::hand_line::{HandLine, last_set};

/// Values of a Helm chart.
pub static HELM: ConfigFormat = ConfigFormat {
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

struct Block {
    /// The keys that lead to it: "web.env".
    path: String,
    /// Its line among all.
    head: usize,
    is_list: bool,
}

/// The blocks of a text. What is below an item of a list is no value of its own.
fn blocks(all: &[YamlLine<'_>]) -> Vec<Block> {
    let mut found = Vec::new();
    let mut above: Vec<(usize, String, bool)> = Vec::new();
    for (head, line) in all.iter().enumerate() {
        above.retain(|(indent, ..)| *indent < line.indent);
        let Some((key, value)) = pair(line.text) else { continue };
        let in_list = line.item || above.iter().any(|(_, _, in_list)| *in_list);
        above.push((line.indent, key.clone(), in_list));
        if in_list || !NAMES.contains(&key.as_str()) {
            continue;
        }
        let is_list = match (value, children(all, head).first()) {
            ("[]", _) => true,
            ("{}", _) => false,
            ("", Some(first)) => first.item,
            _ => continue,
        };
        let keys: Vec<&str> = above.iter().map(|(_, key, _)| key.as_str()).collect();
        found.push(Block { path: keys.join("."), head, is_list });
    }
    found
}

/// The lines of the variables of a mapping: those of its own level.
fn entries<'a, 'b>(all: &'b [YamlLine<'a>], head: usize) -> Vec<&'b YamlLine<'a>> {
    let inside = children(all, head);
    let level = inside.first().map_or(0, |line| line.indent);
    inside.iter().filter(|line| line.indent == level).collect()
}

/// Where the block `part` (or the only one) sets `variable`.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(all) = plain_lines(text) else { return Vec::new() };
    let blocks = blocks(&all);
    let Ok(block) = choose("block", &blocks, |block| &block.path, part) else { return Vec::new() };
    if block.is_list {
        return found_in(&all, Some(block.head), variable);
    }
    let pairs = entries(&all, block.head).into_iter();
    let mine = pairs.filter_map(|line| Some((line.at, pair(line.text)?)));
    let mine = mine.filter(|(_, (name, _))| name == variable);
    mine.map(|(at, (_, value))| {
        let is_text = !value.is_empty() && !value.starts_with(['!', '|', '>', '{', '[']);
        let certain = is_text && !value.replace("$$(", "").contains("$(") && !value.contains("{{");
        FoundValue { certain, ..FoundValue::set(at, scalar(value).replace("$$(", "$(")) }
    })
    .collect()
}

/// The line that a person adds to the block `part`, or to the only one.
///
/// # Errors
/// When there is no such block, or the chart may take the value for a template.
fn line_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    let all = plain_lines(text)?;
    let blocks = blocks(&all);
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
    let (name, value, head) = (edit.variable, written(value), &all[block.head]);
    let item = format!("{{name: {name}, value: {value}}}");
    let line = number(head.at);
    let (key, empty) = pair(head.text).unwrap_or_default();
    let replaces = last_set(&find(text, name, edit.part));
    let text = match (block.is_list, empty, replaces) {
        (true, "[]", _) => format!("{key}: [{item}]"),
        (false, "{}", _) => format!("{key}: {{{name}: {value}}}"),
        (true, _, Some(_)) => format!("value: {value}"),
        (true, ..) => format!("- {item}"),
        (false, ..) => format!("{name}: {value}"),
    };
    Ok(HandLine {
        text,
        place: format!("below `{}:` in line {line}", block.path),
        above: empty.is_empty().then_some(line + 1),
        replaces: if empty.is_empty() { replaces } else { Some(line) },
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
