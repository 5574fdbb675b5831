//! `xtask bench time`: the time engine beside the C library and other libraries, in the same run.

use anyhow::{Context, Result, ensure};
use std::fmt::Write;
use std::process::{Command, Output};

const SOURCES: &str = "benches/time";
const BUILT: &str = "target/bench-time";
/// `None`: TZ unset.
const ZONES: [Option<&str>; 4] = [None, Some(":Asia/Tokyo"), Some(":Europe/Athens"), Some("JST-9")];
const PEER_ZONES: [&str; 3] = ["UTC", "Asia/Tokyo", "Europe/Athens"];
/// Processes whose first call is timed; the median is printed.
const FIRST_CALLS: usize = 101;
/// Conversions whose system calls are counted.
const COUNTED: &str = "1000000";

/// Prints all tables. The preload library is built first.
pub(crate) fn bench() -> Result<()> {
    std::fs::create_dir_all(BUILT)?;
    run(Command::new("libneedless/preload/build-so").args(["target/release", "--quiet"]))?;
    compile("cc", "calls.c", &["-pthread"], "calls")?;
    println!(
        "\nlibneedless_localtime.so: nanoseconds per call of the C library and of the preloaded library, in one"
    );
    println!(
        "process in turn on the same times, on one processor; the least of 300 runs of 200 calls; and the ratio."
    );
    println!(
        "Then C written for this one zone and work (benches/time/floor.h), and how many times that we take"
    );
    for zone in ZONES {
        println!("{}", zone.map_or("TZ unset".to_owned(), |zone| format!("TZ={zone}")));
        for mode in ["rows", "threads"] {
            // Two threads need two processors.
            let pinned = mode == "rows";
            print!("{}", text(&run(preloaded(zone, pinned).arg(mode))?));
        }
        first(zone)?;
    }
    system_calls()?;
    peers()
}

/// `calls` in a zone, with the library.
fn preloaded(zone: Option<&str>, pinned: bool) -> Command {
    let mut command = calls(zone, pinned);
    command.env("LD_PRELOAD", library());
    command
}

fn library() -> std::path::PathBuf {
    std::env::current_dir().unwrap_or_default().join("target/release/libneedless_localtime.so")
}

fn calls(zone: Option<&str>, pinned: bool) -> Command {
    let program = format!("{BUILT}/calls");
    let mut command = if pinned {
        let mut taskset = Command::new("taskset");
        taskset.args(["-c", "0", &program]);
        taskset
    } else {
        Command::new(program)
    };
    match zone {
        Some(zone) => command.env("TZ", zone),
        None => command.env_remove("TZ"),
    };
    command
}

/// The first localtime of a process, with and without the library in turn.
fn first(zone: Option<&str>) -> Result<()> {
    let mut ns = [Vec::new(), Vec::new()];
    for _ in 0..FIRST_CALLS {
        for (with, times) in ns.iter_mut().enumerate() {
            let mut command = if with == 1 { preloaded(zone, true) } else { calls(zone, true) };
            times.push(text(&run(command.arg("first"))?).trim().parse::<f64>()?);
        }
    }
    let [theirs, ours] = ns.map(crate::bench::median);
    println!("  {:32} {theirs:>9.1} {ours:>9.1} {:>8.1}", "localtime, the first", theirs / ours);
    Ok(())
}

fn system_calls() -> Result<()> {
    let mut line = format!(
        "\nsystem calls of {COUNTED} conversions, TZ unset (strace, less those of a run with one):"
    );
    for (name, with) in [("C library", false), ("preloaded", true)] {
        let counted = [COUNTED, "1"].map(|count| -> Result<i64> {
            let log = format!("{BUILT}/calls.strace");
            let mut strace = Command::new("strace");
            strace.args(["-f", "-o", &log]).env_remove("TZ");
            if with {
                strace.arg("-E").arg(format!("LD_PRELOAD={}", library().display()));
            }
            run(strace.arg(format!("{BUILT}/calls")).args(["count", count]))?;
            Ok(i64::try_from(std::fs::read_to_string(&log)?.lines().count())?)
        });
        let [many, one] = counted;
        write!(line, " {name} {}", many? - one?)?;
    }
    println!("{line}");
    Ok(())
}

