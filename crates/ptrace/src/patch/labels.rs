//! The stub's code (`stub.rs`), and the addresses in it that mean something to the tracer.

use super::layout as l;
use std::ops::Range;

unsafe extern "C" {
    static needless_stub_start: u8;
    static needless_stub_end: u8;
    static needless_set_up_start: u8;
    static needless_set_up_blocked: u8;
    static needless_set_up_unblocked: u8;
    static needless_set_up_end: u8;
}

/// The stub's code.
pub(crate) fn code() -> &'static [u8] {
    let (start, end) = (&raw const needless_stub_start, &raw const needless_stub_end);
    // SAFETY: both are labels of the one block of read-only data above, the end after the start.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

macro_rules! labels {
    ($($name:ident = $symbol:ident, $what:literal;)*) => {
        unsafe extern "C" {$(
            static $symbol: u8;
        )*}
        $(
            #[doc = $what]
            pub(crate) fn $name() -> u64 {
                let start = (&raw const needless_stub_start).addr();
                l::REGION + ((&raw const $symbol).addr() - start) as u64
            }
        )*
    };
}

labels! {
    saved = needless_stub_saved, "All registers are those of the site from here on, and rsp up to here.";
    returned = needless_stub_returned, "The call has returned: the one address from which calls need not stop.";
    compared = needless_stub_compared, "If the zero flag is set, the call was counted as a repetition.";
    new = needless_stub_new, "It was not, and gets a record.";
    claiming = needless_stub_claiming, "If the zero flag is set, the record at r9 is its own.";
    committed = needless_stub_committed, "It was counted.";
    report = needless_stub_report, "The tracer has to count it.";
    reported = needless_stub_reported, "The tracer has counted it.";
    restored = needless_stub_restored, "All registers are those of the site again.";
    over = needless_stub_over, "It stops, because its answer is written over its path; the frame is there.";
    stops = needless_stub_stops, "The same without the frame.";
}

/// The code of `set_up.rs`.
pub(crate) fn set_up_code() -> &'static [u8] {
    let (start, end) = (&raw const needless_set_up_start, &raw const needless_set_up_end);
    // SAFETY: both are labels of the one block of read-only data in `set_up.rs`, the end after the start.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// Where signals are blocked in this code, by the distance from its start.
pub(crate) fn blocked() -> Range<u64> {
    let at = |symbol: *const u8| (symbol.addr() - (&raw const needless_set_up_start).addr()) as u64;
    at(&raw const needless_set_up_blocked)..at(&raw const needless_set_up_unblocked)
}

/// Where the sites begin.
pub(crate) fn sites() -> u64 {
    l::REGION + (code().len() as u64).next_multiple_of(16)
}
