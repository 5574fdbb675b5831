//! `needless-fleet`: questions about the files of many agents. The questions are SQL; each can be printed, and asked with
//! another engine.

mod ask;
mod columns;
mod compact;
mod files;
mod fix;
mod manual;
mod page;
mod print;
mod questions;
mod reader;
mod since;
mod supervisor;
mod table;

use ask::{Answer, Ask};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use datafusion::arrow::error::ArrowError;
use print::Format;
use questions::{QUESTIONS, Question};
use reader::Reader;
use std::ffi::OsString;
use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Characters of the reason why a file is left out.
const LONGEST_REASON: usize = 300;

/// What went wrong: about what, why, and what to do.
#[derive(Debug)]
pub(crate) struct Fault(String);

impl Fault {
    pub(crate) fn new(what: impl Display, why: impl Display, to_do: impl Display) -> Fault {
        Fault(format!("{what}: {why}; {to_do}"))
    }
}

fn main() -> ExitCode {
    let mut line: Vec<OsString> = std::env::args_os().collect();
    let done = Reader::begin(&mut line).and_then(|reader| match reader {
        Some(reader) => reader.work(|reader| done(&line, Some(reader))),
        None => done(&line, None),
    });
    done.unwrap_or_else(|Fault(text)| {
        // Whoever reads it may be gone.
        let _ = writeln!(std::io::stderr(), "needless-fleet: {}", print::shown(&text));
        ExitCode::FAILURE
    })
}

