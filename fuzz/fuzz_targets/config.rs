//! Any bytes: see check_config.rs.
#![no_main]

#[path = "../check_config.rs"]
mod check_config;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_config::check_config(bytes);
});
