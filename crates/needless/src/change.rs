//! origin, fix and undo: from the words of the command line to `places`, and back to the terminal.

use crate::cli::{self, When};
use crate::output::{self, Output, Stream};
use anyhow::{Context, Result, anyhow, bail};
use needless_capture::{Failure, Kin, Root, Who};
use needless_places::{self as places, Journal, Plan, Spot, State};
use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long a unit is observed where nothing says what to change.
const LOOK: Duration = Duration::from_secs(10);

/// chain of processes → story → report.
pub(crate) fn origin(asked: &cli::Origin, when: When) -> Result<()> {
    check_name(&asked.variable)?;
    let pid = match (&asked.unit, asked.pid) {
        (Some(unit), _) => places::main_process(unit),
        (None, pid) => pid,
    };
    let told = match pid {
        Some(pid) => of_process(pid, &asked.variable)?.1,
        None => of_stopped_unit(asked.unit.as_deref().unwrap_or_default(), &asked.variable)?,
    };
    crate::print(|out, style| needless_report::origin(out, &told.story, style), when)
}

fn of_process(pid: u32, variable: &str) -> Result<(Vec<Kin>, places::Origin)> {
    let chain = needless_capture::ancestry(pid, variable).map_err(|why| anyhow!(why))?;
    let me = chain.last().context("a chain has a last process")?;
    let root = needless_capture::root_of(me)
        .with_context(|| format!("cannot look into the file system of process {pid}"))?;
    let told = places::origin(&chain, variable, &root);
    Ok((chain, told))
}

fn of_stopped_unit(unit: &str, variable: &str) -> Result<places::Origin> {
    let root = Root::own().context("cannot open /")?;
    Ok(places::origin_of_unit(&places::unit_name(unit), variable, &root))
}

fn check_name(variable: &str) -> Result<()> {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(known) {
        bail!("{variable:?} is no name of a variable");
    }
    Ok(())
}

/// Runs the command, every exec seen → story; the command's own exit status.
pub(crate) fn origin_of_run(asked: &cli::Origin, when: When) -> ExitCode {
    if let Err(error) = check_name(&asked.variable) {
        return crate::complain(&error, crate::FAILED);
    }
    let output = match Output::open(None, Stream::Stderr) {
        Ok(output) => output,
        Err(error) => return crate::complain(&error, Failure::OURS),
    };
    // For the rest of the run, which is one.
    let variable: &'static str = String::leak(asked.variable.clone());
    let options = needless_capture::Options {
        backend: needless_capture::Backend::Ptrace,
        watch: Vec::leak(vec![variable]),
        ..Default::default()
    };
    let captured = match needless_capture::run(&asked.command, output.caller().cloned(), &options) {
        Ok(captured) => captured,
        Err(failure) => return crate::complain(&failure.message, failure.status),
    };
    let story = places::origin_of_run(&captured.profile, variable);
    let mut text = Vec::new();
    let formed = needless_report::origin(&mut text, &story, output.style(when));
    if let Err(error) = formed.context("cannot form the story").and_then(|()| output.write(&text)) {
        crate::complain(&error, Failure::OURS);
    }
    captured.mirror()
}

/// A change somebody wants, with the process or unit it is for.
struct Wish {
    variable: String,
    value: Option<String>,
    caveat: Option<String>,
    whom: Whom,
}

enum Whom {
    Process(u32),
    Unit(String),
    File(PathBuf, Option<String>),
    /// Nobody who still runs.
    Nobody(String),
}

/// report, --set or a look → wishes; each → place → plan → diff → asked → written → reloaded.
pub(crate) fn fix(asked: &cli::Fix) -> Result<()> {
    let wishes = wishes(asked)?;
    if wishes.is_empty() {
        output::say("nothing to change: no remedy that a tool may apply");
        return Ok(());
    }
    let state = places::state_dir().map_err(|why| anyhow!(why))?;
    let disk = places::Disk::at(Path::new("/")).context("cannot open /")?;
    let (mut undone, mut seen) = (0, Vec::new());
    for wish in wishes {
        match plan(&wish, &disk) {
            Ok(plan) if seen.contains(&plan.what) => {}
            Ok(plan) => {
                seen.push(plan.what.clone());
                undone += u32::from(!carry_out(&wish, &plan, asked, &state)?);
            }
            Err(why) => {
                undone += 1;
                output::say(format_args!("{}: {why}", words(&wish)));
            }
        }
    }
    match undone {
        0 => Ok(()),
        n => bail!("{n} of the changes not made"),
    }
}

