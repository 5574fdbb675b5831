//! From a record of the table to a row of the profile.

use super::{AUDIT_ARCH_X86_64, Record, layout as l};
use crate::calls::{PathCalls, decide, is_descriptor, locate, samples};
use crate::memory::hash;
use crate::tree::ThreadGroup;
use needless_model::{Answer, Builder, Errno, Question};
use needless_syscalls::{CallKind, Decider, Reply, Shape};

impl PathCalls {
    /// The path of call `nr` of x86-64, if the stub can make it.
    pub(crate) fn patchable(&self, nr: u64) -> Option<Shape> {
        self.call(AUDIT_ARCH_X86_64, nr).and_then(|(call, _)| l::patchable(&call))
    }

    /// Counts what calls `nr` of `group` wrote down, the first and the last at `times`. Returns whether the next calls
    /// should stop, so that snapshots can be taken.
    pub(crate) fn recorded(
        &mut self,
        builder: &mut Builder,
        group: &mut ThreadGroup,
        nr: u64,
        record: &Record,
        (first_ns, last_ns): (u64, u64),
    ) -> bool {
        let (call, CallKind::Path(shape), _) = self.look_up(builder, AUDIT_ARCH_X86_64, nr) else {
            return false;
        };
        let Some(image) = group.image else { return false };
        let mut args = [0; 6];
        if let Some(at) = shape.dir {
            args[usize::from(at)] = record.word(l::DIRECTORY);
        }
        let flags = match shape.decided_by {
            Decider::OpenFlags(at) => Some(at),
            _ => shape.at_flags,
        };
        if let Some(at) = flags {
            args[usize::from(at)] = record.word(l::FLAGS);
        }
        let path = record.bytes(l::PATH).split(|byte| *byte == 0).next().unwrap_or_default();
        if is_descriptor(shape, &args, path) {
            return false;
        }
        let text = String::from_utf8_lossy(path);
        let tgid = group.tgid;
        let query = decide(shape, tgid, &args);
        let (path, from_dir_fd) =
            locate(&mut self.absolute, builder, group, tgid, shape, &args, &text);
        let question = builder.question(image, Question { call, query, path, from_dir_fd });
        let result = record.word(l::ANSWERED) as i64;
        let outcome = match result {
            0.. => Ok(()),
            errno => Err(Errno(errno.unsigned_abs() as u16)),
        };
        let length = match shape.reply {
            Reply::Stat(_) | Reply::Statx(_) => l::STATUS_WORDS * 8,
            Reply::Link(_) => result.clamp(0, l::LONGEST_LINK as i64) as usize,
            Reply::None | Reply::Stat64(_) => 0,
        };
        let fingerprint = match (outcome, shape.reply) {
            (Err(_), _) | (_, Reply::None) => None,
            _ => Some(hash(&record.bytes(l::ANSWER)[..length])),
        };
        let at_ns = Some(first_ns);
        let answer = Answer { fingerprint, at_ns, ..Answer::outcome(outcome) };
        let hits = builder.hits(question);
        let row = builder.answer(question, answer);
        builder.repeat(question, row, record.count.saturating_sub(1), last_ns);
        samples(query) && self.due.missed(question, hits, record.count)
    }
}
