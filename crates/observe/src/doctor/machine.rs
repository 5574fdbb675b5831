//! The machine itself: kernel, clock, control groups, C library, time zone, locales.

use super::{CheckState, HostCheck};
use crate::locale_probe;
use needless_host::{Root, cgroup_id, cgroup_mount, read_zone};
use needless_model::ZoneFile;
use object::{Object, ObjectSection};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) fn checks() -> [HostCheck; 7] {
    let read = |name| {
        let path = format!("/sys/devices/system/clocksource/clocksource0/{name}");
        fs::read_to_string(path).ok()
    };
    let (current, others) = (read("current_clocksource"), read("available_clocksource"));
    let groups = cgroup_mount();
    let second = groups.as_deref().is_some_and(|dir| cgroup_id(dir).is_ok());
    [
        clock(current.as_deref(), others.as_deref().unwrap_or_default()),
        cgroups(groups.as_deref(), second),
        symbols(),
        zone_here(),
        variables(),
        locales(),
        strace(),
    ]
}

pub(super) fn kernel() -> HostCheck {
    let names = rustix::system::uname();
    let (release, machine) = (names.release().to_string_lossy(), names.machine().to_string_lossy());
    let says = format!("Linux {release} on {machine}");
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (5, 3) {
        let says = format!("{says}: PTRACE_GET_SYSCALL_INFO needs Linux 5.3");
        return HostCheck::bad("kernel", says)
            .remedy("a newer kernel; until then `strace -f -o LOG CMD` and `needless read LOG`");
    }
    match machine.as_ref() {
        "x86_64" | "aarch64" => HostCheck::good("kernel", says),
        _ => HostCheck::info("kernel", format!("{says}: call sites are not resolved here")),
    }
}

/// Whether programs read the clock without a system call: vdso(7). `current` and `available` are
/// texts of the kernel's clocksource0, the latter with names separated by blanks.
fn clock(current: Option<&str>, available: &str) -> HostCheck {
    // Clocks that the vDSO can read, the best first.
    const READ_DIRECTLY: [&str; 7] = [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
        "timebase",
        "tod",
        "riscv_clocksource",
    ];
    let Some(current) = current.map(str::trim) else {
        return HostCheck::info("clock", "the kernel does not show its clocksource");
    };
    if READ_DIRECTLY.contains(&current) {
        let says = format!("{current}: programs read it without a system call");
        return HostCheck::good("clock", says);
    }
    let says = if current == "xen" {
        "xen: on most hosts programs cannot read it directly, so reading the clock is a system call"
            .to_owned()
    } else {
        format!(
            "{current}: programs cannot read it directly, so reading the clock is a system call"
        )
    };
    let offered = |name: &&str| available.split_whitespace().any(|other| other == *name);
    let remedy = match READ_DIRECTLY.iter().find(|name| offered(name)) {
        Some(better) => format!(
            "echo {better} | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
        ),
        None => "the kernel offers no better one; why: sudo dmesg | grep -i -e clocksource -e tsc"
            .into(),
    };
    HostCheck::info("clock", says).remedy(remedy)
}

/// `mounted`: where the hierarchy of services is; `second`: whether it is of cgroup v2.
fn cgroups(mounted: Option<&Path>, second: bool) -> HostCheck {
    const MOUNT: &str = "sudo mkdir -p /sys/fs/cgroup/unified && sudo mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified";
    let Some(dir) = mounted.map(Path::display) else {
        let says = "none mounted: `attach --unit` and `--cgroup` find nothing, `host` cannot name \
                    services";
        return HostCheck::bad("cgroups", says).remedy(MOUNT);
    };
    if second {
        let says =
            format!("version 2 at {dir}: services, containers and sessions can be distinguished");
        return HostCheck::good("cgroups", says);
    }
    let says = format!(
        "only version 1, at {dir}: `attach --unit` works; the service of a process that ended \
         soon stays unknown, because eBPF sees only version 2"
    );
    HostCheck::info("cgroups", says).remedy(MOUNT)
}

