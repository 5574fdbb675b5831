//! `doctor` on this machine. Alone in its process, because it counts the next process that this one
//! forks.

use needless_observe::{Check, State, doctor};

fn named<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    let mut found = checks.iter().filter(|check| check.name == name);
    let check = found.next().unwrap_or_else(|| panic!("{name}: {checks:#?}"));
    assert!(found.next().is_none(), "{name} twice");
    check
}

/// The number before "calls".
fn calls(check: &Check) -> u64 {
    let before = check.says.split(" calls").next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{check:?}"))
}

#[test]
fn doctor_tells_the_truth_of_this_machine() {
    let checks = doctor();
    for check in &checks {
        assert!(!check.says.is_empty() && !check.says.contains('\n'), "{check:?}");
        assert!(check.state != State::Bad || check.remedy.is_some(), "{check:?}");
    }
    for name in [
        "kernel",
        "ebpf",
        "rights",
        "others",
        "btf",
        "lockdown",
        "bpf users",
        "tracefs",
        "ptrace",
        "yama",
        "confinement",
        "seccomp",
        "clock",
        "cgroups",
        "libc",
        "zone",
        "shell",
        "locale",
        "strace",
    ] {
        named(&checks, name);
    }
    let ptrace = named(&checks, "ptrace");
    assert_eq!(ptrace.state, State::Good, "{ptrace:?}");
    assert!(calls(ptrace) > 1, "{ptrace:?}");
    assert!(named(&checks, "zone").says.contains("/etc/localtime"));
    counts_alike(&checks);
}

#[cfg(feature = "ebpf")]
fn counts_alike(checks: &[Check]) {
    let (ebpf, rights) = (named(checks, "ebpf"), named(checks, "rights"));
    if !needless_ebpf::BUILT {
        assert_eq!(ebpf.state, State::Bad, "{ebpf:?}");
        assert!(ebpf.remedy.as_ref().unwrap().contains("clang libelf-dev zlib1g-dev"), "{ebpf:?}");
    } else if !needless_ebpf::allowed() {
        assert_eq!((ebpf.state, rights.state), (State::Told, State::Bad), "{ebpf:?} {rights:?}");
    } else if rights.state == State::Good && named(checks, "btf").state == State::Good {
        assert_eq!(ebpf.state, State::Good, "{ebpf:?}");
        assert_eq!(calls(ebpf), calls(named(checks, "ptrace")), "the same program in both");
        named(checks, "mappings");
    } else {
        assert_eq!(ebpf.state, State::Bad, "{ebpf:?}");
    }
}

#[cfg(not(feature = "ebpf"))]
fn counts_alike(checks: &[Check]) {
    assert_eq!(named(checks, "ebpf").state, State::Bad);
}
