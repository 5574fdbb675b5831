//! One page about a fleet, to send to a colleague: the answers to all questions that need no name.

use crate::ask::Answer;
use crate::questions::QUESTIONS;
use crate::reader::Reader;
use crate::{Fault, asked, print, written};
use clap::ArgMatches;
use needless_report::write_tables;

/// How many rows of an answer a page shows.
const ROWS: usize = 100;

/// Asks, and writes the page to standard output.
///
/// # Errors
/// When files cannot be read, or the page cannot be written.
pub(crate) fn page(words: &ArgMatches, reader: &Reader) -> Result<(), Fault> {
    let mut tables = Vec::new();
    for question in QUESTIONS.iter().filter(|question| question.of.is_none()) {
        let Answer { schema, rows, .. } =
            asked(question.sql, None, question.compares, words, reader)?;
        let table = print::section(question, &schema, &rows, ROWS)
            .map_err(|error| Fault::new(question.name, error, "ask this question by itself"))?;
        tables.push(table);
    }
    let mut to = std::io::BufWriter::new(std::io::stdout().lock());
    let version = concat!("fleet ", env!("CARGO_PKG_VERSION"));
    let page = write_tables(&mut to, "Needless system calls of many hosts", version, &tables)
        .and_then(|()| std::io::Write::flush(&mut to));
    written(page.map_err(Into::into))
}
