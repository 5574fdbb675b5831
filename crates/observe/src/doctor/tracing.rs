//! Stopping a program at its system calls, which needs no rights of its own.

use super::{Check, State, field, true_program};
use needless_launch::{Launch, Stdio};
use needless_model::{Exit, Loss};
use needless_ptrace::{TraceOptions, trace};
use std::ffi::OsString;
use std::fs;

pub(super) fn checks(status: &str) -> [Check; 4] {
    let yama = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
    let actions = fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").ok();
    [ptrace(), self::yama(yama.as_deref()), confinement(status), seccomp(actions.as_deref())]
}

/// Traces a real program: whatever forbids it shows.
fn ptrace() -> Check {
    let Some(program) = true_program() else {
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
        trace(launch, &TraceOptions { all, ..TraceOptions::default() })
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

/// `scope`: the text of `/proc/sys/kernel/yama/ptrace_scope`.
fn yama(scope: Option<&str>) -> Check {
    let path = "/proc/sys/kernel/yama/ptrace_scope";
    let Some(scope) = scope.map(str::trim) else {
        return Check::new("yama", State::Good, format!("not in this kernel (no {path})"));
    };
    let says = |meaning| format!("{path} is {scope}: {meaning}");
    match scope {
        "0" => Check::new("yama", State::Good, says("no restriction")),
        "1" => Check::new("yama", State::Good, says("own children may be traced, which is enough")),
        "2" => Check::new("yama", State::Told, says("only with CAP_SYS_PTRACE"))
            .remedy("sudo sysctl kernel.yama.ptrace_scope=1"),
        _ => Check::new("yama", State::Bad, says("nobody may trace, until the next boot"))
            .remedy("set kernel.yama.ptrace_scope=1 in /etc/sysctl.d, then reboot"),
    }
}

fn confinement(status: &str) -> Check {
    match field(status, "TracerPid") {
        None | Some("0") => {}
        Some(pid) => {
            let says = format!("needless itself is traced, by process {pid}: it can trace nothing");
            return Check::new("confinement", State::Bad, says)
                .remedy("run it without that tracer");
        }
    }
    match field(status, "Seccomp") {
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

/// `actions`: the text of `/proc/sys/kernel/seccomp/actions_avail`.
fn seccomp(actions: Option<&str>) -> Check {
    match actions {
        Some(actions) if actions.split_whitespace().any(|action| action == "trace") => {
            let says = "filters can pick the calls to stop at: others run at full speed";
            Check::new("seccomp", State::Good, says)
        }
        Some(actions) => {
            let says = format!("the kernel offers only: {}", actions.trim());
            Check::new("seccomp", State::Bad, says).remedy("needless run --all, which needs none")
        }
        None => {
            let says = "/proc/sys/kernel/seccomp/actions_avail is not there to tell";
            Check::new("seccomp", State::Told, says)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_reads_what_yama_forbids() {
        let state = |text| yama(text).state;
        assert_eq!(state(None), State::Good);
        assert_eq!(state(Some("0\n")), State::Good);
        assert_eq!(state(Some("1\n")), State::Good);
        assert_eq!(state(Some("2\n")), State::Told);
        assert_eq!(state(Some("3\n")), State::Bad);
        assert!(yama(Some("3\n")).remedy.unwrap().contains("reboot"));
    }

    #[test]
    fn doctor_reads_who_confines_it() {
        let free = "Name:\tneedless\nTracerPid:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n";
        assert_eq!(confinement(free).state, State::Good);
        let filtered = "TracerPid:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert_eq!(confinement(filtered).state, State::Told);
        let traced = confinement("TracerPid:\t4711\nSeccomp:\t0\n");
        assert_eq!(traced.state, State::Bad);
        assert!(traced.says.contains("4711"), "{traced:?}");
        assert_eq!(confinement("").state, State::Told);
    }

    #[test]
    fn doctor_reads_what_filters_can_do() {
        let state = |text| seccomp(text).state;
        let all = "kill_process kill_thread trap errno user_notif trace log allow\n";
        assert_eq!(state(Some(all)), State::Good);
        assert_eq!(state(Some("kill_thread trap errno allow\n")), State::Bad);
        assert_eq!(state(None), State::Told);
    }
}
