//! `cargo xtask bench-rules`: the CPU time it takes to ask every rule about a large profile.

use anyhow::{Result, ensure};
use needless_model::{
    Answer, Backend, Builder, Env, Errno, Fact, Facts, Libc, Limits, ProcId, Process, Profile,
    Query, Question, Spawn, Window,
};
use needless_rules::{CheckOptions, Sink, View, check};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::collections::BTreeMap;

const ROWS: usize = 100_000;
const PROCESSES: u32 = 200;
const ROUNDS: usize = 9;
/// How many rows of the slowest parts to print.
const SHOWN: usize = 12;

/// Prints the median time of a verdict on 100,000 rows.
pub(crate) fn bench() -> Result<()> {
    let profile = profile();
    ensure!(profile.rows.len() >= ROWS, "{} rows", profile.rows.len());
    let times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = cpu_ms()?;
            let verdict = check(&profile, &CheckOptions::default());
            let ms = cpu_ms()? - start;
            ensure!(!verdict.findings.is_empty(), "nothing was found");
            Ok(ms)
        })
        .collect::<Result<_>>()?;
    let rules = needless_rules::RULES.len();
    println!(
        "{rules} rules, {ROWS} rows of {PROCESSES} processes: {:.1} ms of CPU time (median of {ROUNDS}; target 50)",
        crate::bench::median(times)
    );
    most_expensive(&profile)
}

/// CPU time of this process so far, milliseconds: other programs on the machine do not count.
fn cpu_ms() -> Result<f64> {
    let used = getrusage(UsageWho::RUSAGE_SELF)?;
    let ms = |time: TimeVal| time.tv_sec() as f64 * 1e3 + time.tv_usec() as f64 / 1e3;
    Ok(ms(used.user_time()) + ms(used.system_time()))
}

/// Prints the slowest parts, each with the least time of all rounds.
fn most_expensive(profile: &Profile) -> Result<()> {
    let mut least: BTreeMap<&str, f64> = BTreeMap::new();
    let mut took = |what: &'static str, start: f64| -> Result<()> {
        let ms = cpu_ms()? - start;
        let known = least.entry(what).or_insert(ms);
        *known = known.min(ms);
        Ok(())
    };
    for _ in 0..ROUNDS {
        let start = cpu_ms()?;
        let view = View::new(profile);
        took("the view", start)?;
        let mut sink = Sink::new(profile.rows.len());
        for rule in needless_rules::RULES {
            let start = cpu_ms()?;
            rule.check(&view, &mut sink);
            took(rule.name, start)?;
        }
    }
    let mut all: Vec<(&str, f64)> = least.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (what, ms) in all.iter().take(SHOWN) {
        println!("  {what:22} {ms:6.2} ms");
    }
    Ok(())
}

/// Programs of several languages that search for their files in twenty directories of each of four variables;
/// for half of them the environment is unknown, as in a log.
fn profile() -> Profile {
    let programs = ["python3.11", "perl", "ruby", "node", "php8.2", "java", "bash", "git", "cc1"];
    let ends = [".py", ".pm", ".rb", "/package.json", ".php", ".jar", "", "/.git", ".h"];
    let list = (0..20).map(|n| format!("/opt/p{n}/lib")).collect::<Vec<_>>().join(":");
    let own = ["PYTHONPATH", "PERL5LIB", "RUBYLIB", "NODE_PATH", "LANG", "TZ", "CPATH"];
    let mut builder = Builder::new(Limits::default());
    let (open, stat) = (builder.call("openat"), builder.call("newfstatat"));
    let processes: Vec<ProcId> = (0..PROCESSES)
        .map(|pid| {
            let mut process = Process::new(pid + 1, None, Spawn::Exec);
            process.exe = Some(format!("/usr/bin/{}", programs[pid as usize % programs.len()]));
            // The same number as in a log, where the directories are inferred from the calls.
            let known = pid.is_multiple_of(2);
            let of_language = own[pid as usize % own.len()];
            let names = ["PATH", "LD_LIBRARY_PATH", "XDG_DATA_DIRS", of_language];
            let set = names.map(|name| (name.to_owned(), list.clone()));
            process.env = if known { Env::Known(BTreeMap::from(set)) } else { Env::Unknown };
            process.libc = Libc::Glibc(None);
            builder.process(process)
        })
        .collect();
    for row in 0..ROWS {
        let process = processes[row % processes.len()];
        let at = row / processes.len();
        let end = ends[row % processes.len() % ends.len()];
        let path = match at % 4 {
            0 if at == 0 => "/lib/x86_64-linux-gnu/libc.so.6".to_owned(),
            0 => format!("/usr/lib/lang/module{}{end}", at / 2),
            1 => format!("/opt/p{}/lib/libx{}.so.1", at % 20, at / 2),
            _ => format!("/opt/p{}/lib/module{}{end}", at % 20, at / 2),
        };
        let (call, query) = if at % 3 == 1 { (stat, Query::Stat) } else { (open, Query::Open) };
        let outcome = if at.is_multiple_of(4) { Ok(()) } else { Err(Errno::ENOENT) };
        let question = Question { call, query, path: &path, from_dir_fd: false };
        let question = builder.question(process, question);
        builder.answer(question, Answer { at_ns: Some(row as u64), ..Answer::outcome(outcome) });
    }
    let facts = Facts::of(&Fact::ALL);
    let mut profile =
        builder.finish(Backend::default(), facts, Window { length_ns: Some(ROWS as u64) });
    // As every capture does.
    profile.sort_by_process();
    profile
}
