//! From a stop at a system call to a row of the profile.

use crate::arg_class::Classified;
use crate::due::Due;
use crate::memory::{PathBuffer, fingerprint, read_u64};
use crate::sampling::sample_weight;
use crate::sys::{OP_ENTRY, SyscallInfo, Tid};
use crate::tree::{Count, Effect, InFlight, ThreadGroup};
use crate::untraced::{self, Changed};
use needless_model::{
    AT_ONCE_NS, Answer, Builder, CallId, Errno, Loss, Passed, ProcId, Query, Question,
};
use needless_syscalls::{
    Abi, Call, CallKind, Classifier, Decider, Moves, PR_SET_SECCOMP, SeccompMode, Shape, X32_BIT,
    seccomp_mode,
};

/// How many of the first answers to a question are read, each at the cost of a second stop.
const LOOK_FIRST: u64 = 8;
/// After these, one in so many is read.
const LOOK_EVERY: u64 = 64;

/// The result of the entry of a call.
pub(crate) struct Entered {
    /// Why its exit matters; `None`: it does not.
    pub(crate) in_flight: Option<InFlight>,
    /// The row that it was already counted in, and how many calls a snapshot taken now stands for.
    pub(crate) sampled: (usize, u64),
    /// What to restore when it has started a process.
    pub(crate) changed: Option<Changed>,
}

impl Entered {
    /// It was counted, if at all, and its exit does not matter.
    fn over() -> Entered {
        Entered { in_flight: None, sampled: (0, 0), changed: None }
    }

    /// It is counted when it returns.
    fn then(count: Count, effect: Effect) -> Entered {
        let in_flight = Some(InFlight { count, effect, sample: 0 });
        Entered { in_flight, ..Entered::over() }
    }
}

/// A call at its entry.
#[derive(Clone, Copy)]
struct Entry<'a> {
    tid: Tid,
    call: CallId,
    args: &'a [u64; 6],
    /// Whether its pointers have 64 bits.
    is_64bit: bool,
    at_ns: u64,
    /// Whether its answer is read in any case.
    look: bool,
}

/// Interprets calls.
pub(crate) struct PathCalls {
    pub(crate) abis: Vec<Abi>,
    /// The ids in the profile of the calls of each ABI, set at first use.
    ids: Vec<Vec<Option<CallId>>>,
    all: bool,
    path: PathBuffer,
    /// Whether a process may have left our root or mount namespace.
    pub(crate) roots_differ: bool,
    /// Snapshots to be taken of calls that were counted without a stop.
    pub(crate) due: Due,
    /// Buffer for absolute paths.
    pub(crate) absolute: String,
}

impl PathCalls {
    pub(crate) fn new(abis: Vec<Abi>, all: bool) -> PathCalls {
        let ids = abis.iter().map(|abi| vec![None; abi.calls.len()]).collect();
        PathCalls {
            abis,
            ids,
            all,
            path: PathBuffer::new(),
            roots_differ: false,
            due: Due::default(),
            absolute: String::new(),
        }
    }

    /// The call with this number, and whether its pointers have 64 bits.
    pub(crate) fn call(&self, arch: u32, nr: u64) -> Option<(Call, bool)> {
        let abi = self.abis.iter().find(|abi| abi.audit == arch)?;
        let call = *abi.calls.get((nr & !X32_BIT) as usize)?;
        Some((call?, abi.is_64bit))
    }

    /// Whether the calls of this `AUDIT_ARCH_*` have names.
    pub(crate) fn knows(&self, arch: u32) -> bool {
        self.abis.iter().any(|abi| abi.audit == arch)
    }

    /// Whether a program of this `AUDIT_ARCH_*` has pointers of 64 bits, where it is known.
    pub(crate) fn is_64bit(&self, arch: u32) -> Option<bool> {
        self.abis.iter().find(|abi| abi.audit == arch).map(|abi| abi.is_64bit)
    }

