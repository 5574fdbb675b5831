//! Examples: a trace, and what has to be found in it.
//!
//! A finding is written as `RULE: N of M`. Further lines, each optional, say what else has to hold:
//! `stage WORD`, `set VARIABLE[=VALUE]`, `unset VARIABLE`, `without VARIABLE ENTRY…`, `setting NAME` (that `fix` makes),
//! `manual` (no other remedy), `besides N` (calls that go with these), `below` (the threshold). `nothing` means that nothing may be found.

use crate::Verdict;
use needless_model::{Change, Finding};

/// A `trace` block of a page and the `finding` block after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What strace printed.
    pub trace: String,
    /// What has to be found.
    pub finding: String,
}

/// The examples of a page, in Markdown.
///
/// # Errors
/// When a block has no end, or no partner.
pub fn examples(text: &str) -> Result<Vec<Block>, String> {
    let mut examples = Vec::new();
    let mut trace: Option<String> = None;
    let mut blocks = text.split("```");
    blocks.next();
    while let Some(block) = blocks.next() {
        let (kind, body) = block.split_once('\n').unwrap_or((block, ""));
        match kind {
            "trace" if trace.is_some() => return Err("a trace block without a finding".into()),
            "trace" => trace = Some(body.to_owned()),
            "finding" => {
                let trace = trace.take().ok_or("a finding block without a trace block")?;
                examples.push(Block { trace, finding: body.to_owned() });
            }
            _ => {}
        }
        blocks.next().ok_or("a block without an end")?;
    }
    match trace {
        None => Ok(examples),
        Some(_) => Err("a trace block without a finding block".to_owned()),
    }
}

/// A finding as an example writes it. `wanted_lines` are the lines after the first one.
fn summary(finding: &Finding, below: bool, wanted_lines: &[&str]) -> Result<String, String> {
    let mut out = format!("{}: {} of {}\n", finding.rule, finding.needless, finding.of);
    for line in wanted_lines {
        let kind = line.split_whitespace().next().unwrap_or("");
        let said = match kind {
            "stage" => Some(format!("stage {}", finding.stage.word())),
            "besides" => Some(format!("besides {}", finding.besides)),
            "below" => below.then(|| "below".to_owned()),
            "manual" => finding
                .remedies
                .iter()
                .all(|r| matches!(r.change, Change::Manual(_)))
                .then(|| "manual".to_owned()),
            "set" | "unset" | "without" | "setting" => finding
                .remedies
                .iter()
                .map(|r| match &r.change {
                    Change::SetEnv { variable, value: Some(value) } => {
                        format!("set {variable}={value}")
                    }
                    Change::SetEnv { variable, value: None } => format!("set {variable}"),
                    Change::UnsetEnv { variable } => format!("unset {variable}"),
                    Change::WithoutEntries { variable, entries } => {
                        format!("without {variable} {}", entries.join(" "))
                    }
                    Change::Setting(setting, _) => format!("setting {}", setting.word()),
                    other => other.kind().to_owned(),
                })
                .find(|said| said.starts_with(&format!("{kind} "))),
            other => return Err(format!("a finding block does not know {other:?}")),
        };
        out.push_str(&said.unwrap_or_else(|| format!("no {kind}")));
        out.push('\n');
    }
    Ok(out)
}

/// Compares a verdict with what has to be found: every finding must be named, and no other.
/// Findings below the threshold count only if a line says so.
///
/// # Errors
/// When it differs: what was found, and what was wanted.
pub fn compare(verdict: &Verdict, wanted: &str) -> Result<(), String> {
    let lines: Vec<&str> = wanted.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in lines.iter().filter(|line| **line != "nothing") {
        if line.contains(": ") {
            blocks.push(vec![line])
        } else {
            blocks.last_mut().ok_or("a finding begins with `RULE: N of M`")?.push(line)
        }
    }
    let with_below = blocks.iter().any(|block| block.contains(&"below"));
    let shown = verdict.findings.iter().map(|f| (f, false));
    let below = verdict.below.iter().filter(|_| with_below).map(|f| (f, true));
    let mut said = Vec::new();
    for (finding, below) in shown.chain(below) {
        let start = format!("{}: {} of {}", finding.rule, finding.needless, finding.of);
        let wanted_lines = blocks.iter().find(|block| block[0] == start);
        said.push(summary(finding, below, wanted_lines.map_or(&[], |block| &block[1..]))?);
    }
    let mut want: Vec<String> = blocks.iter().map(|block| block.join("\n") + "\n").collect();
    said.sort();
    want.sort();
    if said == want {
        return Ok(());
    }
    let shown = |all: &[String]| match all.concat().trim_end().replace('\n', "; ") {
        none if none.is_empty() => "nothing".to_owned(),
        some => some,
    };
    Err(format!("found {}, wanted {}", shown(&said), shown(&want)))
}
