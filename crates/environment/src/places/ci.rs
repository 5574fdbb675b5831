//! Jobs of services that build: `env:` of a workflow of GitHub, `variables:` of a pipeline of GitLab. Both stand at the
//! top of the file, and in a job, where they are stronger; GitHub's steps have their own as well. They are found, and a
//! person changes them.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax>
//! <https://docs.gitlab.com/ci/yaml/#variables>

use super::yaml::{Id, Kind, NOT_A_BLOCK, Yaml, by_hand, choose, is_yaml, quoted};
use super::{Edit, FoundValue, Reach, number};
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;
use crate::place::{DEFAULT, Place};

/// A workflow of GitHub Actions.
pub static GITHUB_WORKFLOW: Place = Place {
    name: "GitHub workflow",
    files: ".github/workflows/NAME.yml",
    reaches: "the steps of the workflow, or of one job (--part JOB)",
    effect: "the next run of the workflow",
    find: |text, variable, part| find(&GITHUB, text, variable, part),
    by_hand: Some(|text, edit| line_by_hand(&GITHUB, text, edit)),
    parts: |text| parts(&GITHUB, text),
    elsewhere: |text, _| {
        let at = text.lines().position(|line| line.contains("GITHUB_ENV"))?;
        Some((number(at), "GITHUB_ENV"))
    },
    is_file: |path, _| path.below(".github/workflows/") && is_yaml(path),
    of_image: true,
    has_parts: true,
    ..DEFAULT
};

/// A pipeline of GitLab.
pub static GITLAB_CI: Place = Place {
    name: "GitLab pipeline",
    files: ".gitlab-ci.yml",
    reaches: "the jobs of the pipeline, or one of them (--part JOB); what the project's settings set is stronger",
    effect: "the next pipeline",
    find: |text, variable, part| find(&GITLAB, text, variable, part),
    by_hand: Some(|text, edit| line_by_hand(&GITLAB, text, edit)),
    parts: |text| parts(&GITLAB, text),
    elsewhere: |text, _| {
        let takes = |line: &str| {
            let key = line.trim_start().split(':').next().unwrap_or_default();
            ["include", "extends"].into_iter().find(|known| *known == key)
        };
        text.lines().enumerate().find_map(|(at, line)| Some((number(at), takes(line)?)))
    },
    is_file: |path, _| path.name() == ".gitlab-ci.yml",
    of_image: true,
    has_parts: true,
    ..DEFAULT
};

/// What the two differ in.
struct Service {
    /// The key of the variables.
    key: &'static str,
    /// The jobs' keys and values.
    jobs: fn(&Yaml<'_>, Id) -> Vec<(Id, Id)>,
    /// Whether `$` begins something that is replaced; `$$` is then a `$`.
    expands: bool,
}

static GITHUB: Service = Service {
    key: "env",
    jobs: |yaml, top| {
        yaml.get(top, "jobs").map_or_else(Vec::new, |jobs| yaml.pairs(jobs).collect())
    },
    expands: false,
};

static GITLAB: Service = Service {
    key: "variables",
    // Every other key of the top that has a script.
    jobs: |yaml, top| {
        yaml.pairs(top).filter(|(_, job)| yaml.get(*job, "script").is_some()).collect()
    },
    expands: true,
};

/// A job.
struct Job<'y> {
    name: &'y str,
    key: Id,
    map: Id,
}

fn jobs<'y>(service: &Service, yaml: &'y Yaml<'_>) -> Vec<Job<'y>> {
    let all = yaml.tops.first().map_or_else(Vec::new, |top| (service.jobs)(yaml, *top));
    let of = |(key, map): (Id, Id)| Some(Job { name: yaml.scalar(key)?, key, map });
    let block =
        |one: &(Id, Id)| !yaml.nodes[one.1].flow && matches!(yaml.nodes[one.1].kind, Kind::Map(_));
    all.into_iter().filter(block).filter_map(of).collect()
}

fn parts(service: &Service, text: &str) -> Vec<String> {
    let names = |yaml: Yaml<'_>| jobs(service, &yaml).iter().map(|job| job.name.into()).collect();
    Yaml::read_plain(text).map(names).unwrap_or_default()
}

