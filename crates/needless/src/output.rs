//! Where a report goes: a stream, or a file that is replaced as a whole.

pub(crate) mod landing;
mod lines;
mod stream;

pub(crate) use lines::{alarm, as_json, inform, warn};
pub(crate) use stream::{Stream, ask, quiet, stdout_lines};

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context as _, Result, bail};
use landing::{Landing, land};
use needless_report::{DocumentFormat, ReportFormat, Style, has_ending};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::cli::ColorMode;
use crate::context::Context;

/// Where a report goes, checked before anything is run. Behind sudo, files are opened and written with
/// the rights of the user who ran it.
pub(crate) struct Output<'a> {
    context: &'a Context,
    target: Target,
    /// Whether the text is added to what the file has.
    appends: bool,
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
    /// its ending names no format, when standard output is closed, or when it belongs to the command.
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
        Ok(Output { context, target, appends: false, needs_capabilities })
    }

    /// As [`Output::open`], for a text that is added at the end of a file.
    ///
    /// # Errors
    /// As for [`Output::open`].
    pub(crate) fn append(context: &'a Context, path: &Path) -> Result<Output<'a>> {
        let output = Output::open(context, Some(path), Stream::Stdout, None)?;
        Ok(Output { appends: true, ..output })
    }

    /// Where the report goes: the files that are named, or the stream.
    ///
    /// # Errors
    /// As for [`Output::all`]; or when the format is no text and would go to a terminal.
    pub(crate) fn of_report(
        context: &'a Context,
        files: &[PathBuf],
        format: Option<ReportFormat>,
        stream: Stream,
    ) -> Result<Vec<Output<'a>>> {
        let outputs = Output::all(context, files, format, stream)?;
        let binary = format.is_some_and(ReportFormat::is_binary);
        if binary && outputs.iter().any(Output::is_terminal) {
            bail!("--format: it is no text, and this is a terminal: name a file with -o");
        }
        Ok(outputs)
    }

    /// The files that `-o` names, or the stream; `format`: the one that an option names.
    ///
    /// # Errors
    /// As for [`Output::open`]; or when one format is named for several files.
    pub(crate) fn all<F: DocumentFormat>(
        context: &'a Context,
        files: &[PathBuf],
        format: Option<F>,
        stream: Stream,
    ) -> Result<Vec<Output<'a>>> {
        let endings = format.is_none().then_some(F::ENDINGS);
        if files.len() > 1 && format.is_some() {
            bail!("--format: with several -o, the ending of each file selects its format");
        }
        match files {
            [] => Ok(vec![Output::open(context, None, stream, endings)?]),
            files => files
                .iter()
                .map(|file| Output::open(context, Some(file), stream, endings))
                .collect(),
        }
    }

    /// Whether a person reads it as it is written.
    pub(crate) fn is_terminal(&self) -> bool {
        self.target.is_terminal()
    }

    /// Whether it gets colours.
    pub(crate) fn is_coloured(&self) -> bool {
        self.target.style(self.context.color).colour
    }

    /// Standard output.
    pub(crate) fn stdout(context: &'a Context) -> Output<'a> {
        let target = Target::Stream(Stream::Stdout);
        Output { context, target, appends: false, needs_capabilities: false }
    }

    /// Whether only root's capabilities let it be written.
    pub(crate) fn needs_capabilities(&self) -> bool {
        self.needs_capabilities
    }

    /// The format: as an option says, else by the file's ending, else by what reads the stream.
    pub(crate) fn format(&self, wanted: Option<ReportFormat>) -> ReportFormat {
        match &self.target {
            Target::Stream(_) | Target::Special(_) if !self.is_terminal() => {
                wanted.unwrap_or(ReportFormat::Concise)
            }
            _ => self.format_or_full(wanted),
        }
    }

    /// The format: as an option says, else by the file's ending, else for a person.
    fn format_or_full<F: DocumentFormat>(&self, wanted: Option<F>) -> F {
        let by_ending = || match &self.target {
            Target::File(path) => F::of_path(path),
            Target::Special(_) | Target::Stream(_) => None,
        };
        wanted.or_else(by_ending).unwrap_or(F::FULL)
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
        self.context.user.act(|| match &self.target {
            Target::File(path) if self.appends => {
                let so_far = match std::fs::read(path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
                    so_far => so_far.with_context(|| format!("cannot read {}", path.display()))?,
                };
                self.target.write(&[&so_far, text].concat())
            }
            _ => self.target.write(text),
        })?
    }
}

