//! A patch for kustomize: the variable of one container, merged with what the manifest has (strategic merge).
//! <https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/>

use super::{SnippetFormat, SnippetQuery};
use crate::error::EnvironmentError;
use crate::merge::ChangeRequest;
use crate::place_list;
use crate::places::kubernetes::named;
use crate::places::yaml::{SWITCHES, quoted};

/// A patch.
pub(super) static KUSTOMIZE: SnippetFormat =
    SnippetFormat { name: "kustomize", between: "---\n", of_image: false, write };

fn write(query: &SnippetQuery<'_>) -> Result<String, EnvironmentError> {
    let change = query.change;
    crate::places::check(&change.variable, change.value.as_deref())?;
    let manifest = change.location.file.as_ref();
    let manifest = manifest.filter(|_| change.location.place == &place_list::KUBERNETES);
    let Some(file) = manifest else {
        return Err("kustomize patches a manifest of Kubernetes: name it with --in".into());
    };
    let bytes = query.disk.bytes(file, false).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned();
    let container = named(&text, &change.variable, change.location.part.as_deref())
        .map_err(|why| format!("{file}: {why}"))?;
    let object = &container.object;
    let mut out =
        format!("# {}: a file that `patches:` of kustomization.yaml names\n", query.headline());
    out += &format!("apiVersion: {}\nkind: {}\n", word(&object.api_version), word(&object.kind));
    out += &format!("metadata:\n  name: {}\n", word(&object.name));
    if let Some(namespace) = &object.namespace {
        out += &format!("  namespace: {}\n", word(namespace));
    }
    let mut pad = String::new();
    for key in &object.path {
        out += &format!("{pad}{}:\n", word(key));
        pad += "  ";
    }
    // Those that are not named would come behind those that are.
    for name in &container.all {
        out += &format!("{pad}- name: {}\n", word(name));
        if *name == container.name {
            out += &variable(change, container.from_elsewhere, &pad);
        }
    }
    Ok(out)
}

fn variable(change: &ChangeRequest, from_elsewhere: bool, pad: &str) -> String {
    let mut out = format!("{pad}  env:\n{pad}    - name: {}\n", change.variable);
    // Kubernetes makes one $ of two before a parenthesis.
    match &change.value {
        Some(value) => {
            out += &format!("{pad}      value: {}\n", quoted(&value.replace("$(", "$$(")));
        }
        None => out += &format!("{pad}      $patch: delete\n"),
    }
    if from_elsewhere && change.value.is_some() {
        out += &format!("{pad}      valueFrom: null\n");
    }
    out
}

/// A word that no reader of YAML takes for a number or a switch, or the same in quotes.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(plain);
    if is_word && !SWITCHES.contains(&text.to_ascii_lowercase().as_str()) {
        text.to_owned()
    } else {
        quoted(text)
    }
}
