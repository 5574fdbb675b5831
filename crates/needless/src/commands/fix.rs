//! `fix`: shows each change as a diff, asks, writes it and makes it take effect.

mod requests;

use crate::cli::FixArgs;
use crate::context::Context;
use crate::{advice, exit, output};
use anyhow::{Context as _, Result, anyhow, bail};
use needless_environment::{
    self as environment, ChangeRequest, Disk, Journal, LocaleHow, Plan, Recovered, overruled,
    take_effect,
};
use needless_host::Root;
use needless_model::Exit;
use needless_report::escape;
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
        return fix_locale(name, args);
    }
    let mut refused = Refusals::default();
    let requests = requests::requests(args, context, &mut |reason| refused.add(reason))?;
    let (state, disk) = state_and_disk()?;
    let mut changes = Vec::new();
    for request in &requests {
        match environment::resolve(request, &disk) {
            Ok(change) => changes.push(change),
            Err(why) => refused.add(format!("{request}: {why}")),
        }
    }
    if requests.is_empty() && refused.reasons.is_empty() {
        let report = args.report.as_deref().map(|path| advice::report(context, path));
        let by_hand = report.transpose()?;
        let by_hand = by_hand.map(|report| advice::by_hand(&report.findings, &args.rules));
        let by_hand = by_hand.unwrap_or_default();
        output::warn(format_args!("nothing to change: no remedy that a tool may apply{by_hand}"));
        return Ok(exit::DONE);
    }
    let (changes, conflicts) = environment::merged(changes);
    let conflicts = conflicts.into_iter().map(|why| (why, 1));
    let mut undone = 0;
    for (why, n) in refused.reasons.into_iter().chain(conflicts) {
        undone += 1;
        match n {
            1 => output::warn(why),
            n => output::warn(format_args!("{why} ({n} processes)")),
        }
    }
    for change in &changes {
        let value = change.value.as_deref();
        match environment::plan(&change.location, &change.variable, value, &disk) {
            Ok(plan) => undone += u32::from(!carry_out(change, &plan, args, &state)?),
            Err(why) => {
                undone += 1;
                let words = environment::label(&change.variable, value);
                output::warn(format_args!("{words}: {why}"));
            }
        }
    }
    match undone {
        0 => Ok(exit::DONE),
        n => bail!("{n} of the changes not made"),
    }
}

/// Builds the locale's files in a temporary directory → diff → question → moved to their places.
fn fix_locale(name: &str, args: &FixArgs) -> Result<Exit> {
    let (state, disk) = state_and_disk()?;
    let root = Root::own().context("cannot open /")?;
    let how = LocaleHow { directory: args.directory, messages: args.messages };
    let plan = environment::plan_locale(name, how, &disk, &root).map_err(|why| anyhow!(why))?;
    match show_and_apply(None, &plan, args, &state)? {
        Done::Refused => bail!("1 of the changes not made"),
        Done::Nothing | Done::Applied(_) => Ok(exit::DONE),
    }
}

fn state_and_disk() -> Result<(PathBuf, Disk)> {
    let state = environment::state_dir().map_err(|why| anyhow!(why))?;
    Ok((state, Disk::at(Path::new("/")).context("cannot open /")?))
}

/// What became of a plan.
enum Done {
    /// There was nothing to do, or only the diff was wanted.
    Nothing,
    /// The user said no.
    Refused,
    /// It was written, as this change.
    Applied(u32),
}

/// Shows the plan, and writes it if the user agrees. Returns whether the change is in effect.
fn carry_out(change: &ChangeRequest, plan: &Plan, args: &FixArgs, state: &Path) -> Result<bool> {
    let id = match show_and_apply(Some(change), plan, args, state)? {
        Done::Nothing => return Ok(true),
        Done::Refused => return Ok(false),
        Done::Applied(id) => id,
    };
    let mut out = std::io::stdout().lock();
    if let Some(hint) = take_effect(&plan.reload).map_err(|why| anyhow!(why))? {
        writeln!(out, "{}", escape(&hint))?;
    }
    if let Some(why) = overruled(change, plan) {
        let (journal, _) = open(state)?;
        journal.undo(id).map_err(|why| anyhow!(why))?;
        environment::run(&plan.reload).map_err(|why| anyhow!(why))?;
        bail!("{why}; taken back");
    }
    if args.restart && !plan.restart.is_empty() {
        environment::run(&plan.restart).map_err(|why| anyhow!(why))?;
        writeln!(out, "restarted: {}", escape(&plan.restart.join(" ")))?;
    }
    Ok(true)
}

fn show_and_apply(
    change: Option<&ChangeRequest>,
    plan: &Plan,
    args: &FixArgs,
    state: &Path,
) -> Result<Done> {
    let mut out = std::io::stdout().lock();
    if plan.files.is_empty() {
        writeln!(out, "already so: {}", escape(&plan.what))?;
        return Ok(Done::Nothing);
    }
    if args.diff {
        if !plan.is_text() {
            bail!(
                "--diff cannot print it: it is not text; without --diff it is shown and asked for"
            );
        }
        let diff = plan.diff();
        // A pipe may lead to patch(1), and gets every byte as it is.
        let terminal = std::io::stdout().is_terminal();
        out.write_all(if terminal { safe_lines(&diff) } else { diff }.as_bytes())?;
        return Ok(Done::Nothing);
    }
    show(&mut out, change, plan)?;
    if !args.yes && !agreed(&mut out)? {
        return Ok(Done::Refused);
    }
    let (journal, recovered) = open(state)?;
    recovered.iter().for_each(output::warn);
    let after: Vec<Vec<String>> =
        std::iter::once(plan.reload.clone()).filter(|words| !words.is_empty()).collect();
    let id = journal.apply(&plan.what, &plan.files, after).map_err(|why| anyhow!(why))?;
    writeln!(out, "done: change {id}; `needless undo {id}` takes it back")?;
    Ok(Done::Applied(id))
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
    if !plan.restart.is_empty() {
        writeln!(out, "  restart  {}", escape(&plan.restart.join(" ")))?;
    }
    writeln!(out, "\n{}", safe_lines(&plan.diff_to_show()))?;
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

fn agreed(out: &mut impl Write) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("there is no terminal to ask on: --yes writes it, --diff only prints it");
    }
    write!(out, "Write it? [y/N] ")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim(), "y" | "Y" | "yes"))
}

fn open(state: &Path) -> Result<(Journal, Vec<Recovered>)> {
    Journal::open(state, Path::new("/")).map_err(|why| anyhow!(why))
}
