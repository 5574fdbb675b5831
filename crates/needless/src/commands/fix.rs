//! `fix`: shows each change as a diff, asks, writes it and makes it take effect.

mod calls;
mod in_force;
mod preview;
mod requests;
mod snippets;

use super::undo;
use crate::cli::FixArgs;
use crate::context::Context;
use crate::{advice, exit, output};
use anyhow::{Context as _, Result, bail};
use calls::Counter;
use needless_environment::{
    self as environment, Activation, ChangeRequest, Disk, Expected, Journal, LocaleHow, Plan,
    overruled,
};
use needless_host::Root;
use needless_model::Exit;
use needless_report::escape;
pub(super) use preview::preview;
use std::collections::HashMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Why changes are not made: each reason once, with how many processes it is about.
#[derive(Default)]
struct Refusals {
    reasons: Vec<(String, u32)>,
    known: HashMap<String, usize>,
}

impl Refusals {
    fn add(&mut self, reason: String) {
        let at = *self.known.entry(reason.clone()).or_insert(self.reasons.len());
        match self.reasons.get_mut(at) {
            Some((_, n)) => *n += 1,
            None => self.reasons.push((reason, 1)),
        }
    }
}

/// Requests → a place for each → one change for each place → plan → diff → question → written → in effect.
pub(crate) fn fix(args: &FixArgs, context: &Context) -> Result<Exit> {
    if let Some(name) = &args.locale {
        return fix_locale(name, args, context);
    }
    // A change that does not exist: nothing else is begun.
    if let Some(id) = args.check {
        in_force::known(id, &environment::state_dir()?)?;
    }
    let run = Run::new(args, context)?;
    if let Some(id) = args.check {
        return in_force::check(id, &run.counter, &run.state);
    }
    let mut refused = Refusals::default();
    let requests = requests::requests(args, context, &mut |reason| refused.add(reason))?;
    let disk = match args.format {
        Some(_) => disk()?.that_only_reads()?,
        None => disk()?,
    };
    let of_image = args.format.is_some_and(|format| format.of_image);
    let resolve = if of_image { environment::resolve_for_image } else { environment::resolve };
    let mut changes = Vec::new();
    for request in &requests {
        match resolve(request, &disk) {
            Ok(change) => changes.push(change),
            Err(why) => refused.add(format!("{request}: {why}")),
        }
    }
    if requests.is_empty() && refused.reasons.is_empty() {
        return nothing_to_change(args, context);
    }
    let (changes, conflicts) = environment::merged(changes);
    let refused = refused.reasons.into_iter().map(|(why, n)| match n {
        1 => why,
        n => format!("{why} ({n} processes)"),
    });
    let reasons: Vec<String> = refused.chain(conflicts).collect();
    if let ([], [why]) = (&*changes, &*reasons) {
        bail!("{why}");
    }
    let alone = changes.len() == 1 && reasons.is_empty();
    let mut undone = u32::try_from(reasons.len())?;
    reasons.iter().for_each(output::warn);
    if let Some(format) = args.format {
        undone += snippets::print(format, &changes, &disk, args, alone)?;
        return made(undone);
    }
    for change in changes {
        match PlannedChange::of(change, args.restart, &disk) {
            Ok(planned) => undone += u32::from(!run.carry_out(&planned)?),
            Err(why) if alone => bail!("{why}"),
            Err(why) => {
                undone += 1;
                output::warn(why);
            }
        }
    }
    made(undone)
}

/// Says so, and what the report advises to do by hand.
fn nothing_to_change(args: &FixArgs, context: &Context) -> Result<Exit> {
    let report = args.report.as_deref().map(|path| advice::report(context, path)).transpose()?;
    let by_hand = report.map(|report| advice::by_hand(&report.findings, &args.rules));
    let by_hand = by_hand.unwrap_or_default();
    output::warn(format_args!("nothing to change: no remedy that a tool may apply{by_hand}"));
    Ok(exit::DONE)
}

