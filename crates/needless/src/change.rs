//! fix and undo: from the words of the command line to `places`, and back to the terminal.

use crate::cli::{self, When};
use crate::origin::{check_name, of_process, of_stopped_unit};
use crate::output::{self, Output};
use anyhow::{Context, Result, anyhow, bail};
use needless_capture::{Root, Who};
use needless_places::{self as places, Journal, Plan, State, Target, Wanted};
use needless_report::clean;
use std::collections::HashMap;
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a unit is observed where nothing says what to change.
const LOOK: Duration = Duration::from_secs(10);

/// A change somebody wants, with the process or unit it is for.
struct Wish {
    /// The rule whose remedy it is; `None` where the user named the change.
    rule: Option<String>,
    variable: String,
    value: Option<String>,
    caveat: Option<String>,
    whom: Whom,
}

#[derive(Clone)]
enum Whom {
    Process(u32),
    Unit(String),
    File(PathBuf, Option<String>),
    /// Nobody who still runs.
    Nobody(String),
}

/// report, --set or a look → wishes → places, each once → plan → diff → asked → written → reloaded.
pub(crate) fn fix(asked: &cli::Fix) -> Result<()> {
    if let Some(name) = &asked.locale {
        return fix_locale(name, asked);
    }
    let wishes = wishes(asked)?;
    if wishes.is_empty() {
        output::say("nothing to change: no remedy that a tool may apply");
        return Ok(());
    }
    let state = places::state_dir().map_err(|why| anyhow!(why))?;
    let disk = places::Disk::at(Path::new("/")).context("cannot open /")?;
    let mut targets = Vec::new();
    // What keeps processes of one kind from being helped is said once.
    let mut refused: Vec<(String, u32)> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for wish in &wishes {
        let found = target(wish, &disk).and_then(|target| match left_alone(wish, &target, &disk) {
            Some(said) => bail!("not done: {said}"),
            None => Ok(target),
        });
        match found {
            Ok(target) => targets.push(target),
            Err(why) => {
                let why = format!("{}: {why}", words(wish));
                let at = *known.entry(why.clone()).or_insert(refused.len());
                match refused.get_mut(at) {
                    Some((_, n)) => *n += 1,
                    None => refused.push((why, 1)),
                }
            }
        }
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
fn left_alone(wish: &Wish, target: &Target, disk: &places::Disk) -> Option<String> {
    let rule = wish.rule.as_deref()?;
    let value = target.value.as_deref();
    let plan = places::plan(&target.spot, &target.variable, value, disk).ok()?;
    places::ignored(&plan, rule, disk)
}

fn words(wish: &Wish) -> String {
    places::words(&wish.variable, wish.value.as_deref())
}

fn wishes(asked: &cli::Fix) -> Result<Vec<Wish>> {
    if let Some(set) = &asked.set {
        let (variable, value) = match set.split_once('=') {
            Some((variable, value)) => (variable, Some(value.to_owned())),
            None => (set.as_str(), None),
        };
        check_name(variable)?;
        let Some(whom) = named(asked)? else {
            bail!("--set wants --unit, --pid or --in to say for whom");
        };
        let variable = variable.to_owned();
        return Ok(vec![Wish { rule: None, variable, value, caveat: None, whom }]);
    }
    let wanted = match &asked.report {
        Some(report) => {
            let text = crate::whose::text_of(report)?;
            let wanted = places::wanted(&text, &asked.rules)
                .map_err(|why| anyhow!("{}: {why}", report.display()))?;
            for wanted in &wanted {
                is_an_advice(wanted).with_context(|| report.display().to_string())?;
            }
            wanted
        }
        None => look(asked)?,
    };
    let whom = named(asked)?;
    Ok(wanted.into_iter().flat_map(|wanted| wishes_of(wanted, whom.as_ref())).collect())
}

/// For whom the command line says that a change is to be.
fn named(asked: &cli::Fix) -> Result<Option<Whom>> {
    Ok(match (&asked.place, &asked.unit, asked.pid) {
        (Some(file), ..) => {
            let file = std::path::absolute(file).context("no working directory")?;
            Some(Whom::File(file, asked.part.clone()))
        }
        (_, Some(unit), _) => Some(Whom::Unit(places::unit_name(unit))),
        (.., Some(pid)) => Some(Whom::Process(pid)),
        _ => None,
    })
}

/// A report may come from elsewhere: what no rule of ours advises is not made from one, nor is code loaded
/// into a program because a report says so.
fn is_an_advice(wanted: &Wanted) -> Result<()> {
    let Wanted { rule, variable, value, .. } = wanted;
    let loads = value.is_some() && matches!(variable.as_str(), "LD_PRELOAD" | "LD_AUDIT");
    if loads || !crate::settings::get().watched.contains(&variable.as_str()) {
        bail!(
            "no rule advises {variable} as {rule} does there: to have it all the same, say --set"
        );
    }
    Ok(())
}

/// A remedy for whom the command line names, else for each process of its finding that still runs, else
/// for its unit.
fn wishes_of(wanted: Wanted, named: Option<&Whom>) -> Vec<Wish> {
    let alive = |(pid, exe): &&(u32, Option<String>)| {
        let now = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        now.is_some() && now.as_deref().and_then(Path::to_str) == exe.as_deref()
    };
    let whom = match (named, &wanted.service) {
        (Some(whom), _) => vec![whom.clone()],
        _ if wanted.of_run => vec![Whom::Nobody(
            "the report is of a command that was run: start it so, or name what runs it (--unit, --pid, --in)".into(),
        )],
        (_, service) => {
            let running = wanted.processes.iter().filter(alive).map(|(pid, _)| Whom::Process(*pid));
            let running: Vec<Whom> = running.collect();
            match service {
                _ if !running.is_empty() => running,
                Some(service) if service.ends_with(".service") => vec![Whom::Unit(service.clone())],
                _ => vec![Whom::Nobody("the process of the report has ended: name what runs it (--unit, --pid)".into())],
            }
        }
    };
    let wish = |whom| Wish {
        rule: Some(wanted.rule.clone()),
        variable: wanted.variable.clone(),
        value: wanted.value.clone(),
        caveat: Some(wanted.caveat.clone()),
        whom,
    };
    whom.into_iter().map(wish).collect()
}

/// Observes the unit or process, and gives what the rules advise.
fn look(asked: &cli::Fix) -> Result<Vec<places::Wanted>> {
    let who = match (&asked.unit, asked.pid) {
        (Some(unit), _) => Who::Unit(unit.clone()),
        (None, Some(pid)) => Who::Processes(vec![pid]),
        (None, None) => bail!("what shall be changed? Give REPORT, or --set VAR=VALUE"),
    };
    let options =
        needless_capture::Options { watch: crate::settings::get().watched, ..Default::default() };
    output::say(format_args!("observing {who} for {} s", LOOK.as_secs()));
    let profile = needless_capture::window(&who, LOOK, &options, &mut |_| ())
        .map_err(|failure| anyhow!(failure.message))?;
    let options = needless_rules::Options {
        min_saving_percent: 1.0,
        only: asked.rules.clone(),
        ignore: Vec::new(),
        pedantic: false,
        declared: crate::settings::get().rules,
    };
    let mut verdict = needless_rules::check_by_service(&profile, &options);
    crate::gate::suppress(&mut verdict, &profile, &options);
    for needless_rules::Suppressed { finding, reason, place, .. } in &verdict.suppressed {
        output::say(format_args!("{} is left alone: {place} says so ({reason})", finding.rule));
    }
    let report = needless_report::Report {
        profile: &profile,
        verdict: &verdict,
        source: needless_report::Source::Attach(who.to_string()),
        top: None,
        version: env!("CARGO_PKG_VERSION"),
        proof: None,
    };
    let mut text = Vec::new();
    let style = Output::stdout().style(When::Never);
    needless_report::write(&mut text, &report, needless_report::Format::Json, style)?;
    places::wanted(&String::from_utf8_lossy(&text), &asked.rules).map_err(|why| anyhow!(why))
}

/// Where a wish belongs; refused where its value is wrong for the programs it would reach.
fn target(wish: &Wish, disk: &places::Disk) -> Result<Target> {
    let value = wish.value.as_deref();
    let own = || Root::own().context("cannot open /");
    let (spot, whom) = match &wish.whom {
        Whom::Nobody(why) => bail!("{why}"),
        Whom::File(file, part) => {
            let path = file.to_str().context("the file's name is not UTF-8")?;
            let spot = places::spot_of_file(path, part.as_deref(), disk);
            (spot.map_err(|why| anyhow!(why))?, None)
        }
        Whom::Process(pid) => {
            let (chain, told) = of_process(*pid, &wish.variable)?;
            let me = chain.last().context("a chain has a last process")?;
            if !me.own_root && !sees_our_files(me, &told) {
                bail!("it runs in a container or another root: change what makes that (--in FILE)");
            }
            let exes: Vec<String> = me.exe.iter().cloned().collect();
            let right = places::check_target(&wish.variable, value, &exes, &own()?);
            right.map_err(|why| anyhow!(why))?;
            (first(told)?, Some(format!("{}[{pid}]", me.name())))
        }
        Whom::Unit(unit) => {
            let told = match places::main_process(unit) {
                Some(pid) => of_process(pid, &wish.variable)?.1,
                None => of_stopped_unit(unit, &wish.variable)?,
            };
            let exes = places::processes_of_unit(unit).into_iter().filter_map(|pid| {
                let exe = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
                Some(exe.to_string_lossy().into_owned())
            });
            let exes: Vec<String> = exes.collect();
            let right = places::check_target(&wish.variable, value, &exes, &own()?);
            right.map_err(|why| anyhow!(why))?;
            (first(told)?, Some(unit.clone()))
        }
    };
    Ok(Target {
        spot,
        variable: wish.variable.clone(),
        value: wish.value.clone(),
        caveats: wish.caveat.iter().cloned().collect(),
        whom: whom.into_iter().collect(),
    })
}

/// Whether the process sees, where the change would be made, the files that we see.
fn sees_our_files(me: &needless_capture::Kin, told: &places::Origin) -> bool {
    let file = told.spots.first().and_then(|spot| spot.file.as_deref());
    me.sees_ours(file.unwrap_or("/etc"))
}

fn first(told: places::Origin) -> Result<places::Spot> {
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
fn carry_out(target: &Target, plan: &Plan, asked: &cli::Fix, state: &Path) -> Result<bool> {
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
    for_whom: &[Target],
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
    let (journal, said) = open(state)?;
    said.into_iter().for_each(output::say);
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

fn open(state: &Path) -> Result<(Journal, Vec<String>)> {
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
fn verify(target: &Target, plan: &Plan, id: u32, state: &Path) -> Result<()> {
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
    let (journal, said) = open(&state)?;
    said.into_iter().for_each(output::say);
    let mut out = std::io::stdout().lock();
    if asked.list {
        for entry in journal.entries().map_err(|why| anyhow!(why))? {
            let state = match entry.state {
                State::Applied => "holds",
                State::Undone => "undone",
                State::RolledBack => "rolled back",
                State::Begun => "begun",
            };
            writeln!(out, "{:>4}  {state:<11}  {}", entry.id, clean(&entry.what))?;
        }
        return Ok(());
    }
    let id = match asked.id {
        Some(id) => id,
        None => journal.last().map_err(|why| anyhow!(why))?,
    };
    let entry = journal.undo(id).map_err(|why| anyhow!(why))?;
    writeln!(out, "taken back: change {id}, {}", clean(&entry.what))?;
    entry.after.iter().try_for_each(|words| take_effect(&mut out, words))
}
