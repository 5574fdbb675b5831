//! Files that are generated and checked in.

use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;

/// Each with its path below the root and its contents.
fn generated() -> Vec<(String, String)> {
    let mut files = vec![
        ("schema/needless.report-1.json".to_owned(), needless_report::schema()),
        ("schema/needless.profile-1.json".to_owned(), needless_report::profile_schema()),
        ("schema/needless.proof-1.json".to_owned(), needless_report::proof_schema()),
        ("schema/needless.diff-1.json".to_owned(), needless_report::diff_schema()),
        ("schema/needless.check-1.json".to_owned(), needless_report::check_schema()),
        ("schema/needless.origin-1.json".to_owned(), needless_report::origin_schema()),
        ("schema/needless.rows-1.txt".to_owned(), needless_fleet::schema()),
        ("book/src/SUMMARY.md".to_owned(), summary()),
        ("book/src/places.md".to_owned(), needless_environment::book_page()),
        ("book/src/cases.md".to_owned(), cases()),
    ];
    for rule in needless_rules::RULES {
        let page = needless_rules::page(rule).markdown();
        files.push((format!("book/src/rules/{}.md", rule.name), page.trim_end().to_owned() + "\n"));
    }
    files
}

/// The book's table of contents: the pages that people write (`book/pages.md`), then the rules'.
fn summary() -> String {
    let mut text = include_str!("../../../book/pages.md").to_owned();
    text += "\n# Rules\n\n";
    for rule in needless_rules::RULES {
        text += &format!("- [{0}](rules/{0}.md)\n", rule.name);
    }
    text
}

/// The page of real programs: its text (`book/cases.md`), the measured cases, and the healthy programs.
fn cases() -> String {
    let measured = needless_rules::measured();
    let mut table = "| rule | program | fixed | calls | saved | predicted | error |\n".to_owned();
    table += "| --- | --- | --- | ---: | ---: | ---: | ---: |\n";
    for case in &measured {
        let saved = case.before as i64 - case.after as i64;
        let predicted = match case.predicted {
            [one, two, three] if one == two && two == three => one.to_string(),
            all => all.map(|one| one.to_string()).join(", "),
        };
        let off = |predicted: u64| saved.max(0).abs_diff(predicted as i64);
        let error = case.predicted.into_iter().map(off).max().unwrap_or(0);
        table += &format!(
            "| [{0}](rules/{0}.md) | {1} | {2} | {3} | {saved} | {predicted} | {4:.1} % |\n",
            case.rule,
            case.program.replace('|', "\\|"),
            case.fixed.replace('|', "\\|"),
            case.before,
            100.0 * error as f64 / case.before.max(1) as f64
        );
    }
    let mut machines: Vec<&str> = measured.iter().map(|case| &*case.machine).collect();
    machines.sort_unstable();
    machines.dedup();
    let healthy: Vec<&str> = crate::cases::all_healthy().map(|one| one.command).collect();
    include_str!("../../../book/cases.md")
        .replacen("RULES", &needless_rules::RULES.len().to_string(), 1)
        .replacen("CASES", &measured.len().to_string(), 1)
        .replacen("MACHINES", &machines.join("; "), 1)
        .replacen("TABLE\n", &table, 1)
        .replacen("HEALTHY", &healthy.join("\n"), 1)
}

/// Writes every generated file that is stale or missing; says which.
pub(crate) fn write(root: &Path) -> Result<String> {
    let mut said = Vec::new();
    for (path, contents) in generated() {
        let file = root.join(&path);
        if fs::read_to_string(&file).is_ok_and(|old| old == contents) {
            said.push(format!("{path}: as it was"));
            continue;
        }
        let folder = file.parent().context("a generated file lies in a folder")?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(&file, contents).with_context(|| format!("cannot write {}", file.display()))?;
        said.push(format!("{path}: written"));
    }
    Ok(said.join("\n"))
}

/// Fails if a generated file is stale or missing.
pub(crate) fn check(root: &Path) -> Result<()> {
    for (path, contents) in generated() {
        if !fs::read_to_string(root.join(&path)).is_ok_and(|old| old == contents) {
            bail!("{path} is stale: run `cargo xtask gen`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_files_are_noticed_and_written() {
        let root = tempfile::tempdir().unwrap();
        let missing = check(root.path()).unwrap_err().to_string();
        assert!(missing.contains("cargo xtask gen"), "{missing}");
        assert!(write(root.path()).unwrap().ends_with("written"));
        check(root.path()).unwrap();
        assert!(write(root.path()).unwrap().ends_with("as it was"));
        fs::write(root.path().join(&generated()[0].0), "{}").unwrap();
        assert!(check(root.path()).is_err());
    }
}
