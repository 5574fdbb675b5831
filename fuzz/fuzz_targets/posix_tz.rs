//! Any bytes as the text of `TZ`: no panic, fields in their ranges.
#![no_main]

#[path = "../ask.rs"]
mod ask;

use libfuzzer_sys::fuzz_target;
use needless_localtime::Zone;

fuzz_target!(|bytes: &[u8]| ask::ask(&Zone::from_posix(bytes), bytes));
