//! The second of the wall clock, as cheaply as the kernel gives it.
//!
//! It is read from the vDSO directly: with a library that fakes time(2), `/etc/localtime` would otherwise not be
//! checked any more. Seconds are only compared for equality, so that a clock set back does no harm.

use crate::elf;
use crate::imports::{auxiliary, clock_seconds};
use core::sync::atomic::{AtomicUsize, Ordering};

const AT_SYSINFO_EHDR: usize = 33;
const CLOCK_REALTIME_COARSE: i32 = 5;

/// The vDSO's `time`; 0 until found, 1 where there is none.
static TIME: AtomicUsize = AtomicUsize::new(0);
/// The vDSO's `clock_gettime`, likewise.
static CLOCK_GETTIME: AtomicUsize = AtomicUsize::new(0);

const NONE: usize = 1;

/// The wall clock in seconds; at most one timer tick late.
#[inline]
pub(crate) fn second() -> i64 {
    let time = TIME.load(Ordering::Relaxed);
    if time > NONE {
        // SAFETY: the address is that of the vDSO's time(2), mapped for the life of the process.
        let time: extern "C" fn(*mut i64) -> i64 = unsafe { core::mem::transmute(time) };
        return time(core::ptr::null_mut());
    }
    without_time()
}

#[cold]
fn without_time() -> i64 {
    if TIME.load(Ordering::Relaxed) == 0 {
        find();
        return second();
    }
    let clock = CLOCK_GETTIME.load(Ordering::Relaxed);
    if clock <= NONE {
        return clock_seconds(CLOCK_REALTIME_COARSE);
    }
    let mut time = [0i64; 2];
    // SAFETY: the address is that of the vDSO's clock_gettime(2), mapped for the life of the process; `time` has the
    // layout of a 64-bit timespec.
    let clock: extern "C" fn(i32, *mut [i64; 2]) -> i32 = unsafe { core::mem::transmute(clock) };
    clock(CLOCK_REALTIME_COARSE, &raw mut time);
    time[0]
}

fn find() {
    let image = auxiliary(AT_SYSINFO_EHDR);
    let first = |names: [&core::ffi::CStr; 2]| {
        names.iter().find_map(|n| elf::vdso(image, n)).unwrap_or(NONE)
    };
    // vdso(7): the prefix is the architecture's.
    CLOCK_GETTIME
        .store(first([c"__vdso_clock_gettime", c"__kernel_clock_gettime"]), Ordering::Relaxed);
    // Power's vDSO reports through a condition register, but its time() cannot fail.
    TIME.store(first([c"__vdso_time", c"__kernel_time"]), Ordering::Relaxed);
}
