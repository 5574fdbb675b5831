//! What is known on the host of a container: the command that started it, podman-run(1) and docker-run(1), and what podman
//! says of it.

use crate::places::{FoundValue, env_file};
use crate::running::run;
use crate::sources::AS_WRITTEN;
use crate::start_path::StartPath;
use crate::started_by::StartedBy;
use crate::surrounding_unit::named_by_systemd;
use crate::unit;
use crate::unit_assignments::{WayEffect, way_assignments};
use needless_host::{ProcInfo, Root, Service, ServiceKind};
use needless_model::{Assignment, Visibility};

/// Options without a word after them. Every other one has its argument behind `=` or as the next word.
const SWITCHES: [&str; 24] = [
    "detach",
    "disable-content-trust",
    "env-host",
    "help",
    "http-proxy",
    "init",
    "interactive",
    "no-healthcheck",
    "no-hostname",
    "no-hosts",
    "oom-kill-disable",
    "passwd",
    "privileged",
    "publish-all",
    "quiet",
    "read-only",
    "read-only-tmpfs",
    "replace",
    "rm",
    "rmi",
    "sig-proxy",
    "tls-verify",
    "tty",
    "unsetenv-all",
];
/// `-h` is no such switch: it is `--hostname`, with a word.
const SHORT_SWITCHES: &str = "ditPq";

/// What the words of a command give a new container.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RunArguments {
    /// `-e VAR=VALUE`, the last one; `Some(None)`: `-e VAR`, the value that the engine itself has.
    pub option: Option<Option<String>>,
    /// `--env-file`, weaker than `-e`; the strongest last.
    pub files: Vec<String>,
    /// Whether all variables of the engine are passed on (podman's `--env-host`).
    pub host: bool,
}

/// Whether a program of this name starts containers.
pub(crate) fn is_engine(name: &str) -> bool {
    matches!(name, "podman" | "docker" | "nerdctl")
}

/// Whether a command of the program `name` starts containers that were made, or are described, elsewhere: nothing that it
/// has in its own environment reaches them.
pub(crate) fn starts_others(name: &str, words: &[String]) -> bool {
    let verbs: &[&str] = match name {
        "docker-compose" | "podman-compose" => &["up", "start", "restart", "run", "exec"],
        name if is_engine(name) => &["start", "restart", "compose", "exec", "kube", "play"],
        _ => &[],
    };
    let mut words =
        words.iter().take_while(|word| *word != "run" && *word != "create" || !is_engine(name));
    words.any(|word| verbs.contains(&word.as_str()))
}

/// Reads the words of an engine's command, without its own name; `None` where it is no `run` and no `create`.
pub(crate) fn run_arguments(words: &[String], variable: &str) -> Option<RunArguments> {
    let verb = words.iter().position(|word| word == "run" || word == "create")?;
    // Not `podman exec NAME run`: before the verb are options with their words, and `container`.
    let others = ["exec", "start", "stop", "rm", "pull", "build", "compose"];
    if words[..verb].iter().any(|word| others.contains(&word.as_str())) {
        return None;
    }
    let mut found = RunArguments::default();
    let mut words = words[verb + 1..].iter();
    let mut env = |word: &str| match word.split_once('=') {
        Some((name, value)) if name == variable => found.option = Some(Some(value.to_owned())),
        None if word == variable => found.option = Some(None),
        _ => {}
    };
    let (mut files, mut host) = (Vec::new(), false);
    while let Some(word) = words.next() {
        if let Some(long) = word.strip_prefix("--") {
            if long.is_empty() {
                break;
            }
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None if SWITCHES.contains(&long) => (long, None),
                None => (long, words.next().map(String::as_str)),
            };
            match (name, value) {
                ("env", Some(value)) => env(value),
                ("env-file", Some(file)) => files.push(file.to_owned()),
                ("env-host", value) => host = value != Some("false"),
                _ => {}
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            let Some(at) = letters.find(|c| !SHORT_SWITCHES.contains(c)) else { continue };
            let (letter, rest) = letters[at..].split_at(letters[at..].chars().next()?.len_utf8());
            let rest = rest.strip_prefix('=').unwrap_or(rest);
            let value = if rest.is_empty() { words.next()?.as_str() } else { rest };
            if letter == "e" {
                env(value);
            }
        } else {
            // The image; what follows are the words of its program.
            break;
        }
    }
    Some(RunArguments { files, host, ..found })
}

