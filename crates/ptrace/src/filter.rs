//! The seccomp filter: which calls stop for the tracer.

use crate::ending::{Ending, Range};
use libc::{
    BPF_ABS, BPF_ADD, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JGT, BPF_JMP, BPF_JSET,
    BPF_K, BPF_LD, BPF_MISC, BPF_NEG, BPF_RET, BPF_TAX, BPF_W, BPF_X, CLONE_FILES, CLONE_THREAD,
    CLONE_VFORK, CLONE_VM, SECCOMP_RET_ALLOW, SECCOMP_RET_TRACE, sock_filter,
};
use needless_syscalls::{Abi, Call, Condition, Flags, X32_BIT};

/// What the filter returns in the lower 16 bits if a call must stop ("NL"): a filter of the command's
/// own may ask for its tracer, too, and it has none.
pub(crate) const OURS: u32 = 0x4e4c;
const STOP: u32 = SECCOMP_RET_TRACE | OURS;

/// Offsets in `struct seccomp_data` (linux/seccomp.h).
const NR: u32 = 0;
const ARCH: u32 = 4;
const IP: u32 = 8;
const ARGS: u32 = 16;

/// The filter program for `abis`: the calls that rules ask about stop, all others run untouched, calls
/// of an unknown ABI too.
///
/// A binary search. What does not depend on arguments is decided with only the instructions that the kernel's cache of
/// always-allowed calls understands (Linux 5.11): for most calls the filter does not run.
pub(crate) fn program(abis: &[Abi], exempt: Option<Exempt>) -> Vec<sock_filter> {
    let mut code = vec![load(ARCH)];
    for (nth, abi) in abis.iter().enumerate() {
        let body = of_abi(abi, exempt, nth == 0);
        code.push(jump(BPF_JEQ, abi.audit, 1, 0));
        code.push(skip(body.len()));
        code.extend(body);
    }
    code.push(ret(SECCOMP_RET_ALLOW));
    code
}

/// Addresses that decide, in programs of the machine's own ABI; as the kernel reports them, after the instruction.
#[derive(Clone, Copy)]
pub(crate) struct Exempt {
    /// A call from here need not stop.
    pub(crate) calls_from: u64,
    /// This call stops if it comes from `reports_from`.
    pub(crate) report: u32,
    pub(crate) reports_from: u64,
    /// What is mapped for patches has this upper half of its address, or starts at a page whose address has these low
    /// 31 bits: who changes something that may reach it stops.
    pub(crate) high: u32,
    pub(crate) low: u32,
}

/// When a call stops.
#[derive(Clone, Copy)]
enum Stop {
    If(Condition),
    /// Unless it comes from here.
    Except(u64),
    /// If it comes from here.
    From(u64),
    /// If patched sites may not stay after it, or on the condition.
    IfEnding(Ending, Option<Condition>, Exempt),
}

fn of_abi(abi: &Abi, exempt: Option<Exempt>, is_own: bool) -> Vec<sock_filter> {
    let when = |call: &Call| {
        let condition = call.kind.stops();
        match (exempt, Ending::of(call, abi.is_64bit)) {
            (Some(exempt), _) if is_own && crate::patch::patchable(call).is_some() => {
                Some(Stop::Except(exempt.calls_from))
            }
            (Some(exempt), Some(ending)) => Some(Stop::IfEnding(ending, condition, exempt)),
            _ if is_for_children(call) => None,
            _ => condition.map(Stop::If),
        }
    };
    let mut stops: Vec<(u32, Stop)> = abi
        .calls
        .iter()
        .enumerate()
        .filter_map(|(nr, call)| Some((nr as u32, when(call.as_ref()?)?)))
        .collect();
    let report = exempt.filter(|_| is_own);
    stops.extend(report.map(|exempt| (exempt.report, Stop::From(exempt.reports_from))));
    stops.sort_by_key(|(nr, _)| *nr);
    // x32 differs from x86-64 by one bit; other ABIs have no numbers that large.
    let mut code = vec![load(NR), instruction(BPF_ALU | BPF_AND | BPF_K, 0, 0, !(X32_BIT as u32))];
    code.extend(search(&stops));
    code
}

/// Whether it waits for children: their ends and stops are seen anyway.
fn is_for_children(call: &Call) -> bool {
    matches!(call.name, "wait4" | "waitpid" | "waitid")
}

/// Code that stops the calls in `stops` and allows the others. Every path ends in a return.
fn search(stops: &[(u32, Stop)]) -> Vec<sock_filter> {
    if stops.len() > 4 {
        let (below, above) = stops.split_at(stops.len() / 2);
        let (left, right) = (search(below), search(above));
        let mut code = match u8::try_from(left.len()) {
            Ok(over) => vec![jump(BPF_JGE, above[0].0, over, 0)],
            Err(_) => vec![jump(BPF_JGE, above[0].0, 0, 1), skip(left.len())],
        };
        code.extend(left);
        code.extend(right);
        return code;
    }
    let mut code = Vec::new();
    for (nr, when) in stops {
        let hit = match *when {
            Stop::If(condition) => stop(condition),
            Stop::Except(address) => from(address, SECCOMP_RET_ALLOW, STOP),
            Stop::IfEnding(ending, condition, exempt) => if_ending(ending, condition, exempt),
            Stop::From(address) => from(address, STOP, SECCOMP_RET_ALLOW),
        };
        code.push(jump(BPF_JEQ, *nr, 0, hit.len() as u8));
        code.extend(hit);
    }
    code.push(ret(SECCOMP_RET_ALLOW));
    code
}

