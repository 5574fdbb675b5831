//! compose files: `environment:` of a service. <https://docs.docker.com/reference/compose-file/services/>

use super::yaml::{YamlLine, children, choose, is_yaml, lines, pair, quoted, scalar};
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
    is_file: |path, text| {
        is_yaml(path) && text.contains("services:") && !text.contains("containers:")
    },
    // Which file made a container is not known; a manifest or an image are as likely.
    locate: |query| match query.channel {
        Channel::Container(what) => vec![ConfigLocation::new(
            &COMPOSE,
            None,
            format!(
                "{what} has the environment of its configuration: set it in the compose file, manifest or image \
                 (needless fix --in FILE) and create the container again"
            ),
            Confidence::Low,
        )],
        _ => Vec::new(),
    },
    of_image: true,
    ..DEFAULT
};

/// The lines of the service's mapping, and where `environment:` stands in it.
struct ServiceItem<'a> {
    own: Vec<YamlLine<'a>>,
    environment: Option<usize>,
    name: String,
}

fn services<'a>(all: &[YamlLine<'a>]) -> Vec<ServiceItem<'a>> {
    let is_services = |line: &YamlLine<'_>| line.indent == 0 && line.text == "services:";
    let Some(head) = all.iter().position(is_services) else { return Vec::new() };
    let inside = children(all, head);
    let Some(column) = inside.first().map(|line| line.indent) else { return Vec::new() };
    let mut found = Vec::new();
    for (at, line) in inside.iter().enumerate().filter(|(_, line)| line.indent == column) {
        let Some((name, "")) = pair(line.text) else { continue };
        let own = children(inside, at);
        let level = own.first().map_or(0, |line| line.indent);
        let environment = own.iter().position(|line| {
            line.indent == level
                && !line.item
                && pair(line.text).is_some_and(|(key, _)| key == "environment")
        });
        let mut kept = vec![line.clone()];
        kept.extend_from_slice(own);
        found.push(ServiceItem { own: kept, environment: environment.map(|at| at + 1), name });
    }
    found
}

/// Variables of `environment:`, as a mapping or as a list, each with its line.
fn variables(service: &ServiceItem<'_>) -> Vec<(usize, String, Option<String>)> {
    let Some(head) = service.environment else { return Vec::new() };
    let inside = children(&service.own, head);
    let undo = |value: &str| value.replace("$$", "$");
    let all = inside.iter().filter_map(|line| {
        if line.item {
            let text = scalar(line.text);
            match text.split_once('=') {
                Some((name, value)) => Some((line.at, name.to_owned(), Some(undo(value)))),
                None => Some((line.at, text, None)),
            }
        } else {
            let (name, value) = pair(line.text)?;
            let value = (!value.is_empty() && value != "null").then(|| undo(&scalar(value)));
            Some((line.at, name, value))
        }
    });
    all.collect()
}

/// Where the service `part` (or the only one) sets `variable`. A name without a value takes the value of the
/// environment of `docker compose`.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<FoundValue> {
    let Ok(all) = lines(text) else { return Vec::new() };
    let services = services(&all);
    let Ok(service) = choose("service", &services, |service| &service.name, part) else {
        return Vec::new();
    };
    let mine = variables(service).into_iter().filter(|(_, name, _)| name == variable);
    mine.map(|(at, _, value)| {
        let raw = text.lines().nth(at).unwrap_or_default();
        let certain = value.is_some() && !raw.replace("$$", "").contains('$');
        FoundValue { certain, ..FoundValue::set(at, value.unwrap_or_default()) }
    })
    .collect()
}

/// What gives a service more variables: a file of them, another service, another compose file.
fn elsewhere(text: &str, part: Option<&str>) -> Option<(u32, &'static str)> {
    const KEYS: [&str; 2] = ["env_file", "extends"];
    let all = lines(text).ok()?;
    let services = services(&all);
    let service = choose("service", &services, |service| &service.name, part).ok()?;
    let level = service.own.get(1)?.indent;
    let own = service.own[1..].iter().filter(|line| line.indent == level);
    let top = all.iter().filter(|line| line.indent == 0);
    let key = |line: &YamlLine<'_>, keys: &[&'static str]| {
        let (key, _) = pair(line.text)?;
        let key = keys.iter().find(|known| **known == key)?;
        Some((super::number(line.at), *key))
    };
    own.filter_map(|line| key(line, &KEYS))
        .chain(top.filter_map(|line| key(line, &["include"])))
        .next()
}

/// # Errors
/// When the service does not exist, or its `environment` is written in a way that is not understood.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, EnvironmentError> {
    let all = lines(text)?;
    let services = services(&all);
    let service = choose("service", &services, |service| &service.name, edit.part)?;
    let found = variables(service);
    let old = found.iter().rfind(|(_, name, _)| name == edit.variable).map(|(at, ..)| *at);
    let Some(value) = edit.value else {
        let Some(at) = old else { return Ok(text.to_owned()) };
        if found.len() == 1 {
            return Err("it is the only variable there: remove `environment` by hand".into());
        }
        return Ok(splice(text, at, at + 1, &[]));
    };
    let value = value.replace('$', "$$");
    let Some(head) = service.environment else {
        let first = &service.own[1..].first();
        let Some(first) = first else { return Err("the service is empty".into()) };
        let pad = " ".repeat(first.indent);
        let new =
            [format!("{pad}environment:"), format!("{pad}  {}: {}", edit.variable, quoted(&value))];
        return Ok(splice(text, first.at, first.at, &new));
    };
    let head = &service.own[head];
    if pair(head.text).is_some_and(|(_, value)| !value.is_empty()) {
        return Err(format!(
            "line {}: `environment` in one line is not changed automatically: edit it by hand",
            head.at + 1
        )
        .into());
    }
    let inside = children(&service.own, service.environment.unwrap_or(0));
    let (item, column) = inside.first().map_or((false, head.column + 2), |l| (l.item, l.indent));
    let pad = " ".repeat(column);
    let line = if item {
        format!("{pad}- {}", quoted(&format!("{}={value}", edit.variable)))
    } else {
        format!("{pad}{}: {}", edit.variable, quoted(&value))
    };
    Ok(match old {
        Some(at) => splice(text, at, at + 1, &[line]),
        None => splice(text, head.at + 1, head.at + 1, &[line]),
    })
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
}
