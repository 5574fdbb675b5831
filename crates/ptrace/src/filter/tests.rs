//! The filter, run as the kernel runs it.

use super::*;
use needless_syscalls::{CLONE_UNTRACED, CallKind, abis};

/// Runs a filter as the kernel does.
fn run(code: &[sock_filter], arch: u32, nr: u32, args: [u64; 6]) -> u32 {
    run_from(0, code, arch, nr, args)
}

fn run_from(ip: u64, code: &[sock_filter], arch: u32, nr: u32, args: [u64; 6]) -> u32 {
    let mut data = Vec::new();
    data.extend(nr.to_ne_bytes());
    data.extend(arch.to_ne_bytes());
    data.extend(ip.to_ne_bytes());
    args.iter().for_each(|a| data.extend(a.to_ne_bytes()));
    let (mut at, mut a, mut x) = (0, 0u32, 0u32);
    loop {
        let i = &code[at];
        at += 1;
        let test = |yes: bool| if yes { i.jt as usize } else { i.jf as usize };
        match u32::from(i.code) {
            c if c == BPF_LD | BPF_W | BPF_ABS => {
                let k = i.k as usize;
                a = u32::from_ne_bytes(data[k..k + 4].try_into().unwrap());
            }
            c if c == BPF_ALU | BPF_AND | BPF_K => a &= i.k,
            c if c == BPF_ALU | BPF_ADD | BPF_K => a = a.wrapping_add(i.k),
            c if c == BPF_ALU | BPF_NEG => a = a.wrapping_neg(),
            c if c == BPF_MISC | BPF_TAX => x = a,
            c if c == BPF_JMP | BPF_JGT | BPF_X => at += test(a > x),
            c if c == BPF_JMP | BPF_JEQ | BPF_K => at += test(a == i.k),
            c if c == BPF_JMP | BPF_JGE | BPF_K => at += test(a >= i.k),
            c if c == BPF_JMP | BPF_JSET | BPF_K => at += test(a & i.k != 0),
            c if c == BPF_JMP | BPF_JA => at += i.k as usize,
            c if c == BPF_RET | BPF_K => return i.k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[test]
fn from_the_stub_a_call_need_not_stop_and_its_report_does() {
    let exempt = crate::patch::exempt().unwrap();
    let abis = abis();
    let code = program(&abis, Some(exempt));
    let action =
        |abi: usize, ip: u64, nr: i64, args| run_from(ip, &code, abis[abi].audit, nr as u32, args);
    let (stub, elsewhere) = (exempt.calls_from, 0x7f00_0000_1000);
    for nr in [libc::SYS_newfstatat, libc::SYS_openat, libc::SYS_readlink, libc::SYS_statx] {
        assert_eq!(action(0, stub, nr, [0; 6]), SECCOMP_RET_ALLOW, "{nr}");
        for other in [elsewhere, stub + 1, stub ^ 1 << 32, exempt.reports_from] {
            assert_eq!(action(0, other, nr, [0; 6]), STOP, "{nr} from {other:#x}");
        }
    }
    assert_eq!(action(0, stub, libc::SYS_unlink, [0; 6]), STOP);
    assert_eq!(action(0, exempt.reports_from, libc::SYS_getppid, [0; 6]), STOP);
    assert_eq!(action(0, elsewhere, libc::SYS_getppid, [0; 6]), SECCOMP_RET_ALLOW);
    // open of i386, from the same address.
    assert_eq!(action(1, stub, 5, [0; 6]), STOP);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_call_stops_before_it_ends_patching() {
    let exempt = crate::patch::exempt().unwrap();
    let (abis, plain) = (abis(), program(&abis(), None));
    let code = program(&abis, Some(exempt));
    assert!(code.len() < 4096, "BPF_MAXINSNS");
    let stops = |abi: usize, nr: i64, args| {
        let [action, before] =
            [&code, &plain].map(|code| run(code, abis[abi].audit, nr as u32, args));
        assert!(action == STOP || before != STOP, "{nr} {args:x?}");
        action == STOP
    };
    let (room, near) = (u64::from(exempt.high) << 32, 0x7f12_0000_0000 | u64::from(exempt.low));
    let fixed = libc::MAP_FIXED as u64;
    for (start, length, reaches) in [
        (room, 1, true),
        (room - 4096, 8192, true),
        (4096, room, true),
        (near, 1, true),
        (near ^ 1 << 31, 1, true),
        (near - 4096, 4097, true),
        (near - 4096, 4096, false),
        (near + 4096, (1 << 31) - 4096, false),
        (near + 4096, (1 << 31) - 4095, true),
        (0x7f12_3456_7000, 4096, false),
        (0x7f12_3456_7000, 1 << 33, true),
    ] {
        let first = [start, length, 0, fixed, 0, 0];
        for nr in [
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_mprotect,
            libc::SYS_pkey_mprotect,
            libc::SYS_madvise,
            libc::SYS_mremap,
        ] {
            // Large blocks stop in any case.
            let large = run(&plain, abis[0].audit, nr as u32, first) == STOP;
            assert_eq!(stops(0, nr, first), reaches || large, "{nr} {first:x?}");
        }
        let moved = |flags| [0x7f12_3456_7000, 4096, length, flags, start, 0];
        assert_eq!(stops(0, libc::SYS_mremap, moved(2)), reaches, "{start:x} {length:x}");
        assert!(!stops(0, libc::SYS_mremap, moved(1)));
    }
    assert!(!stops(0, libc::SYS_mmap, [near, 4096, 0, 0, 0, 0]), "a hint");
    let (thread, process, vfork) = (0x3d_0f00, 0x100 | 17, 0x4100 | 17);
    for (flags, ends) in [(thread, true), (process, true), (vfork, false), (17, false)] {
        // clone of x86-64, x32 and i386.
        for (abi, nr) in [(0, 56), (0, 56 | X32_BIT as i64), (1, 120)] {
            assert_eq!(stops(abi, nr, [flags, 0, 0, 0, 0, 0]), ends, "{flags:x} {nr}");
        }
    }
    for (option, ends) in [(22, true), (26, true), (59, true), (4, true), (15, false)] {
        assert_eq!(stops(0, libc::SYS_prctl, [option, 0, 0, 0, 0, 0]), ends, "{option}");
    }
    assert!(stops(0, libc::SYS_seccomp, [1, 0, 0, 0, 0, 0]));
    assert!(stops(0, libc::SYS_shmat, [0, 0, 0o40000, 0, 0, 0]));
    assert!(!stops(0, libc::SYS_shmat, [0, 0, 0o10000, 0, 0, 0]));
}

#[test]
fn the_filter_stops_exactly_what_the_table_says() {
    let abis = abis();
    let code = program(&abis, None);
    assert!(code.len() < 4096, "BPF_MAXINSNS");
    for abi in &abis {
        for nr in 0..700u32 {
            let call = abi.calls.get(nr as usize).and_then(|c| c.as_ref());
            let kind = call.filter(|call| !is_for_children(call)).map(|c| c.kind);
            for args in [
                [0; 6],
                [1; 6],
                [1, 2, 1023, 4, 5, 6],
                [1, 2, 1024, 4, 5, 6],
                [0, 2, 15, 4, 5, 6],
                [256; 6],
                [255; 6],
                [2; 6],
                [11; 6],
                [22; 6],
                [59; 6],
                [CLONE_UNTRACED; 6],
                [u64::MAX; 6],
            ] {
                let expected = kind.and_then(CallKind::stops).is_some_and(|when| when.holds(&args));
                let action = run(&code, abi.audit, nr, args);
                assert_eq!(action == STOP, expected, "{nr} of {:#x}", abi.audit);
                assert!(matches!(action, STOP | SECCOMP_RET_ALLOW));
            }
        }
    }
    assert_eq!(run(&code, 0x1234, 2, [0; 6]), SECCOMP_RET_ALLOW, "unknown ABI");
    if cfg!(target_arch = "x86_64") {
        let x32 = |nr| run(&code, abis[0].audit, nr | X32_BIT as u32, [0; 6]);
        assert_eq!(x32(2), STOP, "x32 open");
        assert_eq!(x32(520), STOP, "x32 execve");
        assert_eq!(x32(20), SECCOMP_RET_ALLOW, "x32 writev");
    }
}
