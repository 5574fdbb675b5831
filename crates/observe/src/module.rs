//! An ELF file that was mapped into a process, with what unwinding and symbol lookup need.

use crate::decode::{self, CallTarget};
use object::elf::{R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT};
use object::{
    Architecture, Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, ReadCache,
    RelocationFlags, RelocationTarget, SegmentFlags, SymbolKind,
};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A section that unwinding reads, with its address in the file.
#[derive(Clone, Debug)]
pub(crate) struct FrameSection {
    pub(crate) address: u64,
    pub(crate) data: Arc<[u8]>,
}

/// An ELF file. All addresses are the ones in the file.
#[derive(Debug)]
pub(crate) struct Elf {
    file: Arc<File>,
    machine: Architecture,
    loads: Vec<Load>,
    pub(crate) eh_frame: Option<FrameSection>,
    pub(crate) eh_frame_hdr: Option<FrameSection>,
    names: OnceCell<Names>,
}

#[derive(Clone, Copy, Debug)]
struct Load {
    address: u64,
    offset: u64,
    length: u64,
    /// Whether it is mapped executable.
    code: bool,
}

#[derive(Debug, Default)]
struct Names {
    /// Start, end and name of functions, sorted by start.
    functions: Vec<(u64, u64, String)>,
    /// Pointers that the loader fills in, with the library function they then point to.
    slots: HashMap<u64, String>,
}

impl Elf {
    /// Reads the headers of a file of this machine's architecture; `None` for any other file.
    pub(crate) fn read(file: Arc<File>) -> Option<Elf> {
        let cache = ReadCache::new(needless_host::Pieces::of(&*file));
        let elf = object::File::parse(&cache).ok()?;
        let machine = elf.architecture();
        if !elf.is_64() || !is_native(machine) {
            return None;
        }
        let loads = elf.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            let SegmentFlags::Elf { p_flags } = segment.flags() else {
                return Load { address: segment.address(), offset, length, code: false };
            };
            let code = p_flags & object::elf::PF_X != 0;
            Load { address: segment.address(), offset, length, code }
        });
        let section = |name| {
            let section = elf.section_by_name(name)?;
            Some(FrameSection { address: section.address(), data: section.data().ok()?.into() })
        };
        let (loads, eh_frame, eh_frame_hdr) =
            (loads.collect(), section(".eh_frame"), section(".eh_frame_hdr"));
        Some(Elf { file, machine, loads, eh_frame, eh_frame_hdr, names: OnceCell::new() })
    }

    /// The address of the code at this offset in the file.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        let load = self.loads.iter().find(|load| {
            // Mappings begin at page boundaries, segments need not: with lld, the last page of the
            // constants is also the first page of the code, and one mapping shows it as constants.
            load.code && offset >= load.offset & !0xfff && offset < load.offset + load.length
        })?;
        Some(load.address.wrapping_add(offset.wrapping_sub(load.offset)))
    }

    /// The lowest address.
    pub(crate) fn base(&self) -> u64 {
        self.loads.iter().map(|load| load.address & !0xfff).min().unwrap_or(0)
    }

    /// The function that contains `address`, from a symbol with a size: its name and start.
    pub(crate) fn function(&self, address: u64) -> Option<(&str, u64)> {
        let functions = &self.names().functions;
        let behind = functions.partition_point(|(start, ..)| *start <= address);
        // Symbols may nest, but not deeply.
        let before = functions[..behind].iter().rev().take(64);
        let mut containing = before.filter(|(_, end, _)| address < *end);
        containing.next().map(|(start, _, name)| (name.as_str(), *start))
    }

    /// The call that returns to `address`; `None` where the bytes before it are not a call.
    pub(crate) fn call_before(&self, address: u64) -> Option<CallTarget> {
        let code = self.code(address.checked_sub(decode::CALL)?, decode::CALL)?;
        decode::call_before(self.machine, &code, address)
    }

    /// The library function that a call reaches through the PLT or through a pointer that the loader fills in.
    pub(crate) fn callee(&self, call: CallTarget) -> Option<&str> {
        let slot = match call {
            CallTarget::Through(slot) => slot,
            CallTarget::To(start) => {
                decode::stub(self.machine, &self.code(start, decode::STUB)?, start)?
            }
            CallTarget::Computed => return None,
        };
        self.names().slots.get(&slot).map(String::as_str)
    }

    /// Whether the unwinding table has an entry for `address`. Without one an unwinder can only
    /// assume a frame pointer.
    pub(crate) fn unwinds(&self, address: u64) -> bool {
        self.unwind_entry(address).is_some_and(|entry| entry.contains(&address))
    }

    /// The addresses that the nearest entry below `address` covers. Only the layout that every
    /// linker writes is read: a sorted table of 32-bit distances from the start of its section (LSB Core,
    /// "The .eh_frame_hdr section"). Any other layout gives `None`.
    fn unwind_entry(&self, address: u64) -> Option<std::ops::Range<u64>> {
        const VERSION_AND_ENCODINGS: [u8; 4] = [1, 0x1b, 0x03, 0x3b];
        let header = self.eh_frame_hdr.as_ref()?;
        let frames = self.eh_frame.as_ref()?;
        let table = header.data.strip_prefix(&VERSION_AND_ENCODINGS)?.get(8..)?;
        let number = |bytes: &[u8], at: usize| {
            Some(i32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
        };
        let (rows, _) = table.as_chunks::<8>();
        let state = |distance: i32| header.address.wrapping_add_signed(distance.into());
        let behind = rows.partition_point(|row| {
            number(row, 0).is_some_and(|distance| state(distance) <= address)
        });
        let row = rows.get(behind.checked_sub(1)?)?;
        let (start, entry) = (state(number(row, 0)?), state(number(row, 4)?));
        // Length, distance to the common part, start of the code relative to here, length of the code.
        let entry = usize::try_from(entry.checked_sub(frames.address)?).ok()?;
        let stated = number(&frames.data, entry + 8)?;
        let here = frames.address + entry as u64 + 8;
        let length = u64::from(number(&frames.data, entry + 12)? as u32);
        (here.wrapping_add_signed(stated.into()) == start).then(|| start..start + length)
    }

    fn code(&self, address: u64, length: u64) -> Option<Vec<u8>> {
        let load = self
            .loads
            .iter()
            .find(|load| (load.address..load.address + load.length).contains(&address))?;
        let from = address - load.address;
        let length = length.min(load.length - from);
        let mut code = vec![0; usize::try_from(length).ok()?];
        self.file.read_exact_at(&mut code, load.offset + from).ok()?;
        Some(code)
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::read(&self.file).unwrap_or_default())
    }
}

