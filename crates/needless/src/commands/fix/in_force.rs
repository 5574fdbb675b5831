//! After a change: is it in force? Judged by the process of the unit.

use super::calls::Counter;
use super::undo;
use crate::{exit, output};
use anyhow::{Result, anyhow, bail};
use needless_environment::{
    Activation, ChangeRequest, ChangeState, Entries, Expected, Journal, JournalEntry, Plan, Seen,
    overruled,
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
    /// It is in force, and saves nothing.
    Useless(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Lacking {
    fn from(error: E) -> Lacking {
        Lacking::Unseen(error.into())
    }
}

/// Where a restart was asked for, and needless knows none that would help.
fn nothing_restarted(plan: &Plan) -> String {
    match plan.activation.left_to_user() {
        [] => format!("nothing restarted: it takes effect with {}", plan.effect),
        each => {
            let each: Vec<String> = each.iter().map(|one| format!("`{one}`")).collect();
            let each = each.join(", ");
            format!("nothing restarted: fix looks at one unit, and these are several: {each}")
        }
    }
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
    let Some(first) = entry.expected.first() else {
        bail!("change {id} is not about one unit: `needless origin VAR PID` looks at a process");
    };
    let (mut all, mut out) = (true, output::stdout_lines()?);
    for expected in &entry.expected {
        let label = expected.label();
        let why = match expected.look() {
            Seen::InForce(who) => {
                writeln!(out, "in force: {} in {}", escape(&label), escape(&who))?;
                continue;
            }
            Seen::Pending(why) => match &expected.next {
                Some(next) => format!("{why}: the next {next} has it"),
                None => format!("{why}: restart {}", expected.unit),
            },
            Seen::Missing(why) => why,
            Seen::Unknown(why) => bail!("change {id} was not seen: {why}"),
        };
        all = false;
        writeln!(out, "not in force: {}: {}", escape(&label), escape(&why))?;
    }
    if all && first.next.is_none() {
        counter.report(&mut out, &entry.expected)?;
    }
    Ok(exit::answer(all))
}

/// The file says it already: whether the process has it, too.
pub(super) fn already(
    expected: Option<&Expected>,
    plan: &Plan,
    restart: bool,
    counter: &Counter<'_>,
    state: &Path,
) -> Result<()> {
    let (mut out, what) = (output::stdout_lines()?, escape(&plan.what));
    // Returns whether it did.
    let again = |out: &mut dyn Write| -> Result<bool> {
        if !restart || !plan.activation.is_known() {
            return Ok(false);
        }
        undo::patiently(&plan.activation, || plan.activation.run())?;
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
        return Ok(());
    };
    let seen = expected.look();
    if let (Some(next), Seen::Pending(why) | Seen::Missing(why) | Seen::Unknown(why)) =
        (&expected.next, &seen)
    {
        again(&mut out)?;
        return Ok(writeln!(out, "already so: {what}: {}: the next {next} has it", escape(why))?);
    }
    match seen {
        Seen::InForce(who) => writeln!(out, "already so: {what}, in force in {}", escape(&who))?,
        Seen::Unknown(why) if !expected.is_active() => {
            let more = if restart { NOT_STARTED } else { "" };
            writeln!(out, "already so: {what} ({}{more})", escape(&why))?;
        }
        Seen::Unknown(why) => writeln!(out, "already so: {what} ({})", escape(&why))?,
        _ if restart => {
            let mut all = [expected.clone()];
            counter.before(&mut all)?;
            // An earlier run wrote it, or somebody else did.
            let (journal, _) = undo::open(&mut out, state, None)?;
            let ours = journal.entries()?.readable.into_iter().rfind(|entry| {
                let same = entry.expected.iter().any(|one| one.is_same(expected));
                entry.state == ChangeState::Applied && same
            });
            let made = (ours.map(|entry| entry.id), &journal);
            restart_and_look(&mut out, &all, &plan.activation, made, counter)?;
        }
        Seen::Pending(why) | Seen::Missing(why) => {
            let (why, words) = (escape(&why), plan.activation.to_string());
            writeln!(out, "written, not in force: {what}: {why}: restart: `{}`", escape(&words))?;
        }
    }
    Ok(())
}

/// Says how a change that was written comes into force.
pub(super) fn pending(
    out: &mut impl Write,
    expected: &[Expected],
    plan: &Plan,
    id: u32,
    restart: bool,
) -> Result<()> {
    let words = plan.activation.to_string();
    let mut seen = Seen::Unknown(String::new());
    for one in expected {
        seen = one.look();
        if !matches!(seen, Seen::InForce(_)) {
            break;
        }
    }
    match seen {
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
        let why = match (next, plan.activation.left_to_user()) {
            (Some(_), _) => "written, and nothing to restart".to_owned(),
            (None, []) => "nothing to restart: no program is known that reads it again".to_owned(),
            (None, _) => escape(&nothing_restarted(plan)).into_owned(),
        };
        return Ok(writeln!(out, "{why}; {origin}")?);
    }
    let stays = |why| anyhow!("{why}; the change stays: `needless undo {id}` takes it back");
    let run = || undo::patiently(&plan.activation, || plan.activation.run());
    run().map_err(stays)?;
    if let Some(why) = overruled(change) {
        undo::announce(out, journal, &journal.undo(id)?)?;
        run().map_err(|error| anyhow!("{why}; taken back, but {error}"))?;
        bail!("{why}; taken back, and {verb} once more");
    }
    let seen = if next.is_some() { "" } else { "not looked at: " };
    Ok(writeln!(out, "{verb}: {}; {seen}{origin}", escape(&words))?)
}

/// Restarts the unit of all that is `expected`, looks at its new process and counts its calls. The change of the journal
/// is taken back if the process did not get all of it.
///
/// # Errors
/// When it is not in force.
pub(super) fn restart_and_look(
    out: &mut impl Write,
    expected: &[Expected],
    activation: &Activation,
    (id, journal): (Option<u32>, &Journal),
    counter: &Counter<'_>,
) -> Result<()> {
    // If this run is killed from here on, the next one looks.
    id.map_or(Ok(()), |id| journal.on_trial(id))?;
    // What is said is written at the end: no write may end the trial.
    let mut said = Vec::new();
    let looked = trial(&mut said, expected, activation, journal, counter);
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
            let why = why.to_string();
            let back = take_back(out, (id, journal), activation);
            Err(undo::failed(anyhow!("{why}; {}", back.unwrap_or_else(|but| but)), expected))
        }
        (Err(Lacking::Useless(why)), Some(id)) => {
            journal.tried(id)?;
            bail!("{why}; the change stays: `needless undo {id}` takes it back")
        }
        (Err(Lacking::Missing(why)), None) => Err(undo::failed(why, expected)),
        (Err(Lacking::Unseen(why) | Lacking::Useless(why)), None) => Err(why),
    }
}

