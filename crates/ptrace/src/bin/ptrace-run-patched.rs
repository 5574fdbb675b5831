//! `ptrace-run`, which patches each call site at its first stop: for tests.

#[path = "ptrace-run.rs"]
mod run;

fn main() {
    run::main();
}
