//! The code that is copied into processes (`stub.rs`, `set_up.rs`), and the addresses in it that mean something to the
//! tracer.

use super::layout as l;

macro_rules! labels {
    ($($name:ident = $symbol:ident, $what:literal;)*) => {
        unsafe extern "C" {$(
            static $symbol: u8;
        )*}
        $(
            #[doc = $what]
            pub(crate) fn $name() -> u64 {
                l::REGION + ((&raw const $symbol).addr() - start().addr()) as u64
            }
        )*
    };
}

labels! {
    returned = needless_stub_returned, "The call has returned: the one address from which calls need not stop.";
    compared = needless_stub_compared, "If the zero flag is set, the call was counted as a repetition.";
    committed = needless_stub_committed, "It was counted in a record of its own.";
    reported = needless_stub_reported, "It was counted, by the tracer or before.";
    restored = needless_stub_restored, "All registers are those of the site again.";
    stops = needless_stub_stops, "The same: the call stops.";
    end = needless_stub_end, "The end of the stub.";
}

unsafe extern "C" {
    static needless_stub_start: u8;
    static needless_set_up_start: u8;
    static needless_set_up_unblocked: u8;
    static needless_set_up_end: u8;
}

fn start() -> *const u8 {
    &raw const needless_stub_start
}

/// The stub.
pub(crate) fn code() -> &'static [u8] {
    // SAFETY: this is the distance from its first label to its last one, in one block of read-only data.
    unsafe { std::slice::from_raw_parts(start(), (end() - l::REGION) as usize) }
}

/// The code of `set_up.rs`, and how much of it runs while signals are blocked.
pub(crate) fn set_up() -> (&'static [u8], u64) {
    let start = &raw const needless_set_up_start;
    let distance = |to: *const u8| to.addr() - start.addr();
    // SAFETY: as in `code`.
    let code =
        unsafe { std::slice::from_raw_parts(start, distance(&raw const needless_set_up_end)) };
    (code, distance(&raw const needless_set_up_unblocked) as u64)
}
