//! Writes the measurements of cases into the table from which the pages of rules take their proof.

use super::CASES;
use anyhow::{Context, Result, ensure};
use needless_rules::MeasuredCase;
use std::path::Path;
use std::process::Command;

const TABLE: &str = "tools/cases/measured.tsv";
const HEAD: &str = "# Written by `cargo xtask cases --write`. Columns: rule, program, fixed run, calls before and after \
     (strace), predicted saving under ptrace, eBPF and from a log, other rules in it, machine.\n";

/// Replaces the rows of the measured cases, and keeps the others. Rows are in the order of the cases, also if only
/// some of them ran.
pub(super) fn write(root: &Path, new: &[MeasuredCase]) -> Result<()> {
    let path = root.join(TABLE);
    let old = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let old: Vec<MeasuredCase> = old.lines().filter_map(MeasuredCase::from_line).collect();
    let mut text = HEAD.to_owned();
    for case in CASES {
        let (program, fixed) = (case.program(), case.fixed());
        let is = |row: &&MeasuredCase| {
            row.rule == case.name() && row.program == program && row.fixed == fixed
        };
        if let Some(row) = new.iter().chain(&old).find(is) {
            text += &row.line();
            text.push('\n');
        }
    }
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The C library, the kernel's series and the architecture: "glibc 2.36, Linux 6.18, x86_64".
pub(super) fn machine() -> Result<String> {
    let libc = said("getconf", "GNU_LIBC_VERSION")?;
    let release = said("uname", "-r")?;
    let series: Vec<&str> = release.split('.').take(2).collect();
    Ok(format!("{libc}, Linux {}, {}", series.join("."), said("uname", "-m")?))
}

fn said(program: &str, argument: &str) -> Result<String> {
    let out = Command::new(program).arg(argument).output().with_context(|| program.to_owned())?;
    ensure!(out.status.success(), "{program} {argument} failed");
    Ok(String::from_utf8(out.stdout)?.trim().to_owned())
}
