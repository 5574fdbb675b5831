//! The `environment` file of a Debian PostgreSQL cluster, which pg_ctlcluster(1) reads: nothing else reaches the
//! server. A line that it cannot read prevents the cluster from starting: a person writes it.

use super::{Edit, FoundValue, bare, lines};
use crate::activation::Activation;
use crate::error::EnvironmentError;
use crate::hand_line::HandLine;
use crate::place::{DEFAULT, Destination, LocationQuery, Place};
use crate::started_by::StartedBy;
use needless_model::Confidence;

/// The environment of a PostgreSQL cluster.
pub static POSTGRESQL: Place = Place {
    name: "PostgreSQL cluster",
    files: "/etc/postgresql/VERSION/CLUSTER/environment",
    reaches: "the server and what it runs; its starter clears the rest (Debian)",
    effect: "a restart of the cluster",
    find,
    by_hand: Some(line_by_hand),
    is_file: |path, _| path.below("/postgresql/") && path.name() == "environment",
    locate: |query| match query.started_by {
        StartedBy::Postgresql { version, cluster } => vec![location(query, version, cluster)],
        _ => Vec::new(),
    },
    ..DEFAULT
};

fn entry(line: &str) -> Option<(String, String)> {
    let line = bare(line).trim();
    let (name, value) = line.split_once('=').filter(|_| !line.starts_with('#'))?;
    let (name, value) = (name.trim(), value.trim());
    super::check_name(name).ok()?;
    let value = match value.strip_prefix('\'') {
        Some(quoted) => quoted.split_once('\'')?.0,
        None => value.split(['#', ' ', '\t']).next()?,
    };
    Some((name.to_owned(), value.to_owned()))
}

/// Where `text` sets `variable`; the last counts.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<FoundValue> {
    let all = lines(text).into_iter().enumerate();
    all.filter_map(|(at, line)| {
        let (name, value) = entry(line)?;
        (name == variable).then(|| FoundValue::set(at, value))
    })
    .collect()
}

/// # Errors
/// When the value holds a quote, which that file cannot express.
fn line_by_hand(text: &str, edit: &Edit<'_>) -> Result<HandLine, EnvironmentError> {
    let value = edit.value.unwrap_or_default();
    if value.contains(['\'', '"', '\\']) {
        return Err("PostgreSQL's environment file cannot hold a value with quotes".into());
    }
    let line = format!("{} = '{value}'", edit.variable);
    Ok(HandLine::anywhere(line, &find(text, edit.variable, None)))
}

fn location(query: &LocationQuery<'_>, version: &str, cluster: &str) -> Destination {
    let file = format!("/etc/postgresql/{version}/{cluster}/environment");
    let why =
        "pg_ctlcluster replaces the environment by this file: a drop-in of the unit has no effect";
    let unit = format!("postgresql@{version}-{cluster}.service");
    let known = query.root.read(&file).is_ok();
    let confidence = if known { Confidence::High } else { Confidence::Low };
    let location = Destination::new(&POSTGRESQL, file, why, confidence);
    location.activation(Activation::restart(&unit))
}
