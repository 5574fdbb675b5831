//! What each thread remembers of its last conversions: the day they fell on.
//!
//! Programs mostly convert the present, so the next moment is on the same day under the same regime, and
//! only the clock has to be told. A day is remembered when it is asked for twice in a row: one asked for
//! once costs more to remember than to work out.
//!
//! A signal handler may convert while its thread does. Each slot counts its changes: the count is odd while
//! one goes on, and whoever finds it odd, or another one afterwards, works the moment out. A thread and its own signal
//! handlers are all that ever use a slot. So fences for the compiler keep the count and the fields in order, and
//! the fields are atomic, for that is what a handler may share with the code that it interrupts.

use crate::imports::{self, Tm};
use crate::zones::Known;
use core::ffi::{CStr, c_char};
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicU32, Ordering, compiler_fence,
};
use needless_localtime::Civil;

/// A day, or the part of it under one regime.
#[repr(C)]
pub(crate) struct Slot {
    changes: AtomicU32,
    /// How long it lasts; 0 for an empty slot.
    seconds: AtomicU32,
    /// Its first second since 1970-01-01 UTC.
    start: AtomicI64,
    /// Of which zone.
    known: AtomicPtr<Known>,
    /// What the clock shows then, in seconds after midnight.
    clock: AtomicU32,
    /// Whether no other moment shows what the clock shows on that day.
    unique: AtomicBool,
    /// All fields of a `Tm` but the clock's.
    mday: AtomicI32,
    mon: AtomicI32,
    year: AtomicI32,
    wday: AtomicI32,
    yday: AtomicI32,
    isdst: AtomicI32,
    gmtoff: AtomicI64,
    zone: AtomicPtr<c_char>,
    /// What the three variables say then.
    names: [AtomicPtr<c_char>; 2],
    timezone: AtomicI64,
    daylight: AtomicI32,
    /// The day that was worked out last: its year, and the day of the year in the lower nine bits.
    last_day: AtomicI64,
}

/// What is found in a slot.
pub(crate) struct Hit {
    /// Seconds after midnight.
    pub(crate) second: u32,
    names: [*const c_char; 2],
    timezone: i64,
    daylight: i32,
}

impl Hit {
    /// Writes `tzname`, `timezone` and `daylight`.
    #[inline(always)]
    pub(crate) fn set_globals(&self) {
        imports::set_globals(self.names, self.timezone, self.daylight);
    }
}

/// Whether slots exist: elsewhere the code model needs a register that Rust does not hand to assembly.
const REMEMBERS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

impl Slot {
    /// Writes what is remembered of `t` to `tm`, the clock excepted; `None` if that is nothing.
    ///
    /// # Safety
    /// `tm` must be writable.
    #[inline(always)]
    pub(crate) unsafe fn find(&self, known: &'static Known, t: i64, tm: *mut Tm) -> Option<Hit> {
        if !REMEMBERS {
            return None;
        }
        let changes = self.changes.load(Relaxed);
        compiler_fence(Ordering::SeqCst);
        let into = t.wrapping_sub(self.start.load(Relaxed)) as u64;
        let here = into < u64::from(self.seconds.load(Relaxed))
            && core::ptr::eq(self.known.load(Relaxed), known);
        if !here || changes & 1 != 0 {
            return None;
        }
        let hit = Hit {
            second: self.clock.load(Relaxed) + into as u32,
            names: [self.names[0].load(Relaxed), self.names[1].load(Relaxed)],
            timezone: self.timezone.load(Relaxed),
            daylight: self.daylight.load(Relaxed),
        };
        // SAFETY: `tm` is writable, by `# Safety`. If a handler came between, it is written again.
        unsafe {
            (*tm).mday = self.mday.load(Relaxed);
            (*tm).mon = self.mon.load(Relaxed);
            (*tm).year = self.year.load(Relaxed);
            (*tm).wday = self.wday.load(Relaxed);
            (*tm).yday = self.yday.load(Relaxed);
            (*tm).isdst = self.isdst.load(Relaxed);
            (*tm).gmtoff = self.gmtoff.load(Relaxed);
            (*tm).zone = self.zone.load(Relaxed);
        }
        compiler_fence(Ordering::SeqCst);
        (self.changes.load(Relaxed) == changes).then_some(hit)
    }

