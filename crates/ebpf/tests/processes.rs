//! Who asked: processes, images, environments, roots, ends, CPU time.

mod common;

use common::*;
use needless_ebpf::{Session, SessionOptions};
use needless_model::{ArgClass, Env, Exit, Fact, ProcId, Profile, Query, Spawn, Target};
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
fn how_a_process_ends_is_known() {
    let Some(profile) = of_sh("exit 6") else { return };
    assert_eq!(profile.processes[0].exit, Some(Exit::Code(6)));
    let Some(profile) = of_sh("kill -9 $$") else { return };
    assert_eq!(profile.processes[0].exit, Some(Exit::Signal(9)));
    let Some(profile) = of_sh(
        "(kill -STOP $(exec sh -c 'echo $PPID'); exit 4) & sleep 0.1; kill -CONT $!; wait $!",
    ) else {
        return;
    };
    assert_eq!(profile.processes[0].exit, Some(Exit::Code(4)));
    assert!(profile.processes.iter().all(|p| !matches!(p.exit, Some(Exit::Signal(_)))));
}

#[test]
fn every_exec_tells_its_watched_variables_and_no_others() {
    let Some(testee) = testee("vfork_exec").filter(|_| possible()) else { return };
    let folder = folder();
    let mut command = command(testee, folder.path());
    command.env("TZ", ":/etc/localtime").env("PASSWORD", "swordfish").args(["200", "argument"]);
    let profile = profile(&options(), &mut command);
    assert!(profile.facts.has(Fact::Environment));
    assert_eq!(profile.processes.len(), 801);
    for process in &profile.processes {
        let Env::Known(kept) = &process.env else { panic!("{process:?}") };
        let kept: Vec<_> = kept.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(kept, [("TZ", ":/etc/localtime")]);
        assert_eq!((process.secure, process.shares_root), (Some(false), true));
        assert_eq!(process.name(), "vfork_exec");
    }
    let told = format!("{profile:?}");
    assert!(told.contains("/missing/vfork_exec") && !told.contains("swordfish"));
}

#[test]
fn an_environment_is_not_half_known() {
    let Some(testee) = testee("vfork_exec").filter(|_| possible()) else { return };
    let folder = folder();
    let mut command = command(testee, folder.path());
    // Past what is looked at; TZ may be on either side.
    command.env("A", "x".repeat(20_000)).env("TZ", "UTC").env("Z", "x".repeat(20_000)).arg("3");
    let profile = profile(&options(), &mut command);
    for process in &profile.processes {
        let tz = process.env.get("TZ");
        assert!(tz.is_none() || tz == Some(Some("UTC")), "{process:?}");
    }
}

#[test]
fn images_and_children_are_processes_of_their_own() {
    let Some(testee) = testee("vfork_exec").filter(|_| possible()) else { return };
    let folder = folder();
    let profile = profile(&options(), command(testee, folder.path()).arg("2"));
    let processes = &profile.processes;
    let born = |how| processes.iter().filter(|p| p.born == how).count();
    assert_eq!((born(Spawn::Exec), born(Spawn::Fork)), (5, 4));
    assert_eq!((processes[0].born, processes[0].parent), (Spawn::Exec, None));
    for process in &processes[1..] {
        let parent = profile.process(process.parent.unwrap());
        match process.born {
            Spawn::Fork => assert_eq!(process.parent, Some(ProcId(0))),
            _ => assert_eq!((parent.born, parent.pid), (Spawn::Fork, process.pid)),
        }
    }
    for row in &profile.rows {
        let process = profile.process(row.process);
        // A successful exec belongs to the image that it made, a failed one to who tried.
        match (row.query, row.ok()) {
            (Query::Exec, true) => assert_eq!((process.born, row.count), (Spawn::Exec, 1)),
            (Query::Exec, false) => assert_eq!(process.born, Spawn::Fork),
            _ => {}
        }
    }
    let ends = processes.iter().filter(|p| p.exit == Some(Exit::Code(0))).count();
    assert_eq!(ends, 5, "images that were replaced have no end of their own");
}

