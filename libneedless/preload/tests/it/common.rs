//! The library and the C programs that the tests run, built once by each process of the tests.

use needless_fixtures::needed;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// If `scripts/cross-time` tests another architecture: the target's name, the C compiler for its programs, and the
/// command that runs them.
fn other_machine() -> Option<[String; 3]> {
    let set = ["TARGET", "CC", "RUN"].map(|what| std::env::var(format!("NEEDLESS_CROSS_{what}")));
    let [Ok(target), Ok(compiler), Ok(runner)] = set else { return None };
    Some([target, compiler, runner])
}

/// A command of several words.
fn words(line: &str) -> Command {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    command.args(words);
    command
}

/// The directory for built files, one for each architecture.
fn made_in() -> PathBuf {
    let here = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let Some([target, ..]) = other_machine() else { return here.into() };
    let there = here.join(target);
    std::fs::create_dir_all(&there).expect("a directory");
    there
}

/// The shared library, built by `build-so`.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let out = made_in().join("so");
        let mut script = Command::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("build-so"));
        script.arg(&out);
        if let Some([_, compiler, _]) = other_machine() {
            script.env("CC", compiler);
        }
        let built = script.output().expect("build-so runs");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        out.join("libneedless_localtime.so")
    })
}

/// The program `tests/c/NAME.c`, compiled with further options.
pub(crate) fn program(name: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(format!("{name}.c"));
    let suffix = options.concat().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let out = made_in();
    // Tests in other threads and processes may compile the same program: each writes a file of its own and renames it.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let made = out.join(format!("{name}{suffix}.{process}.{number}"));
    let target = out.join(format!("{name}{suffix}"));
    let compiler = other_machine().map_or_else(|| "cc".to_owned(), |[_, compiler, _]| compiler);
    let cc = words(&compiler)
        .args(["-O1", "-w", "-pthread", "-o"])
        .arg(&made)
        .arg(source)
        .args(options)
        .output()
        .expect("a C compiler");
    assert!(cc.status.success(), "{}", String::from_utf8_lossy(&cc.stderr));
    std::fs::rename(made, &target).expect("rename");
    target
}

/// Runs it with `TZ` as given (`None`: unset), with or without the library.
pub(crate) fn run(command: &mut Command, tz: Option<&str>, preloaded: bool) -> Output {
    if let Some([_, _, runner]) = other_machine() {
        return run_emulated(&runner, command, tz, preloaded);
    }
    match tz {
        Some(tz) => command.env("TZ", tz),
        None => command.env_remove("TZ"),
    };
    if preloaded {
        command.env("LD_PRELOAD", library());
    } else {
        command.env_remove("LD_PRELOAD");
    }
    command.env_remove("TZDIR").output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// As `run`, by an emulator, which takes the program's own variables as `-E NAME=VALUE`: a library of another
/// architecture cannot be preloaded into the emulator itself.
fn run_emulated(runner: &str, program: &Command, tz: Option<&str>, preloaded: bool) -> Output {
    let mut command = words(runner);
    command.env_remove("LD_PRELOAD").env_remove("TZ").env_remove("TZDIR");
    if preloaded {
        command.arg("-E").arg(format!("LD_PRELOAD={}", library().display()));
    }
    // Not by -E, for which a comma starts the next variable; the emulator does not read TZ.
    if let Some(tz) = tz {
        command.env("TZ", tz);
    }
    command.arg(program.get_program()).args(program.get_args());
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Runs it with and without the library; the output must be the same, and not empty.
pub(crate) fn same(make: impl Fn() -> Command, tz: Option<&str>) {
    let plain = run(&mut make(), tz, false);
    let preloaded = run(&mut make(), tz, true);
    assert!(plain.status.success(), "{:?}", plain);
    assert!(!plain.stdout.is_empty());
    assert_eq!(
        plain.status,
        preloaded.status,
        "TZ={tz:?}: {}",
        String::from_utf8_lossy(&preloaded.stderr)
    );
    if plain.stdout == preloaded.stdout {
        return;
    }
    let (a, b) =
        (String::from_utf8_lossy(&plain.stdout), String::from_utf8_lossy(&preloaded.stdout));
    let differing: Vec<_> = a.lines().zip(b.lines()).filter(|(a, b)| a != b).collect();
    let shown: String =
        differing.iter().take(12).map(|(a, b)| format!("libc  {a}\nours  {b}\n")).collect();
    panic!(
        "TZ={tz:?}: {} of {} lines differ ({} lines of ours)\n{shown}",
        differing.len(),
        a.lines().count(),
        b.lines().count()
    );
}

/// Whether a program is installed; if not, the test is counted as skipped, which fails in CI.
pub(crate) fn have(name: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .output()
        .expect("sh")
        .status
        .success();
    needed(found.then_some(()).ok_or(format!("{name} is not installed"))).is_some()
}

/// Whether a mount namespace can be made; if not, likewise.
pub(crate) fn may_mount() -> bool {
    let may =
        Command::new("unshare").args(["-m", "true"]).output().is_ok_and(|o| o.status.success());
    needed(may.then_some(()).ok_or("no right to make a mount namespace".into())).is_some()
}

/// Runs a command in a mount namespace of its own, where `/etc/localtime` is a link to the link `zone` in a directory,
/// which leads to `tokyo` beside it; `athens` is there, too. `command` gets the directory's path.
pub(crate) fn with_a_link(command: impl Fn(&str) -> String, preloaded: bool) -> Output {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display().to_string();
    let script = format!(
        "set -e; cp /usr/share/zoneinfo/Asia/Tokyo {at}/tokyo; cp /usr/share/zoneinfo/Europe/Athens {at}/athens
         mkdir {at}/etc; ln -s {at}/zone {at}/etc/localtime; cp /etc/ld.so.cache {at}/etc/
         ln -s tokyo {at}/zone; mount --bind {at}/etc /etc; exec {}",
        command(&at)
    );
    run(Command::new("unshare").args(["-m", "sh", "-c", &script]), None, preloaded)
}
