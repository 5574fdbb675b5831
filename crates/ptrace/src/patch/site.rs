//! Which call sites can be patched, and where there is room near them.

use super::layout as l;
use crate::sys::{SyscallInfo, Tid};
use needless_host::code_ends;
use std::ops::Range;
use std::sync::LazyLock;

const PAGE: u64 = 4096;
/// Nothing of ours is mapped below.
const LOWEST: u64 = 1 << 20;

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

    /// A free page below `address`, as far from it as a jump allows, so that what is near stays free; or another one that
    /// a jump reaches.
    pub(crate) fn page_near(&self, address: u64) -> Option<u64> {
        self.page_below(address).or_else(|| self.page_in_gap(address))
    }

    /// A page in the largest gap that a jump from `address` reaches: Go and the JVM reserve all that is below the libraries.
    fn page_in_gap(&self, address: u64) -> Option<u64> {
        const REACH: u64 = 1 << 30;
        let lowest = address.saturating_sub(REACH).max(LOWEST).next_multiple_of(PAGE);
        let ends = self.mapped.iter().map(|range| range.end);
        let gaps = ends.zip(self.mapped.iter().skip(1).map(|range| range.start));
        let (start, end, is_for_stack) = gaps
            .filter(|(start, _)| Some(*start) != self.heap_end)
            .map(|(start, end)| {
                let last = end.min(address.saturating_add(REACH));
                (start.max(lowest), last, Some(end) == self.stack)
            })
            .filter(|(start, end, _)| start + PAGE <= *end)
            .max_by_key(|(start, end, _)| end - start)?;
        Some(if is_for_stack { start } else { (start + (end - start) / 2) / PAGE * PAGE })
    }

    fn page_below(&self, address: u64) -> Option<u64> {
        (16..=30).rev().filter_map(|bits| address.checked_sub(1 << bits)).find_map(|page| {
            let page = page / PAGE * PAGE;
            let free = |range: &Range<u64>| range.end <= page || page + PAGE <= range.start;
            (page >= LOWEST && self.mapped.iter().all(free)).then_some(page)
        })
    }
}

/// Whether the jump at `start` is written at once: by one word, in one page.
pub(crate) fn is_in_one_page(start: u64) -> bool {
    start % PAGE <= PAGE - 8
}

/// Whether it may be written while other threads execute it: at once, by one store into an aligned word, on a processor
/// for which that is enough. AMD says so (AMD64, volume 2, 7.6.1: the others execute the old instruction or the new one);
/// for others Intel's manual (SDM, volume 3, 9.1.3) wants each of them to be stopped.
pub(crate) fn is_written_at_once(start: u64) -> bool {
    static ONE_STORE: LazyLock<bool> = LazyLock::new(|| {
        let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        is_enough_for(&about)
    });
    *ONE_STORE && start % 8 + l::JUMP <= 8
}

/// Whether one store is enough for all processors of /proc/cpuinfo.
fn is_enough_for(cpuinfo: &str) -> bool {
    let mut vendors = cpuinfo.lines().filter_map(|line| line.strip_prefix("vendor_id")).peekable();
    let known = |vendor: &str| {
        ["AuthenticAMD", "HygonGenuine"].contains(&vendor.trim_start_matches([' ', '\t', ':']))
    };
    vendors.peek().is_some() && vendors.all(known)
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
    fn one_store_is_enough_only_where_that_is_documented() {
        let of =
            |vendor: &str| format!("processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: 25\n");
        assert!(is_enough_for(&of("AuthenticAMD")));
        assert!(is_enough_for(&(of("AuthenticAMD") + &of("AuthenticAMD"))));
        assert!(!is_enough_for(&of("GenuineIntel")));
        assert!(!is_enough_for(&(of("AuthenticAMD") + &of("GenuineIntel"))));
        assert!(!is_enough_for(""));
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
        let rest = |above: &str| {
            let below = "7f0000000000-7f0040000000 ---p 00000000 00:00 0\n\
                         7f0040000000-7f0040001000 r-xp 00000000 fd:00 12   /lib/x.so\n";
            Map::parse(&format!("{below}{above}")).page_near(site)
        };
        let (lib, far) =
            ("7f0040010000-7f0040011000 r--p 00000000 fd:00 13", "7f7000000000-7f7000001000");
        assert_eq!(rest(&format!("{lib}\n")), Some(0x7f00_4000_8000), "in the gap before it");
        let stack = format!("{lib}\n{far} rw-p 00000000 00:00 0    [stack]\n");
        assert_eq!(rest(&stack), Some(0x7f00_4001_1000), "far from the stack");
        let heap = "7f0040001000-7f0040002000 rw-p 00000000 00:00 0    [heap]\n";
        assert_eq!(rest(&format!("{heap}{far} rw-p 00000000 00:00 0\n")), None, "the heap grows");
        let page = Map::parse("").page_near(site).unwrap();
        assert!(page < site && distance(site, page).is_some() && page.is_multiple_of(4096));
        assert!(Map::parse("").page_near(0x40_1000).unwrap() < 0x40_1000);
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
