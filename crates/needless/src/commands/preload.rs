//! `preload`: becomes the command with our time functions, or prints the variable that preloads them.

use crate::cli::PreloadArgs;
use crate::context::Context;
use crate::exit::{self, ErrorStatus};
use crate::output::{self, Output};
use anyhow::Result;
use needless_model::Exit;
use std::io::Write;

pub(crate) fn preload(args: &PreloadArgs, context: &Context) -> Result<Exit> {
    if !args.print {
        let warn = |text: &str| output::warn(text);
        let caller = context.user.caller();
        return Err(needless_observe::preload(&args.command, caller, args.once, warn).into());
    }
    let library = needless_observe::preload_library()?;
    let printed =
        Output::stdout(context).emit(|out, _| writeln!(out, "LD_PRELOAD={}", library.display()));
    // No command runs here.
    Ok(printed.map_or_else(|error| ErrorStatus::Plain.end(&error), |()| exit::DONE))
}
