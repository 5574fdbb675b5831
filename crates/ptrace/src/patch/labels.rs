//! The stub's code (`stub.rs`), and the addresses in it that mean something to the tracer.

use super::layout as l;

unsafe extern "C" {
    static needless_stub_start: u8;
    static needless_stub_saved: u8;
    static needless_stub_returned: u8;
    static needless_stub_compared: u8;
    static needless_stub_new: u8;
    static needless_stub_claiming: u8;
    static needless_stub_committed: u8;
    static needless_stub_report: u8;
    static needless_stub_reported: u8;
    static needless_stub_restored: u8;
    static needless_stub_over: u8;
    static needless_stub_stops: u8;
    static needless_stub_end: u8;
    static needless_set_up_start: u8;
    static needless_set_up_down: u8;
    static needless_set_up_saved: u8;
    static needless_set_up_blocked: u8;
    static needless_set_up_unblocked: u8;
    static needless_set_up_restored: u8;
    static needless_set_up_end: u8;
}

/// The stub's code.
pub(crate) fn code() -> &'static [u8] {
    let (start, end) = (&raw const needless_stub_start, &raw const needless_stub_end);
    // SAFETY: both are labels of the one block of read-only data above, the end after the start.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

macro_rules! labels {
    ($($name:ident = $symbol:ident, $what:literal;)*) => {$(
        #[doc = $what]
        pub(crate) fn $name() -> u64 {
            l::REGION + ((&raw const $symbol).addr() - (&raw const needless_stub_start).addr()) as u64
        }
    )*};
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

/// Where a thread is in the code of `set_up.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SetUpPlace {
    /// All registers are those of the site.
    Before,
    /// All but rsp.
    Down,
    /// They are in its frame; no signal is blocked.
    Saved,
    /// Signals are blocked, perhaps.
    Blocked,
    /// They are in its frame, and no signal is blocked any more.
    Unblocked,
    /// All registers are those of the site again.
    Restored,
}

/// Where a thread is that is `offset` bytes from the start of this code.
pub(crate) fn set_up_place(offset: u64) -> SetUpPlace {
    let at = |symbol: *const u8| (symbol.addr() - (&raw const needless_set_up_start).addr()) as u64;
    if offset < at(&raw const needless_set_up_down) {
        SetUpPlace::Before
    } else if offset <= at(&raw const needless_set_up_saved) {
        SetUpPlace::Down
    } else if offset < at(&raw const needless_set_up_blocked) {
        SetUpPlace::Saved
    } else if offset < at(&raw const needless_set_up_unblocked) {
        SetUpPlace::Blocked
    } else if offset < at(&raw const needless_set_up_restored) {
        SetUpPlace::Unblocked
    } else {
        SetUpPlace::Restored
    }
}

/// Where the code of `set_up.rs` is beside the stub.
pub(crate) fn set_up() -> u64 {
    l::REGION + (code().len() as u64).next_multiple_of(16)
}

/// Where the sites begin.
pub(crate) fn sites() -> u64 {
    set_up() + (set_up_code().len() as u64).next_multiple_of(16)
}
