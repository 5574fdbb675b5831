//! From the words of a command line to a profile with all its facts.

use crate::kernel::Refused;
use crate::rights::{self, Rights};
use crate::{enrich, kernel, sites};
use needless_host::{Roots, Stack, fill};
use needless_launch::{Caller, Launch, Stdio};
use needless_model::{Exit, Limits, ProcId, Profile};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What observes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// eBPF where it is allowed, else ptrace.
    #[default]
    Best,
    /// eBPF.
    Ebpf,
    /// ptrace.
    Ptrace,
}

/// How to observe.
#[derive(Clone, Copy, Debug, Default)]
pub struct ObserveOptions {
    /// What observes.
    pub backend: Backend,
    /// Measure the kernel time of each call: eBPF only.
    pub latency: bool,
    /// Count every call, not only those that rules need.
    pub all: bool,
    /// Variables that may be read from an environment; no other is.
    pub watch: &'static [&'static str],
    /// Bounds of the profile.
    pub limits: Limits,
    /// Which capabilities this process gives up on the way.
    pub rights: Rights,
    /// Looks at who is above what was observed in a window, given `watch`. Environments of others may be read
    /// then, and no longer when the profile is returned.
    pub above: Option<fn(&mut Profile, &[&str])>,
}

/// Why a command was not observed: one line, and the exit status that says it, as GNU env's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of the constants.
    pub status: i32,
    /// What, where, what to do.
    pub message: String,
}

impl Failure {
    /// needless itself failed.
    pub const OURS: i32 = 125;
    /// There is nobody to observe.
    pub const BAD: i32 = 2;
    /// The command was found but cannot be executed.
    pub const NOT_EXECUTABLE: i32 = 126;
    /// The command was not found.
    pub const NOT_FOUND: i32 = 127;

    pub(crate) fn new(status: i32, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }
}

/// What was observed, and how the command ended.
pub struct Captured {
    /// What it asked.
    pub profile: Profile,
    pub(crate) exit: Exit,
}

impl Captured {
    /// How the command ended.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Ends this process as the command ended: with its exit status, or by its signal.
    pub fn exit_like(self) -> ! {
        needless_launch::exit_like(self.exit)
    }
}

/// Runs `words` and observes it. The process that calls this may wait for the command and then end
/// as the command did; what returns is then another process, which observed.
///
/// `caller`: the user who ran sudo, if any; the command is run as that user, with that user's
/// environment.
///
/// # Errors
/// When the command is not there, cannot be executed, or cannot be observed.
pub fn run(
    words: &[OsString],
    caller: Option<Caller>,
    options: &ObserveOptions,
) -> Result<Captured, Failure> {
    let launch = launch(words, caller)?;
    let refused = match options.backend {
        Backend::Ptrace if options.latency => {
            let message = "--latency needs eBPF, which measures the kernel's time; ptrace cannot";
            return Err(Failure::new(Failure::OURS, message));
        }
        Backend::Ptrace => None,
        Backend::Best | Backend::Ebpf => match kernel::run(&launch, options) {
            Ok(captured) => return Ok(captured),
            Err(Refused::Failed(failure)) => return Err(failure),
            Err(refused) if options.backend == Backend::Ebpf || options.latency => {
                return Err(refused.failure());
            }
            Err(refused) => Some(refused),
        },
    };
    let mut captured = ptrace(launch, options)?;
    match refused {
        Some(Refused::Rights) => {
            let backend = captured.profile.backend.trim_end_matches(')');
            captured.profile.backend = format!("{backend}, no rights for eBPF)");
        }
        Some(refused) => captured.profile.notes.push(refused.failure().message),
        None => {}
    }
    Ok(captured)
}

fn ptrace(launch: Launch, options: &ObserveOptions) -> Result<Captured, Failure> {
    let traced = needless_ptrace::run(
        launch,
        &needless_ptrace::TraceOptions {
            all: options.all,
            watch: options.watch,
            limits: options.limits,
            stacks: true,
        },
    )
    .map_err(|e| Failure::new(e.status(), e.to_string()))?;
    let profile = complete(traced.profile, &traced.stacks, traced.roots, options.rights)?;
    Ok(Captured { profile, exit: traced.exit })
}

