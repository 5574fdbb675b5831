//! Which places in the program make frequent calls: snapshots of stacks are unwound after the run.
//!
//! `localtime` jumps into another function of libc and libc has no symbols: the name of the
//! library function is read from the call instruction in the program, and never guessed.
//!
//! `localtime` is not on the stack, for it jumps; the exported symbol nearest to an address in a stripped library is
//! usually the wrong name. The call instruction in the program, and the PLT slot that it goes through, are certain.
//! Where even these are missing the report has an address.

use crate::module::Elf;
use crate::unwind::Unwinding;
use needless_host::{Module, Stack};
use needless_model::{CallSite, Fact, Libc, Profile, Runtime};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// At most this many frames of the C runtime above a system call.
const FRAMES: usize = 64;

/// A snapshot of a row with fewer calls than this is not resolved: the row is in no finding.
const REMARK: u64 = 10;

/// Adds call sites to the rows of `profile` for which `stacks` were taken.
///
/// A site is the first frame that is not in the C runtime; in a Go program, the first function
/// outside its standard library. There is none where the way to it is not certain: a library
/// without unwinding tables, a deleted file, code generated at run time, a static program (the C
/// runtime is part of it) or one of another architecture.
pub fn resolve(stacks: &[Stack], profile: &mut Profile) {
    let mut sites = Sites::default();
    let mut any = false;
    // Sorted by image: an unwinder uses much memory, so there is one at a time.
    let mut images: HashMap<*const Vec<Module>, Vec<&Stack>> = HashMap::new();
    let mut order = Vec::new();
    for stack in stacks {
        let image = Arc::as_ptr(&stack.modules);
        images
            .entry(image)
            .or_insert_with(|| {
                order.push(image);
                Vec::new()
            })
            .push(stack);
    }
    for stack in order.iter().filter_map(|image| images.remove(image)).flatten() {
        let Some(row) = profile.rows.get(stack.row) else { continue };
        let process = &profile.processes[row.process.index()];
        let go = process.runtime == Runtime::Go;
        if process.libc == Libc::Static && !go {
            if stack.weight >= REMARK {
                let note = format!(
                    "Call sites in {} are not named: it is linked statically, so its own functions \
                     and those of the C library cannot be distinguished.",
                    process.name()
                );
                if !profile.notes.contains(&note) {
                    profile.notes.push(note);
                }
            }
            continue;
        }
        let Some(site) = sites.of(stack, go) else { continue };
        any = true;
        let known = &mut profile.rows[stack.row].sites;
        match known.iter_mut().find(|(other, _)| *other == site) {
            Some((_, weight)) => *weight += stack.weight,
            None => known.push((site, stack.weight)),
        }
    }
    for row in &mut profile.rows {
        row.sites.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    }
    if any {
        profile.facts = profile.facts.with(Fact::CallSites);
    }
}

/// Whether a file is part of the C runtime: glibc's libraries and loader, or musl's.
fn is_c_runtime(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(" (deleted)");
    let library = |base: &str| {
        let rest = name.strip_prefix(base);
        // libc.so.6; libc-2.31.so before 2.34.
        rest.is_some_and(|rest| rest.starts_with(".so") || rest.starts_with("-2."))
    };
    let libraries =
        ["libc", "libpthread", "libm", "librt", "libdl", "libresolv", "libnsl", "libutil", "ld"];
    let prefixes = ["ld-linux", "ld-musl", "libc.musl-", "ld64.so", "libnss_"];
    libraries.into_iter().any(library) || prefixes.iter().any(|p| name.starts_with(p))
}

/// Whether a Go function (`path/package.Type.Method`) belongs to the standard library: the path of any other
/// package starts with a host name, and the program's own package is `main`. A local module
/// whose name has no dot counts as standard library too: the site is then the function of `main` that
/// called it.
fn is_go_library(function: &str) -> bool {
    let function = function.split('[').next().unwrap_or(function);
    let last = function.rfind('/').map_or(0, |slash| slash + 1);
    let end = function[last..].find('.').map_or(function.len(), |dot| last + dot);
    let package = &function[..end];
    let host = package.split('/').next().unwrap_or(package);
    package != "main" && !(host.contains('.') && package.contains('/'))
}