/// Does what a command line says; what reads files of other hosts, as a reader or by one.
fn done(line: &[OsString], reader: Option<&Reader>) -> Result<ExitCode, Fault> {
    let matches = match command().try_get_matches_from(line) {
        Ok(matches) => matches,
        Err(error) => return Ok(refused(&error)),
    };
    let Some((name, words)) = matches.subcommand() else { return Ok(ExitCode::from(2)) };
    let question = QUESTIONS.iter().find(|question| question.name == name);
    match (name, reader) {
        ("man", _) => manual::manual(command(), words)?,
        ("completions", _) => manual::completions(command(), words)?,
        _ if question.is_some() && words.get_flag("print-sql") => {
            printed(&sql_of(question, words), only(question, words))?;
        }
        ("compact", Some(reader)) => compacted(words, reader)?,
        ("fix", Some(reader)) => fixed(words, reader)?,
        ("page", Some(reader)) => page::page(words, reader)?,
        (_, Some(reader)) => answer(question, words, reader)?,
        (_, None) => {
            let places = ["places", "FROM", "TO"].into_iter().filter_map(|name| {
                words.try_get_many::<PathBuf>(name).ok().flatten().map(|all| all.cloned())
            });
            // The parts may be the first ones there.
            let places = places.flatten().filter(|place| name != "compact" || place.exists());
            let sql = match words.try_get_one::<PathBuf>("file") {
                Ok(Some(file)) => std::fs::read_to_string(file).map_err(|error| {
                    Fault::new(file.display(), error, "name a file with a question in SQL")
                })?,
                _ => String::new(),
            };
            return supervisor::supervise(&line[1..], &places.collect::<Vec<_>>(), &sql);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what is wrong with the command line as one line; help and the version as they are.
fn refused(error: &clap::Error) -> ExitCode {
    use clap::error::ErrorKind;
    let is_mistake =
        error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if is_mistake {
        let text = error.to_string();
        let what = text.split("\n\n").next().unwrap_or_default();
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        let what = what.strip_prefix("error: ").unwrap_or(&what);
        eprintln!("needless-fleet: {what}; --help shows what it takes");
    } else {
        // Whoever reads it may be gone.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

fn asks(question: &Question) -> Command {
    let printed = Arg::new("print-sql")
        .long("print-sql")
        .action(ArgAction::SetTrue)
        .help("Print the question in SQL, and do not ask it");
    let of = question.of.map(|column| {
        let name = if column == "cause" { "CAUSE" } else { "SERVICE" };
        Arg::new("of")
            .value_name(name)
            .required_unless_present("print-sql")
            .help(if column == "cause" { "Such as tz-unset" } else { "Such as nginx.service" })
    });
    let only = (question.name == fix::STATES).then(|| {
        [
            of_column("cause", "Only findings of this cause"),
            of_column("service", "Only findings in this service"),
        ]
    });
    Command::new(question.name)
        .about(question.about)
        .args(of)
        .args(only.into_iter().flatten())
        .arg(places().required_unless_present("print-sql"))
        .args(options())
        .arg(printed)
}

fn fixes() -> Command {
    Command::new("fix")
        .about("A play of Ansible that has needless fix change every service where a cause is open")
        .arg(Arg::new("cause").value_name("CAUSE").required(true).help("Such as tz-unset"))
        .arg(places().required(true))
        .arg(of_column("service", "Only in this service"))
        .arg(
            Arg::new("set").long("set").value_name("VAR=VALUE").value_parser(fix::change).help(
                "This change, instead of what needless fix finds in ten seconds of observation; also where the cause was not found (perhaps)",
            ),
        )
        .arg(
            Arg::new("restart")
                .long("restart")
                .action(ArgAction::SetTrue)
                .help("Restart each service, and take a change back that its process does not get"),
        )
        .args(since_and_label())
}

fn command() -> Command {
    let query = Command::new("query")
        .about("A question of your own: a file with one SELECT over needless_rows")
        .arg(
            Arg::new("file")
                .value_name("FILE.sql")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(places().required(true))
        .args(options());
    let page = Command::new("page")
        .about("A page of HTML with the answers to all questions that need no name: needless-fleet page DIR >fleet.html")
        .arg(places().required(true))
        .args(since_and_label());
    let folder = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .value_name(name)
            .required(true)
            .value_parser(value_parser!(PathBuf))
            .help(help)
    };
    let compact = Command::new("compact")
        .about("Many small files into few large ones, which are asked faster")
        .arg(folder("FROM", "Directory with files of agents, which stay"))
        .arg(folder("TO", "Directory for the parts; run again, only new files are added"));
    // For whoever makes a package: the help does not name them.
    let man = Command::new("man")
        .hide(true)
        .about("Print a manual page, or their names")
        .arg(Arg::new("page").value_name("PAGE").help("Such as needless-fleet.1"));
    let completions = Command::new("completions")
        .hide(true)
        .about("Print what a shell completes the command line with")
        .arg(Arg::new("shell").required(true).value_parser(value_parser!(clap_complete::Shell)));
    Command::new("needless-fleet")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Which needless system calls many hosts make: questions over the files of needless agent")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .disable_help_subcommand(true)
        .subcommands(QUESTIONS.iter().map(asks))
        .subcommands([fixes(), page, query, compact, man, completions])
}

fn places() -> Arg {
    Arg::new("places")
        .value_name("DIR")
        .num_args(1..)
        .value_parser(value_parser!(PathBuf))
        .help("Directories with files of agents; those below them count, too")
}

fn of_column(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(if name == "cause" { "CAUSE" } else { "SERVICE" })
        .help(help)
}

fn options() -> [Arg; 3] {
    let [since, label] = since_and_label();
    let formats = PossibleValuesParser::new(Format::NAMES.map(|(name, _)| name)).map(|text| {
        Format::NAMES
            .into_iter()
            .find(|(name, _)| *name == text)
            .map_or(Format::Table, |(_, format)| format)
    });
    let format = Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(formats)
        .default_value("table")
        .help("How the answer is printed");
    [since, label, format]
}

fn since_and_label() -> [Arg; 2] {
    [
        Arg::new("since")
            .long("since")
            .value_name("TIME")
            .value_parser(since::parse)
            .help("Only windows from then on: 7d, 12h, 30m ago, or a date (UTC), with a time or without. new, gone, states, fix, saved: what they compare with; 7d unless given"),
        Arg::new("label")
            .long("label")
            .value_name("KEY=VALUE")
            .action(ArgAction::Append)
            .value_parser(|text: &str| match text.split_once('=') {
                Some((key, _)) if !key.is_empty() => Ok(text.to_owned()),
                _ => Err("expected KEY=VALUE, as needless agent --label takes it"),
            })
            .help("Only hosts with this label"),
    ]
}

/// The text of a question that the program knows; none of one of the user's own.
fn sql_of(question: Option<&Question>, words: &ArgMatches) -> String {
    match question {
        Some(question) if question.name == fix::STATES => fix::states_of(words),
        question => question.map_or_else(String::new, |question| question.sql.to_owned()),
    }
}

/// The column that a word after the name is about, and the word.
fn only<'w>(question: Option<&Question>, words: &'w ArgMatches) -> Option<(&'static str, &'w str)> {
    let of = question.and_then(|question| question.of);
    of.zip(words.try_get_one::<String>("of").ok().flatten().map(String::as_str))
}

fn printed(sql: &str, only: Option<(&str, &str)>) -> Result<(), Fault> {
    let of = only.map_or_else(String::new, |(column, value)| {
        format!("-- Of needless_rows with {column} = '{}'.\n", value.replace('\'', "''"))
    });
    written(write!(std::io::stdout(), "{of}{sql}").map_err(ArrowError::from))
}

fn answer(question: Option<&Question>, words: &ArgMatches, reader: &Reader) -> Result<(), Fault> {
    let only = only(question, words);
    let sql = if question.is_some() { sql_of(question, words) } else { reader.sql() };
    // A question of your own says itself what it leaves out.
    let compares = question.is_none_or(|question| question.compares);
    let Answer { schema, rows, .. } = asked(&sql, only, compares, words, reader)?;
    if rows.iter().all(|batch| batch.num_rows() == 0) {
        // A cause that is fixed on all hosts looks the same as a misspelled name.
        let named = only.map(|(column, value)| format!("{column} {value}"));
        let wanted = ["cause", "service"].iter().filter_map(|column| {
            let value = words.try_get_one::<String>(column).ok().flatten()?;
            Some(format!("{column} {value}"))
        });
        let labels = words.get_many::<String>("label").into_iter().flatten();
        let labels = labels.map(|label| format!("label {label}"));
        let all: Vec<String> = named.into_iter().chain(wanted).chain(labels).collect();
        if !all.is_empty() {
            eprintln!(
                "needless-fleet: the answer has no row for {}; check the name",
                all.join(", ")
            );
        }
    }
    let format = words.get_one::<Format>("format").copied().unwrap_or(Format::Table);
    let mut to = std::io::BufWriter::new(std::io::stdout().lock());
    written(print::print(&mut to, &schema, &rows, format))
}

/// Asks, and names on standard error what the answer is without.
fn asked(
    sql: &str,
    only: Option<(&str, &str)>,
    compares: bool,
    words: &ArgMatches,
    reader: &Reader,
) -> Result<Answer, Fault> {
    let places: Vec<PathBuf> = match reader.alone() {
        Some(path) => vec![path.to_owned()],
        None => words.get_many("places").into_iter().flatten().cloned().collect(),
    };
    let labels: Vec<String> = words.get_many("label").into_iter().flatten().cloned().collect();
    let since = words.get_one::<i64>("since").copied();
    let ask = Ask {
        sql,
        only,
        labels: &labels,
        from_us: since.filter(|_| !compares),
        since_us: since.unwrap_or_else(|| since::now() - 7 * since::DAY),
        places: &places,
    };
    let mut threads = tokio::runtime::Builder::new_multi_thread();
    if reader.alone().is_some() {
        // The stack of each counts as memory.
        threads.worker_threads(1);
    }
    let runtime = threads
        .enable_time()
        .thread_stack_size(16 << 20)
        .build()
        .map_err(|error| Fault::new("threads", error, "let this user have more of them"))?;
    let answer = runtime.block_on(ask::ask(&ask, reader))?;
    let found = &answer.found;
    let total = found.files.len() + found.skipped.len() + found.copies;
    name_skipped(&found.skipped);
    if !found.skipped.is_empty() {
        eprintln!(
            "needless-fleet: skipped {} of {total} files; the answer is without them",
            found.skipped.len()
        );
    }
    if found.copies > 0 {
        eprintln!(
            "needless-fleet: {} of {total} files are copies of others by their names; each window counts once",
            found.copies
        );
    }
    Ok(answer)
}

/// Says on standard error, in a line each, which files are left out, and why. A reason may have words of the file.
fn name_skipped(skipped: &[(PathBuf, String)]) {
    for (path, why) in skipped {
        let why: String = why.chars().take(LONGEST_REASON).collect();
        let path = path.display().to_string();
        eprintln!("needless-fleet: skipped {}: {}", print::shown(&path), print::shown(&why));
    }
}

fn fixed(words: &ArgMatches, reader: &Reader) -> Result<(), Fault> {
    let answer = asked(&fix::states_of(words), None, true, words, reader)?;
    let text = fix::play(&answer.rows, words)?;
    written(write!(std::io::stdout(), "{text}").map_err(ArrowError::from))
}

fn compacted(words: &ArgMatches, reader: &Reader) -> Result<(), Fault> {
    if let Some(path) = reader.alone() {
        return compact::try_window(path, reader);
    }
    let folder = |name| words.get_one::<PathBuf>(name).cloned().unwrap_or_default();
    let compact::Done { added, there, parts, skipped } =
        compact::compact(&folder("FROM"), &folder("TO"), reader)?;
    name_skipped(&skipped);
    println!("{added} files added in {parts} parts, {there} were in parts before");
    if skipped.is_empty() {
        return Ok(());
    }
    Err(Fault::new(format!("{} files", skipped.len()), "they are in no part", "keep them"))
}

/// Whoever reads the answer may have seen enough.
fn written(done: Result<(), ArrowError>) -> Result<(), Fault> {
    match done {
        Err(ArrowError::IoError(_, error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Fault::new("answer", error, "it could not be printed")),
        Ok(()) => Ok(()),
    }
}
