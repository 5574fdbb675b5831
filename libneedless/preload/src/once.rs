//! `NEEDLESS_PRELOAD_ONCE=1`: the library is for this process only, not for its children.

use crate::environ::value_of;
use crate::imports::environ;
use core::ffi::c_char;

const OPTION: &[u8] = b"NEEDLESS_PRELOAD_ONCE";
const FILE: &[u8] = b"libneedless_localtime.so";

/// Run by the dynamic linker before the program.
#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;

/// Removes this library from `LD_PRELOAD`, and the option from the environment, if the option is 1.
extern "C" fn init() {
    let env = environ();
    if env.is_null() {
        return;
    }
    let (mut option, mut preload) = (None, None);
    // SAFETY: `environ` is not null and ends with a null pointer, where the loop ends; its entries are strings. The
    // dynamic linker calls this before main; where a running program calls dlopen(3), another thread must not change
    // the environment meanwhile, by the rules of setenv(3).
    unsafe {
        let mut index = 0;
        while !(*env.add(index)).is_null() {
            let entry = *env.add(index);
            if value_of(entry, OPTION) == Some(b"1") {
                option = Some(index);
            } else if value_of(entry, b"LD_PRELOAD").is_some() {
                preload = Some(index);
            }
            index += 1;
        }
    }
    let Some(option) = option else { return };
    // SAFETY: both indexes are of entries found above; the later one is removed first, so that the other stays valid.
    // The array and its strings are writable: they are on the stack, where the kernel put them, or setenv(3) allocated
    // them.
    unsafe {
        let emptied = preload.filter(|&p| without_us((*env.add(p)).add(b"LD_PRELOAD=".len())));
        let (first, second) = match emptied {
            Some(p) => (option.min(p), Some(option.max(p))),
            None => (option, None),
        };
        if let Some(second) = second {
            remove(env, second);
        }
        remove(env, first);
    }
}

/// Moves the entries after it one place forward. In place, since a program may use the array as main's third argument.
///
/// # Safety
/// `index` must be that of an entry of the array, which must end with a null pointer and be writable.
unsafe fn remove(env: *mut *mut c_char, mut index: usize) {
    // SAFETY: `index` is before the array's null pointer, by `# Safety`, and the loop ends when it has moved that one.
    unsafe {
        loop {
            let next = *env.add(index + 1);
            *env.add(index) = next;
            if next.is_null() {
                return;
            }
            index += 1;
        }
    }
}

/// Removes this library from a list of libraries; true if nothing is left in the list.
///
/// # Safety
/// `list` must point to a writable string that ends with a NUL.
unsafe fn without_us(list: *mut c_char) -> bool {
    let list = list.cast::<u8>();
    let (mut read, mut write) = (0usize, 0usize);
    // SAFETY: `read` stops at the string's NUL, and `write` is never greater than `read`: all accesses are inside the
    // string, which is writable, by `# Safety`.
    unsafe {
        while *list.add(read) != 0 {
            let start = read;
            while !matches!(*list.add(read), 0 | b':' | b' ') {
                read += 1;
            }
            let item = core::slice::from_raw_parts(list.add(start), read - start);
            let ours = item.rsplit(|&b| b == b'/').next() == Some(FILE);
            let separator = *list.add(read);
            if separator != 0 {
                read += 1;
            }
            if !ours {
                core::ptr::copy(list.add(start), list.add(write), read - start);
                write += read - start;
            }
        }
        while write > 0 && matches!(*list.add(write - 1), b':' | b' ') {
            write -= 1;
        }
        *list.add(write) = 0;
    }
    write == 0
}
