//! `fix`: shows each change as a diff, asks, writes it and makes it take effect.

mod calls;
mod group;
mod in_force;
mod preview;
mod requests;
mod snippets;
mod times_change;

use super::undo;
use crate::cli::FixArgs;
use crate::context::Context;
use crate::{advice, exit, output};
use anyhow::{Context as _, Result, bail};
use calls::Counter;
use needless_environment::{
    self as environment, Activation, ChangeRequest, Disk, Expected, Journal, LocaleHow, Plan,
};
use needless_host::Root;
use needless_model::Exit;
use needless_report::{Saved, escape};
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
    for group in environment::by_restart(changes) {
        undone += run.carry_out(group, alone, &disk)?;
    }
    made(undone)
}

/// Says so, and what the report advises to do by hand.
fn nothing_to_change(args: &FixArgs, context: &Context) -> Result<Exit> {
    let report = args.report.as_deref().map(|path| advice::report(context, path)).transpose()?;
    let is_small =
        |report: &Saved| advice::small(&report.findings, &args.rules, requests::can_fix).is_some();
    if report.as_ref().is_some_and(is_small) {
        return Ok(exit::DONE);
    }
    let by_hand = report.map(|report| advice::by_hand(&report.findings, &args.rules));
    let by_hand = by_hand.unwrap_or_default();
    output::warn(format_args!("nothing to change: no remedy that a tool may apply{by_hand}"));
    Ok(exit::DONE)
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
    match run.show_and_ask(None, &plan, "")? {
        Answer::No => bail!("1 change was not made"),
        Answer::There => writeln!(output::stdout_lines()?, "already so: {}", escape(&plan.what))?,
        Answer::Shown => {}
        Answer::Yes => drop(run.write(&mut output::stdout_lines()?, &[&plan], Vec::new())?),
    }
    Ok(exit::DONE)
}

fn disk() -> Result<Disk> {
    Disk::at(Path::new("/")).context("cannot open /")
}

/// What is to become of a plan.
enum Answer {
    /// There is nothing to do.
    There,
    /// Only the diff was wanted.
    Shown,
    /// The user said no.
    No,
    /// It is to be written.
    Yes,
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
        let reported = !prints && undo::finish_earlier(&mut output::stdout_lines()?, &state, None)?;
        Ok(Run { args, counter: Counter { context, length: args.length }, state, reported })
    }

    /// Shows the plan, and asks. `beside`: what is restarted with its unit.
    fn show_and_ask(
        &self,
        change: Option<&ChangeRequest>,
        plan: &Plan,
        beside: &str,
    ) -> Result<Answer> {
        if plan.files.is_empty() {
            return Ok(Answer::There);
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
            return Ok(Answer::Shown);
        }
        show(&mut out, change, plan, beside)?;
        if times_change::is_refused(change, self.args) {
            return Ok(Answer::No);
        }
        Ok(if self.args.yes || agreed()? { Answer::Yes } else { Answer::No })
    }

    /// Writes plans, which were made one on top of the other, as one change of the journal.
    fn write(
        &self,
        out: &mut impl Write,
        plans: &[&Plan],
        expected: Vec<Expected>,
    ) -> Result<(u32, Journal)> {
        let journal = if self.reported {
            undo::wait_for_journal(&self.state)?.0
        } else {
            let (journal, recovered) = undo::open(out, &self.state, None)?;
            recovered.iter().for_each(output::warn);
            journal
        };
        let what: Vec<&str> = plans.iter().map(|plan| plan.what.as_str()).collect();
        let mut after: Vec<Activation> = Vec::new();
        for plan in plans.iter().filter(|plan| plan.reload.is_known()) {
            if !after.contains(&plan.reload) {
                after.push(plan.reload.clone());
            }
        }
        let files = plans.iter().flat_map(|plan| plan.files.clone()).collect();
        let files = environment::in_one(files);
        let id = journal.apply_expecting(&what.join("; "), &files, after, expected)?;
        writeln!(out, "written: change {id}; `needless undo {id}` takes it back")?;
        Ok((id, journal))
    }
}

fn show(
    out: &mut impl Write,
    change: Option<&ChangeRequest>,
    plan: &Plan,
    beside: &str,
) -> Result<()> {
    let what = escape(&plan.what);
    writeln!(out, "{what}\n  reaches  {}", escape(&plan.reach))?;
    writeln!(out, "  place    {}\n  why      {}", escape(&plan.place), escape(&plan.why))?;
    if let Some(change) = change.filter(|change| !change.targets.is_empty()) {
        writeln!(out, "  for      {}", escape(&environment::listed(&change.targets)))?;
    }
    let requested =
        change.into_iter().flat_map(|change| change.times.iter().chain(&change.caveats));
    for caveat in requested.chain(&plan.caveats) {
        writeln!(out, "  caveat   {}", escape(caveat))?;
    }
    writeln!(out, "  effect   {}", plan.effect)?;
    let each = plan.activation.left_to_user().iter();
    for one in each.chain([&plan.activation]).filter(|one| one.is_known()) {
        writeln!(out, "  restart  {}{}", escape(&one.to_string()), escape(beside))?;
    }
    writeln!(out, "\n{}", safe_lines(&plan.diff_to_show()))?;
    if plan.hides_text() {
        writeln!(out, "(… is text of the file, which may be secret; --diff prints it)\n")?;
    }
    Ok(out.flush()?)
}

/// Lines of files, safe on a terminal, with their tabs.
pub(super) fn safe_lines(text: &str) -> String {
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
    says_yes()
}

pub(super) fn says_yes() -> Result<bool> {
    output::ask("Write it? [y/N] ")?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}
