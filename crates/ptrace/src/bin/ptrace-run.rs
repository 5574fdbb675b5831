//! `ptrace-run [--all] [--patch] [--stacks] [-o FILE] CMD ARG…`: what the backend sees, without rules or
//! report, for tests and benches. One line per call, path and outcome on stderr or in FILE.

use needless_launch::{Launch, Stdio, exit_like};
use needless_model::Profile;
use needless_ptrace::{TraceOptions, run};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

pub(crate) fn main() {
    let patch_after =
        matches!(env!("CARGO_BIN_NAME").as_bytes(), b"ptrace-run-patched").then_some(1);
    let watch = ["TZ", "LANG", "LC_ALL"].into();
    let mut options = TraceOptions { watch, patch_after, ..TraceOptions::default() };
    let mut file = None;
    let mut arguments = std::env::args_os().skip(1).peekable();
    while let Some(option) = arguments.next_if(|a| a.to_str().is_some_and(|a| a.starts_with('-'))) {
        match option.to_str() {
            Some("--all") => options.all = true,
            Some("--stacks") => options.stacks = true,
            Some("--patch") => options.patch_after = Some(needless_ptrace::PATCH_AFTER),
            Some("-o") => file = arguments.next(),
            _ => usage(),
        }
    }
    let argv: Vec<_> = arguments.collect();
    let Some(program) = argv.first().map(|name| find(name)) else { usage() };
    let launch = Launch { program, argv, env: None, stdio: Stdio::Inherit, caller: None };
    let traced = match run(launch, &options) {
        Ok(traced) => traced,
        Err(error) => {
            eprintln!("ptrace-run: {error}");
            std::process::exit(error.status());
        }
    };
    let text = table(&traced.profile);
    match file {
        None => eprint!("{text}"),
        Some(file) => {
            if let Err(error) = std::fs::write(&file, text) {
                eprintln!("ptrace-run: {}: {error}", PathBuf::from(file).display());
                std::process::exit(needless_model::status::OURS);
            }
        }
    }
    exit_like(traced.exit)
}

fn usage() -> ! {
    eprintln!("usage: ptrace-run [--all] [--patch] [--stacks] [-o FILE] CMD [ARG…]");
    std::process::exit(needless_model::status::OURS)
}

fn find(name: &std::ffi::OsStr) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path =
        || std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file());
    if name.to_string_lossy().contains('/') {
        name.into()
    } else {
        in_path().unwrap_or_else(|| name.into())
    }
}

/// Tab-separated: count, call, outcome, path; then totals, losses and notes after a `#`.
fn table(profile: &Profile) -> String {
    let mut counts = BTreeMap::<(&str, String, &str), u64>::new();
    for row in &profile.rows {
        let outcome = match row.outcome {
            None => "?".to_owned(),
            Some(Ok(())) => "ok".to_owned(),
            Some(Err(errno)) => errno.name().to_owned(),
        };
        *counts.entry((profile.call(row), outcome, profile.path(row))).or_default() += row.count;
    }
    let mut text = String::new();
    for ((call, outcome, path), count) in counts {
        let _ = writeln!(text, "{count}\t{call}\t{outcome}\t{path}");
    }
    let totals = &profile.totals;
    let _ = writeln!(text, "# calls {} paths {}", totals.calls, totals.path_calls);
    let _ = writeln!(text, "# cpu {:?} tracing {}", totals.cpu_ns(), totals.tracing_ns);
    let assumed: u64 = profile.rows.iter().map(|r| r.assumed).sum();
    let repeated: u64 = profile.rows.iter().map(|r| r.repeated).sum();
    let _ = writeln!(text, "# repeated {repeated} assumed {assumed}");
    let _ = writeln!(text, "# processes {}", profile.processes.len());
    for process in &profile.processes {
        let _ = writeln!(
            text,
            "# process {} parent {:?} {:?} {} {:?} cpu {:?} {:?} exit {:?}",
            process.pid,
            process.parent,
            process.born,
            process.name(),
            process.env,
            process.cpu_user_ns,
            process.cpu_sys_ns,
            process.exit
        );
    }
    for (what, n) in &profile.lost {
        let _ = writeln!(text, "# lost {what} {n}");
    }
    for note in &profile.notes {
        let _ = writeln!(text, "# note {note}");
    }
    text
}
