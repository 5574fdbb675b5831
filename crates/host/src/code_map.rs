//! The code that a process has mapped, and where there is room behind it.

use crate::{Mapping, read_whole};
use object::Endianness;
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};
use std::ops::Range;

const PAGE: u64 = 4096;

/// What is mapped executable and private in a process, and not writable.
#[derive(Debug, Default)]
pub struct CodeMap(Vec<Code>);

/// What is executable, of which part of its file, and where the first page of that is.
#[derive(Debug)]
struct Code {
    range: Range<u64>,
    offset: u64,
    start: u64,
}

impl CodeMap {
    /// What process or thread `pid` has mapped; `None` where it has ended.
    pub fn of(pid: i32) -> Option<CodeMap> {
        let text = read_whole(&format!("/proc/{pid}/maps"))?;
        Some(CodeMap::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> CodeMap {
        let mut first = (0, "");
        let code =
            Mapping::all(text).filter_map(|Mapping { range, access, offset, path, .. }| {
                if offset == 0 {
                    first = (range.start, path);
                }
                let start = if first.1 == path { first.0 } else { range.start };
                // What the process may write may change, what it shares belongs to others, too.
                (access == "r-xp").then_some(Code { range, offset, start })
            });
        CodeMap(code.collect())
    }

    /// The ranges, in their order.
    pub fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.iter().map(|code| &code.range)
    }

    /// Whether all of `range` is code that the process cannot write.
    pub fn is_code(&self, range: Range<u64>) -> bool {
        self.0.iter().any(|code| code.range.start <= range.start && range.end <= code.range.end)
    }

    /// Where `code` has room in the last page of what is executable, behind all that its file has there. `read` reads
    /// memory, and returns how much of it could be read.
    pub fn after_code(&self, code: &[u8], read: impl Fn(u64, &mut [u8]) -> usize) -> Option<u64> {
        self.0.iter().find_map(|Code { range, offset, start }| {
            let mut header = [0; PAGE as usize];
            let length = read(*start, &mut header);
            let last = offset + (range.end - range.start);
            let end = code_ends(&header[..length])
                .into_iter()
                .find(|end| last - PAGE < *end && *end <= last)?;
            let end = range.start + (end - offset);
            let mut there = vec![0; (range.end - end) as usize];
            if read(end, &mut there) < there.len() {
                return None;
            }
            // Other parts of the file may follow it in its last page.
            let used = there.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            let from = (end + used as u64).next_multiple_of(16);
            (from + code.len() as u64 <= range.end).then_some(from)
        })
    }
}

/// The offsets in an ELF file at which its executable segments end; `start`: the file's first page. Empty where that is
/// no 64-bit ELF file, or its program headers are elsewhere.
fn code_ends(start: &[u8]) -> Vec<u64> {
    let parse = || {
        let header = FileHeader64::<Endianness>::parse(start).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, start).ok()?.iter();
        let code = segments.filter(|segment| {
            let is_code = segment.p_flags(endian) & PF_X != 0 && segment.p_type(endian) == PT_LOAD;
            // What follows in memory would be its data.
            is_code && segment.p_filesz(endian) == segment.p_memsz(endian)
        });
        let ends = code.filter_map(|s| s.p_offset(endian).checked_add(s.p_filesz(endian)));
        Some(ends.collect())
    };
    parse().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    #[test]
    fn code_is_what_only_we_write() {
        let map = CodeMap::parse(
            "7f0000000000-7f0040000000 r--p 00000000 00:00 0\n\
             7f0040000000-7f0040001000 r-xp 00000000 fd:00 12   /lib/x.so\n\
             7f0040001000-7f0040002000 rwxp 00000000 00:00 0\n",
        );
        let site = 0x7f00_4000_0800;
        assert!(map.is_code(site..site + 7) && !map.is_code(site + 0x7f9..site + 0x801));
        assert!(!map.is_code(0x7f00_4000_1000..0x7f00_4000_1007), "the process may write it");
    }

    #[test]
    fn there_is_room_behind_the_code_of_a_file_and_nowhere_else() {
        let map = CodeMap::of(std::process::id() as i32).unwrap();
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let here = |address, into: &mut [u8]| memory.read_at(into, address).unwrap_or(0);
        let code = [0xc3; 64];
        let room = map.after_code(&code, here).unwrap();
        let mut there = [1; 64];
        assert_eq!(here(room, &mut there), 64);
        assert_eq!(there, [0; 64]);
        assert!(map.is_code(room..room + 64) && !map.is_code(room..room + PAGE));
        let used = |_, into: &mut [u8]| {
            into.fill(0x7f);
            into.len()
        };
        assert_eq!(map.after_code(&code, used), None);
        assert_eq!(map.after_code(&[0xc3; 8192], here), None);
    }

    #[test]
    fn the_code_of_this_program_ends_within_its_file() {
        let program = std::fs::read("/proc/self/exe").unwrap();
        let ends = code_ends(&program[..4096]);
        assert!(!ends.is_empty() && ends.iter().all(|end| *end <= program.len() as u64));
        for broken in [&program[..10], &program[..70], b"#!/bin/sh\n"] {
            assert!(code_ends(broken).is_empty());
        }
    }
}