/// Takes a change back that its process did not get, and restarts that once more. Returns what became of it; as an error
/// where that is not all.
fn take_back(
    out: &mut impl Write,
    (id, journal): (u32, &Journal),
    activation: &Activation,
) -> Result<String, String> {
    let back = journal.take_back(id).map_err(|error| {
        // Said once. What has begun to be taken back is finished by a later run.
        let said = journal.tried(id).map_or_else(|more| format!(" ({more})"), |()| String::new());
        format!("not taken back: {error}{said}")
    })?;
    undo::announce(out, journal, &back).map_err(|error| format!("taken back, but {error}"))?;
    Ok(format!("taken back, and {} once more", activation.verb()))
}

/// Restarts the unit, looks at its new process, counts, and looks again.
fn trial(
    out: &mut impl Write,
    all: &[Expected],
    activation: &Activation,
    journal: &Journal,
    counter: &Counter<'_>,
) -> Result<(), Lacking> {
    let Some(first) = all.first() else { return Ok(()) };
    let labels: Vec<String> = all.iter().map(Expected::label).collect();
    let labels = labels.join(", ");
    undo::patiently(activation, || activation.run())
        .map_err(|why| Lacking::Missing(anyhow!("{labels}: the restart failed: {why}")))?;
    let mut restarts = first.restarts();
    writeln!(out, "{}: {}", activation.verb(), escape(&activation.to_string()))?;
    let mut who: Vec<String> = Vec::new();
    for one in all {
        // The processes have settled when they were looked at for the first of them.
        let settled = (!who.is_empty()).then(|| one.look());
        let look = settled.filter(|seen| matches!(seen, Seen::InForce(_)));
        who.push(seen(look.unwrap_or_else(|| one.look_after_restart()), one)?);
    }
    if !first.is_unit() {
        // Its supervisor may not have waited for the new process.
        restarts = first.restarts();
    }
    let mut counted = Vec::new();
    // Counting may take long: others need not wait for it. If they look at this trial meanwhile, they see what we see.
    let helps = journal.unlocked(|| counter.report(&mut counted, all))??;
    if let Some(why) = first.did_not_last(restarts) {
        return Err(Lacking::Missing(anyhow!("{labels}: {why}")));
    }
    for (one, who) in all.iter().zip(who) {
        // A program may follow its own configuration some time after its start; one that ends (Type=oneshot) may have
        // ended.
        let who = match one.look() {
            Seen::Unknown(_) => who,
            now => seen(now, one)?,
        };
        writeln!(out, "in force: {} in {}", escape(&one.label()), escape(&who))?;
    }
    out.write_all(&counted)?;
    match helps {
        true => Ok(()),
        false => Err(Lacking::Useless(anyhow!("{labels}: not seen to help"))),
    }
}

/// Who has the change.
fn seen(seen: Seen, expected: &Expected) -> Result<String, Lacking> {
    let label = expected.label();
    match seen {
        Seen::InForce(who) => Ok(who),
        Seen::Unknown(why) => Err(Lacking::Unseen(anyhow!("{label} was not seen: {why}"))),
        Seen::Pending(why) | Seen::Missing(why) => Err(Lacking::Missing(anyhow!("{label}: {why}"))),
    }
}
