//! The standard streams: what needless says on them, and what it does where nobody reads.

use anyhow::{Context as _, Result};
use rustix::fs::OFlags;
use std::fs::File;
use std::io::{LineWriter, Write};
use std::os::fd::AsFd;
use std::path::Path;

/// The stream that reports go to when no file is named.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    /// For `run`: standard output belongs to the command.
    Stderr,
    /// For everything else.
    Stdout,
}

impl Stream {
    pub(super) fn name(self) -> &'static str {
        match self {
            Stream::Stderr => "standard error",
            Stream::Stdout => "standard output",
        }
    }

    /// The stream that a path is another name of.
    pub(super) fn of_path(path: &Path) -> Option<Stream> {
        match path.to_str()? {
            "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(Stream::Stdout),
            "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(Stream::Stderr),
            _ => None,
        }
    }

    /// The descriptor that needless was started with.
    ///
    /// # Errors
    /// When there was none, or it cannot be written: std then writes to /dev/null, or takes a refused write for done.
    pub(super) fn file(self) -> std::io::Result<File> {
        let (number, copy) = match self {
            Stream::Stderr => (2, std::io::stderr().as_fd().try_clone_to_owned()),
            Stream::Stdout => (1, std::io::stdout().as_fd().try_clone_to_owned()),
        };
        if needless_observe::was_closed(number) {
            return Err(std::io::Error::other("it is closed"));
        }
        let copy = copy?;
        let access = rustix::fs::fcntl_getfl(&copy)? & OFlags::RWMODE;
        if access == OFlags::RDONLY {
            return Err(std::io::Error::other("it is open for reading only"));
        }
        Ok(File::from(copy))
    }

    /// # Errors
    /// As for [`Stream::file`].
    pub(crate) fn check(self) -> Result<()> {
        self.file().map(drop).with_context(|| format!("cannot write to {}", self.name()))
    }
}

/// The result of writing; a reader that went away is not an error.
pub(crate) fn quiet(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Standard output, for what a command says while it works. A reader that went away is not an error: the work goes on.
///
/// # Errors
/// When it is closed.
pub(crate) fn stdout_lines() -> Result<impl Write> {
    struct Checked(File);
    impl Write for Checked {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            match self.0.write(text) {
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(text.len()),
                Err(error) => Err(std::io::Error::new(
                    error.kind(),
                    format!("cannot write to standard output: {error}"),
                )),
                written => written,
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    Stream::Stdout.check()?;
    Ok(LineWriter::new(Checked(Stream::Stdout.file()?)))
}

/// Writes a question to standard output.
///
/// # Errors
/// When it cannot be written: nobody can answer what was not shown.
pub(crate) fn ask(question: &str) -> Result<()> {
    let mut out = Stream::Stdout.file().context("cannot write to standard output")?;
    out.write_all(question.as_bytes()).context("cannot write to standard output")
}
