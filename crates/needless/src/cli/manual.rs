//! The manual pages: one for needless, one for each of its commands, made of the same texts as `--help`, and that of
//! needless.toml. `make build` asks for each.

use super::Cli;
use crate::version::VERSION;
use anyhow::{Context, Result};
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::io::Write;

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The file name of a page (needless-run.1). Without it: the names of all pages.
    #[arg(value_name = "PAGE")]
    page: Option<String>,
}

/// The page that is not made of the command line.
const TOML: &str = "needless.toml.5";

/// A page, or the names of all pages, a line each.
///
/// # Errors
/// When there is no such page.
pub(crate) fn manual(args: &ManArgs) -> Result<Vec<u8>> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    let mut pages = vec![program.clone()];
    pages.extend(program.get_subcommands().filter(|of| !of.is_hide_set()).cloned());
    let Some(wanted) = &args.page else {
        let names = pages.iter().map(file_name).chain([TOML.to_owned()]);
        return Ok(names.map(|name| name + "\n").collect::<String>().into_bytes());
    };
    if wanted == TOML {
        return Ok(needless_config::MANUAL.into());
    }
    let page = pages.iter().find(|page| file_name(page) == *wanted);
    page_of(page.with_context(|| {
        format!(
            "{}: there is no such page: `needless man` lists them",
            needless_report::escape(wanted)
        )
    })?)
}

/// `needless-run`.
fn name(of: &Command) -> &str {
    of.get_display_name().unwrap_or_else(|| of.get_name())
}

fn file_name(of: &Command) -> String {
    format!("{}.1", name(of))
}

fn page_of(of: &Command) -> Result<Vec<u8>> {
    // As --help prints it: derived from all options it would be a paragraph.
    let usage = of.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage).to_owned();
    let man = Man::new(of.clone().override_usage(usage));
    let mut page = Vec::new();
    // Written here, because an empty date has to be quoted. No date: two builds of a version give the same page.
    let title = name(of).to_uppercase();
    writeln!(page, ".TH {title} 1 \"\" \"needless {VERSION}\" needless")?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if of.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    let mut rest = Roff::default();
    examples(of, &mut rest);
    rest.control("SH", ["SEE ALSO"]);
    rest.text([roman(see_also(of))]);
    rest.to_writer(&mut page)?;
    Ok(page)
}

/// What `--help` ends with, line by line: a heading with a colon, then commands.
fn examples(of: &Command, page: &mut Roff) {
    let Some(text) = of.get_after_long_help().map(ToString::to_string) else { return };
    let (heading, lines) = text.split_once(":\n").unwrap_or(("Examples", &text));
    page.control("SH", [heading.to_uppercase().as_str()]);
    page.control("EX", []);
    for line in lines.lines() {
        page.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    page.control("EE", []);
}

fn see_also(of: &Command) -> String {
    let of_commands = of.get_subcommands().filter(|one| !one.is_hide_set());
    let mut pages: Vec<String> = of_commands.map(|one| format!("{}(1)", name(one))).collect();
    if pages.is_empty() {
        pages.push("needless(1)".into());
    }
    pages.push("needless.toml(5)".into());
    pages.push("strace(1)".into());
    pages.join(", ")
}