fn words(wish: &Wish) -> String {
    match &wish.value {
        Some(value) => format!("{}={value}", wish.variable),
        None => format!("{} removed", wish.variable),
    }
}

fn wishes(asked: &cli::Fix) -> Result<Vec<Wish>> {
    if let Some(set) = &asked.set {
        let (variable, value) = match set.split_once('=') {
            Some((variable, value)) => (variable, Some(value.to_owned())),
            None => (set.as_str(), None),
        };
        check_name(variable)?;
        let whom = match (&asked.place, &asked.unit, asked.pid) {
            (Some(file), ..) => {
                let file = std::path::absolute(file).context("no working directory")?;
                Whom::File(file, asked.part.clone())
            }
            (_, Some(unit), _) => Whom::Unit(places::unit_name(unit)),
            (.., Some(pid)) => Whom::Process(pid),
            _ => bail!("--set wants --unit, --pid or --in to say for whom"),
        };
        return Ok(vec![Wish { variable: variable.to_owned(), value, caveat: None, whom }]);
    }
    let wanted = match &asked.report {
        Some(report) => {
            let text = std::fs::read_to_string(report)
                .with_context(|| format!("cannot read {}", report.display()))?;
            places::wanted(&text, &asked.rules)
                .map_err(|why| anyhow!("{}: {why}", report.display()))?
        }
        None => look(asked)?,
    };
    Ok(wanted.into_iter().map(|wanted| wish(wanted, asked)).collect())
}

fn wish(wanted: places::Wanted, asked: &cli::Fix) -> Wish {
    let alive = |pid: u32, exe: &Option<String>| {
        let now = std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        now.is_some() && now.as_deref().and_then(Path::to_str) == exe.as_deref()
    };
    let whom = match (&asked.unit, asked.pid, &wanted.service) {
        (Some(unit), ..) => Whom::Unit(places::unit_name(unit)),
        (_, Some(pid), _) => Whom::Process(pid),
        _ if wanted.of_run => Whom::Nobody(
            "the report is of a command that was run: start it so, or name what runs it (--unit, --pid, --in)".into(),
        ),
        _ if alive(wanted.pid, &wanted.exe) => Whom::Process(wanted.pid),
        (.., Some(service)) if service.ends_with(".service") => Whom::Unit(service.clone()),
        _ => Whom::Nobody("the process of the report has ended: name what runs it (--unit, --pid)".into()),
    };
    Wish { variable: wanted.variable, value: wanted.value, caveat: Some(wanted.caveat), whom }
}

