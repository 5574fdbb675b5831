//! `fix --format`: prints what belongs into the source of a file, and writes nothing.

use super::safe_lines;
use crate::cli::FixArgs;
use crate::output;
use anyhow::{Result, bail};
use needless_environment::{self as environment, ChangeRequest, Disk, SnippetFormat};
use std::io::{IsTerminal, Write};

/// Prints the snippet of each change. Returns how many have none.
///
/// # Errors
/// When standard output cannot be written, or why there is no snippet of the change that is `alone`.
pub(super) fn print(
    format: &SnippetFormat,
    changes: &[ChangeRequest],
    disk: &Disk,
    args: &FixArgs,
    alone: bool,
) -> Result<u32> {
    let (mut undone, mut printed) = (0, false);
    let mut out = output::stdout_lines()?;
    for change in changes {
        let label = environment::label(&change.variable, change.value.as_deref());
        let text = match environment::snippet(format, change, disk, (args.restart, args.show_value))
        {
            Ok(text) if text.is_empty() => {
                output::warn(format_args!("already so: {label} in {}", change.location.label));
                continue;
            }
            Ok(text) => text,
            Err(why) if alone => bail!("{label}: {why}"),
            Err(why) => {
                undone += 1;
                output::warn(format_args!("{label}: {why}"));
                continue;
            }
        };
        for caveat in change.times.iter().chain(&change.caveats) {
            output::warn(format_args!("{label}: {caveat}"));
        }
        let text = if printed { format!("{}{text}", format.between) } else { text };
        printed = true;
        let terminal = std::io::stdout().is_terminal();
        let text = if terminal { safe_lines(&text) } else { text };
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(undone)
}
