//! Which call sites can be patched, and where there is room near them.

use super::layout as l;
use crate::sys::{SyscallInfo, Tid, read_memory};
use needless_host::{Mapping, code_ends};
use std::ops::Range;

const PAGE: u64 = 4096;

/// What a jump is written over, or a jump.
pub(crate) type Instruction = [u8; l::JUMP as usize];

/// What is mapped executable and private in a process.
pub(crate) struct Map(Vec<Code>);

/// What is executable, of which part of its file, and where the first page of that is.
struct Code {
    range: Range<u64>,
    offset: u64,
    start: u64,
}

/// Where the instruction is that is overwritten at the site of a call, by the stop at its entry.
pub(crate) fn start(info: &SyscallInfo) -> u64 {
    info.ip.wrapping_sub(2 + l::JUMP)
}

impl Map {
    /// What `tid` has mapped; `None` where it has ended.
    pub(crate) fn of(tid: Tid) -> Option<Map> {
        let text = needless_host::read_whole(&format!("/proc/{tid}/maps"))?;
        Some(Map::parse(&String::from_utf8_lossy(&text)))
    }

    fn parse(text: &str) -> Map {
        let mut first = (0, "");
        let code =
            Mapping::all(text).filter_map(|Mapping { range, access, offset, path, .. }| {
                if offset == 0 {
                    first = (range.start, path);
                }
                let start = if first.1 == path { first.0 } else { range.start };
                // What the process may write is not ours to write, what it shares belongs to others, too.
                (access == "r-xp").then_some(Code { range, offset, start })
            });
        Map(code.collect())
    }

    /// Whether all of `range` is code that only we write.
    pub(crate) fn is_code(&self, range: Range<u64>) -> bool {
        self.0.iter().any(|code| code.range.start <= range.start && range.end <= code.range.end)
    }

    /// The pages with the code of sites that may be there.
    pub(super) fn near_pages(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter_map(|Code { range, .. }| {
            page_near(range.end - 1).filter(|page| range.contains(page))
        })
    }

