//! What each thread remembers of its last conversions: the day they fell on.
//!
//! Programs mostly convert the present, so the next moment is on the same day under the same regime, and
//! only the clock has to be told. A day is remembered when it is asked for twice in a row: one asked for
//! once costs more to remember than to work out.
//!
//! A signal handler may convert while its thread does. Each slot counts its changes: the count is odd while
//! one goes on, and whoever finds it odd, or another one afterwards, works the moment out.

use crate::imports::Tm;
use crate::zones::Known;
use core::ops::Range;
use core::sync::atomic::{Ordering, compiler_fence};
use needless_localtime::{Civil, Globals};

/// A day, or the part of it under one regime.
#[repr(C)]
pub(crate) struct Slot {
    changes: u32,
    /// How long it lasts; 0 for an empty slot.
    seconds: u32,
    /// Its first second since 1970-01-01 UTC.
    start: i64,
    /// Of which zone.
    known: *const Known,
    /// What the clock shows then, in seconds after midnight.
    clock: u32,
    /// Whether no other moment shows what the clock shows on that day.
    unique: bool,
    /// All fields but the clock's.
    tm: Tm,
    globals: Globals<'static>,
    /// The day that was worked out last: its year, and the day of the year in the lower nine bits.
    last_day: i64,
}

/// What is found in a slot.
pub(crate) struct Hit {
    /// Seconds after midnight.
    pub(crate) second: u32,
    pub(crate) globals: Globals<'static>,
}

/// Whether slots exist: elsewhere the code model needs a register that Rust does not hand to assembly.
const REMEMBERS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

impl Slot {
    /// Writes what is remembered of `t` to `tm`, the clock excepted; `None` if that is nothing.
    ///
    /// # Safety
    /// `slot` must be this thread's, `tm` writable.
    #[inline(always)]
    pub(crate) unsafe fn find(
        slot: *mut Slot,
        known: &'static Known,
        t: i64,
        tm: *mut Tm,
    ) -> Option<Hit> {
        // SAFETY: the caller's. Only this thread changes the slot, in a signal handler at most.
        unsafe {
            if !REMEMBERS {
                return None;
            }
            let changes = (&raw const (*slot).changes).read_volatile();
            compiler_fence(Ordering::SeqCst);
            let into = t.wrapping_sub((*slot).start) as u64;
            let here = into < u64::from((*slot).seconds) && core::ptr::eq((*slot).known, known);
            if !here || changes & 1 != 0 {
                return None;
            }
            let hit = Hit { second: (*slot).clock + into as u32, globals: (*slot).globals };
            *tm = (*slot).tm;
            compiler_fence(Ordering::SeqCst);
            ((&raw const (*slot).changes).read_volatile() == changes).then_some(hit)
        }
    }

    /// The moment that is so many seconds into a local day under the flag (tm_isdst), if no other can be meant.
    ///
    /// # Safety
    /// `slot` must be this thread's.
    #[inline(always)]
    pub(crate) unsafe fn moment(
        slot: *mut Slot,
        known: &'static Known,
        (day, second): (i64, u32),
        isdst: i32,
    ) -> Option<i64> {
        if !REMEMBERS {
            return None;
        }
        // SAFETY: the caller's; see `find`.
        unsafe {
            let changes = (&raw const (*slot).changes).read_volatile();
            compiler_fence(Ordering::SeqCst);
            let (start, tm) = ((*slot).start, &(*slot).tm);
            let into = second.wrapping_sub((*slot).clock);
            let that_day = needless_localtime::day_of(start.wrapping_add(tm.gmtoff)) == day
                && into < (*slot).seconds
                && core::ptr::eq((*slot).known, known);
            let meant = (*slot).unique && (isdst < 0 || (isdst > 0) == (tm.isdst > 0));
            compiler_fence(Ordering::SeqCst);
            let same = (&raw const (*slot).changes).read_volatile() == changes && changes & 1 == 0;
            (that_day && meant && same).then(|| start.wrapping_add(i64::from(into)))
        }
    }

