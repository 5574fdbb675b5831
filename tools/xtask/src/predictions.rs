//! `cargo xtask predictions [WORD] [--write]`: what findings predict, in seconds, beside what `needless prove` measures.

use crate::table::{self, Row};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// A prediction that is further off is an error of ours, or is explained in the book.
const FACTOR: f64 = 1.5;

pub(crate) fn run(root: &Path, word: Option<&str>, write: bool) -> Result<()> {
    let needless = crate::cases::needless(root)?;
    let text = std::fs::read_to_string(root.join("tools/cases/predictions.txt"))?;
    let mut rows = Vec::new();
    let mut off = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if word.is_some_and(|word| !line.contains(word)) {
            continue;
        }
        let mut parts = line.splitn(3, '|').map(str::trim);
        let (Some(change), Some(variables), Some(command)) =
            (parts.next(), parts.next(), parts.next())
        else {
            anyhow::bail!("not CHANGE | ENVIRONMENT | COMMAND: {line}");
        };
        let proof =
            prove(&needless, change, variables, command).with_context(|| line.to_owned())?;
        let predicted: f64 = list(&proof["predictions"])
            .iter()
            .filter_map(|one| one["kernel_us"].as_f64())
            .sum::<f64>()
            / 1e6;
        let cpu = list(&proof["measures"]).iter().find(|one| one["quantity"] == "cpu_s");
        let cpu = cpu.context("CPU time was not measured")?;
        let number = |of: &str| cpu[of].as_f64().unwrap_or(0.0);
        let (fell, low, high) = (-number("difference"), -number("high"), -number("low"));
        let factor = predicted / fell;
        let proven = proof["cpu_fell"] == true;
        off += u32::from(proven && !(1.0 / FACTOR..=FACTOR).contains(&factor));
        let factor = if proven { format!("{factor:.2}") } else { "not proven".to_owned() };
        println!(
            "{change} {command}: predicted {predicted:.4} s, CPU time fell by {fell:.4} s ({low:.4} to {high:.4}) of {:.4} s: {factor}",
            number("before")
        );
        let change = change.replacen("- ", "without ", 1);
        rows.push(Row::new(
            command,
            &[
                change,
                format!("{:.3} s", number("before")),
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

fn prove(needless: &Path, change: &str, variables: &str, command: &str) -> Result<Value> {
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