    /// A thread of `group` enters a call. `look`: its answer is read in any case.
    pub(crate) fn begin(
        &mut self,
        builder: &mut Builder,
        group: &mut ThreadGroup,
        tid: Tid,
        info: &SyscallInfo,
        at_ns: u64,
        look: bool,
    ) -> Entered {
        let (call, kind, is_64bit) = self.look_up(builder, info.arch, info.nr());
        let args = info.args();
        // A filter of the command may refuse a call by its arguments, and allow the next one.
        group.has_filter |= info.is_for_another_tracer();
        let look = look || self.all || group.has_filter;
        let entry = Entry { tid, call, args: &args, is_64bit, at_ns, look };
        let plain =
            if self.all { Count::Call { call, first: args[0], at_ns } } else { Count::Nothing };
        let effect = match kind {
            CallKind::Path(shape) => {
                return self.begin_path(builder, group, &entry, shape);
            }
            CallKind::Plain => Effect::None,
            CallKind::Classify(when, by) if when.holds(&args) => {
                if let Some(entered) = begin_classified(builder, group, &entry, by) {
                    return entered;
                }
                Effect::None
            }
            CallKind::Classify(..) => Effect::None,
            CallKind::Wait(when) if when.holds(&args) => {
                if !self.all {
                    builder.barrier();
                    return Entered::over();
                }
                Effect::Barrier
            }
            CallKind::Wait(_) => Effect::None,
            CallKind::Moves(moves) => {
                self.roots_differ |= moves == Moves::Root;
                Effect::from(moves)
            }
            CallKind::Ptrace => Effect::Tracing,
            CallKind::Uring => {
                builder.note(
                    "io_uring was used: tracers of system calls do not see the calls made through it",
                );
                Effect::None
            }
            // Its flags are changed after the command's filter has seen them.
            CallKind::Clone(_) if !self.all && info.op == OP_ENTRY => Effect::None,
            CallKind::Clone(flags) => {
                self.roots_differ |= untraced::moves_root(tid, flags, info);
                let (effect, changed) = untraced::clear(tid, flags, info, self.all);
                if self.all || changed.is_some() || effect != Effect::None {
                    return Entered { changed, ..Entered::then(plain, effect) };
                }
                Effect::None
            }
            CallKind::Seccomp(when) if !self.all && when.holds(&args) => Effect::of_seccomp(&args),
            CallKind::Seccomp(_) => Effect::None,
        };
        if self.all || effect != Effect::None {
            return Entered::then(plain, effect);
        }
        Entered::over()
    }

    /// A thread of process `image` leaves a call. The row it was counted in, if it was.
    pub(crate) fn end(
        &mut self,
        builder: &mut Builder,
        image: ProcId,
        tid: Tid,
        count: Count,
        result: Result<u64, u16>,
        at_ns: u64,
    ) -> Option<usize> {
        let outcome = result.map(drop).map_err(Errno);
        let answer = Answer { at_ns: Some(at_ns), ..Answer::outcome(outcome) };
        match count {
            Count::Nothing => None,
            Count::Call { call, first, at_ns: entered } => {
                let at_once = Some(at_ns.saturating_sub(entered) < AT_ONCE_NS);
                let returned = result.unwrap_or(0);
                let passed = Some(Passed { first, returned, at_once, descriptor: None });
                Some(builder.count(image, call, 1, Answer { passed, ..answer }))
            }
            Count::Answer { question, reply, args, is_64bit } => {
                let fingerprint = match result {
                    Ok(value) => fingerprint(tid, reply, &args, value, is_64bit),
                    Err(_) => None,
                };
                Some(builder.answer(question, Answer { fingerprint, ..answer }))
            }
            Count::ArgClass { question, epoch } => {
                Some(builder.answer(question, Answer { fingerprint: epoch, ..answer }))
            }
            // A successful one was counted when the new image appeared.
            Count::Exec { call, path, from_dir_fd } => {
                let question = Question { call, query: Query::Exec, path: &path, from_dir_fd };
                let question = builder.question(image, question);
                Some(builder.answer(question, answer))
            }
        }
    }

