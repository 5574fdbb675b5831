//! Shared by the tests: running the program, reading its reports, and reporting what is missing.

pub(crate) use needless_fixtures::{
    as_ordinary_user, command, command_of, copy, installed, is_root, needed, own_mounts, program,
    skipped, stderr, stdout,
};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Once, OnceLock};

pub(crate) const NEEDLESS: &str = env!("CARGO_BIN_EXE_needless");

/// Gives the user `nobody` the right to write, in a POSIX access control list: acl(5), as the kernel keeps it.
pub(crate) fn grant_write_to_user_nobody(path: &Path) -> Result<(), String> {
    let none = u32::MAX;
    let entries: [(u16, u16, u32); 5] =
        [(1, 7, none), (2, 7, 65534), (4, 5, none), (16, 7, none), (32, 5, none)];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        list.extend([tag.to_le_bytes(), rights.to_le_bytes()].concat());
        list.extend(id.to_le_bytes());
    }
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(path, "system.posix_acl_access", &list, flags)
        .map_err(|error| format!("no access control lists in {}: {error}", path.display()))
}

/// A testee, as text.
pub(crate) fn testee(name: &str) -> Option<String> {
    needed(needless_fixtures::path(name)).map(|path| path.to_str().unwrap().to_owned())
}

/// The library of `needless preload`, built beside the program.
pub(crate) fn library() -> &'static Path {
    static BUILT: Once = Once::new();
    let library = Path::new(NEEDLESS).with_file_name("libneedless_localtime.so");
    BUILT.call_once(|| {
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../libneedless/preload/build-so");
        let mut build = std::process::Command::new(script);
        let done = build.arg(library.parent().unwrap()).output().unwrap();
        assert!(done.status.success(), "{}", stderr(&done));
        assert!(library.is_file(), "{}", library.display());
    });
    Box::leak(library.into_boxed_path())
}

/// CAP_BPF, CAP_SYS_PTRACE, CAP_KILL, CAP_DAC_READ_SEARCH (linux/capability.h): the capabilities that needless keeps while it observes.
pub(crate) const OBSERVING: u64 = 1 << 39 | 1 << 19 | 1 << 5 | 1 << 2;

/// `None`, and the test counts as skipped, unless we are root.
pub(crate) fn root() -> Option<()> {
    needed(is_root().then_some(()).ok_or("not root".to_owned()))
}

/// Whether eBPF is allowed here; if not, the test counts as skipped.
pub(crate) fn observes_others() -> bool {
    static TRIED: OnceLock<Result<(), String>> = OnceLock::new();
    let tried = TRIED.get_or_init(|| {
        let done = needless(&["run", "--backend", "ebpf", "--", "true"]);
        let said = stderr(&done);
        let why = said.lines().next().unwrap_or("no eBPF").trim_start_matches("needless: ");
        done.status.success().then_some(()).ok_or(why.to_owned())
    });
    needed(tried.clone()).is_some()
}

/// The variables that select how `needless run` and `needless prove` observe, also where a script starts them. The
/// first names the backend.
pub(crate) type Backend = &'static [(&'static str, &'static str)];

const EBPF: Backend = &[("NEEDLESS_BACKEND", "ebpf")];
const PTRACE: Backend = &[("NEEDLESS_BACKEND", "ptrace")];
const UNPATCHED: Backend = &[PTRACE[0], ("NEEDLESS_NO_PATCH", "true")];

/// Each backend that is usable here. What a failed test printed ends with the one that it was at.
pub(crate) fn backends() -> impl Iterator<Item = Backend> {
    let ebpf = observes_others().then_some(EBPF);
    ebpf.into_iter().chain([PTRACE]).inspect(announce)
}

/// The same, and ptrace where every call stops, since call sites that are patched must make no difference.
pub(crate) fn backends_also_unpatched() -> impl Iterator<Item = Backend> {
    backends().chain([UNPATCHED].into_iter().inspect(announce))
}

fn announce(backend: &Backend) {
    eprintln!("with {backend:?}:");
}

/// `needless run RUN… -- WORDS…` in a folder with each backend, and `needless read READ…` of strace's log of it: the
/// name of the backend, or "log", and the report.
pub(crate) fn observed_by_each_backend(
    folder: &Path,
    [run, read]: [&[&str]; 2],
    env: &[(&str, &str)],
    words: &[&str],
) -> Vec<(&'static str, Value)> {
    let within = |program: &str| {
        let mut command = command(program);
        command.current_dir(folder).envs(env.iter().copied());
        command
    };
    let reported = |mut needless: Command| -> Value {
        let done = needless.output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", stderr(&done));
        json(&std::fs::read(folder.join("report.json")).unwrap())
    };
    let mut reports = Vec::new();
    for backend in backends() {
        let mut needless = within(NEEDLESS);
        needless.envs(backend.iter().copied()).args(["run", "-o", "report.json"]).args(run);
        needless.arg("--").args(words);
        reports.push((backend[0].1, reported(needless)));
    }
    if program("strace").is_some() {
        let options = ["-f", "-y", "-v", "-s", "4096", "-o", "log"];
        let done = within("strace").args(options).args(words).output().unwrap();
        assert!(done.status.success(), "{words:?}: {}", stderr(&done));
        let mut needless = within(NEEDLESS);
        needless.args(["read", "-o", "report.json"]).args(read).arg("log");
        reports.push(("log", reported(needless)));
    }
    reports
}