/// `there` for a call from `address`, else `elsewhere`.
fn from(address: u64, there: u32, elsewhere: u32) -> Vec<sock_filter> {
    let (low, high) = if cfg!(target_endian = "big") { (4, 0) } else { (0, 4) };
    vec![
        load(IP + high),
        jump(BPF_JEQ, (address >> 32) as u32, 0, 3),
        load(IP + low),
        jump(BPF_JEQ, address as u32, 0, 1),
        ret(there),
        ret(elsewhere),
    ]
}

fn if_ending(ending: Ending, when: Option<Condition>, exempt: Exempt) -> Vec<sock_filter> {
    let (mut code, when) = match (ending, when) {
        // All of these options.
        (Ending::Restricts(Condition::OneOf(at, bits)), Some(Condition::OneOf(_, others))) => {
            (Vec::new(), Some(Condition::OneOf(at, bits | others)))
        }
        (Ending::Restricts(condition), _) => (Vec::new(), Some(condition)),
        // As `shares` says.
        (Ending::Shares(Flags::Argument), when) => {
            let code = vec![
                load(low_word(0)),
                jump(BPF_JSET, (CLONE_THREAD | CLONE_FILES) as u32, 3, 0),
                jump(BPF_JSET, CLONE_VM as u32, 0, 1),
                jump(BPF_JSET, CLONE_VFORK as u32, 2, 1),
                jump(BPF_JSET, CLONE_VFORK as u32, 0, 1),
                ret(STOP),
            ];
            (code, when)
        }
        (Ending::Shares(Flags::Structure), _) => (Vec::new(), Some(Condition::Always)),
        (Ending::Changes(ranges), when) => {
            (ranges.iter().flat_map(|range| if_reaches(*range, exempt)).collect(), when)
        }
    };
    code.extend(when.map_or_else(|| vec![ret(SECCOMP_RET_ALLOW)], stop));
    code
}

/// Stops a call if `range` of its arguments may reach what is mapped for patches. Its start is a multiple of the size of
/// a page, or the call fails.
fn if_reaches(range: Range, exempt: Exempt) -> Vec<sock_filter> {
    const LOW_31: u32 = 0x7fff_ffff;
    let reaches = vec![
        load(high_word(range.length)),
        jump(BPF_JEQ, 0, 0, 10),
        // What is shorter than 4 GiB can begin in the 4 GiB before.
        load(high_word(range.start)),
        jump(BPF_JEQ, exempt.high, 8, 0),
        jump(BPF_JEQ, exempt.high.wrapping_sub(1), 7, 0),
        // How far the next such page is from its start.
        load(low_word(range.start)),
        instruction(BPF_ALU | BPF_NEG, 0, 0, 0),
        instruction(BPF_ALU | BPF_ADD | BPF_K, 0, 0, exempt.low),
        instruction(BPF_ALU | BPF_AND | BPF_K, 0, 0, LOW_31),
        instruction(BPF_MISC | BPF_TAX, 0, 0, 0),
        load(low_word(range.length)),
        instruction(BPF_JMP | BPF_JGT | BPF_X, 0, 1, 0),
        ret(STOP),
    ];
    let mut code = Vec::new();
    if let Some((at, bits)) = range.if_set {
        code.extend([load(low_word(at)), jump(BPF_JSET, bits, 0, reaches.len() as u8)]);
    }
    code.extend(reaches);
    code
}

fn stop(when: Condition) -> Vec<sock_filter> {
    match when {
        Condition::Always => vec![ret(STOP)],
        Condition::NonZero(at) => {
            vec![load(low_word(at)), jump(BPF_JEQ, 0, 1, 0), ret(STOP), ret(SECCOMP_RET_ALLOW)]
        }
        Condition::AtLeast(at, least) => {
            vec![load(low_word(at)), jump(BPF_JGE, least, 0, 1), ret(STOP), ret(SECCOMP_RET_ALLOW)]
        }
        Condition::Stream(fd, below) => vec![
            load(low_word(0)),
            jump(BPF_JEQ, fd, 0, 3),
            load(low_word(2)),
            jump(BPF_JGE, below, 1, 0),
            ret(STOP),
            ret(SECCOMP_RET_ALLOW),
        ],
        Condition::OneOf(at, bits) => {
            let mut code = vec![load(low_word(at))];
            let wanted: Vec<u32> = (0..u64::BITS).filter(|bit| bits & 1 << bit != 0).collect();
            for (done, value) in wanted.iter().enumerate() {
                code.push(jump(BPF_JEQ, *value, (wanted.len() - done) as u8, 0));
            }
            code.extend([ret(SECCOMP_RET_ALLOW), ret(STOP)]);
            code
        }
        Condition::Without(at, bits) => {
            vec![load(low_word(at)), jump(BPF_JSET, bits, 1, 0), ret(STOP), ret(SECCOMP_RET_ALLOW)]
        }
        Condition::With(at, bits) => {
            vec![load(low_word(at)), jump(BPF_JSET, bits, 0, 1), ret(STOP), ret(SECCOMP_RET_ALLOW)]
        }
    }
}

/// Where the low 32 bits of argument `at` are.
fn low_word(at: u8) -> u32 {
    ARGS + 8 * u32::from(at) + if cfg!(target_endian = "big") { 4 } else { 0 }
}

/// Where its high 32 bits are.
fn high_word(at: u8) -> u32 {
    ARGS + 8 * u32::from(at) + if cfg!(target_endian = "big") { 0 } else { 4 }
}

fn load(offset: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, 0, 0, offset)
}

fn jump(test: u32, k: u32, if_true: u8, if_false: u8) -> sock_filter {
    instruction(BPF_JMP | test | BPF_K, if_true, if_false, k)
}

fn skip(instructions: usize) -> sock_filter {
    instruction(BPF_JMP | BPF_JA, 0, 0, instructions as u32)
}

fn ret(action: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, 0, 0, action)
}

fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt, jf, k }
}

#[cfg(test)]
mod tests;
