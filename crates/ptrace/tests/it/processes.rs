//! Who made the calls: processes, images, environments, roots, and what was lost; through the library.

use super::common::*;
use needless_fixtures::backend::processes::{Asked, Observes};
use needless_launch::{Launch, Stdio};
use needless_model::{Backend, Env, Exit, Fact, Limits, Loss, Profile, Query, Spawn, Stops};
use needless_ptrace::{TraceError, TraceOptions, Traced, trace};
use std::ffi::OsString;
use std::path::Path;

fn launch(program: &Path, arguments: &[&str]) -> Launch {
    let name = program.as_os_str().to_owned();
    Launch {
        program: program.to_owned(),
        argv: [name].into_iter().chain(arguments.iter().map(OsString::from)).collect(),
        env: None,
        stdio: Stdio::Capture,
        caller: None,
    }
}

fn options() -> TraceOptions {
    TraceOptions {
        watch: ["TZ", "NEEDLESS_TEST"].into(),
        stacks: true,
        patch_after: PATCH_AFTER,
        ..TraceOptions::default()
    }
}

fn traced(program: &Path, arguments: &[&str]) -> Traced {
    trace(launch(program, arguments), &options()).unwrap()
}

#[test]
fn a_probe_gives_its_output_exit_and_environment() {
    let Some(sh) = needed(program("sh")) else { return };
    let mut launch = launch(&sh, &["-c", "echo \"$NEEDLESS_TEST\"; exit 6"]);
    let pairs = [("NEEDLESS_TEST", "a=b"), ("SECRET", "x"), ("PATH", "/bin")];
    launch.env = Some(pairs.map(|(n, v)| (n.into(), v.into())).into());
    let traced = trace(launch, &options()).unwrap();
    assert_eq!(traced.stdout, b"a=b\n");
    assert_eq!(traced.exit, Exit::Code(6));
    let command = &traced.profile.processes[0];
    let Env::Known(kept) = &command.env else { panic!("{:?}", command.env) };
    assert_eq!(kept.iter().collect::<Vec<_>>(), [(&"NEEDLESS_TEST".into(), &"a=b".into())]);
    assert_eq!((command.secure, command.shares_root), (Some(false), true));
    assert_eq!((command.born, command.parent), (Spawn::Exec, None));
    let parts = command.cpu_user_ns.unwrap() + command.cpu_sys_ns.unwrap();
    assert!(parts > 0 && command.cpu_ns == Some(parts));
    assert_eq!((command.given_back, command.minor_faults), (Some(0), None));
    let stops = if PATCHED { Stops::Patched } else { Stops::Seccomp };
    assert_eq!(traced.profile.backend, Backend::ptrace(stops));
    assert!(!traced.profile.facts.has(Fact::AllCalls));
}

#[test]
fn faults_are_counted_from_the_first_memory_that_is_given_back() {
    let Some(perl) = needed(program("perl")) else { return };
    let code = "for (1..3) { my $block = 'x' x 5e7; undef $block }";
    let traced = trace(launch(&perl, &["-e", code]), &options()).unwrap();
    let command = &traced.profile.processes[0];
    assert!(command.given_back > Some(100_000_000), "{command:?}");
    assert!(command.minor_faults > Some(0) && command.major_faults.is_some(), "{command:?}");
}

#[test]
fn what_cannot_be_executed_is_an_error() {
    let error = trace(launch(Path::new("/missing/program"), &[]), &options()).unwrap_err();
    assert!(
        matches!(error, TraceError::Launch(needless_launch::LaunchError::Exec { .. })),
        "{error}"
    );
    assert_eq!(error.status(), 127);
    let folder = tempfile::tempdir().unwrap();
    let error = trace(launch(folder.path(), &[]), &options()).unwrap_err();
    assert_eq!(error.status(), 126);
}

