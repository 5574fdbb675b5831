//! Any bytes as a zone file, and as the file `posixrules` of a TZ string: no panic, fields in their ranges.
#![no_main]

#[path = "../check_zone.rs"]
mod check_zone;

use libfuzzer_sys::fuzz_target;
use needless_localtime::Zone;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(zone) = Zone::from_tzif(bytes) {
        check_zone::check_zone(&zone, bytes);
    }
    if let Some(zone) = Zone::with_posixrules(b"ABC5DEF", bytes) {
        check_zone::check_zone(&zone, bytes);
    }
});
