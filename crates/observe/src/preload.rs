//! Running a command with our library in front of its C library.

use crate::run::{self, Failure};
use needless_host::PreloadIsUseless;
use needless_launch::{Caller, Launch, Original};
use needless_model::status;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const LIBRARY: &str = "libneedless_localtime.so";
const VARIABLE: &str = "LD_PRELOAD";

/// The library: beside our own program, where a build puts it, or below `../lib`, where packages put it.
///
/// # Errors
/// When it is in neither place, or where LD_PRELOAD cannot name it.
pub fn preload_library() -> Result<PathBuf, Failure> {
    let ours = |message: String| Failure::new(status::OURS, message);
    let program = std::env::current_exe()
        .map_err(|error| ours(format!("cannot find our own program: {error}")))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(LIBRARY), folder.join("../lib/needless").join(LIBRARY)];
    for place in &places {
        if let Ok(found) = place.canonicalize() {
            // ld.so(8): spaces and colons separate libraries, and there is no way to quote them.
            let text = found.as_os_str().as_bytes();
            if text.iter().any(|byte| matches!(byte, b' ' | b':')) {
                let place = found.display();
                return Err(ours(format!(
                    "{place}: LD_PRELOAD cannot name a path with a space or a colon: move it to another directory"
                )));
            }
            return Ok(found);
        }
    }
    let [beside, below] = places.map(|place| place.display().to_string());
    Err(ours(format!(
        "{LIBRARY} is missing (looked for {beside} and {below}): build it with \
         libneedless/preload/build-so {}",
        folder.display()
    )))
}

/// Becomes the command `words` with the library preloaded. Where the library has no effect, `warn` gets the reason
/// and the command runs without it. Returns only if that fails.
///
/// `caller`: the user the command belongs to, if not our own user. `once`: children of the command do not get
/// the library.
pub fn preload(
    words: &[OsString],
    caller: Option<Caller>,
    once: bool,
    warn: impl FnOnce(&str),
) -> Failure {
    let prepared = (|| {
        let library = preload_library()?;
        let mut launch = run::launch(words, caller)?;
        let useless = why_preload_is_useless(&launch.program, &library, 0);
        let runs_with_it = useless.as_ref().is_none_or(|useless| useless.starts_with_it && !once);
        if let Some(useless) = useless {
            let no_effect = no_effect(&launch.program, &useless);
            warn(&match runs_with_it {
                true => format!("{no_effect}; what it starts gets the time functions"),
                false => format!("{no_effect}; it runs without"),
            });
        }
        if runs_with_it {
            let mut env = with_library(&launch, library);
            if once {
                env.push(("NEEDLESS_PRELOAD_ONCE".into(), "1".into()));
            }
            launch.env = Some(env);
        }
        Ok(launch)
    })();
    match prepared {
        Ok(launch) => {
            let error = needless_launch::become_command(&launch, Original::record());
            Failure::new(error.status(), error.to_string())
        }
        Err(failure) => failure,
    }
}

/// The environment of `launch` with `library` preloaded before what was there.
///
/// # Errors
/// When the library has no effect on the program, nor on what it starts: why.
pub fn preloaded(launch: &Launch, library: PathBuf) -> Result<Vec<(OsString, OsString)>, String> {
    match why_preload_is_useless(&launch.program, &library, 0) {
        Some(useless) if !useless.starts_with_it => Err(no_effect(&launch.program, &useless)),
        _ => Ok(with_library(launch, library)),
    }
}

fn no_effect(program: &Path, useless: &PreloadIsUseless) -> String {
    format!("preloading has no effect on {}: {}", program.display(), useless.why)
}

fn with_library(launch: &Launch, library: PathBuf) -> Vec<(OsString, OsString)> {
    let mut env = launch.env.clone().unwrap_or_else(|| std::env::vars_os().collect());
    let before = env.iter().position(|(name, _)| name == VARIABLE);
    let before = before.map(|at| env.remove(at).1);
    env.push((VARIABLE.into(), joined(library, before)));
    env
}

fn joined(library: PathBuf, before: Option<OsString>) -> OsString {
    let mut value = library.into_os_string().into_vec();
    if let Some(before) = before.filter(|before| !before.is_empty()) {
        value.push(b':');
        value.extend(before.into_vec());
    }
    OsString::from_vec(value)
}

/// How many interpreters of interpreters are followed; the kernel follows 5.
const DEPTH: usize = 5;

/// Why the library has no effect on `program`, if its file shows that.
fn why_preload_is_useless(
    program: &Path,
    library: &Path,
    depth: usize,
) -> Option<PreloadIsUseless> {
    let mut file = File::open(program).ok()?;
    if file.metadata().ok()?.permissions().mode() & 0o6000 != 0 {
        let why = "it runs with the rights of its owner (set-user-ID), and the loader then ignores libraries of others";
        return Some(PreloadIsUseless { why: why.to_owned(), starts_with_it: false });
    }
    let mut start = [0; 256];
    let length = file.read(&mut start).ok()?;
    match start[..length].strip_prefix(b"#!") {
        Some(rest) if depth < DEPTH => {
            let line = rest.split(|byte| *byte == b'\n').next()?;
            let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|w| !w.is_empty());
            let interpreter = Path::new(OsStr::from_bytes(words.next()?));
            if interpreter.file_name() != Some(OsStr::new("env")) {
                return why_preload_is_useless(interpreter, library, depth + 1);
            }
            let name = words.find(|word| !word.starts_with(b"-") && !word.contains(&b'='))?;
            let found = run::find(OsStr::from_bytes(name), std::env::var_os("PATH").as_deref());
            why_preload_is_useless(&found.ok()?, library, depth + 1)
        }
        Some(_) => None,
        None => needless_host::why_preload_is_useless(
            File::open(program).ok()?,
            File::open(library).ok()?,
        )
        .ok()?,
    }
}
