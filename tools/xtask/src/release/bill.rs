//! What needless is made of, as a CycloneDX document (<https://cyclonedx.org/docs/1.5/json/>): each crate with its
//! version, licence and checksum, and the libraries in C that two of them bring.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Which crates bring a library in C, its name, and its licence.
const IN_C: [(&str, &str, &str); 2] = [
    ("libbpf-sys", "libbpf", "LGPL-2.1-only OR BSD-2-Clause"),
    ("zstd-sys", "zstd", "BSD-3-Clause OR GPL-2.0-only"),
];

/// The document. `metadata`: what `cargo metadata` prints; `lock`: Cargo.lock; `all`, `linked`: the crates that the
/// program takes to build, and those that are in it, as `cargo tree --prefix none` prints them; `moment`: of the
/// document, as ISO 8601 has it.
///
/// # Errors
/// When these do not have the form that cargo gives them.
pub(super) fn bill(
    metadata: &str,
    lock: &str,
    (all, linked): (&str, &str),
    version: &str,
    moment: &str,
) -> Result<String> {
    let metadata: Value = serde_json::from_str(metadata).context("cargo metadata is no JSON")?;
    let list = |of: &'_ Value| of.as_array().cloned().context("cargo metadata has no packages");
    let (packages, nodes) = (list(&metadata["packages"])?, list(&metadata["resolve"]["nodes"])?);
    let (all, linked, sums) = (listed(all), listed(linked), checksums(lock));
    let named = |package: &&Value| all.contains(&named(package));
    let of_id: BTreeMap<&str, &Value> =
        packages.iter().filter(named).map(|package| (text(package, "id"), package)).collect();
    ensure!(of_id.len() == all.len(), "cargo tree and cargo metadata differ");
    let mut components = Vec::new();
    let mut root = None;
    for package in of_id.values() {
        match text(package, "name") {
            "needless" => root = Some(reference(package)),
            _ => {
                components.push(component(package, &sums, linked.contains(&self::named(package)))?)
            }
        }
    }
    let mut dependencies = Vec::new();
    for node in &nodes {
        let Some(package) = of_id.get(text(node, "id")) else { continue };
        let on = node["deps"].as_array().into_iter().flatten();
        // What tests alone need is no part of it, and may be among the crates for another reason.
        let builds = |dependency: &&Value| {
            let mut kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            kinds.any(|kind| kind["kind"] != "dev")
        };
        let on: BTreeSet<String> = on
            .filter(builds)
            .filter_map(|dependency| of_id.get(text(dependency, "pkg")))
            .map(|package| reference(package))
            .collect();
        dependencies.push(json!({ "ref": reference(package), "dependsOn": on }));
    }
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "component": {
                "type": "application",
                "bom-ref": root.context("cargo tree has no package needless")?,
                "name": "needless",
                "version": version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// The names and versions in the output of `cargo tree`: "serde v1.0.229 (proc-macro) (*)".
fn listed(tree: &str) -> BTreeSet<(&str, &str)> {
    let words = tree.lines().map(|line| line.split(' '));
    words.filter_map(|mut words| Some((words.next()?, words.next()?.strip_prefix('v')?))).collect()
}

fn named(package: &Value) -> (&str, &str) {
    (text(package, "name"), text(package, "version"))
}

/// One crate. Those that only build the program are in scope "excluded": they are not in it.
fn component(package: &Value, sums: &BTreeMap<(&str, &str), &str>, linked: bool) -> Result<Value> {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let licence = text(package, "license");
    ensure!(!licence.is_empty(), "{name} {version} names no licence");
    let mut of = Map::new();
    let mut put = |key: &str, value: Value| drop(of.insert(key.to_owned(), value));
    put("type", json!("library"));
    put("bom-ref", json!(reference(package)));
    put("name", json!(name));
    put("version", json!(version));
    put("scope", json!(if linked { "required" } else { "excluded" }));
    // Older manifests write "MIT/Apache-2.0".
    put("licenses", json!([{ "expression": licence.replace('/', " OR ") }]));
    if let Some(sum) = sums.get(&(name, version)) {
        put("hashes", json!([{ "alg": "SHA-256", "content": sum }]));
        put("purl", json!(reference(package)));
    }
    if let Some((_, library, licence)) = IN_C.iter().find(|(of, ..)| *of == name) {
        let licences = json!([{ "expression": licence }]);
        // libbpf-sys 1.7.0+v1.7.0, zstd-sys 2.0.16+zstd.1.5.7: behind the plus is the library's version.
        let version = version.split_once('+').map_or("", |(_, of)| of);
        let version = version.trim_start_matches(|c: char| !c.is_ascii_digit());
        put(
            "components",
            json!([{ "type": "library", "name": library, "version": version, "licenses": licences }]),
        );
    }
    Ok(Value::Object(of))
}

/// How the document names a crate: its package URL (<https://github.com/package-url/purl-spec>).
fn reference(package: &Value) -> String {
    let version = text(package, "version").replace('+', "%2B");
    format!("pkg:cargo/{}@{version}", text(package, "name"))
}

fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// The checksums in Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let mut sums = BTreeMap::new();
    for package in lock.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|rest| rest.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            sums.insert((name, version), sum);
        }
    }
    sums
}
