//! What this library uses of the process: symbols of the C library, system calls, `errno`.
//!
//! Every symbol is a weak reference in a table of addresses. A missing one is null there, and does not keep the program
//! from starting; no symbol version is required.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};

/// `struct tm` of the 64-bit Linux ABIs (ctime(3)).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Tm {
    /// Seconds, 0 to 60.
    pub sec: c_int,
    /// Minutes, 0 to 59.
    pub min: c_int,
    /// Hours, 0 to 23.
    pub hour: c_int,
    /// Day of the month, from 1.
    pub mday: c_int,
    /// Month, from 0.
    pub mon: c_int,
    /// Years since 1900.
    pub year: c_int,
    /// Day of the week, Sunday is 0.
    pub wday: c_int,
    /// Day of the year, from 0.
    pub yday: c_int,
    /// Daylight saving time: positive yes, 0 no, negative unknown.
    pub isdst: c_int,
    /// Seconds east of UTC.
    pub gmtoff: c_long,
    /// Abbreviation of the zone.
    pub zone: *const c_char,
}

/// One object of `dl_iterate_phdr(3)`; later members are not read.
#[repr(C)]
pub(crate) struct LoadedObject {
    pub(crate) base: usize,
    pub(crate) name: *const c_char,
    pub(crate) headers: *const c_void,
    pub(crate) header_count: u16,
}

type Visit = unsafe extern "C" fn(*const LoadedObject, usize, *mut c_void) -> c_int;

#[repr(C)]
struct Imports {
    environ: *mut *mut *mut c_char,
    tzname: *mut [*const c_char; 2],
    timezone: *mut c_long,
    daylight: *mut c_int,
    errno_location: Option<unsafe extern "C" fn() -> *mut c_int>,
    syscall: Option<unsafe extern "C" fn(c_long, ...) -> c_long>,
    getauxval: Option<unsafe extern "C" fn(usize) -> usize>,
    dl_iterate_phdr: Option<unsafe extern "C" fn(Visit, *mut c_void) -> c_int>,
    clock_gettime: Option<unsafe extern "C" fn(c_int, *mut [i64; 2]) -> c_int>,
    glibc_version: Option<unsafe extern "C" fn() -> *const c_char>,
    abort: Option<unsafe extern "C" fn() -> !>,
}

macro_rules! weak_table {
    ($($symbol:literal),*) => {
        core::arch::global_asm!(
            ".pushsection .data.rel.ro.needless_imports,\"aw\"",
            ".balign 8",
            ".globl needless_imports",
            ".hidden needless_imports",
            "needless_imports:",
            $(concat!(".weak ", $symbol), concat!(".8byte ", $symbol),)*
            ".popsection",
        );
    };
}
// In the order of `Imports`.
weak_table!(
    "environ",
    "tzname",
    "timezone",
    "daylight",
    "__errno_location",
    "syscall",
    "getauxval",
    "dl_iterate_phdr",
    "clock_gettime",
    "gnu_get_libc_version",
    "abort"
);
// Functions that the compiler inserts calls of. None is called before `suitable` has found a C library, which has them.
core::arch::global_asm!(
    ".weak memcpy",
    ".weak memmove",
    ".weak memset",
    ".weak memcmp",
    ".weak bcmp",
    ".weak strlen"
);

unsafe extern "C" {
    #[link_name = "needless_imports"]
    static IMPORTS: Imports;
}

fn imports() -> &'static Imports {
    // SAFETY: the table above has one word per field of `Imports`, in the same order, each a pointer or an optional
    // function pointer, for which null is valid. The dynamic linker fills it before any code of this library runs.
    unsafe { &IMPORTS }
}

/// Whether the process has what this library needs: glibc, and the symbols without a fallback.
pub(crate) fn suitable() -> bool {
    let i = imports();
    i.glibc_version.is_some()
        && i.errno_location.is_some()
        && i.syscall.is_some()
        && !i.environ.is_null()
        && !i.tzname.is_null()
        && !i.timezone.is_null()
        && !i.daylight.is_null()
}