    pub(crate) fn look_up(
        &mut self,
        builder: &mut Builder,
        arch: u32,
        nr: u64,
    ) -> (CallId, CallKind, bool) {
        let number = nr;
        let nr = (nr & !X32_BIT) as usize;
        let at = self.abis.iter().position(|abi| abi.audit == arch);
        let is_64bit = at.is_none_or(|at| self.abis[at].is_64bit);
        if let Some((at, Some(call))) = at.and_then(|at| Some((at, *self.abis[at].calls.get(nr)?)))
        {
            let id = *self.ids[at][nr].get_or_insert_with(|| builder.call(call.name));
            return (id, call.kind, is_64bit);
        }
        (builder.call(&format!("syscall_{:#x}", number as u32)), CallKind::Plain, is_64bit)
    }

    fn begin_path(
        &mut self,
        builder: &mut Builder,
        group: &mut ThreadGroup,
        entry: &Entry<'_>,
        shape: Shape,
    ) -> Entered {
        let Entry { tid, call, args, is_64bit, at_ns, look } = *entry;
        let query = decide(shape, tid, args);
        let effect = Effect::from(shape.moves);
        self.roots_differ |= shape.moves == Moves::Root;
        let address = args[shape.path as usize];
        // A null pointer, which means only the descriptor (futimens), or a mistake: no path.
        let text = if address == 0 { Some(&b""[..]) } else { self.path.read(tid, address) };
        let Some(text) = text else {
            builder.lost(Loss::NoPath, 1);
            return Entered::then(Count::Call { call, first: args[0], at_ns }, effect);
        };
        if address == 0 || is_descriptor(shape, args, text) {
            if self.all {
                return Entered::then(Count::Call { call, first: args[0], at_ns }, effect);
            }
            return Entered::over();
        }
        let text = String::from_utf8_lossy(text);
        let (path, from_dir_fd) =
            locate(&mut self.absolute, builder, group, tid, shape, args, &text);
        if query == Query::Exec {
            let count = Count::Exec { call, path: path.to_owned(), from_dir_fd };
            return Entered::then(count, effect);
        }
        // Before the command's exec, only this exec matters.
        let Some(image) = group.image else { return Entered::then(Count::Nothing, effect) };
        let question = builder.question(image, Question { call, query, path, from_dir_fd });
        let hits = builder.hits(question);
        let mut sample = if samples(query) { sample_weight(hits + 1) } else { 0 };
        sample += self.due.take(question);
        if !look && effect == Effect::None && assumable(query) && !looks(hits) {
            let row = builder.assume(question, Some(at_ns));
            return Entered { sampled: (row, sample), ..Entered::over() };
        }
        let count = Count::Answer { question, reply: shape.reply, args: *args, is_64bit };
        let in_flight = Some(InFlight { count, effect, sample });
        Entered { in_flight, ..Entered::over() }
    }
}

/// A call whose arguments rules may ask about. `None`: they do not ask about this one.
fn begin_classified(
    builder: &mut Builder,
    group: &mut ThreadGroup,
    entry: &Entry<'_>,
    by: Classifier,
) -> Option<Entered> {
    let image = group.image?;
    let Classified { class, epoch } = group.arg_state.classify(entry.tid, by, entry.args)?;
    let question = builder.detail(image, entry.call, class);
    let at_ns = Some(entry.at_ns);
    if !entry.look && by == Classifier::Heap {
        // It returns the end of the heap, whatever that is, and no error (brk(2)).
        builder.answer(question, Answer { at_ns, ..Answer::outcome(Ok(())) });
        return Some(Entered::over());
    }
    if !entry.look && !looks(builder.hits(question)) {
        builder.assume_as(question, Answer { fingerprint: epoch, at_ns, ..Answer::default() });
        return Some(Entered::over());
    }
    Some(Entered::then(Count::ArgClass { question, epoch }, Effect::None))
}