/// A change with its plan, and where it will be seen to be in force.
struct PlannedChange {
    change: ChangeRequest,
    plan: Plan,
    expected: Option<Expected>,
}

impl PlannedChange {
    /// `restart`: the process may be restarted, to look whether the change arrives.
    fn of(mut change: ChangeRequest, restart: bool, disk: &Disk) -> Result<PlannedChange, String> {
        let expected = Expected::of(&change);
        if restart && let Some(expected) = &expected {
            change = expected.tried(&change).unwrap_or(change);
            change.caveats.extend(expected.restart_caveat());
        }
        let value = change.value.as_deref();
        match environment::plan(&change.location, &change.variable, value, disk) {
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

/// The exit status, where so many changes were not made.
fn made(undone: u32) -> Result<Exit> {
    match undone {
        0 => Ok(exit::DONE),
        1 => bail!("1 change was not made"),
        n => bail!("{n} changes were not made"),
    }
}

/// Builds the locale's files in a temporary directory → diff → question → moved to their places.
fn fix_locale(name: &str, args: &FixArgs, context: &Context) -> Result<Exit> {
    let (run, disk) = (Run::new(args, context)?, disk()?);
    let root = Root::own().context("cannot open /")?;
    let how = LocaleHow { directory: args.directory, messages: args.messages };
    let plan = environment::plan_locale(name, how, &disk, &root)?;
    match run.show_and_apply(None, &plan, None)? {
        Done::Refused => bail!("1 change was not made"),
        Done::There => {
            writeln!(output::stdout_lines()?, "already so: {}", escape(&plan.what))?;
            Ok(exit::DONE)
        }
        Done::Shown | Done::Applied(..) => Ok(exit::DONE),
    }
}

fn disk() -> Result<Disk> {
    Disk::at(Path::new("/")).context("cannot open /")
}

/// What became of a plan.
enum Done {
    /// There was nothing to do.
    There,
    /// Only the diff was wanted.
    Shown,
    /// The user said no.
    Refused,
    /// It was written, as this change of the journal.
    Applied(u32, Journal),
}

/// What all changes of this run have in common.
struct Run<'a> {
    args: &'a FixArgs,
    counter: Counter<'a>,
    /// Where the journal is.
    state: PathBuf,
    /// Whether what earlier runs left was reported already.
    reported: bool,
}

impl Run<'_> {
    /// Begins with what an earlier run left.
    fn new<'a>(args: &'a FixArgs, context: &'a Context) -> Result<Run<'a>> {
        let state = environment::state_dir()?;
        // These only print.
        let prints = args.diff || args.format.is_some();
        let reported = !prints && undo::finish_earlier(&mut output::stdout_lines()?, &state)?;
        Ok(Run { args, counter: Counter { context, length: args.length }, state, reported })
    }

    /// Shows the plan, and writes it if the user agrees. Returns whether the change is in effect.
    fn carry_out(&self, planned: &PlannedChange) -> Result<bool> {
        let PlannedChange { change, plan, expected } = planned;
        let (expected, restart) = (expected.as_ref(), self.args.restart);
        let (id, journal) = match self.show_and_apply(Some(change), plan, expected)? {
            Done::There => {
                // A reload with a file that its reader refuses may end the reader.
                if restart && let Some(why) = overruled(change) {
                    bail!("{}: {why}", plan.what);
                }
                return in_force::already(expected, plan, restart, &self.counter, &self.state);
            }
            Done::Shown => return Ok(true),
            Done::Refused => return Ok(false),
            Done::Applied(id, journal) => (id, journal),
        };
        let mut out = output::stdout_lines()?;
        let entry = journal.entry(id)?;
        undo::announce(&mut out, &journal, &entry)?;
        if let Some(why) = overruled(change) {
            undo::announce(&mut out, &journal, &journal.undo(id)?)?;
            bail!("{why}; taken back");
        }
        match &entry.expected {
            Some(expected) if restart && expected.next.is_none() && expected.is_active() => {
                in_force::restart_and_look(
                    &mut out,
                    expected,
                    plan,
                    Some(id),
                    &journal,
                    &self.counter,
                )?
            }
            Some(expected) if expected.next.is_none() => {
                in_force::pending(&mut out, expected, plan, id, restart)?;
            }
            expected => {
                let about = (change, expected.as_ref());
                in_force::unseen(&mut out, about, plan, id, restart, &journal)?;
            }
        }
        Ok(true)
    }

    fn show_and_apply(
        &self,
        change: Option<&ChangeRequest>,
        plan: &Plan,
        expected: Option<&Expected>,
    ) -> Result<Done> {
        if plan.files.is_empty() {
            return Ok(Done::There);
        }
        let mut out = output::stdout_lines()?;
        if self.args.diff {
            if !plan.is_text() {
                bail!(
                    "--diff cannot print it: it is not text; without --diff it is shown and asked for"
                );
            }
            let diff = plan.diff();
            // A pipe may lead to patch(1), and gets every byte as it is.
            let terminal = std::io::stdout().is_terminal();
            let text = if terminal { safe_lines(&diff) } else { diff };
            out.write_all(text.as_bytes())?;
            out.flush()?;
            return Ok(Done::Shown);
        }
        show(&mut out, change, plan)?;
        if !self.args.yes && !agreed()? {
            return Ok(Done::Refused);
        }
        let mut expected = expected.cloned();
        if let Some(expected) = &mut expected {
            self.counter.before(expected)?;
        }
        let journal = if self.reported {
            Journal::open(&self.state, Path::new("/"))?.0
        } else {
            let (journal, recovered) = undo::open(&mut out, &self.state, None)?;
            recovered.iter().for_each(output::warn);
            journal
        };
        let reload = std::iter::once(plan.reload.clone());
        let after = reload.filter(Activation::is_known).collect();
        let id = journal.apply_expecting(&plan.what, &plan.files, after, expected)?;
        writeln!(out, "done: change {id}; `needless undo {id}` takes it back")?;
        Ok(Done::Applied(id, journal))
    }
}

fn show(out: &mut impl Write, change: Option<&ChangeRequest>, plan: &Plan) -> Result<()> {
    let what = escape(&plan.what);
    writeln!(out, "{what}\n  place    {}\n  why      {}", escape(&plan.place), escape(&plan.why))?;
    if let Some(change) = change.filter(|change| !change.targets.is_empty()) {
        writeln!(out, "  for      {}", escape(&listed(&change.targets)))?;
    }
    let requested = change.into_iter().flat_map(|change| &change.caveats);
    for caveat in requested.chain(&plan.caveats) {
        writeln!(out, "  caveat   {}", escape(caveat))?;
    }
    writeln!(out, "  effect   {}", plan.effect)?;
    if plan.activation.is_known() {
        writeln!(out, "  restart  {}", escape(&plan.activation.to_string()))?;
    }
    writeln!(out, "\n{}", safe_lines(&plan.diff_to_show()))?;
    if plan.hides_text() {
        writeln!(out, "(… is text of the file, which may be secret; --diff prints it)\n")?;
    }
    Ok(out.flush()?)
}

/// The first of them by name, and how many more there are.
fn listed(names: &[String]) -> String {
    const NAMED: usize = 8;
    match names.len().checked_sub(NAMED).filter(|more| *more > 0) {
        None => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(", ")),
    }
}

/// Lines of files, safe on a terminal, with their tabs.
fn safe_lines(text: &str) -> String {
    let pieces = text.split_inclusive(['\n', '\t']).map(|piece| {
        let end = piece.trim_end_matches(['\n', '\t']).len();
        escape(&piece[..end]).into_owned() + &piece[end..]
    });
    pieces.collect()
}

fn agreed() -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to ask on: --yes writes it, --diff only prints it");
    }
    output::ask("Write it? [y/N] ")?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
