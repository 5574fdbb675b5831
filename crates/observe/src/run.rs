//! From a command line to a profile with all its facts.

use crate::enrich::Measured;
use crate::kernel::Refused;
use crate::rights::{self, Rights};
use crate::{enrich, kernel, relative, sites};
use needless_host::{Roots, Stack};
use needless_launch::{Caller, Launch, Stdio};
use needless_model::{Backend, Exit, Limits, NoEbpf, ProcId, Profile, WatchList, status};
use needless_ptrace::{TraceOptions, Traced};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Which backend the user wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// eBPF where it is allowed, else ptrace.
    #[default]
    Auto,
    /// eBPF.
    Ebpf,
    /// ptrace.
    Ptrace,
}

/// How to observe.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    /// Which backend.
    pub backend: BackendChoice,
    /// Measure the kernel time of each call: eBPF only.
    pub latency: bool,
    /// With ptrace: stop at every call, not only at those that rules need. eBPF always counts every call.
    pub all: bool,
    /// With ptrace: patch call sites from which calls stop often, so that they count themselves: x86-64 only.
    pub patch: bool,
    /// Variables that may be read from an environment; no other is.
    pub watch: WatchList,
    /// Limits of the profile.
    pub limits: Limits,
    /// Which capabilities this process gives up, step by step.
    pub rights: Rights,
    /// For a window: adds the ancestors of the observed processes to the profile. It is called while this process
    /// may still read the environments of other users' processes.
    pub above: Option<fn(&mut Profile, &WatchList)>,
}

/// Why something was not observed: one line, and the exit status for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of [`status`].
    pub status: i32,
    /// What failed, where, and what to do.
    pub message: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl Failure {
    pub(crate) fn new(status: i32, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into() }
    }
}

/// What was observed, and how the command ended.
pub struct Captured {
    /// The calls.
    pub profile: Profile,
    /// How the command ended.
    pub exit: Exit,
}

/// Runs the command `words` and observes it. With ptrace, the process that calls this waits for the command and
/// then exits as the command did; a child, which observed the command, returns from this function.
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
        BackendChoice::Ptrace if options.latency => {
            let message = "--latency needs eBPF: ptrace cannot measure the kernel's time";
            return Err(Failure::new(status::OURS, message));
        }
        BackendChoice::Ptrace => None,
        BackendChoice::Auto | BackendChoice::Ebpf => match kernel::run(&launch, options) {
            Ok(captured) => return Ok(captured),
            Err(Refused::Failed(failure)) => return Err(failure),
            Err(refused) if options.backend == BackendChoice::Ebpf || options.latency => {
                return Err(refused.failure());
            }
            Err(refused) => Some(refused),
        },
    };
    let traced = needless_ptrace::run(launch, &for_tracer(options)).map_err(not_traced)?;
    let mut captured = captured(traced, options.rights)?;
    match refused {
        Some(Refused::Rights) => {
            if let Backend::Ptrace { instead, .. } = &mut captured.profile.backend {
                *instead = Some(NoEbpf::Rights);
            }
        }
        Some(refused) => captured.profile.notes.push(refused.failure().message),
        None => {}
    }
    Ok(captured)
}

fn for_tracer(options: &ObserveOptions) -> TraceOptions {
    TraceOptions {
        all: options.all,
        patch_after: options.patch.then_some(needless_ptrace::PATCH_AFTER),
        watch: options.watch.clone(),
        limits: options.limits,
        stacks: true,
    }
}

fn not_traced(error: needless_ptrace::TraceError) -> Failure {
    Failure::new(error.status(), error.to_string())
}

fn captured(traced: Traced, rights: Rights) -> Result<Captured, Failure> {
    let profile = complete(traced.profile, &traced.stacks, traced.roots, rights)?;
    Ok(Captured { profile, exit: traced.exit })
}

/// Runs `launch` and counts every call of it, without a process in between. If this process is killed, the command
/// goes on, unobserved.
///
/// # Errors
/// When the command cannot be executed or observed.
pub fn count(launch: Launch, options: &ObserveOptions) -> Result<Captured, Failure> {
    let options = ObserveOptions { all: true, ..options.clone() };
    if options.backend != BackendChoice::Ptrace {
        match kernel::run(&launch, &options) {
            Ok(captured) => return Ok(captured),
            Err(Refused::Failed(failure)) => return Err(failure),
            Err(refused) if options.backend == BackendChoice::Ebpf => return Err(refused.failure()),
            Err(_) => {}
        }
    }
    let traced = needless_ptrace::trace(launch, &for_tracer(&options)).map_err(not_traced)?;
    captured(traced, options.rights)
}

