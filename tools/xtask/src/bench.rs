//! `make bench`: what observing costs, beside strace in the same run. Ratios travel between
//! machines, absolute figures do not; nothing here is a test.

use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::unistd::Pid;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Rounds per comparison, each directly after a run of the command alone; the median is printed.
const ROUNDS: usize = 7;
/// Rounds of the observers that make a command many times slower.
const SLOW_ROUNDS: usize = 3;
/// Size of the generated log, megabytes.
const LOG_MB: u64 = 300;

/// A program to observe, in two lengths: an overhead of a few per cent is visible only in a run of a second; a tracer
/// that makes it ten times slower would take all day for that.
struct Workload {
    name: &'static str,
    short: Vec<String>,
    long: Vec<String>,
}

/// One finished command with all its descendants.
#[derive(Clone, Copy)]
struct Cost {
    cpu: Duration,
    wall: Duration,
    peak_kib: i64,
}

/// All of it, or only what has `part` in its name: a workload, `start`, `host`.
pub(crate) fn bench(root: &Path, part: Option<&str>) -> Result<()> {
    std::env::set_current_dir(root)?;
    // A build that is named is measured as it is.
    let needless = if std::env::var_os("NEEDLESS").is_some() {
        crate::cases::needless(root)?
    } else {
        build("needless", &[])?;
        root.join("target/release/needless")
    };
    let needless = &*needless;
    println!(
        "CPU time (user + system, of tool and command together) divided by that of the command alone, and the same for"
    );
    println!(
        "the time of the clock; median of {ROUNDS} pairs for eBPF and patched, of {SLOW_ROUNDS} for the"
    );
    println!(
        "others; eBPF, patched and bpftrace beside the long run. perf does not wait for the command: to its CPU ratio add 1.\n"
    );
    let wanted = |what: &str| part.is_none_or(|part| what.contains(part));
    std::fs::write("target/bench.bytes", noise(96 << 20))?;
    let arms = arms(needless);
    for processors in ["one", "all"] {
        println!("on {processors} of the processors");
        let arms = arms.iter().filter(|arm| processors == "one" || arm.on_all).collect::<Vec<_>>();
        print!("{:24}", "");
        for arm in &arms {
            print!(" {:>12}", arm.name);
        }
        println!(" {:>7} {:>7}", "long s", "short s");
        for workload in workloads()?.iter().filter(|workload| wanted(workload.name)) {
            overhead(&arms, workload, processors)?;
        }
        println!();
    }
    if part.is_none() {
        println!(
            "targets of CPU time on one processor, eBPF: localtime and find x1.25, python3 x1.06, 4 threads x1.25, sh loop"
        );
        println!(
            "x1.06; patched: localtime x1.3, find x1.4, python3 x1.25, sh loop x1.5, gcc x1.3; gzip x1.05, dd x1.2\n"
        );
    }
    if wanted("start") {
        start_up(needless)?;
    }
    if wanted("host") {
        host(needless)?;
    }
    if part.is_some() {
        return Ok(());
    }
    println!();
    throughput(needless)?;
    crate::time_bench::bench()
}

