//! compose files: `environment:` of a service. <https://docs.docker.com/reference/compose-file/services/>

use super::yaml::{Line, children, lines, pair, quoted, scalar};
use super::{Edit, Found, check, splice};

/// The lines of the service's mapping, and where `environment:` stands in it.
struct Service<'a> {
    own: Vec<Line<'a>>,
    environment: Option<usize>,
    name: String,
}

fn services<'a>(all: &[Line<'a>]) -> Vec<Service<'a>> {
    let is_services = |line: &Line<'_>| line.indent == 0 && line.text == "services:";
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
        found.push(Service { own: kept, environment: environment.map(|at| at + 1), name });
    }
    found
}

/// Variables of `environment:`, as a mapping or as a list, each with its line.
fn variables(service: &Service<'_>) -> Vec<(usize, String, Option<String>)> {
    let Some(head) = service.environment else { return Vec::new() };
    let inside = children(&service.own, head);
    let undo = |value: &str| value.replace("$$", "$");
    let all = inside.iter().filter_map(|line| match line.item {
        true => {
            let text = scalar(line.text);
            match text.split_once('=') {
                Some((name, value)) => Some((line.at, name.to_owned(), Some(undo(value)))),
                None => Some((line.at, text, None)),
            }
        }
        false => {
            let (name, value) = pair(line.text)?;
            let value = (!value.is_empty() && value != "null").then(|| undo(&scalar(value)));
            Some((line.at, name, value))
        }
    });
    all.collect()
}

/// Where the service `part` (or the only one) sets `variable`. A name without a value takes the
/// caller's.
pub(crate) fn find(text: &str, variable: &str, part: Option<&str>) -> Vec<Found> {
    let Ok(all) = lines(text) else { return Vec::new() };
    let services = services(&all);
    let Ok(service) = choose(&services, part) else { return Vec::new() };
    let mine = variables(service).into_iter().filter(|(_, name, _)| name == variable);
    mine.map(|(at, _, value)| {
        let raw = text.lines().nth(at).unwrap_or_default();
        let certain = value.is_some() && !raw.replace("$$", "").contains('$');
        Found { certain, ..Found::set(at, value.unwrap_or_default()) }
    })
    .collect()
}

/// The names of the services of a file.
fn choose<'a, 'b>(
    services: &'b [Service<'a>],
    part: Option<&str>,
) -> Result<&'b Service<'a>, String> {
    let names = || services.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
    match (part, services) {
        (Some(part), all) => all
            .iter()
            .find(|service| service.name == part)
            .ok_or_else(|| format!("there is no service {part}; there are: {}", names())),
        (None, [one]) => Ok(one),
        (None, []) => Err("there is no service in it that is understood".into()),
        (None, _) => Err(format!("which service is meant? There are: {}", names())),
    }
}

/// # Errors
/// Where the service is not there, or its `environment` is written in a way that is not understood.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    let all = lines(text)?;
    let services = services(&all);
    let service = choose(&services, edit.part)?;
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
            "line {}: `environment` in one line is not changed by a tool",
            head.at + 1
        ));
    }
    let inside = children(&service.own, service.environment.unwrap_or(0));
    let (item, column) = inside.first().map_or((false, head.column + 2), |l| (l.item, l.indent));
    let pad = " ".repeat(column);
    let line = match item {
        true => format!("{pad}- {}", quoted(&format!("{}={value}", edit.variable))),
        false => format!("{pad}{}: {}", edit.variable, quoted(&value)),
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
        assert_eq!(find(TEXT, "TZ", Some("web")), [Found::set(5, "Asia/Tokyo")]);
        assert_eq!(find(TEXT, "TZ", Some("db")), [Found::set(9, "UTC")]);
        assert!(!find(TEXT, "B", Some("db"))[0].certain);
        let edit = |part| Edit { variable: "TZ", value: Some("a$b"), part };
        assert!(put(TEXT, &edit(None)).unwrap_err().contains("web, db"));
        let new = put(TEXT, &edit(Some("web"))).unwrap();
        assert!(new.contains("      - \"TZ=a$$b\"\n"), "{new}");
        assert_eq!(find(&new, "TZ", Some("web"))[0].value.as_deref(), Some("a$b"));
    }
}
