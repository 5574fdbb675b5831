//! `undo`: takes a change of `fix` back.

use super::fix;
use crate::cli::UndoArgs;
use crate::exit::UnitDown;
use crate::{exit, output};
use anyhow::{Result, anyhow, bail};
use needless_environment::{
    self as environment, Activation, ChangeState, Entries, EnvironmentError, Expected, Journal,
    JournalEntry, Plan, Recovered, Seen, UnitState,
};
use needless_model::Exit;
use needless_report::escape;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a run waits for another one that changes files.
const PATIENCE: Duration = Duration::from_secs(10);
/// A command that takes longer is named, because nothing is seen of it.
const SOON: Duration = Duration::from_secs(2);

pub(crate) fn undo(args: &UndoArgs) -> Result<Exit> {
    if args.list {
        list()?
    } else if let Some(id) = args.forget {
        forget(id)?
    } else {
        take_back(args.id, args.yes)?
    }
    Ok(exit::DONE)
}

fn list() -> Result<()> {
    let dir = environment::state_dir()?;
    let mut out = output::stdout_lines()?;
    let Entries { readable, unreadable } = Journal::list(&dir)?;
    if readable.is_empty() && unreadable.is_empty() {
        writeln!(out, "no changes")?;
    }
    for entry in readable {
        let state = match entry.state {
            ChangeState::Applied => "holds",
            ChangeState::Undone => "undone",
            ChangeState::RolledBack => "rolled back",
            ChangeState::Begun => "begun",
            ChangeState::Undoing => "being undone",
            ChangeState::Forgotten => "forgotten",
        };
        writeln!(out, "{:>4}  {state:<12}  {}", entry.id, escape(&entry.what))?;
        if is_open(&entry) {
            output::warn(format_args!(
                "change {} is not finished: another needless works on it, or was killed; the next command that may write finishes it or takes it back",
                entry.id
            ));
        }
    }
    if let [(id, why), more @ ..] = &unreadable[..] {
        more.iter().rev().for_each(|(id, why)| output::warn(unreadable_change(*id, why)));
        bail!(unreadable_change(*id, why));
    }
    Ok(())
}

/// A change of the journal that cannot be read, for the user.
pub(super) fn unreadable_change(id: u32, why: &EnvironmentError) -> String {
    format!("change {id} cannot be read and is left alone: {why}")
}

/// Leaves the files of a change as they are, after what an earlier run left of others.
fn forget(id: u32) -> Result<()> {
    let (mut out, dir) = (output::stdout_lines()?, environment::state_dir()?);
    finish_earlier(&mut out, &dir, Some(id))?;
    let (journal, _) = open(&mut out, &dir, Some(id))?;
    let entry = journal.forget(id)?;
    writeln!(out, "forgotten: change {id}, {}; its files stay as they are", escape(&entry.what))?;
    Ok(())
}

/// Restores the files of change `wanted`, or of the last one, and makes that take effect. `yes`: lines that others have
/// written since are kept without asking.
fn take_back(wanted: Option<u32>, yes: bool) -> Result<()> {
    let mut out = output::stdout_lines()?;
    let dir = environment::state_dir()?;
    let (mut journal, recovered) = open(&mut out, &dir, wanted)?;
    // An earlier run began to undo it, and opening the journal finished that.
    let finished = |one: &&Recovered| {
        one.entry.state == ChangeState::Undone && wanted.is_none_or(|id| id == one.entry.id)
    };
    let done = recovered.iter().rfind(finished).map(|one| one.entry.clone());
    let id = match (wanted, &done) {
        (Some(id), _) => id,
        (None, Some(entry)) => entry.id,
        (None, None) => journal.last()?,
    };
    for one in &recovered {
        // The wanted one is reported at the end.
        if one.entry.id != id {
            output::warn(one);
        }
    }
    // Its process was restarted with it, or is being restarted; somebody may have stopped it since.
    let mut stays_stopped = false;
    let entry = match done {
        Some(entry) => entry,
        None => {
            let entry = journal.entry(id)?;
            let is_stopped = || entry.expected.first().is_some_and(Expected::is_stopped);
            stays_stopped = entry.on_trial && is_stopped();
            let restarts = entry.on_trial && !stays_stopped;
            for caveat in UnitState::caveats_of_undo(&entry.after, &entry.expected) {
                writeln!(out, "caveat   {}", escape(&caveat))?;
            }
            let mut merged = Vec::new();
            if let Some(plan) = journal.merge(id)? {
                // Nobody else has to wait for the answer.
                drop(journal);
                agree(&mut out, id, &plan, yes)?;
                (journal, merged) = (Journal::open(&dir, Path::new("/"))?.0, plan.files);
            }
            journal.undo_merged(id, &merged, restarts)?
        }
    };
    let how = if entry.state == ChangeState::RolledBack { "rolled back" } else { "taken back" };
    let written = writeln!(out, "{how}: change {id}, {}", escape(&entry.what));
    // Where an earlier run began to undo it, opening the journal has done this.
    if !journal.entry(id)?.announced {
        let done = announce(&mut out, &journal, &entry);
        done.map_err(|why| if entry.restarted { failed(why, &entry.expected) } else { why })?;
    }
    written?;
    if let Some(expected) = entry.expected.first().filter(|_| stays_stopped) {
        let unit = escape(&expected.unit);
        writeln!(
            out,
            "{unit} was stopped, and is not started: its next start has what the files say now"
        )?;
        return Ok(());
    }
    who_keeps_it(&mut out, &entry)?;
    let why = format!("change {id} is taken back; its unit was restarted, and does not run");
    match entry.restarted.then(|| down(&entry.expected, &why)).flatten() {
        Some(down) => Err(down.into()),
        None => Ok(()),
    }
}

