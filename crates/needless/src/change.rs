//! fix and undo: from the words of the command line to `places`, and back to the terminal.

mod request;

use crate::origin::{of_process, of_stopped_unit};
use crate::{advice, cli, output};
use anyhow::{Context, Result, anyhow, bail};
use needless_environment::{self as places, ChangeRequest, Journal, Plan, Recovered, State};
use needless_host::Root;
use needless_report::clean;
use request::{Request, Subject};
use std::collections::HashMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

/// report, --set or a look → wishes → places, each once → plan → diff → asked → written → reloaded.
pub(crate) fn fix(asked: &cli::Fix) -> Result<()> {
    if let Some(name) = &asked.locale {
        return fix_locale(name, asked);
    }
    // What keeps processes of one kind from being helped is said once.
    let mut refused: Vec<(String, u32)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut refuse = |why: String| {
        let at = *known.entry(why.clone()).or_insert(refused.len());
        match refused.get_mut(at) {
            Some((_, n)) => *n += 1,
            None => refused.push((why, 1)),
        }
    };
    let requests = request::requests(asked, &mut refuse)?;
    let state = places::state_dir().map_err(|why| anyhow!(why))?;
    let disk = places::Disk::at(Path::new("/")).context("cannot open /")?;
    let mut targets = Vec::new();
    for request in &requests {
        let found =
            target(request, &disk).and_then(|target| match left_alone(request, &target, &disk) {
                Some(said) => bail!("not done: {said}"),
                None => Ok(target),
            });
        match found {
            Ok(target) => targets.push(target),
            Err(why) => refuse(format!("{}: {why:#}", words(request))),
        }
    }
    if requests.is_empty() && refused.is_empty() {
        let report = asked.report.as_deref().map(advice::report).transpose()?;
        let by_hand = report.map(|report| advice::by_hand(&report.findings, &asked.rules));
        let by_hand = by_hand.unwrap_or_default();
        output::say(format_args!("nothing to change: no remedy that a tool may apply{by_hand}"));
        return Ok(());
    }
    let (targets, conflicts) = places::merged(targets);
    let conflicts = conflicts.into_iter().map(|why| (why, 1));
    let mut undone = 0;
    for (why, n) in refused.into_iter().chain(conflicts) {
        undone += 1;
        match n {
            1 => output::say(why),
            n => output::say(format_args!("{why} ({n} processes)")),
        }
    }
    for target in &targets {
        match places::plan(&target.spot, &target.variable, target.value.as_deref(), &disk) {
            Ok(plan) => undone += u32::from(!carry_out(target, &plan, asked, &state)?),
            Err(why) => {
                undone += 1;
                output::say(format_args!(
                    "{}: {why}",
                    places::words(&target.variable, target.value.as_deref())
                ));
            }
        }
    }
    match undone {
        0 => Ok(()),
        n => bail!("{n} of the changes not made"),
    }
}

/// name → files built in a folder of ours → asked → put in their places.
fn fix_locale(name: &str, asked: &cli::Fix) -> Result<()> {
    let state = places::state_dir().map_err(|why| anyhow!(why))?;
    let disk = places::Disk::at(Path::new("/")).context("cannot open /")?;
    let root = Root::own().context("cannot open /")?;
    let how = places::LocaleHow { directory: asked.directory, messages: asked.messages };
    let plan = places::plan_locale(name, how, &disk, &root);
    let plan = plan.map_err(|why| anyhow!(why))?;
    match show_and_apply(&[], &plan, asked, &state)? {
        Done::Refused => bail!("1 of the changes not made"),
        _ => Ok(()),
    }
}

/// What a comment in the place says, if it says that the rule's finding is to be left alone.
fn left_alone(request: &Request, target: &ChangeRequest, disk: &places::Disk) -> Option<String> {
    let rule = request.rule.as_deref()?;
    let value = target.value.as_deref();
    let plan = places::plan(&target.spot, &target.variable, value, disk).ok()?;
    places::ignored(&plan, rule, disk)
}

fn words(request: &Request) -> String {
    places::words(&request.variable, request.value.as_deref())
}

