//! Finds symbols of loaded objects: the next definition of a function, and functions of the vDSO.
//!
//! dlsym(3) could do the former, but before glibc 2.34 it is in a library that may not be loaded.

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

/// The next definition of a function after this library's, looked up at its first use.
pub(crate) struct NextSymbol {
    name: &'static CStr,
    /// 0 until found.
    address: AtomicUsize,
}

impl NextSymbol {
    pub(crate) const fn new(name: &'static CStr) -> NextSymbol {
        NextSymbol { name, address: AtomicUsize::new(0) }
    }

    /// Its address; `None` where no later object defines it.
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

/// Calls the next definition of a function: `call_next!(c"name", fn(T) -> R, default, argument)`. Where there is
/// none, it sets `errno` to ENOSYS and returns the default.
macro_rules! call_next {
    ($name:literal, fn($($type:ty),*) $(-> $result:ty)?, $default:expr $(, $argument:expr)*) => {{
        static NEXT: $crate::elf::NextSymbol = $crate::elf::NextSymbol::new($name);
        match NEXT.get() {
            // SAFETY: the address is that of a function of this name, and the type is the one that its manual page
            // gives: compare the two where the macro is used. The arguments are those of a call to that function.
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
pub(crate) use call_next;

/// An object's tables, as its dynamic section gives them.
struct Object {
    base: usize,
    symbols: *const Symbol,
    strings: *const u8,
    hash: *const u32,
    gnu_hash: *const u32,
}

/// The address of the function `name` in the first object after this library that defines it. If this library was
/// loaded by dlopen(3), the C library comes before it and unrelated libraries after it: then it is the C library's.
fn next(name: &CStr) -> Option<usize> {
    let here = next as *const () as usize;
    let libc = in_c_library();
    let mut after_us = false;
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
            after_us = true;
            return true;
        }
        let is_libc = libc.is_some_and(has);
        if after_us || is_libc {
            found = object(loaded.base, headers).and_then(|o| o.function(name));
        }
        found.is_none() && (after_us || !is_libc)
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
    // SAFETY: dl_iterate_phdr(3) gives the address of the object's program headers, checked above not to be null, and
    // their number. They stay mapped while it calls us.
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
    // glibc replaces the file's addresses by run-time addresses; musl and the kernel's vDSO keep the file's.
    let address = |value: u64| {
        let value = value as usize;
        if value < base { base.wrapping_add(value) } else { value }
    };
    loop {
        // SAFETY: PT_DYNAMIC of a loaded object is an array of pairs that ends with DT_NULL, where this loop ends.
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
        // SAFETY: the tables are null or those of a loaded object, by `object`: the dynamic linker searches the same.
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

    /// # Safety
    /// `gnu_hash` must be the DT_GNU_HASH table of a loaded object.
    unsafe fn by_gnu_hash(&self, name: &CStr) -> Option<usize> {
        let wanted = name
            .to_bytes()
            .iter()
            .fold(5381u32, |h, &b| h.wrapping_mul(33).wrapping_add(u32::from(b)));
        // SAFETY: the table has a header of four words, `bloom` 64-bit words, `buckets` words, then the chains. Their
        // words belong to the symbols from `first` on, and the last word of a chain has its lowest bit set.
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

    /// # Safety
    /// `hash` must be the DT_HASH table of a loaded object.
    unsafe fn by_hash(&self, name: &CStr) -> Option<usize> {
        let wanted = name.to_bytes().iter().fold(0u32, |h, &b| {
            let h = (h << 4).wrapping_add(u32::from(b));
            let high = h & 0xf000_0000;
            (h ^ (high >> 24)) & !high
        });
        // SAFETY: the table has a header of two words, the buckets, then one chain word per symbol; 0 ends a chain.
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

    /// # Safety
    /// `index` must be from a hash table of this object.
    unsafe fn matches(&self, index: u32, name: &CStr) -> Option<usize> {
        // SAFETY: `index` is from a hash table of this object, by `# Safety`, which holds indexes of its symbols only.
        let symbol = unsafe { &*self.symbols.add(index as usize) };
        // SAFETY: a symbol's name is an offset into the same object's string table, whose strings end with a NUL.
        let its_name = unsafe { CStr::from_ptr(self.strings.add(symbol.name as usize).cast()) };
        let defined = symbol.section != 0 && symbol.info & 0xf == STT_FUNC;
        (defined && its_name == name).then(|| self.base.wrapping_add(symbol.value as usize))
    }
}
