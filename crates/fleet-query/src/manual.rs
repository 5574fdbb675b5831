//! The manual pages, one for the program and one for each of its commands, and what shells complete its command line with:
//! made of the same texts as `--help`. What makes a package of the program asks for them.

use crate::Fault;
use clap::{ArgMatches, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use std::io::Write;

/// A page, or the names of all pages, a line each.
///
/// # Errors
/// When there is no such page, or it cannot be printed.
pub(crate) fn manual(mut program: Command, words: &ArgMatches) -> Result<(), Fault> {
    program.build();
    let mut pages = vec![program.clone()];
    pages.extend(program.get_subcommands().filter(|of| !of.is_hide_set()).cloned());
    let file_name = |of: &Command| format!("{}.1", of.get_display_name().unwrap_or(of.get_name()));
    let text = match words.get_one::<String>("page") {
        None => pages.iter().map(|page| file_name(page) + "\n").collect::<String>().into_bytes(),
        Some(wanted) => {
            let page = pages.iter().find(|page| file_name(page) == *wanted).ok_or_else(|| {
                let wanted = wanted.escape_debug();
                Fault::new(wanted, "there is no such page", "needless-fleet man lists them")
            })?;
            page_of(page).map_err(|error| Fault::new("page", error, "it could not be made"))?
        }
    };
    crate::written(std::io::stdout().write_all(&text).map_err(Into::into))
}

fn page_of(of: &Command) -> std::io::Result<Vec<u8>> {
    let man = Man::new(of.clone());
    let mut page = Vec::new();
    // Written here, because an empty date has to be quoted. No date: two builds of a version give the same page.
    let title = of.get_display_name().unwrap_or(of.get_name()).to_uppercase();
    let version = env!("CARGO_PKG_VERSION");
    writeln!(page, ".TH {title} 1 \"\" \"needless-fleet {version}\" needless")?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if of.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    man.render_options_section(&mut page)?;
    writeln!(
        page,
        ".SH \"SEE ALSO\"\nneedless\\-fleet(1), needless\\-agent(1), needless\\-ship(1)"
    )?;
    Ok(page)
}

/// The script for a shell.
///
/// # Errors
/// When it cannot be printed.
pub(crate) fn completions(mut program: Command, words: &ArgMatches) -> Result<(), Fault> {
    let shell = words.get_one::<Shell>("shell").copied().unwrap_or(Shell::Bash);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut program, "needless-fleet", &mut text);
    crate::written(std::io::stdout().write_all(&text).map_err(Into::into))
}
