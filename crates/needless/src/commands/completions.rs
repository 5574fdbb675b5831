//! `completions`: the script with which a shell completes the command line.

use crate::cli::{self, CompletionsArgs};
use crate::context::Context;
use crate::exit;
use crate::output::Output;
use anyhow::Result;
use needless_model::Exit;

pub(crate) fn completions(args: &CompletionsArgs, context: &Context) -> Result<Exit> {
    Output::stdout(context).write(&cli::completions(args))?;
    Ok(exit::DONE)
}