fn is_native(machine: Architecture) -> bool {
    match machine {
        Architecture::X86_64 => cfg!(target_arch = "x86_64"),
        Architecture::Aarch64 => cfg!(target_arch = "aarch64"),
        _ => false,
    }
}

impl Names {
    fn read(file: &File) -> Option<Names> {
        let cache = ReadCache::new(needless_host::Pieces::of(file));
        let elf = object::File::parse(&cache).ok()?;
        let mut functions: Vec<_> = elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition())
            .filter(|symbol| symbol.size() > 0)
            .filter_map(|symbol| {
                let (start, name) = (symbol.address(), symbol.name().ok()?);
                // Demangled without the hash, if it is a Rust name; other names stay as they are.
                let name = format!("{:#}", rustc_demangle::demangle(name));
                Some((start, start.checked_add(symbol.size())?, name))
            })
            .collect();
        functions.sort();
        functions.dedup();
        let mut slots = HashMap::new();
        if let (Some(relocations), Some(symbols)) =
            (elf.dynamic_relocations(), elf.dynamic_symbol_table())
        {
            for (slot, relocation) in relocations {
                let RelocationFlags::Elf { r_type } = relocation.flags() else { continue };
                let RelocationTarget::Symbol(index) = relocation.target() else { continue };
                let is_pointer = match elf.architecture() {
                    Architecture::X86_64 => {
                        [R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT].contains(&r_type)
                    }
                    _ => [R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT].contains(&r_type),
                };
                let Some(symbol) = is_pointer.then(|| symbols.symbol_by_index(index).ok()) else {
                    continue;
                };
                if let Some(Ok(name)) = symbol.map(|symbol| symbol.name()) {
                    slots.insert(slot, name.to_owned());
                }
            }
        }
        Some(Names { functions, slots })
    }
}