/// Key and value of the variables of a job, or of the top.
fn block(service: &Service, yaml: &Yaml<'_>, job: Option<Id>) -> Option<(Id, Id)> {
    yaml.key(job.or(yaml.tops.first().copied())?, service.key)
}

/// Where a block sets `variable`.
fn in_block(service: &Service, yaml: &Yaml<'_>, map: Id, variable: &str) -> Vec<FoundValue> {
    let mine = yaml.pairs(map).filter(|(key, _)| yaml.scalar(*key) == Some(variable));
    mine.map(|(key, at)| {
        let text = yaml.scalar(at).unwrap_or_default();
        let (text, replaced) = match service.expands {
            true => (text.replace("$$", "$"), text.replace("$$", "").contains('$')),
            false => (text.to_owned(), text.contains("${{")),
        };
        let certain = yaml.is_plain(at) && !yaml.is_null(at) && !replaced;
        FoundValue { certain, ..FoundValue::set(yaml.nodes[key].line, text) }
    })
    .collect()
}

/// Where a step of the job sets it: inside of the job, and not in its own block.
fn in_steps(service: &Service, yaml: &Yaml<'_>, job: Id, variable: &str) -> Vec<FoundValue> {
    let is_block =
        |key: Id| yaml.nodes[key].parent != Some(job) && yaml.scalar(key) == Some(service.key);
    yaml.pairs_below(job)
        .filter(|(key, _)| is_block(*key))
        .flat_map(|(key, map)| {
            let reach = Reach::Inside { line: number(yaml.nodes[key].line) };
            let found = in_block(service, yaml, map, variable).into_iter();
            found.map(move |found| FoundValue { reach, ..found })
        })
        .collect()
}

/// Where the job `part`, or the top of the file, sets `variable`; the last one counts. What a step sets comes first.
fn find(service: &Service, text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(yaml) = Yaml::read_plain(text) else { return Vec::new() };
    let jobs = jobs(service, &yaml);
    let of = |job| {
        let block = block(service, &yaml, job);
        block.map_or_else(Vec::new, |(_, map)| in_block(service, &yaml, map, variable))
    };
    let Some(part) = part else { return of(None) };
    let Ok(job) = choose("job", &jobs, |job| job.name, Some(part)) else { return Vec::new() };
    let mut found = in_steps(service, &yaml, job.map, variable);
    let own = of(Some(job.map));
    found.extend(if own.is_empty() { of(None) } else { own });
    found
}

/// The line that a person adds to the job `part`, or at the top of the file.
///
/// # Errors
/// When there is no such job, or something stronger sets the variable.
fn line_by_hand(
    service: &Service,
    text: &str,
    edit: &Edit<'_>,
) -> Result<HandLine, EnvironmentError> {
    let yaml = Yaml::read_plain(text)?;
    let jobs = jobs(service, &yaml);
    if jobs.is_empty() {
        return Err("there is no job in it that is understood".into());
    }
    let job = match edit.part {
        Some(_) => Some(choose("job", &jobs, |job| job.name, edit.part)?),
        None => None,
    };
    if let Some(line) = stronger(service, &yaml, &jobs, job, edit.variable) {
        return Err(by_hand(line as usize - 1, "what it sets is stronger"));
    }
    let value = edit.value.unwrap_or_default();
    if !service.expands && value.contains("${{") {
        return Err("GitHub would replace `${{` in it: set it by hand".into());
    }
    let value = if service.expands { value.replace('$', "$$") } else { value.to_owned() };
    let pair_of = format!("{}: {}", edit.variable, quoted(&value));
    let whole = format!("{}: {{{pair_of}}}", service.key);
    let line = |of: Id| number(yaml.nodes[of].line);
    let first = |map: Id| yaml.pairs(map).next().map(|(key, _)| line(key));
    let Some((key, map)) = block(service, &yaml, job.map(|job| job.map)) else {
        // A block of its own: in front of what the job has, or of the jobs.
        let (place, above) = match job {
            Some(job) => (format!("to the job in line {}", line(job.key)), first(job.map)),
            None => {
                // The last key of the top that does not come after the first job.
                let keys = yaml.pairs(yaml.tops[0]).map(|(key, _)| key);
                let above = keys.take_while(|key| *key <= jobs[0].key).last();
                ("at the top of the file".to_owned(), above.map(line))
            }
        };
        return Ok(HandLine { text: whole, place, above, replaces: None });
    };
    let flow = yaml.nodes[map].flow;
    let mut own = yaml.pairs(map).filter(|(key, _)| yaml.scalar(*key) == Some(edit.variable));
    // What else stands in braces may be a secret, and is not shown.
    if flow && own.clone().count() < yaml.pairs(map).count() {
        return Err(by_hand(yaml.nodes[key].line, NOT_A_BLOCK));
    }
    Ok(HandLine {
        text: if flow { whole } else { pair_of },
        place: format!("below `{}:` in line {}", service.key, line(key)),
        above: first(map),
        replaces: if flow { Some(line(key)) } else { own.next_back().map(|(key, _)| line(key)) },
    })
}

