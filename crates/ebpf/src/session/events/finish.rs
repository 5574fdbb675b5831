//! At the end: the questions that rows belong to, and the profile.

use super::{Events, Former, Image, Text, below, used_so_far};
use crate::session::layout::RowKey;
use crate::session::wire::Used;
use crate::{Observed, SessionOptions};
use needless_model::{
    ArgClass, Backend, Builder, CallId, Facts, ProcId, Process, Query, Question, QuestionId, Spawn,
    Tally, Window,
};
use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;

/// From so many texts of paths on, and so many directories, those that nothing refers to are forgotten between windows.
const MANY_TEXTS: usize = 1 << 14;

impl Events {
    /// Stores what processes that still live have used. `given_back`: bytes of memory, by image; only the programs in
    /// the kernel know these.
    pub(crate) fn book_live(&mut self, given_back: &HashMap<u32, u64>) {
        for (pid, number) in &self.live {
            let Some(image) = self.images.get_mut(number) else { continue };
            let given_back = given_back.get(number).copied().unwrap_or(0);
            image.used = used_so_far(*pid).map(|used| Used { given_back, ..used });
            image.book(&mut self.builder);
        }
    }

    /// Counts the calls of execve that succeeded.
    pub(crate) fn count_execs(&mut self) {
        for exec in std::mem::take(&mut self.execs) {
            let name = if exec.by_descriptor { "execveat" } else { "execve" };
            let about = (self.builder.call(name), Query::Exec, false);
            let question = self.question(exec.image, about, exec.directory.as_deref(), &exec.path);
            let Some(question) = question else { continue };
            let tally = Tally { count: 1, ..Tally::default() };
            self.builder.tally(question, Some(Ok(())), tally);
        }
    }

    /// The rows that have snapshots, with no position yet.
    pub(crate) fn sampled_rows(&self) -> HashMap<RowKey, usize> {
        self.samples.rows()
    }