/// Adds what is looked up after the run, and gives up the rights for that afterwards.
pub(crate) fn complete(
    profile: Profile,
    stacks: &[Stack],
    roots: Vec<(ProcId, OwnedFd)>,
    rights: Rights,
) -> Result<Profile, Failure> {
    complete_with(profile, stacks, roots, rights, &mut Measured::default())
}

/// The same; what takes long to measure is kept for the next profile of this machine.
pub(crate) fn complete_with(
    mut profile: Profile,
    stacks: &[Stack],
    roots: Vec<(ProcId, OwnedFd)>,
    rights: Rights,
    measured: &mut Measured,
) -> Result<Profile, Failure> {
    rights::note(rights.read(), &mut profile.notes);
    let roots =
        Roots::new(roots).map_err(|e| Failure::new(status::OURS, format!("cannot open /: {e}")))?;
    // Which frames are the C library's depends on what it is.
    measured.programs.fill_libcs(&mut profile, &roots);
    sites::resolve(stacks, &mut profile);
    // Stacks refer to rows by position, so rows are sorted after them.
    profile.sort_by_process();
    enrich::machine(&mut profile, &roots, measured);
    relative::note(&mut profile);
    rights::note(rights.write(), &mut profile.notes);
    Ok(profile)
}

/// What `execvp(3)` would run for `words`, in an environment without our own settings (`NEEDLESS_…`).
///
/// # Errors
/// When there is no such command, or it cannot be executed.
pub fn launch(words: &[OsString], caller: Option<Caller>) -> Result<Launch, Failure> {
    let Some(name) = words.first().filter(|w| !w.is_empty()) else {
        return Err(Failure::new(status::OURS, "no command to run: needless run -- CMD [ARG…]"));
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
    // With the rights of whom it runs as: root finds files that a user cannot execute.
    let look = || {
        let path = find(name, path.as_deref())?;
        let is_program = is_program(&path)?;
        Ok::<_, Failure>((path, is_program))
    };
    let looked = caller.as_ref().map_or_else(|| Ok(look()), |caller| caller.as_them(look));
    let failed =
        |why| Failure::new(status::OURS, format!("cannot act as the command's user: {why}"));
    let (path, is_program) = looked.map_err(failed)??;
    if is_program {
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

/// The file for `name`: `name` itself if it has a slash, else the first executable file of that name in
/// `path`.
pub(crate) fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Failure> {
    let shown = name.to_string_lossy();
    if name.as_bytes().contains(&b'/') {
        let file = PathBuf::from(name);
        return match executable(&file) {
            Ok(()) => Ok(file),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Err(Failure::new(status::NOT_FOUND, format!("{shown}: no such file")))
            }
            Err(why) => Err(Failure::new(
                status::NOT_EXECUTABLE,
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
            status::NOT_EXECUTABLE,
            format!("{shown}: found as {} but not executable", file.display()),
        )),
        None => {
            let why = format!("{shown}: not found in PATH{}", hint(&shown));
            Err(Failure::new(status::NOT_FOUND, why))
        }
    }
}

/// What the user may have meant by a word that is not a command.
fn hint(word: &str) -> &'static str {
    let variable = word.split_once('=').is_some_and(|(name, _)| {
        let mut letters = name.chars();
        letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    });
    if variable {
        return "; to set a variable for the command, put `env` before it: env NAME=VALUE CMD";
    }
    const BUILTINS: [&str; 14] = [
        "alias", "bg", "cd", "declare", "exec", "export", "fg", "jobs", "ll", "read", "set",
        "source", "ulimit", "unset",
    ];
    if BUILTINS.contains(&word) {
        return "; a builtin or an alias of a shell runs in one: needless run -- sh -c 'TEXT'";
    }
    if word.contains(char::is_whitespace) {
        return "; it is one word with a space in it: pass the command and its arguments as separate words, or a \
                shell command as sh -c 'TEXT'";
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

/// Whether the kernel can execute `file` itself: ELF, `#!`, or another binary file, for which it may have a
/// handler. A file that may be executed but not read is left to the kernel.
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
        assert_eq!(look("only-plain").unwrap_err().status, status::NOT_EXECUTABLE);
        assert_eq!(look("folder").unwrap_err().status, status::NOT_FOUND);
        assert_eq!(look("nowhere").unwrap_err().status, status::NOT_FOUND);
        assert_eq!(look("/nowhere/x").unwrap_err().status, status::NOT_FOUND);
        assert_eq!(look("/").unwrap_err().status, status::NOT_EXECUTABLE);
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
