//! Changes that one restart brings into force: planned one on top of the other, shown and asked one by one, written as
//! one change of the journal, looked at together.

use super::{Answer, Run, in_force, undo};
use crate::output;
use anyhow::{Result, anyhow, bail};
use needless_environment::{
    self as environment, ChangeRequest, Disk, Expected, FileChange, Journal, JournalEntry, Plan,
    UnitState, overruled,
};
use std::io::Write;

/// A change with its plan, and where it will be seen to be in force.
struct PlannedChange {
    change: ChangeRequest,
    plan: Plan,
    expected: Option<Expected>,
}

impl PlannedChange {
    /// `restart`: the process may be restarted, to look whether the change arrives. `earlier`: what is written together
    /// with it.
    fn of(
        mut change: ChangeRequest,
        restart: bool,
        disk: &Disk,
        earlier: &[FileChange],
    ) -> Result<PlannedChange, String> {
        let expected = Expected::of(&change);
        if restart && let Some(expected) = &expected {
            change = expected.tried(&change).unwrap_or(change);
            change.caveats.extend(expected.restart_caveat());
        }
        let value = change.value.as_deref();
        let plan = environment::plan(&change.location, &change.variable, value, disk);
        match plan.and_then(|plan| plan.on_top_of(&change, earlier)) {
            Ok(plan) => Ok(PlannedChange { change, plan, expected }),
            Err(why) => {
                let words = change.label();
                let tried = expected.filter(|_| !restart).and_then(|one| one.tried(&change));
                let hint = tried.map_or(
                    "",
                    |_| "; with --restart it is tried, and taken back if it does not arrive",
                );
                Err(format!("{words}: {why}{hint}"))
            }
        }
    }
}

/// Has the files of a change read again. Where that fails, as where systemd has no room for it in /run, nothing can be
/// restarted with the change: it is taken back if that was wanted.
fn announce(
    out: &mut impl Write,
    journal: &Journal,
    entry: &JournalEntry,
    restart: bool,
) -> Result<()> {
    if !restart {
        return undo::announce(out, journal, entry);
    }
    let Err(why) = undo::announce_or(out, journal, entry, &|_, why| why.into()) else {
        return Ok(());
    };
    let back = journal.undo(entry.id).map_err(|but| anyhow!("{why}; not taken back: {but}"))?;
    // Its reader has not read them; if it has in part, it may read them again.
    let _ = undo::announce(out, journal, &back);
    bail!(
        "{why}; nothing was restarted, and the change is taken back: repair that, then run this again"
    )
}

impl Run<'_> {
    /// Shows each change of a group, writes those that the user agrees to, and has them take effect. `alone`: there is
    /// no other change, so the reason why not is the error. Returns how many were not made.
    pub(super) fn carry_out(
        &self,
        group: Vec<ChangeRequest>,
        alone: bool,
        disk: &Disk,
    ) -> Result<u32> {
        // What is only printed needs no look at the unit.
        let state = group.first().filter(|_| !self.args.diff).and_then(UnitState::before);
        let beside = state.as_ref().map(UnitState::restarts_as_well).unwrap_or_default();
        let (mut agreed, mut there, mut files) = (Vec::new(), Vec::new(), Vec::new());
        let mut refused: Vec<String> = Vec::new();
        let (mut undone, mut is_first) = (0, true);
        for change in group {
            let planned = self.planned(change, state.as_ref(), is_first, disk, &files);
            let planned = match planned {
                Ok(planned) => planned,
                Err(why) if alone => bail!("{why}"),
                Err(why) => {
                    undone += 1;
                    if !refused.contains(&why) {
                        output::warn(&why);
                        refused.push(why);
                    }
                    continue;
                }
            };
            let answer = self.show_and_ask(Some(&planned.change), &planned.plan, &beside)?;
            is_first &= matches!(answer, Answer::There);
            match answer {
                Answer::There => there.push(planned),
                Answer::No => undone += 1,
                Answer::Shown => files.extend(planned.plan.files),
                Answer::Yes => {
                    files.extend(planned.plan.files.clone());
                    agreed.push(planned);
                }
            }
        }
        let restarted = !agreed.is_empty() && self.make(&agreed)?;
        for one in &there {
            self.is_there(one, self.args.restart && !restarted)?;
        }
        Ok(undone)
    }

    /// Plans a change in view of the `state` of its unit, which is said with the change that `is_first`. `earlier`: what
    /// is written together with it.
    fn planned(
        &self,
        change: ChangeRequest,
        state: Option<&UnitState>,
        is_first: bool,
        disk: &Disk,
        earlier: &[FileChange],
    ) -> Result<PlannedChange, String> {
        let (reloads, restarts) = (UnitState::is_reloaded_for(&change), self.args.restart);
        let refuses = || state.and_then(|it| it.refuses(reloads, restarts, self.args.with_pending));
        let planned = PlannedChange::of(change, restarts, disk, earlier);
        // What waits may also be the reason why the plan is not sure.
        let mut planned = planned.map_err(|why| refuses().unwrap_or(why))?;
        // Where nothing is left to write, systemd reads nothing again.
        if planned.plan.files.is_empty() {
            return Ok(planned);
        }
        if let Some(why) = refuses() {
            return Err(why);
        }
        if let Some(state) = state.filter(|_| is_first) {
            planned.change.caveats.extend(state.caveats(reloads, restarts));
        }
        Ok(planned)
    }

    /// Writes the changes as one, and has them take effect. Returns whether their unit was restarted.
    fn make(&self, agreed: &[PlannedChange]) -> Result<bool> {
        let (Some(last), restart) = (agreed.last(), self.args.restart) else { return Ok(false) };
        let mut out = output::stdout_lines()?;
        let expected = agreed.iter().filter_map(|one| one.expected.clone());
        let mut expected: Vec<Expected> = expected.collect();
        self.counter.before(&mut expected)?;
        let plans: Vec<&Plan> = agreed.iter().map(|one| &one.plan).collect();
        let (id, journal) = self.write(&mut out, &plans, expected)?;
        let entry = journal.entry(id)?;
        announce(&mut out, &journal, &entry, restart)?;
        if let Some(why) = agreed.iter().find_map(|one| overruled(&one.change)) {
            undo::announce(&mut out, &journal, &journal.undo(id)?)?;
            let all = if agreed.len() > 1 { " with the others of its unit" } else { "" };
            bail!("{why}; taken back{all}");
        }
        let (plan, all) = (&last.plan, &entry.expected[..]);
        match all {
            [first, ..] if restart && first.next.is_none() && first.is_active() => {
                let made = (Some(id), &journal);
                in_force::restart_and_look(&mut out, all, &plan.activation, made, &self.counter)?;
                return Ok(true);
            }
            [first, ..] if first.next.is_none() => {
                in_force::pending(&mut out, all, plan, id, restart)?;
            }
            _ => {
                let about = (&last.change, all.first());
                in_force::unseen(&mut out, about, plan, id, restart, &journal)?;
            }
        }
        Ok(false)
    }

    /// The file says it already: whether the process has it, too. `restart`: it may be restarted for it.
    fn is_there(&self, planned: &PlannedChange, restart: bool) -> Result<()> {
        let PlannedChange { change, plan, expected } = planned;
        // A reload with a file that its reader refuses may end the reader.
        if restart && let Some(why) = overruled(change) {
            bail!("{}: {why}", plan.what);
        }
        in_force::already(expected.as_ref(), plan, restart, &self.counter, &self.state)
    }
}
