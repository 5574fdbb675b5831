//! `make bench`: what observing costs, beside strace in the same run. Ratios travel between
//! machines, absolute figures do not; nothing here is a test.

use anyhow::{Context, Result, ensure};
use nix::sys::resource::{UsageWho, getrusage};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Interleaved rounds per comparison; the median is printed.
const ROUNDS: usize = 5;
/// Size of the generated log, megabytes.
const LOG_MB: u64 = 300;

/// One finished command with all its descendants.
#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    wall: Duration,
    peak_kib: i64,
}

pub(crate) fn bench(root: &Path) -> Result<()> {
    std::env::set_current_dir(root)?;
    build()?;
    let needless = Path::new("target/release/needless");
    println!(
        "CPU time (user + system, tool and command together) as a ratio to the command alone;"
    );
    println!("median of {ROUNDS} interleaved rounds.\n");
    println!("{:34} {:>9} {:>9} {:>9} {:>11}", "", "needless", "--all", "strace", "native s");
    println!("{:34} {:>9} {:>9} {:>9} {:>11}", "", "run", "", "-f -c", "");
    std::fs::write("target/bench.bytes", noise(32 << 20))?;
    for (name, command) in workloads()? {
        overhead(needless, name, &command)?;
    }
    println!();
    start_up(needless)?;
    println!();
    throughput(needless)
}

/// `xtask measure OUT CMD…`: runs CMD once and writes its cost to OUT. A process of its own, so
/// that the peak memory is that command's.
pub(crate) fn measure(out: &Path, words: &[&str]) -> Result<()> {
    let (program, arguments) = words.split_first().context("measure OUT CMD…")?;
    let began = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .env_remove("TZ")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    let wall = began.elapsed();
    ensure!(status.success(), "{program} ended with {status}");
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |t: nix::sys::time::TimeVal| t.tv_sec() * 1_000_000 + t.tv_usec();
    let cpu = micros(used.user_time()) + micros(used.system_time());
    std::fs::write(out, format!("{cpu} {} {}", wall.as_micros(), used.max_rss()))?;
    Ok(())
}

fn build() -> Result<()> {
    for what in [
        &["build", "--release", "--locked", "--package", "needless"][..],
        &["build", "--release", "--locked", "--package", "needless-strace-log", "--examples"][..],
    ] {
        let done = Command::new(env!("CARGO")).args(what).status()?;
        ensure!(done.success(), "cargo {} failed", what.join(" "));
    }
    Ok(())
}

fn workloads() -> Result<Vec<(&'static str, Vec<String>)>> {
    let testee = |name: &str| -> Result<String> {
        let path = needless_testees::path(name).map_err(anyhow::Error::msg)?;
        Ok(path.to_string_lossy().into_owned())
    };
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let with = |program: String, arguments: &str| {
        let mut all = vec![program];
        all.extend(words(arguments));
        all
    };
    Ok(vec![
        ("localtime() x 100,000, TZ unset", with(testee("localtime")?, "localtime 100000")),
        ("gzip of 32 MB (no rule asks)", words("gzip -1 -c target/bench.bytes")),
        ("dd bs=4k of 2 GB (no rule asks)", {
            words("dd if=/dev/zero of=/dev/null bs=4k count=500000")
        }),
        ("4 threads x 2 x 25,000 stats", with(testee("stat_threads")?, "4 25000")),
        ("find /usr/share /usr/lib -type f", words("find /usr/share /usr/lib -type f")),
        ("python3 -c pass", words("/usr/bin/python3 -c pass")),
        ("sh loop of 200 /bin/true", {
            vec!["sh".into(), "-c".into(), "for i in $(seq 200); do /bin/true; done".into()]
        }),
    ])
}