/// Runs `launch` and counts every call of it, in this very process: eBPF where it is allowed and asked
/// for, else ptrace. If this process is killed the command goes on, unobserved.
///
/// # Errors
/// When the command cannot be executed or observed.
pub fn count(launch: Launch, options: &ObserveOptions) -> Result<Captured, Failure> {
    let options = ObserveOptions { all: true, ..*options };
    if options.backend != Backend::Ptrace {
        match kernel::run(&launch, &options) {
            Ok(captured) => return Ok(captured),
            Err(Refused::Failed(failure)) => return Err(failure),
            Err(refused) if options.backend == Backend::Ebpf => return Err(refused.failure()),
            Err(_) => {}
        }
    }
    let how = needless_ptrace::TraceOptions {
        all: true,
        watch: options.watch,
        limits: options.limits,
        stacks: true,
    };
    let traced = needless_ptrace::trace(launch, &how)
        .map_err(|e| Failure::new(e.status(), e.to_string()))?;
    let profile = complete(traced.profile, &traced.stacks, traced.roots, options.rights)?;
    Ok(Captured { profile, exit: traced.exit })
}

/// Adds what is looked up after the run, with the rights that takes.
pub(crate) fn complete(
    mut profile: Profile,
    stacks: &[Stack],
    roots: Vec<(ProcId, OwnedFd)>,
    rights: Rights,
) -> Result<Profile, Failure> {
    rights::note(rights.read(), &mut profile.notes);
    let roots = Roots::new(roots)
        .map_err(|e| Failure::new(Failure::OURS, format!("cannot open /: {e}")))?;
    // Which frames are the C library's depends on what it is.
    fill(&mut profile, &roots);
    sites::resolve(stacks, &mut profile);
    // Stacks know their rows by position: only now may these move.
    profile.sort_by_process();
    enrich::machine(&mut profile, &roots);
    rights::note(rights.write(), &mut profile.notes);
    Ok(profile)
}

/// What `execvp(3)` would run for `words`, with our own settings taken out of the environment.
///
/// # Errors
/// When there is no such command, or it cannot be executed.
pub fn launch(words: &[OsString], caller: Option<Caller>) -> Result<Launch, Failure> {
    let Some(name) = words.first().filter(|w| !w.is_empty()) else {
        return Err(Failure::new(Failure::OURS, "no command to run: needless run -- CMD [ARG…]"));
    };
    let ours = |(name, _): &(OsString, OsString)| name.as_bytes().starts_with(b"NEEDLESS_");
    let env: Option<Vec<(OsString, OsString)>> = match &caller {
        Some(caller) => Some(caller.environment.clone()),
        None => std::env::vars_os()
            .any(|pair| ours(&pair))
            .then(|| std::env::vars_os().filter(|pair| !ours(pair)).collect()),
    };
    let path = match &caller {
        Some(caller) => {
            caller.environment.iter().find(|(name, _)| name == "PATH").map(|(_, v)| v.clone())
        }
        None => std::env::var_os("PATH"),
    };
    let path = find(name, path.as_deref())?;
    if is_program(&path)? {
        return Ok(Launch {
            program: path,
            argv: words.to_vec(),
            env,
            stdio: Stdio::Inherit,
            caller,
        });
    }
    // As execvp does after ENOEXEC: a text without #! is a script for the shell.
    let mut argv = vec![OsString::from("sh"), path.into_os_string()];
    argv.extend_from_slice(&words[1..]);
    Ok(Launch { program: "/bin/sh".into(), argv, env, stdio: Stdio::Inherit, caller })
}

