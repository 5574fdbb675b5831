//! How a backend fills a profile: it says who asked what and what the answer was; the builder
//! aggregates.

use crate::{
    Ask, CallId, Errno, Facts, Host, Interner, Loss, ProcId, Process, Profile, Row, Target, Totals,
    Window,
};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

/// Bounds of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Distinct rows kept apart; more fold into one row per call and outcome, and are counted as
    /// [`Loss::FOLDED`].
    pub rows: usize,
    /// How soon the same question must be put again to count as repeated, nanoseconds. A program
    /// that looks every hundredth of a second whether a file has come is waiting for it.
    pub repeat_within_ns: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { rows: 200_000, repeat_within_ns: 1_000_000 }
    }
}

/// A question put to the kernel: call and path. The path is as asked, made absolute where its
/// directory is known.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Kernel name of the call, from [`Builder::call`].
    pub call: CallId,
    /// The question behind it.
    pub ask: Ask,
    /// The path.
    pub path: &'a str,
    /// Whether a relative path is relative to a directory descriptor (`true`) or to the working
    /// directory (`false`). Ignored for absolute paths.
    pub from_dir_fd: bool,
}

/// Number of a question in one [`Builder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuestionId(u32);

/// What the kernel said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    /// Ok or the error; `None` where it was not seen.
    pub outcome: Option<Result<(), Errno>>,
    /// A hash of what matters in the answer (for stat: inode, device, size, modification time),
    /// where it was read.
    pub fingerprint: Option<u64>,
    /// When the call was made, nanoseconds since the window's start, where known.
    pub at_ns: Option<u64>,
    /// Time in the kernel, where known.
    pub kernel_ns: Option<u64>,
}

impl Answer {
    /// An answer of which only the outcome is known.
    pub fn outcome(outcome: Result<(), Errno>) -> Answer {
        Answer { outcome: Some(outcome), ..Answer::default() }
    }
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    process: ProcId,
    call: CallId,
    ask: Ask,
    target: Target,
}

struct Asked {
    key: Key,
    hits: u64,
    last: Option<Last>,
    /// The rows of this question, one per outcome seen: the newest, which leads to the next.
    newest_row: Option<u32>,
}

#[derive(Clone, Copy)]
struct Last {
    outcome: Option<Result<(), Errno>>,
    fingerprint: Option<u64>,
    at_ns: Option<u64>,
    epoch: u64,
}

/// Aggregates what a backend sees into a [`Profile`].
pub struct Builder {
    limits: Limits,
    strings: Interner,
    processes: Vec<Process>,
    index: HashTable<u32>,
    hasher: FixedState,
    asked: Vec<Asked>,
    rows: Vec<Row>,
    /// Beside `rows`: another row of the same question.
    older_row: Vec<Option<u32>>,
    totals: Totals,
    lost: BTreeMap<&'static str, u64>,
    notes: Vec<String>,
    epoch: u64,
    others: Option<ProcId>,
}

impl Builder {
    /// An empty profile within `limits`.
    pub fn new(limits: Limits) -> Builder {
        Builder {
            limits,
            strings: Interner::default(),
            processes: Vec::new(),
            index: HashTable::new(),
            hasher: FixedState::default(),
            asked: Vec::new(),
            rows: Vec::new(),
            older_row: Vec::new(),
            totals: Totals::default(),
            lost: BTreeMap::new(),
            notes: Vec::new(),
            epoch: 0,
            others: None,
        }
    }

    /// The number of the call with this kernel name.
    pub fn call(&mut self, name: &str) -> CallId {
        CallId(self.strings.id(name))
    }

    /// The kernel name of a call.
    pub fn call_name(&self, call: CallId) -> &str {
        self.strings.text(call.0)
    }

    /// A new process. Also a [`barrier`](Builder::barrier): it may change what the others asked.
    pub fn process(&mut self, process: Process) -> ProcId {
        let id = ProcId(u32::try_from(self.processes.len()).expect("fewer than 2^32 processes"));
        self.processes.push(process);
        self.barrier();
        id
    }

