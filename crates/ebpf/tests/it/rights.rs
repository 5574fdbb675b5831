//! The rights that an observation needs; and nothing remains after it.

use crate::common::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `count` as a user who may reach it, with these capabilities and no others.
fn as_nobody(capabilities: &str) -> Option<(tempfile::TempDir, Command)> {
    needed(is_root()).filter(|()| possible())?;
    let setpriv = needed(program("setpriv"))?;
    let folder = tempfile::Builder::new().prefix("needless").tempdir_in("/var/tmp").unwrap();
    let count = folder.path().join("count");
    fs::copy(count_example(), &count).unwrap();
    let mut command = command(setpriv, Path::new("/"));
    output(Command::new("chmod").arg("755").arg(folder.path()));
    command
        .args(["--reuid", "65534", "--regid", "65534", "--clear-groups", "--bounding-set"])
        .args([&format!("-all{capabilities}"), "--inh-caps", &format!("-all{capabilities}")])
        .args(["--ambient-caps", &format!("-all{capabilities}")])
        .arg(count);
    Some((folder, command))
}

#[test]
fn two_capabilities_are_enough() {
    let Some(testee) = testee("watcher") else { return };
    let Some((folder, mut command)) = as_nobody(",+bpf,+perfmon") else { return };
    let copy = folder.path().join("watcher");
    fs::copy(testee, &copy).unwrap();
    let done = output(command.arg("--all").arg(copy).arg("500"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&done.stdout), "stat /etc/localtime ok 500\n");
    let row = said.lines().find(|line| line.contains("\"/etc/localtime\"")).unwrap_or_default();
    assert!(row.trim_start().starts_with("500 "), "{said}");
    assert!(said.contains("lost {}"), "{said}");
}

#[test]
fn without_them_one_line_says_what_is_missing() {
    for capabilities in ["", ",+bpf", ",+perfmon"] {
        let Some((_folder, mut command)) = as_nobody(capabilities) else { return };
        let done = output(command.arg("true"));
        assert!(!done.status.success());
        let said = String::from_utf8_lossy(&done.stderr);
        let lines: Vec<&str> = said.lines().filter(|line| line.contains("eBPF")).collect();
        let [line] = lines[..] else { panic!("{capabilities}: {said}") };
        assert!(line.starts_with("eBPF is not allowed"), "{line}");
        assert!(line.contains("CAP_BPF and CAP_PERFMON") && line.contains("setcap"), "{line}");
    }
}

/// Numbers of the programs and links that a process holds: proc(5), fdinfo.
fn held(pid: u32, what: &str) -> Vec<String> {
    let about = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let about = about.filter_map(|entry| fs::read_to_string(entry.path()).ok());
    let number = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix(what))?;
        Some(line.trim().to_owned())
    };
    let mut numbers: Vec<String> = about.filter_map(number).collect();
    numbers.sort();
    numbers.dedup();
    numbers
}

/// Waits until it is so; the bound only ends a test that fails.
fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_observer_leaves_nothing_behind_and_the_target_goes_on() {
    let Some(testee) = testee("stat_loop").filter(|_| possible()) else { return };
    let Some(bpftool) = needed(program("bpftool")) else { return };
    let folder = tempfile::tempdir().unwrap();
    let [answers, status, pid] = ["answers", "status", "pid"].map(|n| folder.path().join(n));
    let script =
        "\"$0\" \"$1\" & echo $! >\"$3\"; wait $!; echo \"$?\" >\"$2\"; echo done >>\"$2\"";
    let mut count = command(count_example(), folder.path());
    count.arg("--latency").args(["sh", "-c", script]).arg(testee);
    let mut observer = spawn(count.args([&answers, &status, &pid]));
    let answered = || number(&answers);
    eventually("the target starts", || answered() > 0);
    let (programs, links) = (held(observer.id(), "prog_id:"), held(observer.id(), "link_id:"));
    // Of all: `show id` of a link ends with an error in bpftool 7.5.
    let listed = |what: &str, number: &String| {
        let all = output(Command::new(&bpftool).args([what, "show"])).stdout;
        let begins = format!("{number}: ");
        String::from_utf8_lossy(&all).lines().any(|line| line.starts_with(&begins))
    };
    assert!(programs.len() >= 5 && links.len() >= 5, "{programs:?} {links:?}");
    assert!(programs.iter().all(|number| listed("prog", number)), "{programs:?}");
    assert!(links.iter().all(|number| listed("link", number)), "{links:?}");

    observer.kill().unwrap();
    observer.wait().unwrap();
    eventually("the programs are gone", || !programs.iter().any(|n| listed("prog", n)));
    eventually("the links are gone", || !links.iter().any(|n| listed("link", n)));

    let before = answered();
    eventually("the target goes on", || answered() > before);
    let pid = fs::read_to_string(&pid).unwrap();
    assert!(output(Command::new("kill").arg(pid.trim())).status.success());
    let ended = || fs::read_to_string(&status).unwrap_or_default();
    eventually("the target ends", || ended().ends_with("done\n"));
    assert_eq!(ended(), "0\ndone\n", "no question failed");
}

/// The first number in what `stat_loop` keeps.
fn number(file: &Path) -> u64 {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Where cargo keeps libbpf's headers.
fn libbpf() -> Option<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version=1", "--locked", "--offline", "--filter-platform"]);
    let listed = output(cargo.arg("x86_64-unknown-linux-gnu").stdin(Stdio::null()));
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let mut quoted = listed.split('"');
    let manifest = quoted.find(|text| text.contains("libbpf-sys-") && text.ends_with("Cargo.toml"));
    manifest.map(|manifest| Path::new(manifest).with_file_name("libbpf"))
}

#[test]
fn the_program_compiles_for_both_architectures() {
    let clang = std::env::var("CLANG").unwrap_or("clang".into());
    let Some(clang) = needed(program(&clang)) else { return };
    let Some(libbpf) = needed(libbpf().ok_or("cargo does not report where libbpf is".into()))
    else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for architecture in ["x86", "arm64"] {
        let done = output(
            Command::new(&clang)
                .args(["-O2", "-g", "-Wall", "-Werror"])
                .args(["-target", "bpf", "-mcpu=v3", "-nostdinc", "-c"])
                .arg(format!("-D__TARGET_ARCH_{architecture}"))
                .arg(format!("-I{}", libbpf.join("src").display()))
                .arg(concat!("-I", env!("OUT_DIR")))
                .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bpf/needless.bpf.c"))
                .arg("-o")
                .arg(folder.path().join(architecture)),
        );
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
}