/// The file that `name` means: itself if it has a slash, else the first executable of that name in
/// `path`.
pub(crate) fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match executable(&file) {
            Ok(()) => Ok(file),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Err(Failure::new(Failure::NOT_FOUND, format!("{shown}: no such file")))
            }
            Err(why) => Err(Failure::new(
                Failure::NOT_EXECUTABLE,
                format!("{shown}: cannot execute it: {why}"),
            )),
        };
    }
    // The default of execvp(3) in glibc where PATH is unset.
    let path = path.unwrap_or(OsStr::new("/bin:/usr/bin"));
    let mut refused = None;
    for folder in std::env::split_paths(path) {
        let folder = if folder == Path::new("") { PathBuf::from(".") } else { folder };
        let file = folder.join(name);
        match executable(&file) {
            Ok(()) => return Ok(file),
            Err(why) if why.kind() == std::io::ErrorKind::PermissionDenied => {
                refused = refused.or(Some(file));
            }
            Err(_) => {}
        }
    }
    match refused {
        Some(file) => Err(Failure::new(
            Failure::NOT_EXECUTABLE,
            format!("{shown}: found as {} but not executable", file.display()),
        )),
        None => {
            let why = format!("{shown}: not found in PATH{}", perhaps(&shown));
            Err(Failure::new(Failure::NOT_FOUND, why))
        }
    }
}

/// What may have been meant by a word that is no command.
fn perhaps(word: &str) -> &'static str {
    let variable = word.split_once('=').is_some_and(|(name, _)| {
        let mut letters = name.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    if variable {
        return "; to set a variable for the command, put `env` before it: env NAME=VALUE CMD";
    }
    if word.contains(char::is_whitespace) {
        return "; it is one word with a space in it: give the command and its arguments as words of their own, or a \
                shell's text as sh -c 'TEXT'";
    }
    ""
}

/// Whether `file` may be executed: an error where not.
fn executable(file: &Path) -> std::io::Result<()> {
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "it is a directory"));
    }
    if about.permissions().mode() & 0o111 == 0 {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "permission denied"));
    }
    rustix::fs::accessat(
        rustix::fs::CWD,
        file,
        rustix::fs::Access::EXEC_OK,
        rustix::fs::AtFlags::EACCESS,
    )?;
    Ok(())
}

/// Whether the kernel knows what to do with `file`: ELF, `#!`, or anything binary it may have a
/// handler for. A file that may be executed but not read is left to the kernel.
fn is_program(file: &Path) -> Result<bool, Failure> {
    let mut start = [0u8; 128];
    let read = match File::open(file).and_then(|mut f| f.read(&mut start)) {
        Ok(read) => read,
        Err(_) => return Ok(true),
    };
    let start = &start[..read];
    if start.is_empty() {
        return Ok(false);
    }
    Ok(start.starts_with(b"#!") || start.contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, mode: u32, text: &[u8]) {
        let file = folder.join(name);
        std::fs::write(&file, text).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn commands_are_found_as_execvp_finds_them() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        put(one.path(), "plain", 0o644, b"#!/bin/sh\n");
        put(two.path(), "plain", 0o755, b"#!/bin/sh\n");
        put(one.path(), "only-plain", 0o644, b"");
        std::fs::create_dir(one.path().join("folder")).unwrap();
        let path = std::env::join_paths([one.path(), two.path()]).unwrap();
        let look = |name: &str| find(OsStr::new(name), Some(&path));
        assert_eq!(look("plain"), Ok(two.path().join("plain")));
        assert_eq!(look("only-plain").unwrap_err().status, Failure::NOT_EXECUTABLE);
        assert_eq!(look("folder").unwrap_err().status, Failure::NOT_FOUND);
        assert_eq!(look("nowhere").unwrap_err().status, Failure::NOT_FOUND);
        assert_eq!(look("/nowhere/x").unwrap_err().status, Failure::NOT_FOUND);
        assert_eq!(look("/").unwrap_err().status, Failure::NOT_EXECUTABLE);
    }

    #[test]
    fn a_text_without_an_interpreter_goes_to_the_shell() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), "script", 0o755, b"echo x\n");
        let script = folder.path().join("script").into_os_string();
        let launch = launch(&[script.clone(), "a".into()], None).unwrap();
        assert_eq!(launch.program, Path::new("/bin/sh"));
        assert_eq!(launch.argv, [OsString::from("sh"), script, "a".into()]);
    }
}
