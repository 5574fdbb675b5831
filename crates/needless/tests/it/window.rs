//! `needless attach` and `needless host`: running processes, observed for a while.

use crate::common::*;
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Stdio};

/// A program that converts the time fifty times, ten times a second, until it is dropped.
struct Clock(Child);

impl Clock {
    fn start(env: &[(&str, &str)]) -> Option<Clock> {
        let program = testee("clock_ticks")?;
        let mut clock = command(program);
        clock.envs(env.iter().copied()).stdout(Stdio::null());
        Some(Clock(clock.spawn().unwrap()))
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Clock {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn report(args: &[&str]) -> Value {
    let done = command(NEEDLESS).args(args).args(["--format", "json"]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    serde_json::from_slice(&done.stdout).unwrap()
}

fn of<'a>(report: &'a Value, pid: &str) -> Vec<&'a Value> {
    let findings = report["findings"].as_array().unwrap().iter();
    let pid = pid.parse().ok();
    findings.filter(|finding| finding["process"]["pid"].as_u64() == pid).collect()
}

#[test]
fn a_running_program_is_judged_without_a_restart() {
    if !observes_others() {
        return;
    }
    let (Some(clock), Some(set)) = (Clock::start(&[]), Clock::start(&[("TZ", "UTC")])) else {
        return;
    };
    let seen = report(&["attach", &clock.pid(), &set.pid(), "--for", "1500ms"]);
    assert_eq!(seen["source"]["kind"], "attach");
    let found = of(&seen, &clock.pid());
    assert_eq!(found.len(), 1, "{seen:#}");
    assert_eq!(found[0]["rule"], "tz-unset");
    assert!(found[0]["needless"].as_u64().unwrap() >= 50, "{}", found[0]);
    assert!(found[0]["per_second"].as_f64().unwrap() > 0.0);
    assert!(of(&seen, &set.pid()).is_empty(), "{seen:#}");
}

/// A server is named by its first process; those that do the work were started long ago.
#[test]
fn running_descendants_are_observed_too() {
    let Some(program) = testee("clock_ticks") else { return };
    if !observes_others() {
        return;
    }
    // At the end of the input the clocks are ended, also if this test fails.
    let script = r#"("$0" & one=$!; "$0" & echo; read line; kill $one $!); :"#;
    let mut server = command("sh");
    server.args(["-c", script, &program]).env_remove("TZ");
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    server.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let pid = server.id().to_string();
    let seen = report(&["attach", &pid, "--for", "1500ms"]);
    let only = report(&["attach", "--only", &pid, "--for", "1s"]);
    drop(server.stdin.take());
    server.wait().unwrap();

    let name = format!("process {pid} and 3 processes that it had started");
    assert_eq!(seen["source"]["name"], name);
    assert_eq!(finding(&seen, "tz-unset")["processes"], 2, "{seen:#}");
    assert_eq!(only["source"]["name"], format!("process {pid}"));
    assert!(only["findings"].as_array().unwrap().is_empty(), "{only:#}");
}

/// Who observes the shell that started needless does not want to read about needless.
#[test]
fn needless_is_not_among_the_descendants() {
    let Some(program) = testee("clock_ticks") else { return };
    if !observes_others() {
        return;
    }
    let namespace = own_mounts().map(|unshare| [&unshare[..], &["-pf", "--mount-proc"]].concat());
    for words in [Some(Vec::new()), namespace].into_iter().flatten() {
        let attach = r#""$0" & "$1" attach $$ --for 1500ms --format json; kill $!"#;
        let shell = ["sh", "-c", attach, &program, NEEDLESS];
        let done = command_of(&[&words[..], &shell].concat()).output().unwrap();
        let seen = json(&done.stdout);
        let name = seen["source"]["name"].as_str().unwrap();
        assert!(name.ends_with(" and 1 process that it had started"), "{words:?}: {name}");
        let [("tz-unset", ..)] = found(&seen)[..] else { panic!("{words:?}: {seen:#}") };
    }
}

#[test]
fn host_names_one_program_among_all() {
    if !observes_others() {
        return;
    }
    let Some(_clock) = Clock::start(&[]) else { return };
    // Whatever else runs on this machine must not hide it as too small a share.
    let host = ["host", "--for", "1500ms", "--rule", "tz-unset", "--min-saving", "0"];
    let seen = report(&host);
    assert_eq!(seen["source"]["kind"], "host");
    // Other tests may run the same program: one finding is about all of them.
    let findings = seen["findings"].as_array().unwrap().iter();
    let found: Vec<&Value> =
        findings.filter(|one| one["process"]["command"] == "clock_ticks").collect();
    assert!(!found.is_empty(), "{seen:#}");
    assert!(found[0]["service"].is_string(), "{}", found[0]);
}

/// In a container needless sees the calls of the whole machine, and no number of a process outside.
#[test]
fn processes_outside_of_the_pid_namespace_are_counted_and_named() {
    if !observes_others() {
        return;
    }
    let (Some(_clock), Some(unshare)) = (Clock::start(&[]), program("unshare")) else { return };
    let mut inside = command(unshare);
    inside.args(["--pid", "--fork", "--mount-proc", "--kill-child", NEEDLESS, "host"]);
    let done =
        inside.args(["--for", "1500ms", "--min-saving", "0", "-v", "--format", "full"]).output();
    let text = stdout(&done.unwrap());
    assert!(text.contains("clock_ticks") && !text.contains("[0]"), "{text}");
    assert!(text.contains("outside the PID namespace of needless: "), "{text}");
    assert!(!text.contains(" 0 processes") && !text.contains("of unknown"), "{text}");
}

#[test]
fn memory_that_is_faulted_in_again_counts_in_a_window() {
    if !observes_others() {
        return;
    }
    let Some(python) = needed(needless_fixtures::referee::program("python3")) else { return };
    // Four blocks, larger together than what glibc keeps at the end of the heap, each smaller than what it maps alone.
    let forever = "import ctypes, time\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\n\
                   libc.free.argtypes = [ctypes.c_void_p]\nprint('ready', flush=True)\nwhile True:\n \
                   for i in range(50):\n  blocks = [libc.malloc(100000) for _ in range(4)]\n  \
                   for block in blocks:\n   ctypes.memset(block, 1, 100000)\n  \
                   for block in blocks: libc.free(block)\n time.sleep(0.001)";
    let mut started = command(python);
    let mut churn = Clock(started.args(["-c", forever]).stdout(Stdio::piped()).spawn().unwrap());
    let mut ready = [0; 5];
    churn.0.stdout.as_mut().unwrap().read_exact(&mut ready).unwrap();
    let only = ["--rule", "heap-trim-churn", "--min-saving", "0"];
    let pid = churn.pid();
    let words = [&["attach", &pid, "--for", "2s"], &only[..]].concat();
    // On a busy machine it may do too little in one window.
    let mut seen = (0..4).map(|_| report(&words));
    let what =
        seen.find_map(|seen| Some(of(&seen, &pid).first()?["what"].as_str().unwrap().to_owned()));
    // What was given back is known only to the programs in the kernel, until the window ends.
    let what = what.expect("a finding");
    assert!(what.contains("page faults"), "{what}");
}

#[test]
fn a_window_ends_when_the_last_process_does_or_somebody_asks() {
    if !observes_others() {
        return;
    }
    let mut sleeper = command("sleep").arg("1").spawn().unwrap();
    let pid = sleeper.id().to_string();
    let done = needless(&["attach", &pid, "--for", "1h"]);
    assert!(done.status.success(), "{}", stderr(&done));
    sleeper.wait().unwrap();

    let Some(clock) = Clock::start(&[]) else { return };
    let attach = ["attach", &clock.pid(), "--for", "1h"];
    let attached = command(NEEDLESS)
        .args(attach)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it has blocked the signal, which it does before it observes.
    let status = format!("/proc/{}/status", attached.id());
    let blocks = |text: String| {
        let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap_or("0");
        u64::from_str_radix(mask.trim(), 16).unwrap_or(0) & 2 != 0
    };
    while !std::fs::read_to_string(&status).is_ok_and(blocks) {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let interrupt = ["-INT", &attached.id().to_string()];
    assert!(command("kill").args(interrupt).status().unwrap().success());
    let done = attached.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    assert!(!done.stdout.is_empty());
}

#[test]
fn attach_to_a_process_that_does_not_exist_is_refused() {
    for (args, says) in [
        (&["attach", "4194304"][..], "no process 4194304"),
        (&["attach", "--unit", "no-such-unit-here"], "no-such-unit-here"),
        (&["attach", "--cgroup", "/no/such/group"], "/no/such/group"),
    ] {
        if !observes_others() {
            return;
        }
        let done = needless(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert!(assert_one_line(&done).contains(says), "{}", stderr(&done));
    }
    for args in [&["attach"][..], &["attach", "x"], &["host", "--for", "never"]] {
        assert_eq!(needless(args).status.code(), Some(2), "{args:?}");
    }
}

/// Units by their names, where systemd is PID 1.
#[test]
fn attach_observes_units_of_systemd() {
    let Some(machine) = crate::booted::machine::Machine::boot(&[]) else { return };
    if !observes_others() {
        return;
    }
    let attach =
        |unit: &str| machine.run(&format!("needless attach --unit {unit} --for 1s --format json"));
    let refused = |unit: &str, says: &str| {
        let done = attach(unit);
        assert_eq!(done.status.code(), Some(2), "{unit}: {}", stdout(&done));
        assert!(assert_one_line(&done).contains(says), "{}", stderr(&done));
    };
    // Never runs on a machine that runs tests.
    refused(
        "systemd-poweroff",
        "systemd-poweroff.service is not running here (inactive): \
         `systemctl start systemd-poweroff.service` starts it",
    );
    refused("systemd-journald.socket", "systemd-journald.socket is active but has no processes: ");
    assert!(attach("systemd-journald").status.success());

    machine.ok("systemd-run --unit needless-run@a.service \
                perl -e 'while (1) { @t = localtime; select undef, undef, undef, 0.01 }'");
    for unit in ["needless-run@a", "needless-run@a.service", "needless-run@"] {
        let done = attach(unit);
        assert!(done.status.success(), "{unit}: {}", stderr(&done));
        let seen: Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(seen["findings"][0]["service"], "needless-run@a.service", "{unit}: {seen:#}");
    }
    refused("needless-run", "no unit needless-run.service here");
    machine.ok("systemctl stop needless-run@a");
    refused("needless-run@a", "no unit needless-run@a.service here");
}

/// The fields of /proc/PID/status that begin so.
fn status(pid: &str, field: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

#[test]
fn an_observer_keeps_four_capabilities() {
    if root().is_none() {
        return;
    }
    let Some(clock) = Clock::start(&[]).filter(|_| observes_others()) else { return };
    for window in [&["attach", &clock.pid()][..], &["host"]] {
        let mut observer = command(NEEDLESS);
        observer.args(window).args(["--for", "1h"]).stdout(Stdio::piped()).stderr(Stdio::piped());
        let observer = observer.spawn().unwrap();
        let pid = observer.id().to_string();
        // It has all of them until its programs are in the kernel. The bound only ends a test that fails.
        let begin = std::time::Instant::now();
        while ["CapEff:", "CapPrm:", "CapBnd:"]
            .iter()
            .any(|set| status(&pid, set).is_none_or(|held| held & !OBSERVING != 0))
        {
            assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{window:?}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(status(&pid, "CapInh:"), Some(0));
        assert!(command("kill").args(["-INT", &pid]).status().unwrap().success());
        let done = observer.wait_with_output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        assert!(!done.stdout.is_empty());
    }
}

#[test]
fn a_program_that_only_its_user_may_read_is_read() {
    use std::os::unix::fs::PermissionsExt;
    if root().is_none() {
        return;
    }
    let (Some(testee), Some(setpriv)) = (testee("clock_ticks"), program("setpriv")) else { return };
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("clock_ticks");
    copy(&testee, &own);
    let nobody = 65534;
    for path in [&own, folder.path()] {
        std::os::unix::fs::chown(path, Some(nobody), Some(nobody)).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }
    let mut clock = command(setpriv);
    clock.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&own);
    let clock = Clock(clock.env_remove("TZ").stdout(Stdio::null()).spawn().unwrap());
    let seen = report(&["attach", &clock.pid(), "--for", "1500ms"]);
    let found = of(&seen, &clock.pid());
    assert_eq!(found.len(), 1, "{seen:#}");
    assert_eq!(found[0]["rule"], "tz-unset");
    // From its own file.
    let site = found[0]["sites"][0].as_str().unwrap_or_default();
    assert!(site.starts_with("main+") && site.contains("localtime"), "{}", found[0]);
}

/// A running process has ancestors: the report names the one that removed the variable, and advises no change
/// that would have no effect.
#[test]
fn attach_names_the_ancestor_that_removed_a_variable() {
    let Some(program) = testee("clock_ticks") else { return };
    if !observes_others() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("wrap");
    for (line, removed) in [("unset TZ", true), (":", false)] {
        std::fs::write(&script, format!("{line}\n{program} >/dev/null & echo $! >pid; wait\n"))
            .unwrap();
        let mut wrap = command("sh");
        wrap.arg(&script).current_dir(folder.path());
        if removed {
            wrap.env("TZ", "Etc/UTC");
        }
        let mut wrap = wrap.spawn().unwrap();
        let file = folder.path().join("pid");
        let clock = loop {
            let pid = std::fs::read_to_string(&file).unwrap_or_default();
            if pid.ends_with('\n') {
                break pid.trim().to_owned();
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        let seen = report(&["attach", &clock, "--for", "1500ms"]);
        assert!(command("kill").arg(&clock).status().unwrap().success());
        wrap.wait().unwrap();
        std::fs::remove_file(&file).unwrap();
        let [finding] = of(&seen, &clock)[..] else { panic!("{seen:#}") };
        let set = advised(finding, "TZ").len();
        assert_eq!(set == 0, removed, "{finding:#}");
        let why = finding["why"].as_str().unwrap();
        assert_eq!(why.contains("TZ=Etc/UTC was removed by a command line of /"), removed, "{why}");
        let first = finding["remedies"][0]["text"].as_str().unwrap();
        assert_eq!(first.contains("sh, which removes TZ"), removed, "{first}");
    }
}
