//! The manual pages: one for needless, one for each of its commands, made of the same texts as `--help`, and that of
//! needless.toml. `make build` asks for each.

use super::Cli;
use crate::version::VERSION;
use anyhow::{Context, Result};
use clap::{Arg, Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::collections::BTreeMap;
use std::io::Write;

#[derive(Args)]
pub(crate) struct ManArgs {
    /// The file name of a page (needless-run.1). Without it: the names of all pages.
    #[arg(value_name = "PAGE")]
    page: Option<String>,
}

/// The page that is not made of the command line.
const TOML: &str = "needless.toml.5";

/// A part of the page of needless: what each thing is.
type Entries = &'static [(&'static str, &'static str)];

/// In short what the book says in exit-status.md.
const EXIT_STATUS: Entries = &[
    (
        "run, preload, origin VAR -- CMD",
        "The status of the command, or death by the same signal. 126: the command cannot be executed. 127: it is not \
         found. 125: needless failed before the command ran, also because of what an option names: a file that cannot be \
         read or written, an ending that names no format, a user that does not exist. 2: the command line cannot be \
         understood: an unknown option, value or rule, or no command.",
    ),
    (
        "run --fail-on",
        "1 instead of 0 if more is needless than the budget allows; 2 instead of 0 if the command has ended and the report \
         could not be written.",
    ),
    (
        "attach, host, read",
        "0; 1 if more is needless than --fail-on allows; 2 if something could not be read, written, observed or \
         understood.",
    ),
    (
        "prove, run --prove",
        "0: proven. 1: not proven. 2: it could not be measured, or not to its end.",
    ),
    (
        "check",
        "0: within the budget or the baseline. 1: over it. 2: it could not be measured (also where the command fails), or a report could \
         not be written.",
    ),
    (
        "diff --fail-on",
        "1 if B has more calls than that allows; 2 if that cannot be judged, or not written.",
    ),
    ("explain --test", "0; 1 if an example fails; 2 if a file is wrong."),
    ("fix --check", "0: the process has the change. 1: it does not. 2: it could not be seen."),
    ("all others", "0; 2 if something could not be read, written, done or understood."),
];

/// Besides those that stand for options.
const ENVIRONMENT: Entries = &[
    ("XDG_STATE_HOME, HOME", "Where the journal of a user is: see FILES."),
    (
        "TMPDIR",
        "Where fix builds locales, and has a changed file checked before it is written; /tmp if it is not set.",
    ),
    (
        "SUDO_UID, SUDO_GID, SUDO_USER",
        "Set by sudo. Commands run as this user, and files that the command line names are read and written with the \
         rights of this user.",
    ),
];

const FILES: Entries = &[
    (
        "needless.toml, needless.d/*.toml",
        "Rules, suppressions and budgets. Default: the nearest one in the working directory or a parent of it. See \
         needless.toml(5).",
    ),
    ("/var/lib/needless", "The journal of the changes that fix made as root; undo reads it."),
    (
        "$XDG_STATE_HOME/needless, ~/.local/state/needless",
        "The same of a user; the second where XDG_STATE_HOME is not set.",
    ),
    ("/usr/share/doc/needless/html", "The book, where it is installed."),
];

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
    // A page has no summary that -h would print.
    let of_help = |arg: Arg| arg.help("Print help").long_help(None::<&str>);
    let man = Man::new(of.clone().override_usage(usage).mut_arg("help", of_help));
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
    if of.has_subcommands() {
        let options = of_options(of);
        let options = options.iter().map(|(name, what)| (name.as_str(), what.as_str()));
        section("EXIT STATUS", EXIT_STATUS.iter().copied(), &mut rest);
        section("ENVIRONMENT", options.chain(ENVIRONMENT.iter().copied()), &mut rest);
        section("FILES", FILES.iter().copied(), &mut rest);
    }
    examples(of, &mut rest);
    rest.control("SH", ["SEE ALSO"]);
    rest.text([roman(see_also(of))]);
    rest.to_writer(&mut page)?;
    // Some versions of man leave this character out where the locale has only ASCII. A line that begins with a dot is a
    // request, unless something without a width is before it.
    let page = String::from_utf8(page)?.replace("\n…", "\n\\&...").replace('…', "...");
    Ok(page.into_bytes())
}

/// A heading, and what each thing is.
fn section<'a>(heading: &str, entries: impl Iterator<Item = (&'a str, &'a str)>, page: &mut Roff) {
    page.control("SH", [heading]);
    for (name, what) in entries {
        page.control("TP", []);
        page.text([bold(name)]);
        page.text([roman(what)]);
    }
}

/// The variables that stand for options, and for which ones of which commands.
fn of_options(program: &Command) -> BTreeMap<String, String> {
    let variable = |arg: &Arg| {
        let name = arg.get_env()?.to_string_lossy().into_owned();
        Some((name, format!("--{}", arg.get_long()?)))
    };
    let of_all = program.get_arguments().filter_map(variable);
    let of_all: BTreeMap<String, String> = of_all
        .map(|(name, option)| (name, format!("Stands for {option} of all commands.")))
        .collect();
    let mut of_some: BTreeMap<String, (String, Vec<&str>)> = BTreeMap::new();
    for one in program.get_subcommands() {
        for (name, option) in one.get_arguments().filter_map(variable) {
            of_some.entry(name).or_insert((option, Vec::new())).1.push(one.get_name());
        }
    }
    let of_some = of_some
        .into_iter()
        .map(|(name, (option, of))| (name, format!("Stands for {option} of {}.", of.join(", "))));
    // An option of all commands is also one of each.
    of_some.chain(of_all).collect()
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
