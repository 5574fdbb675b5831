//! compose files: `environment:` of a service. <https://docs.docker.com/reference/compose-file/services/>

use super::yaml::{Id, Kind, NOT_A_BLOCK, SPANS, Yaml, by_hand, choose, is_yaml, quoted};
use super::yaml_result::{Env, command_leaves, compose_schema, held};
use super::{Edit, FoundValue, splice};
use crate::error::EnvironmentError;
use crate::place::{DEFAULT, Destination, Place};
use crate::readers::ReadBy;
use crate::started_by::StartedBy;
use needless_model::Confidence;
use std::collections::BTreeSet;

/// A service of compose.
pub static COMPOSE: Place = Place {
    name: "compose",
    files: "compose.yaml, docker-compose.yml",
    reaches: "the containers of the service",
    read_by: ReadBy::Parts("service"),
    effect: "docker compose up -d, which makes new containers",
    find,
    put,
    compares_all: true,
    elsewhere,
    caveat,
    parts,
    is_file: |path, text| {
        is_yaml(path) && text.contains("services:") && !text.contains("containers:")
    },
    // Which file made a container is not known; a manifest or an image are as likely.
    locate: |query| match query.started_by {
        StartedBy::Container { label, .. } => vec![Destination::new(
            &COMPOSE,
            None,
            format!(
                "{label} has the environment of its configuration: set it in the compose file, manifest or image \
                 (needless fix --in FILE) and create the container again"
            ),
            Confidence::Low,
        )],
        _ => Vec::new(),
    },
    last_resort: true,
    of_image: true,
    has_parts: true,
    ..DEFAULT
};

/// A service: its name, and its value.
type Service<'y> = (&'y str, Id);

fn services<'y>(yaml: &'y Yaml<'_>) -> Vec<Service<'y>> {
    let all = yaml.tops.first().and_then(|top| yaml.get(*top, "services"));
    let known = |of: Id| matches!(yaml.nodes[of].kind, Kind::Map(_)) || yaml.is_null(of);
    let pairs = all.into_iter().flat_map(|all| yaml.pairs(all));
    pairs
        .filter(|(_, value)| known(*value))
        .filter_map(|(key, value)| Some((yaml.scalar(key)?, value)))
        .collect()
}

fn parts(text: &str) -> Vec<String> {
    let names = |yaml: Yaml<'_>| services(&yaml).iter().map(|one| one.0.to_owned()).collect();
    Yaml::read(text).map(names).unwrap_or_default()
}

/// A mapping, or the one that an alias means, and those whose keys it takes over (`<<: *a`): the strongest first, each
/// once.
fn merged(yaml: &Yaml<'_>, map: Id) -> Vec<Id> {
    let (mut all, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![map]);
    while let Some(one) = open.pop() {
        let one = yaml.meant(one);
        if !seen.insert(one) {
            continue;
        }
        all.push(one);
        let Some(bases) = yaml.get(one, "<<") else { continue };
        match yaml.items(bases) {
            [] => open.push(bases),
            bases => open.extend(bases.iter().rev()),
        }
    }
    all
}

/// Key and value of `environment` of a mapping, or of one that it takes over.
fn environment(yaml: &Yaml<'_>, map: Id) -> Option<(Id, Id)> {
    merged(yaml, map).into_iter().find_map(|map| yaml.key(map, "environment"))
}

/// A variable of a service.
struct Variable {
    name: String,
    value: Option<String>,
    /// Its key, or the item of the list that holds both.
    key: Id,
    /// Its value, or the same item.
    at: Id,
    /// Whether it stands under the service's own `environment`.
    own: bool,
}

