//! `ship`: copies the windows of an agent to where those of many hosts come together.

use crate::cli::ShipArgs;
use crate::{exit, output};
use anyhow::{Result, anyhow, bail};
use needless_fleet::Shipped;
use needless_model::Exit;
use std::io::Write;

pub(crate) fn ship(args: &ShipArgs) -> Result<Exit> {
    let shipped = needless_fleet::ship(&args.dir, &args.to);
    let Shipped { copied, there, left, refused } = shipped.map_err(|why| {
        anyhow!("{why}; run it again when that is fixed: it continues from there")
    })?;
    let later = if left > 0 { format!(", left to the next time: {left}") } else { String::new() };
    output::quiet(writeln!(
        output::stdout_lines()?,
        "{}, already there: {there}{later}",
        needless_rules::text::count(copied, "window copied", "windows copied")
    ))?;
    if copied + there + left == 0 && refused.is_empty() {
        output::warn(format_args!(
            "{} has no window of an agent; --dir is the directory that the agent has",
            args.dir.display()
        ));
    }
    let Some(first) = refused.first() else { return Ok(exit::DONE) };
    bail!(
        "{} of {} files were not copied, {first} first: not whole, or another file has that name; move them away",
        refused.len(),
        copied + there + refused.len() as u64
    )
}
