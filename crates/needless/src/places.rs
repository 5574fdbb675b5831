//! Where the variables that remedies name are set, or should be, for reports that point at files.

use crate::context::Context;
use needless_environment::{
    RepositoryPlace, VALUE, WrongVariable, origin_of_process, place_in_repository, repository_of,
};
use needless_model::{Change, Finding, ProcId, Profile, Visibility};
use needless_rules::FilePlace;
use std::collections::BTreeMap;
use std::path::Path;

/// The place of the variable that each finding names, for its first process.
pub(crate) type Places = BTreeMap<(String, ProcId), FilePlace>;

/// Of findings about a command, `program`, that was run. It had our environment, so what sets a variable for us set it
/// for the command.
pub(crate) fn of<'f>(
    findings: impl Iterator<Item = &'f Finding>,
    profile: &Profile,
    program: &str,
    context: &Context,
) -> Places {
    let mut ours = BTreeMap::new();
    let mut places = Places::new();
    for finding in findings {
        let (Some(variable), Some(id)) = (finding.variable(), finding.processes.first()) else {
            continue;
        };
        let ours = ours.entry(variable.to_owned()).or_insert_with(|| OurPlace::of(variable));
        let of_repository = || {
            let place = context.user.act(|| in_repository(finding, profile, *id, program));
            place.ok().flatten()
        };
        let place = ours.sets.clone().or_else(of_repository).or_else(|| ours.should.clone());
        if let Some(place) = place {
            places.insert((variable.to_owned(), *id), place);
        }
    }
    places
}

/// What is known of a variable from our own environment.
#[derive(Default)]
struct OurPlace {
    /// The file that sets it for us.
    sets: Option<FilePlace>,
    /// The file in which it belongs.
    should: Option<FilePlace>,
}

impl OurPlace {
    fn of(variable: &str) -> OurPlace {
        let Ok((_, origin)) = origin_of_process(std::process::id(), variable) else {
            return OurPlace::default();
        };
        let origin = origin.provenance;
        let reaches = |visible: &Visibility| matches!(visible, Visibility::Yes(_));
        let mut mentions = origin.mentions.iter();
        let sets = mentions.find(|set| reaches(&set.reaches) && set.file.starts_with('/'));
        let should = origin.belongs.iter().find_map(|belongs| belongs.file.as_deref());
        let place = |file: &str, line| FilePlace { file: below_here(file), line, by_hand: None };
        OurPlace {
            sets: sets.map(|set| place(&set.file, set.line.max(1))),
            should: should.map(|file| place(file, 1)),
        }
    }
}

fn in_repository(
    finding: &Finding,
    profile: &Profile,
    id: ProcId,
    program: &str,
) -> Option<FilePlace> {
    let change = finding.remedies.iter().find(|one| one.change.variable().is_some())?;
    let variable = change.change.variable()?;
    let process = profile.process(id);
    let file_name = |path: &'_ str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let names = [Some(program), process.exe.as_deref(), process.script()];
    let names: Vec<String> = names.into_iter().flatten().map(file_name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let had = process.env.get(variable);
    let wanted = WrongVariable {
        variable,
        had: had.flatten(),
        entries: match &change.change {
            Change::WithoutEntries { entries, .. } => entries,
            _ => &[],
        },
        is_set: had == Some(None) && matches!(change.change, Change::SetEnv { .. }),
        to: match &change.change {
            Change::SetEnv { value, .. } => Some(Some(value.as_deref().unwrap_or(VALUE))),
            Change::UnsetEnv { .. } => Some(None),
            _ => None,
        },
        programs: &names,
    };
    let here = std::env::current_dir().ok()?;
    let RepositoryPlace { path, line, by_hand } = place_in_repository(&here, &wanted)?;
    Some(FilePlace { file: below_here(path.to_str()?), line, by_hand })
}

/// The file of the repository for findings that belong to none: that of the command, else the workflow that runs here.
pub(crate) fn of_command(program: &str) -> Option<String> {
    let named = program.contains('/').then(|| std::fs::canonicalize(program).ok()).flatten();
    let file = named.and_then(|file| Some(below_here(file.to_str()?)));
    file.filter(|file| !file.starts_with('/')).or_else(|| {
        // OWNER/REPOSITORY/.github/workflows/ci.yml@refs/heads/main
        let workflow = std::env::var("GITHUB_WORKFLOW_REF").ok()?;
        let (path, _) = workflow.split_once('@')?;
        path.splitn(3, '/').nth(2).map(str::to_owned)
    })
}

/// Relative to the repository of the working directory, or to that directory where there is none: so does a code host
/// name files.
pub(crate) fn below_here(file: &str) -> String {
    let here = std::env::current_dir().ok();
    let base = here.as_deref().map(|here| repository_of(here).unwrap_or(here));
    let rest = base.and_then(|base| Path::new(file).strip_prefix(base).ok());
    rest.map_or_else(|| file.to_owned(), |rest| rest.to_string_lossy().into_owned())
}