/// Where a wish belongs; refused where its value is wrong for the programs it would reach.
fn target(request: &Request, disk: &places::Disk) -> Result<ChangeRequest> {
    let value = request.value.as_deref();
    let own = || Root::own().context("cannot open /");
    let (spot, whom) = match &request.whom {
        Subject::Nobody(why) => bail!("{why}"),
        Subject::File(file, part) => {
            let path = file.to_str().context("the file's name is not UTF-8")?;
            let spot = places::spot_of_file(path, part.as_deref(), disk);
            let spot = spot.map_err(|why| anyhow!(why))?;
            // An image has files of its own, but the same names of zones; where we have none, nothing is said.
            let root = own()?;
            let is_path = value.is_some_and(|value| value.trim_start_matches(':').starts_with('/'));
            if root.is_dir("/usr/share/zoneinfo") && !(is_path && spot.place.is_of_image()) {
                let right = places::check_target(&request.variable, value, &[], &root);
                right.map_err(|why| anyhow!(why))?;
            }
            (spot, None)
        }
        Subject::Process(pid) => {
            let (chain, told) = of_process(*pid, &request.variable)?;
            let me = chain.last().context("a chain has a last process")?;
            if !me.shares_root && !sees_our_files(me, &told) {
                bail!("it runs in a container or another root: change what makes that (--in FILE)");
            }
            let exes: Vec<String> = me.exe.iter().cloned().collect();
            let right = places::check_target(&request.variable, value, &exes, &own()?);
            right.map_err(|why| anyhow!(why))?;
            (first(told)?, Some(format!("{}[{pid}]", me.name())))
        }
        Subject::Unit(unit) => {
            let told = match places::main_process(unit) {
                Some(pid) => of_process(pid, &request.variable)?.1,
                None => of_stopped_unit(unit, &request.variable)?,
            };
            let exes = places::processes_of_unit(unit).into_iter().filter_map(|pid| {
                let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
                Some(exe.to_string_lossy().into_owned())
            });
            let exes: Vec<String> = exes.collect();
            let right = places::check_target(&request.variable, value, &exes, &own()?);
            right.map_err(|why| anyhow!(why))?;
            (first(told)?, Some(unit.clone()))
        }
    };
    Ok(ChangeRequest {
        spot,
        variable: request.variable.clone(),
        value: request.value.clone(),
        caveats: request.caveat.iter().cloned().collect(),
        whom: whom.into_iter().collect(),
    })
}

/// Whether the process sees, where the change would be made, the files that we see.
fn sees_our_files(me: &needless_host::ProcInfo, told: &places::Origin) -> bool {
    let file = told.spots.first().and_then(|spot| spot.file.as_deref());
    me.sees_ours(file.unwrap_or("/etc"))
}

fn first(told: places::Origin) -> Result<places::ConfigLocation> {
    told.spots.into_iter().next().context("no place is known that would reach it")
}

/// What became of a plan.
enum Done {
    /// Nothing was left to do, or only the diff was wanted.
    Already,
    /// The user said no.
    Refused,
    /// It was written, as this change.
    Applied(u32),
}

/// Shows the plan and, if it is wanted, makes it hold. Whether it does.
fn carry_out(target: &ChangeRequest, plan: &Plan, asked: &cli::Fix, state: &Path) -> Result<bool> {
    let id = match show_and_apply(std::slice::from_ref(target), plan, asked, state)? {
        Done::Already => return Ok(true),
        Done::Refused => return Ok(false),
        Done::Applied(id) => id,
    };
    let mut out = std::io::stdout().lock();
    take_effect(&mut out, &plan.reload)?;
    verify(target, plan, id, state)?;
    if asked.restart && !plan.restart.is_empty() {
        places::run(&plan.restart).map_err(|why| anyhow!(why))?;
        writeln!(out, "restarted: {}", clean(&plan.restart.join(" ")))?;
    }
    Ok(true)
}

fn show_and_apply(
    for_whom: &[ChangeRequest],
    plan: &Plan,
    asked: &cli::Fix,
    state: &Path,
) -> Result<Done> {
    let mut out = std::io::stdout().lock();
    if plan.files.is_empty() {
        writeln!(out, "already so: {}", clean(&plan.what))?;
        return Ok(Done::Already);
    }
    if asked.diff {
        if !plan.is_text() {
            bail!(
                "--diff cannot print it, for it is no text; without --diff it is shown and asked for"
            );
        }
        // As it is for a pipe, which may be patch(1).
        let diff = plan.diff();
        let terminal = std::io::stdout().is_terminal();
        out.write_all(if terminal { shown(&diff) } else { diff }.as_bytes())?;
        return Ok(Done::Already);
    }
    let what = clean(&plan.what);
    writeln!(out, "{what}\n  place    {}\n  why      {}", clean(&plan.place), clean(&plan.why))?;
    let whom: Vec<String> = for_whom.iter().flat_map(|target| target.whom.clone()).collect();
    if !whom.is_empty() {
        writeln!(out, "  for      {}", clean(&listed(&whom)))?;
    }
    let wished = for_whom.iter().flat_map(|target| &target.caveats);
    for caveat in wished.chain(&plan.caveats) {
        writeln!(out, "  caveat   {}", clean(caveat))?;
    }
    writeln!(out, "  effect   {}", plan.effect)?;
    if !plan.restart.is_empty() {
        writeln!(out, "  restart  {}", clean(&plan.restart.join(" ")))?;
    }
    writeln!(out, "\n{}", shown(&plan.diff_to_show()))?;
    out.flush()?;
    if !asked.yes && !agreed(&mut out)? {
        return Ok(Done::Refused);
    }
    let (journal, ended) = open(state)?;
    ended.iter().for_each(output::say);
    let after: Vec<Vec<String>> =
        std::iter::once(plan.reload.clone()).filter(|words| !words.is_empty()).collect();
    let id = journal.apply(&plan.what, &plan.files, after).map_err(|why| anyhow!(why))?;
    writeln!(out, "done: change {id}; `needless undo {id}` takes it back")?;
    Ok(Done::Applied(id))
}