/// What `text`, which is JSON, says.
pub(crate) fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

/// A folder that every user may read.
pub(crate) fn open_folder() -> tempfile::TempDir {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    tempfile::Builder::new().permissions(mode).tempdir_in("/tmp").unwrap()
}

/// `needless ARGS…`, run to its end.
pub(crate) fn needless(args: &[&str]) -> Output {
    needless_in(&[], args)
}

/// The same with variables in the environment.
pub(crate) fn needless_in(env: &[(&str, &str)], args: &[&str]) -> Output {
    command(NEEDLESS).envs(env.iter().copied()).args(args).output().unwrap()
}

/// `needless run -- WORDS…`, its report.
pub(crate) fn run(env: &[(&str, &str)], words: &[&str]) -> Value {
    run_with(&[], env, words)
}

/// The same with options of `run`.
pub(crate) fn run_with(options: &[&str], env: &[(&str, &str)], words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.json");
    let done = command(NEEDLESS)
        .envs(env.iter().copied())
        .arg("run")
        .args(options)
        .arg("-o")
        .arg(&file)
        .arg("--")
        .args(words)
        .output()
        .unwrap();
    json(&std::fs::read(&file).unwrap_or_else(|e| panic!("{words:?}: {e}; {}", stderr(&done))))
}

/// A report of `needless read OPTIONS… FILES…`.
pub(crate) fn read(args: &[&str]) -> Value {
    let done = needless(&[&["read", "--format", "json"], args].concat());
    assert!(done.status.success(), "{args:?}: {}", stderr(&done));
    json(&done.stdout)
}

/// Writes the log of `strace OPTIONS… -o LOG WORDS…`.
pub(crate) fn strace(options: &[&str], log: &Path, env: &[(&str, &str)], words: &[&str]) {
    let done = command("strace")
        .envs(env.iter().copied())
        .args(options)
        .arg("-o")
        .arg(log)
        .args(words)
        .output()
        .unwrap();
    // With -ff there is LOG.PID instead.
    assert!(log.exists() || options.contains(&"-ff"), "strace {words:?}: {}", stderr(&done));
}

/// Every finding as `(rule, needless, of)`.
pub(crate) fn found(report: &Value) -> Vec<(&str, u64, u64)> {
    let findings = report["findings"].as_array().unwrap();
    let number = |of: &Value| of.as_u64().unwrap();
    findings
        .iter()
        .map(|f| (f["rule"].as_str().unwrap(), number(&f["needless"]), number(&f["of"])))
        .collect()
}

/// The needless calls of a rule, over all its findings.
pub(crate) fn needless_of(report: &Value, rule: &str) -> u64 {
    found(report).iter().filter(|(name, ..)| *name == rule).map(|(_, needless, _)| needless).sum()
}

/// The first finding of a rule.
pub(crate) fn finding<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let findings = report["findings"].as_array().unwrap();
    let one = findings.iter().find(|f| f["rule"] == rule);
    one.unwrap_or_else(|| panic!("no {rule} in {report:#}"))
}

/// The values that a finding advises for `variable`.
pub(crate) fn advised<'a>(finding: &'a Value, variable: &str) -> Vec<&'a str> {
    let remedies = finding["remedies"].as_array().unwrap();
    remedies
        .iter()
        .filter(|r| r["kind"] == "set_env" && r["variable"] == variable)
        .map(|r| r["value"].as_str().unwrap())
        .collect()
}

/// One line on standard error that begins with `needless: `, and no backtrace.
pub(crate) fn assert_one_line(done: &Output) -> String {
    let text = stderr(done);
    assert_eq!(text.lines().count(), 1, "{text:?}");
    assert!(text.starts_with("needless: ") && text.ends_with('\n'), "{text:?}");
    assert!(!text.contains("panicked") && !text.contains("RUST_BACKTRACE"), "{text:?}");
    text
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// `needless check OPTIONS… -- WORDS…` in a folder, with TZ set.
pub(crate) fn check(folder: &Path, options: &[&str], words: &[&str]) -> Command {
    let mut check = command(NEEDLESS);
    check.current_dir(folder).env("TZ", "UTC").env_remove("GITHUB_STEP_SUMMARY").arg("check");
    check.args(options).arg("--").args(words);
    check
}

/// What a command that ends with a status has written.
pub(crate) fn done(mut check: Command, wanted: i32) -> Output {
    let done = check.output().unwrap();
    let said = format!("{}{}", stdout(&done), stderr(&done));
    assert_eq!(done.status.code(), Some(wanted), "{said}");
    done
}