/// The unit, where it is down after its restart.
fn down(expected: &[Expected], why: &str) -> Option<UnitDown> {
    let Expected { unit, user, .. } = expected.first().filter(|one| one.is_down())?;
    Some(UnitDown { unit: unit.clone(), user: *user, why: why.to_owned() })
}

/// The error of a restart: an own kind where the unit is down now.
pub(super) fn failed(why: anyhow::Error, expected: &[Expected]) -> anyhow::Error {
    down(expected, &format!("{why:#}")).map_or(why, Into::into)
}

/// Shows what is taken out of files that others have changed since, and asks.
fn agree(out: &mut impl Write, id: u32, plan: &Plan, yes: bool) -> Result<()> {
    if !yes && !std::io::stdin().is_terminal() {
        let path = plan.files.first().map_or("", |file| &file.path);
        bail!(
            "{path}: it has changed since, and there is no terminal to ask on: `needless undo {id} --yes` takes out the change, and keeps the rest"
        );
    }
    let diff = fix::safe_lines(&plan.diff_to_show());
    writeln!(
        out,
        "{}\n  since    others have changed it: their lines stay\n\n{diff}",
        escape(&plan.what)
    )?;
    out.flush()?;
    if !yes && !fix::says_yes()? {
        bail!("nothing was undone");
    }
    Ok(())
}

/// Which process still has the value of a change that was taken back: files are restored, processes are not.
fn who_keeps_it(out: &mut impl Write, entry: &JournalEntry) -> std::io::Result<()> {
    if let Some(last) = entry.after.last().filter(|_| entry.restarted) {
        return writeln!(out, "{}: {}", last.verb(), escape(&last.to_string()));
    }
    if entry.expected.is_empty() {
        return writeln!(out, "processes that run keep the value until they are restarted");
    }
    for expected in &entry.expected {
        let Seen::InForce(who) = expected.look() else { continue };
        let (who, label, words) = (escape(&who), expected.label(), &expected.activation);
        let how = match &expected.next {
            Some(next) => format!("the next {next} has what the files say now"),
            None => format!("`{words}` gives it what the files say now"),
        };
        writeln!(out, "{who} still has {}: {}", escape(&label), escape(&how))?;
    }
    Ok(())
}

/// Opens the journal, and waits where another needless changes files.
pub(super) fn wait_for_journal(state: &Path) -> Result<(Journal, Vec<Recovered>)> {
    let mut waiting = || output::inform("waiting for another needless, which is changing files");
    Ok(Journal::open_within(state, Path::new("/"), PATIENCE, &mut waiting)?)
}

/// Opens the journal. Reports what cannot be read in it, but for `wanted`; and announces what a run that was killed did
/// not: the reader of a file may know another text than the one that is there.
pub(super) fn open(
    out: &mut impl Write,
    state: &Path,
    wanted: Option<u32>,
) -> Result<(Journal, Vec<Recovered>)> {
    let (journal, recovered) = wait_for_journal(state)?;
    for (id, why) in journal.unreadable.iter().filter(|(id, _)| Some(*id) != wanted) {
        output::warn(unreadable_change(*id, why));
    }
    for entry in journal.entries()?.readable.iter().filter(|entry| !entry.announced) {
        if let Err(why) = announce(out, &journal, entry) {
            output::warn(format_args!("change {}: {why}", entry.id));
        }
    }
    Ok((journal, recovered))
}

