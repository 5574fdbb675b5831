//! Each thread caches the day of its last conversions.
//!
//! Programs mostly convert the present: the next moment is on the same day, the same local time type is in force, and
//! only hour, minute and second have to be computed. A day is cached when it is converted twice in a row: for a single
//! conversion filling the cache costs more than it saves.
//!
//! A signal handler may convert while its thread does. Each slot counts its changes: the count is odd during a change.
//! A reader that finds it odd, or changed afterwards, computes the moment without the slot. Only one thread and its
//! signal handlers use a slot. So compiler fences suffice to order the count and the fields, and the fields are atomic,
//! because a handler shares them with the code that it interrupts.

use crate::fields::set_clock;
use crate::imports::{self, Tm};
use crate::zones::CachedZone;
use core::ffi::{CStr, c_char};
use core::mem::offset_of;
use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence,
};
use needless_localtime::Civil;

/// A day, or the part of a day with one local time type.
#[repr(C)]
pub(crate) struct SavedTime {
    changes: AtomicU32,
    /// Its length; 0 for an empty slot.
    seconds: AtomicU32,
    /// Its first second, since 1970-01-01 UTC.
    start: AtomicI64,
    /// The zone it was computed with.
    cached: AtomicPtr<CachedZone>,
    /// What the local clock shows at its start, in seconds after midnight.
    clock: AtomicU32,
    /// Whether no other moment shows the same date and clock as a moment of this day.
    unique: AtomicBool,
    /// The fields of a `Tm` from `mday` to `isdst`, two in each word, as they lie there.
    date: [AtomicU64; 3],
    gmtoff: AtomicI64,
    zone: AtomicPtr<c_char>,
    /// The values of `tzname`.
    names: [AtomicPtr<c_char>; 2],
    /// The last day that was computed: its year, and the day of the year in the lower nine bits.
    last_day: AtomicI64,
}

/// Whether slots exist. On ppc64le, access to thread-local variables needs a register that Rust does not let assembly
/// use.
const HAS_SLOTS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

pub(crate) const SECONDS_PER_DAY: i64 = 86_400;

/// Where the words of `SavedTime::date` begin in a `Tm`, bytes.
const DATE_WORDS: [usize; 3] = [offset_of!(Tm, mday), offset_of!(Tm, year), offset_of!(Tm, yday)];
const _: () = assert!(
    offset_of!(Tm, mon) == DATE_WORDS[0] + 4
        && offset_of!(Tm, wday) == DATE_WORDS[1] + 4
        && offset_of!(Tm, isdst) == DATE_WORDS[2] + 4
);

impl SavedTime {
    /// Writes the fields of `t` to `tm` if the slot holds its day. `current` is the zone, or what `current::raw`
    /// returns: no slot holds anything for null or the mark of the C library.
    ///
    /// False if the moment has to be computed: the slot does not hold its day, or (`GLOBALS`) `tzname` is not what this
    /// conversion leaves in it. If it is, so are `timezone` and `daylight`: see `imports::names_are`.
    ///
    /// # Safety
    /// `tm` must be writable.
    #[inline(always)]
    pub(crate) unsafe fn find<const GLOBALS: bool>(
        &self,
        current: *const CachedZone,
        t: i64,
        tm: *mut Tm,
    ) -> bool {
        if !HAS_SLOTS {
            return false;
        }
        let changes = self.changes.load(Relaxed);
        compiler_fence(Ordering::SeqCst);
        let into = t.wrapping_sub(self.start.load(Relaxed)) as u64;
        let here = into < u64::from(self.seconds.load(Relaxed))
            && core::ptr::eq(self.cached.load(Relaxed), current);
        if !here {
            return false;
        }
        let second = self.clock.load(Relaxed) + into as u32;
        let names = [self.names[0].load(Relaxed), self.names[1].load(Relaxed)];
        if GLOBALS && !imports::names_are(names.map(<*mut c_char>::cast_const)) {
            return false;
        }
        // SAFETY: `tm` is writable, by `# Safety`, and the three pairs lie within it, by the assertions below. If a handler
        // changed the slot meanwhile, the caller writes it again.
        unsafe {
            for (word, to) in self.date.iter().zip(DATE_WORDS) {
                tm.byte_add(to).cast::<u64>().write_unaligned(word.load(Relaxed));
            }
            (*tm).gmtoff = self.gmtoff.load(Relaxed);
            (*tm).zone = self.zone.load(Relaxed);
            set_clock(tm, second);
        }
        compiler_fence(Ordering::SeqCst);
        self.changes.load(Relaxed) == changes
    }

    /// The moment `second` seconds after midnight of the local `day`, if the slot holds it and it is unique; `isdst` is
    /// the flag of tm_isdst.
    #[inline(always)]
    pub(crate) fn moment(
        &self,
        cached: &'static CachedZone,
        (day, second): (i64, u32),
        isdst: i32,
    ) -> Option<i64> {
        if !HAS_SLOTS {
            return None;
        }
        let changes = self.changes.load(Relaxed);
        compiler_fence(Ordering::SeqCst);
        let start = self.start.load(Relaxed);
        let into = second.wrapping_sub(self.clock.load(Relaxed));
        let first_day = start.wrapping_add(self.gmtoff.load(Relaxed));
        let that_day = needless_localtime::day_of(first_day) == day
            && into < self.seconds.load(Relaxed)
            && core::ptr::eq(self.cached.load(Relaxed), cached);
        let meant = self.unique.load(Relaxed) && (isdst < 0 || (isdst > 0) == self.is_dst());
        compiler_fence(Ordering::SeqCst);
        let same = self.changes.load(Relaxed) == changes && changes & 1 == 0;
        (that_day && meant && same).then(|| start.wrapping_add(i64::from(into)))
    }

