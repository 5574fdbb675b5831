//! `man`: the manual pages, for what installs needless.

use crate::cli::{self, ManArgs};
use crate::context::Context;
use crate::exit;
use crate::output::Output;
use anyhow::Result;
use needless_model::Exit;

pub(crate) fn manual(args: &ManArgs, context: &Context) -> Result<Exit> {
    Output::stdout(context).write(&cli::manual(args)?)?;
    Ok(exit::DONE)
}
