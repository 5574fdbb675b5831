//! What stands between this machine and a full report, each with the command that changes it.

use crate::{Root, locale, zone};
use needless_launch::{Launch, Stdio};
use needless_model::{Exit, Loss, ZoneFile};
use needless_ptrace::{Options, trace};
use object::{Object, ObjectSection};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio as Streams};

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Good,
    /// Needless cannot do something; the remedy says what to change.
    Bad,
    /// A fact, neither good nor bad.
    Told,
}

/// One thing looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What: a word or two ("ptrace").
    pub name: &'static str,
    /// How it came out.
    pub state: State,
    /// What was found, in one sentence.
    pub says: String,
    /// The command, or the setting, that would change it.
    pub remedy: Option<String>,
}

impl Check {
    /// Whether nothing needs to be done about it.
    pub fn ok(&self) -> bool {
        self.state != State::Bad
    }

    fn new(name: &'static str, state: State, says: impl Into<String>) -> Check {
        Check { name, state, says: says.into(), remedy: None }
    }

    fn remedy(self, command: impl Into<String>) -> Check {
        Check { remedy: Some(command.into()), ..self }
    }
}

/// Looks at everything that decides what needless can see here. Starts three short programs
/// (`true` under our tracer, `strace -V` and `locale`) and changes nothing.
pub fn doctor() -> Vec<Check> {
    vec![
        kernel(),
        ptrace(),
        yama(),
        confinement(),
        seccomp(),
        symbols(),
        zone_here(),
        variables(),
        locales(),
        strace(),
    ]
}

fn kernel() -> Check {
    let names = rustix::system::uname();
    let (release, machine) = (names.release().to_string_lossy(), names.machine().to_string_lossy());
    let says = format!("Linux {release} on {machine}");
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (5, 3) {
        let says = format!("{says}: PTRACE_GET_SYSCALL_INFO needs Linux 5.3");
        return Check::new("kernel", State::Bad, says)
            .remedy("a newer kernel; until then `strace -f -o LOG CMD` and `needless read LOG`");
    }
    match machine.as_ref() {
        "x86_64" | "aarch64" => Check::new("kernel", State::Good, says),
        _ => Check::new("kernel", State::Told, format!("{says}: call sites are not resolved here")),
    }
}

/// Traces a real program: whatever forbids it shows.
fn ptrace() -> Check {
    let Some(program) =
        ["/bin/true", "/usr/bin/true"].map(PathBuf::from).into_iter().find(|p| p.exists())
    else {
        return Check::new("ptrace", State::Told, "not tried: there is no /bin/true to trace");
    };
    let run = |all| {
        let argv = vec![OsString::from("true")];
        let launch = Launch {
            program: program.clone(),
            argv,
            env: Some(Vec::new()),
            stdio: Stdio::Null,
            caller: None,
        };
        trace(launch, &Options { all, ..Options::default() })
    };
    let seen = match (run(true), run(false)) {
        (Ok(full), Ok(filtered)) if full.exit == Exit::Code(0) && filtered.exit == full.exit => {
            if full.profile.lost.contains_key(Loss::NO_PATH.0) {
                let says = "`true` was traced, but its memory could not be read (process_vm_readv): \
                            paths stay unknown";
                return Check::new("ptrace", State::Bad, says)
                    .remedy("in a container: --cap-add=SYS_PTRACE");
            }
            full.profile.totals.calls
        }
        (Ok(full), Ok(filtered)) => {
            let says = format!(
                "`true` ended with {:?} when every call was stopped, with {:?} when only some were",
                full.exit, filtered.exit
            );
            return Check::new("ptrace", State::Bad, says).remedy("report this as a bug");
        }
        (Err(error), _) | (_, Err(error)) => {
            return Check::new("ptrace", State::Bad, error.to_string()).remedy(
                "in a container: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined",
            );
        }
    };
    let says =
        format!("allowed: `true` was traced, {seen} calls, with and without a seccomp filter");
    Check::new("ptrace", State::Good, says)
}

fn yama() -> Check {
    let path = "/proc/sys/kernel/yama/ptrace_scope";
    let Ok(text) = fs::read_to_string(path) else {
        return Check::new("yama", State::Good, format!("not in this kernel (no {path})"));
    };
    let says = |meaning| format!("{path} is {}: {meaning}", text.trim());
    match text.trim() {
        "0" => Check::new("yama", State::Good, says("no restriction")),
        "1" => Check::new("yama", State::Good, says("own children may be traced, which is enough")),
        "2" => Check::new("yama", State::Told, says("only with CAP_SYS_PTRACE"))
            .remedy("sudo sysctl kernel.yama.ptrace_scope=1"),
        _ => Check::new("yama", State::Bad, says("nobody may trace, until the next boot"))
            .remedy("set kernel.yama.ptrace_scope=1 in /etc/sysctl.d, then reboot"),
    }
}

