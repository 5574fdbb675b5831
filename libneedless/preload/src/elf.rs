//! Symbols of objects already in memory: the next definition of a function, and the vDSO's.
//!
//! dlsym(3) would do for the former, but before glibc 2.34 it lives in a library that need not be loaded.

use crate::imports::{LoadedObject, each_object, in_c_library};
use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

#[repr(C)]
struct ProgramHeader {
    kind: u32,
    flags: u32,
    offset: u64,
    address: u64,
    physical: u64,
    file_size: u64,
    memory_size: u64,
    align: u64,
}

#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: u64,
    size: u64,
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const STT_FUNC: u8 = 2;

/// A function of the next object, looked up at its first use.
pub(crate) struct Next {
    name: &'static CStr,
    /// 0 until found.
    address: AtomicUsize,
}

impl Next {
    pub(crate) const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// Its address; `None` where nothing behind this library defines it.
    #[inline]
    pub(crate) fn get(&self) -> Option<usize> {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 { Some(known) } else { self.look_up() }
    }

    #[cold]
    fn look_up(&self) -> Option<usize> {
        let found = next(self.name)?;
        self.address.store(found, Ordering::Relaxed);
        Some(found)
    }
}

/// Calls the next object's function of that name: `hand_over!(c"name", fn(T) -> R, default, argument)`. Where there is
/// none, `errno` is ENOSYS and the result the default.
macro_rules! hand_over {
    ($name:literal, fn($($type:ty),*) $(-> $result:ty)?, $default:expr $(, $argument:expr)*) => {{
        static NEXT: $crate::elf::Next = $crate::elf::Next::new($name);
        match NEXT.get() {
            // SAFETY: the address is that of a function of this name, whose type the manual page gives and the
            // macro's user repeats. The arguments come unchanged from a program that means to call that function.
            Some(address) => unsafe {
                core::mem::transmute::<usize, unsafe extern "C" fn($($type),*) $(-> $result)?>(address)($($argument),*)
            },
            None => {
                $crate::imports::set_errno($crate::imports::ENOSYS);
                $default
            }
        }
    }};
}
pub(crate) use hand_over;

/// An object's tables, as its dynamic section gives them.
struct Object {
    base: usize,
    symbols: *const Symbol,
    strings: *const u8,
    hash: *const u32,
    gnu_hash: *const u32,
}

/// The address of the function `name` in the first object behind this library that defines it. If this library was
/// loaded by dlopen(3), the C library comes before it, and what comes behind are unrelated libraries: then the C
/// library's.
fn next(name: &CStr) -> Option<usize> {
    let here = next as *const () as usize;
    let libc = in_c_library();
    let mut behind_us = false;
    let mut found = None;
    each_object(|loaded| {
        let headers = headers(loaded);
        let has = |address: usize| {
            headers.iter().any(|h| {
                let start = loaded.base.wrapping_add(h.address as usize);
                h.kind == PT_LOAD && address.wrapping_sub(start) < h.memory_size as usize
            })
        };
        if has(here) {
            behind_us = true;
            return true;
        }
        let is_libc = libc.is_some_and(has);
        if behind_us || is_libc {
            found = object(loaded.base, headers).and_then(|o| o.function(name));
        }
        found.is_none() && (behind_us || !is_libc)
    });
    found
}

/// The address of the function `name` of the vDSO whose ELF header is at `image` (vdso(7)).
pub(crate) fn vdso(image: usize, name: &CStr) -> Option<usize> {
    if image == 0 {
        return None;
    }
    // SAFETY: AT_SYSINFO_EHDR is the address of an ELF header that the kernel mapped for the life
    // of the process; e_phoff is at 32 and e_phnum at 56 in the 64-bit format (elf(5)).
    let headers = unsafe {
        let offset = *((image + 32) as *const u64) as usize;
        let count = *((image + 56) as *const u16);
        core::slice::from_raw_parts((image + offset) as *const ProgramHeader, usize::from(count))
    };
    // The image is linked at the address of its first segment, which is mapped at `image`.
    let linked_at = headers.iter().find(|h| h.kind == PT_LOAD)?.address as usize;
    object(image.wrapping_sub(linked_at), headers)?.function(name)
}

fn headers(loaded: &LoadedObject) -> &[ProgramHeader] {
    if loaded.headers.is_null() {
        return &[];
    }
    // SAFETY: dl_iterate_phdr(3) gives the address and number of the object's program headers.
    unsafe { core::slice::from_raw_parts(loaded.headers.cast(), usize::from(loaded.header_count)) }
}

