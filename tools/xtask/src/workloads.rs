//! `cargo xtask workloads [WORD] [--write]`: ordinary jobs, and what their account shows.
//!
//! A workload is a script in `tools/cases/workloads` with the functions `prepare`, `run` and, where a person found
//! something avoidable in it, `better`. The difference between `run` and `better` is the cost of that thing, in seconds
//! of CPU time and of the clock; beside it stands what the report of one observed run says about it. With `--write`, the
//! rows of the table in `book/src/workloads.md` are replaced by what was measured.

mod shown;

use crate::table::{self, Row};
use anyhow::{Context, Result, bail, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use serde_json::Value;
use shown::Look;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Runs of each kind; the medians are compared.
const RUNS: usize = 5;

/// One workload.
struct Workload {
    name: String,
    script: PathBuf,
    what: String,
    /// The programs that it needs.
    needs: Vec<String>,
    /// What is different in the better run.
    better: Option<String>,
    /// Where the report shows it.
    look: Option<Look>,
    /// What a reader of the figures has to know.
    note: String,
}

/// CPU time and time of the clock, in seconds.
#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    wall: f64,
}

/// What was measured of one workload.
struct Measured {
    run: Cost,
    /// What the better run saves: the median of the pairs, and half of the distance between their quartiles.
    saved: Option<(Cost, Cost)>,
    /// What the report says about it, or otherwise its most expensive line.
    shown: String,
}

/// Runs every workload, or those whose name contains `word`. With `write`, the page of the book has the results.
pub(crate) fn run(root: &Path, word: Option<&str>, write: bool) -> Result<()> {
    let needless = crate::cases::needless(root)?;
    let mut workloads = read(&root.join("tools/cases/workloads"))?;
    workloads.retain(|workload| word.is_none_or(|word| workload.name.contains(word)));
    ensure!(!workloads.is_empty(), "no workload has {} in its name", word.unwrap_or(""));
    let path = path(root);
    let (mut failed, mut skipped) = (0, 0);
    let mut rows = Vec::new();
    for workload in &workloads {
        println!("{}: {}", workload.name, workload.what);
        let missing: Vec<&str> = workload
            .needs
            .iter()
            .map(String::as_str)
            .filter(|name| !is_there(name, &path))
            .collect();
        if !missing.is_empty() {
            println!("  skipped: {} not installed", missing.join(", "));
            skipped += 1;
            continue;
        }
        match measure(workload, &needless, &path) {
            Ok(measured) => rows.push(row(workload, &measured)),
            Err(error) => {
                println!("  failed: {error:#}");
                failed += 1;
            }
        }
    }
    if write {
        table::write(&root.join("book/src/workloads.md"), &rows)?;
    }
    println!("{} workloads, {failed} failed, {skipped} skipped", workloads.len());
    ensure!(failed == 0, "{failed} workloads failed");
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<Workload>> {
    let mut all = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("{}", folder.display()))? {
        let script = entry?.path();
        let text = std::fs::read_to_string(&script)?;
        let line = |label: &str| text.lines().find_map(|line| line.strip_prefix(label));
        let name = script.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let what = text.lines().nth(1).unwrap_or("").trim_start_matches("# ").to_owned();
        let needs = line("# needs: ").with_context(|| format!("{name} lacks its needs"))?;
        let needs = needs.split(' ').map(str::to_owned).collect();
        let better = line("# better: ").map(str::to_owned);
        let look = line("# look: ").map(|words| Look::parse(words).with_context(|| name.clone()));
        let note = line("# note: ").unwrap_or("").to_owned();
        all.push(Workload { name, script, what, needs, better, look: look.transpose()?, note });
    }
    all.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(all)
}

/// Where programs are: what a login has, servers, cargo, and what `scripts/install cases` unpacks.
fn path(root: &Path) -> String {
    let unpacked = root.join("target/tools/cases/usr");
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo =
        cargo.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let mut dirs: Vec<PathBuf> = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        .into_iter()
        .map(PathBuf::from)
        .chain([unpacked.join("bin"), unpacked.join("sbin")])
        .chain(cargo.map(|home| home.join("bin")))
        .collect();
    for versions in [PathBuf::from("/usr/lib/postgresql"), unpacked.join("lib/postgresql")] {
        let found = versions.read_dir().into_iter().flatten().flatten();
        dirs.extend(found.map(|version| version.path().join("bin")));
    }
    let dirs: Vec<String> = dirs.iter().map(|dir| dir.display().to_string()).collect();
    dirs.join(":")
}

fn is_there(program: &str, path: &str) -> bool {
    path.split(':').any(|dir| Path::new(dir).join(program).exists())
}

