//! `cargo xtask release`, tried on a small repository of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

const FILES: [(&str, &str); 7] = [
    (".gitignore", "/target\n"),
    (
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n\n[workspace.package]\nversion = \"0.4.2\"\n",
    ),
    ("CHANGELOG.md", "# Changes\n\n## 0.4.2 2026-11-23\n\n* New.\n"),
    (
        "crates/needless/Cargo.toml",
        "[package]\nname = \"needless\"\nversion.workspace = true\nedition = \"2024\"\nlicense = \"MIT\"\n
         [dependencies]\nof-needless = { path = \"../of-needless\" }\n",
    ),
    ("crates/needless/src/main.rs", "fn main() {}\n"),
    (
        "crates/of-needless/Cargo.toml",
        "[package]\nname = \"of-needless\"\nversion = \"1.0.0\"\nedition = \"2024\"\nlicense = \"MIT/Apache-2.0\"\n",
    ),
    ("crates/of-needless/src/lib.rs", "\n"),
];

/// A program in the repository; what git takes from its user is fixed.
fn run(root: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(words[0]);
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@b");
        command.env(format!("GIT_{role}_DATE"), "@1700000000 +0900");
    }
    command.args(&words[1..]).current_dir(root).output().unwrap()
}

fn ok(root: &Path, words: &[&str]) -> String {
    let done = run(root, words);
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn repository() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in FILES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for words in [
        &["cargo", "generate-lockfile", "--offline"][..],
        &["git", "init", "-q"],
        &["git", "add", "-A"],
        &["git", "commit", "-qm", "first"],
    ] {
        ok(folder.path(), words);
    }
    folder
}

fn release(root: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("release").env("CARGO_MANIFEST_DIR", root.join("tools/xtask"));
    command.env("CARGO_TARGET_DIR", root.join("target")).output().unwrap()
}

/// The files of the release in `root`, with their names.
fn made(root: &Path) -> Vec<(String, Vec<u8>)> {
    let done = release(root);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let files = fs::read_dir(root.join("target/release-0.4.2")).unwrap();
    let mut files: Vec<_> = files
        .map(|file| {
            let file = file.unwrap();
            (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())
        })
        .collect();
    files.sort();
    files
}

#[test]
fn one_commit_gives_the_same_bytes_in_every_checkout() {
    let first = repository();
    let files = made(first.path());
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["SHA256SUMS", "needless-0.4.2.cdx.json", "needless-0.4.2.tar.gz"]);

    // Another checkout: another path, other times and modes of the files.
    let second = tempfile::tempdir().unwrap();
    let there = second.path().join("elsewhere");
    let (from, to) = (first.path().to_str().unwrap(), there.to_str().unwrap());
    ok(second.path(), &["git", "clone", "-q", from, to]);
    fs::set_permissions(there.join("CHANGELOG.md"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(files == made(&there), "the files of two releases differ");
    assert!(files == made(&there), "a second run differs");

    let out = there.join("target/release-0.4.2");
    ok(&out, &["sha256sum", "--check", "--quiet", "SHA256SUMS"]);
    let list = ok(&out, &["tar", "-tzf", "needless-0.4.2.tar.gz"]);
    assert!(list.contains("needless-0.4.2/crates/needless/src/main.rs\n"), "{list}");
    assert!(!list.contains("target"), "{list}");
}

#[test]
fn the_bill_names_each_crate_with_its_licence() {
    let repository = repository();
    let files = made(repository.path());
    let bill: serde_json::Value = serde_json::from_slice(&files[1].1).unwrap();
    assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
    assert_eq!(bill["metadata"]["component"]["version"], "0.4.2");
    let [of] = &bill["components"].as_array().unwrap()[..] else { panic!("{bill}") };
    assert_eq!(
        (of["name"].as_str(), of["scope"].as_str()),
        (Some("of-needless"), Some("required"))
    );
    assert_eq!(of["licenses"][0]["expression"], "MIT OR Apache-2.0");
    let depends = (&bill["dependencies"][0]["ref"], &bill["dependencies"][0]["dependsOn"][0]);
    assert_eq!(depends.0, "pkg:cargo/needless@0.4.2");
    assert_eq!(depends.1, "pkg:cargo/of-needless@1.0.0");
}

#[test]
fn what_is_no_release_is_refused_with_what_to_do() {
    let refused = |break_it: &[&str], says: &str| {
        let repository = repository();
        ok(repository.path(), break_it);
        let done = release(repository.path());
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(!done.status.success() && said.contains(says), "{break_it:?}: {said}");
    };
    refused(&["touch", "new"], "the tree has changes: commit or remove them:\n?? new");
    for heading in ["Unreleased", "0.4.1 2026-01-01", "0.4.2"] {
        let edit = format!("sed -i 's/^## .*/## {heading}/' CHANGELOG.md && git commit -qam x");
        refused(&["sh", "-c", &edit], &format!("begins with \"## {heading}\""));
    }
    let tagged = "git tag v0.4.2 && git commit -q --allow-empty -m x";
    refused(&["sh", "-c", tagged], "v0.4.2 is another commit");
    let added = "echo 'libc = \"0.2\"' >>crates/needless/Cargo.toml && git commit -qam x";
    refused(&["sh", "-c", added], "Cargo.lock is not up to date");
}
