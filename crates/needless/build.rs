//! What `needless --version --verbose` says of the build, as constants of the program (src/version.rs).

use std::env;
use std::path::Path;
use std::process::Command;

/// What the program is made of, below the top of the repository.
const SOURCES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "crates", "libneedless"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let set = |name: &str, value: &str| println!("cargo::rustc-env={name}={value}");
    set("BUILD_TARGET", &variable("TARGET"));
    set("BUILD_PROFILE", &profile());
    let compiler = said(&variable("RUSTC"), &["--version"]).unwrap_or_else(|| "unknown".into());
    set("BUILD_COMPILER", &compiler);
    // With the commit in it, everything that tests the program would be built anew after each commit.
    if variable("PROFILE") == "release" {
        set("BUILD_COMMIT", &commit(Path::new("../..")).unwrap_or_else(|| "unknown".into()));
    } else {
        set("BUILD_COMMIT", "not recorded in a debug build");
    }
}

/// The name of cargo's profile: the output directory is target[/TRIPLE]/PROFILE/build/needless-HASH/out. `PROFILE`
/// knows only debug and release.
fn profile() -> String {
    let out = env::var("OUT_DIR").unwrap_or_default();
    let folder = Path::new(&out).ancestors().nth(3).and_then(Path::file_name);
    folder.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The commit that is built, and whether sources differ from it. `None` where this is no checkout of its own: an
/// unpacked archive may lie in a repository of somebody else.
fn commit(top: &Path) -> Option<String> {
    if !top.join(".git").exists() {
        return None;
    }
    let git = |words: &[&str]| said("git", &[&["-C", "../.."], words].concat());
    let commit = git(&["rev-parse", "HEAD"])?;
    for path in SOURCES {
        println!("cargo::rerun-if-changed=../../{path}");
    }
    let log = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo::rerun-if-changed={log}");
    }
    let changed = git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, with changes") })
}

/// What a program prints, without spaces around it.
fn said(program: &str, words: &[&str]) -> Option<String> {
    let done =
        Command::new(program).args(words).output().ok().filter(|done| done.status.success())?;
    Some(String::from_utf8(done.stdout).ok()?.trim().to_owned())
}