/// `xtask measure one|all OUT CMD…`: runs CMD once, on one or all processors, and writes its cost to OUT. In
/// a separate process, so that the peak memory is that of the command.
pub(crate) fn measure(processors: &str, out: &Path, words: &[&str]) -> Result<()> {
    let (program, arguments) = words.split_first().context("measure one|all OUT CMD…")?;
    if processors == "one" {
        let us = Pid::from_raw(0);
        let allowed = sched_getaffinity(us)?;
        let last = (0..CpuSet::count()).rev().find(|at| allowed.is_set(*at) == Ok(true));
        let mut one = CpuSet::new();
        one.set(last.context("there is no processor")?)?;
        sched_setaffinity(us, &one)?;
    }
    let began = Instant::now();
    let status = Command::new(program)
        .args(arguments)
        .env_remove("TZ")
        // Cargo sets it: each start of a program would look for its libraries in three more directories.
        .env_remove("LD_LIBRARY_PATH")
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

fn build(package: &str, what: &[&str]) -> Result<()> {
    let done = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--package", package])
        .args(what)
        .status()?;
    ensure!(done.success(), "cargo build of {package} failed");
    Ok(())
}

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn workloads() -> Result<Vec<Workload>> {
    let testee = |name: &str, arguments: &str| -> Result<Vec<String>> {
        let path = needless_fixtures::path(name).map_err(anyhow::Error::msg)?;
        Ok([vec![path.to_string_lossy().into_owned()], words(arguments)].concat())
    };
    let times = |n: u32, command: &str| {
        vec!["sh".into(), "-c".into(), format!("for i in $(seq {n}); do {command}; done")]
    };
    let find = "find /usr/share /usr/lib -type f";
    let python = "/usr/bin/python3 -c pass";
    let gcc = "echo 'int f(int x) { return x + 1; }' | gcc -xc -c - -o /dev/null";
    let dd = "dd if=/dev/zero of=/dev/null bs=4k count=";
    let gzip = words("gzip -1 -c target/bench.bytes");
    let workload = |name, short, long| Workload { name, short, long };
    Ok(vec![
        workload(
            "localtime(), TZ unset",
            testee("localtime", "localtime 100000")?,
            testee("localtime", "localtime 1000000")?,
        ),
        workload("find -type f", words(find), times(6, find)),
        workload("python3 -c pass", times(20, python), times(100, python)),
        workload(
            "4 threads of stat",
            testee("stat_threads", "4 25000")?,
            testee("stat_threads", "4 300000")?,
        ),
        workload(
            "an allocator's calls",
            testee("allocator", "20000")?,
            testee("allocator", "300000")?,
        ),
        workload("forks", testee("fork_storm", "1000 4")?, testee("fork_storm", "10000 4")?),
        workload("sh loop of /bin/true", times(200, "/bin/true"), times(2000, "/bin/true")),
        workload("gcc -c of a small file", times(20, gcc), times(100, gcc)),
        workload("gzip (no rule asks)", gzip.clone(), gzip),
        workload(
            "dd bs=4k (no rule asks)",
            words(&format!("{dd}500000")),
            words(&format!("{dd}2500000")),
        ),
    ])
}

/// A way to observe.
struct Arm {
    name: &'static str,
    /// The words before the command.
    before: Vec<String>,
    /// Whether it is compared with the long run.
    long: bool,
    /// Whether it is measured on all processors, too.
    on_all: bool,
}

impl Arm {
    /// The command under this observer.
    fn observed(&self, command: &[String]) -> Result<Vec<String>> {
        // bpftrace takes the command in one word and splits that at spaces.
        let command = if self.name == "bpftrace" {
            let quoted = command.iter().map(|word| format!(" '{}'", word.replace('\'', "'\\''")));
            std::fs::write("target/bench.sh", format!("exec{}\n", quoted.collect::<String>()))?;
            &["/bin/sh target/bench.sh".to_owned()]
        } else {
            command
        };
        Ok([&self.before, command].concat())
    }
}

fn arms(needless: &Path) -> Vec<Arm> {
    let ours = |name, options: &str, long, on_all| {
        let before = words(&format!("{} run {options} -o /dev/null --", needless.display()));
        Arm { name, before, long, on_all }
    };
    let other = |name, before, on_all| Arm { name, before, long: false, on_all };
    let works = |arm: &Arm| {
        let done = arm.observed(&words("true")).and_then(|words| once(&words, "one"));
        if done.is_err() {
            println!("{}: does not run here, not measured", arm.name);
        }
        done.is_ok()
    };
    let mut arms = vec![
        ours("eBPF", "--backend ebpf", true, true),
        ours("e. --latency", "--backend ebpf --latency", true, false),
        ours("patched", "--backend ptrace", true, true),
        ours("ptrace", "--backend ptrace --no-patch", false, true),
        ours("ptrace --all", "--backend ptrace --all", false, false),
        other("strace -f -c", words("strace -f -c -o /dev/null"), true),
        // A filter needs a choice: the calls that name a file, about those that needless asks about.
        other(
            "s. --seccomp",
            words("strace -f -c --seccomp-bpf -e trace=%file -o /dev/null"),
            true,
        ),
        other("perf trace -s", words("perf trace -s -o /dev/null --"), false),
    ];
    let count = "tracepoint:raw_syscalls:sys_enter { @[comm, args->id] = count(); }";
    let bpftrace = ["bpftrace", "-q", "-o", "/dev/null", "-e", count, "-c"];
    let before = bpftrace.map(str::to_owned).to_vec();
    arms.push(Arm { name: "bpftrace", before, long: true, on_all: false });
    arms.retain(works);
    arms
}

/// Prints two lines: CPU time, and time of the clock.
fn overhead(arms: &[&Arm], workload: &Workload, processors: &str) -> Result<()> {
    let mut natives: [Vec<f64>; 2] = Default::default();
    let mut cpu: Vec<Vec<f64>> = vec![Vec::new(); arms.len()];
    let mut wall = cpu.clone();
    for round in 0..ROUNDS {
        for (at, arm) in arms.iter().enumerate() {
            // A slow tracer takes long and needs no exact measurement; the arms on all processors get one.
            if !(arm.long && arm.on_all) && round >= SLOW_ROUNDS {
                continue;
            }
            let command = if arm.long { &workload.long } else { &workload.short };
            // Directly before: the speed of a shared machine changes.
            let native = once(command, processors)?;
            let observed = once(&arm.observed(command)?, processors)?;
            let ratio = |time: fn(&Cost) -> Duration| {
                time(&observed).as_secs_f64() / time(&native).as_secs_f64()
            };
            cpu[at].push(ratio(|cost| cost.cpu));
            wall[at].push(ratio(|cost| cost.wall));
            natives[usize::from(arm.long)].push(native.cpu.as_secs_f64());
        }
    }
    let [short, long] = natives.map(median);
    print!("{:24}", workload.name);
    cpu.into_iter().for_each(|ratios| print!(" {:>12}", ratio(median(ratios))));
    print!(" {long:>7.3} {short:>7.3}\n{:24}", "  by the clock");
    wall.into_iter().for_each(|ratios| print!(" {:>12}", ratio(median(ratios))));
    println!();
    Ok(())
}

fn start_up(needless: &Path) -> Result<()> {
    let ours = |backend: &str| {
        let needless = needless.display();
        words(&format!("{needless} run --backend {backend} -o /dev/null -- true"))
    };
    let strace = words("strace -f -c -o /dev/null true");
    let arms = [("ptrace", ours("ptrace")), ("ebpf", ours("ebpf")), ("strace", strace)];
    let mut wall: [Vec<f64>; 3] = Default::default();
    let mut cpu: [Vec<f64>; 3] = Default::default();
    for _ in 0..4 * ROUNDS {
        for (((_, words), wall), cpu) in arms.iter().zip(&mut wall).zip(&mut cpu) {
            // If eBPF is not allowed there is nothing to measure.
            let cost = once(words, "one").ok();
            let milliseconds = |time: fn(&Cost) -> Duration| {
                cost.as_ref().map_or(f64::NAN, |c| time(c).as_secs_f64() * 1e3)
            };
            wall.push(milliseconds(|cost| cost.wall));
            cpu.push(milliseconds(|cost| cost.cpu));
        }
    }
    println!("start to end of `true`, milliseconds (target: ptrace at most 15 over strace):");
    for (((name, _), wall), cpu) in arms.iter().zip(wall).zip(cpu) {
        println!("  {name:6} {:6.1} of the clock {:6.1} of CPU", median(wall), median(cpu));
    }
    Ok(())
}

/// What it costs us to observe an almost idle machine. The counting itself runs in the time of the observed
/// processes.
fn host(needless: &Path) -> Result<()> {
    let mut watching = Command::new(needless)
        .args(["host", "--for", "14s", "--rule", "tz-unset", "-o", "/dev/null"])
        .stderr(Stdio::null())
        .spawn()?;
    let at = |after: u64| {
        std::thread::sleep(Duration::from_secs(after));
        cpu_and_memory(watching.id())
    };
    let (early, late) = (at(2), at(10));
    if watching.wait()?.success()
        && let (Some((before, _)), Some((after, resident_kib))) = (early, late)
    {
        println!(
            "needless host: {:.2} % of a core (target 0.3) and {:.1} MB resident (target 15) while it observes",
            (after - before) / 10.0 * 100.0,
            resident_kib / 1024.0
        );
    }
    Ok(())
}

/// The CPU time that process `pid` has used, seconds, and its resident memory, KiB (proc(5)).
fn cpu_and_memory(pid: u32) -> Option<(f64, f64)> {
    let schedule = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    let on_cpu: f64 = schedule.split(' ').next()?.parse().ok()?;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some((on_cpu / 1e9, resident.trim().trim_end_matches(" kB").parse().ok()?))
}

fn throughput(needless: &Path) -> Result<()> {
    build("needless-strace-log", &["--examples"])?;
    let log = PathBuf::from("target/bench.strace");
    if !log.metadata().is_ok_and(|m| m.len() > LOG_MB * 900_000) {
        let made = Command::new("target/release/examples/generate")
            .arg(LOG_MB.to_string())
            .stdout(File::create(&log)?)
            .status()?;
        ensure!(made.success(), "the log generator failed");
    }
    let bytes = log.metadata()?.len() as f64;
    let words = words(&format!("{} read -o /dev/null {}", needless.display(), log.display()));
    let runs = (0..ROUNDS).map(|_| once(&words, "one")).collect::<Result<Vec<_>>>()?;
    let cpu = median(runs.iter().map(|r| r.cpu.as_secs_f64()).collect());
    let peak = runs.iter().map(|r| r.peak_kib).max().unwrap_or(0);
    println!(
        "needless read of a {:.0} MB `strace -fttT` log: {:.2} GB/s of CPU time (target 1), peak memory {:.0} MB (target 64)",
        bytes / 1e6,
        bytes / cpu / 1e9,
        peak as f64 / 1024.0
    );
    Ok(())
}

/// Runs a command once. On one processor, unless the workload needs several: a tracer is woken at each call, and
/// to wake another processor can cost more than all the rest, above all in a virtual machine.
fn once(words: &[String], processors: &str) -> Result<Cost> {
    let out = std::env::current_dir()?.join("target/bench.cost");
    let status = Command::new(std::env::current_exe()?)
        .args(["measure", processors])
        .arg(&out)
        .args(words)
        .status()?;
    ensure!(status.success(), "measuring failed: {}", words.join(" "));
    let text = std::fs::read_to_string(&out)?;
    let numbers = text.split(' ').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
    let [cpu, wall, peak_kib] = numbers[..] else {
        anyhow::bail!("unexpected measurement {text:?}")
    };
    let micros = |n: i64| Duration::from_micros(n.unsigned_abs());
    Ok(Cost { cpu: micros(cpu), wall: micros(wall), peak_kib })
}

/// Bytes that compress moderately, the same ones each time.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as u8 & 0x1f
    };
    (0..length).map(|_| next()).collect()
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn ratio(value: f64) -> String {
    format!("x{value:.2}")
}
