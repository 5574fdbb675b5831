//! Values of a Helm chart: the blocks in which charts take variables for their containers. Which names a chart reads, and
//! whether a block is a list or a mapping, its templates decide: only a block that is there is changed.
//! <https://helm.sh/docs/chart_template_guide/values_files/>

use super::kubernetes::{found_in, item, put_in, written};
use super::yaml::{
    NOT_A_BLOCK, SPANS, YamlLine, by_hand, children, choose, has_plain_key, is_yaml, pair,
    plain_lines, scalar, spans,
};
use super::{Edit, FoundValue, splice};
use crate::config_format::{ConfigFormat, DEFAULT};
use crate::error::EnvironmentError;

/// Values of a Helm chart.
pub static HELM: ConfigFormat = ConfigFormat {
    name: "Helm values",
    files: "values.yaml, values-NAME.yaml: env:, extraEnv:, extraEnvVars: and the like, a list or a mapping",
    reaches: "the containers for which the chart's templates use that block",
    effect: "helm upgrade, which rolls out new pods",
    find,
    put,
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

/// # Errors
/// When there is no such block, it is not understood, or the chart may take the value for a template.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
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
    if edit.value.is_some_and(|value| value.contains("{{")) {
        return Err("a chart may take that value for a template: set it by hand".into());
    }
    let head = &all[block.head];
    let is_empty = pair(head.text).is_some_and(|(_, value)| !value.is_empty());
    if is_empty {
        let Some(value) = edit.value else { return Ok(text.to_owned()) };
        let (key, _) = pair(head.text).unwrap_or_default();
        let pad = " ".repeat(head.column);
        let mut lines = vec![format!("{pad}{key}:")];
        match block.is_list {
            true => lines.extend(item(&format!("{pad}  "), edit.variable, value)),
            false => lines.push(format!("{pad}  {}: {}", edit.variable, written(value))),
        }
        return Ok(splice(text, head.at, head.at + 1, &lines));
    }
    if block.is_list {
        return put_in(text, &all, block.head, edit);
    }
    let entries = entries(&all, block.head);
    let own = |line: &&&YamlLine<'_>| pair(line.text).is_some_and(|(key, _)| key == edit.variable);
    let old = entries.iter().rfind(own);
    let is_block = |line: &YamlLine<'_>| pair(line.text).is_none_or(|(_, value)| value.is_empty());
    if let Some(old) = old.filter(|old| is_block(old)) {
        return Err(format!("line {}: the value is not a text: edit it by hand", old.at + 1).into());
    }
    if let Some(line) = entries.iter().find(|line| line.item || !has_plain_key(line.text)) {
        return Err(by_hand(line.at, NOT_A_BLOCK));
    }
    let over_lines = |old: &&YamlLine<'_>| {
        all.iter().position(|line| line.at == old.at).is_some_and(|at| spans(&all, at))
    };
    if let Some(old) = old.copied().filter(over_lines) {
        return Err(by_hand(old.at, SPANS));
    }
    let Some(value) = edit.value else {
        return match old {
            None => Ok(text.to_owned()),
            Some(_) if entries.len() == 1 => {
                Err("it is the only variable there: remove it by hand".into())
            }
            Some(old) => Ok(splice(text, old.at, old.at + 1, &[])),
        };
    };
    let column = entries.first().map_or(head.column + 2, |line| line.indent);
    let line = format!("{}{}: {}", " ".repeat(column), edit.variable, written(value));
    Ok(match old {
        Some(old) => splice(text, old.at, old.at + 1, &[line]),
        None => splice(text, head.at + 1, head.at + 1, &[line]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "image: x\nenvironment: production\nweb:\n  env:\n    A: \"1\"\n    TZ: UTC\n  extraEnv: []\ndb:\n  env:\n  - name: A\n    value: \"1\"\nsidecars:\n- name: s\n  env:\n  - name: TZ\n    value: no\n";

    #[test]
    fn blocks_by_their_path() {
        assert_eq!(find(TEXT, "TZ", Some("web.env")), [FoundValue::set(5, "UTC")]);
        let edit = |part, value| Edit { variable: "TZ", value, part };
        let said = put(TEXT, &edit(None, Some("a"))).unwrap_err().to_string();
        assert!(said.ends_with("--part: web.env, web.extraEnv, db.env"), "{said}");
        for part in ["web.env", "web.extraEnv", "db.env"] {
            let new = put(TEXT, &edit(Some(part), Some("$(X)"))).unwrap();
            assert_eq!(find(&new, "TZ", Some(part))[0].value.as_deref(), Some("$(X)"), "{new}");
            assert!(new.contains("\"$$(X)\""), "{new}");
            assert_eq!(put(&new, &edit(Some(part), Some("$(X)"))).as_deref(), Ok(&*new));
        }
        let gone = put(TEXT, &edit(Some("web.env"), None)).unwrap();
        assert_eq!(gone, TEXT.replace("    TZ: UTC\n", ""));
        let said = put("image: x\n", &edit(None, Some("a"))).unwrap_err().to_string();
        assert!(said.contains("no block for variables"), "{said}");
        assert!(put(TEXT, &edit(Some("web.env"), Some("{{ x }}"))).is_err());
    }
}