#[test]
fn a_thread_that_execs_becomes_the_process() {
    let Some(testee) = testee("exec_from_thread").filter(|_| possible()) else { return };
    let folder = folder();
    for all in [false, true] {
        for _ in 0..10 {
            let options = SessionOptions { all, ..options() };
            let profile = profile(&options, &mut command(&testee, folder.path()));
            let processes = &profile.processes;
            assert_eq!(processes.len(), 2, "threads are no processes");
            assert_eq!(processes[0].pid, processes[1].pid);
            assert_eq!(processes[1].parent, Some(ProcId(0)));
            assert_eq!((processes[0].exit, processes[1].exit), (None, Some(Exit::Code(3))));
            let of = |path: &str| {
                let row = profile.rows.iter().find(|row| profile.path(row) == path);
                row.unwrap().process.0
            };
            assert_eq!((of("/missing/first_image"), of("/missing/after_exec")), (0, 1));
        }
    }
}

#[test]
fn relative_paths_are_absolute_as_long_as_the_directory_is_known() {
    let Some(testee) = testee("moves").filter(|_| possible()) else { return };
    let here = std::env::current_dir().unwrap();
    let mut unmoved = std::process::Command::new(&testee);
    let profile_here = profile(&options(), &mut unmoved);
    let asked = |profile: &Profile, path: &str| sum(profile, Query::Access, path).0;
    let below = |path: &str| here.join(path).to_str().unwrap().to_owned();
    assert_eq!(asked(&profile_here, &below("missing/moves")), 2);
    assert_eq!(asked(&profile_here, "missing/moves"), 1);
    assert_eq!(asked(&profile_here, &below("missing/child_before")), 1);
    assert_eq!(asked(&profile_here, "missing/child_after"), 1);
    assert_eq!(asked(&profile_here, "missing/after_exec"), 1);
    // The command is launched elsewhere, which is not where we are.
    let elsewhere = folder();
    let profile_there = profile(&options(), &mut command(&testee, elsewhere.path()));
    assert_eq!(asked(&profile_there, &below("missing/moves")), 0);
    assert_eq!(sum(&profile_there, Query::Access, "missing/moves"), (3, 1));
    let there = |path: &str| elsewhere.path().join(path).to_str().unwrap().to_owned();
    assert_eq!(asked(&profile_there, &there("missing/moves")), 0, "nobody told us where");
}

#[test]
fn a_32_bit_child_of_a_64_bit_program_is_counted() {
    let Some(testee) = testee("watcher-i386") else { return };
    let Some(profile) = of_sh(&format!("{} 100; exit 3", testee.display())) else { return };
    assert_eq!(sum(&profile, Query::Stat, "/etc/localtime").0, 100);
    let row = profile.rows.iter().find(|r| r.query == Query::Stat && r.count == 100).unwrap();
    assert!(["stat64", "fstatat64", "statx"].contains(&profile.call(row)), "{row:?}");
    let child = profile.process(row.process);
    assert_eq!(child.name(), "watcher-i386");
    assert_eq!((child.is_64bit, child.secure), (Some(false), Some(false)));
    assert_eq!(profile.processes[0].is_64bit, Some(true));
    assert_eq!(profile.processes[0].exit, Some(Exit::Code(3)));
}