/// Writes a document to each output, in the format that an option names, or its file's ending.
///
/// # Errors
/// When one cannot be written; the others are.
pub(crate) fn emit_all<F: DocumentFormat>(
    outputs: Vec<Output<'_>>,
    wanted: Option<F>,
    form: impl Fn(&mut Vec<u8>, F, Style) -> std::io::Result<()>,
) -> Result<()> {
    let mut written = Ok(());
    for output in outputs {
        let format = output.format_or_full(wanted);
        written = written.and(output.emit(|out, style| form(out, format, style)));
    }
    written
}

/// Refuses an ending that looks like the name of a format and is not one: the user would expect another format.
fn check_ending(path: &Path, known: &[&str]) -> Result<()> {
    let Some(ending) = path.extension().and_then(OsStr::to_str) else { return Ok(()) };
    let like_a_format = ending.starts_with(|c: char| c.is_ascii_alphabetic());
    if !like_a_format || known.iter().any(|known| has_ending(path, known)) {
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
        let path = match (path.filter(|path| *path != Path::new("-")), stream) {
            (Some(path), _) => path,
            (None, Stream::Stderr) if path.is_some() => bail!(
                "-o -: standard output belongs to the command: leave -o out for the report on \
                 standard error, or name a file"
            ),
            (None, Stream::Stdout) => {
                stream.check()?;
                return Ok(Target::Stream(stream));
            }
            // A command runs also where there is no standard error.
            (None, Stream::Stderr) => return Ok(Target::Stream(stream)),
        };
        let named = || format!("cannot write {}", path.display());
        match land(path).with_context(named)? {
            Landing::Special(file) => {
                Stream::of_path(path).map_or(Ok(()), Stream::check)?;
                Ok(Target::Special(file))
            }
            Landing::File(spot) => {
                spot.check().with_context(named)?;
                needless_observe::keep_inherited(path);
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

    fn is_terminal(&self) -> bool {
        match self {
            Target::File(_) => false,
            Target::Special(file) => file.is_terminal(),
            Target::Stream(Stream::Stderr) => std::io::stderr().is_terminal(),
            Target::Stream(Stream::Stdout) => std::io::stdout().is_terminal(),
        }
    }

    fn style(&self, color: ColorMode) -> Style {
        // The choice honours NO_COLOR, CLICOLOR and TERM=dumb.
        let choice = match self {
            Target::File(_) => ColorChoice::Never,
            Target::Special(file) => AutoStream::choice(file),
            Target::Stream(Stream::Stderr) => AutoStream::choice(&std::io::stderr()),
            Target::Stream(Stream::Stdout) => AutoStream::choice(&std::io::stdout()),
        };
        let terminal = self.is_terminal();
        let colour = match color {
            ColorMode::Always => true,
            ColorMode::Never => false,
            ColorMode::Auto => terminal && choice != ColorChoice::Never,
        };
        let columns = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Style { colour, width: columns.filter(|_| terminal).unwrap_or(100).clamp(40, 120) }
    }

    fn write(&self, text: &[u8]) -> Result<()> {
        match self {
            Target::Stream(stream) => quiet(stream.file().and_then(|mut to| to.write_all(text)))
                .with_context(|| format!("cannot write to {}", stream.name())),
            Target::Special(file) => {
                let mut file: &File = file;
                quiet(file.write_all(text)).context("cannot write the report")
            }
            // Resolved again: the command may have replaced directories.
            Target::File(path) => {
                let replaced = land(path).and_then(|landing| match landing {
                    Landing::File(spot) => spot.replace(text),
                    Landing::Special(_) => bail!("it was a regular file when the command started"),
                });
                replaced.with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}
