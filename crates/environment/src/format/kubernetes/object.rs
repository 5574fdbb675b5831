//! The object of a manifest that containers belong to.

use crate::format::yaml::{YamlLine, children, pair, scalar};

/// The object that a list of containers belongs to.
pub(crate) struct ManifestObject {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// The keys from the object to the list, the list's own among them: `spec`, `template`, `spec`, `containers`.
    pub(crate) path: Vec<String>,
}

/// The object around the line `at`: a document, or an item of a `List`.
pub(super) fn object(all: &[YamlLine<'_>], at: usize) -> Option<ManifestObject> {
    let (mut path, mut column, mut begin) = (vec![pair(all[at].text)?.0], all[at].column, at);
    while let Some(above) = begin.checked_sub(1) {
        let line = &all[above];
        if line.text == "---" && line.indent == 0 {
            break;
        }
        begin = above;
        if line.column < column {
            path.insert(0, pair(line.text).filter(|(_, value)| value.is_empty())?.0);
            column = line.column;
        }
        if line.item && line.column == column {
            // The mapping begins here, as an item: of a List, or of something else.
            let list = all[..above].iter().rev().find(|l| l.column <= line.indent && !l.item)?;
            if list.text != "items:" {
                return None;
            }
            break;
        }
    }
    let of_object = |line: &&YamlLine<'_>| line.column == column;
    let rest = all[begin..]
        .iter()
        .enumerate()
        .take_while(|(n, line)| *n == 0 || (line.indent >= column && line.text != "---"));
    let own: Vec<(usize, &YamlLine<'_>)> = rest.collect();
    let keys = own.iter().filter(|(_, line)| of_object(line));
    let value = |wanted: &str| {
        let mut found = keys.clone().filter_map(|(_, line)| pair(line.text));
        found.find_map(|(key, value)| (key == wanted).then(|| scalar(value)))
    };
    let is_metadata = |line: &&YamlLine<'_>| line.text == "metadata:";
    let (metadata, _) = keys.clone().find(|(_, line)| is_metadata(line))?;
    let about = children(all, begin + metadata);
    let level = about.first()?.indent;
    let of_metadata = |wanted: &str| {
        let mut pairs = about.iter().filter(|l| l.indent == level).filter_map(|l| pair(l.text));
        pairs.find_map(|(key, value)| (key == wanted).then(|| scalar(value)))
    };
    Some(ManifestObject {
        api_version: value("apiVersion")?,
        kind: value("kind")?,
        name: of_metadata("name")?,
        namespace: of_metadata("namespace"),
        path,
    })
}