#[test]
fn snapshots_hold_the_stack_and_what_is_mapped() {
    let Some(testee) = testee("watcher") else { return };
    let traced = traced(&testee, &["600"]);
    let hot: Vec<_> = traced
        .stacks
        .iter()
        .filter(|s| traced.profile.path(&traced.profile.rows[s.row]) == "/etc/localtime")
        .collect();
    let weights: Vec<_> = hot.iter().map(|s| s.weight).collect();
    if PATCHED {
        // They are taken when a table was emptied, at calls that then stop.
        assert!(weights.len() >= 4 && weights.iter().sum::<u64>() <= 600, "{weights:?}");
    } else {
        assert_eq!(weights, [2, 3, 2, 2, 2, 14, 14, 14, 14, 112, 112, 112, 112]);
    }
    for stack in hot {
        let inside =
            |address: u64| stack.modules.iter().find(|m| (m.start..m.end).contains(&address));
        let libc = inside(stack.pc).expect("the call is made in a mapped file");
        assert!(libc.file.is_some(), "{libc:?}");
        assert!(!stack.bytes.is_empty() && stack.bytes.len() <= 16 * 1024);
        // Somewhere on the stack is a return address in the program itself.
        let (words, _) = stack.bytes.as_chunks();
        let words = words.iter().map(|word| u64::from_ne_bytes(*word));
        assert!(
            words.filter_map(inside).any(|m| m.path == testee && m.file.is_some()),
            "{:?}",
            stack.modules
        );
    }
}

#[test]
fn snapshots_of_children_of_one_image_have_their_memory_in_common() {
    let Some(testee) = testee("fork_storm") else { return };
    let traced = traced(&testee, &["60", "2"]);
    let path = |stack: &&needless_host::Stack| {
        traced.profile.path(&traced.profile.rows[stack.row]) == "/missing/fork_storm"
    };
    let stacks: Vec<_> = traced.stacks.iter().filter(path).collect();
    // Where sites count themselves, nothing stops at the second call of a child.
    assert_eq!(stacks.len(), if PATCHED { 0 } else { 60 });
    for stack in &stacks {
        assert!(std::sync::Arc::ptr_eq(&stack.bytes, &stacks[0].bytes));
        assert!(std::sync::Arc::ptr_eq(&stack.modules, &stacks[0].modules));
    }
    assert!(PATCHED || !stacks[0].bytes.is_empty());
}

#[test]
fn a_program_that_wants_to_be_traced_is_refused_and_that_is_said() {
    let Some(testee) = testee("self_ptrace") else { return };
    let traced = traced(&testee, &[]);
    assert_eq!(traced.profile.lost[&Loss::Ptrace], 1);
    assert!(traced.profile.notes[0].contains("self_ptrace tried to trace"));
    assert!(String::from_utf8_lossy(&traced.stdout).contains("not permitted"));
}

#[test]
fn a_privilege_that_tracing_takes_away_is_said() {
    let Some(()) = needed(is_root()) else { return };
    let Some(testee) = testee("set_user") else { return };
    let Some(setpriv) = needed(program("setpriv")) else { return };
    // In a folder that user `nobody` can reach, on a file system that honours the bit.
    let folder = tempfile::Builder::new().prefix("needless").tempdir_in("/var/tmp").unwrap();
    let copy = folder.path().join("set_user");
    std::fs::copy(&testee, &copy).unwrap();
    let run = folder.path().join("ptrace-run");
    std::fs::copy(RUN, &run).unwrap();
    let chmod = |mode: &str, path: &Path| {
        assert!(
            std::process::Command::new("chmod").arg(mode).arg(path).status().unwrap().success()
        );
    };
    chmod("777", folder.path());
    chmod("4755", &copy);
    let unprivileged = std::process::Command::new(&setpriv)
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
        .arg(&run)
        .arg(&copy)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&unprivileged.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&unprivileged.stdout), "effective user 65534\n", "{said}");
    assert!(said.contains("# lost setuid_ignored 1"), "{said}");
    // With privilege, needless lets it keep its own.
    assert!(
        std::process::Command::new("chown").arg("65534").arg(&copy).status().unwrap().success()
    );
    chmod("4755", &copy);
    let privileged = std::process::Command::new(&run).arg(&copy).output().unwrap();
    let said = String::from_utf8_lossy(&privileged.stderr).into_owned();
    assert_eq!(String::from_utf8_lossy(&privileged.stdout), "effective user 65534\n", "{said}");
    assert!(!said.contains("# lost"), "{said}");
}

