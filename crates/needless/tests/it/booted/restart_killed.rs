//! `fix --restart` and `undo` killed after the files are written: while systemd reads them, while the unit is restarted,
//! while its process is looked at, while the change is taken back. After the next call the journal, the files and
//! systemd agree, and the unit runs.

use crate::booted::machine::Machine;
use crate::booted::probe::*;
use crate::common::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant, SystemTime};

/// What is killed.
struct Scene {
    name: &'static str,
    /// What the unit starts.
    exec: &'static str,
    /// The commands before.
    before: &'static [&'static str],
    command: &'static str,
    /// The marker of the journal whose writing begins the phase.
    from: &'static str,
}

/// Counting calls is left out: it changes nothing, and loads its programs with thousands of calls.
const FIX: &str = "setpriv --bounding-set -bpf,-perfmon,-sys_admin --inh-caps -bpf,-perfmon,-sys_admin needless fix --unit probe --set TZ=Asia/Tokyo --yes --times-change --restart";
const CHECK: &str = "setpriv --bounding-set -bpf,-perfmon,-sys_admin --inh-caps -bpf,-perfmon,-sys_admin needless fix --check 1";

const SCENES: [Scene; 4] = [
    Scene {
        name: "restart",
        exec: "/usr/local/bin/probe unit",
        before: &[],
        command: FIX,
        from: "applied",
    },
    Scene {
        name: "restart, taken back",
        exec: "/usr/local/bin/fails-with-tz",
        before: &[],
        command: FIX,
        from: "applied",
    },
    Scene {
        name: "undo",
        exec: "/usr/local/bin/probe unit",
        before: &["needless fix --unit probe --set TZ=Asia/Tokyo --yes --times-change"],
        command: "needless undo",
        from: "undoing",
    },
    Scene {
        name: "undo of a change on trial",
        exec: "/usr/local/bin/probe unit",
        before: &[
            "needless fix --unit probe --set TZ=Asia/Tokyo --yes --times-change",
            "systemctl restart probe; touch /var/lib/needless/journal/1/on-trial",
        ],
        command: "needless undo",
        from: "taking-back",
    },
];

/// How long each scene may last: calls that change nothing are a sample.
const BUDGET: Duration = Duration::from_secs(40);
/// But so many calls are killed at, however long that takes.
const FEWEST: usize = 6;
const FOLDER: &str = "/etc/systemd/system/probe.service.d";

/// The name of a call, and its number among the calls of that name.
type Call = (String, usize);

impl Scene {
    fn machine(&self) -> Option<Machine> {
        let machine = machine("")?;
        let fails = "#!/bin/sh\n[ -z \"$TZ\" ] || exit 3\nexec /usr/local/bin/probe unit\n";
        machine.write("/usr/local/bin/fails-with-tz", "755", fails);
        let unit = format!("[Unit]\nStartLimitIntervalSec=0\n[Service]\nExecStart={}\n", self.exec);
        machine.write("/etc/systemd/system/probe.service", "644", &unit);
        Some(machine)
    }

    /// As before the command.
    fn reset(&self, machine: &Machine) {
        let start = "systemctl daemon-reload; systemctl restart probe";
        machine.ok(&format!("rm -rf /var/lib/needless {FOLDER}; {start}"));
        machine.pid_of(&format!("{WORDS} unit"), "0");
        self.before.iter().for_each(|command| drop(machine.ok(command)));
    }

