//! The laboratory: measurements that others published, made again on this machine and printed beside
//! their figures. One file per experiment.
//!
//! What an experiment measures runs in its own processes: this same program under a hidden subcommand
//! ([`subject`]), or a program of the machine. Where a measurement needs another `/etc/localtime` or other
//! locales, they exist only in a private mount namespace.

mod locale;
mod measure;
mod private;
mod report;
#[allow(unsafe_code, reason = "the functions that are measured are the C library's")]
mod subject;
mod tz;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, Parser, Subcommand};
use locale::LocaleOptions;
use needless_report::ProofFormat;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use tz::TzOptions;

/// Makes published experiments again on this machine: tables beside the tables of their sources.
///
/// Without a name it lists the experiments. Where one needs another /etc/localtime or other locales, they
/// exist only in a private mount namespace; the machine does not change.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    experiment: Option<Experiment>,
}

#[derive(Subcommand)]
enum Experiment {
    /// What conversions of time ask and cost, with TZ set and unset: the tables of three articles.
    Tz {
        /// Calls of each row; the source of 2015 made 100,000,000.
        #[arg(long, value_name = "N", default_value = "500000", value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
        calls: u64,
        #[command(flatten)]
        output: Output,
    },
    /// What the name of a locale costs a program at its start: a mail of 2001.
    Locale {
        #[command(flatten)]
        options: LocaleOptions,
        #[command(flatten)]
        output: Output,
    },
    /// What an experiment measures; not for people.
    #[command(name = subject::COMMAND, hide = true)]
    SubjectRun {
        function: String,
        calls: u64,
        #[arg(value_parser = subject::ETC_LOCALTIME)]
        etc_localtime: Option<String>,
    },
}

#[derive(Args)]
struct Output {
    /// Write to FILE; its ending (.json, .md, .txt) chooses the format.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// full (default), markdown or json.
    #[arg(long, value_name = "FORMAT")]
    format: Option<ProofFormat>,
}

fn main() -> ExitCode {
    match run(Cli::parse().experiment) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("needless-lab: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(experiment: Option<Experiment>) -> Result<()> {
    match experiment {
        None => print(&report::list(&[tz::EXPERIMENT, locale::EXPERIMENT], width())),
        Some(Experiment::Tz { calls, output }) => {
            let preloaded = needless_observe::preload_library().map_err(|failure| failure.message);
            output.write(|| tz::tz(&TzOptions { calls, preloaded }))
        }
        Some(Experiment::Locale { options, output }) => output.write(|| locale::locale(&options)),
        Some(Experiment::SubjectRun { function, calls, etc_localtime }) => {
            let done = subject::subject(&function, calls, etc_localtime.as_deref());
            done.map_err(|why| anyhow!(why))
        }
    }
}

impl Output {
    /// Makes an experiment and writes its results. The file is opened before: who mistyped its name learns so
    /// at once, and no mount of the experiment can hide it.
    fn write(self, make: impl FnOnce() -> Result<report::Results, String>) -> Result<()> {
        let of_path = || self.output.as_deref().and_then(ProofFormat::of_path);
        let format = self.format.or_else(of_path).unwrap_or(ProofFormat::Full);
        if format == ProofFormat::Html {
            bail!("there are no pages of experiments: use markdown, json or full");
        }
        let file = self.open()?;
        let results = make().map_err(|why| anyhow!(why))?;
        let width = if file.is_some() { 100 } else { width() };
        let text = report::results(&results, format, width);
        let Some(mut file) = file else { return print(&text) };
        if file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        file.write_all(text.as_bytes()).context("cannot write the results")
    }

    fn open(&self) -> Result<Option<File>> {
        let Some(path) = self.output.as_deref().filter(|path| path.as_os_str() != "-") else {
            return Ok(None);
        };
        let ending = path.extension().and_then(|ending| ending.to_str());
        let known = ending.is_none_or(|ending| ProofFormat::ENDINGS.contains(&ending));
        if self.format.is_none() && !known {
            bail!("{}: use the ending .json, .md or .txt, or --format", path.display());
        }
        let file = File::options().create(true).write(true).truncate(false).open(path);
        file.map(Some).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Prints to standard output. That its reader has gone is not an error.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Columns to wrap at.
fn width() -> usize {
    let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    columns.filter(|_| std::io::stdout().is_terminal()).unwrap_or(100).clamp(40, 120)
}

/// Says on a terminal what comes next.
fn step(what: &str) {
    if std::io::stderr().is_terminal() {
        eprintln!("needless-lab: {what} …");
    }
}
