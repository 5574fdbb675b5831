//! What calls tell of the program that a process runs.

use crate::limit;
use crate::path::{self, Path};
use crate::reader::Reader;
use crate::text::unescape;
use needless_model::{Env, Libc, ProcId, command_of};

impl Reader<'_> {
    /// A call tells of the limit of open files.
    pub(super) fn limit(&mut self, process: ProcId, call: u16, args: &[u8]) {
        let pid = self.builder.process_ref(process).pid;
        let Some(told) = limit::told(&self.calls.get(call).name, pid, args) else { return };
        let first = self.family.state(process).limit.learn(told);
        let known = &mut self.builder.process_mut(process).open_files;
        *known = known.or(first);
    }

    /// The C library shows in the libraries that the dynamic linker opens: which one this path is.
    pub(super) fn libc_of(&mut self, raw: &[u8]) -> Option<Libc> {
        self.piece.clear();
        unescape(raw, &mut self.piece); // -xx: the name is all escapes
        let path = self.piece.as_slice();
        let name = &path[memchr::memrchr(b'/', path).map_or(0, |at| at + 1)..];
        match name {
            b"libc.so.6" | b"libc.so.6.1" | b"libc.so.0.3" => Some(Libc::Glibc(None)),
            _ if name.starts_with(b"ld-musl-") || name.starts_with(b"libc.musl-") => {
                Some(Libc::Musl)
            }
            _ => {
                let version = name.strip_prefix(b"libc-2.")?.strip_suffix(b".so")?;
                Some(Libc::Glibc(Some(format!("2.{}", String::from_utf8_lossy(version)))))
            }
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

    /// What an exec tells of the image it makes.
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
        let Some(variables) = path::environment(found.rest, self.options.watch) else { return };
        let bytes = variables.iter().map(|v| v.name.len() + v.value.len()).sum();
        if variables.iter().any(|v| v.cut) || !self.builder.keeps(bytes) {
            self.seen.cut_variables = true;
            return;
        }
        self.seen.environment = true;
        let value = |raw: &[u8]| {
            let mut value = Vec::new();
            unescape(raw, &mut value);
            String::from_utf8_lossy(&value).into_owned()
        };
        // The first of two variables of one name is the one that getenv finds.
        let known = variables.iter().rev().map(|v| (v.name.clone(), value(v.value))).collect();
        self.builder.process_mut(process).env = Env::Known(known);
    }
}