    fn is_dst(&self) -> bool {
        let word = self.date[2].load(Relaxed).to_ne_bytes();
        word[4..] != [0; 4]
    }

    /// Whether the conversion before was on the same local day, so that caching it is worth the cost.
    #[inline(always)]
    pub(crate) fn is_of_last_day(&self, civil: &Civil) -> bool {
        if !HAS_SLOTS {
            return false;
        }
        let day = i64::from(civil.year) << 9 | i64::from(civil.yday);
        let last = self.last_day.load(Relaxed);
        self.last_day.store(day, Relaxed);
        last == day
    }

    /// Caches the day of `t`. `tm` is `t` in local time; its fields, except hour, minute and second, are valid in the
    /// part of that day that is in `around`. It must be a copy that no other thread writes.
    #[cold]
    pub(crate) fn fill(
        &self,
        cached: &'static CachedZone,
        t: i64,
        tm: &Tm,
        around: Option<Range<i64>>,
    ) {
        let Some(around) = around else { return };
        let clock = i64::from(tm.hour * 3600 + tm.min * 60 + tm.sec);
        // No overflow: the day's year fits `tm_year`, and an `i64` has room for many more years.
        let midnight = t - clock;
        let start = midnight.max(around.start);
        let end = (midnight + SECONDS_PER_DAY).min(around.end);
        let apart = cached.zone.max_offset_difference();
        let unique = midnight.checked_sub(apart).is_some_and(|first| first >= around.start)
            && (midnight + SECONDS_PER_DAY)
                .checked_add(apart)
                .is_some_and(|last| last <= around.end);
        let names = cached.zone.globals_at(Some(t)).names;
        let changes = self.changes.load(Relaxed);
        if changes & 1 != 0 {
            // A signal handler interrupted a change.
            return;
        }
        self.changes.store(changes | 1, Relaxed);
        compiler_fence(Ordering::SeqCst);
        // Empty meanwhile: a handler that converts now finds nothing.
        self.seconds.store(0, Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.start.store(start, Relaxed);
        self.cached.store(core::ptr::from_ref(cached).cast_mut(), Relaxed);
        self.clock.store((start - midnight) as u32, Relaxed);
        self.unique.store(unique, Relaxed);
        let word = |low: i32, high: i32| {
            let mut bytes = [0; 8];
            bytes[..4].copy_from_slice(&low.to_ne_bytes());
            bytes[4..].copy_from_slice(&high.to_ne_bytes());
            u64::from_ne_bytes(bytes)
        };
        self.date[0].store(word(tm.mday, tm.mon), Relaxed);
        self.date[1].store(word(tm.year, tm.wday), Relaxed);
        self.date[2].store(word(tm.yday, tm.isdst), Relaxed);
        self.gmtoff.store(tm.gmtoff, Relaxed);
        self.zone.store(tm.zone.cast_mut(), Relaxed);
        for (name, of) in self.names.iter().zip(names) {
            name.store(CStr::as_ptr(of).cast_mut(), Relaxed);
        }
        compiler_fence(Ordering::SeqCst);
        self.seconds.store((end - start) as u32, Relaxed);
        compiler_fence(Ordering::SeqCst);
        self.changes.store(changes.wrapping_add(2), Relaxed);
    }
}

/// This thread's two slots. Not aligned to a cache line: dlopen(3) puts initial-exec variables only where their
/// alignment is no greater than that of the program's own block, which may be 16 on aarch64.
#[repr(C, align(16))]
struct Slots {
    local: SavedTime,
    universal: SavedTime,
}

// Zeros are an empty slot. The initial-exec model needs no call of the dynamic linker, which could allocate.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
core::arch::global_asm!(
    ".pushsection .tbss.needless_slots,\"awT\",@nobits",
    ".balign {align}",
    ".globl needless_slots",
    ".hidden needless_slots",
    ".type needless_slots, %object",
    ".size needless_slots, {size}",
    "needless_slots:",
    ".zero {size}",
    ".popsection",
    align = const align_of::<Slots>(),
    size = const size_of::<Slots>(),
);

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn slots() -> *mut Slots {
    let slots: *mut Slots;
    // SAFETY: only computes an address: the thread pointer plus the variable's offset (ELF TLS, variant II), which the
    // dynamic linker stored in the GOT entry.
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
    // SAFETY: only computes an address: the thread pointer plus the variable's offset (ELF TLS, variant I), which the
    // dynamic linker stored in the GOT entry.
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
    // SAFETY: all fields are atomic integers, booleans and pointers, for which zero bytes are valid.
    static NEVER_USED: Slots = unsafe { core::mem::zeroed() };
    (&raw const NEVER_USED).cast_mut()
}

/// This thread's slot for local time.
#[inline(always)]
pub(crate) fn local() -> &'static SavedTime {
    // SAFETY: the slots live as long as the thread, and callers use the reference only in the same thread. The fields
    // are atomic, and zero bytes, which they start with, are valid for them.
    unsafe { &(*slots()).local }
}

/// This thread's slot for UTC.
#[inline(always)]
pub(crate) fn universal() -> &'static SavedTime {
    // SAFETY: the slots live as long as the thread, and callers use the reference only in the same thread. The fields
    // are atomic, and zero bytes, which they start with, are valid for them.
    unsafe { &(*slots()).universal }
}
