//! compose files: `environment:` of a service. <https://docs.docker.com/reference/compose-file/services/>

use super::yaml::{
    NOT_A_BLOCK, SPANS, YamlLine, aliases, anchored, by_hand, children, choose, is_yaml, key, keys,
    lines, not_a_block, pair, quoted, scalar, spans,
};
use super::{Edit, FoundValue, splice};
use crate::channel::Channel;
use crate::config_format::{ConfigFormat, ConfigLocation, DEFAULT};
use crate::error::EnvironmentError;
use needless_model::Confidence;

/// A service of compose.
pub static COMPOSE: ConfigFormat = ConfigFormat {
    name: "compose",
    files: "compose.yaml, docker-compose.yml",
    reaches: "the containers of the service",
    effect: "docker compose up -d, which makes new containers",
    find,
    put,
    elsewhere,
    parts: |text| {
        let all = lines(text).unwrap_or_default();
        services(&all).into_iter().map(|service| service.name).collect()
    },
    is_file: |path, text| {
        is_yaml(path) && text.contains("services:") && !text.contains("containers:")
    },
    // Which file made a container is not known; a manifest or an image are as likely.
    locate: |query| match query.channel {
        Channel::Container { label, .. } => vec![ConfigLocation::new(
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

/// How deep aliases may refer to each other.
const DEEPEST: u32 = 8;

struct ServiceItem {
    name: String,
    /// Its line among all.
    at: usize,
}

fn services(all: &[YamlLine<'_>]) -> Vec<ServiceItem> {
    let is_services = |line: &YamlLine<'_>| line.indent == 0 && line.text == "services:";
    let Some(head) = all.iter().position(is_services) else { return Vec::new() };
    let is_block = |at: &usize| matches!(pair(all[*at].text), Some((_, "")));
    let of = |at: usize| pair(all[at].text).map(|(name, _)| ServiceItem { name, at });
    keys(all, head).into_iter().filter(is_block).filter_map(of).collect()
}

/// The blocks whose keys a mapping takes over (`<<: *a`), the strongest first.
fn merged(all: &[YamlLine<'_>], head: usize) -> Vec<usize> {
    let lines = keys(all, head).into_iter().filter_map(|at| Some((at, pair(all[at].text)?)));
    let merges = lines.filter(|(_, (key, _))| key == "<<");
    merges
        .flat_map(|(at, (_, value))| {
            aliases(value).into_iter().filter_map(move |name| anchored(all, name, at))
        })
        .collect()
}

/// `environment` of the mapping under line `head`, or of one that it takes over.
fn environment(all: &[YamlLine<'_>], head: usize, deep: u32) -> Option<usize> {
    let own = key(all, head, "environment");
    let deeper = deep.checked_sub(1)?;
    own.or_else(|| merged(all, head).into_iter().find_map(|base| environment(all, base, deeper)))
}

/// A variable of a service.
struct Variable {
    /// Its line among all.
    at: usize,
    name: String,
    value: Option<String>,
    /// Whether it stands under the service's own `environment`.
    own: bool,
}

/// The variables under line `head`, a mapping or a list, the strongest last.
fn variables(all: &[YamlLine<'_>], head: usize, own: bool, deep: u32) -> Vec<Variable> {
    let Some(deeper) = deep.checked_sub(1) else { return Vec::new() };
    if let Some((_, value)) = pair(all[head].text).filter(|(_, value)| value.starts_with('*')) {
        let from = aliases(value).into_iter().filter_map(|name| anchored(all, name, head));
        return from.flat_map(|at| variables(all, at, false, deeper)).collect();
    }
    let undo = |value: &str| value.replace("$$", "$");
    let bases = merged(all, head).into_iter().rev();
    let mut found: Vec<Variable> = bases.flat_map(|at| variables(all, at, false, deeper)).collect();
    for (line, at) in children(all, head).iter().zip(head + 1..) {
        let (name, value) = if line.item {
            let text = scalar(line.text);
            match text.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(undo(value))),
                None => (text, None),
            }
        } else {
            let Some((name, value)) = pair(line.text).filter(|(name, _)| name != "<<") else {
                continue;
            };
            let value = (!value.is_empty() && value != "null").then(|| undo(&scalar(value)));
            (name, value)
        };
        found.push(Variable { at, name, value, own });
    }
    found
}

fn of_service(all: &[YamlLine<'_>], service: &ServiceItem) -> Vec<Variable> {
    let own = key(all, service.at, "environment").is_some();
    let head = environment(all, service.at, DEEPEST);
    head.map_or_else(Vec::new, |head| variables(all, head, own, DEEPEST))
}

/// Where the service `part` (or the only one) sets `variable`. A name without a value takes the value of the
/// environment of `docker compose`.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(all) = lines(text) else { return Vec::new() };
    let services = services(&all);
    let Ok(service) = choose("service", &services, |service| &service.name, part) else {
        return Vec::new();
    };
    let mine = of_service(&all, service).into_iter().filter(|one| one.name == variable);
    mine.map(|one| {
        let line = &all[one.at];
        let value = pair(line.text).map_or("", |(_, value)| value);
        let plain =
            !line.text.replace("$$", "").contains('$') && !value.starts_with(['&', '*', '!']);
        let certain = one.value.is_some() && plain && !spans(&all, one.at);
        FoundValue { certain, ..FoundValue::set(line.at, one.value.unwrap_or_default()) }
    })
    .collect()
}

/// What gives a service more variables: a file of them, another service, another compose file.
fn elsewhere(text: &str, part: Option<&str>) -> Option<(u32, &'static str)> {
    const KEYS: [&str; 2] = ["env_file", "extends"];
    let all = lines(text).ok()?;
    let services = services(&all);
    let service = choose("service", &services, |service| &service.name, part).ok()?;
    let own = keys(&all, service.at).into_iter().map(|at| &all[at]);
    let top = all.iter().filter(|line| line.indent == 0);
    let known = |line: &YamlLine<'_>, keys: &[&'static str]| {
        let (key, _) = pair(line.text)?;
        let key = keys.iter().find(|known| **known == key)?;
        Some((super::number(line.at), *key))
    };
    own.filter_map(|line| known(line, &KEYS))
        .chain(top.filter_map(|line| known(line, &["include"])))
        .next()
}

/// The anchor of one of the `blocks` that an alias refers to: what is behind it reaches whoever has that alias.
fn shared<'a>(all: &[YamlLine<'a>], blocks: impl Iterator<Item = usize>) -> Option<&'a str> {
    let value =
        |line: &YamlLine<'_>| pair(line.text).map_or(line.text, |(_, value)| value).to_owned();
    let used = |name: &str| all.iter().any(|line| aliases(&value(line)).contains(&name));
    blocks.filter_map(|at| all[at].anchor).find(|name| used(name))
}

/// # Errors
/// When the service does not exist, its `environment` is written in a way that is not understood, or other services
/// share it.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let all = lines(text)?;
    let services = services(&all);
    let service = choose("service", &services, |service| &service.name, edit.part)?;
    let found = of_service(&all, service);
    let mine = found.iter().rfind(|one| one.name == edit.variable);
    let head = key(&all, service.at, "environment");
    let shared = shared(&all, std::iter::once(service.at).chain(head));
    let by_hand = |at: usize, why: &str| Err(by_hand(all[at].at, why));
    if let Some(at) = not_a_block(&all, service.at, false)
        .or_else(|| head.and_then(|head| not_a_block(&all, head, true)))
    {
        return by_hand(at, NOT_A_BLOCK);
    }
    if let Some(one) = mine.filter(|one| one.own && spans(&all, one.at)) {
        return by_hand(one.at, SPANS);
    }
    if let Some(name) = shared.filter(|_| edit.value.is_some() || mine.is_some()) {
        return by_hand(service.at, &format!("others share it (*{name})"));
    }
    let old = mine.filter(|one| one.own).map(|one| all[one.at].at);
    let Some(value) = edit.value else {
        let Some(at) = old else {
            let Some(other) = mine else { return Ok(text.to_owned()) };
            return by_hand(other.at, "it is taken from there");
        };
        if found.len() == 1 {
            return Err("it is the only variable there: remove `environment` by hand".into());
        }
        return Ok(splice(text, at, at + 1, &[]));
    };
    let value = value.replace('$', "$$");
    let Some(head) = head else {
        if let Some(other) = environment(&all, service.at, DEEPEST) {
            return by_hand(other, "its `environment` is taken from there, all of it or nothing");
        }
        let first = children(&all, service.at).first();
        let Some(first) = first else { return Err("the service is empty".into()) };
        let pad = " ".repeat(first.indent);
        let new =
            [format!("{pad}environment:"), format!("{pad}  {}: {}", edit.variable, quoted(&value))];
        return Ok(splice(text, first.at, first.at, &new));
    };
    let line = &all[head];
    if pair(line.text).is_some_and(|(_, value)| !value.is_empty()) {
        return by_hand(head, "`environment` in one line is not changed automatically");
    }
    let inside = children(&all, head);
    let (item, column) = inside.first().map_or((false, line.column + 2), |l| (l.item, l.indent));
    let pad = " ".repeat(column);
    let new = if item {
        format!("{pad}- {}", quoted(&format!("{}={value}", edit.variable)))
    } else {
        format!("{pad}{}: {}", edit.variable, quoted(&value))
    };
    let (from, to) = old.map_or((line.at + 1, line.at + 1), |at| (at, at + 1));
    Ok(splice(text, from, to, &[new]))
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
}
