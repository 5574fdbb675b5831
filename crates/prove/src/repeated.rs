//! Runs of one command, all alike: to see what it does each time.

use crate::ProveError;
use crate::experiment::hold;
use crate::run::{CommandIo, EVER, SIGINT, timed, wait};
use needless_launch::{Caller, Launch, Original, Stdio};
use needless_model::{Exit, Profile, Usage};
use needless_observe::ObserveOptions;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

/// A command that is run again and again, with the same input. What it prints is seen in the first run only
/// ([`Repeated::show`]); in the others its standard output is read and dropped, and its errors go to `/dev/null`.
pub struct Repeated {
    launch: Launch,
    original: Original,
    io: CommandIo,
    capture: ObserveOptions,
}

impl Repeated {
    /// `stdin`: the input, from the start in every run; `/dev/null` if `None`. To be called while this process has one
    /// thread.
    ///
    /// # Errors
    /// When there is no such command, or it cannot be executed.
    pub fn new(
        words: &[OsString],
        caller: Option<Caller>,
        stdin: Option<PathBuf>,
        capture: ObserveOptions,
    ) -> Result<Repeated, ProveError> {
        let launch = needless_observe::launch(words, caller)?;
        let io = CommandIo { stdin, ignored: None };
        Ok(Repeated { launch, original: Original::record(), io, capture })
    }

    /// The names of the variables that the command gets.
    pub fn variables(&self) -> BTreeSet<String> {
        let text = |name: OsString| name.to_string_lossy().into_owned();
        match &self.launch.env {
            Some(env) => env.iter().map(|(name, _)| text(name.clone())).collect(),
            None => std::env::vars_os().map(|(name, _)| text(name)).collect(),
        }
    }

    /// Runs it untraced, with everything it prints on our standard error.
    ///
    /// # Errors
    /// When it cannot be started, or the user ended it.
    pub fn show(&self) -> Result<Exit, ProveError> {
        let input = match &self.io.stdin {
            Some(file) => File::open(file),
            None => File::open("/dev/null"),
        };
        let input = input.map_err(ProveError::io("cannot open the command's input"))?;
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(ProveError::io("cannot hand on standard error"))?;
        let (input, stderr) = (Arc::new(OwnedFd::from(input)), Arc::new(stderr));
        let stdio = Stdio::Given([input, stderr.clone(), stderr]);
        let launch = Launch { stdio, ..self.launch.clone() };
        let endings = hold()?;
        let running = needless_launch::start(&launch, self.original).map_err(ProveError::launch)?;
        match wait(running, &endings)? {
            Some((exit, _)) if exit != Exit::Signal(SIGINT) => Ok(exit),
            _ => Err(ProveError::Interrupted),
        }
    }

    /// Runs it and counts every call.
    ///
    /// # Errors
    /// When it cannot be observed, or the user ended it.
    pub fn count(&self) -> Result<(Profile, Exit), ProveError> {
        let (captured, _) = self.io.with(
            |_| false,
            |fds| {
                let launch = Launch { stdio: Stdio::Given(fds), ..self.launch.clone() };
                Ok(needless_observe::count(launch, &self.capture)?)
            },
        )?;
        match captured.exit {
            Exit::Signal(SIGINT) => Err(ProveError::Interrupted),
            exit => Ok((captured.profile, exit)),
        }
    }

    /// Runs it untraced and takes its time.
    ///
    /// # Errors
    /// As for [`Repeated::count`].
    pub fn time(&self) -> Result<(Usage, Exit), ProveError> {
        let launch = self.launch.clone();
        let done = timed(launch, self.original, &self.io, &hold()?, EVER)?;
        let (behaviour, usage) = done.ok_or(ProveError::Interrupted)?;
        Ok((usage, behaviour.exit))
    }
}
