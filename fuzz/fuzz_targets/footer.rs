//! Any bytes: see check_footer.rs.
#![no_main]

#[path = "../check_footer.rs"]
mod check_footer;

use libfuzzer_sys::fuzz_target;
use rustix::fs::{MemfdFlags, memfd_create};

fuzz_target!(|bytes: &[u8]| {
    let file = memfd_create("window", MemfdFlags::CLOEXEC).expect("a file in memory");
    check_footer::check_footer(bytes, file.into());
});
