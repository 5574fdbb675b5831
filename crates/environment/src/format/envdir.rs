//! A file of an environment directory, as daemontools' envdir, runit's `chpst -e` and s6-envdir read
//! it: the file's name is the variable, its first line the value.

use super::{Edit, Found, check};

/// The value that the file holds; an empty file removes the variable.
pub(crate) fn find(text: &str, _variable: &str, _part: Option<&str>) -> Vec<Found> {
    if text.is_empty() {
        return vec![Found::removed(0)];
    }
    let first = text.split('\n').next().unwrap_or_default();
    vec![Found::set(0, first.trim_end_matches([' ', '\t']))]
}

/// # Errors
/// Where the value ends in blanks, which are cut, or is empty, which would remove it.
pub(crate) fn put(_text: &str, edit: &Edit<'_>) -> Result<String, String> {
    check(edit)?;
    match edit.value {
        None => Ok(String::new()),
        Some("") => Err("an empty file of an environment directory removes the variable".into()),
        Some(value) if value.ends_with(' ') => {
            Err("blanks at a value's end are cut in an environment directory".into())
        }
        Some(value) => Ok(format!("{value}\n")),
    }
}