    /// Whether the moment worked out before is of the same local day, so that it is worth being remembered.
    ///
    /// # Safety
    /// `slot` must be this thread's.
    #[inline(always)]
    pub(crate) unsafe fn is_of_last_day(slot: *mut Slot, civil: &Civil) -> bool {
        if !REMEMBERS {
            return false;
        }
        let day = i64::from(civil.year) << 9 | i64::from(civil.yday);
        // SAFETY: the caller's.
        unsafe {
            let last = (&raw const (*slot).last_day).read_volatile();
            (&raw mut (*slot).last_day).write_volatile(day);
            last == day
        }
    }

    /// Remembers the day of `t`. What `tm`, to which `t` was converted, says but for the clock holds as long
    /// as that day and `around`. It must be a copy that nobody else writes.
    ///
    /// # Safety
    /// `slot` must be this thread's.
    #[cold]
    pub(crate) unsafe fn fill(
        slot: *mut Slot,
        known: &'static Known,
        t: i64,
        tm: &Tm,
        around: Option<Range<i64>>,
    ) {
        let Some(around) = around else { return };
        let clock = i64::from(tm.hour * 3600 + tm.min * 60 + tm.sec);
        // The day's year fits, so that there are seconds to spare on both sides.
        let midnight = t - clock;
        let start = midnight.max(around.start);
        let end = (midnight + SECONDS_PER_DAY).min(around.end);
        let apart = known.zone.offsets_apart();
        let unique = midnight.checked_sub(apart).is_some_and(|first| first >= around.start)
            && (midnight + SECONDS_PER_DAY)
                .checked_add(apart)
                .is_some_and(|last| last <= around.end);
        // SAFETY: the caller's; see `find`.
        unsafe {
            let changes = (&raw const (*slot).changes).read_volatile();
            if changes & 1 != 0 {
                // We interrupted the one who is at it.
                return;
            }
            (&raw mut (*slot).changes).write_volatile(changes | 1);
            compiler_fence(Ordering::SeqCst);
            (*slot).seconds = (end - start) as u32;
            (*slot).start = start;
            (*slot).known = known;
            (*slot).clock = (start - midnight) as u32;
            (*slot).unique = unique;
            (*slot).tm = *tm;
            (*slot).globals = known.zone.globals_at(Some(t));
            compiler_fence(Ordering::SeqCst);
            (&raw mut (*slot).changes).write_volatile(changes.wrapping_add(2));
        }
    }
}

/// This thread's two slots.
#[repr(C, align(64))]
struct Slots {
    local: Slot,
    universal: Slot,
}

// Zeros are an empty slot. The initial-exec model, as a library that is loaded with its program may use it:
// no call of the dynamic linker's, which could allocate.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
core::arch::global_asm!(
    ".pushsection .tbss.needless_slots,\"awT\",@nobits",
    ".balign 64",
    ".globl needless_slots",
    ".hidden needless_slots",
    ".type needless_slots, %object",
    ".size needless_slots, {size}",
    "needless_slots:",
    ".zero {size}",
    ".popsection",
    size = const size_of::<Slots>(),
);

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn slots() -> *mut Slots {
    let slots: *mut Slots;
    // SAFETY: computes the address of a thread-local variable (ELF TLS, variant II).
    unsafe {
        core::arch::asm!(
            "mov {slots}, qword ptr [rip + needless_slots@GOTTPOFF]",
            "add {slots}, qword ptr fs:[0]",
            slots = out(reg) slots,
            options(pure, readonly, nostack),
        );
    }
    slots
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn slots() -> *mut Slots {
    let slots: *mut Slots;
    // SAFETY: computes the address of a thread-local variable (ELF TLS, variant I).
    unsafe {
        core::arch::asm!(
            "mrs {thread}, tpidr_el0",
            "adrp {slots}, :gottprel:needless_slots",
            "ldr {slots}, [{slots}, #:gottprel_lo12:needless_slots]",
            "add {slots}, {slots}, {thread}",
            thread = out(reg) _,
            slots = out(reg) slots,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    slots
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn slots() -> *mut Slots {
    core::ptr::null_mut()
}

/// The slot for local time.
#[inline(always)]
pub(crate) fn local() -> *mut Slot {
    slots().cast()
}

/// The slot for UTC.
#[inline(always)]
pub(crate) fn universal() -> *mut Slot {
    slots().wrapping_byte_add(core::mem::offset_of!(Slots, universal)).cast()
}
