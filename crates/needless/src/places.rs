//! Where the variables that remedies name are set, or should be, for reports that point at files.

use needless_environment::origin_of_process;
use needless_model::{Finding, Visibility};
use std::collections::BTreeMap;
use std::path::Path;

/// File and line of each variable that the best remedy of a finding names. The command had our environment, so what
/// sets a variable for us set it for the command.
pub(crate) fn of<'f>(
    findings: impl Iterator<Item = &'f Finding>,
) -> BTreeMap<String, (String, u32)> {
    let mut places = BTreeMap::new();
    for finding in findings {
        let variable = finding.remedies.iter().find_map(|remedy| remedy.change.variable());
        if let Some(variable) = variable.filter(|variable| !places.contains_key(*variable))
            && let Some(place) = place(variable)
        {
            places.insert(variable.to_owned(), place);
        }
    }
    places
}

fn place(variable: &str) -> Option<(String, u32)> {
    let (_, origin) = origin_of_process(std::process::id(), variable).ok()?;
    let origin = origin.provenance;
    let reaches = |visible: &Visibility| matches!(visible, Visibility::Yes(_));
    let sets =
        origin.mentions.iter().find(|set| reaches(&set.reaches) && set.file.starts_with('/'));
    let should = || origin.belongs.iter().find_map(|belongs| belongs.file.clone());
    let (file, line) = match sets {
        Some(sets) => (sets.file.clone(), sets.line.max(1)),
        None => (should()?, 1),
    };
    Some((below_here(&file), line))
}

/// Relative to the working directory, where the file is below it: so does a repository name its files.
pub(crate) fn below_here(file: &str) -> String {
    let here = std::env::current_dir().ok();
    let rest = here.and_then(|here| Path::new(file).strip_prefix(here).ok().map(Path::to_owned));
    rest.map_or_else(|| file.to_owned(), |rest| rest.to_string_lossy().into_owned())
}
