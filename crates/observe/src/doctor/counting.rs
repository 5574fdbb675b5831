//! Counting in the kernel with eBPF: whether it is built in, what it needs, and whether it works.

use super::{HostCheck, field};
use needless_ebpf::SessionError;
use std::fs;
use std::path::{Path, PathBuf};

// Bits of the capability sets: linux/capability.h.
const CAP_DAC_READ_SEARCH: u64 = 1 << 2;
const CAP_SYS_PTRACE: u64 = 1 << 19;
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

const TYPES: &str = "/sys/kernel/btf/vmlinux";

pub(super) fn checks(status: &str) -> Vec<HostCheck> {
    let text = |path: &str| fs::read_to_string(path).ok();
    let types = fs::read(TYPES).map_err(|error| error.to_string());
    let users = text("/proc/self/uid_map");
    let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("needless"));
    let tracefs = tracefs_of(&text("/proc/self/mounts").unwrap_or_default());
    let readable = tracefs.as_deref().is_some_and(|dir| Path::new(dir).join("events").is_dir());
    let mut checks = vec![
        ebpf(),
        rights(status, users.as_deref().unwrap_or_default(), &program),
        others(status, users.as_deref().unwrap_or_default(), &program),
        btf(&types),
        lockdown(text("/sys/kernel/security/lockdown").as_deref()),
        everybody(text("/proc/sys/kernel/unprivileged_bpf_disabled").as_deref()),
        self::tracefs(tracefs.as_deref(), readable),
    ];
    checks.extend(types.ok().map(|types| mappings(&types)));
    checks
}

/// What is wrong where it is not even tried.
fn unusable(error: &SessionError) -> HostCheck {
    if let SessionError::NoRights = error {
        return HostCheck::info("ebpf", "built in; not tried, because rights are missing");
    }
    let says = "this needless was built without it, because clang or the headers of libelf \
                or zlib were missing";
    HostCheck::bad("ebpf", says)
        .remedy("sudo apt-get install clang libelf-dev zlib1g-dev, then build needless again")
}

/// Counts the calls of a real program: whatever forbids it shows.
fn ebpf() -> HostCheck {
    use needless_ebpf::{Scope, Session, SessionOptions};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::Instant;
    if let Err(error) = needless_ebpf::usable() {
        return unusable(&error);
    }
    let Some(program) = super::true_program() else {
        return HostCheck::info("ebpf", "built in; not tried: there is no /bin/true");
    };
    let options = SessionOptions { all: true, ..SessionOptions::default() };
    let begin = Instant::now();
    let session = match Session::start(&Scope::Launched, &options) {
        Ok(session) => session,
        Err(error) => {
            return HostCheck::bad("ebpf", error.to_string()).remedy(
                "the next lines show what prevents it; in a container also: \
                 --cap-add=BPF --cap-add=PERFMON; `needless run --backend ptrace` needs none of this",
            );
        }
    };
    let ready = begin.elapsed();
    let ended = Command::new(program)
        .arg0("true")
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let profile = session.finish().profile;
    match ended {
        Err(error) => {
            return HostCheck::info("ebpf", format!("not tried: /bin/true: {error}"));
        }
        Ok(status) if !status.success() => {
            let says = format!("`true` did not end well while it was observed: {status}");
            return HostCheck::bad("ebpf", says).remedy("report this as a bug");
        }
        Ok(_) => {}
    }
    let calls = profile.totals.calls;
    if calls == 0 || !profile.lost.is_empty() {
        let says = format!(
            "loaded and attached, but it counted {calls} calls of `true` and lost {:?}",
            profile.lost
        );
        return HostCheck::bad("ebpf", says).remedy("report this as a bug");
    }
    let says = format!(
        "works: `true` was observed, {calls} calls; loading and attaching took {} ms",
        ready.as_millis()
    );
    HostCheck::good("ebpf", says)
}

/// A capability set of `/proc/PID/status`.
fn set(status: &str, name: &str) -> Option<u64> {
    u64::from_str_radix(field(status, name)?, 16).ok()
}

