//! Any bytes as a zone file: no panic, ranges around their moments.
#![no_main]

#[path = "../check_zone.rs"]
mod check_zone;

use libfuzzer_sys::fuzz_target;
use needless_localtime::Zone;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(zone) = Zone::from_tzif(bytes) {
        check_zone::check_zone(&zone, bytes);
    }
});