#[test]
fn a_process_that_is_killed_inside_a_call_is_accounted_for() {
    let Some(sh) = needed(program("sh")) else { return };
    // Opening a pipe without a writer blocks for ever.
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("sh -c 'read x <{0}' & sleep 0.3; kill -9 $!", pipe.display());
    let traced = traced(&sh, &["-c", &script]);
    assert_eq!(traced.profile.lost[&Loss::Unfinished], 1);
    let killed = traced.profile.processes.iter().filter(|p| p.exit == Some(Exit::Signal(9)));
    assert_eq!(killed.count(), 1);
}

struct Ptrace;

impl Observes for Ptrace {
    type Observed = Traced;

    fn observe(Asked { all, rows }: Asked, program: &Path, arguments: &[&str]) -> Traced {
        let limits = Limits::default();
        let limits = Limits { rows: rows.unwrap_or(limits.rows), ..limits };
        let options = TraceOptions { all, limits, ..options() };
        let traced = trace(launch(program, arguments), &options).unwrap();
        assert_eq!(traced.profile.processes[0].exit.or(Some(traced.exit)), Some(traced.exit));
        traced
    }

    fn profile(traced: &Traced) -> &Profile {
        &traced.profile
    }
}

/// The tests that all backends pass.
mod shared {
    use super::*;
    use needless_fixtures::backend::{paths, processes};

    needless_fixtures::every_backend_observes!(Ptrace);
    needless_fixtures::shared_tests! { paths of Ptrace:
        another_root_is_noticed
        relative_paths_are_absolute_where_the_directory_is_known
    }

    #[test]
    fn a_32_bit_child_of_a_64_bit_program_is_counted() {
        let traced = processes::a_32_bit_child_of_a_64_bit_program_is_counted::<Ptrace>();
        let Some(Traced { profile, .. }) = traced else { return };
        let row = profile.rows.iter().find(|r| r.query == Query::Stat && r.count == 100).unwrap();
        assert!(row.assumed > 0 && row.repeated > 0);
    }

    #[test]
    fn another_mount_namespace_is_noticed() {
        let traced = paths::another_mount_namespace_is_noticed::<Ptrace>();
        let Some(Traced { profile, roots, .. }) = traced else { return };
        assert_eq!(roots.len(), 1);
        let row = profile.rows.iter().find(|r| r.query == Query::Stat && r.count == 3).unwrap();
        assert!(row.repeated < 3, "the answer changed once: {row:?}");
    }

    #[test]
    fn repetition_is_distinguished_from_polling() {
        let observed = processes::repetition_is_distinguished_from_polling::<Ptrace>();
        let Some([watched, polled]) = observed else { return };
        let assumed = |traced: &Traced, count| {
            let row = traced.profile.rows.iter().find(|row| row.count == count);
            row.expect("the calls of the loop").assumed
        };
        // The first 8 and then one in 64 were looked at; where sites count themselves, all. Those that stop for a
        // snapshot are assumed.
        let (watched, polled) = (assumed(&watched, 1000), assumed(&polled, 100));
        assert!(if PATCHED { watched <= 24 } else { watched == 1000 - 8 - 15 }, "{watched}");
        assert!(if PATCHED { polled <= 8 } else { polled == 100 - 8 - 1 }, "{polled}");
        // With every call stopped nothing is assumed.
        let Some(watcher) = testee("watcher") else { return };
        let all = Ptrace::observe(Asked { all: true, rows: None }, &watcher, &["1000"]);
        assert_eq!(assumed(&all, 1000), 0);
        assert!(all.profile.facts.has(Fact::AllCalls));
    }
}
