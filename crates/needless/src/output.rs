//! Where a report goes: a stream, or a file that is there whole or not at all.

mod landing;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result, bail};
use landing::{Landing, land};
use needless_observe::Rights;
use needless_report::{Format, Style};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::cli::{self, ColorMode};
use crate::policy::Policy;
use crate::whose::{self, as_them};

/// The stream that reports go to when no file is named.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    /// `run`: standard output is the command's.
    Stderr,
    /// Everything else.
    Stdout,
}

/// Where a report goes, checked before anything is run. Behind sudo, files are opened and written with
/// the rights of whoever ran it.
pub(crate) struct Output {
    place: Place,
    /// Whether root's permissions do not let it be written, only root's capabilities.
    anywhere: bool,
}

enum Place {
    Stream(Stream),
    /// Replaced as a whole at the end.
    File(PathBuf),
    /// A pipe, a terminal or another special file: written as it is.
    Special(File),
}

impl Output {
    /// Checks that `path` can be written, or takes `stream`. `-` is standard output. `endings`: those of
    /// files that name a format, where the ending has to.
    ///
    /// # Errors
    /// When the file's directory is not there or not writable, when what is there belongs to somebody
    /// else, when its ending is another, or when standard output is the command's own.
    pub(crate) fn open(
        path: Option<&Path>,
        stream: Stream,
        endings: Option<&[&str]>,
    ) -> Result<Output> {
        let place = as_them(|| Place::open(path, stream))??;
        if let (Place::File(path), Some(known)) = (&place, endings) {
            check_ending(path, known)?;
        }
        let anywhere = whose::caller().is_none() && !place.is_open_to_owner();
        Ok(Output { place, anywhere })
    }

    /// Where the report goes that was asked for so.
    ///
    /// # Errors
    /// As of [`Output::open`].
    pub(crate) fn of_report(asked: &cli::Report, stream: Stream) -> Result<Output> {
        let known: Vec<&str> = Format::ALL.iter().filter_map(|format| format.ending()).collect();
        let endings = asked.format.is_none().then_some(&known[..]);
        Output::open(asked.output.as_deref(), stream, endings)
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output {
        Output { place: Place::Stream(Stream::Stdout), anywhere: false }
    }

    /// What it takes to write this and the new baseline.
    pub(crate) fn rights(&self, gate: &Policy) -> Rights {
        let saved = gate.save.as_ref().is_some_and(|save| save.anywhere);
        Rights::for_report(whose::caller().is_some(), self.anywhere || saved)
    }

    /// The format: as asked, else by the file's ending, else by what reads the stream.
    pub(crate) fn format(&self, asked: Option<Format>) -> Format {
        asked.unwrap_or_else(|| self.place.format())
    }

    /// Colour and width.
    pub(crate) fn style(&self, when: ColorMode) -> Style {
        self.place.style(when)
    }

    /// Writes the whole report. A reader that went away is not an error.
    ///
    /// # Errors
    /// When the file cannot be written; it is then left as it was.
    pub(crate) fn write(self, text: &[u8]) -> Result<()> {
        as_them(|| self.place.write(text))?
    }
}

/// Refuses an ending that looks like a format's and is none's: what is in the file would be a surprise.
fn check_ending(path: &Path, known: &[&str]) -> Result<()> {
    let Some(ending) = path.extension().and_then(OsStr::to_str) else { return Ok(()) };
    let like_a_format = ending.starts_with(|c: char| c.is_ascii_alphabetic());
    if !like_a_format || known.contains(&ending) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(|ending| format!(".{ending}")).collect();
    bail!(
        "{}: .{ending} is the ending of no format: there are {}; or name the format with --format",
        path.display(),
        known.join(", ")
    )
}

impl Place {
    fn open(path: Option<&Path>, stream: Stream) -> Result<Place> {
        let Some(path) = path else { return Ok(Place::Stream(stream)) };
        if path == Path::new("-") {
            return match stream {
                Stream::Stdout => Ok(Place::Stream(stream)),
                Stream::Stderr => bail!(
                    "-o -: standard output is the command's; leave -o out to have the report on \
                     standard error, or name a file"
                ),
            };
        }
        let named = || format!("cannot write {}", path.display());
        match land(path).with_context(named)? {
            Landing::Special(file) => Ok(Place::Special(file)),
            Landing::File(spot) => {
                spot.check().with_context(named)?;
                Ok(Place::File(path.to_owned()))
            }
        }
    }

    /// Whether it can be written without capabilities, which are given up before. No, where that cannot be found out.
    fn is_open_to_owner(&self) -> bool {
        let Place::File(path) = self else { return true };
        let writable = || matches!(land(path), Ok(Landing::File(spot)) if spot.check().is_ok());
        needless_observe::without_capabilities(writable).unwrap_or(false)
    }

    fn format(&self) -> Format {
        match self {
            Place::File(path) => Format::of_path(path).unwrap_or(Format::Full),
            Place::Special(file) if file.is_terminal() => Format::Full,
            Place::Stream(Stream::Stderr) if std::io::stderr().is_terminal() => Format::Full,
            Place::Stream(Stream::Stdout) if std::io::stdout().is_terminal() => Format::Full,
            Place::Special(_) | Place::Stream(_) => Format::Concise,
        }
    }

    fn style(&self, when: ColorMode) -> Style {
        // The choice honours NO_COLOR, CLICOLOR and TERM=dumb.
        let (terminal, choice) = match self {
            Place::File(_) => (false, ColorChoice::Never),
            Place::Special(file) => (file.is_terminal(), AutoStream::choice(file)),
            Place::Stream(Stream::Stderr) => {
                let stream = std::io::stderr();
                (stream.is_terminal(), AutoStream::choice(&stream))
            }
            Place::Stream(Stream::Stdout) => {
                let stream = std::io::stdout();
                (stream.is_terminal(), AutoStream::choice(&stream))
            }
        };
        let colour = match when {
            ColorMode::Always => true,
            ColorMode::Never => false,
            ColorMode::Auto => terminal && choice != ColorChoice::Never,
        };
        let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Style { colour, width: columns.filter(|_| terminal).unwrap_or(100).clamp(40, 120) }
    }

    fn write(self, text: &[u8]) -> Result<()> {
        let quiet = |result: std::io::Result<()>| match result {
            Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            other => other.context("cannot write the report"),
        };
        match self {
            Place::Stream(Stream::Stderr) => quiet(std::io::stderr().lock().write_all(text)),
            Place::Stream(Stream::Stdout) => quiet(std::io::stdout().lock().write_all(text)),
            Place::Special(mut file) => quiet(file.write_all(text)),
            // Followed anew: directories may have been made anew while the command ran.
            Place::File(path) => {
                let replaced = land(&path).and_then(|landing| match landing {
                    Landing::File(spot) => spot.replace(text),
                    Landing::Special(_) => bail!("it was a file before"),
                });
                replaced.with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

/// Says one line to the user, and makes it one: whatever names, values or files of others are in it, they
/// neither end it nor command the terminal. Where standard error is closed or full, nothing is said.
pub(crate) fn say(line: impl std::fmt::Display) {
    let line = line.to_string();
    let _ = writeln!(std::io::stderr().lock(), "needless: {}", needless_report::clean(&line));
}
