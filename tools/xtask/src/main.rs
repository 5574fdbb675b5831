//! Chores of this repository; `cargo xtask` alone lists them.

#[cfg(feature = "all")]
mod bench;
#[cfg(feature = "all")]
mod cases;
#[cfg(feature = "all")]
mod evaluate;
#[cfg(feature = "all")]
mod generate;
#[cfg(feature = "all")]
mod lab;
mod new;
#[cfg(feature = "all")]
mod predictions;
mod release;
#[cfg(feature = "all")]
mod table;
#[cfg(feature = "all")]
mod time_bench;
#[cfg(feature = "all")]
mod workloads;

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask new-rule FAMILY/NAME
                                   begin a rule: a file from a template, and its entry in the list
       cargo xtask new-place NAME  begin a place that variables come from, likewise
       cargo xtask new-format NAME begin a format of reports, likewise
       cargo xtask release         the files of a release, of this commit, in target/release-VERSION
       cargo xtask gen             write the generated files
       cargo xtask gen --check     fail if one of them is stale
       cargo xtask bench           what observing costs, beside strace, and what converting a time costs
       cargo xtask bench time      only what converting a time costs
       cargo xtask bench WORD      only what observing costs, for the programs whose name contains WORD,
                                   for the start (start) or of the host (host); NEEDLESS=FILE: of that build
       cargo xtask bench-rules     what judging 100,000 rows costs
       cargo xtask lab [tz|locale] [OPTIONS]
                                   published measurements, made again on this machine; alone: their list
       cargo xtask cases [PART] [--no-prove] [--write]
                                   real programs, healthy and not, beside strace; remedies proven;
                                   written into the table from which the pages take their proof
       cargo xtask predictions [WORD] [--write]
                                   seconds that findings predict, beside those that needless prove measures
       cargo xtask predictions [WORD] --per-call
                                   what runtimes themselves work for each call of a search
       cargo xtask ordinary [WORD] ordinary commands in four locales: each finding that is not small
       cargo xtask workloads [WORD] [--write]
                                   ordinary jobs: what is avoidable in them, and what their account shows";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        // One line; `fn main() -> Result` would add a backtrace.
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = root()?;
    match args[..] {
        ["new-rule", name] => println!("{}", new::RULE.begin(&root, name)?),
        ["new-place", name] => println!("{}", new::PLACE.begin(&root, name)?),
        ["new-format", name] => println!("{}", new::FORMAT.begin(&root, name)?),
        ["release"] => println!("{}", release::release(&root)?),
        [] => bail!("what to do?\n{USAGE}"),
        _ => other_chore(&root, &args)?,
    }
    Ok(())
}

/// The other chores need most crates of the workspace; `cargo xtask` builds us without them.
#[cfg(not(feature = "all"))]
fn other_chore(root: &Path, args: &[&str]) -> Result<()> {
    use std::os::unix::process::CommandExt;
    let mut cargo = std::process::Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "xtask", "--"]).args(args).current_dir(root);
    bail!("cannot run cargo: {}", cargo.exec())
}

#[cfg(feature = "all")]
fn other_chore(root: &Path, args: &[&str]) -> Result<()> {
    match *args {
        ["gen"] => println!("{}", generate::write(root)?),
        ["gen", "--check"] => generate::check(root)?,
        ["bench", "time"] => {
            std::env::set_current_dir(root)?;
            time_bench::bench()?;
        }
        ["bench", ref part @ ..] => bench::bench(root, part.first().copied())?,
        ["cases", ref words @ ..] => {
            let is = |option: &str| words.contains(&option);
            let part = words.iter().find(|word| !word.starts_with("--")).copied();
            cases::run(root, part, is("--write"), !is("--no-prove"))?;
        }
        ["lab", ref words @ ..] => lab::lab(root, words)?,
        ["predictions", ref words @ ..] => {
            let word = words.iter().find(|word| !word.starts_with("--")).copied();
            match words.contains(&"--per-call") {
                true => predictions::per_call(root, word)?,
                false => predictions::run(root, word, words.contains(&"--write"))?,
            }
        }
        ["ordinary", ref word @ ..] => cases::ordinary::run(root, word.first().copied())?,
        ["workloads", ref words @ ..] => {
            let word = words.iter().find(|word| !word.starts_with("--")).copied();
            workloads::run(root, word, words.contains(&"--write"))?;
        }
        ["bench-rules"] => evaluate::bench()?,
        ["measure", processors, out, ref words @ ..] => {
            bench::measure(processors, out.as_ref(), words)?;
        }
        _ => bail!("what to do?\n{USAGE}"),
    }
    Ok(())
}

/// The checkout that cargo runs us from.
fn root() -> Result<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").context("run this as `cargo xtask`")?;
    let here = PathBuf::from(here);
    Ok(here.ancestors().nth(2).context("xtask lies in the checkout")?.to_owned())
}

/// The directory of `program` on the PATH of the user who runs the cases.
#[cfg(feature = "all")]
pub(crate) fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|bin| bin.is_absolute() && bin.join(program).is_file())
}
