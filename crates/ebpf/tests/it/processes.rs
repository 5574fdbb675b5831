//! Who made the calls: processes, images, environments, roots, ends, CPU time.

use crate::common::*;
use needless_ebpf::{Session, SessionOptions};
use needless_fixtures::backend::processes::{Asked, Observes};
use needless_model::{CallId, Limits, Profile, Query, Spawn, WaitsOn};
use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn of_sh(script: &str) -> Option<Profile> {
    let sh = needed(program("sh")).filter(|_| possible())?;
    let folder = folder();
    Some(profile(&options(), command(sh, folder.path()).args(["-c", script])))
}

#[test]
fn what_short_processes_used_is_known() {
    let script = "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done; exec /bin/true";
    let Some(profile) = of_sh(script) else { return };
    let ended: Vec<_> = profile.processes.iter().filter(|p| p.exit.is_some()).collect();
    assert_eq!(ended.len(), 21);
    for process in ended {
        // Starting a program takes longer than nothing, and faults pages in.
        assert!(process.cpu_ns > Some(0) && process.minor_faults > Some(0), "{process:?}");
        assert!(process.major_faults.is_some(), "{process:?}");
    }
}

/// A service that ran for a moment: its control group is removed before anybody looks.
#[test]
fn the_name_of_a_removed_control_group_is_known() {
    let mounted = needless_host::cgroup_mount()
        .filter(|dir| needless_host::cgroup_id(dir).is_ok())
        .ok_or_else(|| "no cgroup v2 is mounted".to_owned());
    let Some(mounted) = needed(mounted.and_then(|dir| is_root().map(|()| dir))) else { return };
    let Some(sh) = needed(program("sh")).filter(|_| possible()) else { return };
    let name = format!("needless-test-{}", std::process::id());
    let long = vec!["x".repeat(250); 9].join("/");
    let script = r#"set -e
        run() {
            mkdir -p "$1"
            sh -c 'echo $$ > "$0/cgroup.procs"; exec /bin/true' "$1"
            until rmdir "$1" 2> /dev/null; do sleep 0.01; done
        }
        run "$0/1.service"
        run "$0/a.slice/2.service"
        rmdir "$0/a.slice"
        cd "$0"
        run "$1"
        cd /
        find "$0" -depth -type d -exec rmdir {} +"#;
    let top = mounted.join(&name);
    let folder = folder();
    let mut command = command(sh, folder.path());
    let observed = observed(&options(), command.args(["-c", script]).arg(&top).arg(&long));
    assert!(!top.exists() && observed.profile.lost.is_empty(), "{:?}", observed.profile.lost);
    let of_true =
        observed.profile.processes.iter().enumerate().filter(|(_, process)| {
            process.exe.as_deref().is_some_and(|exe| exe.ends_with("/true"))
        });
    let group_of = |at: usize| {
        let found = observed.cgroups.iter().find(|(id, _)| id.index() == at);
        found.map(|(_, path)| path.to_string())
    };
    let groups: Vec<_> = of_true.map(|(at, _)| group_of(at)).collect();
    let expected = ["1.service", "a.slice/2.service"].map(|path| Some(format!("/{name}/{path}")));
    // The third path is longer than what is sent.
    assert_eq!(groups, [&expected[..], &[None]].concat());
}

#[test]
fn what_calls_waited_for_is_counted_apart() {
    let Some(sh) = needed(program("sh")).filter(|_| possible()) else { return };
    let folder = folder();
    let script = "sleep 0.05; (sleep 0.05; echo x) | cat";
    let timed = SessionOptions { all: true, latency: true, ..options() };
    let profile = profile(&timed, command(sh, folder.path()).args(["-c", script]));
    let call = |id: CallId| profile.strings.text(id.0);
    let of = |name: &str| profile.waits.iter().filter(|w| call(w.call) == name).collect::<Vec<_>>();
    let sleeps = of("clock_nanosleep");
    assert_eq!(sleeps.iter().map(|w| w.calls).sum::<u64>(), 2, "{:?}", profile.waits);
    // clock_nanosleep(2) does not return earlier.
    assert!(sleeps.iter().all(|w| w.ns >= 50_000_000), "{sleeps:?}");
    let reads = of("read");
    assert!(reads.iter().any(|w| w.on == WaitsOn::Pipe && w.outcome == Ok(())), "{reads:?}");
    let rows = profile.rows.iter().filter(|row| profile.call(row) == "clock_nanosleep");
    assert!(rows.clone().count() > 0 && rows.clone().all(|row| row.timed == 0), "{rows:?}");
}

#[test]
fn relative_paths_of_a_thread_with_a_directory_of_its_own_stay_relative() {
    let Some(testee) = testee("moves").filter(|_| possible()) else { return };
    let folder = folder();
    let profile = profile(&options(), command(&testee, folder.path()).arg("thread"));
    let asked = |path: &str| sum(&profile, Query::Access, path).0;
    assert_eq!(asked("missing/alone"), 1);
    assert_eq!(asked(folder.path().join("missing/moves").to_str().unwrap()), 1);
}

