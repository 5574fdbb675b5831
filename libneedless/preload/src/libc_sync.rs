//! Keeps the C library's own zone the same as ours.
//!
//! `syslog` and the `%s` of `strptime` use a zone inside the C library, which cannot be set from outside. glibc reads
//! it in localtime, mktime and tzset; in these two functions only if nothing has read it before. So it is made to read
//! a zone in the call in which this library reads it: a program that then changes its root directory or forbids itself
//! system calls behaves as without this library.
//!
//! A cached zone that becomes current again, when `TZ` is changed back, is not read again. The next `syslog` or
//! `strptime("%s")`, if there is one, makes the C library read it. This is the only place where a system call is made
//! that glibc would not make. Otherwise each change back would cost as much as without this library, and take the C
//! library's lock.

use crate::between_threads::Renewal;
use crate::current;
use crate::elf::call_next;
use crate::imports::{self, Tm};
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::AtomicBool;

/// The C library's own zone. It holds a lock while it reads one: a signal handler that interrupts it would deadlock, and
/// so would the child of a fork; neither waits for this.
static ZONE: Renewal =
    Renewal { outdated: AtomicBool::new(false), renewing: AtomicBool::new(false) };

/// The zone has changed to one that the C library has read before: it reads it when it needs it.
pub(crate) fn changed() {
    ZONE.set_outdated();
}

/// The zone has just been read: makes the C library read it, too, unless it is reading one now.
pub(crate) fn read_too() {
    ZONE.set_outdated();
    update();
}

/// Makes the C library read the zone if it changed, unless that must be left undone for now.
fn update() {
    ZONE.renew(|| call_next!(c"tzset", fn(), ()));
}

/// To be called before a function of the C library that uses its own zone.
fn prepare() {
    if !ZONE.is_outdated() {
        return;
    }
    let errno = imports::errno();
    update();
    // It has set the same three variables, to which the program last saw our values.
    current::set_globals_after_tzset();
    imports::set_errno(errno);
}

/// As `prepare`, if the format may have a `%s`: only that conversion needs the zone.
///
/// # Safety
/// `format` must end with a NUL.
unsafe fn prepare_for(format: *const c_char) {
    // SAFETY: `format` ends with a NUL, by `# Safety`.
    if unsafe { CStr::from_ptr(format) }.to_bytes().contains(&b's') {
        prepare();
    }
}

/// strptime(3), the C library's.
///
/// # Safety
/// `text` and `format` must end with a NUL, `tm` be readable and writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strptime(
    text: *const c_char,
    format: *const c_char,
    tm: *mut Tm,
) -> *mut c_char {
    // SAFETY: `format` ends with a NUL, by `# Safety`.
    unsafe { prepare_for(format) };
    call_next!(
        c"strptime",
        fn(*const c_char, *const c_char, *mut Tm) -> *mut c_char,
        null_mut(),
        text,
        format,
        tm
    )
}

/// strptime_l, the C library's.
///
/// # Safety
/// `text` and `format` must end with a NUL, `tm` be readable and writable, `locale` be from newlocale(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strptime_l(
    text: *const c_char,
    format: *const c_char,
    tm: *mut Tm,
    locale: *mut c_void,
) -> *mut c_char {
    // SAFETY: `format` ends with a NUL, by `# Safety`.
    unsafe { prepare_for(format) };
    call_next!(
        c"strptime_l",
        fn(*const c_char, *const c_char, *mut Tm, *mut c_void) -> *mut c_char,
        null_mut(),
        text,
        format,
        tm,
        locale
    )
}

/// vsyslog(3), the C library's. The `va_list` is passed on as one word: on all supported architectures it is passed
/// in one register, as a pointer or by the address of a copy.
///
/// # Safety
/// `format` must end with a NUL, and `arguments` be a `va_list` of the arguments that it needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vsyslog(priority: c_int, format: *const c_char, arguments: *mut c_void) {
    prepare();
    call_next!(c"vsyslog", fn(c_int, *const c_char, *mut c_void), (), priority, format, arguments);
}

