//! The machine instructions between a program and a library function: the call, and
//! the stub in the procedure linkage table (PLT).

use object::Architecture;

/// Bytes before a return address that [`call_before`] looks at.
pub(crate) const CALL: u64 = 7;

/// Bytes of a stub that [`stub`] looks at.
pub(crate) const STUB: u64 = 20;

/// A call instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallTarget {
    /// To this address.
    To(u64),
    /// To where the pointer at this address leads.
    Through(u64),
    /// To what a register or a variable holds.
    Computed,
}

/// The call instruction that ends at `end`, whose last bytes are `code`. `None` where `code` does not end with a call:
/// `end` is not a return address then.
pub(crate) fn call_before(machine: Architecture, code: &[u8], end: u64) -> Option<CallTarget> {
    match machine {
        Architecture::X86_64 => x86_64_call(code, end),
        Architecture::Aarch64 => aarch64_call(code, end),
        _ => None,
    }
}

/// The address of the pointer that the stub at `start` with the bytes `code` jumps through.
pub(crate) fn stub(machine: Architecture, code: &[u8], start: u64) -> Option<u64> {
    match machine {
        Architecture::X86_64 => x86_64_stub(code, start),
        Architecture::Aarch64 => aarch64_stub(code, start),
        _ => None,
    }
}

/// Intel SDM vol. 2A, "CALL": E8 with a distance, FF /2 with an operand.
fn x86_64_call(code: &[u8], end: u64) -> Option<CallTarget> {
    let distance = || signed(code.get(code.len().checked_sub(4)?..)?);
    let back = |n: usize| code.len().checked_sub(n).map(|i| code[i]);
    if back(6) == Some(0xff) && back(5) == Some(0x15) {
        return Some(CallTarget::Through(end.wrapping_add(distance()?)));
    }
    if back(5) == Some(0xe8) {
        return Some(CallTarget::To(end.wrapping_add(distance()?)));
    }
    // The byte after FF says how many follow: mode (two bits), 2 (three), register (three).
    let computed = [2, 3, 4, 6, 7].into_iter().any(|length| {
        let (Some(0xff), Some(operand)) = (back(length), back(length - 1)) else { return false };
        let indexed = usize::from(operand & 7 == 4);
        let follow = match operand >> 6 {
            0 if operand & 7 == 5 => return false,
            0 => indexed,
            1 => indexed + 1,
            2 => indexed + 4,
            _ => 0,
        };
        operand >> 3 & 7 == 2 && length == 2 + follow
    });
    computed.then_some(CallTarget::Computed)
}

/// `jmp *slot(%rip)`, after what marks a branch target (endbr64), numbers the stub (mov to r11d,
/// mold's lazy stubs) or was once the MPX prefix (bnd).
fn x86_64_stub(code: &[u8], start: u64) -> Option<u64> {
    let mut rest = code.strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa]).unwrap_or(code);
    if let [0x41, 0xbb, _, _, _, _, after @ ..] = rest {
        rest = after;
    }
    rest = rest.strip_prefix(&[0xf2]).unwrap_or(rest);
    let distance = signed(rest.strip_prefix(&[0xff, 0x25])?.get(..4)?)?;
    let next = start + (code.len() - rest.len() + 6) as u64;
    Some(next.wrapping_add(distance))
}

/// Arm ARM, "BL", "BLR" and its authenticated forms.
fn aarch64_call(code: &[u8], end: u64) -> Option<CallTarget> {
    let call = word(code, code.len().checked_sub(4)?)?;
    if call >> 26 == 0b10_0101 {
        // 26 bits, signed, in words.
        let distance = i64::from((call << 6) as i32 >> 6) * 4;
        return Some(CallTarget::To(end.wrapping_sub(4).wrapping_add_signed(distance)));
    }
    let blr = call & 0xffff_fc1f == 0xd63f_0000 || call & 0xfeff_f800 == 0xd63f_0800;
    blr.then_some(CallTarget::Computed)
}

