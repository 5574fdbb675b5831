//! environment.d(5): like the files of `EnvironmentFile=`, with variables expanded.

use super::environment_file::{entries, word};
use super::{Edit, Found, check, put_line};

/// Where `text` sets `variable`. A value with `$` depends on other variables.
pub(crate) fn find(text: &str, variable: &str, _part: Option<&str>) -> Vec<Found> {
    let all = entries(text).into_iter().filter(|entry| entry.name == variable);
    all.map(|entry| Found {
        certain: !entry.value.contains('$'),
        ..Found::set(entry.from, entry.value)
    })
    .collect()
}

/// # Errors
/// Where the value holds `$`, which is expanded even inside quotes, or control characters.
pub(crate) fn put(text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    if edit.value.is_some_and(|value| value.contains(['$', '\\'])) {
        return Err("environment.d expands $ and \\ in every value: set it by hand".into());
    }
    let all = entries(text);
    let found: Vec<_> =
        all.iter().filter(|e| e.name == edit.variable).map(|e| (e.from, e.to)).collect();
    let line = edit.value.map(|value| format!("{}={}", edit.variable, word(value)));
    Ok(put_line(text, edit, &found, line))
}
