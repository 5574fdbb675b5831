//! `cargo xtask ordinary [WORD]`: ordinary commands in the locales that people use.
//!
//! Each line of `tools/cases/ordinary.txt` runs under needless in each locale. Every finding that is not small is
//! printed, for a person to judge: it must be one that the maintainer of the program would call right.

use super::stage::{self, CaseStage};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The locales: their variables, and whether en_US.UTF-8 must be installed for them.
const LOCALES: [(&str, bool); 4] = [
    ("LANG=C", false),
    ("LANG=C.UTF-8", false),
    ("LANG=en_US.UTF-8", true),
    // As Ubuntu has it for a user without a LANG.
    ("LANGUAGE=en_US:en", true),
];

pub(crate) fn run(root: &Path, word: Option<&str>) -> Result<()> {
    let needless = super::needless(root)?;
    let stage = CaseStage::new(needless.clone(), root);
    let text = std::fs::read_to_string(root.join("tools/cases/ordinary.txt"))?;
    let commands = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands: Vec<&str> =
        commands.filter(|line| word.is_none_or(|word| line.contains(word))).collect();
    ensure!(!commands.is_empty(), "no command has {} in it", word.unwrap_or(""));
    let material = tempfile::tempdir()?;
    stage::prepare(&stage, material.path(), super::MATERIAL)?;
    let installed = stage.locales().context("en_US.UTF-8 cannot be installed")?;
    let (mut runs, mut failed, mut small, mut large) = (0, 0, 0, 0);
    for (variables, install) in LOCALES {
        let around = if install { &*installed } else { "" };
        for command in &commands {
            let folder = tempfile::tempdir()?;
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(material.path().join(".")).arg(folder.path());
            ensure!(copy.status()?.success(), "cp failed");
            let report = folder.path().join("report.json");
            let mut observed = Command::new("unshare");
            observed
                .args(["--mount", "--propagation", "private", "sh", "-c"])
                .arg(format!("{around}exec \"$@\""))
                .args(["sh", "env", "-i", "TERM=xterm", variables])
                .arg(format!("PATH={}", stage.path()))
                .arg(format!("HOME={}", folder.path().display()))
                .arg(&needless)
                .args(["run", "--backend", "ebpf", "--format", "json", "-o"])
                .arg(&report)
                .args(["--", "sh", "-c", command])
                .current_dir(folder.path())
                .stdin(Stdio::null())
                .stdout(std::fs::File::create(folder.path().join("stdout"))?)
                .stderr(Stdio::null());
            let status = observed.status()?;
            runs += 1;
            if !status.success() {
                println!("{variables} {command}: {status}");
                failed += 1;
            }
            let report = std::fs::read_to_string(report).with_context(|| (*command).to_owned())?;
            let report: Value = serde_json::from_str(&report)?;
            for finding in report["findings"].as_array().into_iter().flatten() {
                if finding["small"] == true {
                    small += 1;
                    continue;
                }
                large += 1;
                println!("{variables} {command}: {}", described(finding, &report["totals"]));
            }
        }
    }
    println!(
        "{} commands in {} locales: {runs} runs, {failed} failed, {large} findings that are not small, {small} small",
        commands.len(),
        LOCALES.len()
    );
    ensure!(failed == 0, "{failed} runs failed");
    Ok(())
}

/// The rule, the time and what it found, of a report with these totals.
fn described(finding: &Value, totals: &Value) -> String {
    let cpu = ["cpu_user_s", "cpu_sys_s"].iter().filter_map(|of| totals[of].as_f64());
    let us = finding["kernel_us"].as_f64().unwrap_or(0.0);
    format!(
        "{}: {:.3} ms, {:.1} % of the CPU time: {}",
        finding["rule"].as_str().unwrap_or("?"),
        us / 1e3,
        us / 1e4 / cpu.sum::<f64>(),
        finding["what"].as_str().unwrap_or("?")
    )
}