/// Other libraries, if they are installed.
fn peers() -> Result<()> {
    println!(
        "\na moment to all fields, random in a year, nanoseconds; every library adds up the same fields"
    );
    println!("{:34}{:>10} {:>12} {:>14}", "", PEER_ZONES[0], PEER_ZONES[1], PEER_ZONES[2]);
    let mut sums: Vec<Option<i64>> = vec![None; PEER_ZONES.len()];
    let mut row = |name: &str, make: &dyn Fn(&str) -> Command| -> Result<()> {
        let mut line = format!("{name:34}");
        for ((zone, sum), width) in PEER_ZONES.iter().zip(&mut sums).zip([10, 13, 15]) {
            let out = text(&run(&mut make(zone))?);
            let (ns, found) = out.trim().split_once(' ').context("two numbers")?;
            let found = found.parse()?;
            ensure!(sum.replace(found).is_none_or(|sum| sum == found), "{name} differs in {zone}");
            write!(line, "{ns:>width$}")?;
        }
        println!("{line}");
        Ok(())
    };
    compile("cc", "peer.c", &[], "peer")?;
    let in_zone = |program: &str, zone: &str| {
        let mut command = pinned(program);
        command.env("TZ", format!(":{zone}"));
        command
    };
    row("C library, localtime_r", &|zone| in_zone("peer", zone))?;
    row("the same, preloaded", &|zone| {
        let mut command = in_zone("peer", zone);
        command.env("LD_PRELOAD", library());
        command
    })?;
    let manifest = format!("{SOURCES}/peers/Cargo.toml");
    let target = format!("{BUILT}/peers");
    run(Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "--locked", "--manifest-path"])
        .args([&manifest, "--target-dir", &target]))?;
    for (name, library) in [
        ("needless-localtime, the engine", "needless"),
        ("jiff", "jiff"),
        ("chrono-tz", "chrono-tz"),
        ("tz-rs", "tz-rs"),
    ] {
        row(name, &|zone| {
            let mut command = pinned("peers/release/time-peers");
            command.args([library, zone]);
            command
        })?;
    }
    let with_zone = |program: &'static str| {
        move |zone: &str| {
            let mut command = pinned(program);
            command.arg(zone);
            command
        }
    };
    if here("musl-gcc", "musl-tools") {
        compile("musl-gcc", "peer.c", &["-static"], "peer-musl")?;
        row("musl, localtime_r", &|zone| in_zone("peer-musl", zone))?;
    }
    if here("go", "golang") {
        let out = format!("{BUILT}/peer-go");
        run(Command::new("go").args(["build", "-o", &out, &format!("{SOURCES}/peer.go")]))?;
        row("Go", &with_zone("peer-go"))?;
    }
    if here("javac", "default-jdk-headless") {
        run(Command::new("javac").args(["-d", BUILT, &format!("{SOURCES}/Peer.java")]))?;
        row("Java", &|zone| {
            let mut command = Command::new("taskset");
            command.args(["-c", "0", "java", "-cp", BUILT, "Peer", zone]);
            command
        })?;
    }
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "absl_time"]).output();
    match flags {
        Ok(flags) if flags.status.success() => {
            let flags = text(&flags);
            let flags: Vec<&str> = flags.split_whitespace().collect();
            compile("c++", "peer.cc", &flags, "peer-absl")?;
            row("abseil", &with_zone("peer-absl"))?;
        }
        _ => println!("not installed: abseil (package libabsl-dev, and pkg-config)"),
    }
    Ok(())
}

/// Whether a program is installed; prints a line if not.
fn here(program: &str, package: &str) -> bool {
    let found = crate::on_path(program).is_some();
    if !found {
        println!("not installed: {program} (package {package})");
    }
    found
}

fn pinned(program: &str) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", "0", &format!("{BUILT}/{program}")]);
    command
}

fn compile(compiler: &str, source: &str, flags: &[&str], out: &str) -> Result<()> {
    let (source, out) = (format!("{SOURCES}/{source}"), format!("{BUILT}/{out}"));
    run(Command::new(compiler).args(["-O2", "-o", &out, &source]).args(flags))?;
    Ok(())
}

fn run(command: &mut Command) -> Result<Output> {
    let out = command.output().with_context(|| format!("{command:?}"))?;
    ensure!(
        out.status.success(),
        "{command:?}: {}\n{}",
        out.status,
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(out)
}

fn text(out: &Output) -> String {
    String::from_utf8_lossy(&out.stdout).into_owned()
}