/// For information only: call sites are read from the program, not from libc.
fn symbols() -> HostCheck {
    let places = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib", "/lib"];
    let library = places
        .iter()
        .map(|dir| format!("{dir}/libc.so.6"))
        .find_map(|path| Some((fs::read(&path).ok()?, path)));
    let Some((bytes, path)) = library else {
        return HostCheck::info("libc", "no glibc in the usual places");
    };
    let Ok(elf) = object::File::parse(&*bytes) else {
        return HostCheck::info("libc", format!("{path} is not an ELF file"));
    };
    let tables = elf.section_by_name(".eh_frame_hdr").is_some_and(|section| section.size() > 0);
    let named = elf.symbols().next().is_some();
    let says = format!(
        "{path} has {} unwinding tables and {} symbols of its own functions",
        if tables { "its" } else { "no" },
        if named { "the" } else { "no" },
    );
    if tables {
        HostCheck::good("libc", says + "; call sites need only the tables")
    } else {
        HostCheck::info("libc", says + ": call sites cannot be found")
    }
}

fn zone_here() -> HostCheck {
    let root = match Root::own() {
        Ok(root) => root,
        Err(error) => {
            return HostCheck::bad("zone", format!("/ cannot be opened: {error}"));
        }
    };
    let zone = read_zone(&root);
    let state = match (&zone.file, &zone.name) {
        (ZoneFile::Link(_) | ZoneFile::Regular, Some(_)) => CheckState::Good,
        _ => CheckState::Info,
    };
    let says = match &zone.name {
        Some(name) => format!("{name}: {}", zone.how),
        None => format!("no name to recommend: {}", zone.how),
    };
    let check = HostCheck::new("zone", state, says);
    if zone.tzdata {
        check
    } else {
        check.remedy("install the package tzdata, so that zones can be set by name")
    }
}

fn variables() -> HostCheck {
    let shown = |name: &str| match std::env::var_os(name) {
        Some(value) => format!("{name}={}", value.to_string_lossy()),
        None => format!("{name} unset"),
    };
    let says = ["TZ", "LANG", "LC_ALL", "LANGUAGE"].map(shown).join(", ");
    HostCheck::info("shell", format!("in this shell: {says}"))
}

fn locales() -> HostCheck {
    let Some(path) = locale_probe::program() else {
        let says = "there is no program `locale`: spellings of locales cannot be compared";
        return HostCheck::info("locale", says).remedy("install libc-bin (or glibc-common)");
    };
    let names = output(Command::new(&path).arg("-a"));
    let names: Vec<&str> = names.lines().collect();
    let shown = names.iter().take(6).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 6 { ", …" } else { "" };
    let says = format!("{} of {}: {shown}{more}", names.len(), path.display());
    HostCheck::good("locale", says)
}

fn strace() -> HostCheck {
    let text = output(Command::new("strace").arg("-V"));
    match text.lines().next().and_then(|line| line.rsplit(' ').next()) {
        Some(version) => {
            let says = format!("strace {version} is installed, to compare with");
            HostCheck::info("strace", says)
        }
        None => HostCheck::info("strace", "not installed; needless does not need it"),
    }
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_reads_whether_the_clock_is_a_system_call() {
        for direct in
            ["tsc\n", "kvm-clock\n", "hyperv_clocksource_tsc_page\n", "arch_sys_counter\n"]
        {
            let check = clock(Some(direct), "tsc hpet acpi_pm \n");
            assert_eq!((check.state, check.remedy), (CheckState::Good, None), "{direct}");
        }
        let slow = clock(Some("hpet\n"), "hpet acpi_pm kvm-clock tsc \n");
        assert_eq!(slow.state, CheckState::Info);
        assert!(slow.says.starts_with("hpet: ") && slow.says.contains("system call"), "{slow:?}");
        assert!(slow.remedy.unwrap().starts_with("echo tsc | sudo tee /sys/"));
        let xen = clock(Some("xen\n"), "xen hpet \n");
        assert!(xen.says.contains("most hosts"), "{xen:?}");
        assert!(xen.remedy.unwrap().contains("dmesg"), "no better one is offered");
        // Part of a name is not the name.
        let other = clock(Some("hpet\n"), "hpet tsc-early \n");
        assert!(other.remedy.unwrap().contains("dmesg"));
        assert_eq!(clock(None, "").state, CheckState::Info);
    }

    #[test]
    fn doctor_reads_which_control_groups_there_are() {
        let (dir, none) = (Path::new("/sys/fs/cgroup"), None);
        assert_eq!(cgroups(Some(dir), true).state, CheckState::Good);
        let first = cgroups(Some(dir), false);
        assert_eq!(first.state, CheckState::Info);
        assert!(first.remedy.unwrap().contains("mount -t cgroup2"));
        assert_eq!(cgroups(none, false).state, CheckState::Bad);
    }
}
