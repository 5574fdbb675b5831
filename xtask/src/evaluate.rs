//! `cargo xtask bench-rules`: what it takes to ask every rule about a large profile.

use anyhow::{Result, ensure};
use needless_model::{
    Answer, Ask, Born, Builder, Env, Errno, Fact, Facts, Libc, Limits, ProcId, Process, Profile,
    Question, Window,
};
use needless_rules::{Options, check};
use std::collections::BTreeMap;
use std::time::Instant;

const ROWS: usize = 100_000;
const PROCESSES: u32 = 200;
const ROUNDS: usize = 9;

/// Prints the median time of a verdict on 100,000 rows.
pub(crate) fn bench() -> Result<()> {
    let profile = profile();
    ensure!(profile.rows.len() >= ROWS, "{} rows", profile.rows.len());
    let mut times: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let verdict = check(&profile, &Options::default());
            let ms = start.elapsed().as_secs_f64() * 1e3;
            assert!(!verdict.findings.is_empty());
            ms
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let rules = needless_rules::RULES.len();
    println!(
        "{rules} rules, {ROWS} rows of {PROCESSES} processes: {:.1} ms (median of {ROUNDS}; target 50)",
        times[ROUNDS / 2]
    );
    Ok(())
}

/// Programs of several languages that search for their files in twenty directories of each of four
/// variables, half of them with an environment that is not known, as in a log.
fn profile() -> Profile {
    let programs = ["python3.11", "perl", "ruby", "node", "php8.2", "java", "bash", "git", "cc1"];
    let ends = [".py", ".pm", ".rb", "/package.json", ".php", ".jar", "", "/.git", ".h"];
    let list = (0..20).map(|n| format!("/opt/p{n}/lib")).collect::<Vec<_>>().join(":");
    let own = ["PYTHONPATH", "PERL5LIB", "RUBYLIB", "NODE_PATH", "LANG", "TZ", "CPATH"];
    let mut builder = Builder::new(Limits::default());
    let (open, stat) = (builder.call("openat"), builder.call("newfstatat"));
    let processes: Vec<ProcId> = (0..PROCESSES)
        .map(|pid| {
            let mut process = Process::new(pid + 1, None, Born::Exec);
            process.exe = Some(format!("/usr/bin/{}", programs[pid as usize % programs.len()]));
            // As many again as in a log, where directories are read back from the calls.
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
        let (call, ask) = if at % 3 == 1 { (stat, Ask::Stat) } else { (open, Ask::Open) };
        let outcome = if at.is_multiple_of(4) { Ok(()) } else { Err(Errno::ENOENT) };
        let question = Question { call, ask, path: &path, from_dir_fd: false };
        let question = builder.question(process, question);
        builder.answer(question, Answer { at_ns: Some(row as u64), ..Answer::outcome(outcome) });
    }
    let facts = Facts::of(&Fact::ALL);
    builder.finish("bench".to_owned(), facts, Window { length_ns: Some(ROWS as u64) })
}