/// The variables of a service, the strongest last.
fn variables(yaml: &Yaml<'_>, service: Id) -> Vec<Variable> {
    let Some((_, env)) = environment(yaml, service) else { return Vec::new() };
    let here = yaml.key(service, "environment").is_some();
    let undo = |value: &str| value.replace("$$", "$");
    let mut found = Vec::new();
    for block in merged(yaml, env).into_iter().rev() {
        let own = here && block == env;
        for (key, at) in yaml.pairs(block) {
            let Some(name) = yaml.scalar(key).filter(|name| *name != "<<") else { continue };
            let value = yaml.value(at).map(undo);
            found.push(Variable { name: name.to_owned(), value, key, at, own });
        }
        for &at in yaml.items(block) {
            let Some(text) = yaml.scalar(at) else { continue };
            let value = text.split_once('=').map(|(_, value)| undo(value));
            let name = text.split('=').next().unwrap_or_default().to_owned();
            found.push(Variable { name, value, key: at, at, own });
        }
    }
    found
}

/// Where the service `part` (or the only one) sets `variable`. A name without a value takes the value of the
/// environment of `docker compose`.
fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(yaml) = Yaml::read(text) else { return Vec::new() };
    let services = services(&yaml);
    let Ok((_, service)) = choose("service", &services, |service| service.0, part) else {
        return Vec::new();
    };
    let mine = variables(&yaml, *service).into_iter().filter(|one| one.name == variable);
    mine.map(|one| {
        let replaced = yaml.scalar(one.at).is_some_and(|it| it.replace("$$", "").contains('$'));
        let certain = one.value.is_some() && !replaced && !yaml.nodes[one.at].tagged;
        let line = yaml.nodes[one.key].line;
        FoundValue { certain, ..FoundValue::set(line, one.value.unwrap_or_default()) }
    })
    .collect()
}

/// What gives a service more variables: a file of them, another service, another compose file.
fn elsewhere(text: &str, part: Option<&str>) -> Option<(u32, &'static str)> {
    let yaml = Yaml::read(text).ok()?;
    let services = services(&yaml);
    let (_, service) = choose("service", &services, |service| service.0, part).ok()?;
    let top = *yaml.tops.first()?;
    let known = [(*service, "env_file"), (*service, "extends"), (top, "include")];
    let found = known.iter().filter_map(|(of, name)| Some((yaml.key(*of, name)?.0, *name)));
    found.map(|(key, name)| (super::number(yaml.nodes[key].line), name)).next()
}

/// Which services of the file take over what this one has.
fn caveat(text: &str, edit: &Edit<'_>) -> Option<String> {
    let yaml = Yaml::read(text).ok()?;
    let services = services(&yaml);
    let mut reached = vec![choose("service", &services, |service| service.0, edit.part).ok()?.0];
    // Whose base is one that is reached, until there is no more.
    let base = |service: Id| {
        let (_, extends) =
            merged(&yaml, service).into_iter().find_map(|map| yaml.key(map, "extends"))?;
        let here = yaml.get(extends, "file").is_none();
        yaml.scalar(extends).or_else(|| yaml.scalar(yaml.get(extends, "service").filter(|_| here)?))
    };
    loop {
        let is_new = |one: &&Service<'_>| {
            !reached.contains(&one.0) && base(one.1).is_some_and(|base| reached.contains(&base))
        };
        let Some(next) = services.iter().find(is_new) else { break };
        reached.push(next.0);
    }
    let others = reached[1..].join(", ");
    (!others.is_empty())
        .then(|| format!("It reaches the services that extend this one, too: {others}."))
}

