//! `doctor` on this machine. Alone in its process, because it counts the next process that this one
//! forks.

use needless_ebpf::SessionError;
use needless_observe::{CheckState, HostCheck, doctor};

fn named<'a>(checks: &'a [HostCheck], name: &str) -> &'a HostCheck {
    let mut found = checks.iter().filter(|check| check.name == name);
    let check = found.next().unwrap_or_else(|| panic!("{name}: {checks:#?}"));
    assert!(found.next().is_none(), "{name} twice");
    check
}

/// The number before "calls".
fn calls(check: &HostCheck) -> u64 {
    let before = check.says.split(" calls").next().unwrap();
    before.rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{check:?}"))
}

#[test]
fn what_doctor_reports_is_true_of_this_machine() {
    let checks = doctor();
    for check in &checks {
        assert!(!check.says.is_empty() && !check.says.contains('\n'), "{check:?}");
        assert!(check.state != CheckState::Bad || check.remedy.is_some(), "{check:?}");
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
    assert_eq!(ptrace.state, CheckState::Good, "{ptrace:?}");
    assert!(calls(ptrace) > 1, "{ptrace:?}");
    assert!(named(&checks, "zone").says.contains("/etc/localtime"));
    counts_alike(&checks);
}

fn counts_alike(checks: &[HostCheck]) {
    let (ebpf, rights) = (named(checks, "ebpf"), named(checks, "rights"));
    if needless_ebpf::usable() == Err(SessionError::NotBuilt) {
        assert_eq!(ebpf.state, CheckState::Bad, "{ebpf:?}");
        assert!(ebpf.remedy.as_ref().unwrap().contains("clang libelf-dev zlib1g-dev"), "{ebpf:?}");
    } else if needless_ebpf::usable().is_err() {
        assert_eq!(
            (ebpf.state, rights.state),
            (CheckState::Info, CheckState::Bad),
            "{ebpf:?} {rights:?}"
        );
    } else if rights.state == CheckState::Good && named(checks, "btf").state == CheckState::Good {
        assert_eq!(ebpf.state, CheckState::Good, "{ebpf:?}");
        assert_eq!(calls(ebpf), calls(named(checks, "ptrace")), "the same program in both");
        named(checks, "mappings");
    } else {
        assert_eq!(ebpf.state, CheckState::Bad, "{ebpf:?}");
    }
}
