//! ptrace: stopping a program at its system calls, which needs no special rights.

use super::{HostCheck, field, true_program};
use needless_launch::{Launch, Stdio};
use needless_model::{Exit, Loss};
use needless_ptrace::{TraceOptions, trace};
use std::ffi::OsString;
use std::fs;

pub(super) fn checks(status: &str) -> [HostCheck; 4] {
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").ok();
    [ptrace(), self::yama(yama.as_deref()), confinement(status), seccomp(actions.as_deref())]
}

/// Traces a real program, so that whatever forbids it is found.
fn ptrace() -> HostCheck {
    let Some(program) = true_program() else {
        return HostCheck::info("ptrace", "not tried: there is no /bin/true to trace");
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
        trace(launch, &TraceOptions { all, ..TraceOptions::default() })
    };
    let seen = match (run(true), run(false)) {
        (Ok(full), Ok(filtered)) if full.exit == Exit::Code(0) && filtered.exit == full.exit => {
            if full.profile.lost.contains_key(&Loss::NoPath) {
                let says = "`true` was traced, but its memory could not be read (process_vm_readv): \
                            paths stay unknown";
                return HostCheck::bad("ptrace", says)
                    .remedy("in a container: --cap-add=SYS_PTRACE");
            }
            full.profile.totals.calls
        }
        (Ok(full), Ok(filtered)) => {
            let says = format!(
                "`true` ended with {:?} when every call was stopped, with {:?} when only some were",
                full.exit, filtered.exit
            );
            return HostCheck::bad("ptrace", says).remedy("report this as a bug");
        }
        (Err(error), _) | (_, Err(error)) => {
            return HostCheck::bad("ptrace", error.to_string()).remedy(
                "in a container: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined",
            );
        }
    };
    let says =
        format!("allowed: `true` was traced, {seen} calls, with and without a seccomp filter");
    HostCheck::good("ptrace", says)
}

/// `scope`: the text of `/proc/sys/kernel/yama/ptrace_scope`.
fn yama(scope: Option<&str>) -> HostCheck {
    let path = "/proc/sys/kernel/yama/ptrace_scope";
    let Some(scope) = scope.map(str::trim) else {
        return HostCheck::good("yama", format!("not in this kernel (no {path})"));
    };
    let says = |meaning| format!("{path} is {scope}: {meaning}");
    match scope {
        "0" => HostCheck::good("yama", says("no restriction")),
        "1" => HostCheck::good("yama", says("own children may be traced, which is enough")),
        "2" => HostCheck::info("yama", says("only with CAP_SYS_PTRACE"))
            .remedy("sudo sysctl kernel.yama.ptrace_scope=1"),
        _ => HostCheck::bad("yama", says("no process may trace, until the next boot"))
            .remedy("set kernel.yama.ptrace_scope=1 in /etc/sysctl.d, then reboot"),
    }
}

fn confinement(status: &str) -> HostCheck {
    match field(status, "TracerPid") {
        None | Some("0") => {}
        Some(pid) => {
            let says = format!("needless itself is traced, by process {pid}: it can trace nothing");
            return HostCheck::bad("confinement", says).remedy("run it without that tracer");
        }
    }
    match field(status, "Seccomp") {
        Some("0") => HostCheck::good("confinement", "no seccomp filter is on needless"),
        Some(_) => HostCheck::info(
            "confinement",
            "needless runs under a seccomp filter, as in most containers: calls that it refuses \
             are refused to the command too",
        ),
        None => HostCheck::info("confinement", "not known: /proc/self/status does not say it"),
    }
}

/// `actions`: the text of `/proc/sys/kernel/seccomp/actions_avail`.
fn seccomp(actions: Option<&str>) -> HostCheck {
    match actions {
        Some(actions) if actions.split_whitespace().any(|action| action == "trace") => {
            let says = "filters can select the calls that stop: all others run at full speed";
            HostCheck::good("seccomp", says)
        }
        Some(actions) => {
            let says = format!("the kernel offers only: {}", actions.trim());
            HostCheck::bad("seccomp", says).remedy("needless run --all, which needs none")
        }
        None => {
            let says = "not known: there is no /proc/sys/kernel/seccomp/actions_avail";
            HostCheck::info("seccomp", says)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckState;

    #[test]
    fn doctor_reads_what_yama_forbids() {
        let state = |text| yama(text).state;
        assert_eq!(state(None), CheckState::Good);
        assert_eq!(state(Some("0\n")), CheckState::Good);
        assert_eq!(state(Some("1\n")), CheckState::Good);
        assert_eq!(state(Some("2\n")), CheckState::Info);
        assert_eq!(state(Some("3\n")), CheckState::Bad);
        assert!(yama(Some("3\n")).remedy.unwrap().contains("reboot"));
    }

    #[test]
    fn doctor_reads_who_confines_it() {
        let free = "Name:\tneedless\nTracerPid:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";
        assert_eq!(confinement(free).state, CheckState::Good);
        let filtered = "TracerPid:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert_eq!(confinement(filtered).state, CheckState::Info);
        let traced = confinement("TracerPid:\t4711\nSeccomp:\t0\n");
        assert_eq!(traced.state, CheckState::Bad);
        assert!(traced.says.contains("4711"), "{traced:?}");
        assert_eq!(confinement("").state, CheckState::Info);
    }

    #[test]
    fn doctor_reads_what_filters_can_do() {
        let state = |text| seccomp(text).state;
        let all = "kill_process kill_thread trap errno user_notif trace log allow\n";
        assert_eq!(state(Some(all)), CheckState::Good);
        assert_eq!(state(Some("kill_thread trap errno allow\n")), CheckState::Bad);
        assert_eq!(state(None), CheckState::Info);
    }
}
