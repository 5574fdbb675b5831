//! From the rows that the kernel counted to a profile.

use crate::session::events::{Events, Map};
use crate::session::layout::{CounterKey, RowKey, Wait as WaitSum, WaitKey};
use crate::{Observed, SessionOptions};
use needless_model::{
    ArgClass, CallId, Errno, Fact, Facts, Loss, ProcId, Query, QuestionId, Tally, Wait, WaitsOn,
    Window,
};
use needless_syscalls::{Abi, abis};
use std::collections::{HashMap, HashSet};

/// What the kernel counted.
#[derive(Clone, Default)]
pub(crate) struct KernelRows {
    pub(super) rows: Map<RowKey, Tally>,
    pub(super) counters: Vec<(CounterKey, Tally)>,
    pub(super) folded: Vec<(CounterKey, Tally)>,
    pub(super) waits: Vec<(WaitKey, WaitSum)>,
    /// How many rows and counters were deleted in the kernel.
    pub(crate) removed: u64,
}

impl KernelRows {
    /// Adds a row, or what another CPU counted for it.
    pub(crate) fn add(&mut self, key: RowKey, tally: Tally) {
        let known =
            self.rows.entry(key).or_insert(Tally { first_ns: u64::MAX, ..Tally::default() });
        known.count += tally.count;
        known.repeated = known.repeated.wrapping_add(tally.repeated);
        known.first_ns = known.first_ns.min(tally.first_ns);
        known.last_ns = known.last_ns.max(tally.last_ns);
        known.kernel_ns += tally.kernel_ns;
        known.timed = known.timed.wrapping_add(tally.timed);
    }

    /// Adds rows of other processes, or what is left of them in the kernel.
    pub(crate) fn extend(&mut self, others: KernelRows) {
        others.rows.into_iter().for_each(|(key, tally)| self.add(key, tally));
        self.counters.extend(others.counters);
        self.folded.extend(others.folded);
        self.waits.extend(others.waits);
    }
}

/// The profile of the window that ends. `given_back`: bytes of memory that processes which still live gave back, by
/// image. `held`: images of which CPUs had something when the kernel's rows were read.
pub(crate) fn finish(
    events: &mut Events,
    options: &SessionOptions,
    length_ns: u64,
    given_back: &HashMap<u32, u64>,
    held: &HashSet<u32>,
) -> Observed {
    events.book_live(given_back);
    events.count_execs();
    let rows = Placed::all(events);
    let mut facts = Facts::live();
    if options.all {
        facts = facts.with(Fact::AllCalls);
    }
    if options.latency {
        facts = facts.with(Fact::KernelTime);
    }
    let window = Window { length_ns: Some(length_ns) };
    events.observed(options, facts, window, &rows, held)
}

/// Puts the kernel's rows into the profile.
struct Placed<'a> {
    events: &'a mut Events,
    abis: Vec<Abi>,
    names: HashMap<(u16, bool), CallId>,
}

impl Placed<'_> {
    /// Places all, and returns the positions of the rows that have snapshots.
    fn all(events: &mut Events) -> HashMap<RowKey, usize> {
        let rows = std::mem::take(&mut events.rows);
        events.rows.removed = rows.removed;
        let counters = rows.counters.iter().map(|(key, _)| key.image);
        rows.rows
            .keys()
            .map(|key| key.image)
            .chain(counters)
            .for_each(|image| events.recall(image));
        let mut sampled = events.sampled_rows();
        let names = HashMap::new();
        let mut placed = Placed { events, abis: abis(), names };
        let mut with_path: Vec<(RowKey, Tally)> = rows.rows.into_iter().collect();
        with_path
            .sort_by_key(|(key, tally)| (key.image, tally.first_ns, key.path, key.nr, key.err));
        for (key, tally) in with_path {
            let row = placed.row(key, tally);
            if let Some(known) = sampled.get_mut(&key) {
                *known = row;
            }
        }
        for (key, tally) in rows.counters {
            let process = placed.events.process(key.image);
            placed.counter(process, key, |_| Query::NoPath, tally);
        }
        for (key, tally) in rows.folded {
            placed.counter(None, key, Query::of, tally);
        }
        for (key, sum) in rows.waits {
            placed.wait(key, sum);
        }
        sampled
    }

    fn row(&mut self, key: RowKey, tally: Tally) -> usize {
        let call = self.call(key.nr, key.compat != 0);
        let query = key.query();
        let about = (call, query, key.from_dir_fd != 0);
        self.events.note_width(key.image, key.compat != 0);
        let question = match query {
            // The program in the kernel numbers classes from 1.
            Query::NoPath => (key.path.checked_sub(1))
                .and_then(|at| ArgClass::ALL.get(at as usize))
                .and_then(|detail| self.events.detail(key.image, call, *detail)),
            _ => self.events.question_by_hash(key.image, about, key.path),
        };
        // A process or a path that found no room in the ring. The programs have counted the lost processes
        // themselves.
        let process = self.events.process(key.image);
        if question.is_none() && process.is_some() {
            self.events.builder.lost(Loss::NoPath, tally.count);
        }
        let question =
            question.unwrap_or_else(|| self.events.builder.without_path(process, call, query));
        self.tally(question, key.err, tally)
    }

    fn counter(
        &mut self,
        process: Option<ProcId>,
        key: CounterKey,
        query: impl Fn(&str) -> Query,
        tally: Tally,
    ) {
        let call = self.call(key.nr, key.compat != 0);
        let query = query(self.events.builder.call_name(call));
        let question = self.events.builder.without_path(process, call, query);
        self.tally(question, key.err, tally);
    }

    fn wait(&mut self, key: WaitKey, sum: WaitSum) {
        let Some(process) = self.events.process(key.image) else { return };
        let call = self.call(key.nr, key.compat != 0);
        let on = WaitsOn::ALL.get(usize::from(key.on)).copied().unwrap_or(WaitsOn::Unknown);
        let WaitSum { calls, ns } = sum;
        let outcome = outcome(key.err);
        self.events.builder.waited(Wait { process, call, outcome, on, calls, ns });
    }

    fn tally(&mut self, question: QuestionId, err: u16, tally: Tally) -> usize {
        self.events.builder.tally(question, Some(outcome(err)), tally)
    }

    /// The name of a call.
    fn call(&mut self, nr: u16, compat: bool) -> CallId {
        *self.names.entry((nr, compat)).or_insert_with(|| {
            let abi = self.abis.get(usize::from(compat));
            let call = abi.and_then(|abi| abi.calls.get(usize::from(nr)).copied().flatten());
            match call {
                Some(call) => self.events.builder.call(call.name),
                None => self.events.builder.call(&format!("syscall_{nr:#x}")),
            }
        })
    }
}

fn outcome(err: u16) -> Result<(), Errno> {
    if err == 0 { Ok(()) } else { Err(Errno(err)) }
}