    /// A process, to add what becomes known of it.
    pub fn process_mut(&mut self, id: ProcId) -> &mut Process {
        &mut self.processes[id.index()]
    }

    /// A process as known so far.
    pub fn process_ref(&self, id: ProcId) -> &Process {
        &self.processes[id.index()]
    }

    /// Something happened after which the same question may be answered differently: a change to
    /// the file system, a wait, a new process. Repetitions across it are not counted as repeated.
    pub fn barrier(&mut self) {
        self.epoch += 1;
    }

    /// The number of a question of `process`, new or known.
    pub fn question(&mut self, process: ProcId, question: Question<'_>) -> QuestionId {
        let full = self.rows.len() >= self.limits.rows;
        let text = match self.strings.find(question.path) {
            Some(text) => text,
            // A text that will only be folded is not stored: the bound is one of memory.
            None if full => {
                let Question { call, ask, .. } = question;
                return self.fold(Key { process, call, ask, target: Target::Folded });
            }
            None => self.strings.id(question.path),
        };
        let target = if question.path.starts_with('/') {
            Target::Path(text)
        } else if question.from_dir_fd {
            Target::Dir(text)
        } else {
            Target::Cwd(text)
        };
        self.find_or_add(Key { process, call: question.call, ask: question.ask, target })
    }

    /// How often a question was answered so far.
    pub fn hits(&self, question: QuestionId) -> u64 {
        self.asked[question.0 as usize].hits
    }

    /// Counts one answer to a question and returns its row.
    pub fn answer(&mut self, question: QuestionId, answer: Answer) -> usize {
        self.totals.path_calls += u64::from(self.asked[question.0 as usize].key.ask.names_path());
        let asked = &mut self.asked[question.0 as usize];
        let repeated = asked.last.is_some_and(|last| {
            last.epoch == self.epoch
                && answer.outcome.is_some()
                && last.outcome == answer.outcome
                && last.fingerprint == answer.fingerprint
                && match (last.at_ns, answer.at_ns) {
                    (Some(then), Some(now)) => {
                        now.saturating_sub(then) < self.limits.repeat_within_ns
                    }
                    _ => true,
                }
        });
        asked.last = Some(Last {
            outcome: answer.outcome,
            fingerprint: answer.fingerprint,
            at_ns: answer.at_ns,
            epoch: self.epoch,
        });
        let changes = asked.key.ask.changes() && !matches!(answer.outcome, Some(Err(_)));
        let row = self.row(question, answer.outcome);
        let filled = &mut self.rows[row];
        filled.repeated += u64::from(repeated);
        self.add(question, row, 1, answer);
        if changes {
            self.barrier();
        }
        row
    }

    /// Counts one answer that was not looked at, taking it to be as the last one seen.
    ///
    /// Sound only where a change would show elsewhere (a changed zone file is opened again); the
    /// row says how many of its outcomes were assumed.
    pub fn assume(&mut self, question: QuestionId, at_ns: Option<u64>) -> usize {
        let last = self.asked[question.0 as usize].last;
        let answer = Answer {
            outcome: last.and_then(|l| l.outcome),
            fingerprint: last.and_then(|l| l.fingerprint),
            at_ns,
            kernel_ns: None,
        };
        let row = self.answer(question, answer);
        self.rows[row].assumed += 1;
        row
    }

    /// Counts `n` calls that name no path.
    pub fn count(&mut self, process: ProcId, call: CallId, n: u64, answer: Answer) -> usize {
        let question =
            self.find_or_add(Key { process, call, ask: Ask::NoPath, target: Target::None });
        let row = self.row(question, answer.outcome);
        self.add(question, row, n, answer);
        row
    }

    /// Counts `n` more calls that name no path to a row that [`count`](Builder::count) returned,
    /// with the same outcome: for backends that remember rows, since to find them takes time.
    pub fn count_again(&mut self, row: usize, n: u64, answer: Answer) {
        debug_assert!(!self.rows[row].ask.names_path() && self.rows[row].outcome == answer.outcome);
        self.totals.calls += n;
        fill(&mut self.rows[row], n, answer);
    }

