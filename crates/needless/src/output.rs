//! Where a report goes: a stream, or a file that is there whole or not at all.

use anstream::{AutoStream, ColorChoice};
use anyhow::{Context, Result, bail};
use needless_capture::{Caller, Rights};
use needless_report::{Format, Style};
use std::fs::{File, Permissions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

use crate::cli::When;
use crate::gate::Gate;

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
    caller: Option<Caller>,
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
    /// Checks that `path` can be written, or takes `stream`. `-` is standard output.
    ///
    /// # Errors
    /// When the file's directory is not there or not writable, or when standard output is the
    /// command's own.
    pub(crate) fn open(path: Option<&Path>, stream: Stream) -> Result<Output> {
        let caller = Caller::behind_sudo();
        let place = as_them(caller.as_ref(), || Place::open(path, stream))??;
        let anywhere = caller.is_none() && !place.is_open_to_owner();
        Ok(Output { place, caller, anywhere })
    }

    /// Standard output.
    pub(crate) fn stdout() -> Output {
        Output { place: Place::Stream(Stream::Stdout), caller: None, anywhere: false }
    }

    /// The user who ran sudo, if any.
    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller.as_ref()
    }

    /// What it takes to write this and the new baseline.
    pub(crate) fn rights(&self, gate: &Gate) -> Rights {
        let saved = gate.save.as_ref().is_some_and(|save| save.anywhere);
        Rights::for_report(self.caller.is_some(), self.anywhere || saved)
    }

    /// The format: as asked, else by the file's ending, else by what reads the stream.
    pub(crate) fn format(&self, asked: Option<Format>) -> Format {
        asked.unwrap_or_else(|| self.place.format())
    }

    /// Colour and width.
    pub(crate) fn style(&self, when: When) -> Style {
        self.place.style(when)
    }

    /// Writes the whole report. A reader that went away is not an error.
    ///
    /// # Errors
    /// When the file cannot be written; it is then left as it was.
    pub(crate) fn write(self, text: &[u8]) -> Result<()> {
        as_them(self.caller.as_ref(), || self.place.write(text))?
    }
}

fn as_them<T>(caller: Option<&Caller>, act: impl FnOnce() -> T) -> Result<T> {
    match caller {
        Some(caller) => caller.as_them(act).context("cannot act as the user who ran sudo"),
        None => Ok(act()),
    }
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
        match path.metadata() {
            Ok(about) if about.is_dir() => bail!("{}: it is a directory", named()),
            Ok(about) if !about.is_file() => {
                let file = File::options().write(true).open(path).with_context(named)?;
                return Ok(Place::Special(file));
            }
            _ => {}
        }
        // A link is followed, so that the file it leads to is replaced and the link stays.
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        // Made and removed at once: a run that is killed leaves nothing behind.
        beside(&target).with_context(named)?;
        Ok(Place::File(target))
    }

    /// Whether it can be written without capabilities, which are given up before. No, where that cannot be found out.
    fn is_open_to_owner(&self) -> bool {
        let Place::File(path) = self else { return true };
        needless_capture::without_capabilities(|| beside(path).is_ok()).unwrap_or(false)
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

    fn style(&self, when: When) -> Style {
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
            When::Always => true,
            When::Never => false,
            When::Auto => terminal && choice != ColorChoice::Never,
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
            Place::File(path) => {
                replace(&path, text).with_context(|| format!("cannot write {}", path.display()))
            }
        }
    }
}

/// Puts `text` in the place of `target`, which keeps its permissions.
fn replace(target: &Path, text: &[u8]) -> Result<()> {
    let mut file = beside(target)?;
    file.as_file_mut().write_all(text)?;
    if let Ok(about) = target.metadata() {
        file.as_file().set_permissions(about.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(target).map_err(|e| e.error)?;
    Ok(())
}

/// A new file in the folder of `target`, removed when dropped.
fn beside(target: &Path) -> Result<NamedTempFile> {
    let folder = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".needless-").suffix(".tmp");
    // What a plain creation would give, the umask applied by the kernel.
    builder.permissions(Permissions::from_mode(0o666));
    match builder.tempfile_in(folder) {
        Ok(file) => Ok(file),
        Err(_) if !folder.is_dir() => bail!("there is no directory {}", folder.display()),
        // In short: the error's text names the temporary file.
        Err(error) => bail!("{}: {}", folder.display(), error.kind()),
    }
}

/// Tells the user one line. Where standard error is closed or full there is nobody to tell.
pub(crate) fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr().lock(), "needless: {line}");
}
