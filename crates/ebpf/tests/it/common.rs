//! What the tests share: running programs under the backend and without it.

use needless_ebpf::{Observed, Scope, Session, SessionOptions};
pub(crate) use needless_fixtures::needed;
pub(crate) use needless_fixtures::referee::{CallCounts, command, program};
use needless_model::{Limits, Profile, Query, Row};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A launched observation takes the next process that this process forks, on any thread. Locked from the
/// start of an observation to its fork, and for every other fork.
static FORK: Mutex<()> = Mutex::new(());

fn may_fork() -> MutexGuard<'static, ()> {
    FORK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a command that is not observed.
pub(crate) fn spawn(command: &mut Command) -> Child {
    let _held = may_fork();
    command.spawn().unwrap()
}

/// A program that would run for ever: it ends with its test, also where that fails.
pub(crate) struct Endless(pub(crate) Child);

impl Drop for Endless {
    fn drop(&mut self) {
        // It may have been ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command that is not observed, for what it prints.
pub(crate) fn output(command: &mut Command) -> Output {
    let child = spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()));
    child.wait_with_output().unwrap()
}

/// A testee.
pub(crate) fn testee(name: &str) -> Option<PathBuf> {
    needed(needless_fixtures::path(name))
}

/// Whether this machine allows the backend.
pub(crate) fn possible() -> bool {
    needed(needless_ebpf::usable().map_err(|error| error.to_string())).is_some()
}

pub(crate) fn is_root() -> Result<(), String> {
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err("not root".into()) }
}

/// The example `count`, which cargo builds beside the tests.
pub(crate) fn count_example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let count = test.parent().unwrap().with_file_name("examples").join("count");
    assert!(count.is_file(), "{}: cargo builds examples for tests", count.display());
    count
}

/// Without a limit of time: repetition then depends on the calls only.
pub(crate) fn options() -> SessionOptions {
    let limits = Limits { repeat_within_ns: u64::MAX, ..Limits::default() };
    SessionOptions { watch: ["TZ", "NEEDLESS_TEST"].into(), limits, ..SessionOptions::default() }
}

/// Starts `command`, observed.
pub(crate) fn start(options: &SessionOptions, command: &mut Command) -> (Session, Child) {
    let _held = may_fork();
    let session = Session::start(&Scope::Launched, options).unwrap();
    (session, command.spawn().unwrap())
}

/// Waits for the command and the processes that it started.
pub(crate) fn finish(mut session: Session, mut child: Child) -> Observed {
    while child.try_wait().unwrap().is_none() || session.live() > 0 {
        session.drain(Duration::from_millis(20));
    }
    session.finish()
}

/// Runs `command` to its end, observed.
pub(crate) fn observed(options: &SessionOptions, command: &mut Command) -> Observed {
    let (session, child) = start(options, command);
    finish(session, child)
}

/// Like [`observed`], and nothing may be lost.
pub(crate) fn profile(options: &SessionOptions, command: &mut Command) -> Profile {
    let profile = observed(options, command).profile;
    assert!(profile.lost.is_empty(), "{command:?}: {:?}", profile.lost);
    profile
}

pub(crate) fn outcome(row: &Row) -> &'static str {
    match row.outcome {
        Some(Ok(())) => "ok",
        Some(Err(errno)) => errno.name(),
        None => "?",
    }
}

pub(crate) fn table(profile: &Profile) -> CallCounts {
    let mut table = CallCounts::new();
    for row in &profile.rows {
        let key = (profile.call(row), outcome(row), profile.path(row));
        *table.entry((key.0.to_owned(), key.1.to_owned(), key.2.to_owned())).or_default() +=
            row.count;
    }
    table
}

/// How often `path` was asked about, and how many of these calls were repeated.
pub(crate) fn sum(profile: &Profile, query: Query, path: &str) -> (u64, u64) {
    let rows = profile.rows.iter().filter(|row| row.query == query && profile.path(row) == path);
    rows.fold((0, 0), |(count, again), row| (count + row.count, again + row.repeated))
}