impl Effect {
    /// Of prctl or seccomp with these arguments.
    fn of_seccomp(args: &[u64; 6]) -> Effect {
        const TSYNC: u64 = 1;
        match seccomp_mode(args) {
            Some(SeccompMode::Strict) => Effect::StrictMode,
            Some(SeccompMode::Filter) => {
                Effect::Filter { all_threads: args[0] != PR_SET_SECCOMP && args[1] & TSYNC != 0 }
            }
            None => Effect::None,
        }
    }
}

/// Whether an empty path means the descriptor itself.
pub(crate) fn is_descriptor(shape: Shape, args: &[u64; 6], text: &[u8]) -> bool {
    const AT_EMPTY_PATH: u32 = 0x1000;
    text.is_empty()
        && shape.at_flags.is_some_and(|at| args[at as usize] as u32 & AT_EMPTY_PATH != 0)
}

/// The path as it is shown, and whether it is relative to a directory descriptor.
pub(crate) fn locate<'a>(
    absolute: &'a mut String,
    builder: &Builder,
    group: &mut ThreadGroup,
    tid: Tid,
    shape: Shape,
    args: &[u64; 6],
    text: &'a str,
) -> (&'a str, bool) {
    let from_dir_fd = shape.dir.is_some_and(|at| args[at as usize] as i32 != libc::AT_FDCWD);
    let path = if text.starts_with('/') || from_dir_fd || text.is_empty() {
        text
    } else {
        make_absolute(absolute, builder, group, tid, text)
    };
    (path, from_dir_fd)
}

/// The question by its flags.
pub(crate) fn decide(shape: Shape, tid: Tid, args: &[u64; 6]) -> Query {
    match shape.decided_by {
        Decider::Name => shape.query,
        Decider::OpenFlags(at) => Query::open(args[at as usize]),
        Decider::OpenHow(at) => read_u64(tid, args[at as usize]).map_or(shape.query, Query::open),
        Decider::AtFlags(at) => Query::status(args[at as usize]),
    }
}

/// `relative` below the working directory of `tid`; unchanged if that is not known.
fn make_absolute<'a>(
    absolute: &'a mut String,
    builder: &Builder,
    group: &mut ThreadGroup,
    tid: Tid,
    relative: &str,
) -> &'a str {
    absolute.clear();
    // For a process with another root, the kernel shows the directory's name below ours.
    let shares_root = group.image.is_none_or(|image| builder.process_ref(image).shares_root);
    if shares_root {
        let directory =
            group.directory.get_or_insert_with(|| needless_host::working_directory(tid));
        if let Some(directory) = directory {
            absolute.push_str(directory.trim_end_matches('/'));
            absolute.push('/');
        }
    }
    absolute.push_str(relative);
    absolute
}

/// Questions whose unseen answer may be assumed to equal the last one: what changes their
/// answer shows elsewhere, or does no harm. Opens are different: a zone file that is read
/// again must be seen.
fn assumable(query: Query) -> bool {
    matches!(query, Query::Stat | Query::Lstat | Query::Access | Query::Readlink)
}

/// Whether the answer after `hits` others is read.
fn looks(hits: u64) -> bool {
    hits < LOOK_FIRST || hits.is_multiple_of(LOOK_EVERY)
}

/// Questions whose repetition needs the place of the call.
pub(crate) fn samples(query: Query) -> bool {
    assumable(query) || query == Query::Open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answers_and_some_later_ones_are_looked_at() {
        let looked: Vec<u64> = (0..200).filter(|hits| looks(*hits)).collect();
        assert_eq!(looked, [0, 1, 2, 3, 4, 5, 6, 7, 64, 128, 192]);
    }
}
