//! `inspect_elf` and `fill_libcs` on programs compiled here.

use needless_fixtures::{go, needed};
use needless_host::{Roots, fill_libcs, inspect_elf};
use needless_model::{Libc, ProcId, Process, Profile, Runtime, Spawn};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Builds a program that does nothing; `None`, and the test counts as skipped, without that compiler.
fn build(dir: &TempDir, compiler: &str, options: &[&str]) -> Option<PathBuf> {
    let (source, program) = (dir.path().join("a.c"), dir.path().join("program"));
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let made = Command::new(compiler).args(options).arg("-o").args([&program, &source]).status();
    let status = needed(made.map_err(|error| format!("{compiler}: {error}")))?;
    assert!(status.success(), "{compiler} {options:?}: {status}");
    Some(program)
}

fn profile_of(exe: &Path) -> Profile {
    let mut process = Process::new(1, None, Spawn::Seen);
    process.exe = Some(exe.to_str().unwrap().into());
    Profile { processes: vec![process], ..Profile::default() }
}

fn filled(exe: &Path) -> (Libc, Runtime) {
    let mut profile = profile_of(exe);
    fill_libcs(&mut profile, &Roots::new(Vec::new()).unwrap());
    let process = profile.processes.remove(0);
    (process.libc, process.runtime)
}

#[test]
fn a_dynamic_program_has_glibc_of_this_version() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = build(&dir, "cc", &[]) else { return };
    assert_eq!(inspect_elf(&File::open(&program).unwrap()), (Libc::Glibc(None), Runtime::Native));
    // The library prints its version when it is run as a program, and getconf asks it.
    let said = Command::new("getconf").arg("GNU_LIBC_VERSION").output().unwrap().stdout;
    let version = String::from_utf8(said).unwrap().trim().replace("glibc ", "");
    assert_eq!(filled(&program), (Libc::Glibc(Some(version)), Runtime::Native));
}

#[test]
fn static_programs_are_static() {
    for options in [["-static", "-no-pie"], ["-static-pie", "-fPIE"]] {
        let dir = tempfile::tempdir().unwrap();
        let Some(program) = build(&dir, "cc", &options) else { return };
        assert_eq!(filled(&program), (Libc::Static, Runtime::Native), "{options:?}");
    }
}

#[test]
fn musl_is_musl() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = build(&dir, "musl-gcc", &[]) else { return };
    assert_eq!(filled(&program), (Libc::Musl, Runtime::Native));
}

#[test]
fn a_loader_run_as_a_program_counts_as_its_library() {
    let loader = ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"];
    let loader = loader.into_iter().map(Path::new).find(|path| path.exists());
    let Some(loader) = loader else { panic!("neither x86-64 nor aarch64 glibc") };
    assert!(matches!(filled(loader).0, Libc::Glibc(_)));
}

#[test]
fn scripts_and_missing_files_are_unknown() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    fs::write(&script, "#!/bin/sh\n").unwrap();
    assert_eq!(filled(&script).0, Libc::Unknown);
    assert_eq!(filled(&dir.path().join("absent")).0, Libc::Unknown);
    fs::write(&script, b"\x7fELF\x02\x01\x01 cut off").unwrap();
    assert_eq!(filled(&script).0, Libc::Unknown);
    assert_eq!(filled(dir.path()).0, Libc::Unknown);
}

#[test]
fn the_runtime_is_recognised_by_its_marks() {
    let dir = tempfile::tempdir().unwrap();
    let source = |text: &str| fs::write(dir.path().join("b.c"), text).unwrap();
    let build = |options: &[&str]| {
        let program = dir.path().join("app");
        let mut cc = Command::new("cc");
        cc.args(["-o"]).arg(&program).arg(dir.path().join("b.c")).args(options);
        assert!(cc.status().unwrap().success());
        program
    };
    source("void node_module_register(void *m) {} int main(void) { return 0; }");
    assert_eq!(filled(&build(&["-rdynamic"])).1, Runtime::Node);
    assert_eq!(filled(&build(&[])).1, Runtime::Native, "not offered, so an accident of names");
    source("__attribute__((section(\".go.buildinfo\"))) int x = 1; int main(void) { return 0; }");
    assert_eq!(filled(&build(&["-s"])).1, Runtime::Go);
}

#[test]
fn go_programs_are_go() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("a.go");
    fs::write(&source, "package main\nfunc main() {}\n").unwrap();
    let program = dir.path().join("program");
    let Some(mut go) = go() else { return };
    go.args(["build", "-ldflags=-s -w", "-o"]).args([&program, &source]);
    assert!(go.status().unwrap().success());
    assert_eq!(filled(&program), (Libc::Static, Runtime::Go));
}

#[test]
fn a_program_below_another_root_is_found_there() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = build(&dir, "cc", &["-static"]) else { return };
    let root = File::open(dir.path()).unwrap();
    fs::rename(program, dir.path().join("only-inside")).unwrap();
    let mut profile = profile_of(Path::new("/only-inside"));
    profile.processes[0].shares_root = false;
    let mut child = profile.processes[0].forked(2, ProcId(0));
    child.exe = Some("/only-inside".into());
    profile.processes.push(child);
    fill_libcs(&mut profile, &Roots::new(vec![(ProcId(0), root.into())]).unwrap());
    assert!(profile.processes.iter().all(|process| process.libc == Libc::Static));

    let mut lost = profile_of(Path::new("/only-inside"));
    lost.processes[0].shares_root = false;
    fill_libcs(&mut lost, &Roots::new(Vec::new()).unwrap());
    assert_eq!(lost.processes[0].libc, Libc::Unknown, "its root was not opened");
}