/// Observes the unit or process, and gives what the rules advise.
fn look(asked: &cli::Fix) -> Result<Vec<places::Wanted>> {
    let who = match (&asked.unit, asked.pid) {
        (Some(unit), _) => Who::Unit(unit.clone()),
        (None, Some(pid)) => Who::Processes(vec![pid]),
        (None, None) => bail!("what shall be changed? Give REPORT, or --set VAR=VALUE"),
    };
    let options = needless_capture::Options {
        watch: needless_rules::watched_variables(),
        ..Default::default()
    };
    output::say(format_args!("observing {who} for {} s", LOOK.as_secs()));
    let profile = needless_capture::window(&who, LOOK, &options, &mut |_| ())
        .map_err(|failure| anyhow!(failure.message))?;
    let options = needless_rules::Options {
        min_saving_percent: 1.0,
        only: asked.rules.clone(),
        ignore: Vec::new(),
        pedantic: false,
    };
    let verdict = needless_rules::check_by_service(&profile, &options);
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

fn plan(wish: &Wish, disk: &places::Disk) -> Result<Plan> {
    let value = wish.value.as_deref();
    let own = || Root::own().context("cannot open /");
    let (spot, exes, root): (Spot, Vec<String>, Root) = match &wish.whom {
        Whom::Nobody(why) => bail!("{why}"),
        Whom::File(file, part) => {
            let path = file.to_str().context("the file's name is not UTF-8")?;
            let spot = places::spot_of_file(path, part.as_deref(), disk);
            let plan = spot.and_then(|spot| places::plan(&spot, &wish.variable, value, disk));
            return plan.map_err(|why| anyhow!(why));
        }
        Whom::Process(pid) => {
            let (chain, told) = of_process(*pid, &wish.variable)?;
            let me = chain.last().context("a chain has a last process")?;
            if !me.own_root && !sees_our_files(me, &told) {
                bail!("it runs in a container or another root: change what makes that (--in FILE)");
            }
            let exes = me.exe.iter().cloned().collect();
            (first(told)?, exes, own()?)
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
            (first(told)?, exes.collect(), own()?)
        }
    };
    let right = places::check_target(&wish.variable, value, &exes, &root);
    right.map_err(|why| anyhow!(why))?;
    places::plan(&spot, &wish.variable, value, disk).map_err(|why| anyhow!(why))
}

/// Whether the process sees, where the change would be made, the files that we see.
fn sees_our_files(me: &Kin, told: &places::Origin) -> bool {
    let file = told.spots.first().and_then(|spot| spot.file.as_deref());
    me.sees_ours(file.unwrap_or("/etc"))
}

fn first(told: places::Origin) -> Result<Spot> {
    told.spots.into_iter().next().context("no place is known that would reach it")
}

/// Shows the plan and, if it is wanted, makes it hold. Whether it does.
fn carry_out(wish: &Wish, plan: &Plan, asked: &cli::Fix, state: &Path) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    if plan.files.is_empty() {
        writeln!(out, "already so: {}", plan.what)?;
        return Ok(true);
    }
    let diff = plan.diff();
    if asked.diff {
        out.write_all(shown(&diff).as_bytes())?;
        return Ok(true);
    }
    let what = shown(&plan.what);
    writeln!(out, "{what}\n  place    {}\n  why      {}", shown(&plan.place), shown(&plan.why))?;
    for caveat in wish.caveat.iter().chain(&plan.caveats) {
        writeln!(out, "  caveat   {}", shown(caveat))?;
    }
    writeln!(out, "  effect   {}", plan.effect)?;
    if !plan.restart.is_empty() {
        writeln!(out, "  restart  {}", plan.restart.join(" "))?;
    }
    writeln!(out, "\n{}", shown(&diff))?;
    out.flush()?;
    if !asked.yes && !agreed(&mut out)? {
        return Ok(false);
    }
    let (journal, said) = open(state)?;
    said.into_iter().for_each(output::say);
    let after: Vec<Vec<String>> =
        std::iter::once(plan.reload.clone()).filter(|words| !words.is_empty()).collect();
    let id = journal.apply(&plan.what, &plan.files, after).map_err(|why| anyhow!(why))?;
    writeln!(out, "done: change {id}; `needless undo {id}` takes it back")?;
    drop(journal);
    take_effect(&mut out, &plan.reload)?;
    verify(wish, plan, id, state)?;
    if asked.restart && !plan.restart.is_empty() {
        places::run(&plan.restart).map_err(|why| anyhow!(why))?;
        writeln!(out, "restarted: {}", plan.restart.join(" "))?;
    }
    Ok(true)
}

/// Text of files as a terminal may see it; as it is for a pipe, which may be patch(1).
fn shown(text: &str) -> String {
    if !std::io::stdout().is_terminal() {
        return text.to_owned();
    }
    let lines: Vec<_> = text.split('\n').map(needless_report::clean).collect();
    lines.join("\n")
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
        writeln!(out, "systemd does not run here: run `{}` where it does", words.join(" "))?;
        return Ok(());
    }
    places::run(words).map(|_| ()).map_err(|why| anyhow!(why))
}

/// What systemd itself says the unit will have; a change that does not hold is taken back.
fn verify(wish: &Wish, plan: &Plan, id: u32, state: &Path) -> Result<()> {
    let Some(unit) =
        plan.restart.last().filter(|_| !plan.reload.is_empty() && places::systemd_runs())
    else {
        return Ok(());
    };
    if plan.reload.last().is_none_or(|word| word != "daemon-reload") {
        return Ok(());
    }
    let user = plan.reload.iter().any(|word| word == "--user");
    if places::will_have(unit, user, &wish.variable, wish.value.as_deref()) != Some(false) {
        return Ok(());
    }
    let (journal, _) = open(state)?;
    journal.undo(id).map_err(|why| anyhow!(why))?;
    places::run(&plan.reload).map_err(|why| anyhow!(why))?;
    bail!(
        "systemd still gives {unit} another {}: a file that sorts after zz-needless.conf sets it; taken back",
        wish.variable
    )
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
            writeln!(out, "{:>4}  {state:<11}  {}", entry.id, shown(&entry.what))?;
        }
        return Ok(());
    }
    let id = match asked.id {
        Some(id) => id,
        None => journal.last().map_err(|why| anyhow!(why))?,
    };
    let entry = journal.undo(id).map_err(|why| anyhow!(why))?;
    writeln!(out, "taken back: change {id}, {}", shown(&entry.what))?;
    entry.after.iter().try_for_each(|words| take_effect(&mut out, words))
}
