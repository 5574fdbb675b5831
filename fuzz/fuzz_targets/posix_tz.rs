//! Any bytes as a TZ string: no panic, ranges around their moments.
#![no_main]

#[path = "../check_zone.rs"]
mod check_zone;

use libfuzzer_sys::fuzz_target;
use needless_localtime::Zone;

fuzz_target!(|bytes: &[u8]| check_zone::check_zone(&Zone::from_posix(bytes), bytes));