/// `adrp x16, page; ldr x17, [x16, offset]`, after `bti c` in hardened programs.
fn aarch64_stub(code: &[u8], start: u64) -> Option<u64> {
    const BTI_C: u32 = 0xd503_245f;
    let first = usize::from(word(code, 0)? == BTI_C) * 4;
    let (adrp, ldr) = (word(code, first)?, word(code, first + 4)?);
    let to_x16 = adrp & 0x9f00_001f == 0x9000_0010;
    let x17_from_x16 = ldr & 0xffc0_03ff == 0xf940_0211;
    if !to_x16 || !x17_from_x16 {
        return None;
    }
    // 21 bits of page number, signed: two at bit 29, the others at bit 5.
    let page = (adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3;
    let page = i64::from((page << 11) as i32 >> 11) << 12;
    let here = (start + first as u64) & !0xfff;
    Some(here.wrapping_add_signed(page) + u64::from(ldr >> 10 & 0xfff) * 8)
}

fn word(code: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(code.get(at..at + 4)?.try_into().ok()?))
}

fn signed(four: &[u8]) -> Option<u64> {
    Some(i64::from(i32::from_le_bytes(four.try_into().ok()?)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Architecture::{Aarch64, X86_64};

    fn x86(code: &[u8]) -> Option<CallTarget> {
        call_before(X86_64, code, 0x1000)
    }

    #[test]
    fn x86_64_calls() {
        assert_eq!(x86(&[0x90, 0x90, 0xe8, 0x10, 0, 0, 0]), Some(CallTarget::To(0x1010)));
        assert_eq!(x86(&[0x90, 0x90, 0xe8, 0xf0, 0xff, 0xff, 0xff]), Some(CallTarget::To(0xff0)));
        assert_eq!(x86(&[0x90, 0xff, 0x15, 0, 1, 0, 0]), Some(CallTarget::Through(0x1100)));
        for computed in [
            &[0xff, 0xd0][..],               // *%rax
            &[0x41, 0xff, 0xd4],             // *%r12
            &[0xff, 0x10],                   // *(%rax)
            &[0xff, 0x50, 8],                // *8(%rax)
            &[0xff, 0x54, 0x24, 8],          // *8(%rsp)
            &[0xff, 0x90, 0, 1, 0, 0],       // *256(%rax)
            &[0xff, 0x94, 0x24, 0, 1, 0, 0], // *256(%rsp)
            &[0xff, 0x14, 0xc3],             // *(%rbx,%rax,8)
        ] {
            assert_eq!(x86(computed), Some(CallTarget::Computed), "{computed:x?}");
        }
        for other in [&[0x90; 7][..], &[0xff, 0xe0], &[0xff, 0x25, 0, 0, 0, 0], &[0xe8], &[]] {
            assert_eq!(x86(other), None, "{other:x?}");
        }
    }

    #[test]
    fn x86_64_stubs() {
        let plain = [0xff, 0x25, 0x10, 0, 0, 0, 0x68, 0, 0, 0, 0];
        assert_eq!(stub(X86_64, &plain, 0x1000), Some(0x1016));
        let hardened = [0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x10, 0, 0, 0];
        assert_eq!(stub(X86_64, &hardened, 0x1000), Some(0x101b));
        let numbered = [0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, 1, 0, 0, 0, 0xff, 0x25, 0x10, 0, 0, 0];
        assert_eq!(stub(X86_64, &numbered, 0x1000), Some(0x1020));
        assert_eq!(stub(X86_64, &[0x55, 0x48, 0x89, 0xe5], 0x1000), None);
        assert_eq!(stub(X86_64, &[0xff, 0x25, 0], 0x1000), None, "cut off");
    }

    #[test]
    fn aarch64_calls_and_stubs() {
        let a64 = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
        // bl .-16, bl .+8, blr x8, blraaz x8, ret
        let call = |word| call_before(Aarch64, &a64(&[word]), 0x1004);
        assert_eq!(call(0x97ff_fffc), Some(CallTarget::To(0xff0)));
        assert_eq!(call(0x9400_0002), Some(CallTarget::To(0x1008)));
        assert_eq!(call(0xd63f_0100), Some(CallTarget::Computed));
        assert_eq!(call(0xd63f_091f), Some(CallTarget::Computed));
        assert_eq!(call(0xd65f_03c0), None);
        // adrp x16, +0x1f000; ldr x17, [x16, #0xfb8]
        let plain = [0xf000_00f0, 0xf947_de11];
        assert_eq!(stub(Aarch64, &a64(&plain), 0x5d0), Some(0x1ffb8));
        let hardened = [0xd503_245f, 0xf000_00f0, 0xf947_de11];
        assert_eq!(stub(Aarch64, &a64(&hardened), 0x5d0), Some(0x1ffb8));
        assert_eq!(stub(Aarch64, &a64(&[0xd503_245f, 0xd65f_03c0, 0]), 0x5d0), None);
    }
}
