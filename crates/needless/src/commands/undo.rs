//! `undo`: takes a change of `fix` back.

use crate::cli::UndoArgs;
use crate::{exit, output};
use anyhow::{Result, anyhow};
use needless_environment::{self as environment, ChangeState, Journal, Recovered, take_effect};
use needless_model::Exit;
use needless_report::escape;
use std::io::Write;
use std::path::Path;

pub(crate) fn undo(args: &UndoArgs) -> Result<Exit> {
    match args.list {
        true => list()?,
        false => take_back(args.id)?,
    }
    Ok(exit::DONE)
}

fn list() -> Result<()> {
    let dir = environment::state_dir().map_err(|why| anyhow!(why))?;
    let mut out = std::io::stdout().lock();
    for entry in Journal::list(&dir).map_err(|why| anyhow!(why))? {
        let state = match entry.state {
            ChangeState::Applied => "holds",
            ChangeState::Undone => "undone",
            ChangeState::RolledBack => "rolled back",
            ChangeState::Begun => "begun",
            ChangeState::Undoing => "being undone",
        };
        writeln!(out, "{:>4}  {state:<12}  {}", entry.id, escape(&entry.what))?;
    }
    Ok(())
}

/// Restores the files of change `wanted`, or of the last one, and makes that take effect.
fn take_back(wanted: Option<u32>) -> Result<()> {
    let dir = environment::state_dir().map_err(|why| anyhow!(why))?;
    let (journal, recovered) = Journal::open(&dir, Path::new("/")).map_err(|why| anyhow!(why))?;
    // An earlier run began to undo it, and opening the journal finished that.
    let finished = |one: &&Recovered| {
        one.entry.state == ChangeState::Undone && wanted.is_none_or(|id| id == one.entry.id)
    };
    let done = recovered.iter().rfind(finished).map(|one| one.entry.clone());
    let id = match (wanted, &done) {
        (Some(id), _) => id,
        (None, Some(entry)) => entry.id,
        (None, None) => journal.last().map_err(|why| anyhow!(why))?,
    };
    for one in &recovered {
        // The wanted one is reported at the end.
        if one.entry.id != id {
            output::warn(one);
        }
    }
    let entry = match done {
        Some(entry) => entry,
        None => journal.undo(id).map_err(|why| anyhow!(why))?,
    };
    let how = if entry.state == ChangeState::RolledBack { "rolled back" } else { "taken back" };
    let mut out = std::io::stdout().lock();
    writeln!(out, "{how}: change {id}, {}", escape(&entry.what))?;
    for command in &entry.after {
        if let Some(hint) = take_effect(command).map_err(|why| anyhow!(why))? {
            writeln!(out, "{}", escape(&hint))?;
        }
    }
    Ok(())
}
