//! How a backend fills a profile: it reports each question and its answer; the builder
//! aggregates.

mod asked;
mod input;
mod rows;

pub use input::{Answer, Limits, Question, QuestionId, Tally};

use crate::{
    ArgClass, Backend, CallId, Errno, Facts, Host, Interner, ListsInEnvironments, Loss, ProcId,
    Process, Profile, Query, Row, Spawn, Target, Totals, Wait, Window,
};
use asked::{Asked, Key, Last, NONE, UNKNOWN};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use rows::fill;
use std::collections::BTreeMap;

/// Aggregates what a backend sees into a [`Profile`].
pub struct Builder {
    limits: Limits,
    strings: Interner,
    processes: Vec<Process>,
    index: HashTable<u32>,
    hasher: FixedState,
    asked: Vec<Asked>,
    /// Beside `asked`.
    lasts: Vec<Last>,
    rows: Vec<Row>,
    waits: Vec<Wait>,
    /// Beside `rows`: another row of the same question.
    older_row: Vec<u32>,
    lost: BTreeMap<Loss, u64>,
    notes: Vec<String>,
    lists: ListsInEnvironments,
    /// Counts the barriers, and starts again after 2^32.
    epoch: u32,
    others: Option<ProcId>,
    /// Bytes kept of what describes processes.
    process_bytes: usize,
    /// Takes changes of a process that was folded.
    folded: Process,
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
            lasts: Vec::new(),
            rows: Vec::new(),
            waits: Vec::new(),
            older_row: Vec::new(),
            lost: BTreeMap::new(),
            notes: Vec::new(),
            lists: ListsInEnvironments::default(),
            epoch: 0,
            others: None,
            process_bytes: 0,
            folded: Process::new(0, None, Spawn::Seen),
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

    /// A new process; one that stands for many where there is no room. Also a
    /// [`barrier`](Builder::barrier): it may change what the others asked.
    pub fn process(&mut self, process: Process) -> ProcId {
        self.barrier();
        if self.is_full() || !self.keeps(process.bytes()) {
            self.lost(Loss::FoldedProcesses, 1);
            return self.folded_process();
        }
        let id = ProcId(u32::try_from(self.processes.len()).expect("fewer than 2^32 processes"));
        self.processes.push(process);
        id
    }

    /// The process `id` of an earlier window, as one that ran before this one: with what is known of it, and without
    /// what it did.
    pub fn adopt(&mut self, earlier: &Builder, id: ProcId) -> ProcId {
        let before = earlier.process_ref(id);
        let process = before.forked(before.pid, ProcId(0));
        let process =
            Process { parent: None, born: Spawn::Seen, above: before.above.clone(), ..process };
        let new = self.process(process);
        if !self.is_folded(new) {
            self.lists.copy(new, &earlier.lists, id);
        }
        new
    }

