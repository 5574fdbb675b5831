//! origin: from the words of the command line to a story.

use crate::cli::{self, ColorMode};
use crate::output::{Output, Stream};
use anyhow::{Context, Result, anyhow, bail};
use needless_environment as places;
use needless_host::{ProcInfo, Root};
use needless_model::Provenance;
use needless_observe::Failure;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;

/// chain of processes → story → report.
pub(crate) fn origin(asked: &cli::Origin, when: ColorMode) -> Result<()> {
    check_name(&asked.variable)?;
    let pid = match (&asked.unit, asked.pid) {
        (Some(unit), _) => places::main_process(unit),
        (None, pid) => pid,
    };
    let told = match pid {
        Some(pid) => of_process(pid, &asked.variable)?.1,
        None => of_stopped_unit(asked.unit.as_deref().unwrap_or_default(), &asked.variable)?,
    };
    let output = Output::open(asked.output.as_deref(), Stream::Stdout, endings(asked))?;
    tell(told.story, asked, output, when)
}

/// Those of files, where --json does not decide.
fn endings(asked: &cli::Origin) -> Option<&'static [&'static str]> {
    (!asked.json).then_some(&["json", "txt"])
}

fn tell(mut story: Provenance, asked: &cli::Origin, output: Output, when: ColorMode) -> Result<()> {
    if !asked.show_value {
        places::redact(&mut story);
    }
    let file = asked.output.as_deref().and_then(Path::extension);
    let mut text = Vec::new();
    let formed = match asked.json || file.is_some_and(|ending| ending == "json") {
        true => needless_report::origin_json(&mut text, &story, env!("CARGO_PKG_VERSION")),
        false => needless_report::origin(&mut text, &story, output.style(when)),
    };
    formed.context("cannot form the story")?;
    output.write(&text)
}

pub(crate) fn of_process(pid: u32, variable: &str) -> Result<(Vec<ProcInfo>, places::Origin)> {
    let chain = needless_host::ancestry(pid, variable).map_err(|why| anyhow!(why))?;
    let me = chain.last().context("a chain has a last process")?;
    let root = needless_host::root_of(me).map_err(|why| anyhow!(closed(me, &why)))?;
    let told = places::origin(&chain, variable, &root);
    Ok((chain, told))
}

/// Why the files of a process cannot be looked into, and what would let them be.
fn closed(of: &ProcInfo, error: &std::io::Error) -> String {
    let (name, pid) = (of.name(), of.pid);
    let root = Path::new("/proc/self").metadata().is_ok_and(|me| me.uid() == 0);
    match error.kind() {
        std::io::ErrorKind::PermissionDenied if !root => {
            format!(
                "{name}[{pid}] is another user's, and its files are closed to this one: run this with sudo"
            )
        }
        std::io::ErrorKind::PermissionDenied => {
            format!(
                "the files of {name}[{pid}] are closed to this root: it lacks CAP_SYS_PTRACE, or a security module forbids it"
            )
        }
        _ => format!("the files of {name}[{pid}] cannot be looked into: {error}"),
    }
}

pub(crate) fn of_stopped_unit(unit: &str, variable: &str) -> Result<places::Origin> {
    let root = Root::own().context("cannot open /")?;
    let name = places::unit_name(unit);
    places::origin_of_unit(&name, variable, &root).with_context(|| {
        format!("there is no unit {name}: `systemctl list-unit-files` tells their names")
    })
}

pub(crate) fn check_name(variable: &str) -> Result<()> {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if variable.is_empty() || !variable.chars().all(known) {
        bail!("{variable:?} is no name of a variable");
    }
    Ok(())
}

/// Runs the command, every exec seen → story; the command's own exit status.
pub(crate) fn origin_of_run(asked: &cli::Origin, when: ColorMode) -> ExitCode {
    if let Err(error) = check_name(&asked.variable) {
        return crate::fail(&error, crate::FAILED);
    }
    let output = match Output::open(asked.output.as_deref(), Stream::Stderr, endings(asked)) {
        Ok(output) => output,
        Err(error) => return crate::fail(&error, Failure::OURS),
    };
    // For the rest of the run, which is one.
    let variable: &'static str = String::leak(asked.variable.clone());
    let options = needless_observe::ObserveOptions {
        backend: needless_observe::Backend::Ptrace,
        watch: Vec::leak(vec![variable]),
        ..Default::default()
    };
    let captured =
        match needless_observe::run(&asked.command, crate::whose::caller().cloned(), &options) {
            Ok(captured) => captured,
            Err(failure) => return crate::fail(&failure.message, failure.status),
        };
    let story = places::origin_of_run(&captured.profile, variable);
    if let Err(error) = tell(story, asked, output, when) {
        crate::fail(&error, Failure::OURS);
    }
    captured.exit_like()
}
