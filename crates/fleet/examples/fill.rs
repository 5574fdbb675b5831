//! Adds windows to a ring without end, as an agent would: for a test that kills it.

use needless_fleet::{AgentWindow, Dimensions, Keep, Measures, Ring, parquet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn main() {
    let folder = std::env::args().nth(1).expect("a directory");
    let keep = Keep { bytes: 100_000, age: Duration::from_secs(86_400) };
    let mut ring = Ring::open(folder.as_ref(), keep).expect("a ring");
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_micros() as i64;
    let mut end_us = now();
    loop {
        let start_us = end_us;
        end_us = now().max(start_us + 1);
        let window = AgentWindow { start_us, end_us, host: "a".into(), ..AgentWindow::default() };
        let rows =
            [(Dimensions::default(), Measures { calls: end_us - start_us, ..Measures::default() })];
        let bytes = parquet(&window, &rows).expect("a file");
        ring.add(&window, &bytes).expect("room");
    }
}