    /// The moment that is so many seconds into a local day under the flag (tm_isdst), if no other can be meant.
    #[inline(always)]
    pub(crate) fn moment(
        &self,
        known: &'static Known,
        (day, second): (i64, u32),
        isdst: i32,
    ) -> Option<i64> {
        if !REMEMBERS {
            return None;
        }
        let changes = self.changes.load(Relaxed);
        compiler_fence(Ordering::SeqCst);
        let start = self.start.load(Relaxed);
        let into = second.wrapping_sub(self.clock.load(Relaxed));
        let first_day = start.wrapping_add(self.gmtoff.load(Relaxed));
        let that_day = needless_localtime::day_of(first_day) == day
            && into < self.seconds.load(Relaxed)
            && core::ptr::eq(self.known.load(Relaxed), known);
        let meant = self.unique.load(Relaxed)
            && (isdst < 0 || (isdst > 0) == (self.isdst.load(Relaxed) > 0));
        compiler_fence(Ordering::SeqCst);
        let same = self.changes.load(Relaxed) == changes && changes & 1 == 0;
        (that_day && meant && same).then(|| start.wrapping_add(i64::from(into)))
    }

    /// Whether the moment worked out before is of the same local day, so that it is worth being remembered.
    #[inline(always)]
    pub(crate) fn is_of_last_day(&self, civil: &Civil) -> bool {
        if !REMEMBERS {
            return false;
        }
        let day = i64::from(civil.year) << 9 | i64::from(civil.yday);
        let last = self.last_day.load(Relaxed);
        self.last_day.store(day, Relaxed);
        last == day
    }

    /// Remembers the day of `t`. What `tm`, to which `t` was converted, says but for the clock holds as long
    /// as that day and `around`. It must be a copy that nobody else writes.
    #[cold]
    pub(crate) fn fill(&self, known: &'static Known, t: i64, tm: &Tm, around: Option<Range<i64>>) {
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
        let globals = known.zone.globals_at(Some(t));
        let changes = self.changes.load(Relaxed);
        if changes & 1 != 0 {
            // We interrupted the one who is at it.
            return;
        }
        self.changes.store(changes | 1, Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.seconds.store((end - start) as u32, Relaxed);
        self.start.store(start, Relaxed);
        self.known.store(core::ptr::from_ref(known).cast_mut(), Relaxed);
        self.clock.store((start - midnight) as u32, Relaxed);
        self.unique.store(unique, Relaxed);
        self.mday.store(tm.mday, Relaxed);
        self.mon.store(tm.mon, Relaxed);
        self.year.store(tm.year, Relaxed);
        self.wday.store(tm.wday, Relaxed);
        self.yday.store(tm.yday, Relaxed);
        self.isdst.store(tm.isdst, Relaxed);
        self.gmtoff.store(tm.gmtoff, Relaxed);
        self.zone.store(tm.zone.cast_mut(), Relaxed);
        for (name, of) in self.names.iter().zip(globals.names) {
            name.store(CStr::as_ptr(of).cast_mut(), Relaxed);
        }
        self.timezone.store(globals.timezone, Relaxed);
        self.daylight.store(globals.daylight, Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.changes.store(changes.wrapping_add(2), Relaxed);
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
    // SAFETY: all bits zero are a value of each field.
    static NEVER_USED: Slots = unsafe { core::mem::zeroed() };
    (&raw const NEVER_USED).cast_mut()
}

/// This thread's slot for local time.
#[inline(always)]
pub(crate) fn local() -> &'static Slot {
    // SAFETY: the slots live as long as the thread, which does not hand the reference on; all bits, zeros first, are
    // valid in their fields, and those are atomic.
    unsafe { &(*slots()).local }
}

/// This thread's slot for UTC.
#[inline(always)]
pub(crate) fn universal() -> &'static Slot {
    // SAFETY: the slots live as long as the thread, which does not hand the reference on; all bits, zeros first, are
    // valid in their fields, and those are atomic.
    unsafe { &(*slots()).universal }
}
