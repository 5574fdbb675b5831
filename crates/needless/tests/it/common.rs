//! Shared by the tests: running the program, reading its reports, and reporting what is missing.

pub(crate) use needless_fixtures::{
    as_ordinary_user, command, command_of, copy, installed, is_root, needed, own_mounts, program,
    skipped, stderr, stdout,
};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Once;

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
        // No test profile of cargo can build it (the script says why), so its script does.
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../libneedless/preload/build-so");
        let mut build = std::process::Command::new(script);
        let done = build.arg(library.parent().unwrap()).env("CARGO", env!("CARGO")).output();
        let done = done.unwrap();
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
    let done = command(NEEDLESS)
        .env_remove("NEEDLESS_BACKEND")
        .args(["run", "--backend", "ebpf", "--", "true"])
        .output()
        .unwrap();
    let said = stderr(&done);
    let why = said.lines().next().unwrap_or("no eBPF").trim_start_matches("needless: ");
    needed(done.status.success().then_some(()).ok_or(why.to_owned())).is_some()
}

/// A folder that every user may read.
pub(crate) fn open_folder() -> tempfile::TempDir {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    tempfile::Builder::new().permissions(mode).tempdir_in("/tmp").unwrap()
}

/// `needless ARGS…`, run to its end.
pub(crate) fn needless(args: &[&str]) -> Output {
    command(NEEDLESS).args(args).output().unwrap()
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
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|e| panic!("{words:?}: {e}; {}", stderr(&done)));
    serde_json::from_str(&text).unwrap()
}

/// A report of `needless read OPTIONS… FILES…`.
pub(crate) fn read(args: &[&str]) -> Value {
    let done = needless(&[&["read", "--format", "json"], args].concat());
    assert!(done.status.success(), "{args:?}: {}", stderr(&done));
    serde_json::from_slice(&done.stdout).unwrap()
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