    /// A row as counted so far.
    pub fn row_mut(&mut self, row: usize) -> &mut Row {
        &mut self.rows[row]
    }

    /// Counts `n` of something not seen.
    pub fn lost(&mut self, what: Loss, n: u64) {
        if n > 0 {
            *self.lost.entry(what.0).or_default() += n;
        }
    }

    /// A sentence about what this capture cannot tell. The same sentence is kept once.
    pub fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// The profile.
    pub fn finish(self, backend: String, facts: Facts, window: Window) -> Profile {
        let sum = |part: fn(&Process) -> Option<u64>| {
            self.processes.iter().filter_map(part).reduce(|a, b| a + b)
        };
        let totals = Totals {
            cpu_user_ns: sum(|p| p.cpu_user_ns),
            cpu_sys_ns: sum(|p| p.cpu_sys_ns),
            ..self.totals
        };
        Profile {
            backend,
            facts,
            window,
            host: Host::default(),
            strings: self.strings,
            processes: self.processes,
            rows: self.rows,
            totals,
            lost: self.lost,
            notes: self.notes,
        }
    }

    fn add(&mut self, question: QuestionId, row: usize, n: u64, answer: Answer) {
        self.totals.calls += n;
        self.asked[question.0 as usize].hits += n;
        fill(&mut self.rows[row], n, answer);
    }

    fn find_or_add(&mut self, key: Key) -> QuestionId {
        let hash = self.hasher.hash_one(&key);
        if let Some(id) = self.index.find(hash, |id| self.asked[*id as usize].key == key) {
            return QuestionId(*id);
        }
        if self.rows.len() >= self.limits.rows && self.others != Some(key.process) {
            return self.fold(key);
        }
        let id = u32::try_from(self.asked.len()).expect("fewer than 2^32 questions");
        self.asked.push(Asked { key, hits: 0, last: None, newest_row: None });
        let (hasher, asked) = (&self.hasher, &self.asked);
        self.index.insert_unique(hash, id, |id| hasher.hash_one(&asked[*id as usize].key));
        QuestionId(id)
    }

    /// Beyond the bound: one question per call, of nobody in particular.
    fn fold(&mut self, key: Key) -> QuestionId {
        self.lost(Loss::FOLDED, 1);
        let process = match self.others {
            Some(id) => id,
            None => {
                let id = ProcId(self.processes.len() as u32);
                self.processes.push(Process::new(0, None, crate::Born::Seen));
                self.others = Some(id);
                id
            }
        };
        let target = if key.ask.names_path() { Target::Folded } else { Target::None };
        self.find_or_add(Key { process, target, ..key })
    }

    fn row(&mut self, question: QuestionId, outcome: Option<Result<(), Errno>>) -> usize {
        let asked = &mut self.asked[question.0 as usize];
        let mut next = asked.newest_row;
        while let Some(row) = next {
            if self.rows[row as usize].outcome == outcome {
                return row as usize;
            }
            next = self.older_row[row as usize];
        }
        let id = self.rows.len();
        self.older_row.push(asked.newest_row.replace(id as u32));
        self.rows.push(Row {
            process: asked.key.process,
            call: asked.key.call,
            ask: asked.key.ask,
            target: asked.key.target,
            outcome,
            count: 0,
            repeated: 0,
            assumed: 0,
            kernel_ns: 0,
            timed: 0,
            first_ns: 0,
            last_ns: 0,
            sites: Vec::new(),
        });
        id
    }
}