/// The first of them by name, the others by number.
fn listed(whom: &[String]) -> String {
    const NAMED: usize = 8;
    match whom.len().checked_sub(NAMED).filter(|more| *more > 0) {
        None => whom.join(", "),
        Some(more) => format!("{} and {more} more", whom[..NAMED].join(", ")),
    }
}

/// Lines of files as a terminal may see them, tabs kept; a pipe may lead to one.
fn shown(text: &str) -> String {
    let pieces = text.split_inclusive(['\n', '\t']).map(|piece| {
        let end = piece.trim_end_matches(['\n', '\t']).len();
        clean(&piece[..end]).into_owned() + &piece[end..]
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

fn take_effect(out: &mut impl Write, words: &[String]) -> Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    if words[0] == "systemctl" && !places::systemd_runs() {
        writeln!(
            out,
            "systemd does not run here: run `{}` where it does",
            clean(&words.join(" "))
        )?;
        return Ok(());
    }
    places::run(words).map(|_| ()).map_err(|why| anyhow!(why))
}

/// What systemd or sshd themselves say will be so; a change that does not hold is taken back.
fn verify(target: &ChangeRequest, plan: &Plan, id: u32, state: &Path) -> Result<()> {
    let value = target.value.as_deref();
    let (holds, who, rival) = if target.spot.place == &places::SSHD {
        let holds = places::sshd_will_set(&target.variable, value);
        (holds, "sshd", "a file that it reads before sets it, or a Match")
    } else if plan.reload.last().is_some_and(|word| word == "daemon-reload")
        && places::systemd_runs()
    {
        let Some(unit) = plan.restart.last() else { return Ok(()) };
        let user = plan.reload.iter().any(|word| word == "--user");
        let holds = places::will_have(unit, user, &target.variable, value);
        (holds, unit.as_str(), "a file that sorts after zz-needless.conf sets it")
    } else {
        return Ok(());
    };
    if holds != Some(false) {
        return Ok(());
    }
    let (journal, _) = open(state)?;
    journal.undo(id).map_err(|why| anyhow!(why))?;
    places::run(&plan.reload).map_err(|why| anyhow!(why))?;
    bail!("{who} still gets another {}: {rival}; taken back", target.variable)
}

/// number → files as they were before → reloaded.
pub(crate) fn undo(asked: &cli::Undo) -> Result<()> {
    let state = places::state_dir().map_err(|why| anyhow!(why))?;
    let mut out = std::io::stdout().lock();
    if asked.list {
        for entry in Journal::list(&state).map_err(|why| anyhow!(why))? {
            let state = match entry.state {
                State::Applied => "holds",
                State::Undone => "undone",
                State::RolledBack => "rolled back",
                State::Begun => "begun",
                State::Undoing => "being undone",
            };
            writeln!(out, "{:>4}  {state:<12}  {}", entry.id, clean(&entry.what))?;
        }
        return Ok(());
    }
    let (journal, ended) = open(&state)?;
    // Its undoing was begun by a run before, and is what is asked for.
    let finished = |one: &&Recovered| {
        one.entry.state == State::Undone && asked.id.is_none_or(|id| id == one.entry.id)
    };
    let done = ended.iter().rfind(finished).map(|one| one.entry.clone());
    let id = match (asked.id, &done) {
        (Some(id), _) => id,
        (None, Some(entry)) => entry.id,
        (None, None) => journal.last().map_err(|why| anyhow!(why))?,
    };
    for one in &ended {
        // Of the one that was asked for the end of this run tells.
        if one.entry.id != id {
            output::say(one);
        }
    }
    let entry = match done {
        Some(entry) => entry,
        None => journal.undo(id).map_err(|why| anyhow!(why))?,
    };
    let how = if entry.state == State::RolledBack { "rolled back" } else { "taken back" };
    writeln!(out, "{how}: change {id}, {}", clean(&entry.what))?;
    entry.after.iter().try_for_each(|words| take_effect(&mut out, words))
}