fn confinement() -> Check {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    match field("TracerPid:") {
        None | Some("0") => {}
        Some(pid) => {
            let says = format!("needless itself is traced, by process {pid}: it can trace nothing");
            return Check::new("confinement", State::Bad, says)
                .remedy("run it without that tracer");
        }
    }
    match field("Seccomp:") {
        Some("0") => Check::new("confinement", State::Good, "no seccomp filter is on needless"),
        Some(_) => Check::new(
            "confinement",
            State::Told,
            "needless runs under a seccomp filter, as in most containers: calls that it refuses \
             are refused to the command too",
        ),
        None => Check::new("confinement", State::Told, "/proc/self/status does not tell"),
    }
}

fn seccomp() -> Check {
    let path = "/proc/sys/kernel/seccomp/actions_avail";
    match fs::read_to_string(path) {
        Ok(actions) if actions.split_whitespace().any(|action| action == "trace") => {
            let says = "filters can pick the calls to stop at: others run at full speed";
            Check::new("seccomp", State::Good, says)
        }
        Ok(actions) => {
            let says = format!("the kernel offers only: {}", actions.trim());
            Check::new("seccomp", State::Bad, says).remedy("needless run --all, which needs none")
        }
        Err(_) => Check::new("seccomp", State::Told, format!("{path} is not there to tell")),
    }
}

/// Only a fact: call sites are read from the program, not from libc.
fn symbols() -> Check {
    let places = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib", "/lib"];
    let library = places
        .iter()
        .map(|dir| format!("{dir}/libc.so.6"))
        .find_map(|path| Some((fs::read(&path).ok()?, path)));
    let Some((bytes, path)) = library else {
        return Check::new("libc", State::Told, "no glibc in the usual places");
    };
    let Ok(elf) = object::File::parse(&*bytes) else {
        return Check::new("libc", State::Told, format!("{path} is not an ELF file"));
    };
    let tables = elf.section_by_name(".eh_frame_hdr").is_some_and(|section| section.size() > 0);
    let named = elf.symbols().next().is_some();
    let says = format!(
        "{path} has {} unwinding tables and {} symbols of its own functions",
        if tables { "its" } else { "no" },
        if named { "the" } else { "no" },
    );
    match tables {
        true => Check::new("libc", State::Good, says + "; call sites need only the former"),
        false => Check::new("libc", State::Told, says + ": call sites cannot be found"),
    }
}

fn zone_here() -> Check {
    let root = match Root::own() {
        Ok(root) => root,
        Err(error) => {
            return Check::new("zone", State::Bad, format!("/ cannot be opened: {error}"));
        }
    };
    let zone = zone::look_up(&root);
    let state = match (&zone.file, &zone.name) {
        (ZoneFile::Link(_) | ZoneFile::Regular, Some(_)) => State::Good,
        _ => State::Told,
    };
    let says = match &zone.name {
        Some(name) => format!("{name}: {}", zone.how),
        None => format!("no name to recommend: {}", zone.how),
    };
    let check = Check::new("zone", state, says);
    match zone.tzdata {
        true => check,
        false => check.remedy("install the package tzdata, so that zones can be set by name"),
    }
}

fn variables() -> Check {
    let told = |name: &str| match std::env::var_os(name) {
        Some(value) => format!("{name}={}", value.to_string_lossy()),
        None => format!("{name} unset"),
    };
    let says = ["TZ", "LANG", "LC_ALL", "LANGUAGE"].map(told).join(", ");
    Check::new("shell", State::Told, format!("in this shell: {says}"))
}

fn locales() -> Check {
    let Some(path) = locale::program() else {
        let says = "there is no program `locale`: spellings of locales cannot be compared";
        return Check::new("locale", State::Told, says)
            .remedy("install libc-bin (or glibc-common)");
    };
    let names = output(Command::new(&path).arg("-a"));
    let names: Vec<&str> = names.lines().collect();
    let shown = names.iter().take(6).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 6 { ", …" } else { "" };
    let says = format!("{} of {}: {shown}{more}", names.len(), path.display());
    Check::new("locale", State::Good, says)
}

fn strace() -> Check {
    let text = output(Command::new("strace").arg("-V"));
    match text.lines().next().and_then(|line| line.rsplit(' ').next()) {
        Some(version) => {
            let says = format!("strace {version} is there to compare with");
            Check::new("strace", State::Told, says)
        }
        None => Check::new("strace", State::Told, "not installed; needless does not need it"),
    }
}

fn output(command: &mut Command) -> String {
    let output = command.stdin(Streams::null()).stderr(Streams::null()).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bad_says_what_to_do_and_tracing_works_here() {
        let checks = doctor();
        for check in &checks {
            assert!(!check.says.is_empty() && !check.says.contains('\n'), "{check:?}");
            assert!(check.state != State::Bad || check.remedy.is_some(), "{check:?}");
        }
        let ptrace = checks.iter().find(|check| check.name == "ptrace").unwrap();
        assert_eq!(ptrace.state, State::Good, "{ptrace:?}");
        let zone = checks.iter().find(|check| check.name == "zone").unwrap();
        assert!(zone.says.contains("/etc/localtime"), "{zone:?}");
    }
}
