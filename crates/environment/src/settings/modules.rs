//! The compiled forms of Python's modules (`.pyc`), made by `compileall` in a temporary directory and put beside the
//! sources, where Python looks for them: <https://docs.python.org/3/library/compileall.html>

use super::caches::new_file;
use crate::disk::Disk;
use crate::error::EnvironmentError;
use crate::fix::Plan;
use crate::journal::FileChange;
use crate::place::{DEFAULT, Destination, Place};
use crate::running::program_of_system;
use crate::scratch::Scratch;
use needless_host::run_for_output;
use needless_model::brief;
use rustix::fs::{Stat, stat};
use std::process::Command;
use std::time::Duration;

/// How long the compiler may take: thousands of modules take a minute.
const PATIENCE: Duration = Duration::from_secs(300);

/// The file of the destination is the directory of the modules, and its part the interpreter.
pub(super) static MODULES: Place = Place {
    name: "compiled modules",
    files: "DIRECTORY/__pycache__",
    effect: "programs that are started from now on",
    make: Some(make),
    ..DEFAULT
};

/// # Errors
/// When the interpreter is not one of the system, nothing can be compiled, or the directory is one that others may write.
fn make(location: &Destination, disk: &Disk) -> Result<Plan, EnvironmentError> {
    let of = |name: &Option<String>| name.clone().unwrap_or_default();
    let (dir, interpreter) = (of(&location.file), of(&location.part));
    let failed = |error: std::io::Error| format!("{dir}: its modules cannot be compiled: {error}");
    let by_hand = || {
        format!(
            "compile them with the interpreter that runs them: `INTERPRETER -m compileall -l {dir}`"
        )
    };
    let is_python = interpreter.starts_with("python3");
    let program = program_of_system(&interpreter).filter(|_| is_python).ok_or_else(|| {
        format!("{} is no Python of this system: {}", brief(&interpreter), by_hand())
    })?;
    // The directory is a report's word: the compiler would write behind `..` in it, and as root into another user's.
    disk.read_for_change(&format!("{dir}/__pycache__/any.pyc"))?;
    let about = stat(&*dir).map_err(|error| failed(error.into()))?;
    let folder = Scratch::new().map_err(failed)?;
    let made = folder.make("made").map_err(failed)?;
    let prefix = format!("pycache_prefix={}", made.display());
    let mut command = Command::new(program);
    // -I: nothing of ours, neither variables nor the working directory, decides what is run; -l: not what is below it.
    command.args(["-I", "-X", &prefix, "-m", "compileall", "-q", "-l", &dir]).current_dir("/");
    // A module with a mistake in it is left out, and no program can have it.
    let said = run_for_output(command, PATIENCE);
    let below = made.join(dir.trim_start_matches('/'));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&below).into_iter().flatten().flatten() {
        let path = format!("{dir}/__pycache__/{}", entry.file_name().to_string_lossy());
        let mut new = new_file(&path, &entry.path()).map_err(failed)?;
        if let Some(old) = disk.read_for_change(&path)? {
            (new.before, new.about) = (Some(old.bytes), old.about);
        }
        files.push(new);
    }
    if files.is_empty() {
        let why = said.err().map_or("there is none".to_owned(), |error| error.to_string());
        return Err(format!("{dir}: no module of it can be compiled: {why}").into());
    }
    let all = files.len();
    files.retain(|new| new.before != new.after);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Plan {
        what: format!("modules of {dir} compiled: {all}"),
        reach: format!("every program that has modules from {dir}"),
        place: format!("{dir}/__pycache__, made by `{interpreter} -m compileall`"),
        why: location.why.clone(),
        caveats: vec![caveat(&dir, about, &files)],
        files,
        effect: location.place.effect,
        new_file_is_showable: true,
        ..Plan::default()
    })
}

fn caveat(dir: &str, about: Stat, files: &[FileChange]) -> String {
    let bytes: usize = files.iter().filter_map(|file| file.after.as_ref()).map(Vec::len).sum();
    format!(
        "{dir} belongs to user {}: {} files are made there, {} kB. Python passes over the compiled form of a module that was \
         changed since: compile again after an update. `undo` removes these files.",
        about.st_uid,
        files.len(),
        bytes.div_ceil(1000),
    )
}
