//! What calls show about the program that a process runs.

use crate::limit;
use crate::path::{self, Path};
use crate::reader::Reader;
use crate::text::unescape;
use needless_model::{Env, Libc, ProcId, command_of};

impl Reader<'_> {
    /// A call shows the limit of open files.
    pub(super) fn limit(&mut self, process: ProcId, call: u16, args: &[u8]) {
        let pid = self.builder.process_ref(process).pid;
        let Some(seen) = limit::seen(&self.calls.get(call).name, pid, args) else { return };
        let first = self.processes.state(process).limit.learn(seen);
        let known = &mut self.builder.process_mut(process).open_files;
        *known = known.or(first);
    }

    /// The C library, if this path that the dynamic linker opens is one.
    pub(super) fn libc_of(&mut self, raw: &[u8]) -> Option<Libc> {
        self.piece.clear();
        unescape(raw, &mut self.piece); // -xx: the name is all escapes
        match Libc::of_library(&self.piece) {
            Libc::Unknown => None,
            libc => Some(libc),
        }
    }

    pub(super) fn exe(&mut self, found: &Path<'_>, process: ProcId) -> String {
        match found {
            Path::Found(found) => {
                self.absolute(process, found);
                String::from_utf8_lossy(&self.path).into_owned()
            }
            _ => "?".to_owned(),
        }
    }

    /// What an exec shows about its image.
    pub(super) fn image(&mut self, process: ProcId, found: &Path<'_>) {
        let Path::Found(found) = found else {
            self.builder.process_mut(process).exe = None;
            return;
        };
        self.piece.clear();
        unescape(found.raw, &mut self.piece);
        if !self.piece.is_empty() {
            self.builder.process_mut(process).command = Some(command_of(&self.piece));
        }
        let Some((variables, texts)) = path::environment(found.rest, &self.options.watch) else {
            return;
        };
        self.builder.environment(process, texts.iter().filter_map(|text| text.split_once('=')));
        let bytes = variables.iter().map(|v| v.name.len() + v.value.len()).sum();
        if variables.iter().any(|v| v.cut) || !self.builder.keeps(bytes) {
            self.seen.cut_variables = true;
            return;
        }
        self.seen.environment = true;
        // Of two variables with the same name, getenv finds the first.
        let known = variables.into_iter().rev().map(|v| (v.name, v.value)).collect();
        self.builder.process_mut(process).env = Env::Known(known);
    }
}
