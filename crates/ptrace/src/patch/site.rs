//! Which call sites can be patched, and what is written there.

use super::layout as l;
use crate::sys::{SyscallInfo, Tid, read_memory};
use needless_host::CodeMap;

const PAGE: u64 = 4096;

/// What a jump is written over, or a jump.
pub(crate) type Instruction = [u8; l::JUMP as usize];

/// Where the instruction is that is overwritten at the site of a call, by the stop at its entry.
pub(crate) fn start(info: &SyscallInfo) -> u64 {
    info.ip.wrapping_sub(2 + l::JUMP)
}

/// The page that the filter knows ([`l::NEAR`]) and that a jump from `address` reaches: the one below, which is in the way
/// of no heap.
pub(crate) fn page_near(address: u64) -> Option<u64> {
    let over = address.checked_sub(l::NEAR)?;
    Some(over / l::NEAR_EACH * l::NEAR_EACH + l::NEAR)
}

/// Such pages in the memory of `tid`.
pub(crate) fn near_pages(tid: Tid) -> Vec<u64> {
    let map = CodeMap::of(tid);
    let ranges = map.iter().flat_map(CodeMap::ranges);
    let pages = ranges.filter_map(|range| page_near(range.end - 1).filter(|at| range.contains(at)));
    pages.collect()
}

/// How many bytes [`is_safe`] looks at, from [`BEFORE`] bytes before the instruction to be overwritten.
const LOOKED_AT: usize = BEFORE + 13;
/// As many as an instruction can have that ends with what looks like one to be overwritten.
const BEFORE: usize = 6;

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
    let [u, v, w, x, y, z, opcode, a, b, c, d, rest @ ..] = bytes;
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
        && !is_an_end([*u, *v, *w, *x, *y, *z])
        && after.is_some_and(|after| compared.iter().any(|c| after.starts_with(c)))
}

/// Whether an instruction may begin in these bytes and end with what looks like a `mov` of 5 bytes (Intel SDM, volume 2,
/// 2.1 to 2.3). What it could only be where the program fails is left out: without one of these prefixes, memory is read
/// relative to rax or rdi, which have the value of that `mov`. Nobody knows where instructions begin, so this is a guess
/// for code that no compiler makes.
fn is_an_end([u, v, w, x, y, z]: [u8; BEFORE]) -> bool {
    let has_immediate = |opcode| matches!(opcode, 0x69 | 0x81 | 0xc7 | 0xf7);
    let is_prefix = |byte: u8| byte & 0xf1 == 0x41 || matches!(byte, 0x64 | 0x65 | 0x67);
    let has_index = |modrm: u8| modrm & 7 == 4;
    // A prefix; `lea`; an index and four bytes of displacement follow.
    (z & 0xf0 == 0x40 || z == 0x66 || z == 0x8d || z >> 6 == 2 && has_index(z))
        // Opcodes of two and three bytes, of VEX and EVEX; `movabs`.
        || (y == 0x0f || x == 0x0f && matches!(y, 0x38 | 0x3a) || w == 0xc4 || v == 0x62)
        || v & 0xf8 == 0x48 && w & 0xf8 == 0xb8
        || is_prefix(y)
        // The displacement of what has an immediate value: a byte, or the last one of four.
        || has_immediate(y)
        || has_immediate(x) && y >> 6 == 1 && has_index(y)
        || has_immediate(v) && (w >> 6 == 2 || w & 0xc7 == 5)
        || has_immediate(u) && v >> 6 == 2 && has_index(v)
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

    /// What is before, and `mov`, `syscall`, a comparison.
    fn bytes(before: u64, text: &str) -> [u8; LOOKED_AT] {
        let bytes = text.split(' ').map(|b| u8::from_str_radix(b, 16).unwrap());
        before.to_be_bytes()[2..]
            .iter()
            .copied()
            .chain(bytes)
            .collect::<Vec<_>>()
            .try_into()
            .unwrap()
    }

    #[test]
    fn only_a_plain_move_before_a_call_that_is_checked_is_overwritten() {
        let safe = |before, text: &str| is_safe(&bytes(before, text), 0x106, 0xffff_ff9c);
        let plain = "b8 06 01 00 00 0f 05 48 3d 00 f0 ff ff";
        for (text, is) in [
            (plain, true),
            ("b8 06 01 00 00 0f 05 3d 00 f0 ff ff 77", true),
            ("bf 9c ff ff ff 0f 05 48 3d 01 f0 ff ff", true),
            ("b8 07 01 00 00 0f 05 48 3d 00 f0 ff ff", false),
            ("bf 07 01 00 00 0f 05 48 3d 00 f0 ff ff", false),
            ("ba 06 01 00 00 0f 05 48 3d 00 f0 ff ff", false),
            ("b8 06 01 00 00 0f 34 48 3d 00 f0 ff ff", false),
            ("b8 06 01 00 00 0f 05 72 3d 00 f0 ff ff", false),
        ] {
            assert_eq!(safe(0xc1, text), is, "{text}");
        }
        // Ends of `mov edi, eax`, `xor eax, eax`, `mov rdx, rsp`, `mov r10d, 0x100`, `mov rsi, [rsp + 8]`.
        for before in [0x89c7, 0x31c0, 0x4889e2, 0x00ba_0001_0000, 0x0048_8b74_2408] {
            assert!(safe(before, plain), "{before:x}");
        }
        // r8d; of 16 bits; `lea`; an index; of fs; `movzx`, a long no-operation, `movbe`; VEX, EVEX; `movabs`; an immediate
        // value behind a displacement of one byte, with an index, and of four bytes.
        for before in [
            0x41,
            0x66,
            0x8d,
            0x8b84,
            0x418b,
            0x648b,
            0x410fb6,
            0x0f1f,
            0x410f_38f0,
            0xc4c1_7810,
            0x0062_d17c_4810,
            0x0048_be33_2211,
            0xc745,
            0xc74424,
            0x41c7_8100_0000,
            0x00c7_0500_0000,
        ] {
            assert!(!safe(before, plain), "{before:x}");
        }
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
}
