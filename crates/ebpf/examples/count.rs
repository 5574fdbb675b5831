//! Runs a command under the eBPF backend and prints what it counted, most frequent rows first.
use needless_ebpf::{Scope, Session, SessionOptions};
use needless_model::Profile;
use std::time::Duration;

fn main() {
    let mut words = std::env::args().skip(1).peekable();
    let mut options =
        SessionOptions { stacks: true, watch: ["TZ", "LANG"].into(), ..SessionOptions::default() };
    while let Some(flag) = words.peek().filter(|word| word.starts_with("--")) {
        match flag.as_str() {
            "--all" => options.all = true,
            "--latency" => options.latency = true,
            "--no-stacks" => options.stacks = false,
            _ => panic!("unknown {flag}"),
        }
        words.next();
    }
    let begin = std::time::Instant::now();
    let mut session = Session::start(&Scope::Launched, &options).unwrap_or_else(|e| panic!("{e}"));
    let ready = begin.elapsed();
    let program = words.next().expect("a command");
    let mut child = std::process::Command::new(program).args(words).spawn().expect("it starts");
    while child.try_wait().expect("our child").is_none() {
        session.drain(Duration::from_millis(50));
    }
    while session.live() > 0 {
        session.drain(Duration::from_millis(50));
    }
    let ended = std::time::Instant::now();
    let observed = session.finish();
    eprintln!("ready {ready:?}, finished {:?}", ended.elapsed());
    print(&observed.profile, observed.stacks.len());
}

fn print(p: &Profile, stacks: usize) {
    eprintln!("calls {} path calls {} lost {:?}", p.totals.calls, p.totals.path_calls, p.lost);
    eprintln!("processes {} rows {} stacks {stacks}", p.processes.len(), p.rows.len());
    for q in p.processes.iter().take(5) {
        eprintln!(
            "{} {:?} {:?} {:?} cpu {:?} {:?} {:?} faults {:?} {:?} {:?}",
            q.pid,
            q.born,
            q.exe,
            q.env,
            q.cpu_ns,
            q.cpu_user_ns,
            q.cpu_sys_ns,
            q.minor_faults,
            q.major_faults,
            q.exit
        );
    }
    let cpu: u64 = p.processes.iter().filter_map(|q| q.cpu_ns).sum();
    eprintln!("cpu of all {:?}", Duration::from_nanos(cpu));
    for wait in &p.waits {
        let (call, time) = (p.strings.text(wait.call.0), Duration::from_nanos(wait.ns));
        let program = p.process(wait.process).title();
        eprintln!("{program} {call} {:?} {:?} {} {time:?}", wait.outcome, wait.on, wait.calls);
    }
    let mut rows: Vec<_> = p.rows.iter().collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    for row in rows.iter().take(12) {
        eprintln!(
            "{:>8} rep {:>8} {:?} {}({:?}) {:?} ns {} site",
            row.count,
            row.repeated,
            row.process,
            p.call(row),
            p.path(row),
            row.outcome,
            row.kernel_ns
        );
    }
}