fn overhead(needless: &Path, name: &str, command: &[String]) -> Result<()> {
    let run = |all: bool| {
        let mut words = vec![needless.to_string_lossy().into_owned(), "run".to_owned()];
        words.extend(all.then(|| "--all".to_owned()));
        words.extend(["-o".into(), "/dev/null".into(), "--".into()]);
        words.extend_from_slice(command);
        words
    };
    let mut strace: Vec<String> =
        ["strace", "-f", "-c", "-o", "/dev/null"].map(str::to_owned).into();
    strace.extend_from_slice(command);
    let arms = [command.to_vec(), run(false), run(true), strace];
    let mut cpu: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        for (arm, words) in arms.iter().enumerate() {
            cpu[arm].push(once(words)?.cpu.as_secs_f64());
        }
    }
    let [native, plain, all, strace] = cpu.map(median);
    println!(
        "{name:34} {:>9} {:>9} {:>9} {native:>11.4}",
        ratio(plain / native),
        ratio(all / native),
        ratio(strace / native),
    );
    Ok(())
}

fn start_up(needless: &Path) -> Result<()> {
    let needless = needless.to_string_lossy().into_owned();
    let ours = [needless.as_str(), "run", "-o", "/dev/null", "--", "true"].map(str::to_owned);
    let theirs = ["strace", "-f", "-c", "-o", "/dev/null", "true"].map(str::to_owned);
    let (mut us, mut them) = (Vec::new(), Vec::new());
    for _ in 0..4 * ROUNDS {
        us.push(once(&ours)?.wall.as_secs_f64() * 1e3);
        them.push(once(&theirs)?.wall.as_secs_f64() * 1e3);
    }
    let (us, them) = (median(us), median(them));
    println!(
        "start-up, wall: needless run -- true {us:.1} ms, strace -f -c true {them:.1} ms, difference {:+.1} ms",
        us - them
    );
    Ok(())
}

fn throughput(needless: &Path) -> Result<()> {
    let log = PathBuf::from("target/bench.strace");
    if !log.metadata().is_ok_and(|m| m.len() > LOG_MB * 900_000) {
        let made = Command::new("target/release/examples/generate")
            .arg(LOG_MB.to_string())
            .stdout(File::create(&log)?)
            .status()?;
        ensure!(made.success(), "the log generator failed");
    }
    let bytes = log.metadata()?.len() as f64;
    let words = [
        needless.as_os_str(),
        "read".as_ref(),
        "-o".as_ref(),
        "/dev/null".as_ref(),
        log.as_os_str(),
    ]
    .map(|w: &OsStr| w.to_string_lossy().into_owned());
    let runs = (0..ROUNDS).map(|_| once(&words)).collect::<Result<Vec<_>>>()?;
    let cpu = median(runs.iter().map(|r| r.cpu.as_secs_f64()).collect());
    let peak = runs.iter().map(|r| r.peak_kib).max().unwrap_or(0);
    println!(
        "needless read of a {:.0} MB `strace -fttT` log: {:.2} GB/s of CPU time, peak memory {:.0} MB",
        bytes / 1e6,
        bytes / cpu / 1e9,
        peak as f64 / 1024.0
    );
    Ok(())
}

fn once(words: &[String]) -> Result<Cost> {
    let out = std::env::current_dir()?.join("target/bench.cost");
    let status =
        Command::new(std::env::current_exe()?).arg("measure").arg(&out).args(words).status()?;
    ensure!(status.success(), "measuring failed: {}", words.join(" "));
    let text = std::fs::read_to_string(&out)?;
    let numbers = text.split(' ').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
    let [cpu, wall, peak_kib] = numbers[..] else { anyhow::bail!("odd measurement {text:?}") };
    let micros = |n: i64| Duration::from_micros(n.unsigned_abs());
    Ok(Cost { cpu: micros(cpu), wall: micros(wall), peak_kib })
}

/// Bytes that compress neither well nor badly, the same each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8 & 0x1f
    };
    (0..length).map(|_| next()).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn ratio(value: f64) -> String {
    format!("x{value:.2}")
}
