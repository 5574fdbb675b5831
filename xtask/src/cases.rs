//! `cargo xtask cases [PART]`: real programs in a bad and a mended environment, beside strace.
//!
//! Prints for each what strace counted, what needless found, and how far its prediction is off; then
//! healthy programs, in which nothing may be found. What is not installed is said to be skipped.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program in two environments: words `NAME=VALUE`, `@` standing for the case's own folder.
struct Case {
    rule: &'static str,
    bad: &'static str,
    good: &'static str,
    command: &'static str,
    /// What is put into the folder first, by a shell.
    prepare: &'static str,
}

const TWENTY: &str = "@/p1:@/p2:@/p3:@/p4:@/p5:@/p6:@/p7:@/p8:@/p9:@/p10:@/p11:@/p12:@/p13:@/p14:@/p15:@/p16:@/p17:@/p18:@/p19:@/p20";
const DIRS: &str = "for n in $(seq 20); do mkdir -p p$n; done";

include!("../../cases/table.rs");

/// Largest error of a prediction, in percent of the calls that strace counted.
const MOST_ERROR: f64 = 5.0;

struct Judged {
    found: u64,
    others: Vec<String>,
}

/// Runs the table, or the part of it whose rules or programs contain `part`.
pub(crate) fn run(root: &Path, part: Option<&str>) -> Result<()> {
    let needless = root.join("target/release/needless");
    let needless = std::env::var_os("NEEDLESS").map_or(needless, PathBuf::from);
    ensure!(needless.exists(), "{} is not there: cargo build --release", needless.display());
    let wanted = |text: &str| part.is_none_or(|part| text.contains(part));
    let (mut found, mut cases, mut wrong, mut healthy, mut worst) = (0, 0, 0, 0, 0.0f64);
    println!(
        "{:33} {:7} {:>8} {:>8} {:>8} {:>7}",
        "rule", "backend", "bad", "saved", "found", "error"
    );
    for case in CASES.iter().filter(|case| wanted(case.rule)) {
        let folder = tempfile::tempdir()?;
        if !installed(case.command) {
            println!("{:33} skipped: {} is not installed", case.rule, program(case.command));
            continue;
        }
        shell(folder.path(), case.prepare)?;
        let before = strace(folder.path(), case.bad, case.command)?;
        let saved = before.saturating_sub(strace(folder.path(), case.good, case.command)?);
        for backend in BACKENDS {
            let bad = judge(&needless, backend, folder.path(), case.bad, case.command)?;
            let good = judge(&needless, backend, folder.path(), case.good, case.command)?;
            let told = bad.of(case.rule);
            let error = 100.0 * told.found.abs_diff(saved) as f64 / before.max(1) as f64;
            let ok = told.found > 0 && good.of(case.rule).found == 0;
            println!(
                "{:33} {backend:7} {before:8} {saved:8} {:8} {error:6.1}%{}{}",
                case.rule,
                told.found,
                if ok { "" } else { "  MISSED" },
                if told.others.is_empty() {
                    String::new()
                } else {
                    format!("  also {}", told.others.join(" "))
                },
            );
            cases += 1;
            found += u32::from(ok);
            worst = worst.max(error);
        }
    }
    for command in HEALTHY.iter().filter(|command| wanted(command)) {
        if !installed(command) {
            println!("{command}: skipped: {} is not installed", program(command));
            continue;
        }
        for backend in BACKENDS {
            let folder = tempfile::tempdir()?;
            shell(folder.path(), MATERIAL)?;
            let told = judge(&needless, backend, folder.path(), "TZ=Etc/UTC", command)?;
            healthy += 1;
            if !told.0.is_empty() {
                wrong += 1;
                println!("{command} ({backend}): WRONG: {:?}", told.0);
            }
        }
    }
    println!(
        "\nrecall {found} of {cases}; healthy runs {healthy}, wrong findings {wrong}; worst error {worst:.1} %"
    );
    ensure!(found == cases && wrong == 0, "some case was not judged as it should be");
    ensure!(worst <= MOST_ERROR, "a prediction is off by {worst:.1} % of the calls");
    Ok(())
}

/// Rules with their needless calls.
struct Told(Vec<(String, u64)>);