#[test]
fn another_root_is_noticed() {
    let Some(()) = needed(is_root()).filter(|()| possible()) else { return };
    let Some(chroot) = needed(program("chroot")) else { return };
    let Some(testee) = testee("watcher-static") else { return };
    let folder = folder();
    std::fs::copy(testee, folder.path().join("watcher")).unwrap();
    std::fs::create_dir(folder.path().join("etc")).unwrap();
    std::fs::write(folder.path().join("etc/localtime"), "x").unwrap();
    let mut command = command(chroot, Path::new("/"));
    command.arg(folder.path()).args(["/watcher", "20"]);
    let profile = profile(&options(), &mut command);
    let [chroot, watcher] = &profile.processes[..] else { panic!("{:?}", profile.processes) };
    assert_eq!(watcher.exe.as_deref(), Some("/watcher"));
    assert!(!watcher.shares_root);
    assert!(!chroot.shares_root, "it changed its root before the exec");
    assert_eq!(sum(&profile, Query::Stat, "/etc/localtime"), (20, 19));
}

#[test]
fn a_mount_namespace_of_its_own_is_noticed_without_an_exec() {
    let Some(()) = needed(is_root()).filter(|()| possible()) else { return };
    let Some(testee) = testee("zone_switch") else { return };
    let zone = "/usr/share/zoneinfo/Asia/Tokyo";
    if needed(std::fs::metadata(zone).map_err(|_| format!("{zone} is missing"))).is_none() {
        return;
    }
    let folder = folder();
    let profile = profile(&options(), command(testee, folder.path()).arg(zone));
    assert_eq!(profile.processes[0].exit, Some(Exit::Code(0)));
    assert_eq!(sum(&profile, Query::Stat, "/etc/localtime").0, 3);
    assert_eq!(sum(&profile, Query::Open, "/etc/localtime").0, 2);
    assert!(!profile.processes[0].shares_root);
}

#[test]
fn cpu_time_is_that_of_all_threads() {
    let Some(testee) = testee("busy").filter(|_| possible()) else { return };
    let folder = folder();
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
        // Those that wait for their end take time until then.
        assert!(user + system < taken * 2 || how == "exit", "{how}: {user} {system}");
        assert!(user > system, "{how}: {user} {system}");
        assert_eq!(profile.totals.cpu_user_ns, Some(user));
    }
}

#[test]
fn a_child_that_outlives_the_command_is_counted() {
    let Some(profile) = of_sh("(sleep 0.2; test -e /missing/late) & exit 2") else { return };
    assert_eq!(profile.processes[0].exit, Some(Exit::Code(2)));
    assert_eq!(sum(&profile, Query::Stat, "/missing/late").0, 1);
}

#[test]
fn a_script_has_its_own_name_and_each_image_the_limit_it_was_started_with() {
    let Some(sh) = needed(program("sh")) else { return };
    let Some(profile) = of_sh(needless_fixtures::NAMED_SCRIPT) else { return };
    let exe = sh.canonicalize().unwrap();
    let named = |name| profile.processes.iter().rfind(|p| p.command.as_deref() == Some(name));
    let script = named("a-script-of-a-l").unwrap();
    assert_eq!((script.born, script.open_files), (Spawn::Exec, Some(300)));
    assert_eq!(script.exe.as_deref(), exe.to_str());
    assert_eq!(script.script(), Some("a-script-of-a-l"));
    // It went down to 300 itself, after its exec.
    let shell = named("sh").unwrap();
    assert_eq!((shell.born, shell.open_files), (Spawn::Fork, Some(400)));
    assert_eq!(profile.process(shell.parent.unwrap()).open_files, Some(400));
    assert_ne!(profile.processes[0].open_files, Some(400));
    assert!(profile.processes.iter().all(|p| p.command.is_some() && p.open_files.is_some()));
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
    // It is cat when it answers.
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

#[test]
fn output_to_dev_null_is_told_from_output_to_a_file_and_a_pipe() {
    let Some(profile) = of_sh(needless_fixtures::THREE_OUTPUTS) else { return };
    let of = |detail| {
        let rows = profile.rows.iter().filter(|row| row.target == Target::ArgClass(detail));
        rows.filter(|row| row.count == 50).count()
    };
    assert_eq!((of(ArgClass::DiscardedOutput), of(ArgClass::SmallOutput)), (1, 2));
}
