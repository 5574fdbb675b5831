//! Jobs of services that build: `env:` of a workflow of GitHub, `variables:` of a pipeline of GitLab. Both stand at the
//! top of the file, and in a job, where they are stronger; GitHub's steps have their own as well. They are found, and a
//! person changes them.
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax>
//! <https://docs.gitlab.com/ci/yaml/#variables>

use super::yaml::{
    YamlLine, by_hand, children, choose, is_plain_scalar, is_yaml, key, keys, pair, plain_lines,
    quoted, scalar, spans,
};
use super::{Edit, FoundValue, Reach, number};
use crate::config_format::{ConfigFormat, DEFAULT};
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;

/// A workflow of GitHub Actions.
pub static GITHUB_WORKFLOW: ConfigFormat = ConfigFormat {
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
pub static GITLAB_CI: ConfigFormat = ConfigFormat {
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
    /// The lines of the jobs.
    jobs: fn(&[YamlLine<'_>]) -> Vec<usize>,
    /// Whether `$` begins something that is replaced; `$$` is then a `$`.
    expands: bool,
}

static GITHUB: Service = Service {
    key: "env",
    jobs: |all| {
        let head = all.iter().position(|line| line.indent == 0 && line.text == "jobs:");
        head.map_or_else(Vec::new, |head| keys(all, head))
    },
    expands: false,
};

static GITLAB: Service = Service {
    key: "variables",
    // Every other key of the top that has a script.
    jobs: |all| top(all).filter(|at| key(all, *at, "script").is_some()).collect(),
    expands: true,
};

/// The lines of the keys at the top.
fn top(all: &[YamlLine<'_>]) -> impl Iterator<Item = usize> {
    (0..all.len()).filter(|at| all[*at].indent == 0 && !all[*at].item)
}

/// A job with its line among all.
struct Job {
    name: String,
    at: usize,
}

fn jobs(service: &Service, all: &[YamlLine<'_>]) -> Vec<Job> {
    let of = |at: usize| match pair(all[at].text) {
        Some((name, "")) => Some(Job { name, at }),
        _ => None,
    };
    (service.jobs)(all).into_iter().filter_map(of).collect()
}

fn parts(service: &Service, text: &str) -> Vec<String> {
    let all = plain_lines(text).unwrap_or_default();
    jobs(service, &all).into_iter().map(|job| job.name).collect()
}

/// The line of the block of variables of a job, or of the top.
fn block(service: &Service, all: &[YamlLine<'_>], job: Option<usize>) -> Option<usize> {
    let is = |at: &usize| pair(all[*at].text).is_some_and(|(name, _)| name == service.key);
    match job {
        Some(job) => key(all, job, service.key),
        None => top(all).find(is),
    }
}

/// Where a block sets `variable`.
fn in_block(
    service: &Service,
    all: &[YamlLine<'_>],
    head: usize,
    variable: &str,
) -> Vec<FoundValue> {
    let mine = keys(all, head).into_iter().filter_map(|at| {
        let (_, value) = pair(all[at].text).filter(|(name, _)| name == variable)?;
        let text = scalar(value);
        let replaced = match service.expands {
            true => text.replace("$$", "").contains('$'),
            false => text.contains("${{"),
        };
        let text = if service.expands { text.replace("$$", "$") } else { text };
        let certain = is_plain_scalar(value) && !spans(all, at) && !replaced;
        Some(FoundValue { certain, ..FoundValue::set(all[at].at, text) })
    });
    mine.collect()
}

/// Where a step of the job sets it: inside of the job, and not in its own block.
fn in_steps(
    service: &Service,
    all: &[YamlLine<'_>],
    job: usize,
    variable: &str,
) -> Vec<FoundValue> {
    let own = block(service, all, Some(job));
    let inside = (job + 1..).take(children(all, job).len());
    let heads = inside.filter(|at| Some(*at) != own && step_block(service, all[*at].text));
    heads
        .flat_map(|head| {
            let reach = Reach::Inside { line: number(all[head].at) };
            let found = in_block(service, all, head, variable).into_iter();
            found.map(move |found| FoundValue { reach, ..found })
        })
        .collect()
}

/// Whether a line of a step begins its block of variables.
fn step_block(service: &Service, text: &str) -> bool {
    pair(text).is_some_and(|(name, value)| name == service.key && value.is_empty())
}

/// Where the job `part`, or the top of the file, sets `variable`; the last one counts. What a step sets comes first.
fn find(service: &Service, text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(all) = plain_lines(text) else { return Vec::new() };
    let jobs = jobs(service, &all);
    let of_top = || match block(service, &all, None) {
        Some(head) => in_block(service, &all, head, variable),
        None => Vec::new(),
    };
    let Some(part) = part else { return of_top() };
    let Ok(job) = choose("job", &jobs, |job| &job.name, Some(part)) else { return Vec::new() };
    let mut found = in_steps(service, &all, job.at, variable);
    let own = block(service, &all, Some(job.at));
    let own = own.map_or_else(Vec::new, |head| in_block(service, &all, head, variable));
    found.extend(if own.is_empty() { of_top() } else { own });
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
    let all = plain_lines(text)?;
    let jobs = jobs(service, &all);
    if jobs.is_empty() {
        return Err("there is no job in it that is understood".into());
    }
    let job = match edit.part {
        Some(_) => Some(choose("job", &jobs, |job| &job.name, edit.part)?.at),
        None => None,
    };
    if let Some(line) = stronger(service, &all, &jobs, job, edit.variable) {
        return Err(by_hand(line as usize - 1, "what it sets is stronger"));
    }
    let value = edit.value.unwrap_or_default();
    if !service.expands && value.contains("${{") {
        return Err("GitHub would replace `${{` in it: set it by hand".into());
    }
    let value = if service.expands { value.replace('$', "$$") } else { value.to_owned() };
    let pair_of = format!("{}: {}", edit.variable, quoted(&value));
    let (key, line) = (service.key, |at: usize| number(all[at].at));
    let Some(head) = block(service, &all, job) else {
        // A block of its own: in front of what the job has, or of the jobs.
        let above = match job {
            Some(job) => (!children(&all, job).is_empty()).then_some(job + 1),
            None => (0..=jobs[0].at).rfind(|at| all[*at].indent == 0),
        };
        let place = match job {
            Some(job) => format!("to the job in line {}", line(job)),
            None => "at the top of the file".to_owned(),
        };
        let text = format!("{key}: {{{pair_of}}}");
        return Ok(HandLine { text, place, above: above.map(line), replaces: None });
    };
    let own = |at: &usize| pair(all[*at].text).is_some_and(|(name, _)| name == edit.variable);
    Ok(HandLine {
        text: pair_of,
        place: format!("below `{key}:` in line {}", line(head)),
        above: (!children(&all, head).is_empty()).then(|| line(head + 1)),
        replaces: keys(&all, head).into_iter().rfind(own).map(line),
    })
}

/// The first line, from 1, that is inside of the place that changes and sets the variable: it is stronger.
fn stronger(
    service: &Service,
    all: &[YamlLine<'_>],
    jobs: &[Job],
    job: Option<usize>,
    variable: &str,
) -> Option<u32> {
    let mut inside = jobs.iter().filter(|one| job.is_none_or(|job| job == one.at));
    inside.find_map(|inside| {
        let own = block(service, all, Some(inside.at)).filter(|_| job.is_none());
        let own = own.map_or_else(Vec::new, |at| in_block(service, all, at, variable));
        let steps = in_steps(service, all, inside.at, variable);
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
        let line = |format: &ConfigFormat, text: &str, variable, part| {
            let edit = Edit { variable, value: Some("a"), part };
            let line = format.line_by_hand(text, &edit)?;
            Some((line.text, line.above, line.replaces))
        };
        let own = |above| Some(("B: \"a\"".to_owned(), Some(above), None));
        let block = |key: &str, above| Some((format!("{key}: {{B: \"a\"}}"), Some(above), None));
        assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, "B", None), own(3));
        assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, "B", Some("test")), own(8));
        assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, "B", Some("lint")), block("env", 15));
        let bare = WORKFLOW.replace("env:\n  LANG: \"a\"\n", "");
        assert_eq!(line(&GITHUB_WORKFLOW, &bare, "B", None), block("env", 2));
        assert_eq!(line(&GITLAB_CI, &PIPELINE[33..], "B", Some("test")), block("variables", 3));
        let replaced = line(&GITHUB_WORKFLOW, WORKFLOW, "LANG", None);
        assert_eq!(replaced, Some(("LANG: \"a\"".to_owned(), Some(3), Some(3))));
        for (variable, part) in [("TZ", None), ("TZ", Some("test")), ("TZ", Some("deploy"))] {
            assert_eq!(line(&GITHUB_WORKFLOW, WORKFLOW, variable, part), None, "{part:?}");
        }
    }
}