/// How the process `me` of a container got its environment; `watcher`: the program that started its first process.
pub(crate) fn started_by(
    me: &ProcInfo,
    service: &Service,
    watcher: Option<&ProcInfo>,
) -> StartedBy {
    let podman = podman_id(&me.cgroup).map(str::to_owned);
    let label = match &podman {
        // Below the group of a unit, which is what has a name for the outside.
        Some(id) => format!("container {} (podman)", &id[..12]),
        None if service.kind.is_container() => service.to_string(),
        None => "a container".into(),
    };
    let unit = watcher.map(|info| Service::of_cgroup(&info.cgroup, info.exe.as_deref()));
    let unit = unit.filter(|unit| unit.kind == ServiceKind::Unit).map(|unit| unit.name);
    let unit = unit.filter(|name| name.ends_with(".service"));
    let unit = watcher.zip(unit).map(|(info, name)| named_by_systemd(&info.cgroup, &name));
    StartedBy::Container { label, podman, unit }
}

/// The container of podman in the text of a process's control groups: its whole id.
fn podman_id(cgroup: &str) -> Option<&str> {
    let rest = cgroup.split_once("/libpod-")?.1;
    let id = rest.strip_prefix("payload-").unwrap_or(rest).get(..64)?;
    id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')).then_some(id)
}

/// What gives a container of podman a variable.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// `-e`, with its value where it is written there.
    Option(Option<String>),
    /// A file of `--env-file`, with what it sets.
    File(String, FoundValue),
    /// The image of this name: its `ENV`.
    Image(String, String),
    /// Nothing of these.
    Nothing,
}

/// Asks podman what gives the container of `channel` the variable; `None` where it is not podman's, or cannot be asked.
pub(crate) fn given(root: &Root, started_by: &StartedBy, variable: &str) -> Option<Given> {
    let StartedBy::Container { podman: Some(id), .. } = started_by else { return None };
    let format = "{{json .Config.CreateCommand}}\n{{.ImageName}}\n{{.Image}}";
    let text = podman(&["container", "inspect", "--format", format, id])?;
    let mut lines = text.lines();
    let words: Vec<String> = serde_json::from_str(lines.next()?).unwrap_or_default();
    let arguments = run_arguments(words.get(1..).unwrap_or_default(), variable)?;
    if let Some(value) = arguments.option {
        return Some(Given::Option(value));
    }
    for file in arguments.files.iter().rev().filter(|file| file.starts_with('/')) {
        let text = root.read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        if let Some(found) = env_file::find(&text, variable, None).pop() {
            return Some(Given::File(file.clone(), found));
        }
    }
    let (name, image) = (lines.next()?, lines.next()?);
    let format = "{{json .Config.Env}}";
    let env = podman(&["image", "inspect", "--format", format, image]).unwrap_or_default();
    let env: Vec<String> = serde_json::from_str(env.trim()).unwrap_or_default();
    let of = |pair: &String| Some(pair.strip_prefix(variable)?.strip_prefix('=')?.to_owned());
    Some(match env.iter().rev().find_map(of) {
        Some(value) => Given::Image(name.to_owned(), value),
        None => Given::Nothing,
    })
}

/// Adds what gives the container of `channel` the variable: the command of the unit that started it, or what podman knows.
/// Returns what that command does, if the process `me` fits it.
pub(crate) fn assignments(
    started_by: &StartedBy,
    variable: &str,
    me: Option<&ProcInfo>,
    found: &mut Vec<Assignment>,
    unread: &mut Vec<String>,
) -> Option<WayEffect> {
    let StartedBy::Container { label, podman, unit } = started_by else { return None };
    let root = Root::own().ok()?;
    let by_unit = unit.as_ref().and_then(|name| {
        let unit = unit::read(&root, name, variable, None);
        way_assignments(variable, name, &StartPath::of_unit(&root, variable, &unit), me, found)
    });
    if by_unit.is_some() || podman.is_none() {
        return by_unit;
    }
    match given(&root, started_by, variable) {
        Some(given) => found.extend(assignment(&given, variable, label)),
        None => unread.push(format!("{label}: `podman container inspect` does not answer")),
    }
    None
}

fn podman(words: &[&str]) -> Option<String> {
    run(&[&["podman"], words].concat()).ok()
}