    /// The environment with which process `id` was started: names and values. Only lists of directories are kept, and
    /// of these only what [`ListsInEnvironments::fill`] gives to the profile.
    pub fn environment<'a>(
        &mut self,
        id: ProcId,
        variables: impl Iterator<Item = (&'a str, &'a str)> + Clone,
    ) {
        if !self.is_folded(id) {
            self.lists.add(id, variables);
        }
    }

    /// Process `id` was started with the environment that was given for `like`.
    pub fn same_environment(&mut self, id: ProcId, like: ProcId) {
        if !self.is_folded(id) {
            self.lists.add_same(id, like);
        }
    }

    /// Whether another process would be folded.
    pub fn is_full(&self) -> bool {
        self.processes.len() >= self.limits.processes
            || self.process_bytes >= self.limits.process_bytes
    }

    /// Whether this is the process that stands for many: its calls are counted, and no longer
    /// distinguished.
    pub fn is_folded(&self, id: ProcId) -> bool {
        self.others == Some(id)
    }

    /// Takes room for so many more bytes about processes; `false` if there is none.
    pub fn keeps(&mut self, bytes: usize) -> bool {
        let room = self.limits.process_bytes.saturating_sub(self.process_bytes);
        let fits = bytes <= room;
        self.process_bytes += if fits { bytes } else { room };
        fits
    }

    /// A process, to add facts to it. Facts about a folded process are dropped.
    pub fn process_mut(&mut self, id: ProcId) -> &mut Process {
        if self.is_folded(id) {
            self.folded = Process::new(0, None, Spawn::Seen);
            return &mut self.folded;
        }
        &mut self.processes[id.index()]
    }

    /// A process as known so far.
    pub fn process_ref(&self, id: ProcId) -> &Process {
        &self.processes[id.index()]
    }

    /// Something happened after which the same question may be answered differently: a change to
    /// the file system, a wait, a new process. Repetitions across it are not counted as repeated.
    pub fn barrier(&mut self) {
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// The number of a question of `process`, new or known.
    pub fn question(&mut self, process: ProcId, question: Question<'_>) -> QuestionId {
        if self.is_folded(process) {
            let Question { call, query, .. } = question;
            return self.without_process(Key { process, call, query, target: Target::Folded });
        }
        let full = self.rows.len() >= self.limits.rows;
        let text = match self.strings.find(question.path) {
            Some(text) => text,
            // A text that will be folded is not stored: the limit is for memory.
            None if full => {
                let Question { call, query, .. } = question;
                return self.fold(Key { process, call, query, target: Target::Folded });
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
        self.find_or_add(Key { process, call: question.call, query: question.query, target })
    }

    /// The number of a kind of call of `process` that names no path and has these arguments.
    pub fn detail(&mut self, process: ProcId, call: CallId, detail: ArgClass) -> QuestionId {
        let target = if self.is_folded(process) { Target::None } else { Target::ArgClass(detail) };
        self.find_or_add(Key { process, call, query: Query::NoPath, target })
    }

    /// How often a question was answered so far.
    pub fn hits(&self, question: QuestionId) -> u64 {
        self.rows_of(question).map(|row| self.rows[row].count).sum()
    }

    /// Counts one answer to a question and returns its row.
    pub fn answer(&mut self, question: QuestionId, answer: Answer) -> usize {
        let row = self.row(question, answer.outcome);
        self.answer_again(question, row, answer);
        row
    }

    /// Counts one more answer to a question, of the same outcome as the one for which
    /// [`answer`](Builder::answer) returned `row`: for backends that remember rows, since to find
    /// them takes time.
    #[inline(always)] // the answer is then never put together in memory
    pub fn answer_again(&mut self, question: QuestionId, row: usize, answer: Answer) {
        let before = &mut self.lasts[question.0 as usize];
        let changes = before.changes;
        let last = Last {
            at_ns: answer.at_ns.unwrap_or(UNKNOWN),
            fingerprint: answer.fingerprint.unwrap_or(0),
            row: if answer.outcome.is_some() { row as u32 } else { NONE },
            epoch: self.epoch,
            has_fingerprint: answer.fingerprint.is_some(),
            changes,
        };
        let repeated = last.repeats(before, self.limits.repeat_within_ns);
        *before = last;
        let filled = &mut self.rows[row];
        debug_assert!(
            filled.query == self.asked[question.0 as usize].key.query
                && filled.outcome == answer.outcome
        );
        filled.repeated += u64::from(repeated);
        fill(filled, 1, answer);
        let changed = changes & !matches!(answer.outcome, Some(Err(_)));
        self.epoch = self.epoch.wrapping_add(u32::from(changed));
    }

    /// Counts `n` more answers that equal the one counted last, each so soon after the one before that it repeats it, the
    /// last at `last_ns`. `row`: what [`answer`](Builder::answer) returned. For questions that change nothing.
    pub fn repeat(&mut self, question: QuestionId, row: usize, n: u64, last_ns: u64) {
        if n == 0 {
            return;
        }
        self.lasts[question.0 as usize].at_ns = last_ns;
        let filled = &mut self.rows[row];
        filled.count += n;
        filled.repeated += n;
        filled.last_ns = filled.last_ns.max(last_ns);
    }

    /// Counts one answer that was not looked at, and assumes that it equals the last one seen.
    ///
    /// Correct only where a change would show elsewhere (a changed zone file is opened again); the
    /// row says how many of its outcomes were assumed.
    pub fn assume(&mut self, question: QuestionId, at_ns: Option<u64>) -> usize {
        let fingerprint = self.lasts[question.0 as usize].fingerprint();
        self.assume_as(question, Answer { fingerprint, at_ns, ..Answer::default() })
    }

    /// As [`assume`](Builder::assume), with everything of the answer except its outcome.
    pub fn assume_as(&mut self, question: QuestionId, answer: Answer) -> usize {
        let last = &self.lasts[question.0 as usize];
        let outcome = self.rows.get(last.row as usize).and_then(|row| row.outcome);
        let row = self.answer(question, Answer { outcome, ..answer });
        self.rows[row].assumed += 1;
        row
    }

    /// Counts `n` calls that name no path.
    pub fn count(&mut self, process: ProcId, call: CallId, n: u64, answer: Answer) -> usize {
        let question =
            self.find_or_add(Key { process, call, query: Query::NoPath, target: Target::None });
        let row = self.row(question, answer.outcome);
        fill(&mut self.rows[row], n, answer);
        row
    }

    /// Counts `n` more calls that name no path to a row that [`count`](Builder::count) returned,
    /// with the same outcome: for backends that remember rows, since to find them takes time.
    #[inline(always)]
    pub fn count_again(&mut self, row: usize, n: u64, answer: Answer) {
        debug_assert!(
            !self.rows[row].query.names_path() && self.rows[row].outcome == answer.outcome
        );
        fill(&mut self.rows[row], n, answer);
    }

    /// Counts answers that the backend aggregated, and returns their row.
    pub fn tally(
        &mut self,
        question: QuestionId,
        outcome: Option<Result<(), Errno>>,
        tally: Tally,
    ) -> usize {
        let row = self.row(question, outcome);
        let filled = &mut self.rows[row];
        filled.first_ns = match filled.count {
            0 => tally.first_ns,
            _ => filled.first_ns.min(tally.first_ns),
        };
        filled.last_ns = filled.last_ns.max(tally.last_ns);
        filled.count += tally.count;
        filled.repeated += tally.repeated;
        filled.kernel_ns += tally.kernel_ns;
        filled.timed += tally.timed;
        filled.sequence = filled.sequence.with(tally.sequence, |a, b| a + b);
        row
    }

    /// The question behind calls that name no path, or whose path the backend had no room for;
    /// without a process if `process` is not known. The backend reports how many were folded.
    pub fn without_path(
        &mut self,
        process: Option<ProcId>,
        call: CallId,
        query: Query,
    ) -> QuestionId {
        match process {
            Some(process) if !query.names_path() => {
                self.find_or_add(Key { process, call, query, target: Target::None })
            }
            _ => {
                let process = ProcId(0);
                self.without_process(Key { process, call, query, target: Target::Folded })
            }
        }
    }

    /// A row as counted so far.
    pub fn row_mut(&mut self, row: usize) -> &mut Row {
        &mut self.rows[row]
    }

    /// Counts `n` of something that was not seen.
    pub fn lost(&mut self, what: Loss, n: u64) {
        if n > 0 {
            *self.lost.entry(what).or_default() += n;
        }
    }

    /// Calls that waited.
    pub fn waited(&mut self, wait: Wait) {
        self.waits.push(wait);
    }

    /// A sentence about what this profile cannot show. The same sentence is kept once.
    pub fn note(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if !self.notes.contains(&sentence) {
            self.notes.push(sentence);
        }
    }

    /// The profile.
    pub fn finish(mut self, backend: Backend, facts: Facts, window: Window) -> Profile {
        name_scripts_of_env(&mut self.processes);
        let totals = Totals::of(self.processes.iter(), self.rows.iter());
        let mut profile = Profile {
            backend,
            facts,
            window,
            host: Host::default(),
            strings: self.strings,
            processes: self.processes,
            rows: self.rows,
            waits: self.waits,
            totals,
            lost: self.lost,
            notes: self.notes,
        };
        self.lists.fill(&mut profile);
        profile
    }
}

/// `#!/usr/bin/env node`: the kernel knows the name of the script while env runs, and not of what env executes. So the
/// next program of such a process, and its forks, have the name of the script.
fn name_scripts_of_env(processes: &mut [Process]) {
    for at in 0..processes.len() {
        let process = &processes[at];
        let Some(above) = process.parent.and_then(|parent| processes.get(parent.index())) else {
            continue;
        };
        let goes_on = match process.born {
            Spawn::Exec => above.pid == process.pid && above.name() == "env",
            Spawn::Fork => above.exe == process.exe,
            _ => false,
        };
        if goes_on && process.script().is_none() && above.script().is_some() {
            processes[at].command = above.command.clone();
        }
    }
}

#[cfg(test)]
mod tests;
