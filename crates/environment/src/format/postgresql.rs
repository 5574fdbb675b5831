//! The `environment` file of a Debian PostgreSQL cluster, which pg_ctlcluster(1) reads: nothing else
//! reaches the server. A line that it cannot read keeps the cluster from starting.

use super::{Edit, Found, bare, check, lines, put_line};

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
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let all = lines(text).into_iter().enumerate();
    all.filter_map(|(at, line)| {
        let (name, value) = entry(line)?;
        (name == variable).then(|| Found::set(at, value))
    })
    .collect()
}

/// # Errors
/// Where the value holds a quote, which that file cannot.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    if edit.value.is_some_and(|value| value.contains(['\'', '"', '\\'])) {
        return Err("PostgreSQL's environment file cannot hold a value with quotes".into());
    }
    let found = find(text, edit.variable, None);
    let found: Vec<_> = found.iter().map(|f| (f.line as usize - 1, f.line as usize)).collect();
    let line = edit.value.map(|value| format!("{} = '{value}'", edit.variable));
    Ok(put_line(text, edit, &found, line))
}