/// `vsyslog` in programs compiled with `_FORTIFY_SOURCE`; the C library's.
///
/// # Safety
/// `format` must end with a NUL, and `arguments` be a `va_list` of the arguments that it needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vsyslog_chk(
    priority: c_int,
    flag: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) {
    prepare();
    call_next!(
        c"__vsyslog_chk",
        fn(c_int, c_int, *const c_char, *mut c_void),
        (),
        priority,
        flag,
        format,
        arguments
    );
}

/// Variadic functions, which cannot be defined in stable Rust. All registers that may hold an argument are saved while
/// the C library reads the zone; then its function is jumped to, as if it had been called.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod variadic {
    use super::prepare;
    use crate::elf::NextSymbol;
    use crate::imports;

    extern "C" fn syslog_found() -> usize {
        static NEXT: NextSymbol = NextSymbol::new(c"syslog");
        prepare();
        NEXT.get().unwrap_or(nothing as *const () as usize)
    }

    extern "C" fn syslog_chk_found() -> usize {
        static NEXT: NextSymbol = NextSymbol::new(c"__syslog_chk");
        prepare();
        NEXT.get().unwrap_or(nothing as *const () as usize)
    }

    /// Called where no object defines the function.
    extern "C" fn nothing() {
        imports::set_errno(imports::ENOSYS);
    }

    #[cfg(target_arch = "x86_64")]
    macro_rules! continue_with {
        ($found:ident) => {
            core::arch::naked_asm!(
                "push rdi",
                "push rsi",
                "push rdx",
                "push rcx",
                "push r8",
                "push r9",
                "push rax",
                "sub rsp, 128",
                "movaps [rsp], xmm0",
                "movaps [rsp + 16], xmm1",
                "movaps [rsp + 32], xmm2",
                "movaps [rsp + 48], xmm3",
                "movaps [rsp + 64], xmm4",
                "movaps [rsp + 80], xmm5",
                "movaps [rsp + 96], xmm6",
                "movaps [rsp + 112], xmm7",
                "call {found}",
                "mov r11, rax",
                "movaps xmm0, [rsp]",
                "movaps xmm1, [rsp + 16]",
                "movaps xmm2, [rsp + 32]",
                "movaps xmm3, [rsp + 48]",
                "movaps xmm4, [rsp + 64]",
                "movaps xmm5, [rsp + 80]",
                "movaps xmm6, [rsp + 96]",
                "movaps xmm7, [rsp + 112]",
                "add rsp, 128",
                "pop rax",
                "pop r9",
                "pop r8",
                "pop rcx",
                "pop rdx",
                "pop rsi",
                "pop rdi",
                "jmp r11",
                found = sym $found,
            )
        };
    }

    #[cfg(target_arch = "aarch64")]
    macro_rules! continue_with {
        ($found:ident) => {
            core::arch::naked_asm!(
                "stp x29, x30, [sp, #-208]!",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "stp q0, q1, [sp, #80]",
                "stp q2, q3, [sp, #112]",
                "stp q4, q5, [sp, #144]",
                "stp q6, q7, [sp, #176]",
                "bl {found}",
                "mov x16, x0",
                "ldp q6, q7, [sp, #176]",
                "ldp q4, q5, [sp, #144]",
                "ldp q2, q3, [sp, #112]",
                "ldp q0, q1, [sp, #80]",
                "ldp x6, x7, [sp, #64]",
                "ldp x4, x5, [sp, #48]",
                "ldp x2, x3, [sp, #32]",
                "ldp x0, x1, [sp, #16]",
                "ldp x29, x30, [sp], #208",
                "br x16",
                found = sym $found,
            )
        };
    }

    /// syslog(3), the C library's.
    ///
    /// # Safety
    /// The format must end with a NUL, and the arguments be those that it needs.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn syslog() {
        continue_with!(syslog_found)
    }

    /// `syslog` in programs compiled with `_FORTIFY_SOURCE`; the C library's.
    ///
    /// # Safety
    /// The format must end with a NUL, and the arguments be those that it needs.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __syslog_chk() {
        continue_with!(syslog_chk_found)
    }
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use variadic::{__syslog_chk, syslog};
