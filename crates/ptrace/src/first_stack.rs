//! What a process is right after exec, from the stack that the kernel has made for it: two reads of its memory, where
//! /proc has the same in four files. The layout is that of the ABI (System V ABI, AMD64, 3.4.1; getauxval(3)).

use crate::sys::{Tid, read_memory};
use needless_model::{Env, Process, Runtime, WatchList};

/// Bytes that are read of the pointers at its top; who has more arguments is looked up in /proc.
const POINTERS: usize = 4096;
/// The longest environment that is read here, bytes.
const LONGEST: u64 = 64 * 1024;

/// `AT_*` of getauxval(3).
const AT_SECURE: u64 = 23;
const AT_EXECFN: u64 = 31;

/// What it shows.
#[derive(Debug, PartialEq, Eq)]
struct FirstStack {
    /// The environment, as in proc_pid_environ(5).
    block: Vec<u8>,
    secure: bool,
    /// The name of the first thread, as in proc_pid_comm(5); `None` where the kernel takes it from elsewhere.
    command: Option<String>,
}

/// Fills in what is known of `process`, which is stopped at its exec with its stack pointer at `sp`, as
/// [`needless_host::read_process`] does. Returns its environment block. `known`: what is kept of such a block, if that is
/// known.
pub(crate) fn read_process(
    process: &mut Process,
    tid: Tid,
    sp: Option<u64>,
    watch: &WatchList,
    known: impl FnOnce(&[u8]) -> Option<Env>,
) -> Option<Vec<u8>> {
    let seen = sp.and_then(|sp| FirstStack::read(tid, sp)).zip(crate::sys::open_files(tid));
    let Some((stack, open_files)) = seen else {
        return needless_host::read_process(process, watch);
    };
    let exe = std::fs::read_link(format!("/proc/{tid}/exe")).ok();
    process.exe = exe.map(|path| path.to_string_lossy().into_owned());
    if let Some(exe) = &process.exe {
        process.runtime = Runtime::of_exe(exe);
    }
    let watched = || Env::Known(needless_host::watched_variables(&stack.block, watch));
    process.env = known(&stack.block).unwrap_or_else(watched);
    process.secure = Some(stack.secure);
    process.command = stack.command.or_else(|| needless_host::command(process.pid));
    process.open_files = Some(open_files);
    Some(stack.block)
}

impl FirstStack {
    /// `None` if the stack is larger than is read here, or not that of a 64-bit program.
    fn read(tid: Tid, sp: u64) -> Option<FirstStack> {
        const PAGE: u64 = 4096;
        let mut bytes = [0; POINTERS];
        let length = read_memory(tid, sp, &mut bytes);
        let (words, _) = bytes[..length].as_chunks();
        let mut words = words.iter().copied().map(u64::from_ne_bytes);
        let arguments = usize::try_from(words.next()?).ok().filter(|n| *n < POINTERS)?;
        if words.nth(arguments)? != 0 {
            return None;
        }
        let first = words.next()?;
        if first != 0 {
            words.find(|word| *word == 0)?;
        }
        let (mut secure, mut path) = (None, None);
        loop {
            match (words.next()?, words.next()?) {
                (0, _) => break,
                (AT_SECURE, value) => secure = Some(value != 0),
                (AT_EXECFN, address) => path = Some(address),
                _ => {}
            }
        }
        // The path that was executed is right behind the environment, and the stack ends behind it.
        let (secure, path) = (secure?, path?);
        let start = if first == 0 { path } else { first };
        let length = path.checked_sub(start).filter(|length| *length <= LONGEST)?;
        let mut block = vec![0; (path / PAGE * PAGE + PAGE - start) as usize];
        if read_memory(tid, start, &mut block) < block.len() {
            return None;
        }
        let path = block.split_off(length as usize);
        let path = &path[..path.iter().position(|byte| *byte == 0)?];
        if block.last().is_some_and(|last| *last != 0) {
            return None;
        }
        Some(FirstStack { block, secure, command: name(path) })
    }
}

/// The name that the kernel gives to who executes `path`; `None` for a file without a path (execveat(2)).
fn name(path: &[u8]) -> Option<String> {
    const LONGEST: usize = 15;
    if path.starts_with(b"/dev/fd/") {
        return None;
    }
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    Some(String::from_utf8_lossy(&name[..name.len().min(LONGEST)]).into_owned())
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;
    use needless_model::Spawn;

    #[test]
    fn the_first_stack_says_what_proc_says() {
        // Field 28 of proc_pid_stat(5): where the stack started.
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields = stat.rsplit_once(')').unwrap().1;
        let sp = fields.split_whitespace().nth(28 - 3).unwrap().parse().unwrap();
        let me = std::process::id();
        let stack = FirstStack::read(me as Tid, sp).unwrap();
        assert_eq!(stack.block, std::fs::read("/proc/self/environ").unwrap());
        assert_eq!(stack.command, needless_host::command(me));
        assert!(!stack.secure);
        let watch = ["PATH"].into();
        let [mut one, mut other] = [Spawn::Exec; 2].map(|born| Process::new(me, None, born));
        let block = read_process(&mut one, me as Tid, Some(sp), &watch, |_| None);
        assert_eq!(block, needless_host::read_process(&mut other, &watch));
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
        assert_eq!(FirstStack::read(me as Tid, sp + 8), None, "not the number of arguments");
    }

    #[test]
    fn a_name_is_that_of_the_file_and_cut() {
        assert_eq!(name(b"/bin/sh").as_deref(), Some("sh"));
        assert_eq!(name(b"a-very-long-name-of-a-file").as_deref(), Some("a-very-long-nam"));
        assert_eq!(name(b"/dev/fd/5"), None);
    }
}
