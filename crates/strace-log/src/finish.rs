//! The profile at the end of a log, with notes on what the log does not show.

use crate::call_names::Role;
use crate::reader::Reader;
use needless_model::{
    Answer, Backend, Directory, Errno, Fact, Facts, Loss, ProcId, Process, Profile, Spawn, Window,
};

impl Reader<'_> {
    /// Whether nothing so far can come from strace, so that reading can stop.
    pub(crate) fn hopeless(&self) -> bool {
        !self.is_log() && self.seen.unparsed > 100_000
    }

    /// Whether there was a system call, or a table of them.
    pub(crate) fn is_log(&self) -> bool {
        !self.table.rows.is_empty()
            || (self.seen.calls + self.seen.marks > 0
                && (self.calls.any_known() || self.seen.marks > 0))
    }

    /// The profile.
    pub(crate) fn finish(mut self) -> Profile {
        self.end();
        if self.seen.calls == 0 && !self.table.rows.is_empty() {
            return self.finish_table();
        }
        let facts = self.facts();
        self.count_losses();
        self.write_notes(facts);
        let window = Window { length_ns: self.clock.length_ns() };
        let mut profile = self.builder.finish(Backend::StraceLog, facts, window);
        let directories = self.seen.directories.into_iter();
        profile.host.directories = directories.map(|path| (path, Directory::Listed)).collect();
        profile.sort_by_process();
        profile
    }

    fn facts(&self) -> Facts {
        let seen = &self.seen;
        let mut facts = Facts::default();
        for (is, fact) in [
            // strace -Z: that something failed means little where what succeeded is not shown.
            (seen.ok > 0, Fact::Outcomes),
            // -e raw prints pointers.
            (seen.paths > 0 || seen.pointers == 0, Fact::Paths),
            (seen.stats > 0, Fact::Answers),
            (seen.environment, Fact::Environment),
            (self.clock.length_ns().is_some(), Fact::Clock),
            (seen.timed, Fact::KernelTime),
            (seen.sites, Fact::CallSites),
            (self.filtered().is_none(), Fact::AllCalls),
            (self.filtered().is_none(), Fact::Details),
        ] {
            if is {
                facts = facts.with(fact);
            }
        }
        facts
    }

    /// The sign that strace was set to leave calls out; a log does not say so.
    fn filtered(&self) -> Option<&'static str> {
        let states = self.processes.states();
        if self.seen.ok == 0 && self.seen.calls > 0 {
            return Some("only failed calls are in it: it seems to be a log of strace -Z");
        }
        if self.seen.silent_exits > 0 || (self.seen.exits > 0 && self.seen.exit_calls == 0) {
            return Some(
                "programs end in it without a call of exit_group: \
                 it seems to be a log of strace -e, -P or -z",
            );
        }
        if states.iter().any(|s| s.whole) && !states.iter().any(|s| s.startup) {
            return Some(
                "no program in it maps memory or closes a file: it seems to be a log of strace -e or -P",
            );
        }
        // Every dynamic program with glibc asks for /etc/ld.so.preload, which hardly any host has.
        if states.iter().any(|s| s.glibc && s.whole) && !states.iter().any(|s| s.failure) {
            return Some("no call in it fails: it seems to be a log of strace -z");
        }
        if self.seen.calls >= 100 && self.seen.calls == self.seen.paths {
            return Some("all calls in it name a path: it seems to be a log of strace -e");
        }
        None
    }

    fn count_losses(&mut self) {
        for (call, times) in std::mem::take(&mut self.processes.abandoned) {
            if self.calls.get(call).role != Role::Exit {
                self.builder.lost(Loss::Unfinished, times);
            }
        }
        self.builder.lost(Loss::Unparsed, self.seen.unparsed);
        if let Some(why) = self.filtered() {
            self.builder.lost(Loss::Filtered, 1);
            self.builder.note(format!("The log is partial: {why}. Counts are of what it has."));
        }
    }

    fn write_notes(&mut self, facts: Facts) {
        let seen = &self.seen;
        let processes = &self.processes;
        let notes = [
            (
                !facts.has(Fact::KernelTime),
                "The log has no times of calls (strace -T): counts only.".to_owned(),
            ),
            (
                !facts.has(Fact::Clock),
                "The log has no clock (strace -ttt): how soon a call was repeated is not known.".into(),
            ),
            (
                !facts.has(Fact::Paths),
                "The log has pointers where paths should be (strace -e raw).".into(),
            ),
            (
                seen.abbreviated,
                "Answers of stat show mode and size only (strace -v shows all): the same answer means the same mode and size.".into(),
            ),
            (
                seen.cut_variables,
                "Variables are cut in the log (strace -s 4096 shows all): the environment of those programs is not known.".into(),
            ),
            (
                processes.seen > 1,
                format!("Processes that ran already when the log begins: {}. Their threads are shown as separate processes.", processes.seen),
            ),
            (
                processes.never_seen() > 0,
                format!("Children that were started but are not in the log (strace -f follows them): {}.", processes.never_seen()),
            ),
            (
                processes.misplaced > 0,
                format!("Threads that started while others did, whose first calls may be counted under another process: {}.", processes.misplaced),
            ),
            (
                seen.unordered_files,
                "The files have no common clock (strace -ff -ttt): what happened between two calls in another process is not known.".into(),
            ),
            (
                seen.long_lines > 0,
                format!("Lines longer than 1 MiB, of which the middle was not read: {}.", seen.long_lines),
            ),
            (
                seen.last_cut,
                "The last line is cut: the log was still being written, or copied short.".into(),
            ),
        ];
        let foreign = seen.first_unparsed.as_ref().map(|(number, text)| {
            format!(
                "Lines that strace did not write (output of the program?): {}; the first is line {number}: {text}",
                seen.unparsed
            )
        });
        let true_ones = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note);
        for note in true_ones.chain(foreign) {
            self.builder.note(note);
        }
    }

    /// The profile of a log that is only a table of `-c`.
    fn finish_table(mut self) -> Profile {
        let process = self.builder.process(Process::new(0, None, Spawn::Seen));
        for (name, counts) in std::mem::take(&mut self.table.rows) {
            let call = self.builder.call(&name);
            let errors = counts.errors.min(counts.calls);
            self.counted(process, call, counts.calls - errors, Ok(()));
            self.counted(process, call, errors, Err(Errno::UNKNOWN));
        }
        self.builder.lost(Loss::Unparsed, self.seen.unparsed);
        self.builder.note(
            "The log is a table of strace -c: it has counts and no paths, so only totals are known; \
             record with: strace -f -tt -T -y -v -s 4096 -o FILE COMMAND",
        );
        let facts = Facts::of(&[Fact::AllCalls]);
        self.builder.finish(Backend::StraceTable, facts, Window::default())
    }

    fn counted(
        &mut self,
        process: ProcId,
        call: needless_model::CallId,
        n: u64,
        outcome: Result<(), Errno>,
    ) {
        if n > 0 {
            self.builder.count(process, call, n, Answer::outcome(outcome));
        }
    }
}