/// Files and unwinders that stacks share.
#[derive(Default)]
struct Sites {
    files: HashMap<*const File, Option<Rc<Elf>>>,
    /// The set of modules of the last stack, and its unwinder.
    image: Option<(Arc<Vec<Module>>, Unwinding)>,
}

impl Sites {
    fn of(&mut self, stack: &Stack, go: bool) -> Option<CallSite> {
        let (modules, mut unwinding) = self
            .image
            .take()
            .filter(|(modules, _)| Arc::ptr_eq(modules, &stack.modules))
            .unwrap_or_else(|| (stack.modules.clone(), Unwinding::default()));
        let site = self.first_outside(stack, go, &modules, &mut unwinding);
        self.image = Some((modules, unwinding));
        site
    }

    fn first_outside(
        &mut self,
        stack: &Stack,
        go: bool,
        modules: &[Module],
        unwinding: &mut Unwinding,
    ) -> Option<CallSite> {
        let mut frames = unwinding.start(stack);
        let mut address = stack.pc;
        for depth in 0..FRAMES {
            // A return address may be the start of the next function, so the call before it is looked up.
            let lookup = if depth == 0 { address } else { address.checked_sub(1)? };
            let module = modules.iter().find(|m| (m.start..m.end).contains(&lookup))?;
            let elf = self.elf(module)?;
            let bias = module.start.wrapping_sub(elf.address_of(module.offset)?);
            let (stated, lookup) = (address.wrapping_sub(bias), lookup.wrapping_sub(bias));
            let call = if depth == 0 { None } else { Some(elf.call_before(stated)?) };
            let c_runtime = is_c_runtime(&module.path);
            // Without a name, it is not known where Go's standard library ends.
            let go_runtime = go && !c_runtime && is_go_library(elf.function(lookup)?.0);
            if !c_runtime && !go_runtime {
                let callee = call.and_then(|call| elf.callee(call));
                return Some(site(module, &elf, stated, lookup, callee));
            }
            // Go uses frame pointers instead of tables.
            if !go_runtime && !elf.unwinds(lookup) {
                return None;
            }
            address = unwinding.step(&mut frames, module, &elf, bias)?;
        }
        None
    }

    fn elf(&mut self, module: &Module) -> Option<Rc<Elf>> {
        let file = module.file.as_ref()?;
        // The profile's stacks keep every file open, so no two files have the same address.
        let known = self.files.entry(Arc::as_ptr(file));
        known.or_insert_with(|| Elf::read(file.clone()).map(Rc::new)).clone()
    }
}

fn site(module: &Module, elf: &Elf, stated: u64, lookup: u64, callee: Option<&str>) -> CallSite {
    let function = elf.function(lookup);
    let path = module.path.to_string_lossy();
    CallSite {
        module: path.trim_end_matches(" (deleted)").to_owned(),
        function: function.map(|(name, _)| name.to_owned()),
        offset: stated - function.map_or(elf.base(), |(_, start)| start),
        calls: callee.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_runtime_is_distinguished_from_the_rest() {
        for name in [
            "libc.so.6",
            "libc-2.31.so",
            "ld-linux-x86-64.so.2",
            "ld-2.31.so",
            "libm.so.6",
            "libpthread.so.0",
            "ld-musl-x86_64.so.1",
            "libnss_files.so.2",
            "libc.so.6 (deleted)",
        ] {
            assert!(is_c_runtime(&Path::new("/lib").join(name)), "{name}");
        }
        for name in ["libcurl.so.4", "libc++.so.1", "app", "libmagic.so.1", "ldap", "libperl.so"] {
            assert!(!is_c_runtime(&Path::new("/usr/lib").join(name)), "{name}");
        }
    }

    #[test]
    fn the_library_of_go_is_distinguished_from_programs() {
        for library in [
            "os.Stat",
            "internal/runtime/syscall.Syscall6",
            "runtime.goexit.abi0",
            "vendor/golang.org/x/sys/cpu.init",
            "time.(*Location).get",
        ] {
            assert!(is_go_library(library), "{library}");
        }
        for program in [
            "main.main",
            "main.ask.func1",
            "main.ask[github.com/a/b.T]",
            "github.com/a/b.(*T).M",
            "example.com/tool/internal/x.F",
        ] {
            assert!(!is_go_library(program), "{program}");
        }
    }
}