    /// The calls of the phase: those that change something, and one of each kind of the others.
    fn calls(&self, machine: &Machine) -> (Vec<Call>, Vec<Call>) {
        self.reset(machine);
        machine.run(&format!("strace -qq -s 200 -o /run/strace.log {}", self.command));
        let log = machine.ok("cat /run/strace.log");
        let marker = format!("/{}\"", self.from);
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut acts, mut looks, mut kinds, mut begun) =
            (Vec::new(), Vec::new(), BTreeSet::new(), false);
        for line in log.lines() {
            let Some((name, arguments)) = line.split_once('(') else { continue };
            let count = counts.entry(name).or_default();
            *count += 1;
            begun |= arguments.contains(&marker) && arguments.contains("O_CREAT");
            // How often it asks whether a program has ended depends on the time.
            if !begun
                || ["exit_group", "wait4", "waitid", "clock_nanosleep", "poll"].contains(&name)
            {
                continue;
            }
            let call = (name.to_owned(), *count);
            let creates = arguments.contains("O_CREAT");
            let is_act = creates
                || ["rename", "unlink", "rmdir", "mkdir", "sync", "clone", "fork"]
                    .iter()
                    .any(|part| name.contains(part));
            let words: String = arguments.chars().filter(|c| !c.is_ascii_hexdigit()).collect();
            if is_act {
                acts.push(call);
            } else if kinds.insert((name, words)) {
                looks.push(call);
            }
        }
        assert!(begun && !acts.is_empty(), "{}: {log}", self.name);
        (acts, looks)
    }

    /// Kills the command at this call. Returns whether it came to it.
    fn killed(&self, machine: &Machine, (name, nth): &Call) -> bool {
        self.reset(machine);
        let inject = format!("-e trace={name} -e inject={name}:signal=SIGKILL:when={nth}");
        let done = machine.run(&format!("strace -qq -o /dev/null {inject} {}", self.command));
        // strace ends as its child did, and the shell says so.
        done.status.code() == Some(137)
    }

    fn in_agreement(&self, machine: &Machine, what: &str) {
        // Neither writes a new change.
        let said = format!("{what}: {}", machine.all(CHECK));
        let state = machine.ok("needless undo --list");
        let on_disk =
            machine.run(&format!("grep -q TZ=Asia/Tokyo {FOLDER}/*.conf")).status.success();
        let says = machine.ok("systemctl show -p Environment --value probe");
        assert_eq!(says.contains("TZ=Asia/Tokyo"), on_disk, "systemd {says:?}: {said}");
        assert_eq!(state.contains("holds"), on_disk, "{state}: {said}");
        let finished = ["holds", "undone", "rolled back"].iter().any(|word| state.contains(word));
        assert!(finished, "{state}: {said}");
        // What is taken back after a restart is taken from the process, too.
        if self.from != "undoing" && !on_disk {
            let pid = machine.pid_of(&format!("{WORDS} unit"), "0");
            assert_eq!(machine.zone(&pid), None, "{said}");
        }
        let stale = machine.ok("systemctl show -p NeedDaemonReload --value probe");
        assert_eq!(stale, "no\n", "{said}");
        let active = machine.run("systemctl is-active probe");
        assert_eq!(stdout(&active), "active\n", "{said}");
        let left = machine.ok("find /var/lib/needless/journal -name '.new-*'");
        assert_eq!(left, "", "{said}");
    }
}

/// The list in another order.
fn shuffled<T>(mut list: Vec<T>, seed: u64) -> Vec<T> {
    let mut state = seed;
    for at in (1..list.len()).rev() {
        // Knuth's MMIX generator.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        list.swap(at, (state >> 33) as usize % (at + 1));
    }
    list
}

#[test]
#[ignore = "long: kills at random"]
fn next_run_ends_a_restart_that_was_killed() {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = std::env::var("NEEDLESS_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or(u64::from(now.subsec_nanos()));
    eprintln!("NEEDLESS_SEED={seed}");
    // All calls that change something take minutes.
    let all = std::env::var_os("NEEDLESS_KILLS").is_some_and(|kills| kills == "all");
    std::thread::scope(|scope| {
        let scenes = SCENES.each_ref().map(|scene| {
            scope.spawn(move || {
                let Some(machine) = scene.machine() else { return };
                let (acts, looks) = scene.calls(&machine);
                let (begun, changes, others) = (Instant::now(), acts.len(), looks.len());
                let (mut killed, mut missed) = (0, 0);
                let calls = shuffled(acts, seed).into_iter().chain(shuffled(looks, seed));
                for (at, call) in calls.enumerate() {
                    let must = killed < FEWEST || (all && at < changes);
                    if begun.elapsed() > BUDGET && !must {
                        break;
                    }
                    match scene.killed(&machine, &call) {
                        true => killed += 1,
                        false => missed += 1,
                    }
                    scene.in_agreement(&machine, &format!("{}, {call:?}", scene.name));
                }
                eprintln!(
                    "{}: killed at {killed} of {changes} calls that change something and {others} others; \
                     {missed} did not come",
                    scene.name
                );
                assert!(killed >= FEWEST, "{}: {killed}, {missed}", scene.name);
            })
        });
        scenes.into_iter().for_each(|scene| scene.join().unwrap());
    });
}