/// # Errors
/// When the service does not exist, its `environment` is written in a way that is not understood, or other services
/// share it.
fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let yaml = Yaml::read(text)?;
    let services = services(&yaml);
    let service = choose("service", &services, |service| service.0, edit.part)?.1;
    let own = yaml.key(service, "environment");
    let found = variables(&yaml, service);
    let mine = found.iter().rfind(|one| one.name == edit.variable);
    refuse(&yaml, service, own, mine, edit)?;
    let (name, value) = (edit.variable, edit.value.map(dollars));
    let pair = |value: &str| format!("{name}: {}", quoted(value));
    let item = |value: &str| quoted(&format!("{name}={value}"));
    let list = own.is_some_and(|(_, env)| matches!(yaml.nodes[env].kind, Kind::List(_)));
    let own_one = mine.filter(|one| one.own);
    let (block, new) = match (value.as_deref(), own, own_one) {
        (None, ..) => {
            let Some(one) = mine else { return Ok(text.to_owned()) };
            if found.len() == 1 {
                return Err("it is the only variable there: remove `environment` by hand".into());
            }
            let block = Env::Of(own.map_or(service, |own| own.1));
            (block, yaml.without(yaml.nodes[one.key].line, one.at))
        }
        (Some(value), None, _) => {
            let first = yaml.pairs(service).next().ok_or("the service is empty")?.0;
            let (line, pad) = (yaml.nodes[first].line, " ".repeat(yaml.nodes[first].column));
            let lines = [format!("{pad}environment:"), format!("{pad}  {}", pair(value))];
            (Env::New(service, "environment"), splice(text, line, line, &lines))
        }
        (Some(value), Some((_, env)), Some(one)) => {
            let new = if list { item(value) } else { quoted(value) };
            (Env::Of(env), yaml.with_value(one.key, one.at, &new)?)
        }
        (Some(value), Some((key, env)), None) => {
            let first = yaml.pairs(env).next().map(|(key, _)| yaml.nodes[key].column);
            let first = first.or_else(|| yaml.dash(env)).unwrap_or(yaml.nodes[key].column + 2);
            let (line, pad) = (yaml.nodes[key].line + 1, " ".repeat(first));
            let new = if list { format!("- {}", item(value)) } else { pair(value) };
            (Env::Of(env), splice(text, line, line, &[pad + &new]))
        }
    };
    held(&yaml, new, block, edit, value.as_deref(), compose_schema)
}

/// A value as Compose reads it back: `$` begins another variable.
fn dollars(value: &str) -> String {
    value.replace('$', "$$")
}