/// The minor number of glibc's version, 36 of `2.36`; 0 where it is not known.
pub(crate) fn glibc_minor() -> u32 {
    let Some(version) = imports().glibc_version else { return 0 };
    // SAFETY: gnu_get_libc_version(3) takes no argument, and returns a constant string.
    let version = unsafe { CStr::from_ptr(version()) }.to_bytes();
    let Some(minor) = version.strip_prefix(b"2.") else { return 0 };
    let digits = minor.iter().take_while(|digit| digit.is_ascii_digit());
    digits.fold(0u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')))
}

/// Ends the process, as a failed assertion in C does.
#[cfg(panic = "abort")]
pub(crate) fn abort() -> ! {
    if let Some(abort) = imports().abort {
        // SAFETY: abort(3) takes no argument and may be called at any time.
        unsafe { abort() }
    }
    loop {
        core::hint::spin_loop();
    }
}

/// The value of the process's `environ`; null if it has none.
pub(crate) fn environ() -> *mut *mut c_char {
    let at = imports().environ;
    if at.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: `at` is not null, hence the address of the C library's variable `environ`. Another thread may change it,
    // as with getenv(3): it is read once, as one word.
    unsafe { at.read_volatile() }
}

/// Whether `tzname` has these values.
///
/// A zone has names of its own in memory, and each pair of them goes with one value of `timezone` and of `daylight`; they
/// are written before the names. So whoever wrote these names wrote the right values of the other two.
#[inline(always)]
pub(crate) fn names_are(names: [*const c_char; 2]) -> bool {
    // SAFETY: as in `write_globals`.
    unsafe { imports().tzname.read_volatile() == names }
}

/// Writes `tzname`, `timezone`, `daylight` where they differ: a cache line that is not written stays shared between
/// processors.
#[inline(always)]
pub(crate) fn set_globals(names: [*const c_char; 2], timezone: i64, daylight: i32) {
    if !names_are(names) {
        write_globals(names[0], names[1], timezone, daylight);
    }
}

#[inline(never)]
fn write_globals(standard: *const c_char, summer: *const c_char, timezone: i64, daylight: i32) {
    let i = imports();
    // SAFETY: a zone is in use, hence `suitable` found the three variables; tzset(3) gives their types. Programs read
    // them without a lock, and the C library writes them in the same way.
    unsafe {
        if i.timezone.read_volatile() != timezone {
            i.timezone.write_volatile(timezone);
        }
        if i.daylight.read_volatile() != daylight {
            i.daylight.write_volatile(daylight);
        }
        i.tzname.write_volatile([standard, summer]);
    }
}

/// The current `tzname[1]` or `tzname[0]`.
pub(crate) fn tzname(summer: bool) -> *const c_char {
    // SAFETY: a zone is in use, hence `suitable` found the variable; tzset(3) gives its type.
    unsafe { imports().tzname.read_volatile()[usize::from(summer)] }
}

/// An address within the C library; `None` where there is none.
pub(crate) fn in_c_library() -> Option<usize> {
    imports().errno_location.map(|location| location as usize)
}

/// There is no such file (errno(3)).
pub(crate) const ENOENT: c_int = 2;
/// The C library does not have the function (errno(3)).
pub(crate) const ENOSYS: c_int = 38;

pub(crate) fn errno() -> c_int {
    let Some(location) = imports().errno_location else { return 0 };
    // SAFETY: __errno_location returns the address of the calling thread's `errno`.
    unsafe { *location() }
}

pub(crate) fn set_errno(value: c_int) {
    if let Some(location) = imports().errno_location {
        // SAFETY: __errno_location returns the address of the calling thread's `errno`.
        unsafe { *location() = value }
    }
}

/// A system call by syscall(2), which returns -1 on failure.
///
/// # Safety
/// Arguments that are pointers to this system call must be valid for what it reads and writes.
pub(crate) unsafe fn syscall(number: c_long, a: [usize; 6]) -> c_long {
    let Some(syscall) = imports().syscall else { return -1 };
    // SAFETY: the memory that the call reads and writes is valid, by `# Safety`. syscall(2) takes up to six arguments,
    // and the kernel ignores those that a call does not have.
    unsafe { syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]) }
}

/// getauxval(3); 0 if absent.
pub(crate) fn auxiliary(kind: usize) -> usize {
    // SAFETY: getauxval(3) takes any number and only reads.
    imports().getauxval.map_or(0, |get| unsafe { get(kind) })
}

/// Calls `visit` for each loaded object, in the order in which symbols are searched.
pub(crate) fn each_object<F: FnMut(&LoadedObject) -> bool>(mut visit: F) {
    unsafe extern "C" fn forward<F: FnMut(&LoadedObject) -> bool>(
        object: *const LoadedObject,
        _: usize,
        context: *mut c_void,
    ) -> c_int {
        // SAFETY: `context` is the address of `visit` below, of type `F`, which is alive and used by this thread only;
        // `object` is valid during the call, by dl_iterate_phdr(3).
        let go_on = unsafe { (*context.cast::<F>())(&*object) };
        c_int::from(!go_on)
    }
    if let Some(iterate) = imports().dl_iterate_phdr {
        // SAFETY: `forward::<F>` gets the address of a value of type `F`, which outlives the call.
        unsafe { iterate(forward::<F>, (&raw mut visit).cast()) };
    }
}

/// clock_gettime(2) of the C library, in seconds; 0 where it fails.
pub(crate) fn clock_seconds(clock: c_int) -> i64 {
    let mut time = [0i64; 2];
    if let Some(get) = imports().clock_gettime {
        // SAFETY: `time` has the layout of a 64-bit timespec, which clock_gettime(2) writes.
        unsafe { get(clock, &raw mut time) };
    }
    time[0]
}