    /// The profile, and the snapshots with the positions of their rows. Then the next window begins: with the
    /// processes that live, as if they had been found now. `held`: images of which CPUs had something when the kernel's
    /// rows were read: it may have come too late for this window.
    pub(crate) fn observed(
        &mut self,
        options: &SessionOptions,
        facts: Facts,
        window: Window,
        rows: &HashMap<RowKey, usize>,
        held: &HashSet<u32>,
    ) -> Observed {
        let builder = std::mem::replace(&mut self.builder, Builder::new(options.limits));
        let samples = std::mem::take(&mut self.samples);
        let mut ids: HashMap<ProcId, ProcId> = HashMap::new();
        let (gone, live): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.images).into_iter().partition(|(number, image)| {
                image.pid.is_none_or(|pid| self.live.get(&pid) != Some(number))
            });
        let groups: HashMap<ProcId, u64> = self.cgroups.iter().copied().collect();
        self.former.clear();
        for (number, image) in gone {
            if held.contains(&number) || image.ended.is_some_and(|look| look + 1 >= self.looks) {
                let process = builder.process_ref(image.id).clone();
                let cgroup = groups.get(&image.id).copied();
                self.former.insert(number, Former { process, cgroup });
            }
            self.ended.extend(image.ended.map(|look| (number, look)));
        }
        for (number, image) in live {
            let id = self.builder.adopt(&builder, image.id);
            ids.insert(image.id, id);
            let earlier = image.used.unwrap_or(image.earlier);
            let next = Image { id, earlier, used: None, rest_ns: 0, ..image };
            self.images.insert(number, next);
        }
        // Names of programs, which are looked up again where they are forgotten.
        self.resolved.clear();
        let roots = std::mem::take(&mut self.roots);
        let again = |(id, root): &(ProcId, OwnedFd)| Some((*ids.get(id)?, root.try_clone().ok()?));
        self.roots = roots.iter().filter_map(again).collect();
        let cgroups = std::mem::take(&mut self.cgroups);
        let again = |(id, number): &(ProcId, u64)| Some((*ids.get(id)?, *number));
        self.cgroups = cgroups.iter().filter_map(again).collect();
        let path = |(id, number)| Some((id, self.cgroup_paths.get(&number)?.clone()));
        let cgroups = cgroups.into_iter().filter_map(path).collect();
        Observed {
            stacks: samples.stacks(rows),
            profile: builder.finish(Backend::Ebpf, facts, window),
            roots,
            cgroups,
        }
    }

    /// Forgets the texts of paths that are in no row, directories that neither these nor processes refer to, and the
    /// images whose rows have been deleted. Returns the numbers of the first two.
    pub(crate) fn forget(
        &mut self,
        in_rows: impl FnOnce() -> HashSet<u64>,
        of_processes: impl FnOnce() -> HashSet<u64>,
    ) -> Vec<u64> {
        let looks = self.looks;
        self.ended.retain(|_, look| *look + 1 >= looks);
        let mut forgotten = Vec::new();
        if self.texts.len() >= MANY_TEXTS {
            let mut used = in_rows();
            used.extend(self.rows.rows.keys().map(|key| key.path));
            forgotten.extend(self.texts.extract_if(|hash, _| !used.contains(hash)).map(|of| of.0));
            self.texts.shrink_to(2 * self.texts.len());
        }
        if self.directories.len() >= MANY_TEXTS.min(self.max_rows) {
            let mut used = of_processes();
            used.extend(self.texts.values().map(|text| text.directory));
            let unused = self.directories.extract_if(|number, _| !used.contains(number));
            forgotten.extend(unused.map(|of| of.0));
        }
        forgotten
    }

    /// If there are many, forgets the names of control groups to which no living process belongs. Whether it did: the
    /// kernel has to send names again.
    pub(crate) fn forget_cgroups(&mut self) -> bool {
        let many = self.cgroup_paths.len() >= MANY_TEXTS.min(self.max_rows);
        if many {
            let used: HashSet<u64> = self.cgroups.iter().map(|(_, id)| *id).collect();
            self.cgroup_paths.retain(|id, _| used.contains(id));
        }
        many
    }

    /// Puts a process that ended in the last window into this one, which has calls of it.
    pub(crate) fn recall(&mut self, image: u32) {
        let Some(Former { process, cgroup }) = self.former.remove(&image) else { return };
        let process = Process { parent: None, born: Spawn::Seen, cpu_ns: None, ..process };
        let id = self.builder.process(process);
        self.cgroups.extend(cgroup.map(|cgroup| (id, cgroup)));
        let ended = self.ended.get(&image).copied();
        self.images.insert(image, Image { ended, ..Image::new(id) });
    }

    /// The process that the kernel numbered `image`.
    pub(crate) fn process(&self, image: u32) -> Option<ProcId> {
        self.images.get(&image).map(|image| image.id)
    }

    /// The question about the path with hash `path`; `None` if its text or the process is not
    /// known.
    pub(crate) fn question_by_hash(
        &mut self,
        image: u32,
        about: (CallId, Query, bool),
        path: u64,
    ) -> Option<QuestionId> {
        let Text { text, directory } = self.texts.get(&path)?;
        let (text, directory) = (text.clone(), self.directories.get(directory).cloned());
        self.question(image, about, directory.as_deref(), &text)
    }

    /// The question behind calls without a path that have this class.
    pub(crate) fn detail(
        &mut self,
        image: u32,
        call: CallId,
        detail: ArgClass,
    ) -> Option<QuestionId> {
        let image = self.images.get(&image)?;
        Some(self.builder.detail(image.id, call, detail))
    }

    /// The question about `text`, which is relative to `directory`, where it is relative to a working directory.
    fn question(
        &mut self,
        image: u32,
        (call, query, from_dir_fd): (CallId, Query, bool),
        directory: Option<&str>,
        text: &str,
    ) -> Option<QuestionId> {
        let image = self.images.get(&image)?;
        let absolute;
        let path = match directory {
            Some(directory) if !(text.is_empty() || text.starts_with('/') || from_dir_fd) => {
                absolute = below(directory, text);
                &absolute
            }
            _ => text,
        };
        Some(self.builder.question(image.id, Question { call, query, path, from_dir_fd }))
    }

    /// The ABI of a program, by its calls: the machine's own or the 32-bit one.
    pub(crate) fn note_width(&mut self, image: u32, compat: bool) {
        if let Some(image) = self.images.get(&image) {
            self.builder.process_mut(image.id).is_64bit.get_or_insert(!compat);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionOptions;
    use crate::session::layout::{MessageHead, MessageKind, PathMessage};
    use needless_model::Limits;
    use zerocopy::{FromZeros, IntoBytes};

    #[test]
    fn what_nothing_refers_to_is_forgotten() {
        let mut events = Events::new(&SessionOptions::default(), 0);
        let head = MessageHead { kind: MessageKind::Path as u32, image: 0 };
        let count = MANY_TEXTS as u64;
        for path in 0..count {
            let about = PathMessage { head, path, directory: path, ..PathMessage::new_zeroed() };
            events.take(&[PathMessage { length: 2, ..about }.as_bytes(), b"/a"].concat());
            let head = MessageHead { kind: MessageKind::Directory as u32, ..head };
            let about = PathMessage { head, path, length: 2, ..PathMessage::new_zeroed() };
            events.take(&[about.as_bytes(), b"b\0"].concat());
        }
        let forgotten = events.forget(|| [3, 5].into(), || [7].into());
        assert_eq!(forgotten.len() as u64, count - 2 + count - 3);
        let mut left: Vec<_> = events.directories.into_keys().collect();
        left.sort_unstable();
        assert_eq!((events.texts.len(), left), (2, vec![3, 5, 7]));
    }

    #[test]
    fn names_of_control_groups_are_forgotten_once_there_are_many() {
        let limits = Limits { rows: 8, ..Limits::default() };
        let mut events = Events::new(&SessionOptions { limits, ..SessionOptions::default() }, 0);
        let head = MessageHead { kind: MessageKind::Cgroup as u32, image: 0 };
        let send = |events: &mut Events, id: u64| {
            let about = PathMessage { head, path: id, length: 10, ..PathMessage::new_zeroed() };
            events.take(&[about.as_bytes(), b"a.service\0"].concat());
        };
        (1..=7).for_each(|id| send(&mut events, id));
        assert!(!events.forget_cgroups());
        assert_eq!(events.cgroup_paths.len(), 7);
        (8..=20).for_each(|id| send(&mut events, id));
        assert_eq!(events.cgroup_paths.len(), 8);
        events.cgroups = vec![(ProcId(0), 3), (ProcId(1), 30)];
        assert!(events.forget_cgroups());
        let left: Vec<_> = events.cgroup_paths.iter().map(|(id, path)| (*id, &**path)).collect();
        assert_eq!(left, [(3, "/a.service")]);
    }

    #[test]
    fn a_program_cannot_fill_our_memory_with_directories() {
        let limits = Limits { rows: 2, ..Limits::default() };
        let mut events = Events::new(&SessionOptions { limits, ..SessionOptions::default() }, 0);
        let head = MessageHead { kind: MessageKind::Directory as u32, image: 0 };
        for path in 2..9 {
            let message = PathMessage { head, path, length: 8, ..PathMessage::new_zeroed() };
            events.take(&[message.as_bytes(), b"bin\0usr\0"].concat());
        }
        let mut names: Vec<_> = events.directories.into_iter().collect();
        names.sort();
        assert_eq!(names, [(2, "/usr/bin".into()), (3, "/usr/bin".into())]);
    }
}
