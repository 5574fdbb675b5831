//! What is written into a crontab: a line that sets a variable, or a word of a job's command.

use crate::error::EnvironmentError;
use crate::places::shell;

/// The longest line that sets a variable, bytes: Debian 12's cron cuts a longer one (`MAX_ENVSTR` of Vixie's cron is 1000).
const LONGEST: usize = 998;

/// The assignment as a word of a job's command.
///
/// # Errors
/// When cron or the shell would take a character of it for its own.
pub(super) fn in_command(variable: &str, value: &str) -> Result<String, EnvironmentError> {
    if value.contains(['%', '\\']) {
        return Err("a job's command cannot hold a value with % or \\: set it by hand".into());
    }
    Ok(format!("{variable}={}", shell::word(value)))
}

/// The line that sets a variable.
///
/// # Errors
/// When no quotes can hold the value, or cron would cut the line.
pub(super) fn line_of(variable: &str, value: &str) -> Result<String, EnvironmentError> {
    let line = format!("{variable}={}", word(value)?);
    if line.len() > LONGEST {
        return Err(format!("cron cuts a line that sets a variable after {LONGEST} bytes").into());
    }
    Ok(line)
}

fn word(value: &str) -> Result<String, EnvironmentError> {
    let plain = !value.is_empty() && value.trim() == value && !value.contains(['"', '\'']);
    match (plain, value.contains('"'), value.contains('\'')) {
        (true, ..) => Ok(value.to_owned()),
        (_, false, _) => Ok(format!("\"{value}\"")),
        (.., false) => Ok(format!("'{value}'")),
        _ => Err("a crontab cannot hold a value with both kinds of quotes".into()),
    }
}
