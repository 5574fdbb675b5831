//! Which call sites can be patched, and where there is room near them.

use super::layout as l;
use std::ops::Range;

/// What is mapped executable and private, and what is free, in a process.
#[derive(Clone, Default)]
pub(crate) struct Map {
    mapped: Vec<Range<u64>>,
    code: Vec<Range<u64>>,
}

impl Map {
    /// From a text as in /proc/PID/maps (proc_pid_maps(5)).
    pub(crate) fn parse(text: &str) -> Map {
        let mut map = Map::default();
        for line in text.lines() {
            let mut fields = line.split(' ');
            let (Some(range), Some(access)) = (fields.next(), fields.next()) else { continue };
            let Some((start, end)) = range.split_once('-') else { continue };
            let address = |text| u64::from_str_radix(text, 16);
            let (Ok(start), Ok(end)) = (address(start), address(end)) else { continue };
            map.mapped.push(start..end);
            // What the process may write is not ours to write, what it shares belongs to others, too.
            if access == "r-xp" {
                map.code.push(start..end);
            }
        }
        map
    }

    /// Whether all of `range` is code that only we write.
    pub(crate) fn is_code(&self, range: Range<u64>) -> bool {
        self.code.iter().any(|code| code.start <= range.start && range.end <= code.end)
    }

    /// A free page below `address`, as far from it as a jump allows, so that what is near stays free.
    pub(crate) fn page_near(&self, address: u64) -> Option<u64> {
        const PAGE: u64 = 4096;
        const LOWEST: u64 = 1 << 20;
        (16..=30).rev().filter_map(|bits| address.checked_sub(1 << bits)).find_map(|page| {
            let page = page / PAGE * PAGE;
            let free = |range: &Range<u64>| range.end <= page || page + PAGE <= range.start;
            (page >= LOWEST && self.mapped.iter().all(free)).then_some(page)
        })
    }
}

/// Whether a jump of 5 bytes at `from` reaches `to`.
pub(crate) fn distance(from: u64, to: u64) -> Option<i32> {
    i32::try_from(to.wrapping_sub(from + l::JUMP) as i64).ok()
}

/// Bytes before the instruction to be overwritten that [`is_safe`] looks at.
pub(crate) const BEFORE: u64 = 1;
/// Bytes that it looks at.
pub(crate) const LOOKED_AT: usize = 14;

/// Whether the instruction before a `syscall` can be overwritten. `bytes`: from one byte before it to the end of the
/// comparison that must follow the call; `nr`, `rdi`: what the call had.
///
/// It has to be `mov eax, nr` or `mov edi, …` with what is in rdi, so that a byte sequence which only looks like it is
/// not taken for it. The `syscall` itself stays: threads that are in it, restarts, and jumps to it still work. The
/// comparison overwrites the flags, which the stub does not keep.
pub(crate) fn is_safe(bytes: &[u8; LOOKED_AT], nr: u64, rdi: u64) -> bool {
    let [prefix, opcode, a, b, c, d, rest @ ..] = bytes;
    let value = u64::from(u32::from_le_bytes([*a, *b, *c, *d]));
    let moves = match opcode {
        0xb8 => value == nr,
        0xbf => value == rdi,
        _ => false,
    };
    let other_register = (0x40..0x50).contains(prefix) || *prefix == 0x66;
    let compared = [
        &[0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff][..],
        &[0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff],
        &[0x3d, 0x00, 0xf0, 0xff, 0xff],
    ];
    let after = rest.strip_prefix(&[0x0f, 0x05]);
    moves
        && !other_register
        && after.is_some_and(|after| compared.iter().any(|c| after.starts_with(c)))
}

/// `jmp` from `from` to `to`, which it must reach.
pub(crate) fn jump(from: u64, to: u64) -> Option<[u8; l::JUMP as usize]> {
    let [a, b, c, d] = distance(from, to)?.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// `jmp` to any address: the address follows the instruction.
pub(crate) fn far_jump(to: u64) -> [u8; l::FAR_JUMP as usize] {
    let mut code = [0xcc; l::FAR_JUMP as usize];
    code[..6].copy_from_slice(&[0xff, 0x25, 0, 0, 0, 0]);
    code[6..14].copy_from_slice(&to.to_le_bytes());
    code
}

/// The code and data of site `index`, which is at `at` and jumps to `stub`.
pub(crate) fn site_code(
    at: u64,
    stub: u64,
    instruction: [u8; l::JUMP as usize],
    data: &[u8],
) -> Option<Vec<u8>> {
    // lea r11, [rip + …]: the instruction is 7 bytes long, after the first 5.
    let ahead = (l::SITE_DATA - 12) as u32;
    let mut code = instruction.to_vec();
    code.extend([0x4c, 0x8d, 0x1d]);
    code.extend(ahead.to_le_bytes());
    code.extend(jump(at + 12, stub)?);
    code.resize(l::SITE_DATA as usize, 0xcc);
    code.extend(data);
    Some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A byte before, `mov`, `syscall`, a comparison.
    fn bytes(text: &str) -> [u8; LOOKED_AT] {
        let bytes = text.split(' ').map(|b| u8::from_str_radix(b, 16).unwrap());
        bytes.collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn only_a_plain_move_before_a_call_that_is_checked_is_overwritten() {
        let safe = |text: &str| is_safe(&bytes(text), 0x106, 0xffff_ff9c);
        assert!(safe("c1 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff"));
        assert!(safe("c1 b8 06 01 00 00 0f 05 3d 00 f0 ff ff 77"));
        assert!(safe("c1 bf 9c ff ff ff 0f 05 48 3d 01 f0 ff ff"));
        for (other, why) in [
            ("41 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "r8d"),
            ("c1 b8 07 01 00 00 0f 05 48 3d 00 f0 ff ff", "another call"),
            ("c1 bf 07 01 00 00 0f 05 48 3d 00 f0 ff ff", "another value"),
            ("c1 ba 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "edx"),
            ("c1 b8 06 01 00 00 0f 34 48 3d 00 f0 ff ff", "sysenter"),
            ("c1 b8 06 01 00 00 0f 05 72 3d 00 f0 ff ff", "flags are used"),
        ] {
            assert!(!safe(other), "{why}");
        }
    }

    #[test]
    fn a_page_is_found_below_and_not_in_what_is_mapped() {
        let map = Map::parse(
            "7f0000000000-7f0040000000 r--p 00000000 00:00 0\n\
             7f0040000000-7f0040001000 r-xp 00000000 fd:00 12   /lib/x.so\n\
             7f0040001000-7f0040002000 rwxp 00000000 00:00 0\n",
        );
        let site = 0x7f00_4000_0800;
        assert!(map.is_code(site..site + 7) && !map.is_code(site + 0x7f9..site + 0x801));
        assert!(!map.is_code(0x7f00_4000_1000..0x7f00_4000_1007), "the process may write it");
        assert_eq!(map.page_near(site), None, "all below is mapped, as far as a jump goes");
        let page = Map::parse("").page_near(site).unwrap();
        assert!(page < site && distance(site, page).is_some() && page.is_multiple_of(4096));
        assert!(Map::parse("").page_near(0x40_1000).unwrap() < 0x40_1000);
    }

    #[test]
    fn jumps_arrive() {
        assert_eq!(jump(0x1000, 0x1005), Some([0xe9, 0, 0, 0, 0]));
        assert_eq!(jump(0x1000, 0x0fff), Some([0xe9, 0xfa, 0xff, 0xff, 0xff]));
        assert_eq!(jump(0x1000, 0x1_8000_1005), None);
    }
}