fn object(base: usize, headers: &[ProgramHeader]) -> Option<Object> {
    let dynamic = headers.iter().find(|h| h.kind == PT_DYNAMIC)?;
    let mut entry = base.wrapping_add(dynamic.address as usize) as *const [u64; 2];
    let mut o = Object {
        base,
        symbols: core::ptr::null(),
        strings: core::ptr::null(),
        hash: core::ptr::null(),
        gnu_hash: core::ptr::null(),
    };
    // glibc writes run-time addresses over the file's; musl and the kernel's vDSO keep the file's.
    let address = |value: u64| {
        let value = value as usize;
        if value < base { base.wrapping_add(value) } else { value }
    };
    loop {
        // SAFETY: a dynamic section is an array of pairs that ends with DT_NULL.
        let [tag, value] = unsafe { *entry };
        match tag {
            0 => break,
            DT_HASH => o.hash = address(value) as *const u32,
            DT_GNU_HASH => o.gnu_hash = address(value) as *const u32,
            DT_STRTAB => o.strings = address(value) as *const u8,
            DT_SYMTAB => o.symbols = address(value) as *const Symbol,
            _ => {}
        }
        entry = entry.wrapping_add(1);
    }
    if o.symbols.is_null() || o.strings.is_null() { None } else { Some(o) }
}

impl Object {
    fn function(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the tables are those of an object that the dynamic linker itself searches.
        unsafe {
            if !self.gnu_hash.is_null() {
                return self.by_gnu_hash(name);
            }
            if !self.hash.is_null() {
                return self.by_hash(name);
            }
        }
        None
    }

    unsafe fn by_gnu_hash(&self, name: &CStr) -> Option<usize> {
        let wanted = name
            .to_bytes()
            .iter()
            .fold(5381u32, |h, &b| h.wrapping_mul(33).wrapping_add(u32::from(b)));
        // SAFETY: header of four words, `bloom` 64-bit words, `buckets` words, then the chains,
        // whose words belong to the symbols from `first` on and end with the lowest bit set.
        unsafe {
            let [buckets, first, bloom, _] = *self.gnu_hash.cast::<[u32; 4]>();
            if buckets == 0 {
                return None;
            }
            let bucket = self.gnu_hash.add(4 + 2 * bloom as usize);
            let chain = bucket.add(buckets as usize);
            let mut index = *bucket.add((wanted % buckets) as usize);
            if index < first {
                return None;
            }
            loop {
                let hash = *chain.add((index - first) as usize);
                if hash | 1 == wanted | 1
                    && let Some(address) = self.matches(index, name)
                {
                    return Some(address);
                }
                if hash & 1 == 1 {
                    return None;
                }
                index += 1;
            }
        }
    }

    unsafe fn by_hash(&self, name: &CStr) -> Option<usize> {
        let wanted = name.to_bytes().iter().fold(0u32, |h, &b| {
            let h = (h << 4).wrapping_add(u32::from(b));
            let high = h & 0xf000_0000;
            (h ^ (high >> 24)) & !high
        });
        // SAFETY: two words, the buckets, then one chain word per symbol; 0 ends a chain.
        unsafe {
            let [buckets, _] = *self.hash.cast::<[u32; 2]>();
            if buckets == 0 {
                return None;
            }
            let chain = self.hash.add(2 + buckets as usize);
            let mut index = *self.hash.add(2 + (wanted % buckets) as usize);
            while index != 0 {
                if let Some(address) = self.matches(index, name) {
                    return Some(address);
                }
                index = *chain.add(index as usize);
            }
        }
        None
    }

    unsafe fn matches(&self, index: u32, name: &CStr) -> Option<usize> {
        // SAFETY: `index` is from a hash table of this object, which holds indexes of its table of symbols only.
        let symbol = unsafe { &*self.symbols.add(index as usize) };
        // SAFETY: a symbol's name is an offset into the same object's table of texts, each of which ends with a NUL.
        let its_name = unsafe { CStr::from_ptr(self.strings.add(symbol.name as usize).cast()) };
        let defined = symbol.section != 0 && symbol.info & 0xf == STT_FUNC;
        (defined && its_name == name).then(|| self.base.wrapping_add(symbol.value as usize))
    }
}
