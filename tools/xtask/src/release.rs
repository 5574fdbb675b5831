//! `cargo xtask release`: checks that the checkout is what a release is made of, and writes into target/release-VERSION
//! the source as an archive, what the program is made of as a CycloneDX document, and their checksums. The same commit
//! gives the same bytes. It publishes nothing and sets no tag: CONTRIBUTING.md has the whole list.

mod bill;

use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Checks the checkout and writes the files of a release. Returns what was done, for a person.
///
/// # Errors
/// When the checkout is not what a release is made of, with what to do about it; when a file cannot be written.
pub(crate) fn release(root: &Path) -> Result<String> {
    let version = version(root)?;
    check(root, &version)?;
    // The time of the commit, in UTC: the only one in the files.
    let form = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
    let moment = git(root, &["log", "-1", "--format=%cd", form])?;
    let metadata = said(root, "cargo", &["metadata", "--locked", "--format-version=1"])
        .context("Cargo.lock is not up to date: run cargo check and commit it")?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    // With the features and for the machine that it is built with.
    let tree = |edges: &str| {
        let words = ["tree", "--locked", "-p", "needless", "--prefix", "none", "--edges", edges];
        said(root, "cargo", &words)
    };
    let (all, linked) = (tree("normal,build")?, tree("normal,no-proc-macro")?);
    let bill = bill::bill(&metadata, &lock, (&all, &linked), &version, &moment)?;

    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let out = target.join(format!("release-{version}"));
    if out.exists() {
        fs::remove_dir_all(&out).with_context(|| format!("cannot remove {}", out.display()))?;
    }
    fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let archive = format!("needless-{version}.tar.gz");
    pack(root, &version, &out.join(&archive))?;
    let document = format!("needless-{version}.cdx.json");
    fs::write(out.join(&document), bill).with_context(|| format!("cannot write {document}"))?;
    let sums = said(&out, "sha256sum", &[&archive, &document])?;
    fs::write(out.join("SHA256SUMS"), format!("{sums}\n")).context("cannot write SHA256SUMS")?;
    Ok(format!("{}:\n{sums}", out.display()))
}

/// The workspace's version.
fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = line.and_then(|rest| rest.strip_suffix('"')).context("Cargo.toml: no version")?;
    Ok(version.to_owned())
}

/// Whether this commit, and nothing else, is what is released as `version`.
fn check(root: &Path, version: &str) -> Result<()> {
    let changed = git(root, &["status", "--porcelain"])?;
    ensure!(
        changed.is_empty(),
        "the tree has changes: commit or remove them:\n{}",
        changed.lines().take(5).collect::<Vec<_>>().join("\n")
    );
    let changes =
        fs::read_to_string(root.join("CHANGELOG.md")).context("cannot read CHANGELOG.md")?;
    let mut headings = changes.lines().filter_map(|line| line.strip_prefix("## "));
    let first = headings.next().unwrap_or("none");
    let (named, date) = first.split_once(' ').unwrap_or((first, ""));
    ensure!(
        named == version && is_date(date),
        "CHANGELOG.md begins with \"## {first}\", and Cargo.toml has version {version}: \
         write \"## {version} YYYY-MM-DD\" above what has changed"
    );
    // A tag is set after all checks, on this very commit.
    let tag = format!("v{version}");
    let of_tag = format!("refs/tags/{tag}^{{commit}}");
    if let Ok(tagged) = git(root, &["rev-parse", "--verify", "--quiet", &of_tag]) {
        let here = git(root, &["rev-parse", "HEAD"])?;
        ensure!(tagged == here, "{tag} is another commit, {tagged}: raise the version");
    }
    Ok(())
}

/// Whether it is written like 2026-11-23.
fn is_date(text: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    text.len() == 10 && text.bytes().enumerate().all(shape)
}

/// What is committed, as an archive: with the time of the commit, without the user and the umask of who packs it.
fn pack(root: &Path, version: &str, to: &Path) -> Result<()> {
    let file = fs::File::create(to).with_context(|| format!("cannot write {}", to.display()))?;
    let prefix = format!("--prefix=needless-{version}/");
    let mut tar = Command::new("git")
        .args(["-c", "tar.umask=0022", "archive", "--format=tar", &prefix, "HEAD"])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run git")?;
    let from = tar.stdout.take().context("git has no output")?;
    let gzip = Command::new("gzip").args(["-9n"]).stdin(from).stdout(file).status();
    ensure!(tar.wait()?.success(), "git archive failed");
    ensure!(gzip.context("cannot run gzip")?.success(), "gzip failed");
    Ok(())
}

fn git(root: &Path, words: &[&str]) -> Result<String> {
    said(root, "git", words)
}

/// What a program prints, without the last end of line.
fn said(directory: &Path, program: impl AsRef<OsStr>, words: &[&str]) -> Result<String> {
    let program = program.as_ref();
    let mut command = Command::new(program);
    let done = command.args(words).current_dir(directory).env("TZ", "UTC0").output();
    let done = done.with_context(|| format!("cannot run {}", program.display()))?;
    if !done.status.success() {
        let why = String::from_utf8_lossy(&done.stderr);
        bail!("{} {}: {}", program.display(), words.join(" "), why.trim());
    }
    Ok(String::from_utf8(done.stdout)?.trim_end_matches('\n').to_owned())
}