impl Told {
    fn of(&self, rule: &str) -> Judged {
        let found = self.0.iter().filter(|(name, _)| any(rule, name)).map(|(_, n)| n).sum();
        let others = self.0.iter().filter(|(name, _)| !any(rule, name));
        Judged { found, others: others.map(|(name, n)| format!("{name}:{n}")).collect() }
    }
}

/// Whether `name` is one of the words: a log, which has no environment, may tell another rule's.
fn any(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

fn program(command: &str) -> &str {
    command.split_whitespace().next().unwrap_or("")
}

fn installed(command: &str) -> bool {
    let found =
        |name: &str| Command::new("sh").args(["-c", &format!("command -v {name}")]).output();
    let all =
        command.split("&&").map(program).all(|name| found(name).is_ok_and(|o| o.status.success()));
    all && found("strace").is_ok_and(|o| o.status.success())
}

fn shell(folder: &Path, script: &str) -> Result<()> {
    let status = Command::new("sh")
        .args(["-ec", script])
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    ensure!(status.success(), "cannot prepare: {script}");
    Ok(())
}

/// The variables that every program needs, and those of `words`.
fn environment(folder: &Path, words: &str) -> Vec<String> {
    let words = words.replace("TWENTY", TWENTY).replace('@', &folder.display().to_string());
    let mut path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned();
    let (mut set, mut rest) = (vec!["HOME=/root".to_owned()], Vec::new());
    for word in words.split_whitespace() {
        match word.strip_prefix("PATH=") {
            Some(value) => path = value.to_owned(),
            None => rest.push(word.to_owned()),
        }
    }
    set.push(format!("PATH={path}"));
    set.extend(rest);
    set
}

fn command(folder: &Path, before: &[&str], words: &str, command: &str, traced: bool) -> Command {
    let set = environment(folder, words);
    let mut run = Command::new("env");
    run.arg("-i").current_dir(folder);
    if traced {
        // The tracer itself is to run with an environment that does not matter to it.
        run.args(before);
        for word in &set {
            run.args(["-E", word]);
        }
    } else {
        run.args(&set).args(before);
    }
    run.args(["/bin/sh", "-c", &format!("exec {command}")]);
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    run
}

/// All calls of the command, as strace counts them.
fn strace(folder: &Path, words: &str, line: &str) -> Result<u64> {
    let out = folder.join("strace.count");
    let to = out.display().to_string();
    let before = ["/usr/bin/strace", "-f", "-c", "-o", &to];
    output(&mut command(folder, &before, words, line, true), folder)?;
    let table = std::fs::read_to_string(&out).context("strace wrote nothing")?;
    let total = table.lines().rfind(|line| line.ends_with(" total")).context("no total")?;
    Ok(total.split_whitespace().nth(3).context("no total")?.parse()?)
}

/// Runs it with its output in a file: buffers are as large as for any file.
fn output(command: &mut Command, folder: &Path) -> Result<()> {
    command.stdout(std::fs::File::create(folder.join("stdout"))?).status()?;
    Ok(())
}

fn judge(needless: &Path, backend: &str, folder: &Path, words: &str, line: &str) -> Result<Told> {
    let report = folder.join("report.json");
    let (program, to) = (needless.display().to_string(), report.display().to_string());
    if backend == "log" {
        let log = folder.join("strace.log").display().to_string();
        let before = ["/usr/bin/strace", "-f", "-o", &log];
        output(&mut command(folder, &before, words, line, true), folder)?;
        Command::new(needless).args(["read", "--format", "json", "-o", &to, &log]).output()?;
    } else {
        let before = [&*program, "run", "--backend", backend, "--format", "json", "-o", &to, "--"];
        output(&mut command(folder, &before, words, line, false), folder)?;
    }
    let text = std::fs::read_to_string(&report).with_context(|| format!("no report of {line}"))?;
    let report: Value = serde_json::from_str(&text)?;
    let Some(findings) = report["findings"].as_array() else { bail!("a report without findings") };
    let told = findings.iter().map(|f| {
        (f["rule"].as_str().unwrap_or("?").to_owned(), f["needless"].as_u64().unwrap_or(0))
    });
    Ok(Told(told.collect()))
}
