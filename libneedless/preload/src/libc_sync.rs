//! Keeping the C library's own view of the zone in step.
//!
//! `syslog` and the `%s` of `strptime` use a zone inside the C library that no public function of ours
//! reaches. glibc reads it whenever it looks, and never in those two but for the first time. So it is made to read a
//! zone when we do, in the same call: a program that then leaves its root directory, or forbids itself system calls,
//! finds all as it would without us. A zone that is known already and comes back, as `TZ` is changed to and
//! fro, is not read again, by us or by it: the next `syslog` or `strptime("%s")` does that, if there is one. That is
//! the one place where a system call is made that glibc would not make. Else each change back would cost what it
//! costs without us, and take the C library's lock.

use crate::elf::hand_over;
use crate::gate;
use crate::imports::{self, Tm};
use crate::zones::Known;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether the zone has changed since the C library last looked.
static BEHIND: AtomicBool = AtomicBool::new(false);
/// Whether it is looking, by our doing. It takes a lock for that: a signal handler that interrupted it would wait
/// for ever, and so would the child of a fork.
static LOOKING: AtomicBool = AtomicBool::new(false);

/// The zone is another one now, which the C library has read before.
pub(crate) fn changed() {
    BEHIND.store(true, Ordering::Release);
}

/// The zone has just been read: the C library reads it, too, and sets `tzname` and the other variables as it does.
pub(crate) fn read_too(known: &Known) {
    BEHIND.store(true, Ordering::Release);
    if !catch_up() {
        gate::set(&known.zone.globals_at(None));
    }
}

/// Whether the C library has seen the latest change now.
fn catch_up() -> bool {
    while BEHIND.load(Ordering::Acquire) {
        if LOOKING.swap(true, Ordering::Acquire) {
            return false;
        }
        if BEHIND.swap(false, Ordering::AcqRel) {
            hand_over!(c"tzset", fn(), ());
        }
        LOOKING.store(false, Ordering::Release);
    }
    true
}

/// Before a function of the C library that uses its own zone.
fn prepare() {
    if !BEHIND.load(Ordering::Relaxed) {
        return;
    }
    let errno = imports::errno();
    catch_up();
    // It has set the same three variables; ours is what the program saw last.
    gate::set_fresh();
    imports::set_errno(errno);
}

/// Only seconds since the epoch need the zone.
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
    hand_over!(
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
/// `text` and `format` must end with a NUL, `tm` be readable and writable, `locale` be one of newlocale(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn strptime_l(
    text: *const c_char,
    format: *const c_char,
    tm: *mut Tm,
    locale: *mut c_void,
) -> *mut c_char {
    // SAFETY: `format` ends with a NUL, by `# Safety`.
    unsafe { prepare_for(format) };
    hand_over!(
        c"strptime_l",
        fn(*const c_char, *const c_char, *mut Tm, *mut c_void) -> *mut c_char,
        null_mut(),
        text,
        format,
        tm,
        locale
    )
}

/// vsyslog(3), the C library's. What stands for the arguments is passed on as it comes: on all machines this
/// library is for it is one word, or the address of a copy.
///
/// # Safety
/// `format` must end with a NUL, and `arguments` be a `va_list` of what it asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vsyslog(priority: c_int, format: *const c_char, arguments: *mut c_void) {
    prepare();
    hand_over!(c"vsyslog", fn(c_int, *const c_char, *mut c_void), (), priority, format, arguments);
}

/// What `vsyslog` is in programs compiled with `_FORTIFY_SOURCE`: the C library's, too.
///
/// # Safety
/// `format` must end with a NUL, and `arguments` be a `va_list` of what it asks for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vsyslog_chk(
    priority: c_int,
    flag: c_int,
    format: *const c_char,
    arguments: *mut c_void,
) {
    prepare();
    hand_over!(
        c"__vsyslog_chk",
        fn(c_int, c_int, *const c_char, *mut c_void),
        (),
        priority,
        flag,
        format,
        arguments
    );
}

/// Functions with `...`, which cannot be written in stable Rust: all registers that may hold an argument are
/// put aside while the C library catches up, then its function takes over as if it had been called.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod variadic {
    use super::prepare;
    use crate::elf::Next;
    use crate::imports;

    extern "C" fn syslog_found() -> usize {
        static NEXT: Next = Next::new(c"syslog");
        prepare();
        NEXT.get().unwrap_or(nothing as *const () as usize)
    }

    extern "C" fn syslog_chk_found() -> usize {
        static NEXT: Next = Next::new(c"__syslog_chk");
        prepare();
        NEXT.get().unwrap_or(nothing as *const () as usize)
    }

    /// In place of a function that is nowhere.
    extern "C" fn nothing() {
        imports::set_errno(imports::ENOSYS);
    }

    #[cfg(target_arch = "x86_64")]
    macro_rules! go_on_with {
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
    macro_rules! go_on_with {
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
    /// The format must end with a NUL, and the arguments be what it asks for.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn syslog() {
        go_on_with!(syslog_found)
    }

    /// What `syslog` is in programs compiled with `_FORTIFY_SOURCE`: the C library's, too.
    ///
    /// # Safety
    /// The format must end with a NUL, and the arguments be what it asks for.
    #[unsafe(naked)]
    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn __syslog_chk() {
        go_on_with!(syslog_chk_found)
    }
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use variadic::{__syslog_chk, syslog};
