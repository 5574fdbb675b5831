//! Chores of this repository: `cargo xtask new-rule NAME`, `gen [--check]`, `bench`.

mod bench;
mod cases;
mod evaluate;
mod generate;
mod new_rule;
mod time_bench;

use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask new-rule NAME   begin a rule from the template
       cargo xtask gen             write the generated files
       cargo xtask gen --check     fail if one of them is stale
       cargo xtask bench           what observing costs, beside strace, and what converting a time costs
       cargo xtask bench time      the latter alone
       cargo xtask bench WORD      observing the programs whose name contains WORD
       cargo xtask bench-rules     what judging 100,000 rows takes
       cargo xtask cases [PART] [--no-prove] [--write]
                                   real programs, healthy and not, beside strace; remedies proven;
                                   written into the table from which the pages take their proof";

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
        ["new-rule", name] => println!("{}", new_rule::new_rule(&root, name)?),
        ["gen"] => println!("{}", generate::write(&root)?),
        ["gen", "--check"] => generate::check(&root)?,
        ["bench", "time"] => {
            std::env::set_current_dir(&root)?;
            time_bench::bench()?;
        }
        ["bench", ref part @ ..] => bench::bench(&root, part.first().copied())?,
        ["cases", ref words @ ..] => {
            let is = |option: &str| words.contains(&option);
            let part = words.iter().find(|word| !word.starts_with("--")).copied();
            cases::run(&root, part, is("--write"), !is("--no-prove"))?;
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
