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
    /// The key of a job that is another file's: nothing of this one reaches it.
    calls: &'static str,
    /// The key of a job by which it takes over what other keys of the top have.
    extends: &'static str,
    /// The key of the top whose rules set variables that are stronger than those of the top.
    rules: &'static str,
}

static GITHUB: Service = Service {
    key: "env",
    jobs: |yaml, top| {
        yaml.get(top, "jobs").map_or_else(Vec::new, |jobs| yaml.pairs(jobs).collect())
    },
    expands: false,
    calls: "uses",
    extends: "",
    rules: "",
};

static GITLAB: Service = Service {
    key: "variables",
    // Every other key of the top that has a script, or takes one over.
    jobs: |yaml, top| {
        let is_job = |job: Id| ["script", "extends"].iter().any(|key| yaml.get(job, key).is_some());
        yaml.pairs(top).filter(|(_, job)| is_job(*job)).collect()
    },
    expands: true,
    calls: "",
    extends: "extends",
    rules: "workflow",
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
    let names = |yaml: Yaml<'_>| {
        let jobs = jobs(service, &yaml);
        let own = jobs.iter().filter(|job| yaml.get(job.map, service.calls).is_none());
        own.map(|job| job.name.into()).collect()
    };
    Yaml::read_plain(text).map(names).unwrap_or_default()
}

/// A job, and what it takes over, the strongest first; and the key by which it takes over what is not in the text.
fn bases(service: &Service, yaml: &Yaml<'_>, job: Id) -> (Vec<Id>, Option<Id>) {
    let (mut all, mut open, mut unknown) = (Vec::new(), vec![job], None);
    while let Some(one) = open.pop() {
        if all.contains(&one) {
            continue;
        }
        all.push(one);
        let Some((key, names)) = yaml.key(one, service.extends) else { continue };
        // Of several, the last is the strongest.
        let names =
            std::iter::once(&names).chain(yaml.items(names)).filter_map(|at| yaml.scalar(*at));
        for name in names {
            match yaml.tops.first().and_then(|top| yaml.get(*top, name)) {
                Some(base) => open.push(base),
                None => unknown = unknown.or(Some(key)),
            }
        }
    }
    (all, unknown)
}

/// What the rules of the whole file set.
fn in_rules(service: &Service, yaml: &Yaml<'_>, variable: &str) -> Vec<FoundValue> {
    let rules = yaml.tops.first().and_then(|top| yaml.get(*top, service.rules));
    rules.map_or_else(Vec::new, |rules| in_steps(service, yaml, rules, variable))
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
    let mut top = in_rules(service, &yaml, variable);
    top.extend(of(None));
    let Some(part) = part else { return top };
    let Ok(job) = choose("job", &jobs, |job| job.name, Some(part)) else { return Vec::new() };
    if yaml.get(job.map, service.calls).is_some() {
        return Vec::new();
    }
    let (bases, _) = bases(service, &yaml, job.map);
    let inside = |base: &Id| in_steps(service, &yaml, *base, variable);
    let mut found: Vec<FoundValue> = bases.iter().flat_map(inside).collect();
    let own = bases.iter().map(|base| of(Some(*base))).find(|own| !own.is_empty());
    found.extend(own.unwrap_or(top));
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
    stronger(service, &yaml, &jobs, job, edit.variable)?;
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
                (
                    "at the top of the file".to_owned() + &elsewhere(service, &yaml, &jobs),
                    above.map(line),
                )
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
        place: format!("below `{}:` in line {}", service.key, line(key))
            + &job.map_or_else(|| elsewhere(service, &yaml, &jobs), |_| String::new()),
        above: first(map),
        replaces: if flow { Some(line(key)) } else { own.next_back().map(|(key, _)| line(key)) },
    })
}

/// Says, behind a place of all jobs, which of them may take a stronger value from another file.
fn elsewhere(service: &Service, yaml: &Yaml<'_>, jobs: &[Job<'_>]) -> String {
    let unknown = jobs.iter().find_map(|job| bases(service, yaml, job.map).1);
    unknown.map_or_else(String::new, |key| {
        let line = number(yaml.nodes[key].line);
        format!(" (what line {line} extends is not in this file, and perhaps sets it, too: then that is stronger)")
    })
}

