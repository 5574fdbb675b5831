//! After a change: is it in force? Judged by the process of the unit.

use super::calls::Counter;
use super::undo;
use crate::{exit, output};
use anyhow::{Result, anyhow, bail};
use needless_environment::{
    ChangeRequest, ChangeState, Entries, Expected, Journal, JournalEntry, Plan, Seen, overruled,
};
use needless_model::Exit;
use needless_report::escape;
use std::io::Write;
use std::path::Path;

/// Behind the reason why nothing was restarted.
const NOT_STARTED: &str = ", and is not started: the next start has it";

/// Why a change is not in force after a restart.
enum Lacking {
    /// The process does not have it, or the unit did not start: it is to be taken back.
    Missing(anyhow::Error),
    /// It was not seen.
    Unseen(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Lacking {
    fn from(error: E) -> Lacking {
        Lacking::Unseen(error.into())
    }
}

/// Where a restart was asked for, and needless knows none that would help.
fn nothing_restarted(plan: &Plan) -> String {
    format!("nothing restarted: it takes effect with {}", plan.effect)
}

/// The change `id` of the journal. Writes nothing.
///
/// # Errors
/// When there is none of that number, or it cannot be read.
pub(super) fn known(id: u32, state: &Path) -> Result<JournalEntry> {
    let Entries { readable, unreadable } = Journal::list(state)?;
    if let Some((_, why)) = unreadable.iter().find(|(bad, _)| *bad == id) {
        bail!("{}", undo::unreadable_change(id, why));
    }
    let entry = readable.into_iter().find(|entry| entry.id == id);
    entry
        .ok_or_else(|| anyhow!("there is no change {id}: `needless undo --list` lists the changes"))
}

/// `fix --check`: looks for a change of the journal in the process.
pub(super) fn check(id: u32, counter: &Counter<'_>, state: &Path) -> Result<Exit> {
    let entry = known(id, state)?;
    match entry.state {
        ChangeState::Applied => {}
        ChangeState::Undone => bail!("change {id} was undone"),
        _ => bail!("change {id} is not finished: `needless undo {id}` takes it back"),
    }
    let Some(expected) = entry.expected else {
        bail!("change {id} is not about one unit: `needless origin VAR PID` looks at a process");
    };
    let (label, mut out) = (expected.label(), output::stdout_lines()?);
    let (yes, why) = match expected.look() {
        Seen::InForce(who) => (true, who),
        Seen::Pending(why) => match &expected.next {
            Some(next) => (false, format!("{why}: the next {next} has it")),
            None => (false, format!("{why}: restart {}", expected.unit)),
        },
        Seen::Missing(why) => (false, why),
        Seen::Unknown(why) => bail!("change {id} was not seen: {why}"),
    };
    match yes {
        true => {
            writeln!(out, "in force: {} in {}", escape(&label), escape(&why))?;
            if expected.next.is_none() {
                counter.report(&mut out, &expected)?;
            }
        }
        false => writeln!(out, "not in force: {}: {}", escape(&label), escape(&why))?,
    }
    Ok(exit::answer(yes))
}

/// The file says it already: whether the process has it, too. Returns whether there is nothing left to do but a
/// restart.
pub(super) fn already(
    expected: Option<&Expected>,
    plan: &Plan,
    restart: bool,
    counter: &Counter<'_>,
    state: &Path,
) -> Result<bool> {
    let (mut out, what) = (output::stdout_lines()?, escape(&plan.what));
    // Returns whether it did.
    let again = |out: &mut dyn Write| -> Result<bool> {
        if !restart || !plan.activation.is_known() {
            return Ok(false);
        }
        plan.activation.run()?;
        let words = plan.activation.to_string();
        writeln!(out, "{}: {}", plan.activation.verb(), escape(&words))?;
        Ok(true)
    };
    let Some(expected) = expected else {
        writeln!(out, "already so: {what}")?;
        if again(&mut out)? {
            let looks = format!("`needless origin {} PID` looks at a process", plan.variable);
            writeln!(out, "not looked at: {looks}")?;
        } else if restart {
            writeln!(out, "{}", nothing_restarted(plan))?;
        }
        return Ok(true);
    };
    let seen = expected.look();
    if let (Some(next), Seen::Pending(why) | Seen::Missing(why) | Seen::Unknown(why)) =
        (&expected.next, &seen)
    {
        again(&mut out)?;
        writeln!(out, "already so: {what}: {}: the next {next} has it", escape(why))?;
        return Ok(true);
    }
    match seen {
        Seen::InForce(who) => writeln!(out, "already so: {what}, in force in {}", escape(&who))?,
        Seen::Unknown(why) if !expected.is_active() => {
            let more = if restart { NOT_STARTED } else { "" };
            writeln!(out, "already so: {what} ({}{more})", escape(&why))?;
        }
        Seen::Unknown(why) => writeln!(out, "already so: {what} ({})", escape(&why))?,
        _ if restart => {
            let mut expected = expected.clone();
            counter.before(&mut expected)?;
            // An earlier run wrote it, or somebody else did.
            let (journal, _) = undo::open(&mut out, state, None)?;
            let ours = journal.entries()?.readable.into_iter().rfind(|entry| {
                let same = entry.expected.as_ref().is_some_and(|one| one.is_same(&expected));
                entry.state == ChangeState::Applied && same
            });
            let id = ours.map(|entry| entry.id);
            restart_and_look(&mut out, &expected, plan, id, &journal, counter)?;
        }
        Seen::Pending(why) | Seen::Missing(why) => {
            let (why, words) = (escape(&why), plan.activation.to_string());
            writeln!(out, "written, not in force: {what}: {why}: restart: `{}`", escape(&words))?;
        }
    }
    Ok(true)
}

/// Says how a change that was written comes into force.
pub(super) fn pending(
    out: &mut impl Write,
    expected: &Expected,
    plan: &Plan,
    id: u32,
    restart: bool,
) -> Result<()> {
    let words = plan.activation.to_string();
    match expected.look() {
        Seen::InForce(who) => writeln!(out, "in force: {} already has it", escape(&who))?,
        Seen::Unknown(why) if restart => writeln!(
            out,
            "written: {}{NOT_STARTED}; then `needless fix --check {id}` looks",
            escape(&why)
        )?,
        Seen::Unknown(why) => {
            writeln!(
                out,
                "written: {}; when it was started, `needless fix --check {id}` looks",
                escape(&why)
            )?;
        }
        _ => writeln!(
            out,
            "written, not in force: restart: `{}`; then `needless fix --check {id}`",
            escape(&words)
        )?,
    }
    Ok(())
}

/// After a change for which no process is known in which to look yet: what the user can do.
///
/// # Errors
/// When the restart fails, or the reader of the file then says that it uses another value.
pub(super) fn unseen(
    out: &mut impl Write,
    (change, expected): (&ChangeRequest, Option<&Expected>),
    plan: &Plan,
    id: u32,
    restart: bool,
    journal: &Journal,
) -> Result<()> {
    let (words, verb) = (plan.activation.to_string(), plan.activation.verb());
    let next = expected.and_then(|expected| expected.next.as_deref());
    let origin = match next {
        Some(next) => format!("the next {next} has it; then `needless fix --check {id}` looks"),
        None if plan.variable.is_empty() => format!("it takes effect with {}", plan.effect),
        None => format!("`needless origin {} PID` looks at a process", change.variable),
    };
    if change.location.place.is_of_image() {
        return if restart { Ok(writeln!(out, "{}", nothing_restarted(plan))?) } else { Ok(()) };
    }
    if !restart {
        let more = match (next, &*words) {
            (None, _) if plan.variable.is_empty() => String::new(),
            (None, _) => ", not looked at".to_owned(),
            (Some(_), "") => String::new(),
            (Some(_), words) => format!(", not in force: `{words}`"),
        };
        return Ok(writeln!(out, "written{}: {origin}", escape(&more))?);
    }
    if !plan.activation.is_known() {
        let why = match next {
            Some(_) => "written, and nothing to restart",
            None => "nothing to restart: no program is known that reads it again",
        };
        return Ok(writeln!(out, "{why}; {origin}")?);
    }
    let stays = |why| anyhow!("{why}; the change stays: `needless undo {id}` takes it back");
    plan.activation.run().map_err(stays)?;
    if let Some(why) = overruled(change) {
        undo::announce(out, journal, &journal.undo(id)?)?;
        plan.activation.run().map_err(|error| anyhow!("{why}; taken back, but {error}"))?;
        bail!("{why}; taken back, and {verb} once more");
    }
    let seen = if next.is_some() { "" } else { "not looked at: " };
    Ok(writeln!(out, "{verb}: {}; {seen}{origin}", escape(&words))?)
}

/// Restarts the unit, looks at its new process and counts its calls. The change `id` of the journal is taken back if
/// the process did not get it.
///
/// # Errors
/// When it is not in force.
pub(super) fn restart_and_look(
    out: &mut impl Write,
    expected: &Expected,
    plan: &Plan,
    id: Option<u32>,
    journal: &Journal,
    counter: &Counter<'_>,
) -> Result<()> {
    // If this run is killed from here on, the next one looks.
    id.map_or(Ok(()), |id| journal.on_trial(id))?;
    // What is said is written at the end: no write may end the trial.
    let mut said = Vec::new();
    let looked = trial(&mut said, expected, plan, counter);
    let written = out.write_all(&said);
    match (looked, id) {
        (Ok(()), id) => {
            id.map_or(Ok(()), |id| journal.tried(id))?;
            Ok(written?)
        }
        (Err(Lacking::Unseen(why)), Some(id)) => {
            journal.tried(id)?;
            bail!("{why}; the change stays: `needless fix --check {id}`, `needless undo {id}`")
        }
        (Err(Lacking::Missing(why)), Some(id)) => {
            let back = match journal.take_back(id) {
                Ok(back) => back,
                Err(error) => {
                    // Said once. What has begun to be taken back is finished by a later run.
                    journal.tried(id)?;
                    bail!("{why}; not taken back: {error}");
                }
            };
            undo::announce(out, journal, &back)
                .map_err(|error| anyhow!("{why}; taken back, but {error}"))?;
            bail!("{why}; taken back, and {} once more", plan.activation.verb())
        }
        (Err(Lacking::Missing(why) | Lacking::Unseen(why)), None) => Err(why),
    }
}

/// Restarts the unit, looks at its new process, counts, and looks again.
fn trial(
    out: &mut impl Write,
    expected: &Expected,
    plan: &Plan,
    counter: &Counter<'_>,
) -> Result<(), Lacking> {
    let (label, verb) = (expected.label(), plan.activation.verb());
    plan.activation
        .run()
        .map_err(|why| Lacking::Missing(anyhow!("{label}: the restart failed: {why}")))?;
    let mut restarts = expected.restarts();
    writeln!(out, "{verb}: {}", escape(&plan.activation.to_string()))?;
    let who = match expected.look_after_restart() {
        Seen::InForce(who) => who,
        Seen::Unknown(why) => {
            return Err(Lacking::Unseen(anyhow!("{label} was not seen: {why}")));
        }
        Seen::Pending(why) | Seen::Missing(why) => {
            return Err(Lacking::Missing(anyhow!("{label}: {why}")));
        }
    };
    if !expected.is_unit() {
        // Its supervisor may not have waited for the new process.
        restarts = expected.restarts();
    }
    let mut counted = Vec::new();
    counter.report(&mut counted, expected)?;
    if let Some(why) = expected.did_not_last(restarts) {
        return Err(Lacking::Missing(anyhow!("{label}: {why}")));
    }
    writeln!(out, "in force: {} in {}", escape(&label), escape(&who))?;
    Ok(out.write_all(&counted)?)
}
