//! Where the variables that remedies name are set, or should be, for reports that point at files.

use crate::context::Context;
use needless_environment::{WrongVariable, origin_of_process, place_in_repository, repository_of};
use needless_model::{Change, Finding, ProcId, Profile, Visibility};
use std::collections::BTreeMap;
use std::path::Path;

/// File and line of the variable that each finding names, for its first process.
pub(crate) type Places = BTreeMap<(String, ProcId), (String, u32)>;

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
    sets: Option<(String, u32)>,
    /// The file in which it belongs.
    should: Option<(String, u32)>,
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
        OurPlace {
            sets: sets.map(|set| (below_here(&set.file), set.line.max(1))),
            should: should.map(|file| (below_here(file), 1)),
        }
    }
}

fn in_repository(
    finding: &Finding,
    profile: &Profile,
    id: ProcId,
    program: &str,
) -> Option<(String, u32)> {
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
        programs: &names,
    };
    let here = std::env::current_dir().ok()?;
    let (file, line) = place_in_repository(&here, &wanted)?;
    Some((below_here(file.to_str()?), line))
}

/// Relative to the repository of the working directory, or to that directory where there is none: so does a code host
/// name files.
pub(crate) fn below_here(file: &str) -> String {
    let here = std::env::current_dir().ok();
    let base = here.as_deref().map(|here| repository_of(here).unwrap_or(here));
    let rest = base.and_then(|base| Path::new(file).strip_prefix(base).ok());
    rest.map_or_else(|| file.to_owned(), |rest| rest.to_string_lossy().into_owned())
}
