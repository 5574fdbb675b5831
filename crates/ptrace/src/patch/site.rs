//! Which call sites can be patched, and where there is room near them.

use super::layout as l;
use crate::sys::{SyscallInfo, Tid};
use needless_host::code_ends;
use std::ops::Range;

const PAGE: u64 = 4096;

/// What is mapped executable and private, and what is free, in a process.
#[derive(Clone, Default)]
pub(crate) struct Map {
    mapped: Vec<Range<u64>>,
    code: Vec<Code>,
    /// Where the first page of a file is, and which file.
    starts: Vec<(u64, String)>,
    /// Where the heap ends, which grows up, and where the stack begins, which grows down.
    heap_end: Option<u64>,
    stack: Option<u64>,
}

/// What is executable, and of which part of which file.
#[derive(Clone)]
struct Code {
    range: Range<u64>,
    offset: u64,
    file: String,
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
            let Some(Ok(offset)) = fields.next().map(address) else { continue };
            // Device, inode and name: of no file but the kernel's own code, the last two are "0" and "[vdso]".
            let file: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
            let is_file = file.get(1).is_some_and(|inode| *inode != "0");
            let file = file.join(" ");
            if file.ends_with("[heap]") {
                map.heap_end = Some(end);
            } else if file.ends_with("[stack]") {
                map.stack = Some(start);
            }
            if offset == 0 && (is_file || file.ends_with("[vdso]")) {
                map.starts.push((start, file.clone()));
            }
            // What the process may write is not ours to write, what it shares belongs to others, too.
            if access == "r-xp" {
                map.code.push(Code { range: start..end, offset, file });
            }
        }
        map
    }

    /// Whether all of `range` is code that only we write.
    pub(crate) fn is_code(&self, range: Range<u64>) -> bool {
        let mut code = self.code.iter().map(|code| &code.range);
        code.any(|code| code.start <= range.start && range.end <= code.end)
    }

    /// Where `code` has room in the last page of what is executable, behind all that its file has there: first where
    /// `address` is. `read` reads memory, and returns how much of it could be read.
    pub(crate) fn after_code(
        &self,
        address: u64,
        code: &[u8],
        read: impl Fn(u64, &mut [u8]) -> usize,
    ) -> Option<u64> {
        let (own, others): (Vec<_>, Vec<_>) =
            self.code.iter().partition(|code| code.range.contains(&address));
        own.into_iter().chain(others).find_map(|Code { range, offset, file }| {
            let (first, _) = self.starts.iter().find(|(_, other)| other == file)?;
            let mut header = [0; PAGE as usize];
            let length = read(*first, &mut header);
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
            // As a parent of this process was given it.
            if there[..used].ends_with(code) {
                return Some(end + (used - code.len()) as u64);
            }
            let from = (end + used as u64).next_multiple_of(16);
            (from + code.len() as u64 <= range.end).then_some(from)
        })
    }

    /// A free page that the filter knows ([`l::NEAR`]) and that a jump from `address` reaches: the one below, which is in
    /// the way of no heap, or else the one above.
    pub(crate) fn page_near(&self, address: u64) -> Option<u64> {
        let over = address.checked_sub(l::NEAR);
        let below = over.map(|over| over / l::NEAR_EACH * l::NEAR_EACH + l::NEAR);
        let above = below.map_or(l::NEAR, |page| page + l::NEAR_EACH);
        let mut pages = below.into_iter().chain([above]);
        pages.find(|page| self.is_free(*page) && distance(address, *page).is_some())
    }

    /// Whether nothing is mapped at `page`, and neither heap nor stack is likely to come there.
    fn is_free(&self, page: u64) -> bool {
        const HIGHEST: u64 = (1 << 47) - 2 * PAGE;
        const HEAP: u64 = 1 << 40;
        const STACK: u64 = 1 << 28;
        let free = |range: &Range<u64>| range.end <= page || page + PAGE <= range.start;
        let is_after_heap = self.heap_end.is_some_and(|end| {
            let between = |range: &Range<u64>| end <= range.start && range.start < page;
            (end..end + HEAP).contains(&page) && !self.mapped.iter().any(between)
        });
        let is_below_stack = self.stack.is_some_and(|stack| page < stack && stack - page < STACK);
        page <= HIGHEST && self.mapped.iter().all(free) && !is_after_heap && !is_below_stack
    }
}