/// The same as a line of the report.
fn assignment(given: &Given, variable: &str, label: &str) -> Option<Assignment> {
    let (file, line, value, why) = match given {
        Given::Option(value) => {
            let value = value.clone().map(|value| (value, true));
            let why = format!("{label} was made by that command");
            ("`-e` of podman run".to_owned(), 0, value?, why)
        }
        Given::File(file, found) => {
            let value = (found.value.clone()?, found.certain);
            (file.clone(), found.line, value, format!("{label} was made with it (--env-file)"))
        }
        Given::Image(name, value) => {
            let why = format!("{label} was made of it");
            (format!("image {name}"), 0, (value.clone(), true), why)
        }
        Given::Nothing => return None,
    };
    let (value, certain) = value;
    let says = format!("{variable}={value}{}", if certain { "" } else { AS_WRITTEN });
    Some(Assignment { file, line, says, reaches: Visibility::Yes(why) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<RunArguments> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        run_arguments(&words, "TZ")
    }

    #[test]
    fn words_of_podman_and_docker() {
        let set = |value: &str| Some(Some(value.to_owned()));
        for (line, option, files) in [
            ("run --rm -e TZ=UTC img -e TZ=no", set("UTC"), vec![]),
            ("run --env TZ=a --env=TZ=b img", set("b"), vec![]),
            ("run -it -eTZ=a img", set("a"), vec![]),
            ("run -dite TZ=a img", set("a"), vec![]),
            ("--log-level debug container create -e TZ img", Some(None), vec![]),
            ("run --name -e img TZ=no", None, vec![]),
            ("run -e TZ2=a --env-file /a --env-file=/b img", None, vec!["/a", "/b"]),
            ("run -- img --env-file /c", None, vec![]),
            ("run -h web -e TZ=a img", set("a"), vec![]),
            ("run -dh -e img TZ=no", None, vec![]),
            ("run --tls-verify -e TZ=a --unsetenv-all --no-hostname -e TZ=b img", set("b"), vec![]),
        ] {
            let found = of(line).unwrap();
            assert_eq!(
                (found.option, found.files),
                (option, files.iter().map(|f| (*f).to_owned()).collect()),
                "{line}"
            );
        }
        assert!(of("run --env-host img").unwrap().host && !of("run img").unwrap().host);
        assert_eq!(of("exec web run"), None);
        assert_eq!(of("ps -a"), None);
    }

    /// Its process is not below the unit: a change of its file could not be seen there.
    #[test]
    fn a_container_of_docker_is_by_hand() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.env"), "TZ=UTC\n").unwrap();
        let root = Root::of(std::fs::File::open(folder.path()).unwrap().into());
        let of = |engine: &str| {
            let line = format!("/usr/bin/{engine} run --env-file /a.env img");
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let way = StartPath::of_words(&root, "TZ", &words);
            assert!(way.container.is_some());
            way.last().map(|step| step.file.clone())
        };
        assert_eq!(of("podman").as_deref(), Some("/a.env"));
        assert_eq!(of("docker"), None);
    }

    #[test]
    fn what_starts_containers_of_others_is_by_hand() {
        let root = Root::own().unwrap();
        let of = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let way = StartPath::of_words(&root, "TZ", &words);
            (way.container.is_some(), way.made_elsewhere)
        };
        for line in [
            "/usr/bin/docker start -a web",
            "docker -H unix:///d compose up",
            "docker-compose -f a.yml up",
            "podman start web",
            "podman-compose up",
            "podman kube play a.yml",
        ] {
            assert_eq!(of(line), (true, true), "{line}");
        }
        assert_eq!(of("docker run img start"), (true, false));
        for line in ["podman system service", "docker ps", "/bin/x start"] {
            assert_eq!(of(line), (false, false), "{line}");
        }
    }

    #[test]
    fn ids_in_control_groups() {
        let id = "0123456789abcdef".repeat(4);
        let paths = [
            format!("0::/machine.slice/libpod-{id}.scope\n"),
            format!("1:x:/\n0::/system.slice/web.service/libpod-payload-{id}\n"),
        ];
        for path in paths {
            assert_eq!(podman_id(&path), Some(id.as_str()));
        }
        assert_eq!(podman_id("0::/system.slice/docker-0123.scope\n"), None);
        assert_eq!(podman_id(&format!("0::/x/libpod-conmon-{id}.scope\n")), None);
    }
}
