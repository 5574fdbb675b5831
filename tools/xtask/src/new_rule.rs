//! `cargo xtask new-rule NAME`: a file from the template, and one word in the list.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

const TEMPLATE: &str = "crates/rules/template.rs.txt";
const SOURCES: &str = "crates/rules/src";
const LIST: &str = "crates/rules/src/lib.rs";
/// The rule that looks at what the others left: it stays last.
const LAST: &str = "repeated_question";

/// Begins the rule `name` in the checkout at `root`; returns what is left to do.
///
/// # Errors
/// When the name is not one or is taken, or the files are not as expected; nothing is then changed.
pub(crate) fn new_rule(root: &Path, name: &str) -> Result<String> {
    check_name(name)?;
    let ident = name.replace('-', "_");
    let file = format!("{SOURCES}/{ident}.rs");
    let list = read(root, LIST)?;
    let listed = add_to_list(&list, &ident)?;
    let text = read(root, TEMPLATE)?.replace("{{name}}", name).replace("{{ident}}", &ident);
    if let Some(at) = text.find("{{") {
        let rest: String = text[at..].chars().take(20).collect();
        bail!("{TEMPLATE}: what is {rest:?}? Placeholders are {{{{name}}}} and {{{{ident}}}}");
    }
    let mut created = File::create_new(root.join(&file))
        .with_context(|| format!("cannot begin {name}: cannot create {file}"))?;
    created.write_all(text.as_bytes()).with_context(|| format!("cannot write {file}"))?;
    fs::write(root.join(LIST), listed).with_context(|| format!("cannot write {LIST}"))?;
    Ok(format!(
        "1. done: {file}, listed in {LIST}\n\
         2. write its page, with an example and a counterexample, and its check, in {file}\n\
         3. cargo test -p needless-rules"
    ))
}

fn read(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
}

/// Names are kebab-case (`tz-unset`) and, with underscores, Rust modules.
fn check_name(name: &str) -> Result<()> {
    let word = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let kebab = name.starts_with(|c: char| c.is_ascii_lowercase()) && name.split('-').all(word);
    if !kebab {
        bail!("{name:?} does not name a rule: lower-case words joined by hyphens, as in tz-unset");
    }
    if !name.contains('-') {
        bail!("{name:?} does not name a rule: one word says too little, as in tz-unset");
    }
    Ok(())
}

/// The source of the list with `ident` in it, before the rule that stays last.
fn add_to_list(source: &str, ident: &str) -> Result<String> {
    const BEGIN: &str = "\nrules![";
    let begin = source.find(BEGIN).with_context(|| format!("{LIST} has no line `rules![`"))?;
    let begin = begin + BEGIN.len();
    let length =
        source[begin..].find(']').with_context(|| format!("{LIST}: no end of the list"))?;
    let mut idents: Vec<&str> =
        source[begin..begin + length].split(',').map(str::trim).filter(|i| !i.is_empty()).collect();
    if idents.contains(&ident) {
        bail!("there is a rule {} already", ident.replace('_', "-"));
    }
    let at = idents.iter().position(|i| *i == LAST).unwrap_or(idents.len());
    idents.insert(at, ident);
    let list: String = idents.iter().map(|i| format!("\n    {i},")).collect();
    Ok(format!("{}{list}\n{}", &source[..begin], &source[begin + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// The files that new-rule reads, copied from this checkout.
    fn copy() -> TempDir {
        let root = tempfile::tempdir().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
        fs::create_dir_all(root.path().join(SOURCES)).unwrap();
        for path in [TEMPLATE, LIST] {
            fs::copy(here.join(path), root.path().join(path)).unwrap();
        }
        root
    }

    fn list(root: &TempDir) -> String {
        fs::read_to_string(root.path().join(LIST)).unwrap()
    }

    #[test]
    fn a_rule_is_one_file_and_one_word() {
        let root = copy();
        let before = list(&root);
        let said = new_rule(root.path(), "sample-search").unwrap();
        assert!(said.contains("crates/rules/src/sample_search.rs"), "{said}");
        let file = root.path().join(SOURCES).join("sample_search.rs");
        let text = fs::read_to_string(file).unwrap();
        assert!(text.contains("sample-search") && !text.contains("{{"), "{text}");
        let after = list(&root);
        assert_eq!(after.replacen("    sample_search,\n", "", 1), before);
        assert!(after.find("sample_search,") < after.find("    repeated_question,"));
    }

    #[test]
    fn a_rule_that_exists_is_refused_and_nothing_changed() {
        let root = copy();
        let before = list(&root);
        let error = new_rule(root.path(), "tz-unset").unwrap_err();
        assert!(error.to_string().contains("already"), "{error}");
        // Not listed, but there is such a file.
        fs::write(root.path().join(SOURCES).join("half_done.rs"), "mine").unwrap();
        assert!(new_rule(root.path(), "half-done").is_err());
        assert_eq!(list(&root), before);
        let kept = fs::read_to_string(root.path().join(SOURCES).join("half_done.rs")).unwrap();
        assert_eq!(kept, "mine");
    }

    #[test]
    fn names_are_kebab_case() {
        let root = copy();
        for bad in [
            "",
            "-",
            "tz",
            "TZ-unset",
            "tz_unset",
            "tz--unset",
            "-tz",
            "tz-",
            "1-tz",
            "../x",
            "ä-b",
        ] {
            let error = new_rule(root.path(), bad).unwrap_err().to_string();
            assert!(error.contains("tz-unset"), "{bad}: {error}");
        }
    }

    #[test]
    fn the_list_may_be_laid_out_in_any_way() {
        let one = "x\nrules![tz_unset, repeated_question];\ny";
        let expected = "x\nrules![\n    tz_unset,\n    a_b,\n    repeated_question,\n];\ny";
        assert_eq!(add_to_list(one, "a_b").unwrap(), expected);
        assert!(add_to_list("fn main() {}", "a_b").is_err());
    }
}
