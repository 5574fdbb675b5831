//! Models of `between_threads.rs`: each runs in every order of its threads' steps. One fails where two threads use a cell at
//! once, where one uses it without seeing what the other did, or where an assertion does not hold.
#![cfg(test)]

use loom::sync::atomic;

#[allow(dead_code, reason = "each model uses a part")]
#[path = "../src/between_threads.rs"]
mod between_threads;

mod bump;
mod gate;
mod latest;
mod renewal;
mod second;

/// Runs `model` in every order of its threads.
fn every_order(model: impl Fn() + Sync + Send + 'static) {
    loom::model::Builder::new().check(model);
}

/// Starts a thread for each number, and waits for all.
fn threads(numbers: impl IntoIterator<Item = usize>, run: impl Fn(usize) + Clone + Send + 'static) {
    let started: Vec<_> = numbers
        .into_iter()
        .map(|number| {
            let run = run.clone();
            loom::thread::spawn(move || run(number))
        })
        .collect();
    for thread in started {
        thread.join().unwrap();
    }
}
