//! Any bytes: see check_place.rs.
#![no_main]

#[path = "../check_place.rs"]
mod check_place;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_place::check_place(bytes);
});
