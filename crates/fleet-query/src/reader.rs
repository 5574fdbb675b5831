//! The process that reads what other hosts sent: this program once more, with bounds to its memory and its time.
//!
//! The `parquet` crate and the engine believe numbers in a file: a hundred bytes can ask for more memory than there is,
//! which ends a process, or keep it busy for hours. Here that ends a process which has nothing to lose; its parent
//! (`supervisor.rs`) finds the file, and asks again without it.

use crate::columns::Columns;
use crate::{Fault, files};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setrlimit,
};
use rustix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// The first word of its command line. Next come the process id of its parent and the task; then the words of the
/// parent's own command line. The rest is on standard input, with a zero after each text.
pub(crate) const WORD: &str = "--reader";

/// Bytes that the program may have while it tries one file: as many, and so many for each byte of the file.
const TRYING: u64 = 256 << 20;
const TRYING_A_BYTE: u64 = 32;
/// Bytes that it may have for an answer even where half of the machine's memory is less.
const LEAST: u64 = 1 << 30;
/// Seconds of processor time for an answer, and for a file that is tried; and one for each so many bytes that are read.
const SECONDS: u64 = 10;
const TRYING_SECONDS: u64 = 3;
const BYTES_A_SECOND: u64 = 4_000_000;
/// What comes before a text that says how far it is.
pub(crate) const HOW_FAR: char = '\r';
/// The line that says that a file was tried.
pub(crate) const TRIED: &str = "tried";

/// What a reader is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// What the command line says, within the time that its files are worth.
    Answer,
    /// The same, however long it takes: no file is to blame for it.
    LongAnswer,
    /// To look at the ends of files, one after the other.
    Ends,
    /// To do what the command line says with each file alone, one after the other, for the sake of what becomes of the
    /// process. Nothing is written.
    Alone,
}

impl Task {
    const ALL: [(&str, Task); 4] = [
        ("answer", Task::Answer),
        ("long-answer", Task::LongAnswer),
        ("ends", Task::Ends),
        ("alone", Task::Alone),
    ];

    /// The word for it on a command line.
    pub(crate) fn word(self) -> &'static str {
        Task::ALL.iter().find(|(_, task)| *task == self).map_or("", |(word, _)| word)
    }

    /// Whether the command line says what to do.
    fn answers(self) -> bool {
        matches!(self, Task::Answer | Task::LongAnswer)
    }
}

/// The limits that whoever started the program has set.
#[derive(Debug)]
struct Before {
    seconds: Rlimit,
    memory: Rlimit,
}

/// Sets a limit of this process, to no more than it was `before`.
fn bound(what: Resource, before: &Rlimit, to: u64) -> rustix::io::Result<()> {
    let Rlimit { current, maximum } = *before;
    let to = [current, maximum].into_iter().flatten().fold(to, u64::min);
    setrlimit(what, Rlimit { current: Some(to), maximum })
}

/// This process, as a reader.
#[derive(Debug)]
pub(crate) struct Reader {
    task: Task,
    /// What came on standard input.
    texts: Vec<OsString>,
    left_out: HashMap<PathBuf, String>,
    /// The file that is tried.
    alone: Option<PathBuf>,
    before: Before,
    next: Cell<Instant>,
}

