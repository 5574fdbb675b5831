//! What follows from the result of a system call, besides its count.

use crate::sys::{SyscallInfo, Tid};
use crate::tracer::Tracer;
use crate::tree::{Effect, InFlight};
use needless_model::{Loss, ProcId};

impl Tracer<'_> {
    /// Thread `tid` of the process at `group` returns from a call that matters.
    pub(crate) fn returned(
        &mut self,
        tid: Tid,
        group: usize,
        in_flight: InFlight,
        info: &SyscallInfo,
        at_ns: u64,
    ) {
        let result = info.result();
        let group = self.tree.group(group);
        // Before its exec the command does not exist; these calls are needless's.
        let Some(image) = group.image else { return };
        let sample = in_flight.sample;
        let row = self.calls.end(&mut self.builder, image, tid, in_flight.count, result, at_ns);
        if let (Some(row), 1..) = (row, sample) {
            self.stacks.take(&mut self.builder, tid, group, info, (row, sample));
        }
        match in_flight.effect {
            Effect::None => {}
            Effect::Barrier => self.builder.barrier(),
            Effect::Directory if result.is_ok() => group.directory = None,
            Effect::Root if result.is_ok() => {
                group.directory = None;
                self.look_at_root(tid, image);
            }
            Effect::Directory | Effect::Root => {}
            Effect::StrictMode => {
                if result == Err(libc::EINVAL as u16) {
                    self.builder.lost(Loss::StrictMode, 1);
                    let name = self.builder.process_ref(image).name().to_owned();
                    self.builder.note(format!(
                        "{name} asked for seccomp's strict mode and was refused, because needless has a filter in it: it may have gone on without its sandbox; --all has no filter"
                    ));
                }
            }
            Effect::Filter { all_threads } if result.is_ok() => {
                self.has_filter(tid, image, all_threads);
            }
            Effect::Filter { .. } => {}
            Effect::Untraced => {
                if result.is_ok() {
                    self.builder.lost(Loss::UnseenProcesses, 1);
                    let name = self.builder.process_ref(image).name().to_owned();
                    let harm = match self.options.all {
                        true => "",
                        false => {
                            ", and under the seccomp filter its calls that rules ask about failed; --all has no filter"
                        }
                    };
                    self.builder.note(format!(
                        "{name} started a process that must not be traced (CLONE_UNTRACED), and the flag could not be taken out unseen: it was not observed{harm}"
                    ));
                }
            }
            Effect::Refiltered => self.clone_refused(image),
            Effect::Tracing => {
                if result == Err(libc::EPERM as u16) {
                    self.builder.lost(Loss::Ptrace, 1);
                    let name = self.builder.process_ref(image).name().to_owned();
                    self.builder.note(format!(
                        "{name} tried to trace (ptrace) and was refused: a process has one tracer, and that is needless"
                    ));
                }
            }
        }
    }

    /// Thread `tid` of `image` has installed a filter, for itself or for all threads of its process.
    fn has_filter(&mut self, tid: Tid, image: ProcId, all_threads: bool) {
        let Some(at) = self.tree.threads.get(&tid).map(|thread| thread.group) else { return };
        let threads = self.tree.threads.values().filter(|thread| thread.group == at).count();
        let known = std::mem::replace(&mut self.tree.group(at).has_filter, true);
        let name = self.builder.process_ref(image).name();
        let mut notes = Vec::new();
        if !known {
            notes.push(format!(
                "{name} has installed a seccomp filter, which may refuse calls before they stop at needless's: from there on each of its calls stops, as with --all, and it takes more time"
            ));
        }
        if !known && all_threads && threads > 1 {
            notes.push(format!(
                "{name} has installed a seccomp filter in threads that ran: what it refused them before they stopped next is not counted; --all counts it"
            ));
        }
        notes.into_iter().for_each(|note| self.builder.note(note));
    }

    /// No process came of a call of `image` to start one, from which we took a flag.
    pub(crate) fn clone_refused(&mut self, image: ProcId) {
        self.builder.lost(Loss::Clone, 1);
        let name = self.builder.process_ref(image).name().to_owned();
        self.builder.note(format!(
            "{name} has a seccomp filter besides needless's, and could not start a process that must not be traced (CLONE_UNTRACED): its filter saw the call without that flag and may have refused it or ended the process for that; --all leaves the flag"
        ));
    }
}
