//! The questions and rows of a builder: found again, or added within the limits.

use super::asked::{Asked, Key, Last, NONE};
use super::{Answer, Builder, QuestionId};
use crate::{Errno, Loss, ProcId, Process, Row, Sequence, Spawn, Target};
use std::hash::BuildHasher;

impl Builder {
    pub(super) fn find_or_add(&mut self, key: Key) -> QuestionId {
        let hash = self.hasher.hash_one(&key);
        if let Some(id) = self.index.find(hash, |id| self.asked[*id as usize].key == key) {
            return QuestionId(*id);
        }
        if self.rows.len() >= self.limits.rows && self.others != Some(key.process) {
            return self.fold(key);
        }
        let id = u32::try_from(self.asked.len()).expect("fewer than 2^32 questions");
        self.lasts.push(Last::none(key.query));
        self.asked.push(Asked { key, newest_row: NONE });
        let (hasher, asked) = (&self.hasher, &self.asked);
        self.index.insert_unique(hash, id, |id| hasher.hash_one(&asked[*id as usize].key));
        QuestionId(id)
    }

    /// Beyond the limit: one question per call, without a process.
    pub(super) fn fold(&mut self, key: Key) -> QuestionId {
        self.lost(Loss::FoldedRows, 1);
        self.without_process(key)
    }

    pub(super) fn without_process(&mut self, key: Key) -> QuestionId {
        let process = self.folded_process();
        let target = if key.query.names_path() { Target::Folded } else { Target::None };
        self.find_or_add(Key { process, target, ..key })
    }

    /// The process that stands for all that are folded, and for calls without a process.
    pub fn folded_process(&mut self) -> ProcId {
        *self.others.get_or_insert_with(|| {
            self.processes.push(Process::new(0, None, Spawn::Seen));
            ProcId((self.processes.len() - 1) as u32)
        })
    }

    /// The rows of a question, the newest first.
    pub(super) fn rows_of(&self, question: QuestionId) -> impl Iterator<Item = usize> {
        let row = |row: u32| (row != NONE).then_some(row as usize);
        let newest = row(self.asked[question.0 as usize].newest_row);
        std::iter::successors(newest, move |at| row(self.older_row[*at]))
    }

    pub(super) fn row(
        &mut self,
        question: QuestionId,
        outcome: Option<Result<(), Errno>>,
    ) -> usize {
        let known = self.rows_of(question).find(|row| self.rows[*row].outcome == outcome);
        known.unwrap_or_else(|| self.new_row(question, outcome))
    }

    fn new_row(&mut self, question: QuestionId, outcome: Option<Result<(), Errno>>) -> usize {
        let asked = &mut self.asked[question.0 as usize];
        let id = self.rows.len();
        self.older_row.push(std::mem::replace(&mut asked.newest_row, id as u32));
        self.rows.push(Row {
            process: asked.key.process,
            call: asked.key.call,
            query: asked.key.query,
            target: asked.key.target,
            outcome,
            count: 0,
            repeated: 0,
            assumed: 0,
            kernel_ns: 0,
            timed: 0,
            first_ns: 0,
            last_ns: 0,
            sequence: Sequence::default(),
            sites: Vec::new(),
        });
        id
    }
}

#[inline(always)]
pub(super) fn fill(row: &mut Row, n: u64, answer: Answer) {
    if let Some(at) = answer.at_ns {
        if row.count == 0 {
            row.first_ns = at;
        }
        row.last_ns = row.last_ns.max(at);
    }
    row.count += n;
    if let Some(passed) = answer.passed {
        row.sequence.add(passed);
    }
    if let Some(ns) = answer.kernel_ns {
        row.kernel_ns += ns;
        row.timed += n;
    }
}