    /// Where `code` has room in the last page of what is executable, behind all that its file has there. `read` reads
    /// memory, and returns how much of it could be read.
    pub(crate) fn after_code(
        &self,
        code: &[u8],
        read: impl Fn(u64, &mut [u8]) -> usize,
    ) -> Option<u64> {
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

/// The page that the filter knows ([`l::NEAR`]) and that a jump from `address` reaches: the one below, which is in the way
/// of no heap.
pub(crate) fn page_near(address: u64) -> Option<u64> {
    let over = address.checked_sub(l::NEAR)?;
    Some(over / l::NEAR_EACH * l::NEAR_EACH + l::NEAR)
}

/// How many bytes [`is_safe`] looks at, from [`BEFORE`] bytes before the instruction to be overwritten.
const LOOKED_AT: usize = BEFORE + 13;
/// As many as an instruction can have that ends with what looks like one to be overwritten.
const BEFORE: usize = 3;

/// The instruction before the `syscall` of a call, if it can be overwritten: at once, by one word in one page.
pub(crate) fn safe_instruction(tid: Tid, info: &SyscallInfo) -> Option<Instruction> {
    let start = start(info);
    let mut bytes = [0; LOOKED_AT];
    let is_read = read_memory(tid, start.wrapping_sub(BEFORE as u64), &mut bytes) == bytes.len();
    let is_safe = is_read && is_safe(&bytes, info.nr(), info.args()[0]);
    bytes[BEFORE..].first_chunk().filter(|_| is_safe && start % PAGE <= PAGE - 8).copied()
}

/// Whether the instruction before a `syscall` can be overwritten. `bytes`: from [`BEFORE`] bytes before it to the end of
/// the comparison that must follow the call; `nr`, `rdi`: what the call had.
///
/// It has to be `mov eax, nr` or `mov edi, …` with what is in rdi, so that a byte sequence which only looks like it is
/// not taken for it. The `syscall` itself stays: restarts of a call, and jumps to it, still work. The
/// comparison overwrites the flags, which the stub does not keep.
fn is_safe(bytes: &[u8; LOOKED_AT], nr: u64, rdi: u64) -> bool {
    let [x, y, z, opcode, a, b, c, d, rest @ ..] = bytes;
    let value = u64::from(u32::from_le_bytes([*a, *b, *c, *d]));
    let moves = match opcode {
        0xb8 => value == nr,
        0xbf => value == rdi,
        _ => false,
    };
    let compared = [
        &[0x48, 0x3d, 0x00, 0xf0, 0xff, 0xff][..],
        &[0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff],
        &[0x3d, 0x00, 0xf0, 0xff, 0xff],
    ];
    let after = rest.strip_prefix(&[0x0f, 0x05]);
    moves
        && !is_an_end([*x, *y, *z])
        && after.is_some_and(|after| compared.iter().any(|c| after.starts_with(c)))
}

/// Whether an instruction may begin with these bytes, or with the last of them, and end with what looks like a `mov` of 5
/// bytes (Intel SDM, volume 2, 2.1 and 2.2). What it could only be where the program fails is left out: without a prefix,
/// an address is relative to rax or rdi, which have the value of that `mov`.
fn is_an_end([x, y, z]: [u8; BEFORE]) -> bool {
    let has_immediate = |opcode| matches!(opcode, 0x69 | 0x81 | 0xc7 | 0xf7);
    let other_base = |prefix: u8| prefix & 0xf1 == 0x41;
    // A prefix; an index and four bytes of displacement follow.
    (z & 0xf0 == 0x40 || z == 0x66 || z & 0xc7 == 0x84)
        || has_immediate(y)
        || has_immediate(x) && y & 0xc7 == 0x44
        || other_base(y)
        || other_base(x) && y == 0x0f
}

/// Of a site whose code this is, at `at`: where it was, what it was, and the jump in its place.
pub(super) fn overwritten(at: u64, code: &[u8]) -> Option<(u64, Instruction, Instruction)> {
    let stopping = code[(l::SITE_DATA + l::STOPPING) as usize..].first_chunk()?;
    let start = u64::from_le_bytes(*stopping).checked_sub(l::JUMP)?;
    Some((start, *code.first_chunk()?, jump(start, at)?))
}

/// `jmp` from `from` to `to`, which it must reach.
pub(crate) fn jump(from: u64, to: u64) -> Option<Instruction> {
    let distance = i32::try_from(to.wrapping_sub(from + l::JUMP) as i64).ok()?;
    let [a, b, c, d] = distance.to_le_bytes();
    Some([0xe9, a, b, c, d])
}

/// The code and data of a site whose `data` this is.
pub(crate) fn site_code(instruction: Instruction, data: &[u64; l::DATA_WORDS]) -> Vec<u8> {
    let mut code = instruction.to_vec();
    // lea r11, [rip + 4]: the data. jmp [r11]: the stub.
    code.extend([0x4c, 0x8d, 0x1d, 4, 0, 0, 0, 0x41, 0xff, 0x23, 0xcc]);
    code.extend(data.map(u64::to_le_bytes).as_flattened());
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three bytes before, `mov`, `syscall`, a comparison.
    fn bytes(text: &str) -> [u8; LOOKED_AT] {
        let bytes = text.split(' ').map(|b| u8::from_str_radix(b, 16).unwrap());
        bytes.collect::<Vec<_>>().try_into().unwrap()
    }

    #[test]
    fn only_a_plain_move_before_a_call_that_is_checked_is_overwritten() {
        let safe = |text: &str| is_safe(&bytes(text), 0x106, 0xffff_ff9c);
        assert!(safe("00 00 c1 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff"));
        assert!(safe("00 00 c1 b8 06 01 00 00 0f 05 3d 00 f0 ff ff 77"));
        assert!(safe("00 00 c1 bf 9c ff ff ff 0f 05 48 3d 01 f0 ff ff"));
        for (other, why) in [
            ("00 00 c1 b8 07 01 00 00 0f 05 48 3d 00 f0 ff ff", "another call"),
            ("00 00 c1 bf 07 01 00 00 0f 05 48 3d 00 f0 ff ff", "another value"),
            ("00 00 c1 ba 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "edx"),
            ("00 00 c1 b8 06 01 00 00 0f 34 48 3d 00 f0 ff ff", "sysenter"),
            ("00 00 c1 b8 06 01 00 00 0f 05 72 3d 00 f0 ff ff", "flags are used"),
            ("00 00 41 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "r8d"),
            ("c7 44 24 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "a number put on the stack"),
            ("00 c7 45 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "the same, by rbp"),
            ("00 8b 84 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "an address with an index"),
            ("00 41 8b b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "an address relative to r8"),
            ("41 0f b6 b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff", "the same, of a byte"),
        ] {
            assert!(!safe(other), "{why}");
        }
    }

    #[test]
    fn code_is_what_only_we_write() {
        let map = Map::parse(
            "7f0000000000-7f0040000000 r--p 00000000 00:00 0\n\
             7f0040000000-7f0040001000 r-xp 00000000 fd:00 12   /lib/x.so\n\
             7f0040001000-7f0040002000 rwxp 00000000 00:00 0\n",
        );
        let site = 0x7f00_4000_0800;
        assert!(map.is_code(site..site + 7) && !map.is_code(site + 0x7f9..site + 0x801));
        assert!(!map.is_code(0x7f00_4000_1000..0x7f00_4000_1007), "the process may write it");
    }

    #[test]
    fn the_page_below_is_reached() {
        for (code, page) in [
            (0x40_1000, 0x3f_f000),
            (0x5555_5555_4000, 0x5555_003f_f000),
            (0x7f12_803f_efff, 0x7f12_003f_f000),
        ] {
            assert_eq!(page_near(code), Some(page));
            assert!(jump(code, page + 4095).is_some());
        }
        assert_eq!(page_near(0x3f_e000), None);
        assert_eq!(jump(0x1000, 0x0fff), Some([0xe9, 0xfa, 0xff, 0xff, 0xff]));
        assert_eq!(jump(0x1000, 0x1_8000_1005), None);
    }

    #[test]
    fn there_is_room_behind_the_code_of_a_file_and_nowhere_else() {
        let me = std::process::id() as Tid;
        let map = Map::of(me).unwrap();
        let here = |address, into: &mut [u8]| read_memory(me, address, into);
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
}