fn fill(row: &mut Row, n: u64, answer: Answer) {
    if let Some(at) = answer.at_ns {
        if row.count == 0 {
            row.first_ns = at;
        }
        row.last_ns = row.last_ns.max(at);
    }
    row.count += n;
    if let Some(ns) = answer.kernel_ns {
        row.kernel_ns += ns;
        row.timed += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Born;

    const OK: Result<(), Errno> = Ok(());

    fn ask(
        b: &mut Builder,
        p: ProcId,
        name: &str,
        path: &str,
        at: u64,
        outcome: Result<(), Errno>,
    ) {
        let call = b.call(name);
        let q = b.question(p, Question { call, ask: Ask::of(name), path, from_dir_fd: false });
        b.answer(q, Answer { at_ns: Some(at), ..Answer::outcome(outcome) });
    }

    fn finish(b: Builder) -> Profile {
        b.finish("test".into(), Facts::default(), Window::default())
    }

    #[test]
    fn the_same_answer_at_once_is_repeated_and_the_first_is_not() {
        let mut b = Builder::new(Limits::default());
        let p = b.process(Process::new(1, None, Born::Seen));
        for at in 0..10 {
            ask(&mut b, p, "newfstatat", "/etc/localtime", at * 1000, OK);
        }
        let profile = finish(b);
        assert_eq!((profile.rows[0].count, profile.rows[0].repeated), (10, 9));
        assert_eq!((profile.totals.calls, profile.totals.path_calls), (10, 10));
    }

    #[test]
    fn waiting_changing_and_time_make_a_question_new() {
        let mut b = Builder::new(Limits::default());
        let p = b.process(Process::new(1, None, Born::Seen));
        ask(&mut b, p, "access", "ready", 0, Err(Errno::ENOENT));
        ask(&mut b, p, "access", "ready", 2_000_000, Err(Errno::ENOENT)); // time passed
        ask(&mut b, p, "unlink", "/x", 2_000_001, OK); // a change
        ask(&mut b, p, "access", "ready", 2_000_002, Err(Errno::ENOENT));
        b.barrier(); // a wait
        ask(&mut b, p, "access", "ready", 2_000_003, Err(Errno::ENOENT));
        ask(&mut b, p, "access", "ready", 2_000_004, OK); // another answer
        let profile = finish(b);
        assert!(profile.rows.iter().all(|r| r.repeated == 0), "{:?}", profile.rows);
    }

    #[test]
    fn beyond_the_bound_rows_fold_and_totals_stay_right() {
        let mut b = Builder::new(Limits { rows: 4, ..Limits::default() });
        let p = b.process(Process::new(1, None, Born::Seen));
        for i in 0..100 {
            ask(&mut b, p, "newfstatat", &format!("/{i}"), i, OK);
        }
        let profile = finish(b);
        assert_eq!(profile.totals.calls, 100);
        assert_eq!(profile.rows.iter().map(|r| r.count).sum::<u64>(), 100);
        assert_eq!(profile.rows.len(), 5);
        assert_eq!(profile.lost["rows_folded"], 96);
    }

    #[test]
    fn a_row_counted_again_is_as_if_it_were_found() {
        let filled = |again: bool| {
            let mut b = Builder::new(Limits::default());
            let p = b.process(Process::new(1, None, Born::Seen));
            let call = b.call("close");
            let answer = |at| Answer { at_ns: Some(at), kernel_ns: Some(5), ..Answer::outcome(OK) };
            let row = b.count(p, call, 1, answer(3));
            match again {
                true => b.count_again(row, 2, answer(7)),
                false => assert_eq!(b.count(p, call, 2, answer(7)), row),
            }
            finish(b)
        };
        let (one, other) = (filled(true), filled(false));
        assert_eq!(one.totals, other.totals);
        assert_eq!(format!("{:?}", one.rows), format!("{:?}", other.rows));
    }

    #[test]
    fn assumed_answers_are_counted_as_such() {
        let mut b = Builder::new(Limits::default());
        let p = b.process(Process::new(1, None, Born::Seen));
        let call = b.call("stat");
        let q = b.question(p, Question { call, ask: Ask::Stat, path: "/x", from_dir_fd: false });
        b.answer(q, Answer::outcome(OK));
        b.assume(q, None);
        let profile = finish(b);
        assert_eq!((profile.rows[0].count, profile.rows[0].assumed), (2, 1));
        assert_eq!(profile.rows[0].repeated, 1);
    }
}
