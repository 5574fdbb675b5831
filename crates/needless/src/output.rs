//! Where a report goes: a stream, or a file that is replaced as a whole.

mod landing;

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, Result, bail};
use landing::{Landing, land};
use needless_report::{ReportFormat, Style};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::cli::{ColorMode, ReportArgs};
use crate::context::Context;

/// The stream that reports go to when no file is named.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    /// For `run`: standard output belongs to the command.
    Stderr,
    /// For everything else.
    Stdout,
}

/// Where a report goes, checked before anything is run. Behind sudo, files are opened and written with
/// the rights of the user who ran it.
pub(crate) struct Output<'a> {
    context: &'a Context,
    target: Target,
    /// Whether file permissions forbid root to write it, so that root's capabilities are needed.
    needs_capabilities: bool,
}

enum Target {
    Stream(Stream),
    /// Replaced as a whole at the end.
    File(PathBuf),
    /// A pipe, a terminal or another special file: written to directly.
    Special(File),
}

impl<'a> Output<'a> {
    /// Checks that `path` can be written, or takes `stream`. `-` is standard output. `endings`: the endings of files
    /// that name a format, where no option names it.
    ///
    /// # Errors
    /// When the file's directory is missing or not writable, when the file belongs to another user, when
    /// its ending names no format, or when standard output belongs to the command.
    pub(crate) fn open(
        context: &'a Context,
        path: Option<&Path>,
        stream: Stream,
        endings: Option<&[&str]>,
    ) -> Result<Output<'a>> {
        let target = context.user.act(|| Target::open(path, stream))??;
        if let (Target::File(path), Some(known)) = (&target, endings) {
            check_ending(path, known)?;
        }
        let needs_capabilities = !context.user.is_other() && !target.is_open_to_owner();
        Ok(Output { context, target, needs_capabilities })
    }

    /// Where the report goes.
    ///
    /// # Errors
    /// As for [`Output::open`].
    pub(crate) fn of_report(
        context: &'a Context,
        args: &ReportArgs,
        stream: Stream,
    ) -> Result<Output<'a>> {
        let endings = args.format.is_none().then_some(ReportFormat::ENDINGS);
        Output::open(context, args.output.as_deref(), stream, endings)
    }

    /// Standard output.
    pub(crate) fn stdout(context: &'a Context) -> Output<'a> {
        Output { context, target: Target::Stream(Stream::Stdout), needs_capabilities: false }
    }

    /// Whether only root's capabilities let it be written.
    pub(crate) fn needs_capabilities(&self) -> bool {
        self.needs_capabilities
    }

    /// The format: as an option says, else by the file's ending, else by what reads the stream.
    pub(crate) fn format(&self, wanted: Option<ReportFormat>) -> ReportFormat {
        wanted.unwrap_or_else(|| self.target.format())
    }

    /// Forms a text and writes it as a whole. A reader that went away is not an error.
    ///
    /// # Errors
    /// When the file cannot be written; it is then left as it was.
    pub(crate) fn emit(
        self,
        form: impl FnOnce(&mut Vec<u8>, Style) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut text = Vec::new();
        form(&mut text, self.target.style(self.context.color)).context("cannot form the report")?;
        self.write(&text)
    }

    /// Writes a text as [`Output::emit`] does.
    ///
    /// # Errors
    /// As for [`Output::emit`].
    pub(crate) fn write(self, text: &[u8]) -> Result<()> {
        self.context.user.act(|| self.target.write(text))?
    }
}

/// Refuses an ending that looks like the name of a format and is not one: the user would expect another format.
fn check_ending(path: &Path, known: &[&str]) -> Result<()> {
    let Some(ending) = path.extension().and_then(OsStr::to_str) else { return Ok(()) };
    let like_a_format = ending.starts_with(|c: char| c.is_ascii_alphabetic());
    if !like_a_format || known.contains(&ending) {
        return Ok(());
    }
    let known: Vec<String> = known.iter().map(|ending| format!(".{ending}")).collect();
    bail!(
        "{}: .{ending} names no format: use {}, or name the format with --format",
        path.display(),
        known.join(", ")
    )
}

impl Target {
    fn open(path: Option<&Path>, stream: Stream) -> Result<Target> {
        let Some(path) = path else { return Ok(Target::Stream(stream)) };
        if path == Path::new("-") {
            return match stream {
                Stream::Stdout => Ok(Target::Stream(stream)),
                Stream::Stderr => bail!(
                    "-o -: standard output belongs to the command: leave -o out for the report on \
                     standard error, or name a file"
                ),
            };
        }
        let named = || format!("cannot write {}", path.display());
        match land(path).with_context(named)? {
            Landing::Special(file) => Ok(Target::Special(file)),
            Landing::File(spot) => {
                spot.check().with_context(named)?;
                Ok(Target::File(path.to_owned()))
            }
        }
    }

    /// Whether it can be written without capabilities, which are given up before. No where that is not known.
    fn is_open_to_owner(&self) -> bool {
        let Target::File(path) = self else { return true };
        let writable = || matches!(land(path), Ok(Landing::File(spot)) if spot.check().is_ok());
        needless_observe::without_capabilities(writable).unwrap_or(false)
    }

    fn format(&self) -> ReportFormat {
        match self {
            Target::File(path) => ReportFormat::of_path(path).unwrap_or(ReportFormat::Full),
            Target::Special(file) if file.is_terminal() => ReportFormat::Full,
            Target::Stream(Stream::Stderr) if std::io::stderr().is_terminal() => ReportFormat::Full,
            Target::Stream(Stream::Stdout) if std::io::stdout().is_terminal() => ReportFormat::Full,
            Target::Special(_) | Target::Stream(_) => ReportFormat::Concise,
        }
    }

    fn style(&self, color: ColorMode) -> Style {
        // The choice honours NO_COLOR, CLICOLOR and TERM=dumb.
        let (terminal, choice) = match self {
            Target::File(_) => (false, ColorChoice::Never),
            Target::Special(file) => (file.is_terminal(), AutoStream::choice(file)),
            Target::Stream(Stream::Stderr) => {
                let stream = std::io::stderr();
                (stream.is_terminal(), AutoStream::choice(&stream))
            }
            Target::Stream(Stream::Stdout) => {
                let stream = std::io::stdout();
                (stream.is_terminal(), AutoStream::choice(&stream))
            }
        };
        let colour = match color {
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
            Target::Stream(Stream::Stderr) => quiet(std::io::stderr().lock().write_all(text)),
            Target::Stream(Stream::Stdout) => quiet(std::io::stdout().lock().write_all(text)),
            Target::Special(mut file) => quiet(file.write_all(text)),
            // Resolved again: the command may have replaced directories.
            Target::File(path) => {
                let replaced = land(&path).and_then(|landing| match landing {
                    Landing::File(spot) => spot.replace(text),
                    Landing::Special(_) => bail!("it was a regular file when the command started"),
                });
                replaced.with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

/// Shows one line on standard error. Control characters in it are escaped: names and values that others chose neither
/// start a line of their own nor command the terminal. Where standard error cannot be written, nothing is shown.
pub(crate) fn warn(line: impl std::fmt::Display) {
    let line = line.to_string();
    let _ = writeln!(std::io::stderr().lock(), "needless: {}", needless_report::escape(&line));
}