/// Refuses what is not written line by line, and what others share or give. `env` is the service's own `environment`.
fn refuse(
    yaml: &Yaml<'_>,
    service: Id,
    env: Option<(Id, Id)>,
    mine: Option<&Variable>,
    edit: &Edit<'_>,
) -> Result<(), EnvironmentError> {
    let by_hand = |of: Id, why: &str| Err(by_hand(yaml.nodes[of].line, why));
    let odd = |of: Id| yaml.nodes[of].flow || yaml.nodes[of].tagged;
    if edit.value.is_none() && mine.is_none() {
        return Ok(());
    }
    if odd(service) {
        return by_hand(service, NOT_A_BLOCK);
    }
    command_leaves(yaml, &merged(yaml, service), ["entrypoint", "command"], edit.variable)?;
    let at = mine.filter(|one| one.own).map_or(env.map_or(service, |env| env.1), |one| one.at);
    if let Some(name) = yaml.shared(at) {
        let line = yaml.nodes[service].parent.and_then(|all| {
            yaml.pairs(all).find(|(_, value)| *value == service).map(|(key, _)| key)
        });
        return by_hand(line.unwrap_or(service), &format!("others share it (*{name})"));
    }
    let Some((key, env)) = env else {
        return match (mine, environment(yaml, service)) {
            (Some(other), _) if edit.value.is_none() => {
                by_hand(other.key, "it is taken from there")
            }
            (_, Some((other, _))) => {
                by_hand(other, "its `environment` is taken from there, all of it or nothing")
            }
            _ => Ok(()),
        };
    };
    if let Some(other) = mine.filter(|one| !one.own && edit.value.is_none()) {
        return by_hand(other.key, "it is taken from there");
    }
    if yaml.in_line(key, env) {
        return by_hand(key, "`environment` in one line is not changed automatically");
    }
    if odd(env) {
        return by_hand(env, NOT_A_BLOCK);
    }
    match mine.filter(|one| one.own) {
        Some(one) if one.key == one.at && (odd(one.at) || yaml.spans(one.key, one.at)) => {
            by_hand(one.at, NOT_A_BLOCK)
        }
        Some(one) if yaml.spans(one.key, one.at) => by_hand(one.key, SPANS),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "services:\n  web:\n    image: x # y\n    environment:\n      - A=1\n      - \"TZ=Asia/Tokyo\"\n  db:\n    image: z\n    environment:\n      TZ: 'UTC'\n      B:\nvolumes:\n  v:\n";

    #[test]
    fn lists_and_mappings() {
        assert_eq!(find(TEXT, "TZ", Some("web")), [FoundValue::set(5, "Asia/Tokyo")]);
        assert_eq!(find(TEXT, "TZ", Some("db")), [FoundValue::set(9, "UTC")]);
        assert!(!find(TEXT, "B", Some("db"))[0].certain);
        let edit = |part| Edit { variable: "TZ", value: Some("a$b"), part };
        assert!(put(TEXT, &edit(None)).unwrap_err().to_string().contains("web, db"));
        let new = put(TEXT, &edit(Some("web"))).unwrap();
        assert!(new.contains("      - \"TZ=a$$b\"\n"), "{new}");
        assert_eq!(find(&new, "TZ", Some("web"))[0].value.as_deref(), Some("a$b"));
    }
    const SHARED: &str = "\
x-env: &env
  TZ: Asia/Tokyo
  A: \"1\"
x-base: &base
  image: x
  environment:
    TZ: UTC
services:
  own:
    environment:
      <<: *env
      B: two
  alias:
    environment: *env
  based:
    <<: *base
    init: true
  first: &first
    image: y
    environment: {}
  second:
    <<: [*first, *base]
    environment:
      - C=3
";

    #[test]
    fn what_is_taken_from_an_anchor() {
        let is = |part| find(SHARED, "TZ", Some(part)).pop().and_then(|found| found.value);
        assert_eq!(is("own").as_deref(), Some("Asia/Tokyo"));
        assert_eq!(is("alias").as_deref(), Some("Asia/Tokyo"));
        assert_eq!(is("based").as_deref(), Some("UTC"));
        assert_eq!(is("second"), None);
        let edit = |part| Edit { variable: "TZ", value: Some("a"), part: Some(part) };
        for part in ["own", "second"] {
            let new = put(SHARED, &edit(part)).unwrap();
            assert_eq!(find(&new, "TZ", Some(part)).pop().unwrap().value.as_deref(), Some("a"));
            assert_eq!(find(&new, "TZ", Some("alias")), find(SHARED, "TZ", Some("alias")));
        }
        for (part, why) in
            [("alias", "in one line"), ("based", "taken from there"), ("first", "*first")]
        {
            let said = put(SHARED, &edit(part)).unwrap_err().to_string();
            assert!(said.contains(why), "{part}: {said}");
        }
        let said = put(SHARED, &Edit { value: None, ..edit("own") }).unwrap_err().to_string();
        assert_eq!(said, "line 2: it is taken from there: edit it by hand");
    }

    #[test]
    fn who_extends_a_service_is_reached_as_well() {
        let text = "services:\n  a:\n    image: x\n  b:\n    extends: {service: a}\n  c:\n    extends: b\n  d:\n    extends: {service: a, file: other.yaml}\n";
        let of = |part| {
            (COMPOSE.caveat)(text, &Edit { variable: "TZ", value: Some("a"), part: Some(part) })
        };
        assert!(of("a").unwrap().ends_with("too: b, c."), "{:?}", of("a"));
        assert!(of("b").unwrap().ends_with("too: c."), "{:?}", of("b"));
        assert_eq!(of("d"), None);
    }

    #[test]
    fn a_command_that_sets_it_itself_is_named() {
        let edit = Edit { variable: "TZ", value: Some("a"), part: None };
        for (command, refused) in [
            ("command: [env, TZ=UTC, prog]", true),
            ("entrypoint: env\n    command: [\"TZ=UTC\", prog]", true),
            ("entrypoint: [env]\n    command: [\"TZ=UTC\", prog]", true),
            ("command: sh -c 'TZ=UTC exec prog'", true),
            ("command: [prog, TZ=UTC]", false),
        ] {
            let said = put(&format!("services:\n  web:\n    image: x\n    {command}\n"), &edit);
            assert_eq!(said.is_err(), refused, "{command}");
            let said = said.map_or_else(|why| why.to_string(), |_| String::new());
            assert!(!refused || said.starts_with("line 4: the container's own command"), "{said}");
        }
    }
}