/// Whether this is the initial user namespace: eBPF needs capabilities there (user_namespaces(7)).
fn first_namespace(uid_map: &str) -> bool {
    let words: Vec<&str> = uid_map.split_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

/// The ways to get capabilities, in the syntax of setcap(8) and systemd. setcap removes capabilities that
/// it does not name, so `wanted` has all of them.
fn ways(status: &str, wanted: &[(&str, u64)], program: &Path) -> String {
    let names: Vec<&str> = wanted.iter().map(|(name, _)| *name).collect();
    let bounding = set(status, "CapBnd").unwrap_or(!0);
    if wanted.iter().any(|(_, bit)| bounding & bit == 0) {
        let add =
            names.iter().map(|name| format!(" --cap-add={}", name.trim_start_matches("CAP_")));
        let add: String = add.collect();
        return format!("no process here can have all of them; for a container:{add}");
    }
    if field(status, "NoNewPrivs") == Some("1") {
        return "no_new_privs is set here, so sudo and setcap have no effect: start it from \
                another shell, or without NoNewPrivileges= of systemd"
            .into();
    }
    format!(
        "sudo needless …; or for every user who may start it: sudo setcap {}+ep {}; or in a unit of \
         systemd: AmbientCapabilities={}",
        names.join(",").to_lowercase(),
        program.display(),
        names.join(" "),
    )
}

/// The capabilities that loading and attaching need: capabilities(7).
fn rights(status: &str, uid_map: &str, program: &Path) -> HostCheck {
    let Some(held) = set(status, "CapEff") else {
        return HostCheck::info(
            "rights",
            "not known: /proc/self/status does not show capabilities",
        );
    };
    let both = CAP_BPF | CAP_PERFMON;
    if held & both != both && held & CAP_SYS_ADMIN == 0 {
        let wanted = [("CAP_BPF", CAP_BPF), ("CAP_PERFMON", CAP_PERFMON)];
        let lacking: Vec<&str> =
            wanted.iter().filter(|(_, bit)| held & bit == 0).map(|(name, _)| *name).collect();
        let says = format!(
            "without {}, which loading and attaching BPF programs needs: `run` uses ptrace \
             instead, `attach` and `host` are not possible",
            lacking.join(" and ")
        );
        return HostCheck::bad("rights", says).remedy(ways(status, &wanted, program));
    }
    let held = if held & both == both {
        "CAP_BPF and CAP_PERFMON"
    } else {
        "CAP_SYS_ADMIN, which includes CAP_BPF and CAP_PERFMON"
    };
    if !first_namespace(uid_map) {
        let says = format!("{held}, but only in a user namespace, where eBPF ignores them");
        return HostCheck::bad("rights", says)
            .remedy("run needless outside of the (rootless) container");
    }
    let says = format!("{held}: commands, running processes and the whole host can be observed");
    HostCheck::good("rights", says)
}

/// The capabilities that reading from other users' processes needs: proc(5), ptrace(2).
fn others(status: &str, uid_map: &str, program: &Path) -> HostCheck {
    const LOOK: (&str, u64) = ("CAP_SYS_PTRACE", CAP_SYS_PTRACE);
    const READ: (&str, u64) = ("CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH);
    let held = set(status, "CapEff").unwrap_or(0);
    let lacks = |bit| held & bit == 0;
    let says = match (lacks(LOOK.1), lacks(READ.1)) {
        (false, false) if !first_namespace(uid_map) => {
            let says = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, but only in a user namespace: \
                        files and environments of its processes can be read";
            return HostCheck::info("others", says);
        }
        (false, false) => {
            let says = "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH: files and environments of other users' \
                        processes can be read";
            return HostCheck::good("others", says);
        }
        (true, _) => {
            "without CAP_SYS_PTRACE: environment, root directory and mappings of other users' processes \
             stay unknown, except the environment of their next exec"
        }
        (false, true) => {
            "without CAP_DAC_READ_SEARCH: programs and zone files of other users' processes are \
             read only where everybody may read them"
        }
    };
    let wanted = [("CAP_BPF", CAP_BPF), ("CAP_PERFMON", CAP_PERFMON), LOOK, READ];
    HostCheck::info("others", says).remedy(ways(status, &wanted, program))
}

/// `types`: the kernel's own, or why they cannot be read.
fn btf(types: &Result<Vec<u8>, String>) -> HostCheck {
    // linux/btf.h: the magic number in the machine's byte order.
    let starts = 0xeb9f_u16.to_ne_bytes();
    let says = match types {
        Ok(types) if types.starts_with(&starts) => {
            let says = format!("{TYPES} has the kernel's types ({} KiB)", types.len() >> 10);
            return HostCheck::good("btf", says);
        }
        Ok(_) => format!("{TYPES} holds no BTF"),
        Err(error) => format!("{TYPES}: {error}: eBPF needs the types of this kernel"),
    };
    HostCheck::bad("btf", says)
        .remedy("use a kernel with CONFIG_DEBUG_INFO_BTF=y, as most distributions have since 2021")
}

/// `modes`: the text of `/sys/kernel/security/lockdown`, the mode in force in brackets:
/// kernel_lockdown(7).
fn lockdown(modes: Option<&str>) -> HostCheck {
    let Some(modes) = modes else {
        let says = "/sys/kernel/security/lockdown is not there: not in this kernel, or securityfs \
                    is not mounted";
        return HostCheck::info("lockdown", says);
    };
    let mode = modes.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    match mode {
        Some("confidentiality") => {
            let says = "confidentiality: no program may read the kernel's memory, not even with \
                        eBPF";
            HostCheck::bad("lockdown", says).remedy(
                "boot with lockdown=integrity or without lockdown= (it cannot be lowered before)",
            )
        }
        Some(mode) => HostCheck::good("lockdown", format!("{mode}: eBPF may read what it needs")),
        None => {
            let says = format!("not understood: {:?}", modes.trim());
            HostCheck::info("lockdown", says)
        }
    }
}

/// For information only: programs that trace always need capabilities. `text` is the text of
/// `/proc/sys/kernel/unprivileged_bpf_disabled`.
fn everybody(text: Option<&str>) -> HostCheck {
    let meaning = match text.map(str::trim) {
        Some("0") => {
            "is 0: every user may load the simplest kinds of programs, none of which observes"
        }
        Some("1") => "is 1: only privileged users may load programs, until the next boot",
        Some("2") => "is 2: only privileged users may load programs",
        Some(_) => "is not understood",
        None => "is not there",
    };
    HostCheck::info("bpf users", format!("kernel.unprivileged_bpf_disabled {meaning}"))
}

/// Where tracefs is mounted. `mounts` is the text of `/proc/self/mounts`: proc_pid_mounts(5).
fn tracefs_of(mounts: &str) -> Option<String> {
    let mut rows = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    rows.find(|row| row.get(2) == Some(&"tracefs")).map(|row| row[1].to_owned())
}

/// For information only: needless attaches to raw tracepoints, which need no file system.
fn tracefs(mounted: Option<&str>, readable: bool) -> HostCheck {
    let says = match mounted {
        Some(dir) if readable => format!("at {dir}, readable; needless does not need it"),
        Some(dir) => format!("at {dir}, for root only; needless does not need it"),
        None => "not mounted; needless does not need it".to_owned(),
    };
    HostCheck::info("tracefs", says)
}

/// Whether BPF programs can iterate over the mappings of a process. The names of the kernel's functions are
/// strings in its types, each between two NULs.
fn mappings(types: &[u8]) -> HostCheck {
    let named = types.split(|byte| *byte == 0).any(|name| name == b"bpf_iter_task_vma_new");
    if named {
        let says = "BPF programs can read the mappings of a process: call sites are known even after it ended";
        return HostCheck::good("mappings", says);
    }
    let says = "this kernel has no bpf_iter_task_vma: call sites in processes that end at once stay \
                unknown";
    HostCheck::info("mappings", says).remedy("Linux 6.7 or newer")
}

#[cfg(test)]
mod tests;
