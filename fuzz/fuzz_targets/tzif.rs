//! Any bytes as a zone file, and as the `posixrules` of a text: no panic, fields in their ranges.
#![no_main]

#[path = "../ask.rs"]
mod ask;

use libfuzzer_sys::fuzz_target;
use needless_localtime::Zone;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(zone) = Zone::from_tzif(bytes) {
        ask::ask(&zone, bytes);
    }
    if let Some(zone) = Zone::with_posixrules(b"ABC5DEF", bytes) {
        ask::ask(&zone, bytes);
    }
});