/// Whether the jump at `start` is written at once: by one word, in one page.
pub(crate) fn is_in_one_page(start: u64) -> bool {
    start % PAGE <= PAGE - 8
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
/// not taken for it. The `syscall` itself stays: restarts of a call, and jumps to it, still work. The
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
    fn a_page_is_found_below_or_above_and_not_in_what_is_mapped() {
        let near = |code: u64, maps: &str| Map::parse(maps).page_near(code);
        let line = |start: u64, end: u64, name: &str| {
            format!("{start:x}-{end:x} r--p 00000000 00:00 0   {name}\n")
        };
        assert_eq!(near(0x40_1000, ""), Some(0x3f_f000));
        assert_eq!(near(0x5555_5555_4000, ""), Some(0x5555_003f_f000));
        let (code, below, above) = (0x7f12_4000_0800, 0x7f12_003f_f000, 0x7f12_803f_f000);
        assert_eq!(near(code, ""), Some(below));
        assert_eq!(near(code, &line(below - PAGE, below, "")), Some(below));
        let reserved = line(below - 4 * PAGE, below + PAGE, "");
        assert_eq!(near(code, &reserved), Some(above));
        assert_eq!(near(code, &(reserved.clone() + &line(above, above + 1, ""))), None);
        // Where the heap grows to, and the stack.
        let heap = line(code, code + PAGE, "[heap]");
        assert_eq!(near(code, &(reserved.clone() + &heap)), None);
        let far = line(0x5555_5557_0000, 0x5555_5559_1000, "[heap]");
        assert_eq!(near(code, &far), Some(below));
        let library = line(code + PAGE, code + 2 * PAGE, "/lib/x.so");
        assert_eq!(near(code, &(reserved.clone() + &heap + &library)), Some(above));
        let stack = |distance: u64| line(above + distance, above + distance + 9 * PAGE, "[stack]");
        assert_eq!(near(code, &(reserved.clone() + &stack(1 << 25))), None);
        assert_eq!(near(code, &(reserved + &stack(1 << 31))), Some(above));
        // No program is so far up.
        assert_eq!(near(0x7fff_f7d0_0000, &line(0x7fff_8000_0000, 0x7fff_9000_0000, "")), None);
    }

    #[test]
    fn there_is_room_behind_the_code_of_a_file_and_nowhere_else() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let map = Map::parse(&maps);
        let here = |address, into: &mut [u8]| {
            crate::sys::read_memory(std::process::id() as i32, address, into)
        };
        let code = [0xc3; 64];
        let room = map.after_code(0, &code, here).unwrap();
        let mut there = [1; 64];
        assert_eq!(here(room, &mut there), 64);
        assert_eq!(there, [0; 64]);
        assert!(map.is_code(room..room + 64) && !map.is_code(room..room + PAGE));
        // What a parent of this process was given.
        let ours = |address, into: &mut [u8]| {
            let read = here(address, into);
            let at = room.wrapping_sub(address) as usize;
            if let Some(part) = into.get_mut(at..at + 64) {
                part.copy_from_slice(&code);
            }
            read
        };
        assert_eq!(map.after_code(0, &code, ours), Some(room));
        let used = |_, into: &mut [u8]| {
            into.fill(0x7f);
            into.len()
        };
        assert_eq!(map.after_code(0, &code, used), None);
        assert_eq!(map.after_code(0, &[0xc3; 8192], here), None);
    }

    #[test]
    fn jumps_arrive() {
        assert_eq!(jump(0x1000, 0x1005), Some([0xe9, 0, 0, 0, 0]));
        assert_eq!(jump(0x1000, 0x0fff), Some([0xe9, 0xfa, 0xff, 0xff, 0xff]));
        assert_eq!(jump(0x1000, 0x1_8000_1005), None);
    }
}
