//! Any bytes: see check_document.rs.
#![no_main]

#[path = "../check_document.rs"]
mod check_document;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    check_document::check_document(bytes);
});
