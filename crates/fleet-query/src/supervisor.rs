//! What the user started: it reads no file of other hosts itself, but has a reader (`reader.rs`) do it, whose answer it
//! holds until that has ended well.
//!
//! Where the reader dies, others try the files one after the other: first their ends, which is soon done; then the same is
//! asked of each file alone. The file that ends such a reader is left out and named, and the question asked again: an
//! answer is never made of half a file. What bounds the time is the processor time of the reader, not the clock: on a busy machine and
//! over a slow network a right question takes long, and no content of a file makes a reader wait.

use crate::reader::{HOW_FAR, TRIED, Task, WORD, half_of_memory};
use crate::{Fault, files, written};
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

/// The status of a program of Rust that panicked.
const PANICKED: i32 = 101;
/// Numbers of signals, which are the same on all machines where needless runs.
const SIGABRT: i32 = 6;
const SIGKILL: i32 = 9;
const SIGXCPU: i32 = 24;

/// Has readers do what a command line says, about the files of directories, and passes on what they say. `sql` is the
/// question that the user wrote.
///
/// # Errors
/// When no reader can be started, and when one dies though no file is to blame.
pub(crate) fn supervise(
    words: &[OsString],
    places: &[PathBuf],
    sql: &str,
) -> Result<ExitCode, Fault> {
    let mut left_out: Vec<(PathBuf, String)> = Vec::new();
    let mut task = Task::Answer;
    let sql = &sql.replace('\0', " ");
    loop {
        let mut input = vec![OsString::from(sql)];
        let pairs = left_out.iter().flat_map(|(path, why)| [path.as_os_str(), OsStr::new(why)]);
        input.extend(pairs.map(OsStr::to_owned));
        let mut held = Vec::new();
        let mut terminal = Terminal { is_one: std::io::stderr().is_terminal(), is_written: false };
        let (mut answer, to) = memory().map_err(not_started)?;
        let status = read(task, words, &input, to, |line| match line.split_first() {
            Some((first, how_far)) if *first == HOW_FAR as u8 => terminal.show(how_far),
            _ => held.extend([line, b"\n"].concat()),
        })?;
        terminal.clear();
        let Some(death) = death(status, &held) else {
            // Nothing can be done where whoever reads it is gone.
            let _ = std::io::stderr().write_all(&held);
            let copied = answer
                .rewind()
                .and_then(|()| std::io::copy(&mut answer, &mut std::io::stdout().lock()));
            written(copied.map(drop).map_err(Into::into))?;
            return Ok(ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1)));
        };
        let harmful = harmful(words, places, sql, &left_out)?;
        match (harmful.is_empty(), task) {
            (false, _) => left_out.extend(harmful),
            (true, Task::Answer) if status.signal() == Some(SIGXCPU) => task = Task::LongAnswer,
            (true, _) => {
                let most = half_of_memory() / 1_000_000;
                let why = format!("its reader {death}, and no file alone is to blame");
                let to_do = format!("name fewer files: it may have {most} MB of memory");
                return Err(Fault::new("question", why, to_do));
            }
        }
    }
}

/// The files that end a reader which tries them alone, each with how it ended.
fn harmful(
    words: &[OsString],
    places: &[PathBuf],
    sql: &str,
    left_out: &[(PathBuf, String)],
) -> Result<Vec<(PathBuf, String)>, Fault> {
    let mut paths = files::list_any(places)?;
    paths.retain(|path| left_out.iter().all(|(known, _)| known != path));
    for task in [Task::Ends, Task::Alone] {
        let (mut harmful, mut from) = (Vec::new(), 0);
        while let Some(left) = paths.get(from..).filter(|left| !left.is_empty()) {
            let (mut tried, mut said) = (0, Vec::new());
            let mut input = vec![OsString::from(sql)];
            input.extend(left.iter().map(|path| path.clone().into()));
            let status = read(task, words, &input, Stdio::null(), |line| {
                if line == TRIED.as_bytes() {
                    tried += 1;
                } else {
                    said.extend_from_slice(line);
                }
            })?;
            let Some(death) = death(status, &said) else { break };
            let Some(path) = left.get(tried) else { break };
            harmful.push((path.clone(), format!("its reader {death}")));
            from += tried + 1;
        }
        if !harmful.is_empty() {
            return Ok(harmful);
        }
    }
    Ok(Vec::new())
}

/// Runs a reader. `line` gets each line of its standard error.
fn read(
    task: Task,
    words: &[OsString],
    input: &[OsString],
    to: Stdio,
    mut line: impl FnMut(&[u8]),
) -> Result<ExitStatus, Fault> {
    // The file that this process was started from, also where a newer one has its name by now.
    let mut reader = Command::new("/proc/self/exe")
        .args([WORD, &std::process::id().to_string(), task.word()])
        .args(words)
        // Where its memory ran out, there is none to look for the names of functions.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(to)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(not_started)?;
    let texts: Vec<u8> = input.iter().flat_map(|text| [text.as_bytes(), &[0]].concat()).collect();
    // It reads all of it before it says anything; where it is dead already, its status says so.
    let _ = reader.stdin.take().map(|mut stdin| stdin.write_all(&texts));
    let said = reader.stderr.take().into_iter().flat_map(|said| BufReader::new(said).split(b'\n'));
    said.map_while(Result::ok).for_each(|text| line(&text));
    reader.wait().map_err(not_started)
}

fn not_started(why: std::io::Error) -> Fault {
    Fault::new("reader", why, "let this user have more processes and memory")
}

/// A file in memory, and the same for a reader to write to.
fn memory() -> std::io::Result<(File, Stdio)> {
    let file = File::from(memfd_create("answer", MemfdFlags::CLOEXEC)?);
    let other = file.try_clone()?;
    Ok((file, other.into()))
}

/// How a reader died; `None`: it ended, well or with an error that it has said.
fn death(status: ExitStatus, said: &[u8]) -> Option<String> {
    let says = |text: &str| String::from_utf8_lossy(said).contains(text);
    Some(match (status.code(), status.signal()) {
        (Some(PANICKED), _) => "panicked".to_owned(),
        (Some(_), _) => return None,
        (None, Some(SIGXCPU)) => "ran out of time".to_owned(),
        (None, Some(SIGABRT)) if says("memory allocation of") => "ran out of memory".to_owned(),
        // What the kernel does where the machine has no memory left.
        (None, Some(SIGKILL)) => "was killed, perhaps since memory ran out".to_owned(),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or(0)),
    })
}

/// The line of a terminal that shows how far a reader is.
struct Terminal {
    is_one: bool,
    is_written: bool,
}

impl Terminal {
    fn show(&mut self, how_far: &[u8]) {
        if self.is_one {
            self.is_written = true;
            // Nothing can be done where the terminal is gone.
            let text = String::from_utf8_lossy(how_far);
            let _ = write!(std::io::stderr(), "\r\x1b[Kneedless-fleet: {text}");
        }
    }

    /// Leaves an empty line to what is printed next.
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_written) {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