/// Whether a change was begun, or its undoing, and not finished.
fn is_open(entry: &JournalEntry) -> bool {
    matches!(entry.state, ChangeState::Begun | ChangeState::Undoing)
}

/// Finishes what an earlier run that was killed did not, before this one looks at files and processes: its change, the
/// commands after it, and the look at a process that it restarted, but for that of the change `wanted`. Returns whether
/// there was something and was reported.
pub(super) fn finish_earlier(
    out: &mut impl Write,
    state: &Path,
    wanted: Option<u32>,
) -> Result<bool> {
    let unfinished = |entry: &JournalEntry| is_open(entry) || entry.on_trial || !entry.announced;
    // A journal that cannot be used is an error for whoever writes.
    if !Journal::list(state).is_ok_and(|all| all.readable.iter().any(unfinished)) {
        return Ok(false);
    }
    let (journal, recovered) = match open(out, state, wanted) {
        Ok(opened) => opened,
        Err(why) => {
            output::warn(why);
            return Ok(false);
        }
    };
    recovered.iter().for_each(output::warn);
    let all = journal.entries()?.readable;
    for entry in all.iter().filter(|entry| entry.on_trial && Some(entry.id) != wanted) {
        if let Err(why) = look_again(out, &journal, entry) {
            output::warn(format_args!("change {}: {why}", entry.id));
        }
    }
    Ok(true)
}

/// Looks at a process that was restarted with a change, by a run that was killed before it looked.
fn look_again(out: &mut impl Write, journal: &Journal, entry: &JournalEntry) -> Result<()> {
    // Where it is pending, the process was not restarted.
    let missing = |one: &Expected| match one.look_late() {
        Seen::Missing(why) => Some(why),
        _ => None,
    };
    let Some(why) = entry.expected.iter().find_map(missing) else {
        return Ok(journal.tried(entry.id)?);
    };
    let entry = match journal.take_back(entry.id) {
        Ok(entry) => entry,
        Err(error) => {
            // Said once. What has begun to be taken back is finished by a later run.
            journal.tried(entry.id)?;
            bail!("{why}; not taken back: {error}");
        }
    };
    let (what, why) = (escape(&entry.what), escape(&why));
    let written = writeln!(out, "taken back: change {}, {what}: {why}", entry.id);
    let announced = announce(out, journal, &entry);
    if let Some(down) = down(&entry.expected, &why) {
        down.warn();
    }
    announced?;
    Ok(written?)
}

/// Runs what has the files of a change read again, once: it is not tried again where it fails.
pub(super) fn announce(
    out: &mut impl Write,
    journal: &Journal,
    entry: &JournalEntry,
) -> Result<()> {
    announce_or(out, journal, entry, &|activation, why| match activation {
        Activation::Restart { unit, user } => {
            let user = if *user { "--user " } else { "" };
            anyhow!(
                "{why}: the restart after that failed: look at `systemctl {user}status {unit}`, then start it"
            )
        }
        _ => anyhow!(
            "{why}: the file is written, but its reader does not know yet: run that command where it runs"
        ),
    })
}

/// The same; `failed` makes the error where a command fails. The change stays.
pub(super) fn announce_or(
    out: &mut impl Write,
    journal: &Journal,
    entry: &JournalEntry,
    failed: &dyn Fn(&Activation, EnvironmentError) -> anyhow::Error,
) -> Result<()> {
    let done = entry.after.iter().try_for_each(|one| {
        match patiently(one, || one.take_effect()).map_err(|why| failed(one, why))? {
            Some(hint) => Ok(writeln!(out, "{}", escape(&hint))?),
            None => Ok(()),
        }
    });
    journal.announced(entry.id)?;
    done
}

/// Does what `activation` does, and names the command where that takes long.
pub(super) fn patiently<T>(activation: &Activation, work: impl FnOnce() -> T) -> T {
    let (ended, end) = channel::<()>();
    let watch = move || {
        if end.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
            output::inform(format_args!("running `{activation}` …"));
        }
    };
    std::thread::scope(|scope| {
        // Where there can be no thread, nothing is said.
        let _ = std::thread::Builder::new().spawn_scoped(scope, watch);
        let done = work();
        drop(ended);
        done
    })
}