impl Reader {
    /// Becomes a reader, if the command line says so, and takes the words that say it away.
    ///
    /// # Errors
    /// When it was not this program that wrote the command line, and when a limit cannot be set.
    pub(crate) fn begin(words: &mut Vec<OsString>) -> Result<Option<Reader>, Fault> {
        if words.get(1).is_none_or(|word| word != WORD) {
            return Ok(None);
        }
        let failed = |why: &str| Fault::new(WORD, why, "needless-fleet itself uses this word");
        let own: Vec<OsString> = words.drain(1..words.len().min(4)).collect();
        let word = |n: usize| own.get(n).and_then(|word| word.to_str()).unwrap_or_default();
        let task = Task::ALL.iter().find(|(name, _)| *name == word(2));
        let (_, task) = *task.ok_or_else(|| failed("there is no such task"))?;
        // Whoever ends the parent wants this ended. It may have happened before this call.
        let asked = set_parent_process_death_signal(Some(Signal::KILL));
        let parent = word(1).parse().ok().and_then(Pid::from_raw);
        if asked.is_err() || parent.is_none() || getppid() != parent {
            return Err(failed("the process that started it is gone"));
        }
        let before =
            Before { seconds: getrlimit(Resource::Cpu), memory: getrlimit(Resource::Data) };
        // Memory that can be written to. The other limit, of addresses, counts what threads reserve and never use. What is
        // printed is in a file in memory.
        bound(Resource::Data, &before.memory, half_of_memory())
            .and_then(|()| {
                bound(Resource::Fsize, &getrlimit(Resource::Fsize), half_of_memory() / 4)
            })
            .and_then(|()| bound(Resource::Core, &getrlimit(Resource::Core), 0))
            .map_err(|why| failed(&why.to_string()))?;
        // A decoder that panics is an error of the file, and is reported as one.
        std::panic::set_hook(Box::new(|_| ()));
        let mut all = Vec::new();
        std::io::stdin().read_to_end(&mut all).map_err(|why| failed(&why.to_string()))?;
        let texts = all.split(|byte| *byte == 0).map(|text| OsStr::from_bytes(text).to_owned());
        let mut texts: Vec<OsString> = texts.collect();
        // What is after the last zero.
        texts.pop();
        let mut reader = Reader {
            task,
            texts,
            left_out: HashMap::new(),
            alone: None,
            before,
            next: Cell::new(Instant::now() + Duration::from_secs(1)),
        };
        if task.answers() {
            let pairs = reader.texts.get(1..).unwrap_or_default().chunks_exact(2);
            let pairs =
                pairs.map(|pair| (PathBuf::from(&pair[0]), pair[1].to_string_lossy().into_owned()));
            reader.left_out = pairs.collect();
        }
        Ok(Some(reader))
    }

    /// The file that is tried alone; `None`: what the command line says is to be done.
    pub(crate) fn alone(&self) -> Option<&Path> {
        self.alone.as_deref()
    }

    /// The question that the user wrote, of `query`.
    pub(crate) fn sql(&self) -> String {
        self.texts.first().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Why a file is left out, if it is.
    pub(crate) fn left_out(&self, path: &Path) -> Option<&str> {
        self.left_out.get(path).map(String::as_str)
    }

    /// Allows what is read next its time of the processor, from now on: it is ended (SIGXCPU) when that is over. Where files
    /// are tried, the same for memory.
    pub(crate) fn allow(&self, bytes: u64) {
        if self.task == Task::LongAnswer {
            return;
        }
        let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
        let seconds = if self.task.answers() { SECONDS } else { TRYING_SECONDS };
        let until = used.saturating_add(seconds).saturating_add(bytes / BYTES_A_SECOND);
        // Both were possible when the process began.
        let _ = bound(Resource::Cpu, &self.before.seconds, until);
        if !self.task.answers() {
            let most = TRYING.saturating_add(bytes.saturating_mul(TRYING_A_BYTE));
            let _ = bound(Resource::Data, &self.before.memory, most.min(half_of_memory()));
        }
    }

    /// Tells the parent the text that `how_far` makes: not in the first second, and five times in a second at most.
    pub(crate) fn say(&self, how_far: impl FnOnce() -> String) {
        if Instant::now() >= self.next.get() {
            self.next.set(Instant::now() + Duration::from_millis(200));
            eprintln!("{HOW_FAR}{}", how_far());
        }
    }

    /// Does what the task says: `done` does what a command line says. After each file that is tried it says a line; the
    /// file after the last line is the one that ended the process.
    ///
    /// # Errors
    /// Those of `done`, where it is for an answer. An error about a file that is tried is no harm.
    pub(crate) fn work(
        mut self,
        done: impl Fn(&Reader) -> Result<ExitCode, Fault>,
    ) -> Result<ExitCode, Fault> {
        if self.task.answers() {
            return done(&self);
        }
        let columns = Columns::of_the_writer()?;
        for path in self.texts.split_off(self.texts.len().min(1)) {
            let path = PathBuf::from(path);
            if self.task == Task::Ends {
                files::try_end(&path, &columns, &self);
            } else {
                self.alone = Some(path);
                let _ = done(&self);
            }
            eprintln!("{TRIED}");
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Half of the machine's memory, in bytes: what one question may take.
pub(crate) fn half_of_memory() -> u64 {
    let about = rustix::system::sysinfo();
    let memory = about.totalram.saturating_mul(about.mem_unit.into());
    (memory / 2).max(LEAST)
}