/// Refuses a place whose variables reach no job, or where something inside of it sets the variable, which is stronger.
fn stronger(
    service: &Service,
    yaml: &Yaml<'_>,
    jobs: &[Job<'_>],
    job: Option<&Job<'_>>,
    variable: &str,
) -> Result<(), EnvironmentError> {
    let called = |job: &Job<'_>| yaml.key(job.map, service.calls).map(|(key, _)| key);
    let all = job.map_or(jobs, std::slice::from_ref);
    if let (Some(key), true) = (called(&all[0]), all.iter().all(|job| called(job).is_some())) {
        return Err(by_hand(yaml.nodes[key].line, "that workflow gets no variable from here"));
    }
    let of_base = |base: Id| {
        let own = block(service, yaml, Some(base)).filter(|_| job.is_none());
        let own = own.map_or_else(Vec::new, |(_, map)| in_block(service, yaml, map, variable));
        own.into_iter().chain(in_steps(service, yaml, base, variable)).next()
    };
    let rules = in_rules(service, yaml, variable).into_iter().find(|_| job.is_none());
    let of_job = |job: &Job<'_>| bases(service, yaml, job.map).0.into_iter().find_map(of_base);
    match rules.or_else(|| all.iter().find_map(of_job)) {
        Some(found) => Err(by_hand(found.line as usize - 1, "what it sets is stronger")),
        None => Ok(()),
    }
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

    /// What is stronger, wherever it stands, is found, and no line is printed that would change nothing.
    #[test]
    fn lines_that_would_have_no_effect_are_not_printed() {
        let call = "on: push\njobs:\n  call:\n    uses: ./.github/workflows/x.yml\n";
        let own = format!(
            "{call}  own:\n    runs-on: x\n    steps:\n      - run: make\n        env: {{TZ: Asia/Seoul}}\n"
        );
        let base = "variables:\n  TZ: UTC\n.tpl:\n  variables:\n    TZ: Asia/Tokyo\n.more:\n  extends: .tpl\na:\n  extends: [.more]\nb:\n  script: make\n";
        let rules = "workflow:\n  rules:\n    - if: $A\n      variables:\n        TZ: Asia/Rome\nb:\n  script: make\n";
        for (place, text, part, why) in [
            (&GITHUB_WORKFLOW, call, Some("call"), "line 4: that workflow gets no variable"),
            (&GITHUB_WORKFLOW, call, None, "line 4: that workflow gets no variable"),
            (&GITHUB_WORKFLOW, &own, Some("own"), "line 9: what it sets is stronger"),
            (&GITHUB_WORKFLOW, &own, None, "line 9: what it sets is stronger"),
            (&GITLAB_CI, base, None, "line 5: what it sets is stronger"),
            (&GITLAB_CI, rules, None, "line 5: what it sets is stronger"),
        ] {
            let edit = Edit { variable: "TZ", value: Some("Asia/Omsk"), part };
            let said = place.change(text, &edit).unwrap_err().to_string();
            assert!(said.starts_with(why), "{text}: {said}");
            assert!(place.line_by_hand(text, &edit).is_none(), "{text}");
        }
        let is = |place: &Place, text, part| {
            let found = place.find(text, "TZ", part).into_iter();
            found.map(|one| (one.line, one.is_sure())).collect::<Vec<_>>()
        };
        assert_eq!(is(&GITHUB_WORKFLOW, &own, Some("own")), [(9, false)]);
        assert_eq!(is(&GITHUB_WORKFLOW, call, Some("call")), []);
        assert_eq!((GITHUB_WORKFLOW.parts)(&own), ["own"]);
        assert_eq!(is(&GITLAB_CI, base, Some("a")), [(5, true)]);
        assert_eq!(is(&GITLAB_CI, base, Some("b")), [(2, true)]);
        assert_eq!(is(&GITLAB_CI, rules, Some("b")), [(5, false)]);
        let edit = Edit { variable: "TZ", value: Some("UTC"), part: None };
        let line = GITLAB_CI.line_by_hand("a:\n  extends: .of-another-file\n", &edit).unwrap();
        assert!(line.place.contains("what line 2 extends is not in this file"), "{}", line.place);
        // Its own variables are stronger than those that it takes over.
        let edit = Edit { part: Some("a"), ..edit };
        assert!(GITLAB_CI.line_by_hand(base, &edit).is_some());
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