fn measure(workload: &Workload, needless: &Path, path: &str) -> Result<Measured> {
    let folder = tempfile::tempdir()?;
    let within = |words: &[&str]| -> Command {
        // Servers end with their namespace, and have its port for themselves.
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--mount-proc", "--net", "sh", "-c"]);
        command.arg("ip link set lo up; exec \"$@\"").arg("sh").args(words);
        command.env_clear().env("PATH", path).current_dir(folder.path());
        for name in ["HOME", "RUSTUP_HOME", "CARGO_HOME"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.env("LANG", "C.UTF-8").env("TERM", "xterm").stdin(Stdio::null());
        command
    };
    let script = workload.script.to_str().context("a path in UTF-8")?;
    // Outside of the namespaces: one of them downloads a package.
    let mut prepare = Command::new("sh");
    prepare.args([script, "prepare"]).env("PATH", path).current_dir(folder.path());
    succeed(prepare.stdin(Stdio::null()).stdout(Stdio::null()))?;
    let cost = |arm: &str| -> Result<Cost> { timed(&mut within(&["sh", script, arm])) };
    let arms: &[&str] = if workload.better.is_some() { &["run", "better"] } else { &["run"] };
    let mut costs: [Vec<Cost>; 2] = Default::default();
    for round in 0..=RUNS {
        for (arm, costs) in arms.iter().zip(&mut costs) {
            let cost = cost(arm)?;
            // The first run fills caches.
            costs.extend((round > 0).then_some(cost));
        }
    }
    let run = median(&costs[0]);
    println!("  run      {:.3} s of CPU time in {:.3} s", run.cpu, run.wall);
    let saved = workload.better.as_ref().map(|what| {
        let (saved, chance) = difference(&costs[0], &costs[1]);
        println!(
            "  by hand  {:.4} s of CPU time (±{:.4}), {:.4} s of the clock (±{:.4}): {what}",
            saved.cpu, chance.cpu, saved.wall, chance.wall
        );
        (saved, chance)
    });
    if saved.is_none() {
        println!("  by hand  nothing");
    }
    let report = folder.path().join("report.json");
    let out = report.to_str().context("a path in UTF-8")?;
    let mut observe = vec![needless.to_str().context("a path in UTF-8")?, "run"];
    if matches!(workload.look, Some(Look::Waits(_))) {
        observe.push("--latency");
    }
    observe.extend(["--format", "json", "-o", out, "--", "sh", script, "run"]);
    succeed(within(&observe).stdout(Stdio::null()))?;
    let report: Value = serde_json::from_str(&std::fs::read_to_string(report)?)?;
    shown::print(&report);
    let shown = match &workload.look {
        Some(look) => look.find(&report).unwrap_or_else(|| "not in the report".to_owned()),
        None => shown::first(&report),
    };
    println!("  shown    {shown}");
    Ok(Measured { run, saved, shown })
}

/// The row of the book.
fn row(workload: &Workload, measured: &Measured) -> Row {
    let Workload { name, what, better, note, .. } = workload;
    let run = measured.run;
    let by_hand = match (better, measured.saved) {
        (Some(better), Some((saved, chance))) => format!(
            "{:.4} s (±{:.4}), clock {:.4} s (±{:.4}): {}",
            saved.cpu,
            chance.cpu,
            saved.wall,
            chance.wall,
            better.trim_end_matches('.')
        ),
        _ => "nothing".to_owned(),
    };
    let note = if note.is_empty() { String::new() } else { format!(". {note}") };
    let cells = [
        what.trim_end_matches('.').to_owned(),
        format!("{:.3} s, clock {:.3} s", run.cpu, run.wall),
        by_hand,
        format!("{}{}", measured.shown, note.trim_end_matches('.')),
    ];
    Row::new(name, &cells)
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("{:?}", command.get_program()))?;
    if !status.success() {
        bail!("{:?} {:?}: {status}", command.get_program(), command.get_args());
    }
    Ok(())
}

/// CPU time of a command and of what it waited for.
fn timed(command: &mut Command) -> Result<Cost> {
    let cpu = || -> Result<f64> {
        let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
        let time =
            |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
        Ok(time(used.user_time()) + time(used.system_time()))
    };
    let (before, start) = (cpu()?, Instant::now());
    succeed(command.stdout(Stdio::null()))?;
    Ok(Cost { cpu: cpu()? - before, wall: start.elapsed().as_secs_f64() })
}

fn median(costs: &[Cost]) -> Cost {
    at(costs, 1, 2)
}

/// The value below which so many parts of the costs lie.
fn at(costs: &[Cost], part: usize, of: usize) -> Cost {
    let sorted = |of_cost: fn(&Cost) -> f64| {
        let mut all: Vec<f64> = costs.iter().map(of_cost).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() * part / of).copied().unwrap_or(0.0)
    };
    Cost { cpu: sorted(|cost| cost.cpu), wall: sorted(|cost| cost.wall) }
}

/// What the second of each pair saves, and half of the distance between the quartiles.
fn difference(runs: &[Cost], betters: &[Cost]) -> (Cost, Cost) {
    let less = |(run, better): (&Cost, &Cost)| Cost {
        cpu: run.cpu - better.cpu,
        wall: run.wall - better.wall,
    };
    let pairs: Vec<Cost> = runs.iter().zip(betters).map(less).collect();
    let (low, high) = (at(&pairs, 1, 4), at(&pairs, 3, 4));
    let chance = Cost { cpu: (high.cpu - low.cpu) / 2.0, wall: (high.wall - low.wall) / 2.0 };
    (median(&pairs), chance)
}
