//! `cargo xtask predictions [WORD] [--write]`: what findings predict, in seconds, beside what `needless prove` measures;
//! and with `--per-call` what runtimes work for each call of a search, from which such predictions are made.

use crate::table::{self, Row};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A prediction that is further off is an error of ours, or is explained in the book.
const FACTOR: f64 = 1.5;

/// What is measured: a change, the environment and the command before it.
struct Experiment<'a> {
    change: &'a str,
    variables: &'a str,
    command: &'a str,
}

fn experiments<'a>(text: &'a str, word: Option<&str>) -> Result<Vec<Experiment<'a>>> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let lines = lines.filter(|line| word.is_none_or(|word| line.contains(word)));
    let experiment = |line: &'a str| {
        let mut parts = line.splitn(3, '|').map(str::trim);
        let (Some(change), Some(variables), Some(command)) =
            (parts.next(), parts.next(), parts.next())
        else {
            anyhow::bail!("not CHANGE | ENVIRONMENT | COMMAND: {line}");
        };
        Ok(Experiment { change, variables, command })
    };
    lines.map(experiment).collect()
}

/// By how much a quantity of a proof fell, in seconds, from the least to the most that is likely; and what it was.
fn fell(proof: &Value, quantity: &str) -> Result<[f64; 4]> {
    let measure = list(&proof["measures"]).iter().find(|one| one["quantity"] == quantity);
    let measure = measure.with_context(|| format!("{quantity} was not measured"))?;
    let number = |of: &str| measure[of].as_f64().unwrap_or(0.0);
    Ok([-number("difference"), -number("high"), -number("low"), number("before")])
}

/// The sum of a figure of the predictions.
fn predicted(proof: &Value, figure: &str) -> f64 {
    let all = list(&proof["predictions"]).iter();
    all.filter_map(|one| one[figure].as_f64()).sum()
}

pub(crate) fn run(root: &Path, word: Option<&str>, write: bool) -> Result<()> {
    let needless = crate::cases::needless(root)?;
    let text = std::fs::read_to_string(root.join("tools/cases/predictions.txt"))?;
    let mut rows = Vec::new();
    let mut off = 0;
    for experiment in experiments(&text, word)? {
        let proof = prove(&needless, &experiment)?;
        let Experiment { change, command, .. } = experiment;
        let predicted = (predicted(&proof, "kernel_us") + predicted(&proof, "user_us")) / 1e6;
        let [fell, low, high, before] = fell(&proof, "cpu_s")?;
        let factor = predicted / fell;
        let proven = proof["cpu_fell"] == true;
        off += u32::from(proven && !(1.0 / FACTOR..=FACTOR).contains(&factor));
        let factor = if proven { format!("{factor:.2}") } else { "not proven".to_owned() };
        println!(
            "{change} {command}: predicted {predicted:.4} s, CPU time fell by {fell:.4} s ({low:.4} to {high:.4}) of {before:.4} s: {factor}",
        );
        let change = change.replacen("- ", "without ", 1);
        rows.push(Row::new(
            command,
            &[
                change,
                format!("{before:.3} s"),
                format!("{predicted:.4} s"),
                format!("{fell:.4} s ({low:.4} to {high:.4})"),
                factor,
            ],
        ));
    }
    println!("{} predictions, {off} of them off by more than a factor of {FACTOR}", rows.len());
    if write {
        table::write(&root.join("book/src/predictions.md"), &rows)?;
    }
    Ok(())
}

/// What a runtime itself works for each call of a search: the CPU time that is saved beyond what the calls take in the
/// kernel, by the calls that go. Not the time in user mode as the kernel counts it: of short programs that is a guess.
pub(crate) fn per_call(root: &Path, word: Option<&str>) -> Result<()> {
    let needless = crate::cases::needless(root)?;
    let text = std::fs::read_to_string(root.join("tools/cases/searches.txt"))?;
    for experiment in experiments(&text, word)? {
        let proof = prove(&needless, &experiment)?;
        let calls = predicted(&proof, "went");
        let kernel = predicted(&proof, "kernel_us") / 1e6;
        let [fell, low, high, _] = fell(&proof, "cpu_s")?.map(|s| (s - kernel) * 1e9 / calls);
        println!(
            "{} {}: {fell:.0} ns for each of {calls} calls ({low:.0} to {high:.0}), besides {:.0} ns in the kernel",
            experiment.change,
            experiment.command,
            kernel * 1e9 / calls
        );
    }
    Ok(())
}

fn prove(needless: &Path, experiment: &Experiment<'_>) -> Result<Value> {
    let Experiment { change, variables, command } = experiment;
    measure(needless, change, variables, command).with_context(|| format!("{change} {command}"))
}

fn measure(needless: &Path, change: &str, variables: &str, command: &str) -> Result<Value> {
    let folder = tempfile::tempdir()?;
    let here = folder.path().display().to_string();
    let twenty: Vec<String> = (1..=20).map(|n| format!("{here}/p{n}")).collect();
    for dir in &twenty {
        std::fs::create_dir(dir)?;
    }
    std::fs::write(folder.path().join("c.c"), "#include <stdio.h>\n#include <stdlib.h>\n")?;
    let variables = variables.replace("TWENTY", &twenty.join(":"));
    let out = folder.path().join("proof.json");
    let mut prove = Command::new("env");
    prove.args(["-i", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root"]);
    prove.args(variables.split_whitespace()).arg(needless).args(["prove", "-o"]).arg(&out);
    match change.strip_prefix("- ") {
        Some(variable) => prove.args(["--unset", variable]),
        None => prove.args(["--set", change]),
    };
    prove.args(["--budget", "10s", "--ignore-output", ".*", "--", "sh", "-c"]);
    prove.arg(format!("exec {command}")).current_dir(folder.path());
    prove.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    prove.status()?;
    let proof = std::fs::read_to_string(&out).context("no proof was written")?;
    let proof: Value = serde_json::from_str(&proof)?;
    ensure!(proof["failure"].is_null(), "{}", proof["failure"]);
    Ok(proof)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