#[test]
fn relative_paths_below_another_root_and_a_removed_directory_are_counted() {
    let Some(()) = needed(is_root()).filter(|()| possible()) else { return };
    let Some(sh) = needed(program("sh")) else { return };
    let folder = folder();
    std::fs::create_dir_all(folder.path().join("usr/share")).unwrap();
    std::fs::create_dir(folder.path().join("gone")).unwrap();
    std::fs::copy(testee("moves-static").unwrap(), folder.path().join("moves")).unwrap();
    let mut command = command(sh, folder.path());
    let script =
        r#"cd gone && rmdir ../gone && cd -P . && [ -e removed ]; cd / && exec chroot "$0" /moves"#;
    let profile = profile(&options(), command.args(["-c", script]).arg(folder.path()));
    let asked = |path: &str| sum(&profile, Query::Access, path).0;
    assert_eq!(asked("/missing/moves"), 2);
    assert_eq!((asked("/usr/missing/moves"), asked("/usr/share/missing/moves")), (1, 1));
    assert_eq!(sum(&profile, Query::Stat, "removed").0, 1, "its directory has no name");
}

#[test]
fn cpu_time_is_that_of_all_threads() {
    let Some(testee) = testee("busy").filter(|_| possible()) else { return };
    let folder = folder();
    let mut sums = (0, 0);
    for (threads, how, shares) in
        [("0", "join", 1), ("3", "join", 3), ("3", "exit", 3), ("3", "leave", 4)]
    {
        let mut command = command(&testee, folder.path());
        let profile = profile(&options(), command.args(["100", threads, how]));
        let [busy] = &profile.processes[..] else { panic!("{:?}", profile.processes) };
        // What a thread takes after the last tick of the scheduler before its end is not known.
        let taken = shares * 90_000_000;
        let (user, system) = (busy.cpu_user_ns.unwrap(), busy.cpu_sys_ns.unwrap());
        assert!(user + system >= taken, "{how}: {user} {system}");
        // Threads that wait for the end take time until then.
        assert!(user + system < taken * 2 || how == "exit", "{how}: {user} {system}");
        assert_eq!(profile.totals.cpu_user_ns, Some(user));
        sums = (sums.0 + user, sums.1 + system);
    }
    // The kernel divides a time by samples at its ticks: for one process of a busy machine that may be far off.
    assert!(sums.0 > sums.1, "{sums:?}");
}

#[test]
fn a_process_that_ran_already_has_its_name_and_its_limit() {
    let Some(sh) = needed(program("sh")).filter(|_| possible()) else { return };
    let folder = folder();
    let mut command = command(sh, folder.path());
    command.args(["-c", "ulimit -Sn 400; exec cat"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = spawn(&mut command);
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut answer = || {
        input.write_all(b"x").unwrap();
        output.read_exact(&mut [0]).unwrap();
    };
    // When it answers, it has executed cat.
    answer();
    let mut session = Session::start(&needless_ebpf::Scope::Chosen, &options()).unwrap();
    assert!(session.observe(child.id()).unwrap());
    answer();
    session.drain(Duration::ZERO);
    drop(input);
    child.wait().unwrap();
    let profile = session.finish().profile;
    let [cat] = &profile.processes[..] else { panic!("{:?}", profile.processes) };
    assert_eq!((cat.born, cat.command.as_deref()), (Spawn::Seen, Some("cat")));
    assert_eq!(cat.open_files, Some(400));
}

struct Ebpf;

impl Observes for Ebpf {
    type Observed = Profile;

    fn possible() -> bool {
        possible()
    }

    fn observe(Asked { all, rows }: Asked, program: &Path, arguments: &[&str]) -> Profile {
        let options = options();
        let limits = Limits { rows: rows.unwrap_or(options.limits.rows), ..options.limits };
        let here = std::env::current_dir().unwrap();
        let mut command = command(program, &here);
        observed(&SessionOptions { all, limits, ..options }, command.args(arguments)).profile
    }

    fn profile(profile: &Profile) -> &Profile {
        profile
    }
}

/// The tests that all backends pass.
mod shared {
    use super::*;
    use needless_fixtures::backend::paths;

    needless_fixtures::every_backend_observes!(Ebpf);
    needless_fixtures::shared_tests! { processes of Ebpf:
        a_32_bit_child_of_a_64_bit_program_is_counted
        repetition_is_distinguished_from_polling
    }
    needless_fixtures::shared_tests! { paths of Ebpf: another_mount_namespace_is_noticed }

    #[test]
    fn another_root_is_noticed() {
        let Some(profile) = paths::another_root_is_noticed::<Ebpf>() else { return };
        // As it is called below that root.
        assert_eq!(profile.processes[1].exe.as_deref(), Some("/watcher"));
        assert_eq!(sum(&profile, Query::Stat, "/etc/localtime"), (20, 19));
    }

    #[test]
    fn relative_paths_are_absolute_where_the_directory_is_known() {
        let profile = paths::relative_paths_are_absolute_where_the_directory_is_known::<Ebpf>();
        let path = std::env::current_dir().unwrap().join("missing/moves");
        let asked = profile.map(|profile| sum(&profile, Query::Access, path.to_str().unwrap()));
        assert!(asked.is_none_or(|asked| asked == (2, 1)), "{asked:?}");
    }
}
