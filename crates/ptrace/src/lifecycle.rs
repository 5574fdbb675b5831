//! The start, exec and end of processes.

use crate::arg_class::ArgState;
use crate::first_stack;
use crate::sys::{self, Tid};
use crate::tracer::Tracer;
use crate::tree::{Count, Effect, InFlight};
use crate::untraced::inherited_filter;
use needless_model::{Answer, Exit, Loss, ProcId, Process, Query, Question, Spawn};
use std::os::unix::fs::MetadataExt;

/// The user and the group of a process that may be looked at, as one that has just executed a program (proc_pid(5)).
fn user_of(tid: Tid) -> Option<(u32, u32)> {
    let about = std::fs::metadata(format!("/proc/{tid}")).ok()?;
    Some((about.uid(), about.gid()))
}

/// Most descriptors of foreign roots kept.
const MAX_ROOTS: usize = 256;

impl Tracer<'_> {
    /// Compares root and mount namespace of `tid` with ours, and keeps its root if they differ.
    pub(crate) fn look_at_root(&mut self, tid: Tid, image: ProcId) {
        let own = needless_host::RootId::of(&tid.to_string()) == self.shares_root;
        self.builder.process_mut(image).shares_root = own;
        if own {
            return;
        }
        if self.roots.len() >= MAX_ROOTS {
            self.builder.note(format!(
                "more than {MAX_ROOTS} processes have another root directory: the others were not looked at"
            ));
            return;
        }
        if let Some(root) = needless_host::open_root(tid) {
            self.roots.retain(|(of, _)| *of != image);
            self.roots.push((image, root));
        }
    }

    /// `parent` has started `child`; it `waits` until that executes a program or ends, if that was a vfork.
    pub(crate) fn forked(&mut self, parent: Tid, child: Tid, waits: bool) {
        let Some(at) = self.tree.threads.get(&parent).map(|t| t.group) else { return };
        let tgid = self.tree.group(at).tgid;
        // Or it was taken in without this report.
        let is_new = !self.tree.threads.contains_key(&child);
        match is_new {
            true if sys::is_thread_of(child, tgid) => {
                self.tree.add_thread(child, at);
                self.take_back(parent, at, None);
            }
            true => self.add_process(child, at, waits),
            false => {}
        }
        if let Some(thread) = self.tree.threads.get_mut(&parent)
            && let Some(call) = &mut thread.in_flight
            && call.effect == Effect::Refiltered
        {
            call.effect = Effect::None;
        }
        if let Some(changed) = self.tree.threads.get(&parent).and_then(|thread| thread.changed) {
            changed.put_memory_back(parent);
            if is_new && let Some(thread) = self.tree.threads.get_mut(&child) {
                thread.changed = changed.of_child();
            }
        }
        if let Some(status) = self.early.release(child) {
            self.stopped(child, status);
        } else if is_new && let Some(exit) = self.early.end_of(child) {
            self.ended(child, exit);
        }
    }

    fn add_process(&mut self, tgid: Tid, parent: usize, waits: bool) {
        let image = self.tree.group(parent).image.map(|image| {
            let process = self.builder.process_ref(image).forked(tgid as u32, image);
            self.builder.process(process)
        });
        let child = self.tree.add_group(tgid, image, Some(parent));
        self.patches_forked(parent, child, waits);
    }

    pub(crate) fn executed(&mut self, tid: Tid, former: Tid) {
        // The thread that called exec takes the leader's id; the leader's call has ended.
        if former != tid {
            self.tree.replace_thread(tid, former);
        }
        let Some(thread) = self.tree.threads.get_mut(&tid) else { return };
        let at = thread.group;
        let in_flight = thread.in_flight.take();
        let before = self.tree.group(at).image;
        let mut process = Process::new(tid as u32, before, Spawn::Exec);
        let info = sys::syscall_info(tid).ok();
        let is_64bit = info.and_then(|info| self.calls.is_64bit(info.arch));
        let sp = info.filter(|_| is_64bit == Some(true)).map(|info| info.sp);
        let known = |block: &[u8]| {
            let (like, _) = self.last_environment.as_ref().filter(|(_, last)| last == block)?;
            Some(self.builder.process_ref(*like).env.clone())
        };
        let block = first_stack::read_process(&mut process, tid, sp, &self.options.watch, known);
        process.user = user_of(tid).filter(|_| process.secure == Some(false));
        process.lacks_privilege = needless_host::privilege_withheld(&process);
        if process.lacks_privilege {
            self.builder.lost(Loss::Setuid, 1);
        }
        if before.is_none() {
            self.started = sys::now();
            if !self.options.all && inherited_filter() {
                self.builder.note(
                    "the command was started under a seccomp filter (of a container, a service or a sandbox): calls that this filter refused are not counted; --all counts them",
                );
            }
        }
        self.memory_left(at);
        let earlier = self.book_time(at);
        let group = self.tree.group(at);
        (group.directory, group.modules) = (None, None);
        group.arg_state = ArgState::default();
        group.earlier = earlier;
        process.is_64bit = is_64bit;
        if let Some(before) = before {
            let before = self.builder.process_ref(before);
            process.shares_root = before.shares_root;
            process.lacks_privilege |= before.lacks_privilege;
        }
        let image = self.builder.process(process);
        if let Some(block) = block {
            self.environment(image, block);
        }
        self.tree.group(at).image = Some(image);
        if before.is_none() || self.calls.roots_differ {
            self.look_at_root(tid, image);
        }
        if info.is_some_and(|info| !self.calls.knows(info.arch)) {
            let name = self.builder.process_ref(image).name().to_owned();
            self.builder.note(format!(
                "{name} is a program for another architecture: its calls were not seen"
            ));
        }
        if let Some(InFlight { count, .. }) = in_flight {
            self.count_exec(image, count);
        }
    }

    /// Counts the call that has made `image`, if it is one that is counted.
    fn count_exec(&mut self, image: ProcId, count: Count) {
        let Count::Exec { call, path, from_dir_fd } = count else { return };
        let question = Question { call, query: Query::Exec, path: &path, from_dir_fd };
        let question = self.builder.question(image, question);
        let at_ns = Some(sys::now() - self.started);
        self.builder.answer(question, Answer { at_ns, ..Answer::outcome(Ok(())) });
    }

    /// The environment with which `image` was started: mostly that of the process before it.
    pub(crate) fn environment(&mut self, image: ProcId, block: Vec<u8>) {
        match &self.last_environment {
            Some((like, last)) if *last == block => self.builder.same_environment(image, *like),
            _ => {
                self.builder.environment(image, needless_host::variables(&block));
                self.last_environment = (!self.builder.is_folded(image)).then_some((image, block));
            }
        }
    }

    /// Adds the CPU time and page faults of a process up to now to its image. Each of its threads does so
    /// when it ends; after a SIGKILL the time may stay unknown. Returns the CPU time of all its images.
    pub(crate) fn book_time(&mut self, group: usize) -> (u64, u64) {
        let group = self.tree.group(group);
        let Some(total) = sys::cpu_time(group.tgid) else { return group.earlier };
        let Some(image) = group.image else { return total };
        let (user, system) = group.earlier;
        let process = self.builder.process_mut(image);
        process.given_back = Some(group.arg_state.given_back);
        let (user, system) = (total.0.saturating_sub(user), total.1.saturating_sub(system));
        process.cpu_ns = Some(user + system);
        process.cpu_user_ns = Some(user);
        process.cpu_sys_ns = Some(system);
        if let Some((minor_before, major_before)) = group.arg_state.faults_before
            && let Some((minor, major)) = needless_host::page_faults(group.tgid)
        {
            process.minor_faults = Some(minor.saturating_sub(minor_before));
            process.major_faults = Some(major.saturating_sub(major_before));
        }
        total
    }

    pub(crate) fn ended(&mut self, tid: Tid, exit: Exit) {
        let Some(thread) = self.tree.remove_thread(tid) else {
            self.early.end(tid, exit);
            return;
        };
        if let Some(InFlight { count: Count::Answer { .. } | Count::Exec { .. }, .. }) =
            &thread.in_flight
        {
            self.builder.lost(Loss::Unfinished, 1);
        }
        if thread.in_flight.is_some_and(|call| call.effect == Effect::Refiltered)
            && exit == Exit::Signal(libc::SIGSYS)
            && self.tree.is_live(thread.group)
            && let Some(image) = self.tree.group(thread.group).image
        {
            self.clone_refused(image);
        }
        // The leader's end is reported last, and is the end of the process.
        if !self.tree.is_live(thread.group) || self.tree.group(thread.group).tgid != tid {
            return;
        }
        // Who waits for it goes on.
        self.builder.barrier();
        self.memory_left(thread.group);
        let Some(group) = self.tree.remove_group(thread.group) else { return };
        let signalled = matches!(exit, Exit::Signal(_));
        match group.image {
            Some(image) => {
                self.builder.process_mut(image).exit = Some(exit);
                if tid == self.command {
                    self.exit = Some(exit);
                }
            }
            None => self.unborn = Some(exit),
        }
        // The status of an exit before exec is set by needless: why it could not be executed.
        if let Some(supervisor) = self.supervisor
            && tid == self.command
            && (group.image.is_some() || signalled)
        {
            supervisor.command_ended(exit);
        }
    }

    pub(crate) fn command_stops(&mut self, tid: Tid, signal: i32) {
        let Some(supervisor) = self.supervisor else { return };
        let of_command = self.tree.threads.get(&tid).map(|t| t.group)
            == self.tree.threads.get(&self.command).map(|t| t.group);
        if of_command && !self.command_stopped {
            self.command_stopped = true;
            supervisor.command_stopped(signal);
        }
    }

    pub(crate) fn command_continues(&mut self, tid: Tid) {
        let Some(supervisor) = self.supervisor else { return };
        if tid == self.command && self.command_stopped {
            self.command_stopped = false;
            supervisor.command_continued();
        }
    }
}