/// The first line, from 1, that is inside of the place that changes and sets the variable: it is stronger.
fn stronger(
    service: &Service,
    yaml: &Yaml<'_>,
    jobs: &[Job<'_>],
    job: Option<&Job<'_>>,
    variable: &str,
) -> Option<u32> {
    let mut inside = jobs.iter().filter(|one| job.is_none_or(|job| job.map == one.map));
    inside.find_map(|inside| {
        let own = block(service, yaml, Some(inside.map)).filter(|_| job.is_none());
        let own = own.map_or_else(Vec::new, |(_, map)| in_block(service, yaml, map, variable));
        let steps = in_steps(service, yaml, inside.map, variable);
        own.iter().chain(&steps).map(|found| found.line).next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKFLOW: &str = "on: push\nenv:\n  LANG: \"a\"\njobs:\n  test:\n    runs-on: x\n    env:\n      TZ: Asia/Tokyo # here\n    steps:\n      - run: make\n        env:\n          TZ: UTC\n          A: ${{ secrets.A }}\n  lint:\n    runs-on: x\n    steps:\n      - run: make lint\n";
    const PIPELINE: &str =
        "stages: [test]\nvariables:\n  A: \"x$$y\"\ntest:\n  stage: test\n  script:\n    - make\n";

    #[test]
    fn a_job_is_stronger_than_the_file_and_a_step_than_the_job() {
        let of = |variable, part| {
            let found = GITHUB_WORKFLOW.find(WORKFLOW, variable, part);
            found.iter().map(|one| (one.line, one.is_sure())).collect::<Vec<_>>()
        };
        assert_eq!(of("TZ", None), []);
        assert_eq!(of("LANG", None), [(3, true)]);
        assert_eq!(of("LANG", Some("lint")), [(3, true)]);
        assert_eq!(of("TZ", Some("test")), [(12, false), (8, true)]);
        assert_eq!(of("A", Some("test")), [(13, false)]);
        assert_eq!(GITLAB_CI.find(PIPELINE, "A", None), [FoundValue::set(2, "x$y")]);
        assert_eq!((GITHUB_WORKFLOW.parts)(WORKFLOW), ["test", "lint"]);
        assert_eq!((GITLAB_CI.parts)(PIPELINE), ["test"]);
    }

    #[test]
    fn a_variable_goes_into_the_block_that_is_there() {
        let line = |place: &Place, text: &str, variable, part| {
            let edit = Edit { variable, value: Some("a"), part };
            let line = place.line_by_hand(text, &edit)?;
            Some((line.text, line.above, line.replaces))
        };
        let own = |above| Some(("B: \"a\"".to_owned(), Some(above), None));
        let block = |key: &str, above| Some((format!("{key}: {{B: \"a\"}}"), Some(above), None));
        assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, "B", None), own(3));
        assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, "B", Some("test")), own(8));
        assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, "B", Some("lint")), block("env", 15));
        let bare = WORKFLOW.replace("env:\n  LANG: \"a\"\n", "");
        assert_eq!(line(&GITHUB_WORKFLOW, &bare, "B", None), block("env", 2));
        assert_eq!(line(&GITLAB_CI, &PIPELINE[38..], "B", Some("test")), block("variables", 2));
        let replaced = line(&GITHUB_WORKFLOW, WORKFLOW, "LANG", None);
        assert_eq!(replaced, Some(("LANG: \"a\"".to_owned(), Some(3), Some(3))));
        for (variable, part) in [("TZ", None), ("TZ", Some("test")), ("TZ", Some("deploy"))] {
            assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, variable, part), None, "{part:?}");
        }
    }
}
