//! Where the code of a program or library ends, from the first page of its file.

use object::Endianness;
use object::elf::{FileHeader64, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};

/// The offsets in an ELF file at which its executable segments end; `start`: the file's first page. Empty where that is
/// no 64-bit ELF file, or its program headers are elsewhere.
pub fn code_ends(start: &[u8]) -> Vec<u64> {
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
    use super::code_ends;

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
